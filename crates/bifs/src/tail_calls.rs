//! Built-in functions that go on in an Erlang function.

use atoll_code::registry;
use atoll_process::{Interrupt, Outcome};
use atoll_term::atoms::known_atom;
use atoll_term::{Export, Term};

/// The export of this name.
pub fn export(module: &str, function: &str, arity: u8) -> &'static Export {
    registry().export(known_atom(module), known_atom(function), arity)
}

/// Goes on in this function.
pub fn go_on_in(module: &str, function: &str, arguments: Vec<Term>) -> Outcome {
    let arity = arguments.len() as u8;
    Err(Interrupt::Call(export(module, function, arity), arguments))
}
