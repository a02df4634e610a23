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
    /// Numbers a tracer: a module (atom) whose library has the functions of one, and its state. The same for the same
    /// two; `None` if the library has no such functions.
    fn number_tracer(&self, module: Term, state: Term) -> Option<TracerNumber>;
    /// Shows the module and the state of a numbered tracer, if its library is still there.
    fn show_tracer(&self, number: TracerNumber, show: &mut dyn FnMut(Term, Term));
    /// Asks a numbered tracer whether it wants to hear of an event of a process or port, which is named.
    fn ask_tracer(&self, number: TracerNumber, event: Term, tracee: Term) -> Answer;
    /// Tells a numbered tracer of an event, if it wants that: about calls it has been asked before. Whether it goes on.
    fn tell_tracer(&self, number: TracerNumber, event: &Event<'_>) -> bool;
}

/// The number of a tracer that is a module with a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TracerNumber(pub u32);

/// What a tracer that is a module answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Tell it.
    Trace,
    /// Do not tell it.
    Discard,
    /// Trace no more.
    Remove,
}

/// What a tracer that is a module is told of.
pub struct Event<'a> {
    /// As in trace messages (atom).
    pub name: Term,
    /// Pid or port; the label of an event of sequential tracing.
    pub tracee: Term,
    /// What trace messages have between `Pid, Event` and scheduler or time.
    pub parts: &'a [Term],
    /// Flags of [`crate::tracing`].
    pub flags: u32,
    /// Pid or port that it is asked about before it is told.
    pub asked_about: Term,
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
