//! The machine's processes as a whole: table, names, timers, and the way into the run queues.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering, fence};

use atoll_heap::{Architecture, Asker, Claim, Fragment, KeptPlace, Message, Mutator, RootSet, StoppedWorld, World};
use atoll_term::{Build, Term, Word, atoms, this_node};
use parking_lot::RwLock;

use crate::chores::Chores;
use crate::held::{Entry, Lent, Presence, Queued, Stopped};
use crate::held_back::{HeldBack, Pair};
use crate::libraries::Libraries;
use crate::microstates::Microstates;
use crate::names::{Names, NotRegistered};
use crate::ports::Ports;
use crate::process::{Own, Process};
use crate::profile::{self, Profiling};
use crate::reference::ReferenceId;
use crate::release::Seen;
use crate::remote::Distribution;
use crate::rounds::Rounds;
use crate::sequence::{self, Mark};
use crate::signal::{self, RequestKind, Signal, attach};
use crate::suspension;
use crate::table::ProcessTable;
use crate::timers::{Action, Timers};
use crate::touches::Touches;
use crate::tracing;
use crate::unique::Given;
use crate::urgency::Urgencies;
use crate::watch::Watching;

/// What can fail on request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Failing {
    /// An operation on a file or a socket.
    Io,
    /// To find room in a table of the machine, for a process or a port.
    Room,
}

/// The interface of schedulers for threads that make a process runnable.
pub trait Schedule: Sync {
    /// Puts a process into a run queue.
    fn enqueue(&self, process: Queued);
    /// The same for a process that a signal other than a message woke. It acts on the signal with at least the priority
    /// of the process that runs on this thread, so that no process of a priority in between delays the answer.
    fn enqueue_for_signal(&self, process: Queued) {
        self.enqueue(process);
    }
    /// Index of the scheduler that this thread is, 0 on other threads.
    fn current(&self) -> usize;
    /// The same, if this is the scheduler's own thread: not where another one stands in for it.
    fn own_thread_of(&self) -> Option<usize> {
        Some(self.current())
    }
    /// Returns when no other thread is in the world, with what this thread and those that wait here have lent. For
    /// [`crate::Stopped`] alone.
    fn stop_world(&self, lent: Option<Lent>) -> Vec<Lent>;
    /// The same at once, or not at all: `None` if another thread stops the world or waits to do so. No other thread has
    /// collected meanwhile.
    fn try_stop_world(&self, lent: Lent) -> Option<Vec<Lent>>;
    /// Lets them go on. For [`crate::Stopped`] alone.
    fn resume_world(&self);
    /// Enters the world unless it is stopped, or about to be. For [`crate::Presence`] alone.
    fn enter_world(&self) -> Entry;
    /// Ends what began with [`Entry::Entered`].
    fn leave_world(&self);
    /// Processes in each run queue.
    fn queue_lengths(&self) -> Vec<usize> {
        vec![0]
    }
    /// Time slices run so far.
    fn context_switches(&self) -> usize {
        0
    }
    /// Wakes all schedulers that sleep: there is something for each of them.
    fn wake_all(&self) {}
    /// Whether one thread does all the work, which then ends at the same place of a schedule each time.
    fn works_alone(&self) -> bool {
        false
    }
    /// Whether a signal arrives late that a process sends another now, the `number`th that it sends (from 1 on). Asked
    /// if signals may be late: see [`crate::held_back`].
    fn is_late(&self, pair: Pair, number: u64) -> bool {
        let _ = (pair, number);
        false
    }
    /// Whether [`Schedule::fails`] is to be asked.
    fn may_fail(&self) -> bool {
        false
    }
    /// Whether something that this process does now fails, and in which of so many ways.
    fn fails(&self, what: Failing, pid: Term, ways: usize) -> Option<usize> {
        let _ = (what, pid, ways);
        None
    }
    /// The machine is to end: asked for by the thread that calls this.
    fn end_is_asked(&self) {}
    /// Switches the measuring of [`Schedule::wall_time`] on or off; it begins anew each time. Returns what it was.
    fn measure_wall_time(&self, on: bool) -> bool {
        let _ = on;
        false
    }
    /// For each scheduler the nanoseconds in which it had work and all nanoseconds, since they are measured; nothing if
    /// they are not.
    fn wall_time(&self) -> Option<Vec<(i64, i64)>> {
        None
    }
}

