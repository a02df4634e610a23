//! What instructions and guard functions mean, once for every engine.

mod exception;

pub use exception::{Class, Exception};
