//! The heap architectures, one a folder, with the same file names in each where they apply:
//!
//! * `mod.rs`: the numbered phases with their source, and the implementation of the contract;
//! * `state.rs`: what it keeps in a mutator;
//! * `collect.rs`, `minor.rs`, `major.rs`: the collector;
//! * `send.rs`: messages out and in, spawn arguments, memory for built-in functions;
//! * `verify.rs`: its invariants, each with an identifier.
//!
//! `common` holds what they share. Only `vm` and tests name one of them; the rest sees `atoll_heap::Architecture`.

mod common;
pub mod hybrid;
pub mod nogc;
pub mod private;
pub mod shared;
#[cfg(test)]
mod tests;

use std::sync::OnceLock;

use atoll_heap::Architecture;

pub use hybrid::Hybrid;
pub use nogc::NoGc;
pub use private::Private;
pub use shared::Shared;

/// Names for `--heap`, the default first.
pub const NAMES: [&str; 4] = ["private", "shared", "hybrid", "nogc"];

/// The architecture of this name.
pub fn by_name(name: &str) -> Option<&'static dyn Architecture> {
    static PRIVATE: OnceLock<Private> = OnceLock::new();
    static SHARED: OnceLock<Shared> = OnceLock::new();
    static HYBRID: OnceLock<Hybrid> = OnceLock::new();
    static NO_GC: OnceLock<NoGc> = OnceLock::new();
    if cfg!(test) {
        // Tests make several architectures in one run: the one that shapes the immovable range has to be the first.
        HYBRID.get_or_init(Hybrid::new);
    }
    match name {
        "private" => Some(PRIVATE.get_or_init(Private::new)),
        "shared" => Some(SHARED.get_or_init(Shared::new)),
        "hybrid" => Some(HYBRID.get_or_init(Hybrid::new)),
        "nogc" => Some(NO_GC.get_or_init(NoGc::new)),
        _ => None,
    }
}