/// Addresses of code that every process needs.
#[derive(Clone, Copy, Debug)]
pub struct EntryPoints {
    /// Calls X0:X1 with the arguments in the list X2.
    pub start: *const Word,
    /// Where the last frame returns to: the process ends normally.
    pub finish: *const Word,
}

// SAFETY: addresses of code that is never freed.
unsafe impl Send for EntryPoints {}
// SAFETY: as above.
unsafe impl Sync for EntryPoints {}

/// Reductions, counted by each scheduler for itself.
pub struct Reductions(Box<[OwnCount]>);

/// A counter in a cache line of its own.
#[derive(Default)]
#[repr(align(128))]
struct OwnCount(AtomicU64);

impl Reductions {
    fn new(schedulers: usize) -> Reductions {
        Reductions((0..=schedulers.max(1)).map(|_| OwnCount::default()).collect())
    }

    /// Counts reductions of a slice that was run by this scheduler, on its own thread, or by another thread.
    #[inline]
    pub fn add(&self, scheduler: Option<usize>, reductions: u64) {
        let (others, own) = self.0.split_last().expect("made with one more than there are schedulers");
        match scheduler.and_then(|scheduler| own.get(scheduler)) {
            Some(count) => count.0.store(count.0.load(Ordering::Relaxed) + reductions, Ordering::Relaxed),
            None => {
                others.0.fetch_add(reductions, Ordering::Relaxed);
            }
        }
    }

    /// All reductions so far.
    pub fn total(&self) -> u64 {
        self.0.iter().map(|count| count.0.load(Ordering::Relaxed)).sum()
    }
}

/// The processes of the machine.
pub struct System {
    /// The architecture of the same machine.
    pub architecture: &'static dyn Architecture,
    /// All processes.
    pub table: ProcessTable,
    /// Registered names.
    pub names: Names,
    /// Timers.
    pub timers: Timers,
    /// Processes that have more than a level of priority.
    pub urgencies: Urgencies,
    /// Signals that are late.
    pub held_back: HeldBack,
    /// What turns touch.
    pub touches: Touches,
    /// The run queues.
    pub schedule: OnceLock<&'static dyn Schedule>,
    /// Where processes start and end.
    pub entry_points: OnceLock<EntryPoints>,
    /// Number of schedulers.
    pub schedulers: usize,
    /// Most threads for dirty calls: of the processor, and of input and output. Nothing: as without options.
    pub dirty_threads: OnceLock<[usize; 2]>,
    /// Reductions of slices that are over.
    pub reductions: Reductions,
    /// Visitors of terms that belong to no process, such as tables: see [`World::each_global_slice`].
    pub global_roots: RwLock<Vec<GlobalRoots>>,
    at_exit: RwLock<Vec<ExitWork>>,
    /// The ports.
    pub ports: OnceLock<&'static dyn Ports>,
    /// The native libraries, from the first on.
    pub libraries: OnceLock<&'static dyn Libraries>,
    /// The way to other nodes.
    pub distribution: OnceLock<&'static dyn Distribution>,
    /// See [`crate::microstates`].
    pub microstates: Microstates,
    /// See [`crate::profile`].
    pub profiling: Profiling,
    /// See [`crate::watch`].
    pub watching: Watching,
    /// See [`crate::chores`].
    pub chores: Chores,
    /// See [`crate::rounds`].
    pub rounds: Rounds,
    /// See [`crate::tracing`].
    pub tracing: tracing::Common,
    /// See [`crate::sequence`].
    pub sequence: sequence::Common,
    /// Numbers that are given once.
    pub(crate) given: Given,
    pub(crate) release: Seen,
}

/// What is done at the end of a process with this pid, for other parts of the machine.
pub type ExitWork = fn(pid: Term, own: &mut Own);

/// Visits terms that belong to no process.
pub type GlobalRoots = Box<dyn Fn(&mut dyn FnMut(*mut Term, usize)) + Send + Sync>;

atoll_platform::part_of_machine!(System);

