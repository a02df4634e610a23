//! Built-in functions that have done their work when their caller is suspended. Until that is over, the caller is in a
//! function that gives their result back, as in OTP.

use atoll_process::{BuiltIn, Caller, Interrupt, Outcome};
use atoll_term::Term;

use crate::tail_calls::export;

/// What this file provides.
pub const BUILT_INS: &[BuiltIn] = &[
    BuiltIn::new("erlang", "bif_return_trap", 2, return_later),
    BuiltIn::new("erts_internal", "spawn_request_yield", 3, return_later),
];

/// `Result` when the caller is not suspended any more.
pub fn returning(result: Term) -> Interrupt {
    Interrupt::Call(export("erlang", "bif_return_trap", 2), vec![result, Term::NIL])
}

/// As [`returning`], of a request for a process.
pub fn returning_request(result: Term) -> Interrupt {
    Interrupt::Call(export("erts_internal", "spawn_request_yield", 3), vec![result, Term::NIL, Term::NIL])
}

fn return_later(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let is_suspended = caller.own.rare.as_ref().is_some_and(|rare| rare.suspended > 0);
    if is_suspended { Err(Interrupt::Again(arguments.to_vec())) } else { Ok(arguments[0]) }
}
