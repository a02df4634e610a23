//! A scheduler for tests, and for schedules that are to be had again: one thread runs all processes, and a seed decides
//! which of those that could run does so next, and for how many reductions. The clock of the machine stands still while
//! a process runs; it goes on by [`TICK`] with each time slice, and to the next timer when nothing can run. So the same
//! program with the same seed runs the same schedule, and timeouts take no time. That is so under `private` and
//! `shared`. Under `hybrid` it need not be: its collector works by the system's clock, and what it does to a process
//! costs reductions.
//!
//! What comes from outside comes when it comes. While another thread works for a process (on files), the clock stands
//! still when nothing can run; as soon as a port or a socket waits for a descriptor, it goes on as the system's clock
//! does, so that a timeout does not fire before an answer could come. Dirty calls of native libraries are not known
//! here.
//!
//! Priorities are kept: `max` runs before `high`, and both before the others; among `normal` and `low` every eighth
//! choice or so is a `low` one.

use std::fmt;
use std::io;
use std::sync::OnceLock;
use std::thread::Builder;
use std::time::Duration;

use atoll_heap::concurrent_roots;
use atoll_platform::clock::{self, Virtual};
use atoll_platform::sync::{AtomicBool, Condvar, Mutex, Ordering};
use atoll_platform::threads;
use atoll_process::{Entry, Lent, Priority, Queued, Schedule, System};
use atoll_term::Term;

use crate::contract::{Engine, Poll, Scheduling};
use crate::run_slice::run_slice;
use crate::schedulers::{CURRENT, LONGEST_SLEEP, PRIORITY, STACK_BYTES, away_from_heap, expire_timers};
use crate::world::Gate;

/// Nanoseconds by which the clock goes on with each time slice.
const TICK: i64 = 1_000;
/// When the clock begins, in nanoseconds.
const BEGINNING: i64 = 1_000_000_000;
/// Most reductions of a slice are `SHORTEST` doubled so many times, less than `DOUBLINGS`, as the seed says: short
/// slices interrupt a process between any two calls, long ones let it come far.
const SHORTEST: u64 = 4;
const DOUBLINGS: u64 = 11;
/// One of so many choices goes to a process of priority `low` while others wait.
const CHOICES_FOR_LOW: u64 = 8;

/// Processes that can run, and the choice among them.
struct Ready {
    random: u64,
    by_priority: [Vec<Queued>; 4],
}

impl Ready {
    /// A number below `limit`, which the seed decides (splitmix64).
    fn draw(&mut self, limit: u64) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.random) % limit
    }

    fn len(&self) -> usize {
        self.by_priority.iter().map(Vec::len).sum()
    }

    /// Takes the process that runs next, with the reductions of its slice.
    fn choose(&mut self) -> Option<(Queued, i64)> {
        let mut class = self.by_priority.iter().position(|processes| !processes.is_empty())?;
        let low_waits = !self.by_priority[Priority::Low as usize].is_empty();
        if class == Priority::Normal as usize && low_waits && self.draw(CHOICES_FOR_LOW) == 0 {
            class = Priority::Low as usize;
        }
        let index = self.draw(self.by_priority[class].len() as u64) as usize;
        let process = self.by_priority[class].remove(index);
        let most = SHORTEST << self.draw(DOUBLINGS);
        Some((process, 1 + self.draw(most) as i64))
    }
}

fn mix(word: u64) -> u64 {
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

/// The scheduler; see the head of this file.
pub struct Seeded {
    seed: u64,
    ready: Mutex<Ready>,
    /// Another thread has added a process.
    added: Condvar,
    clock: Virtual,
    gate: Gate,
    halted: AtomicBool,
    /// See [`Seeded::choices`].
    choices: Mutex<Vec<(Term, i64)>>,
    outside: OnceLock<&'static dyn Poll>,
    ended: OnceLock<fn(Term, Term)>,
}

impl fmt::Debug for Seeded {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Seeded({})", self.seed)
    }
}

impl Seeded {
    /// For one machine. It lives as long as the process of the operating system, as machines do.
    pub fn new(seed: u64) -> &'static Seeded {
        Box::leak(Box::new(Seeded {
            seed,
            ready: Mutex::new(Ready { random: mix(seed), by_priority: Default::default() }),
            added: Condvar::new(),
            clock: Virtual::starting_at(BEGINNING),
            gate: Gate::default(),
            halted: AtomicBool::new(false),
            choices: Mutex::new(Vec::new()),
            outside: OnceLock::new(),
            ended: OnceLock::new(),
        }))
    }

    /// The schedule so far: which processes ran, in their order, and for how many reductions each could.
    pub fn choices(&self) -> Vec<(Term, i64)> {
        self.choices.lock().clone()
    }

    /// Nanoseconds that have passed by the clock of the machine.
    pub fn elapsed(&self) -> i64 {
        self.clock.now() - BEGINNING
    }

    fn work(&self, engine: &mut dyn Engine, ended: fn(Term, Term)) {
        let system = System::get();
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
            expire_timers(0);
            let chosen = self.ready.lock().choose();
            let Some((process, reductions)) = chosen else {
                self.gate.leave();
                let found = self.rest();
                self.gate.enter();
                if let Some(outside) = found {
                    outside.tell();
                }
                continue;
            };
            let running = process.run();
            self.choices.lock().push((running.process().pid, reductions));
            PRIORITY.set(running.process().priority());
            engine.set_slice(reductions);
            if let Some(process) = run_slice(system, running, engine, ended) {
                self.enqueue(process);
            }
            self.clock.advance(TICK);
        }
        self.gate.leave();
        // As other schedulers, it keeps still until the machine exits.
        loop {
            std::thread::park();
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
        let is_awaited = outside.is_some_and(|outside| outside.is_needed() || outside.is_working());
        if next != i64::MAX && !is_awaited {
            self.clock.advance_to(next);
            return None;
        }
        let Some(outside) = outside.filter(|outside| outside.is_needed()) else {
            let mut ready = self.ready.lock();
            if ready.len() == 0 && !self.halted.load(Ordering::Relaxed) {
                away_from_heap(|| self.added.wait_for(&mut ready, LONGEST_SLEEP));
            }
            return None;
        };
        let left = Duration::from_nanos(next.saturating_sub(self.clock.now()).max(0) as u64).min(LONGEST_SLEEP);
        let began = clock::monotonic();
        let found = away_from_heap(|| outside.wait(left));
        self.clock.advance(clock::monotonic() - began);
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

impl Scheduling for Seeded {
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

impl Schedule for Seeded {
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
        self.choices.lock().len()
    }
}
