//! What the files of this crate share: rows of tables, errors, reading arguments.

use std::sync::atomic::{AtomicU32, Ordering};

use atoll_operations::Exception;
use atoll_platform::errors;
use atoll_process::{BuiltIn, Caller, Interrupt, Native, Outcome};
use atoll_term::{Build, Term, atoms};
use rustix::io::Errno;

/// A row of a table of native functions.
pub const fn row(module: &'static str, name: &'static str, arity: u8, function: Native) -> BuiltIn {
    BuiltIn { module, name, arity, function }
}

/// The release of OTP's libraries.
static RELEASE: AtomicU32 = AtomicU32::new(25);

/// Sets the release of OTP's libraries that the machine runs.
pub fn set_release(number: u32) {
    RELEASE.store(number, Ordering::Relaxed);
}

/// The release of OTP's libraries that the machine runs.
pub fn release() -> u32 {
    RELEASE.load(Ordering::Relaxed)
}

/// The error `badarg`.
pub fn badarg() -> Interrupt {
    Exception::badarg().into()
}

/// The atom of a name; `undefined` when the atom table is full.
pub fn atom(text: &str) -> Term {
    atoms::atom(text).unwrap_or(atoms::UNDEFINED)
}

/// An atom that is looked up once.
pub struct Name {
    text: &'static str,
    /// Its index plus one; 0: not looked up yet.
    index: AtomicU32,
}

impl Name {
    /// The name.
    pub const fn new(text: &'static str) -> Name {
        Name { text, index: AtomicU32::new(0) }
    }

    /// The atom.
    pub fn get(&self) -> Term {
        match self.index.load(Ordering::Relaxed) {
            0 => {
                let atom = atom(self.text);
                self.index.store(atom.atom_index() + 1, Ordering::Relaxed);
                atom
            }
            index => Term::atom(index - 1),
        }
    }
}

/// `{error, Name}`
pub fn posix_error(caller: &mut Caller<'_>, error: Errno) -> Outcome {
    let name = atom(errors::name(error));
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

/// An argument that has to be a number, as an offset or a length.
///
/// # Errors
/// `badarg`: no number. Inside: `EINVAL` if it is none from 0 to 2^63-1.
pub fn position(term: Term) -> Result<Result<u64, Errno>, Interrupt> {
    if !term.is_integer() && !term.is_float() {
        return Err(badarg());
    }
    Ok(term.to_i64().and_then(|value| u64::try_from(value).ok()).ok_or(Errno::INVAL))
}

/// A 32-bit integer.
///
/// # Errors
/// `badarg`
pub fn int(term: Term) -> Result<i32, Interrupt> {
    term.as_small().and_then(|value| i32::try_from(value).ok()).ok_or_else(badarg)
}

/// The elements of a proper list.
///
/// # Errors
/// `badarg`
pub fn elements(term: Term) -> Result<Vec<Term>, Interrupt> {
    atoll_operations::list::elements(term).ok_or_else(badarg)
}
