//! Loading a module when one of its functions is first called, where no code server runs.

use atoll_term::{Export, Term};

use crate::part::part;

/// What became of a module that was to be loaded.
pub enum Loading {
    /// It is loaded.
    Done,
    /// There is none, or it could not be loaded.
    Failed,
    /// Its `on_load` function has to run first. This function of module, name and arguments waits for that, and goes on
    /// with the call.
    Waits(&'static Export),
}

/// Tries to load a module.
pub type Load = fn(Term) -> Loading;

/// The loader, if there is one.
pub fn loader() -> Option<Load> {
    part().loader
}
