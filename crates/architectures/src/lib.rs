//! The heap architectures, one a folder, with the same file names in each where they apply:
//!
//! * `mod.rs`: the numbered phases with their source, and the implementation of the contract;
//! * `state.rs`: what it keeps in a mutator;
//! * `collect.rs`, `minor.rs`, `major.rs`: the collector;
//! * `send.rs`: messages out and in, spawn arguments, memory for built-in functions;
//! * `verify.rs`: its invariants, each with an identifier.
//!
//! `common` holds what they share. Only `vm` and tests name one of them; the rest sees `atoll_heap::Architecture`.

#![deny(clippy::dbg_macro, clippy::print_stderr, clippy::print_stdout)]

mod common;
pub mod hybrid;
pub mod nogc;
mod not_made;
pub mod private;
pub mod shared;
#[cfg(test)]
mod tests;
pub mod unified;

use atoll_heap::{Architecture, Settings};

pub use hybrid::Hybrid;
pub use nogc::NoGc;
pub use not_made::{NAMES, NotMade};
pub use private::Private;
pub use shared::Shared;
pub use unified::Unified;

/// A new architecture of this name, with memory of its own.
///
/// # Errors
/// There is none of this name, or the system has no addresses left.
pub fn by_name(name: &str, settings: &Settings) -> Result<Box<dyn Architecture>, NotMade> {
    Ok(match name {
        "private" => Box::new(Private::new(settings)?),
        "shared" => Box::new(Shared::new(settings)?),
        "unified" => Box::new(Unified::new(settings)?),
        "hybrid" => Box::new(Hybrid::new(settings)?),
        "nogc" => Box::new(NoGc::new(settings)?),
        _ => return Err(NotMade::Unknown(name.to_owned())),
    })
}