impl System {
    /// The processes of a new machine.
    pub fn new(architecture: &'static dyn Architecture, table: ProcessTable, schedulers: usize) -> System {
        System {
            architecture,
            table,
            names: Names::default(),
            timers: Timers::new(schedulers),
            urgencies: Urgencies::default(),
            held_back: HeldBack::default(),
            touches: Touches::default(),
            schedule: OnceLock::new(),
            entry_points: OnceLock::new(),
            schedulers,
            dirty_threads: OnceLock::new(),
            reductions: Reductions::new(schedulers),
            global_roots: RwLock::default(),
            at_exit: RwLock::default(),
            ports: OnceLock::new(),
            libraries: OnceLock::new(),
            distribution: OnceLock::new(),
            microstates: Microstates::default(),
            profiling: Profiling::default(),
            watching: Watching::default(),
            chores: Chores::default(),
            rounds: Rounds::default(),
            tracing: tracing::Common::default(),
            sequence: sequence::Common::default(),
            given: Given::default(),
            release: Seen::default(),
        }
    }

    /// That of this thread's machine.
    #[inline(always)]
    pub fn get() -> &'static System {
        part()
    }

    /// Most threads for dirty calls: of the processor, and of input and output.
    pub fn dirty_threads(&self) -> [usize; 2] {
        *self.dirty_threads.get_or_init(|| [self.schedulers, 10])
    }

    /// Installs a function that is called at the end of each process that has [`crate::AtEnd::has_work`]. The process
    /// is no longer in the table, and no process that monitors it knows of its end yet.
    pub fn on_exit(&self, work: ExitWork) {
        self.at_exit.write().push(work);
    }

    /// What is done at the end of a process with exit work.
    pub(crate) fn exit_work(&self, pid: Term, own: &mut Own) {
        let all = self.at_exit.read().clone();
        for work in all {
            work(pid, own);
        }
    }

    /// Visits terms that belong to no process (timers, tables); the world is stopped.
    pub(crate) fn each_global_slice(&self, visit: &mut dyn FnMut(*mut Term, usize)) {
        self.timers.each_term(visit);
        self.held_back.each(&mut |signal| visit(signal.term_place(), 1));
        for roots in self.global_roots.read().iter() {
            roots(visit);
        }
    }

    /// The run queues.
    #[inline]
    pub fn schedule(&self) -> &'static dyn Schedule {
        *self.schedule.get().expect("schedulers are registered before the first process")
    }

    /// Sends a message to a process, or a signal to a port; it comes back if there is none.
    #[inline]
    pub fn deliver(&self, pid: Term, message: Message) -> Result<(), Message> {
        if self.held_back.is_on() {
            self.deliver_unless_held_back(pid, message)
        } else {
            self.deliver_now(pid, message)
        }
    }

    #[inline]
    fn deliver_now(&self, pid: Term, message: Message) -> Result<(), Message> {
        let Some(found) = self.table.find(pid) else { return self.deliver_to_port(pid, message) };
        let is_message = !message.has_body();
        let wakes = found.process.push(message)?;
        self.table.note_active(found.process);
        if wakes && let Some(queued) = found.process.wake() {
            self.make_runnable_for(queued, is_message);
        }
        Ok(())
    }

    #[cold]
    fn deliver_unless_held_back(&self, pid: Term, message: Message) -> Result<(), Message> {
        self.hold_back(pid, message).map_or(Ok(()), |prompt| self.deliver_now(pid, prompt))
    }

    #[cold]
    fn deliver_to_port(&self, pid: Term, message: Message) -> Result<(), Message> {
        match self.ports.get() {
            Some(ports) if pid.is_local_port() => ports.signal(pid, message),
            _ => Err(message),
        }
    }

    /// Sends a signal that changes nothing before the receiver runs anyway: it is not woken for that. A server that has
    /// answered a call would otherwise run once more for the end of its client's monitor, and stand in a run queue
    /// before what the client starts next.
    pub fn deliver_quietly(&self, pid: Term, mut signal: Message) {
        if self.held_back.is_on() {
            let Some(prompt) = self.hold_back(pid, signal) else { return };
            signal = prompt;
        }
        let Some(found) = self.table.find(pid) else { return self.deliver_or_answer(pid, signal) };
        let refused = found.process.push_without_waking(signal).err();
        self.table.note_active(found.process);
        drop(found);
        if let Some(refused) = refused {
            self.answer_for_missing(pid, refused);
        }
    }

    /// Puts a process that the caller has woken or made into a run queue.
    #[inline]
    pub fn make_runnable(&self, process: Queued) {
        self.make_runnable_for(process, true);
    }

    #[inline]
    fn make_runnable_for(&self, mut process: Queued, message: bool) {
        if self.profiling.is_on() {
            match Presence::new() {
                Some(presence) => profile::runnable(&mut process.held(&presence), true),
                None => process.process().runnable_untold.store(true, Ordering::Relaxed),
            }
        }
        if message { self.schedule().enqueue(process) } else { self.schedule().enqueue_for_signal(process) }
    }

    /// Sends a message to a process, or answers for one that does not exist.
    pub fn deliver_or_answer(&self, pid: Term, message: Message) {
        if let Err(message) = self.deliver(pid, message) {
            self.answer_for_missing(pid, message);
        }
    }

    /// What a process that does not exist answers: links and monitors learn `noproc`.
    pub fn answer_for_missing(&self, pid: Term, message: Message) {
        let Some(body) = signal::detach(&message) else { return };
        self.in_place_of(pid, || self.answer(pid, body, message));
    }

    fn answer(&self, pid: Term, body: Signal, message: Message) {
        if let Signal::Request { from, kind, .. } = &body
            && let Some(&[task, id, ..]) = message.term().tuple_elements()
            && kind.is_task()
        {
            let answer = Message::compose(|heap| heap.tuple(&[task, id, atoms::FALSE]));
            drop(message);
            return self.deliver_or_answer(*from, sequence::neutral(answer));
        }
        if let Signal::Suspend { from, reply } = &body {
            return suspension::answer_for_missing(*from, *reply, message);
        }
        drop(message);
        match &body {
            Signal::Link { from } => {
                let answer = Message::compose(|heap| heap.tuple(&[atoms::EXIT_UPPER, pid, atoms::NOPROC]));
                let exit = Signal::LinkExit { from: pid, mark: Mark::Neutral };
                self.deliver_or_answer(*from, attach(answer, exit));
            }
            Signal::Unlink { from, number } => crate::signal::tell_unlink_is_known(pid, *from, *number),
            Signal::Monitor { from, reference, name, tag } => {
                let kind = if pid.is_local_port() { atoms::PORT } else { atoms::PROCESS };
                let answer = Message::compose(|heap| {
                    let reference = reference.term(heap);
                    let object = monitored_object(heap, pid, *name);
                    heap.tuple(&[*tag, reference, kind, object, atoms::NOPROC])
                });
                self.deliver_or_answer(*from, attach(answer, Signal::Down { reference: *reference }));
            }
            Signal::Remote(remote) => crate::remote::answer_for_missing(pid, remote),
            Signal::Trace => crate::tracing::forget_late_changes(pid),
            Signal::Request { kind: RequestKind::Search, .. } => {
                self.libraries.get().into_iter().for_each(|libraries| libraries.searched());
            }
            Signal::Request { from, reference, kind } => {
                let result = if *kind == RequestKind::IsAlive { atoms::FALSE } else { atoms::UNDEFINED };
                let answer = Message::compose(|heap| {
                    let reference = reference.term(heap);
                    heap.tuple(&[reference, result])
                });
                self.deliver_or_answer(*from, sequence::neutral(answer));
            }
            _ => {}
        }
    }

    /// Sends a message to a pid or a registered name at a time (monotonic nanoseconds). It is forgotten when the
    /// process of a pid ends.
    pub fn send_at(&self, due: i64, destination: Term, message: Message, reference: ReferenceId) {
        let set = self.schedule().current();
        self.timers.start(set, due, Action::Message { destination, message, reference });
        if destination.is_atom() {
            return;
        }
        let is_known = self.table.with(destination, |process| process.at_end.note_timer(set)).is_some();
        // Either the process's end, which looks at its sets after it has left the table, finds the timer in this one,
        // or this sees that the process has left. That is so if another thread has noted the set before, too: it may
        // not have looked yet.
        fence(Ordering::SeqCst);
        let is_kept = is_known && self.table.contains(destination);
        if !is_kept {
            drop(self.timers.cancel_reference(reference));
        }
    }

    /// The pid registered under a name.
    pub fn whereis(&self, name: Term) -> Option<Term> {
        self.names.holder(name)
    }

    /// Registers a process or a port under a name.
    ///
    /// # Errors
    /// The name is taken, the process has one, or it does not exist (any more).
    pub fn register(&self, name: Term, pid: Term) -> Result<(), NotRegistered> {
        self.names.give(name, pid, || {
            // Either its end, which looks at the mark after it has left the table, sees the mark, or this sees that it
            // is not in the table any more.
            self.table.with(pid, |process| process.registered.store(true, Ordering::SeqCst));
            fence(Ordering::SeqCst);
            self.table.contains(pid) || self.ports.get().is_some_and(|ports| ports.exists(pid))
        })
    }

    /// Name under which a process is registered.
    pub fn name_of(&self, process: &Process) -> Option<Term> {
        if !process.registered.load(Ordering::Relaxed) {
            return None;
        }
        self.names.name_of(process.pid)
    }

    /// A process has left the table.
    pub(crate) fn forget_names(&self, process: &Process) {
        fence(Ordering::SeqCst);
        if process.registered.load(Ordering::SeqCst) {
            self.names.forget(process.pid);
        }
    }
}

