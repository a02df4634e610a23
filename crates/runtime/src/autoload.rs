//! Loading a module when one of its functions is first called, where no code server runs.

use std::sync::OnceLock;

use atoll_term::{Export, Term};

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

static LOADER: OnceLock<Load> = OnceLock::new();

/// Sets the loader; the first call counts.
pub fn install(load: Load) {
    let _ = LOADER.set(load);
}

/// The loader, if there is one.
pub fn loader() -> Option<Load> {
    LOADER.get().copied()
}
