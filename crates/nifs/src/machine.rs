//! What the rest of the machine asks of native libraries.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

use atoll_process::{Answer, Event, Libraries, ReferenceId, System, TracerNumber};
use atoll_term::{Export, HeldPart, MagicValue, Term};
use parking_lot::Mutex;

use crate::env::{enter_thread, note_machine};
use crate::library::Library;
use crate::{call, callbacks, here, monitors};

/// The libraries of a machine.
#[derive(Default)]
pub struct Loaded {
    /// Modules that have loaded one, in that order.
    modules: Mutex<Vec<Term>>,
    /// Libraries that want something of the machine's end, in that order.
    at_halt: Mutex<Vec<Weak<Library>>>,
}

impl Libraries for Loaded {
    fn hold(&self) {
        callbacks::gather();
    }

    fn go_on(&self) {
        callbacks::do_gathered();
    }

    fn process_ended(&self) {
        here().search.process_ended();
    }

    fn search_is_due(&self) -> bool {
        here().search.is_due()
    }

    fn searched(&self) {
        here().search.done();
    }

    fn monitors_of(&self, process: Term) -> Vec<(ReferenceId, Arc<MagicValue>)> {
        monitors::of(process)
    }

    fn ports_monitoring(&self, process: Term) -> Vec<Term> {
        monitors::ports_of(process)
    }

    fn carried_out(&self, registers: &[Term]) -> Option<&'static Export> {
        call::carried_out(registers)
    }

    fn keep(&self, registers: &[Term], parts: Vec<HeldPart>) {
        call::keep(registers, parts);
    }

    fn modules(&self) -> Vec<Term> {
        self.modules.lock().clone()
    }

    fn number_tracer(&self, module: Term, state: Term) -> Option<TracerNumber> {
        here().tracers.number(module, state)
    }

    fn show_tracer(&self, number: TracerNumber, show: &mut dyn FnMut(Term, Term)) {
        here().tracers.show(number, show);
    }

    fn ask_tracer(&self, number: TracerNumber, event: Term, tracee: Term) -> Answer {
        here().tracers.ask(number, event, tracee)
    }

    fn tell_tracer(&self, number: TracerNumber, event: &Event<'_>) -> bool {
        here().tracers.tell(number, event)
    }
}

/// The first library of a machine is about to be loaded.
pub fn install() {
    note_machine();
    let _ = System::get().libraries.set(&here().loaded);
}

/// A module (atom) has loaded a library.
pub fn loaded(module: Term) {
    let mut modules = here().loaded.modules.lock();
    if !modules.contains(&module) {
        modules.push(module);
    }
}

/// A library has been loaded. Remembers it if it wants something of the machine's end.
pub fn note_wishes(library: &Arc<Library>) {
    if library.at_halt.is_wanted() {
        let mut at_halt = here().loaded.at_halt.lock();
        at_halt.retain(|one| one.strong_count() > 0);
        at_halt.push(Arc::downgrade(library));
    }
}

/// The machine is going to end, and flushes output first: tells the libraries that want to know, then waits for calls
/// of those that want that. A library may have a call return because it was told.
pub fn before_end() {
    let libraries: Vec<_> = here().loaded.at_halt.lock().iter().filter_map(Weak::upgrade).collect();
    for library in &libraries {
        if let Some(function) = library.at_halt.told() {
            let _kind = enter_thread(1);
            // SAFETY: the library is loaded, and its own function gets what it expects.
            unsafe { function(library.private.load(Ordering::Acquire)) };
        }
    }
    for library in &libraries {
        library.at_halt.wait();
    }
}
