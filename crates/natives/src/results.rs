//! Results as OTP's modules expect them of native functions.

use atoll_platform::errors;
use atoll_process::{Caller, Outcome};
use atoll_term::atoms::known_atom;
use atoll_term::{Build, Term, atoms};
use rustix::io::Errno;

/// `{error, Name}`
pub fn posix_error(caller: &mut Caller<'_>, error: Errno) -> Outcome {
    let name = known_atom(errors::name(error));
    Ok(caller.heap().tuple(&[atoms::ERROR, name]))
}

/// `{ok, Term}`
pub fn ok(caller: &mut Caller<'_>, term: Term) -> Outcome {
    Ok(caller.heap().tuple(&[atoms::OK, term]))
}

/// `ok`, or `{error, Name}`.
pub fn done<T>(caller: &mut Caller<'_>, result: rustix::io::Result<T>) -> Outcome {
    match result {
        Ok(_) => Ok(atoms::OK),
        Err(error) => posix_error(caller, error),
    }
}
