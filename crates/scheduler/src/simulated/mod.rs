//! A scheduler whose schedules can be had again: one thread runs all processes, and a [`Policy`] decides which of those
//! that could run does so next, and how far it comes. The clock of the machine stands still while a process runs; it
//! goes on by [`TICK`] with each time slice, and to the next timer when nothing can run. So the same program with the
//! same decisions runs the same schedule, and timeouts take no time. What the machine does for itself costs processes
//! no reductions here (`heap/debt.rs`, `runtime/slice.rs`), so that schedules do not depend on the architecture.
//!
//! * [`policy`]: where decisions come from; [`random`], [`pct`], [`round_robin`], [`delays`], [`guided`], [`replay`]:
//!   one file each
//! * [`booting`]: the same boot of OTP in every run, before a policy decides
//! * [`faults`]: what goes wrong beside; [`late`]: signals that arrive later than they are sent
//! * this file: the mechanism, which carries decisions out and records them
//!
//! What comes from outside comes when it comes: while a port or a socket waits for a descriptor, a timeout comes after
//! its real time, so that an answer can come before. Work that the machine would give to other threads (on files, dirty
//! calls of native libraries) is done on this one, see [`Schedule::works_alone`].
//!
//! Priorities are kept: `max` runs before `high`, and both before the others, among which the policy chooses.

mod booting;
mod delays;
mod draw;
mod faults;
mod guided;
mod late;
mod pct;
mod policy;
mod random;
mod recording;
mod replay;
mod round_robin;

use std::fmt;
use std::io;
use std::sync::OnceLock;
use std::thread::Builder;
use std::time::Duration;

use atoll_heap::{debt, idle_work};
use atoll_platform::clock::{self, Virtual};
use atoll_platform::steady::HashMap;
use atoll_platform::sync::{AtomicBool, Condvar, Mutex, Ordering};
use atoll_platform::threads;
use atoll_process::handle::kill_signal;
use atoll_process::held_back::Pair;
use atoll_process::{Entry, Lent, Priority, Queued, Schedule, System};
use atoll_term::Term;

use crate::contract::{Engine, NoEnd, Poll, Scheduling};
use crate::run_slice::run_slice;
use crate::schedulers::{CURRENT, LONGEST_SLEEP, PRIORITY, away_from_heap, expire_timers, stack_bytes};
use crate::world::Gate;

pub use atoll_process::Failing;
pub use booting::Booting;
pub use delays::Delays;
pub use draw::Draw;
pub use faults::{Faulty, Rates};
pub use guided::{Guided, Touched, depend};
pub use pct::Pct;
pub use policy::{ANY_OPERATIONS, Candidate, Choice, Fault, LONGEST_SLICE, Policy};
pub use random::RandomWalk;
use recording::Recording;
pub use replay::{Move, Replay, Turn};
pub use round_robin::RoundRobin;

/// Nanoseconds by which the clock goes on with each time slice.
const TICK: i64 = 1_000;
/// When the clock begins, in nanoseconds.
const BEGINNING: i64 = 1_000_000_000;

/// A decision, and what came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Decision {
    /// A process and how far it could come, or what went wrong.
    pub made: Move,
    /// How many operations it has carried out.
    pub ran: i64,
    /// Whether it could have gone on.
    pub goes_on: bool,
    /// How many processes could run.
    pub ready: usize,
}

impl Decision {
    /// One that lets no process run.
    fn beside(made: Move) -> Decision {
        Decision { made, ran: 0, goes_on: false, ready: 0 }
    }
}

/// The processes of a priority that can run, in the order in which they became so.
#[derive(Default)]
struct Class {
    processes: Vec<Queued>,
    /// The same, as policies see them.
    candidates: Vec<Candidate>,
}

impl Class {
    fn push(&mut self, process: Queued, priority: Priority) {
        self.candidates.push(Candidate { pid: process.process().pid, priority });
        self.processes.push(process);
    }

    fn remove(&mut self, index: usize) -> (Queued, Term) {
        (self.processes.remove(index), self.candidates.remove(index).pid)
    }
}

/// Processes that can run, who chooses among them, and what was chosen.
struct Ready {
    by_priority: [Class; 4],
    policy: Box<dyn Policy>,
    /// Whether `candidates` is wanted behind the choice.
    notes_candidates: bool,
    /// Those among whom the policy chose last, if they are of two priorities or wanted later; kept for its memory.
    candidates: Vec<Candidate>,
    recording: Recording,
}

impl Ready {
    fn len(&self) -> usize {
        self.by_priority.iter().map(|class| class.processes.len()).sum()
    }

    fn push(&mut self, process: Queued, priority: Priority) {
        self.by_priority[priority as usize].push(process, priority);
    }

