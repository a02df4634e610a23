//! Tracing: what a process is asked to tell its tracer. A process that is not traced looks at one switch
//! ([`crate::Flags::traced`]) where it could have something to tell.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use atoll_heap::{Message, Mutator, architecture};
use atoll_platform::clock;
use atoll_term::atoms::known_atom;
use atoll_term::{Build, Immediate, ScratchHeap, Term, atoms};
use parking_lot::Mutex;

use crate::held::Stopped;
use crate::libraries::{Event, TracerNumber};
use crate::native::Interrupt;
use crate::process::{Own, Rare};
use crate::sequence;
use crate::signal::{self, Signal};
use crate::system::System;
use crate::tracers;
use crate::unique::{later_than_before, unique_monotonic};

/// The trace flags of a process, and its tracer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tracing {
    /// Sum of the constants of this module.
    pub flags: u32,
    /// Local pid or port, or the number of a module with a state ([`tracers`]).
    pub tracer: Term,
}

/// What a match specification does with the trace flags of a process. It has no term with a pointer, so it may wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlagChange {
    /// Sum of the constants of this module: flags that are cleared.
    pub off: u32,
    /// Flags that are set then.
    pub on: u32,
    /// The tracer from now on; without one the process is traced no more.
    pub tracer: Option<Immediate>,
}

impl FlagChange {
    /// Changes what the process that has this is asked to tell.
    pub fn apply(self, own: &mut Own) {
        let Some(tracer) = self.tracer else { return own.set_tracing(None) };
        let flags = own.tracing_asked().map_or(0, |old| old.flags) & !self.off | self.on;
        let tracing = Tracing { flags, tracer: tracer.term() };
        own.set_tracing(reports_anything(flags).then_some(tracing));
    }
}

/// Whether a process with these flags has anything to report.
pub fn reports_anything(flags: u32) -> bool {
    flags & !(ARITY | SILENT | RETURN_TO | TIMESTAMP | MONOTONIC | STRICT_MONOTONIC | SCHEDULER_ID) != 0
}

/// Changes what another process is asked to tell. The caller goes on to use its terms, so it does not wait for a thread
/// that wants to stop the world and may collect: then the change is late, and the process gets a signal.
pub fn change_flags_of(pid: Term, asker: &mut Own, change: FlagChange) {
    common().late.lock().push((pid, change));
    match Stopped::by(asker) {
        Some(mut stopped) => make_late_changes(&mut stopped),
        None => System::get().deliver_or_answer(pid, signal::bare(Signal::Trace)),
    }
}

/// Stops the world for a built-in function that reads or changes what processes are asked to tell. Late changes are
/// made before.
///
/// # Errors
/// Those of [`Stopped::or_again`].
pub fn stop<'a>(asker: &'a mut Own, arguments: &[Term]) -> Result<Stopped<'a>, Interrupt> {
    let mut stopped = Stopped::or_again(asker, arguments)?;
    make_late_changes(&mut stopped);
    Ok(stopped)
}

fn make_late_changes(stopped: &mut Stopped<'_>) {
    for (pid, change) in std::mem::take(&mut *common().late.lock()) {
        System::get().table.with(pid, |process| change.apply(&mut stopped.held(process)));
    }
}

/// Makes the late changes of this process.
pub fn make_own_late_changes(pid: Term, own: &mut Own) {
    common().late.lock().extract_if(.., |late| late.0 == pid).for_each(|(_, change)| change.apply(own));
}

/// There are no more late changes of this process, which has ended.
pub(crate) fn forget_late_changes(pid: Term) {
    common().late.lock().retain(|late| late.0 != pid);
}