/// How a `'DOWN'` message names what was watched: the pid, or `{Name, Node}`.
pub fn monitored_object(heap: &mut (impl Build + ?Sized), pid: Term, name: Term) -> Term {
    if name.is_none() { pid } else { heap.tuple(&[name, this_node().0]) }
}

impl World for System {
    fn stopped(&self, asker: Asker<'_>, then: &mut dyn FnMut(&mut dyn StoppedWorld)) {
        then(&mut Stopped::by_heap(asker));
    }

    fn claim_each(
        &self,
        from: usize,
        most: usize,
        wanted: &dyn Fn(*const Mutator) -> bool,
        visit: &mut dyn FnMut(&mut Mutator, &mut dyn RootSet),
        busy: &mut dyn FnMut(Term),
    ) -> Option<usize> {
        let presence = Presence::new();
        self.table.each_from(from, most, |process| {
            if claim(process, presence.as_ref(), wanted, visit) == Claim::Busy {
                busy(process.pid);
            }
        })
    }

    fn claim(
        &self,
        pid: Term,
        wanted: &dyn Fn(*const Mutator) -> bool,
        visit: &mut dyn FnMut(&mut Mutator, &mut dyn RootSet),
    ) -> Claim {
        let presence = Presence::new();
        self.table.with(pid, |process| claim(process, presence.as_ref(), wanted, visit)).unwrap_or(Claim::Settled)
    }

