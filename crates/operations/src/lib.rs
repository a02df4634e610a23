//! What instructions and guard functions mean, once for every engine.

#![deny(clippy::dbg_macro, clippy::print_stderr, clippy::print_stdout)]
#![deny(unsafe_code)]

pub mod arithmetic;
pub mod bit_construct;
mod bit_fill;
pub mod bit_match;
pub mod bit_part;
pub mod bit_quick;
pub mod bit_simple;
mod bit_writer;
mod bits;
mod exception;
pub mod float_math;
pub mod float_text;
pub mod guards;
mod half;
pub mod http;
pub mod integer_text;
pub mod iolist;
pub mod list;
pub mod maps;
pub mod number;
#[cfg(test)]
mod oracle;
pub mod packets;
mod raw_bits;
mod raw_match;
mod raw_math;
pub mod unicode;
pub mod utf;

pub use bit_writer::{BitWriter, Fault};
pub use exception::{Class, Exception};
pub use number::to_float;
