//! What the rest of the machine asks of native libraries.

use std::sync::Arc;

use atoll_process::{Libraries, ReferenceId, System};
use atoll_term::{Export, HeldPart, MagicValue, Term};
use parking_lot::Mutex;

use crate::env::note_machine;
use crate::{call, callbacks, here, monitors};

/// The libraries of a machine.
#[derive(Default)]
pub struct Loaded {
    /// Modules that have loaded one, in that order.
    modules: Mutex<Vec<Term>>,
}

impl Libraries for Loaded {
    fn hold(&self) {
        callbacks::gather();
    }

    fn go_on(&self) {
        callbacks::do_gathered();
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
