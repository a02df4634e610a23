//! `prim_socket` and `prim_net`: the system's sockets as OTP's `socket` and `net` show them. No function blocks:
//! instead of waiting, the caller gets an answer that says so, and a message when the operation is worth another try.

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
pub(crate) mod socket;
mod state;
mod values;
