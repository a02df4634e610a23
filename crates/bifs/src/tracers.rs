//! Which terms name a tracer, and how one is shown.

use atoll_process::{TracerNumber, tracers};
use atoll_term::atoms::known_atom;
use atoll_term::{Build, Term};

/// Whether this names a process or a port, alive or not.
pub fn is_tracer(term: Term) -> bool {
    term.is_local_pid() || term.is_local_port()
}

/// The tracer that a module and its state stand for. Those of OTP's own module stand for a process or a port.
pub fn tracer_of(module: Term, state: Term) -> Option<Term> {
    if module == known_atom("erl_tracer") {
        return Some(state).filter(|state| is_tracer(*state));
    }
    if module.is_atom() { tracers::number(module, state).map(TracerNumber::term) } else { None }
}

/// A tracer as programs see it; `[]` if its module is gone.
pub fn shown(heap: &mut impl Build, tracer: Term) -> Term {
    let Some(number) = TracerNumber::of(tracer) else { return tracer };
    let mut shown = Term::NIL;
    tracers::show(number, &mut |module, state| {
        let state = crate::copy::copy_all(state, heap);
        shown = heap.tuple(&[module, state]);
    });
    shown
}
