//! The handlers of all instructions, by area.
//!
//! Every handler is `unsafe`: its caller gives it an instruction of that kind, translated by this crate from code that
//! the loader has checked, the registers of the process that runs on the core, and that core.

pub mod area;
pub mod arithmetic;
pub mod bit_match;
pub mod bits;
pub mod call;
pub mod control;
pub mod data;
pub mod exception;
pub mod float;
pub mod map;
pub mod receive;
pub mod test;
