//! `prim_file`: files and folders.

pub mod directories;
pub mod handles;
pub mod information;
pub mod names;
pub mod transfer;
