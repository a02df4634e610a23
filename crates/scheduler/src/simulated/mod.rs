//! A scheduler whose schedules can be had again: one thread runs all processes, and a [`Policy`] decides which of those
//! that could run does so next, and how far it comes. The clock of the machine stands still while a process runs; it
//! goes on by [`TICK`] with each time slice, and to the next timer when nothing can run. So the same program with the
//! same decisions runs the same schedule, and timeouts take no time. What the machine does for itself costs processes
//! no reductions here (`heap/debt.rs`, `runtime/slice.rs`), so that schedules do not depend on the architecture.
//!
//! * [`policy`]: where decisions come from; [`random`], [`pct`], [`round_robin`], [`delays`], [`guided`], [`replay`]:
//!   one file each
//! * [`faults`]: what goes wrong beside; [`late`]: signals that arrive later than they are sent
//! * this file: the mechanism, which carries decisions out and records them
//!
//! What comes from outside comes when it comes: while a port or a socket waits for a descriptor, a timeout comes after
//! its real time, so that an answer can come before. Work that the machine would give to other threads (on files, dirty
//! calls of native libraries) is done on this one, see [`Schedule::works_alone`].
//!
//! Priorities are kept: `max` runs before `high`, and both before the others, among which the policy chooses.

mod delays;
mod draw;
mod faults;
mod guided;
mod late;
mod pct;
mod policy;
mod random;
mod replay;
mod round_robin;

use std::fmt;
use std::io;
use std::sync::OnceLock;
use std::thread::Builder;
use std::time::Duration;

use atoll_heap::{concurrent_roots, debt};
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
use crate::schedulers::{CURRENT, LONGEST_SLEEP, PRIORITY, STACK_BYTES, away_from_heap, expire_timers};
use crate::world::Gate;

pub use atoll_process::Failing;
pub use delays::Delays;
pub use draw::Draw;
pub use faults::{Faulty, Rates};
pub use guided::{Guided, Touched, depend};
pub use pct::Pct;
pub use policy::{ANY_OPERATIONS, Candidate, Choice, Fault, LONGEST_SLICE, Policy};
pub use random::RandomWalk;
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

/// Processes that can run, and who chooses among them.
struct Ready {
    by_priority: [Vec<Queued>; 4],
    policy: Box<dyn Policy>,
    /// Kept for its memory.
    candidates: Vec<Candidate>,
}

impl Ready {
    fn len(&self) -> usize {
        self.by_priority.iter().map(Vec::len).sum()
    }

    /// Takes the process that runs next, with the decision.
    fn choose(&mut self) -> Option<(Queued, Turn, Decision)> {
        let class = self.by_priority.iter().position(|processes| !processes.is_empty())?;
        let classes = if class == Priority::Normal as usize { class..=Priority::Low as usize } else { class..=class };
        self.candidates.clear();
        for class in classes {
            let waiting = self.by_priority[class].iter();
            self.candidates
                .extend(waiting.map(|queued| Candidate { pid: queued.process().pid, priority: Priority::ALL[class] }));
        }
        let choice = self.policy.choose(&self.candidates);
        let pid = self.candidates[choice.index].pid;
        let first = self.by_priority[class].len();
        let process = match choice.index.checked_sub(first) {
            None => self.by_priority[class].remove(choice.index),
            Some(index) => self.by_priority[Priority::Low as usize].remove(index),
        };
        let turn = Turn { pid, operations: choice.operations, reductions: choice.reductions };
        Some((process, turn, Decision { made: Move::Turn(turn), ran: 0, goes_on: false, ready: self.candidates.len() }))
    }
}