    fn each_kept_message(&self, from: KeptPlace, most: usize, visit: &mut dyn FnMut(&Fragment)) -> Option<KeptPlace> {
        let next = self.timers.each_message(from, most, visit);
        if next.is_none() {
            self.held_back.each(visit);
        }
        next
    }

    fn processes(&self) -> usize {
        self.table.count()
    }

    fn pid_of(&self, mutator: *const Mutator) -> Option<Term> {
        let mut found = None;
        self.table.each(|process| {
            if process.mutator() == mutator {
                found = Some(process.pid);
            }
        });
        found
    }
}

fn claim(
    process: &Process,
    presence: Option<&Presence>,
    wanted: &dyn Fn(*const Mutator) -> bool,
    visit: &mut dyn FnMut(&mut Mutator, &mut dyn RootSet),
) -> Claim {
    if !wanted(process.mutator()) {
        return Claim::Settled;
    }
    let Some(presence) = presence else { return Claim::Busy };
    process.claim(presence, |mut held| {
        held.visit(&mut |mutator, roots| {
            // Another thread may have been here between the first look and the claim.
            if wanted(mutator) {
                visit(mutator, roots);
            }
        });
    });
    // A visit may have to be repeated.
    if !wanted(process.mutator()) {
        return Claim::Settled;
    }
    if process.state() == crate::run_state::state::ENDED { Claim::Settled } else { Claim::Busy }
}
