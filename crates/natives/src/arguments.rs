//! Arguments of one kind that several native functions take.

use atoll_process::{Interrupt, badarg};
use atoll_term::Term;
use rustix::io::Errno;

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