    /// Takes the process that runs next. The decision is noted at once: the process may be the one that ends the
    /// machine.
    fn choose(&mut self) -> Option<(Queued, Turn)> {
        let class = self.by_priority.iter().position(|class| !class.processes.is_empty())?;
        let low = &self.by_priority[Priority::Low as usize].candidates;
        let has_both = class == Priority::Normal as usize && !low.is_empty();
        let candidates = if has_both || self.notes_candidates {
            self.candidates.clear();
            self.candidates.extend_from_slice(&self.by_priority[class].candidates);
            if has_both {
                self.candidates.extend_from_slice(low);
            }
            &self.candidates
        } else {
            &self.by_priority[class].candidates
        };
        let ready = candidates.len();
        let choice = self.policy.choose(candidates);
        let (process, pid) = match choice.index.checked_sub(self.by_priority[class].processes.len()) {
            None => self.by_priority[class].remove(choice.index),
            Some(index) => self.by_priority[Priority::Low as usize].remove(index),
        };
        let turn = Turn { pid, operations: choice.operations, reductions: choice.reductions };
        self.recording.push(Decision { made: Move::Turn(turn), ran: 0, goes_on: false, ready });
        Some((process, turn))
    }
}

/// What the policy of a run asks for.
struct Wanted {
    touches: bool,
    late: bool,
    faults: bool,
}

/// The scheduler; see the head of this file.
pub struct Simulated {
    ready: Mutex<Ready>,
    /// Another thread has added a process.
    added: Condvar,
    clock: Virtual,
    gate: Gate,
    halted: AtomicBool,
    /// The signals that were late, and what failed.
    beside: Mutex<Vec<Decision>>,
    /// Whether anything may fail.
    may_fail: bool,
    /// How many things each process did that can fail.
    fallible: Mutex<HashMap<(Failing, Term), u64>>,
    /// Most decisions of a run.
    limit: usize,
    outside: OnceLock<&'static dyn Poll>,
    ended: OnceLock<fn(Term, Term)>,
}

impl fmt::Debug for Simulated {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Simulated({:?})", self.ready.lock().policy)
    }
}