/// The scheduler; see the head of this file.
pub struct Simulated {
    ready: Mutex<Ready>,
    /// Another thread has added a process.
    added: Condvar,
    clock: Virtual,
    gate: Gate,
    halted: AtomicBool,
    /// See [`Simulated::decisions`].
    decisions: Mutex<Vec<Decision>>,
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
    /// decisions the machine is told that there is no end in sight.
    pub fn new(policy: Box<dyn Policy>, limit: usize) -> &'static Simulated {
        let may_fail = policy.may_fail();
        Box::leak(Box::new(Simulated {
            ready: Mutex::new(Ready { by_priority: Default::default(), policy, candidates: Vec::new() }),
            added: Condvar::new(),
            clock: Virtual::starting_at(BEGINNING),
            gate: Gate::default(),
            halted: AtomicBool::new(false),
            decisions: Mutex::new(Vec::new()),
            beside: Mutex::new(Vec::new()),
            may_fail,
            fallible: Mutex::new(HashMap::default()),
            limit,
            outside: OnceLock::new(),
            ended: OnceLock::new(),
        }))
    }

    /// A random walk without a limit.
    pub fn seeded(seed: u64) -> &'static Simulated {
        Simulated::new(Box::new(RandomWalk::new(seed)), usize::MAX)
    }

    /// The schedule so far; the signals that were late and what failed stand in front. What came of the last decision
    /// is not known: it may have ended the machine.
    pub fn decisions(&self) -> Vec<Decision> {
        let mut decisions = self.beside.lock().clone();
        decisions.extend_from_slice(&self.decisions.lock());
        if let Some(last) = decisions.last_mut() {
            (last.ran, last.goes_on) = (0, false);
        }
        decisions
    }

    /// Nanoseconds that have passed by the clock of the machine.
    pub fn elapsed(&self) -> i64 {
        self.clock.now() - BEGINNING
    }

    fn work(&self, engine: &mut dyn Engine, ended: fn(Term, Term)) {
        let system = System::get();
        debt::forgive();
        if self.ready.lock().policy.has_late() {
            system.held_back.begin();
        }
        let wants_touches = self.ready.lock().policy.wants_touches();
        if wants_touches {
            system.note_touches();
        }
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
            self.fault(system);
            self.arrivals(system);
            expire_timers(0);
            let chosen = self.ready.lock().choose();
            if self.ready.lock().policy.is_redundant() {
                self.give_up(NoEnd::Redundant);
                if let Some((process, ..)) = chosen {
                    self.enqueue(process);
                }
                continue;
            }
            let Some((process, turn, decision)) = chosen else {
                self.gate.leave();
                let found = self.rest();
                self.gate.enter();
                if let Some(outside) = found {
                    outside.tell();
                }
                continue;
            };
            self.run(system, process, (turn, decision), engine, ended);
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
        let may_fault = {
            let ready = self.ready.lock();
            ready.len() > 0 && ready.policy.may_fault()
        };
        if !may_fault {
            return;
        }
        let mut alive = Vec::new();
        system.table.each(|process| alive.push(process.pid));
        alive.sort_unstable_by_key(|pid| pid.immediate_data());
        let fault = self.ready.lock().policy.fault(&alive);
        let Some(fault) = fault else { return };
        self.decisions.lock().push(Decision::beside(Move::Fault(fault)));
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
        loop {
            let late = system.held_back.pairs();
            if late.is_empty() {
                return;
            }
            let is_asked = self.ready.lock().len() > 0;
            let pair = match is_asked {
                true => self.ready.lock().policy.arrives(&late).map(|place| late[place]),
                false => late.first().copied(),
            };
            let Some(pair) = pair else { return };
            if is_asked {
                // Otherwise a recording has no decision in front of which it could repeat it, and need not.
                self.decisions.lock().push(Decision::beside(Move::Arrives(pair)));
            }
            system.arrive(pair);
        }
    }

    fn run(
        &self,
        system: &System,
        process: Queued,
        (turn, mut decision): (Turn, Decision),
        engine: &mut dyn Engine,
        ended: fn(Term, Term),
    ) {
        let running = process.run();
        PRIORITY.set(running.process().priority());
        // Noted before it runs: it may be the one that ends the machine.
        let count = {
            let mut decisions = self.decisions.lock();
            decisions.push(decision);
            decisions.len()
        };
        engine.set_slice(turn.reductions, turn.operations);
        system.held_back.sends(Some(turn.pid));
        if system.touches.is_on() {
            let ready = self.ready.lock();
            system.touches.begin_turn(turn.pid, ready.candidates.iter().map(|candidate| candidate.pid));
        }
        let queued = run_slice(system, running, engine, |pid, reason| {
            system.table.with(pid, |process| system.touches.end(process));
            ended(pid, reason);
        });
        system.held_back.sends(None);
        if system.touches.is_on()
            && let Some(touched) = system.touches.last()
        {
            self.ready.lock().policy.touched(&touched);
        }
        decision.ran = engine.operations();
        decision.goes_on = queued.is_some();
        if let Some(last) = self.decisions.lock().last_mut() {
            *last = decision;
        }
        self.ready.lock().policy.ran(decision.ran);
        if let Some(process) = queued {
            self.enqueue(process);
        }
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
        if concurrent_roots().is_some_and(|collector| unsafe { collector.idle() }) {
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
        self.ready.lock().by_priority[priority as usize].push(process);
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
        let thread = Builder::new().name("scheduler 1".to_owned()).stack_size(STACK_BYTES);
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
        self.decisions.lock().len()
    }

    fn works_alone(&self) -> bool {
        true
    }

    fn is_late(&self, pair: Pair, number: u64) -> bool {
        // The schedule is over, and may be read already.
        if self.halted.load(Ordering::Relaxed) {
            return false;
        }
        let is_late = self.ready.lock().policy.is_late(pair, number);
        if is_late {
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
        let way = self.ready.lock().policy.fails(what, pid, number, ways)?;
        self.beside.lock().push(Decision::beside(Move::Fails(what, pid, number, way)));
        Some(way)
    }

    /// The end is part of the schedule: no process runs behind it.
    fn end_is_asked(&self) {
        self.halted.store(true, Ordering::Release);
    }
}
