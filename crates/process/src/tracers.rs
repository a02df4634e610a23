//! Tracers that are modules with a state: native functions of a library are called, which decides what becomes of an
//! event. A number stands for both, so that it can be where the pid of a tracer is.

use atoll_term::Term;
use atoll_term::atoms::known_atom;

use crate::libraries::{Answer, Event, Libraries, TracerNumber};
use crate::system::System;

impl TracerNumber {
    /// The number that stands for a tracer, if one does: it is a small integer, and others are pids or ports.
    pub fn of(tracer: Term) -> Option<TracerNumber> {
        tracer.as_small().and_then(|number| u32::try_from(number).ok()).map(TracerNumber)
    }

    /// What stands for the tracer.
    pub fn term(self) -> Term {
        Term::small(self.0.into())
    }
}

fn libraries() -> Option<&'static dyn Libraries> {
    System::get().libraries.get().copied()
}

/// Numbers the tracer of a module (atom) and a state, if the module is one.
pub fn number(module: Term, state: Term) -> Option<TracerNumber> {
    libraries()?.number_tracer(module, state)
}

/// Shows the module and the state of a tracer whose library is still there.
pub fn show(number: TracerNumber, show: &mut dyn FnMut(Term, Term)) {
    if let Some(libraries) = libraries() {
        libraries.show_tracer(number, show);
    }
}

/// Whether the tracer's library is still there.
pub fn is_there(number: TracerNumber) -> bool {
    let mut is_there = false;
    show(number, &mut |_, _| is_there = true);
    is_there
}

/// Whether a tracer goes on with a process or port. Those that are processes or ports are not asked.
pub fn goes_on(tracer: Term, tracee: Term) -> bool {
    TracerNumber::of(tracer).is_none_or(|number| {
        let ask = |libraries: &dyn Libraries| libraries.ask_tracer(number, known_atom("trace_status"), tracee);
        libraries().is_some_and(|libraries| ask(libraries) != Answer::Remove)
    })
}

/// Asks a tracer whether it wants to hear of a call by this process. Those that are processes or ports hear of each.
pub fn wants_call(tracer: Term, tracee: Term) -> Answer {
    match (TracerNumber::of(tracer), libraries()) {
        (None, _) => Answer::Trace,
        (Some(number), Some(libraries)) => libraries.ask_tracer(number, known_atom("call"), tracee),
        (Some(_), None) => Answer::Remove,
    }
}

/// Tells a tracer of an event, as [`Libraries::tell_tracer`].
pub fn tell(number: TracerNumber, event: &Event<'_>) -> bool {
    libraries().is_some_and(|libraries| libraries.tell_tracer(number, event))
}