impl Simulated {
    /// For one machine. It lives as long as the process of the operating system, as machines do. After `limit`
    /// decisions the machine is told that there is no end in sight. `is_recorded`: the schedule is wanted later.
    pub fn new(policy: Box<dyn Policy>, limit: usize, is_recorded: bool) -> &'static Simulated {
        let may_fail = policy.may_fail();
        Box::leak(Box::new(Simulated {
            ready: Mutex::new(Ready {
                by_priority: Default::default(),
                policy,
                notes_candidates: false,
                candidates: Vec::new(),
                recording: Recording::new(is_recorded),
            }),
            added: Condvar::new(),
            clock: Virtual::starting_at(BEGINNING),
            gate: Gate::default(),
            halted: AtomicBool::new(false),
            beside: Mutex::new(Vec::new()),
            may_fail,
            fallible: Mutex::new(HashMap::default()),
            limit,
            outside: OnceLock::new(),
            ended: OnceLock::new(),
        }))
    }

    /// A random walk without a limit, and without a recording.
    pub fn seeded(seed: u64) -> &'static Simulated {
        Simulated::new(Box::new(RandomWalk::new(seed)), usize::MAX, false)
    }

    /// The schedule, if it was recorded, which is gone then; the signals that were late and what failed stand in front.
    /// What came of the last decision is not known: it may have ended the machine.
    pub fn take_decisions(&self) -> Vec<Decision> {
        let mut decisions = std::mem::take(&mut *self.beside.lock());
        decisions.extend(self.ready.lock().recording.take());
        if let Some(last) = decisions.last_mut() {
            (last.ran, last.goes_on) = (0, false);
        }
        decisions
    }

    /// OTP has booted: what came before is not part of the schedule.
    pub fn program_begins(&self) {
        let mut ready = self.ready.lock();
        ready.policy.program_begins();
        ready.recording.forget();
        self.beside.lock().clear();
    }

    /// Operations that processes have carried out, those of the last turn left out.
    pub fn operations(&self) -> i64 {
        self.ready.lock().recording.operations()
    }

    /// Nanoseconds that have passed by the clock of the machine.
    pub fn elapsed(&self) -> i64 {
        self.clock.now() - BEGINNING
    }

    fn work(&self, engine: &mut dyn Engine, ended: fn(Term, Term)) {
        let system = System::get();
        debt::forgive();
        let wanted = {
            let mut ready = self.ready.lock();
            ready.notes_candidates = ready.policy.wants_touches();
            let policy = &ready.policy;
            Wanted { touches: policy.wants_touches(), late: policy.has_late(), faults: policy.may_fault() }
        };
        if wanted.late {
            system.held_back.begin();
        }
        if wanted.touches {
            system.note_touches();
        }
        system.rounds.take_part();
        let mut round = 0;
        self.gate.enter();
        while !self.halted.load(Ordering::Relaxed) {
            if self.gate.is_stopping() {
                away_from_heap(|| {
                    self.gate.leave();
                    self.gate.enter();
                });
            }
            if system.chores.is_wanted() {
                system.chores.run();
            }
            if system.rounds.number() != round {
                round = system.rounds.number();
                system.rounds.run();
            }
            if wanted.faults {
                self.fault(system);
            }
            if wanted.late && !system.held_back.is_empty() {
                self.arrivals(system);
            }
            expire_timers(0);
            let (chosen, is_redundant) = {
                let mut ready = self.ready.lock();
                (ready.choose(), ready.policy.is_redundant())
            };
            let Some((process, turn)) = chosen else {
                self.gate.leave();
                let found = self.rest();
                self.gate.enter();
                if let Some(outside) = found {
                    outside.tell();
                }
                continue;
            };
            if is_redundant {
                self.ready.lock().recording.take_back();
                self.give_up(NoEnd::Redundant);
                self.enqueue(process);
                continue;
            }
            self.run(system, process, turn, &wanted, engine, ended);
        }
        self.gate.leave();
        // As other schedulers, it keeps still until the machine exits.
        loop {
            std::thread::park();
        }
    }

    /// Lets happen what goes wrong now.
    fn fault(&self, system: &System) {
        // Where nothing can run, there is no decision in front of which a recording could repeat it.
        if self.ready.lock().len() == 0 {
            return;
        }
        let mut alive = Vec::new();
        system.table.each(|process| alive.push(process.pid));
        alive.sort_unstable_by_key(|pid| pid.immediate_data());
        let fault = {
            let mut ready = self.ready.lock();
            let Some(fault) = ready.policy.fault(&alive) else { return };
            ready.recording.push(Decision::beside(Move::Fault(fault)));
            fault
        };
        match fault {
            Fault::Kill(pid) => system.deliver_or_answer(pid, kill_signal(pid)),
            Fault::Timeout => match system.timers.next_time(0) {
                i64::MAX => {}
                next => self.clock.advance_to(next),
            },
        }
    }

    /// Lets late signals arrive whose time has come; where nothing can run, the oldest.
    fn arrivals(&self, system: &System) {
        while !system.held_back.is_empty() {
            let pair = system.held_back.choose(|late| {
                let mut ready = self.ready.lock();
                if ready.len() == 0 {
                    return Some(0);
                }
                let place = ready.policy.arrives(late)?;
                // Otherwise a recording has no decision in front of which it could repeat it, and need not.
                ready.recording.push(Decision::beside(Move::Arrives(late[place])));
                Some(place)
            });
            let Some(pair) = pair else { return };
            system.arrive(pair);
        }
    }

    fn run(
        &self,
        system: &System,
        process: Queued,
        turn: Turn,
        wanted: &Wanted,
        engine: &mut dyn Engine,
        ended: fn(Term, Term),
    ) {
        let running = process.run();
        PRIORITY.set(running.process().priority());
        engine.set_slice(turn.reductions, turn.operations);
        if wanted.late || wanted.touches {
            system.held_back.sends(Some(turn.pid));
        }
        if wanted.touches {
            let ready = self.ready.lock();
            system.touches.begin_turn(turn.pid, ready.candidates.iter().map(|candidate| candidate.pid));
        }
        let queued = run_slice(system, running, engine, |pid, reason| {
            if wanted.touches {
                system.table.with(pid, |process| system.touches.end(process));
            }
            ended(pid, reason);
        });
        if wanted.late || wanted.touches {
            system.held_back.sends(None);
        }
        let count = {
            let mut ready = self.ready.lock();
            if wanted.touches
                && let Some(touched) = system.touches.last()
            {
                ready.policy.touched(&touched);
            }
            let ran = engine.operations();
            ready.policy.ran(ran);
            ready.recording.ended(ran, queued.is_some());
            if let Some(process) = queued {
                let priority = process.priority();
                ready.push(process, priority);
            }
            ready.recording.count()
        };
        self.clock.advance(TICK);
        if count >= self.limit {
            self.give_up(NoEnd::InSight);
        }
    }

    fn give_up(&self, why: NoEnd) {
        if let Some(outside) = self.outside.get().filter(|_| !self.halted.load(Ordering::Relaxed)) {
            outside.no_end(why);
        }
    }

    /// Nothing can run: goes on to the next timer, or waits for what is outside. Returns who has something to tell.
    fn rest(&self) -> Option<&'static dyn Poll> {
        // SAFETY: this thread runs no process now, so it holds no term.
        if idle_work().is_some_and(|work| unsafe { work.work() }) {
            return None;
        }
        let next = System::get().timers.next_time(0);
        let outside = self.outside.get().copied();
        let is_awaited = outside.is_some_and(|outside| outside.is_awaited() || outside.is_working());
        if next != i64::MAX && !is_awaited {
            self.clock.advance_to(next);
            return None;
        }
        let Some(outside) = outside.filter(|outside| outside.is_awaited()) else {
            let mut ready = self.ready.lock();
            if ready.len() == 0 && !self.halted.load(Ordering::Relaxed) {
                if !is_awaited {
                    drop(ready);
                    self.gate.enter();
                    self.give_up(NoEnd::Deadlock);
                    self.gate.leave();
                    return None;
                }
                away_from_heap(|| self.added.wait_for(&mut ready, LONGEST_SLEEP));
            }
            return None;
        };
        let left = Duration::from_nanos(next.saturating_sub(self.clock.now()).max(0) as u64).min(LONGEST_SLEEP);
        let began = clock::monotonic();
        let found = away_from_heap(|| outside.wait(left));
        // What comes before the time is over comes at once: how long it took is no part of the schedule.
        if !found && clock::monotonic() - began >= left.as_nanos() as i64 {
            self.clock.advance(left.as_nanos() as i64);
        }
        found.then_some(outside)
    }

    fn add(&self, process: Queued, priority: Priority) {
        self.ready.lock().push(process, priority);
        if CURRENT.get() != 0 {
            self.added.notify_one();
            if let Some(outside) = self.outside.get().filter(|outside| outside.is_needed()) {
                outside.interrupt();
            }
        }
    }
}

