//! Errors whose causes OTP's libraries explain.

use atoll_operations::Exception;
use atoll_process::{Caller, Interrupt};
use atoll_term::atoms::known_atom;
use atoll_term::{Term, atoms, map};

/// An error with `#{cause => Cause, module => Explainer}` as its `error_info`. The explainer is the module that turns
/// the cause into text (`erl_erts_errors`, ...).
fn error_because(caller: &mut Caller<'_>, reason: Term, explainer: Term, cause: Term) -> Interrupt {
    let error_info = map::from_pairs(caller.heap(), &[(known_atom("cause"), cause), (atoms::MODULE, explainer)]);
    Exception { error_info, ..Exception::error(reason) }.into()
}

/// An error whose cause `erl_erts_errors` explains.
pub fn error_with_cause(caller: &mut Caller<'_>, reason: Term, cause: Term) -> Interrupt {
    error_because(caller, reason, atoms::ERL_ERTS_ERRORS, cause)
}

/// `badarg` with a cause that the module `explainer` explains.
pub fn badarg_because(caller: &mut Caller<'_>, explainer: Term, cause: Term) -> Interrupt {
    error_because(caller, atoms::BADARG, explainer, cause)
}

/// `badarg` because of an option.
pub fn badopt(caller: &mut Caller<'_>) -> Interrupt {
    error_with_cause(caller, atoms::BADARG, atoms::BADOPT)
}

/// The error `system_limit`.
pub fn system_limit() -> Interrupt {
    Exception::system_limit().into()
}
