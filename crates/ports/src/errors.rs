//! The operating system's errors as atoms.

use atoll_platform::errors;
use atoll_term::Term;
use atoll_term::atoms::known_atom;

/// The name of an error of the operating system, as in `enoent`.
pub fn error_name(error: rustix::io::Errno) -> Term {
    known_atom(errors::name(error))
}