impl Scheduling for Simulated {
    fn count(&self) -> usize {
        1
    }

    fn clock(&'static self) -> Option<&'static Virtual> {
        Some(&self.clock)
    }

    fn prepare(&self, outside: &'static dyn Poll, ended: fn(Term, Term)) {
        let _ = self.outside.set(outside);
        let _ = self.ended.set(ended);
    }

    fn start(&'static self, engine: fn() -> Box<dyn Engine>) -> io::Result<()> {
        let ended = *self.ended.get().expect("a scheduler is prepared before it starts");
        let thread = Builder::new().name("scheduler 1".to_owned()).stack_size(stack_bytes());
        threads::start(thread, move || {
            CURRENT.set(0);
            self.work(&mut *engine(), ended);
        })?;
        Ok(())
    }

    fn halt(&self) {
        self.halted.store(true, Ordering::Release);
        self.added.notify_one();
    }
}

impl Schedule for Simulated {
    fn enqueue(&self, process: Queued) {
        let priority = process.priority();
        self.add(process, priority);
    }

    fn enqueue_for_signal(&self, process: Queued) {
        let priority = process.priority().min(PRIORITY.get());
        self.add(process, priority);
    }

    fn current(&self) -> usize {
        0
    }

    fn stop_world(&self, lent: Option<Lent>) -> Vec<Lent> {
        self.gate.stop(lent)
    }

    fn try_stop_world(&self, lent: Lent) -> Option<Vec<Lent>> {
        self.gate.try_stop(lent)
    }

    fn resume_world(&self) {
        self.gate.resume();
    }

    fn enter_world(&self) -> Entry {
        self.gate.try_enter()
    }

    fn leave_world(&self) {
        self.gate.leave();
    }

    fn queue_lengths(&self) -> Vec<usize> {
        vec![self.ready.lock().len()]
    }

    fn context_switches(&self) -> usize {
        self.ready.lock().recording.count()
    }

    fn works_alone(&self) -> bool {
        true
    }

    fn is_late(&self, pair: Pair, number: u64) -> bool {
        // The schedule is over, and may be read already.
        if self.halted.load(Ordering::Relaxed) {
            return false;
        }
        let (is_late, is_kept) = {
            let mut ready = self.ready.lock();
            (ready.policy.is_late(pair, number), ready.recording.is_kept())
        };
        if is_late && is_kept {
            self.beside.lock().push(Decision::beside(Move::Late(pair.0, number)));
        }
        is_late
    }

    fn may_fail(&self) -> bool {
        self.may_fail
    }

    fn fails(&self, what: Failing, pid: Term, ways: usize) -> Option<usize> {
        if self.halted.load(Ordering::Relaxed) {
            return None;
        }
        let number = {
            let mut fallible = self.fallible.lock();
            let number = fallible.entry((what, pid)).or_default();
            *number += 1;
            *number
        };
        let mut ready = self.ready.lock();
        let way = ready.policy.fails(what, pid, number, ways)?;
        if ready.recording.is_kept() {
            self.beside.lock().push(Decision::beside(Move::Fails(what, pid, number, way)));
        }
        Some(way)
    }

    /// The end is part of the schedule: no process runs behind it.
    fn end_is_asked(&self) {
        self.halted.store(true, Ordering::Release);
    }
}
