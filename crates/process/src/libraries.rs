//! What native libraries have to do with processes.

use std::sync::Arc;

use atoll_term::{Export, HeldPart, MagicValue, Term};

use crate::reference::ReferenceId;
use crate::system::System;

/// The native libraries of a machine.
pub trait Libraries: Sync {
    /// This thread collects a heap or gives it up: callbacks of libraries that become due wait.
    fn hold(&self);
    /// This thread has done so, and may do now what became due.
    fn go_on(&self);
    /// A process has ended, and its heap has been given up.
    fn process_ended(&self);
    /// Whether there may be resources that nothing refers to since processes have ended: a collection is due.
    fn search_is_due(&self) -> bool;
    /// The collection that was asked for by [`crate::RequestKind::Search`] is done, or will not be.
    fn searched(&self);
    /// The resources that monitor a process.
    fn monitors_of(&self, process: Term) -> Vec<(ReferenceId, Arc<MagicValue>)>;
    /// The ports that monitor a process.
    fn ports_monitoring(&self, process: Term) -> Vec<Term>;
    /// The function that another thread carries out for a process which waits for it with these registers.
    fn carried_out(&self, registers: &[Term]) -> Option<&'static Export>;
    /// A process with these registers has ended: if another thread carries out a function for it, what its heap had
    /// outside of it is kept until that is done.
    fn keep(&self, registers: &[Term], parts: Vec<HeldPart>);
    /// The modules and drivers (atoms) that have loaded a library, with those of the past.
    fn modules(&self) -> Vec<Term>;
}

/// Does something that gives up terms; afterwards this thread calls what libraries have for that.
#[inline]
pub(crate) fn around<R>(system: &System, work: impl FnOnce() -> R) -> R {
    let Some(libraries) = system.libraries.get() else { return work() };
    libraries.hold();
    let result = work();
    libraries.go_on();
    result
}
