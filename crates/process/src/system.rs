//! The machine's processes as a whole: table, names, timers, and the way into the run queues.

use std::collections::HashMap;
use std::ptr::NonNull;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering, fence};

use atoll_heap::{Asker, Claim, Fragment, KeptPlace, Mutator, RootSet, StoppedWorld, World, architecture};
use atoll_term::{Build, ScratchHeap, Term, Word, atoms, this_node};
use parking_lot::RwLock;

use crate::held::{Entry, Lent, Presence, Queued, Stopped};
use crate::ports::Ports;
use crate::process::{Own, Process};
use crate::profile;
use crate::reference::ReferenceId;
use crate::sequence::{self, Mark};
use crate::signal::{self, RequestKind, Signal, attach};
use crate::table::ProcessTable;
use crate::timers::{Action, Timers};

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
    /// Returns when no other thread is in the world, with what this thread and those that wait here have lent. For
    /// [`crate::Stopped`] alone.
    fn stop_world(&self, lent: Option<Lent>) -> Vec<Lent>;
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
        Reductions((0..schedulers.max(1)).map(|_| OwnCount::default()).collect())
    }

    /// Counts reductions of a slice that was run by this scheduler, on its own thread.
    #[inline]
    pub fn add(&self, scheduler: usize, reductions: u64) {
        if let Some(count) = self.0.get(scheduler) {
            count.0.store(count.0.load(Ordering::Relaxed) + reductions, Ordering::Relaxed);
        }
    }

    /// All reductions so far.
    pub fn total(&self) -> u64 {
        self.0.iter().map(|count| count.0.load(Ordering::Relaxed)).sum()
    }
}

/// The processes of the machine.
pub struct System {
    /// All processes.
    pub table: ProcessTable,
    /// Registered names.
    pub names: RwLock<HashMap<Term, Term>>,
    /// Timers.
    pub timers: Timers,
    /// The run queues.
    pub schedule: OnceLock<&'static dyn Schedule>,
    /// Where processes start and end.
    pub entry_points: OnceLock<EntryPoints>,
    /// Number of schedulers.
    pub schedulers: usize,
    /// Reductions of slices that are over.
    pub reductions: Reductions,
    /// Visitors of terms that belong to no process, such as tables: see [`World::each_global_slice`].
    pub global_roots: RwLock<Vec<GlobalRoots>>,
    at_exit: RwLock<Vec<ExitWork>>,
    /// The ports.
    pub ports: OnceLock<&'static dyn Ports>,
}

/// What is done at the end of a process with this pid, for other parts of the machine.
pub type ExitWork = fn(pid: Term, own: &mut Own);

/// Visits terms that belong to no process.
pub type GlobalRoots = Box<dyn Fn(&mut dyn FnMut(*mut Term, usize)) + Send + Sync>;

static SYSTEM: OnceLock<System> = OnceLock::new();

