//! `prim_socket` and `prim_net`: the system's sockets as OTP's `socket` and `net` show them. Nothing here blocks: who
//! would have to wait is told so, and gets a message when it is worth another try.

pub mod access;
mod address;
pub mod connecting;
mod control;
mod extended_error;
pub mod information;
pub mod interfaces;
pub mod line;
pub mod names;
mod namespace;
pub mod open;
mod options;
pub mod receiving;
pub mod sending;
mod socket;
mod state;
mod values;