/// `send`
pub const SEND: u32 = 1;
/// `'receive'`
pub const RECEIVE: u32 = 1 << 1;
/// `procs`
pub const PROCS: u32 = 1 << 2;
/// `call`
pub const CALL: u32 = 1 << 3;
/// `silent`
pub const SILENT: u32 = 1 << 4;
/// `return_to`
pub const RETURN_TO: u32 = 1 << 5;
/// `running` and `running_procs`
pub const RUNNING: u32 = 1 << 6;
/// `exiting`
pub const EXITING: u32 = 1 << 7;
/// `garbage_collection`
pub const GARBAGE_COLLECTION: u32 = 1 << 8;
/// `arity`
pub const ARITY: u32 = 1 << 9;
/// `timestamp`
pub const TIMESTAMP: u32 = 1 << 10;
/// `monotonic_timestamp`
pub const MONOTONIC: u32 = 1 << 11;
/// `strict_monotonic_timestamp`
pub const STRICT_MONOTONIC: u32 = 1 << 12;
/// `set_on_spawn`
pub const ON_SPAWN: u32 = 1 << 13;
/// `set_on_first_spawn`
pub const ON_FIRST_SPAWN: u32 = 1 << 14;
/// `set_on_link`
pub const ON_LINK: u32 = 1 << 15;
/// `set_on_first_link`
pub const ON_FIRST_LINK: u32 = 1 << 16;
/// `ports`
pub const PORTS: u32 = 1 << 17;

/// `scheduler_id`
pub const SCHEDULER_ID: u32 = 1 << 18;
/// `running_ports`: the thread that gives a command works for the port, which is not told.
pub const RUNNING_PORTS: u32 = 1 << 19;

/// What all processes of a machine share.
#[derive(Default)]
pub struct Common {
    /// `cpu_timestamp`: times are those that the machine has used of processors.
    pub cpu_times: AtomicBool,
    /// Whether new processes begin with something.
    has_new: AtomicBool,
    of_new: Mutex<Option<Tracing>>,
    /// What new ports begin with.
    of_new_ports: Mutex<Option<Tracing>>,
    choice: OnceLock<Choice>,
    /// Patterns choose the messages that are reported.
    chooses: AtomicBool,
    /// Messages name their senders, because patterns ask for that.
    names_senders: AtomicBool,
    /// Changes of flags that have not been made yet, in their order. Each process here has a [`Signal::Trace`] on its
    /// way to it.
    late: Mutex<Vec<(Term, FlagChange)>>,
}

impl Common {
    /// Whether some changes of flags have not been made yet.
    #[cfg(test)]
    pub(crate) fn has_late_changes(&self) -> bool {
        !self.late.lock().is_empty()
    }

    /// Whether messages name their senders. Then each process has its switch for tracing set.
    #[inline]
    pub fn names_senders(&self) -> bool {
        self.names_senders.load(Ordering::Relaxed)
    }

    /// What new processes begin with.
    #[inline]
    pub fn of_new(&self) -> Option<Tracing> {
        if !self.has_new.load(Ordering::Relaxed) {
            return None;
        }
        let kept = *self.of_new.lock();
        kept.filter(|tracing| is_there(tracing.tracer))
    }
}

fn common() -> &'static Common {
    &System::get().tracing
}

/// What new processes begin with.
pub fn of_new() -> Option<Tracing> {
    common().of_new()
}

/// What new ports begin with.
pub fn of_new_ports() -> Option<Tracing> {
    let kept = *common().of_new_ports.lock();
    kept.filter(|tracing| is_there(tracing.tracer))
}

/// Sets what new ports begin with.
pub fn set_of_new_ports(tracing: Option<Tracing>) {
    *common().of_new_ports.lock() = tracing;
}

/// Sets what new processes begin with.
pub fn set_of_new(tracing: Option<Tracing>) {
    let common = common();
    let mut kept = common.of_new.lock();
    *kept = tracing;
    common.has_new.store(tracing.is_some(), Ordering::Relaxed);
}

impl Own {
    /// What this process tells now.
    pub fn tracing(&self) -> Option<Tracing> {
        if self.flags.sensitive() { None } else { self.tracing_asked() }
    }

    /// What this process is asked to tell, which it does unless it is sensitive.
    pub fn tracing_asked(&self) -> Option<Tracing> {
        if self.flags.traced() { self.rare.as_ref()?.tracing } else { None }
    }

    /// Brings the switch that is looked at up to date.
    pub(crate) fn note_traced(&mut self) {
        let has_to_tell = |rare: &Rare| rare.tracing.is_some() || rare.sequence.token.is_some();
        self.flags.set_traced(self.rare.as_deref().is_some_and(has_to_tell) || names_senders());
    }

