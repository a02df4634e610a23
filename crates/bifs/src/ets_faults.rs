//! What goes wrong with tables, as exceptions.

use atoll_ets::Fault;
use atoll_process::{Caller, Interrupt, badarg};
use atoll_term::atoms;
use atoll_term::atoms::known_atom;

use crate::errors::badarg_because;

/// The exception for a fault.
pub fn raise(caller: &mut Caller<'_>, fault: Fault) -> Interrupt {
    match fault.cause() {
        Some(cause) => badarg_because(caller, atoms::ERL_STDLIB_ERRORS, known_atom(cause)),
        None => badarg(),
    }
}
