//! Loading a module when one of its functions is first called, where no code server runs.

use std::sync::OnceLock;

use atoll_term::Term;

/// Tries to load a module; returns whether it is loaded now.
pub type Load = fn(Term) -> bool;

static LOADER: OnceLock<Load> = OnceLock::new();

/// Sets the loader; the first call counts.
pub fn install(load: Load) {
    let _ = LOADER.set(load);
}

/// The loader, if there is one.
pub fn loader() -> Option<Load> {
    LOADER.get().copied()
}