    /// Sets what this process is asked to tell.
    pub fn set_tracing(&mut self, tracing: Option<Tracing>) {
        if tracing.is_some() || self.rare.is_some() {
            self.rare().tracing = tracing;
        }
        self.note_traced();
    }
}

/// Whether times are those that the machine has used of processors.
pub fn counts_processor_time() -> bool {
    common().cpu_times.load(Ordering::Relaxed)
}

/// The time that a trace message ends with, if one was asked for.
pub(crate) fn time(heap: &mut impl Build, flags: u32) -> Option<Term> {
    // Of several, `timestamp` comes first, then the strict one.
    if flags & TIMESTAMP == 0 {
        let strict = flags & STRICT_MONOTONIC != 0;
        if !strict && flags & MONOTONIC == 0 {
            return None;
        }
        let now = heap.integer(clock::now());
        return Some(if strict { heap.tuple(&[now, Term::small(unique_monotonic(false))]) } else { now });
    }
    let cpu = counts_processor_time();
    let now = if cpu { clock::process_cpu() } else { clock::now_since_1970() };
    let micro = if cpu { now / 1000 } else { later_than_before(now / 1000) };
    let (seconds, micro) = (micro / 1_000_000, micro % 1_000_000);
    let parts = [seconds / 1_000_000, seconds % 1_000_000, micro].map(Term::small);
    Some(heap.tuple(&parts))
}

/// Tells `{trace, Pid, Event, Parts...}`. The parts lie on the heap of `own`, which need not be the heap of `pid`.
/// Returns whether the tracer is there.
pub fn tell(pid: Term, own: &mut Own, tracing: Tracing, event: Term, parts: &[Term]) -> bool {
    if let Some(number) = TracerNumber::of(tracing.tracer) {
        let event = Event { name: event, tracee: pid, parts, flags: tracing.flags, asked_about: pid };
        return tracers::tell(number, &event);
    }
    let message = message(pid, &mut own.mutator, tracing, event, parts);
    post(tracing.tracer, &mut own.mutator, message)
}

/// As [`tell`], with parts that are made outside of the heaps.
pub fn tell_apart<const N: usize>(
    pid: Term,
    tracing: Tracing,
    event: Term,
    parts: impl Fn(&mut ScratchHeap) -> [Term; N],
) -> bool {
    if let Some(number) = TracerNumber::of(tracing.tracer) {
        let composed = Message::compose(|heap| {
            let parts = parts(heap);
            heap.tuple(&parts)
        });
        let all = composed.term();
        let parts = all.tuple_elements().unwrap_or_default();
        let event = Event { name: event, tracee: pid, parts, flags: tracing.flags, asked_about: pid };
        return tracers::tell(number, &event);
    }
    post_composed(tracing.tracer, |heap| {
        let parts = parts(heap);
        message(pid, heap, tracing, event, &parts)
    })
}

fn message(pid: Term, heap: &mut impl Build, tracing: Tracing, event: Term, parts: &[Term]) -> Term {
    let time = time(heap, tracing.flags);
    let head = if time.is_some() { known_atom("trace_ts") } else { atoms::TRACE };
    let mut elements = vec![head, pid, event];
    elements.extend_from_slice(parts);
    if tracing.flags & SCHEDULER_ID != 0 {
        elements.push(Term::small(System::get().schedule().current() as i64 + 1));
    }
    elements.extend(time);
    heap.tuple(&elements)
}

/// Gives a tracer, which is a process or a port, a message that lies on this heap. Whether it is there.
pub fn post(tracer: Term, heap: &mut Mutator, message: Term) -> bool {
    if tracer.is_local_port() {
        return post_to_port(tracer, message);
    }
    let message = architecture().send(heap, message);
    System::get().deliver(tracer, sequence::neutral(message)).is_ok()
}

/// As [`post`], with a message that is made outside of the heaps.
pub fn post_composed(tracer: Term, message: impl Fn(&mut ScratchHeap) -> Term) -> bool {
    let message = Message::compose(message);
    if tracer.is_local_port() {
        return post_to_port(tracer, message.term());
    }
    System::get().deliver(tracer, sequence::neutral(message)).is_ok()
}

