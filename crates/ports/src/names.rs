//! Atoms that ports speak.

use atoll_platform::errors;
use atoll_term::{Term, atoms};

/// The atom of a name; `undefined` when there can be no more atoms.
pub fn name(text: &str) -> Term {
    atoms::atom(text).unwrap_or(atoms::UNDEFINED)
}

/// The name of an error of the operating system, as in `enoent`.
pub fn error_name(error: rustix::io::Errno) -> Term {
    name(errors::name(error))
}
