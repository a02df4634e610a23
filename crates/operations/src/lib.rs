//! What instructions and guard functions mean, once for every engine.
#![deny(unsafe_code)]

pub mod arithmetic;
mod exception;
pub mod number;
#[cfg(test)]
mod oracle;

pub use exception::{Class, Exception};