fn post_to_port(tracer: Term, message: Term) -> bool {
    System::get().ports.get().is_some_and(|ports| ports.tell_tracer(tracer, message))
}

/// Whether what could be a tracer is there.
pub fn is_there(tracer: Term) -> bool {
    if let Some(number) = TracerNumber::of(tracer) {
        return tracers::is_there(number);
    }
    let system = System::get();
    system.table.contains(tracer)
        || tracer.is_local_port() && system.ports.get().is_some_and(|ports| ports.exists(tracer))
}

/// Decides whether a message that is sent or received is reported: `None` if not; otherwise the last part of its trace
/// message, if it has one. Gets the process, [`SEND`] or [`RECEIVE`], and the parts of the trace message, with the
/// sender of a received message.
pub type Choice = fn(Term, &mut Own, u32, &[Term]) -> Option<Option<Term>>;

/// Installs the function that chooses; only the first call counts.
pub fn install_choice(choice: Choice) {
    let _ = common().choice.set(choice);
}

/// From now on patterns choose among messages, or all messages are reported.
pub fn choose_messages(on: bool) {
    common().chooses.store(on, Ordering::Relaxed);
}

/// Whether messages name their senders. Then each process has its switch for tracing set.
#[inline]
pub fn names_senders() -> bool {
    common().names_senders()
}

/// From now on messages name their senders, or do not any more.
pub fn name_senders(asker: &mut Own, on: bool) {
    if common().names_senders.swap(on, Ordering::Relaxed) != on {
        Stopped::after_others(Some(asker)).each(|_, own| own.note_traced());
    }
}

/// A process receives a message; `from` is the sender, or the name of another node that it comes from, or `NONE` if
/// neither is known.
#[cold]
#[inline(never)]
pub fn received(pid: Term, own: &mut Own, message: Term, from: Term) {
    let from = if from.is_none() { atoms::UNDEFINED } else { from };
    chosen_event(pid, own, RECEIVE, "receive", (&[message], &[message, from]));
}

/// Tells the tracer of the process that runs about an event, if it is asked for by one of the flags in `wanted`.
#[cold]
#[inline(never)]
pub fn event(pid: Term, own: &mut Own, wanted: u32, event: &str, parts: &[Term]) {
    chosen_event(pid, own, wanted, event, (parts, parts));
}

/// As [`event`], with the parts of the trace message and the terms for the patterns.
fn chosen_event(pid: Term, own: &mut Own, wanted: u32, event: &str, (parts, looked_at): (&[Term], &[Term])) {
    let Some(tracing) = own.tracing().filter(|tracing| tracing.flags & wanted != 0 && tracing.tracer != pid) else {
        return;
    };
    let mut parts = parts.to_vec();
    if wanted & (SEND | RECEIVE) != 0
        && common().chooses.load(Ordering::Relaxed)
        && let Some(choice) = common().choice.get()
    {
        let Some(end) = choice(pid, own, wanted, looked_at) else { return };
        parts.extend(end);
    }
    // The choice may have changed the tracing.
    let tracing = own.tracing().unwrap_or(tracing);
    if !tell(pid, own, tracing, known_atom(event), &parts) {
        own.set_tracing(None);
    }
}

/// The tracing of a process that this one spawns, and links to if `linked`, if it is to be traced as this one is
/// itself.
pub fn inherited(own: &mut Own, linked: bool) -> Option<Tracing> {
    let tracing = own.tracing()?;
    let link = |flags: u32| if linked { flags } else { 0 };
    if tracing.flags & (ON_SPAWN | ON_FIRST_SPAWN | link(ON_LINK | ON_FIRST_LINK)) == 0 {
        return None;
    }
    // What holds for the first alone is over with it.
    let mut flags = tracing.flags;
    if flags & ON_FIRST_SPAWN != 0 {
        flags &= !(ON_SPAWN | ON_FIRST_SPAWN);
    }
    if flags & link(ON_FIRST_LINK) != 0 {
        flags &= !(ON_LINK | ON_FIRST_LINK);
    }
    if flags != tracing.flags {
        own.set_tracing(Some(Tracing { flags, ..tracing }));
    }
    Some(Tracing { flags, ..tracing })
}
