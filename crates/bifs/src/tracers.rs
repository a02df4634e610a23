//! Which terms name a tracer.

use atoll_term::Term;
use atoll_term::atoms::known_atom;

/// Whether this names a process or a port, alive or not.
pub fn is_tracer(term: Term) -> bool {
    term.is_local_pid() || term.is_local_port()
}

/// Whether a module and its state stand for a process or a port: those of OTP's own module do.
pub fn is_tracer_of(module: Term, state: Term) -> bool {
    module == known_atom("erl_tracer") && is_tracer(state)
}