impl System {
    /// Sets the machine up; the first call counts.
    pub fn install(table: ProcessTable, schedulers: usize) -> &'static System {
        SYSTEM.get_or_init(|| System {
            table,
            names: RwLock::default(),
            timers: Timers::new(schedulers),
            schedule: OnceLock::new(),
            entry_points: OnceLock::new(),
            schedulers,
            reductions: Reductions::new(schedulers),
            global_roots: RwLock::default(),
            at_exit: RwLock::default(),
            ports: OnceLock::new(),
        })
    }

    /// The machine of this run.
    #[inline]
    pub fn get() -> &'static System {
        SYSTEM.get().expect("the machine is set up before its first process")
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
        for roots in self.global_roots.read().iter() {
            roots(visit);
        }
    }

    /// The run queues.
    #[inline]
    pub fn schedule(&self) -> &'static dyn Schedule {
        *self.schedule.get().expect("schedulers are registered before the first process")
    }

    /// Sends a fragment to a process, or a signal to a port; it comes back if there is none.
    #[inline]
    pub fn deliver(&self, pid: Term, fragment: NonNull<Fragment>) -> Result<(), NonNull<Fragment>> {
        // SAFETY: the fragment is the caller's.
        let is_message = unsafe { fragment.as_ref() }.signal.is_null();
        let delivered = self.table.with(pid, |process| {
            process.inbox.push(fragment)?;
            self.table.note_active(process);
            if let Some(queued) = process.wake() {
                self.make_runnable_for(queued, is_message);
            }
            Ok(())
        });
        match (delivered, self.ports.get()) {
            (Some(result), _) => result,
            (None, Some(ports)) if pid.is_local_port() => ports.signal(pid, fragment),
            (None, _) => Err(fragment),
        }
    }

    /// Sends the end of a monitor, which changes nothing before the receiver runs anyway: it is not woken for that. A
    /// server that has answered a call would otherwise run once more, and stand in a run queue before what its client
    /// starts next.
    pub fn end_monitor(&self, pid: Term, fragment: NonNull<Fragment>) {
        let left = self.table.with(pid, |process| {
            process.inbox.push(fragment)?;
            self.table.note_active(process);
            Ok(())
        });
        match left {
            Some(Ok(())) => {}
            Some(Err(fragment)) => self.answer_for_missing(pid, fragment),
            None => self.deliver_or_answer(pid, fragment),
        }
    }

    /// Puts a process that the caller has woken or made into a run queue.
    #[inline]
    pub fn make_runnable(&self, process: Queued) {
        self.make_runnable_for(process, true);
    }

    #[inline]
    fn make_runnable_for(&self, mut process: Queued, message: bool) {
        if profile::is_on() {
            match Presence::new() {
                Some(presence) => profile::runnable(&mut process.held(&presence), true),
                None => process.process().runnable_untold.store(true, Ordering::Relaxed),
            }
        }
        if message { self.schedule().enqueue(process) } else { self.schedule().enqueue_for_signal(process) }
    }

    /// Sends a fragment to a process, or answers for one that does not exist.
    pub fn deliver_or_answer(&self, pid: Term, fragment: NonNull<Fragment>) {
        if let Err(fragment) = self.deliver(pid, fragment) {
            self.answer_for_missing(pid, fragment);
        }
    }

    /// What a process that does not exist answers: links and monitors learn `noproc`.
    pub fn answer_for_missing(&self, pid: Term, mut fragment: NonNull<Fragment>) {
        // SAFETY: the fragment is ours.
        let body = signal::detach(unsafe { fragment.as_mut() });
        let mut scratch = ScratchHeap::new();
        if let Some(Signal::Request { from, kind, .. }) = body.as_deref()
            // SAFETY: as above.
            && let Some(&[task, id, ..]) = unsafe { fragment.as_ref() }.term.tuple_elements()
            && kind.is_task()
        {
            let answer = sequence::neutral(architecture().send(None, scratch.tuple(&[task, id, atoms::FALSE])));
            signal::discard(fragment);
            return self.deliver_or_answer(*from, answer);
        }
        signal::discard(fragment);
        match body.as_deref() {
            Some(Signal::Link { from }) => {
                let term = scratch.tuple(&[atoms::EXIT_UPPER, pid, atoms::NOPROC]);
                let exit = Signal::LinkExit { from: pid, mark: Mark::Neutral };
                let answer = attach(architecture().send(None, term), exit);
                self.deliver_or_answer(*from, answer);
            }
            Some(Signal::Monitor { from, reference, name, tag }) => {
                let reference_term = reference.term(&mut scratch);
                let object = monitored_object(&mut scratch, pid, *name);
                let kind = if pid.is_local_port() { atoms::PORT } else { atoms::PROCESS };
                let term = scratch.tuple(&[*tag, reference_term, kind, object, atoms::NOPROC]);
                let answer = attach(architecture().send(None, term), Signal::Down { reference: *reference });
                self.deliver_or_answer(*from, answer);
            }
            Some(Signal::Request { from, reference, kind }) => {
                let reference_term = reference.term(&mut scratch);
                let result = if *kind == RequestKind::IsAlive { atoms::FALSE } else { atoms::UNDEFINED };
                let term = scratch.tuple(&[reference_term, result]);
                self.deliver_or_answer(*from, sequence::neutral(architecture().send(None, term)));
            }
            _ => {}
        }
    }

    /// Sends a message to a pid or a registered name at a time (monotonic nanoseconds). It is forgotten when the
    /// process of a pid ends.
    pub fn send_at(&self, due: i64, destination: Term, fragment: NonNull<Fragment>, reference: ReferenceId) {
        let set = self.schedule().current();
        self.timers.start(set, due, Action::Message { destination, fragment, reference });
        if destination.is_atom() {
            return;
        }
        let is_known = self.table.with(destination, |process| process.at_end.note_timer(set)).is_some();
        // Either the process's end, which looks at its sets after it has left the table, finds the timer in this one,
        // or this sees that the process has left. That is so if another thread has noted the set before, too: it may
        // not have looked yet.
        fence(Ordering::SeqCst);
        let is_kept = is_known && self.table.contains(destination);
        if !is_kept && let Some((_, fragment)) = self.timers.cancel_reference(reference) {
            signal::discard(fragment);
        }
    }

    /// The pid registered under a name.
    pub fn whereis(&self, name: Term) -> Option<Term> {
        self.names.read().get(&name).copied()
    }

    /// Registers a process or a port under a name.
    ///
    /// # Errors
    /// The name is taken, the process has one, or it does not exist (any more).
    pub fn register(&self, name: Term, pid: Term) -> Result<(), NotRegistered> {
        let mut names = self.names.write();
        if names.contains_key(&name) || names.values().any(|other| *other == pid) {
            return Err(NotRegistered::Taken);
        }
        // Either its end, which looks at the mark after it has left the table, sees the mark, or this sees that it
        // is not in the table any more.
        self.table.with(pid, |process| process.registered.store(true, Ordering::SeqCst));
        fence(Ordering::SeqCst);
        if !self.table.contains(pid) && !self.ports.get().is_some_and(|ports| ports.exists(pid)) {
            return Err(NotRegistered::NoProcess);
        }
        names.insert(name, pid);
        Ok(())
    }

    /// Name under which a process is registered.
    pub fn name_of(&self, process: &Process) -> Option<Term> {
        if !process.registered.load(Ordering::Relaxed) {
            return None;
        }
        self.names.read().iter().find(|(_, pid)| **pid == process.pid).map(|(name, _)| *name)
    }

    /// A process has left the table.
    pub(crate) fn forget_names(&self, process: &Process) {
        fence(Ordering::SeqCst);
        if process.registered.load(Ordering::SeqCst) {
            self.names.write().retain(|_, pid| *pid != process.pid);
        }
    }
}

/// Why a process could not be registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotRegistered {
    /// The name is in use, or the process has one already.
    Taken,
    /// There is no such process.
    NoProcess,
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

    fn each_kept_message(
        &self,
        from: KeptPlace,
        most: usize,
        visit: &mut dyn FnMut(&mut Fragment),
    ) -> Option<KeptPlace> {
        self.timers.each_message(from, most, visit)
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
