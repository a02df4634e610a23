//! What instructions and guard functions mean, once for every engine.

mod exception;
pub mod float_text;
pub mod integer_text;
pub mod unicode;

pub use exception::{Class, Exception};
