//! The scheduler threads.
//!
//! A process that becomes runnable goes to the queue of the scheduler on which that happened, so that processes that
//! talk to each other stay on one core. A sleeping scheduler is woken when a queue holds more than one process (at
//! once, or after a while where more gets done that way: [`sharing`]), or when a process has used its whole slice while
//! others wait: a single process that was woken by one that is about to wait itself is not worth a second core. If that
//! one does not wait, but enters a function that takes long, the watch ([`watch`]) sees it, and another thread sees to
//! the process that was woken, and to timers: a scheduler that sleeps, or a stand-in ([`stand_ins`]).

mod polls;
mod sharing;
mod sleep;
mod stand_ins;
mod watch;

use std::cell::Cell;
use std::fmt;
use std::io;
use std::sync::OnceLock;
use std::thread::Builder;

use atoll_heap::counters::take_paused;
use atoll_heap::{Fragment, idle_work};
use atoll_platform::addresses::Share;
use atoll_platform::sync::{AtomicBool, AtomicI64, AtomicUsize, Condvar, Mutex, Ordering};
use atoll_platform::{Observed, clock, threads};
use atoll_process::microstates::{State, charged};
use atoll_process::table::{Pinned, pin};
use atoll_process::{Entry, Held, Lent, Priority, Queued, Schedule, System, Urgency, profile, send};
use atoll_term::Term;

use self::sharing::Sharing;
#[cfg(not(loom))]
pub(crate) use self::sleep::LONGEST_SLEEP;
use self::sleep::Sleep;
pub(crate) use self::sleep::away_from_heap;
use self::stand_ins::Pool;
use self::watch::Watch;
use crate::contract::{Engine, Poll, Scheduling};
use crate::queue::{Order, RunQueue, Standing};
use crate::run_slice::run_slice;
use crate::wall_time::{Idle, WallTime};
use crate::world::Gate;

/// Native stack of a scheduler in bytes: addresses; memory is used as it is touched.
const STACK_BYTES: usize = 256 << 20;
/// It takes no less than so many bytes, however few addresses the machine may use.
const LEAST_STACK_BYTES: usize = 4 << 20;

/// Native stack of a scheduler here, in bytes.
pub(crate) fn stack_bytes() -> usize {
    Share::SchedulerStack.most().clamp(LEAST_STACK_BYTES, STACK_BYTES)
}

/// Switches after which timers are looked at, if no process used its whole slice before, and no collector kept one for
/// long.
const SWITCHES_PER_CLOCK: u32 = 16;
/// Freed messages of each size that a scheduler keeps for its next ones.
const KEPT_FRAGMENTS: u32 = 64;
/// Nanoseconds after which a timer is acted on by another scheduler than its own.
const OVERDUE: i64 = 1_000_000;
struct Scheduler {
    queue: RunQueue,
    /// Whether it looks for work, before it sleeps.
    looks: AtomicBool,
    asleep: Mutex<Sleep>,
    wake: Condvar,
    /// Slices begun by its own thread.
    slices: AtomicUsize,
    /// How often its own thread had nothing to run.
    rests: AtomicUsize,
    /// Slices begun by stand-ins.
    stood_in: AtomicUsize,
    /// The threads that work in its place: its own one, and those that stand in. The last one works.
    workers: Mutex<Vec<Observed>>,
    idle: Idle,
    /// The system profiler has been told that this scheduler is inactive.
    rest_told: AtomicBool,
}

impl Scheduler {
    /// Counts a slice, or a rest, in one of the counters of its own thread, which calls this.
    #[inline]
    fn count(counter: &AtomicUsize) {
        counter.store(counter.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }
}

/// What a thread that runs processes keeps from slice to slice.
#[derive(Default)]
struct Pace {
    /// The last round ([`atoll_process::rounds`]) that it has done.
    round: u64,
    /// Slices since timers were looked at.
    switches: u32,
    /// Held over several slices, so that a look-up in the process table does not pay for it.
    pinned: Option<Pinned>,
}

/// All schedulers.
pub struct Schedulers {
    order: Order,
    schedulers: Vec<Scheduler>,
    sleeping: AtomicUsize,
    sharing: Sharing,
    gate: Gate,
    halted: AtomicBool,
    wall_time: WallTime,
    poll: OnceLock<&'static dyn Poll>,
    /// A scheduler is polling.
    polling: AtomicBool,
    /// When a busy scheduler polled last.
    polled: AtomicI64,
    /// Whether a thread looks after those that are in long functions.
    watch: Watch,
    pool: Pool,
    /// Told when a process has ended: its pid and the reason, while its heap still exists.
    ended: OnceLock<fn(Term, Term)>,
}

impl fmt::Debug for Schedulers {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Schedulers({})", self.schedulers.len())
    }
}

#[cfg(not(loom))]
thread_local! {
    /// This thread's scheduler; threads that are none have a higher number than all.
    pub(crate) static CURRENT: Cell<usize> = const { Cell::new(usize::MAX) };
}
#[cfg(loom)]
loom::thread_local! {
    static CURRENT: Cell<usize> = Cell::new(usize::MAX);
}

thread_local! {
    /// Whether this thread stands in for a scheduler, or may.
    static STANDS_IN: Cell<bool> = const { Cell::new(false) };
    /// That of the process that this scheduler runs, or ran last.
    pub(crate) static PRIORITY: Cell<Priority> = const { Cell::new(Priority::Low) };
    /// How urgent that is; kept where urgency is the order.
    static URGENCY: Cell<Urgency> = const { Cell::new(Urgency::of(Priority::Low)) };
}

impl Schedulers {
    /// Queues for `count` schedulers, by levels; nothing runs yet.
    pub fn new(count: usize) -> &'static Schedulers {
        Schedulers::in_order(count, Order::Levels)
    }

    /// The same, in another order.
    pub fn in_order(count: usize, order: Order) -> &'static Schedulers {
        let scheduler = || Scheduler {
            queue: RunQueue::new(order),
            looks: AtomicBool::new(false),
            asleep: Mutex::new(Sleep::Awake),
            wake: Condvar::new(),
            slices: AtomicUsize::new(0),
            rests: AtomicUsize::new(0),
            stood_in: AtomicUsize::new(0),
            workers: Mutex::new(Vec::new()),
            idle: Idle::default(),
            rest_told: AtomicBool::new(false),
        };
        Box::leak(Box::new(Schedulers {
            order,
            schedulers: (0..count.max(1)).map(|_| scheduler()).collect(),
            sleeping: AtomicUsize::new(0),
            sharing: Sharing::default(),
            gate: Gate::default(),
            halted: AtomicBool::new(false),
            wall_time: WallTime::default(),
            poll: OnceLock::new(),
            polling: AtomicBool::new(false),
            polled: AtomicI64::new(0),
            watch: Watch::default(),
            pool: Pool::default(),
            ended: OnceLock::new(),
        }))
    }

    /// Slices run so far.
    pub fn context_switches(&self) -> usize {
        let slices = |one: &Scheduler| one.slices.load(Ordering::Relaxed) + one.stood_in.load(Ordering::Relaxed);
        self.schedulers.iter().map(slices).sum()
    }

    fn work(&self, index: usize, engine: &mut dyn Engine) {
        let own = &self.schedulers[index];
        own.workers.lock().push(Observed::this_thread());
        System::get().rounds.take_part();
        let mut pace = Pace::default();
        self.gate.enter();
        while !self.halted.load(Ordering::Relaxed) {
            self.between_slices(index, &mut pace);
            let Some(process) = self.next(index) else {
                pace.pinned = None;
                self.rest(index);
                continue;
            };
            Scheduler::count(&own.slices);
            self.run(index, process, &mut pace, engine);
        }
        drop(pace);
        self.gate.leave();
        self.keep_still();
    }

    /// A halted scheduler keeps still until the machine exits.
    fn keep_still(&self) -> ! {
        loop {
            std::thread::park();
        }
    }

    /// What a thread does before each slice that it begins in the place of a scheduler.
    #[inline]
    fn between_slices(&self, index: usize, pace: &mut Pace) {
        if self.gate.is_stopping() {
            away_from_heap(|| {
                self.gate.leave();
                self.gate.enter();
            });
        }
        if pace.switches >= SWITCHES_PER_CLOCK {
            *pace = Pace { round: pace.round, ..Pace::default() };
            expire_timers(index);
            self.poll_while_busy();
            self.go_on_sharing();
        }
        let chores = &System::get().chores;
        if chores.is_wanted() {
            chores.run();
        }
        let rounds = &System::get().rounds;
        if rounds.number() != pace.round {
            pace.round = rounds.number();
            rounds.run();
        }
    }

    fn go_on_sharing(&self) {
        if self.schedulers.len() > 1 {
            self.sharing.go_on(clock::monotonic(), || System::get().reductions.total());
        }
    }

    /// Waits until there may be something to run.
    fn rest(&self, index: usize) {
        let own = &self.schedulers[index];
        Scheduler::count(&own.rests);
        self.go_on_sharing();
        // Not behind the gate: a collection would not find the messages of timers that are on their way.
        expire_timers(index);
        if System::get().profiling.is_on() {
            self.tell_rest(index);
        }
        self.gate.leave();
        self.wall_time.rest(&own.idle);
        let polled = self.find_work(index);
        self.wall_time.work(&own.idle);
        self.watch.keep();
        self.gate.enter();
        if let Some(turn) = polled {
            turn.tell();
        }
        self.expire_overdue(index);
    }

    /// The process that a scheduler runs next. By urgency it may stand in the queue of another one, which is busy with
    /// something less urgent.
    #[inline]
    fn next(&self, index: usize) -> Option<Queued> {
        let own = &self.schedulers[index].queue;
        if self.order == Order::Levels || own.len() == 0 {
            return own.pop();
        }
        let first = self.schedulers.iter().map(|other| &other.queue).min_by_key(|queue| queue.first());
        let other = first.filter(|queue| queue.first() < own.first());
        other.and_then(RunQueue::pop).or_else(|| own.pop())
    }

    #[inline]
    fn standing(&self, process: &Queued) -> Standing {
        match self.order {
            Order::Levels => Standing::of(process.priority()),
            Order::Urgency => Standing { level: process.priority(), urgency: process.urgency() },
        }
    }

    /// Puts a process into the run queue of this thread's scheduler.
    #[inline]
    fn enqueue_with(&self, process: Queued, standing: Standing) {
        let current = CURRENT.with(Cell::get);
        if current < self.schedulers.len() {
            let queue = &self.schedulers[current].queue;
            if queue.push(process, standing) > 1 && queue.is_crowded_for(self.sharing.patience()) {
                self.wake_one();
            }
        } else {
            self.enqueue_from_outside(process, standing);
        }
    }

    /// The same on a thread that is no scheduler.
    fn enqueue_from_outside(&self, process: Queued, standing: Standing) {
        let looking = self.schedulers.iter().position(|scheduler| scheduler.looks.load(Ordering::Relaxed));
        let chosen = looking.unwrap_or(0);
        let scheduler = &self.schedulers[chosen];
        scheduler.queue.push(process, standing);
        // One that still looks now finds it in its queue, at the latest before it sleeps.
        if !scheduler.looks.load(Ordering::Relaxed) && !self.wake(chosen) {
            self.wake_one();
        }
    }

    /// Runs a process for a slice.
    #[inline]
    fn run(&self, index: usize, queued: Queued, pace: &mut Pace, engine: &mut dyn Engine) {
        let system = System::get();
        pace.pinned.get_or_insert_with(pin);
        pace.switches += 1;
        let mut running = queued.run();
        PRIORITY.set(running.process().priority());
        if self.order == Order::Urgency {
            URGENCY.set(running.process().urgency());
        }
        if system.profiling.is_on() {
            self.tell_running(index, &mut running.held());
        }
        let still_runs = run_slice(system, running, engine, |pid, reason| self.tell_end(pid, reason));
        let used_all = still_runs.is_some();
        if let Some(queued) = still_runs {
            self.enqueue(queued);
        }
        if used_all || take_paused() {
            pace.switches = SWITCHES_PER_CLOCK;
        }
        let is_help_wanted = || idle_work().is_some_and(|work| work.is_waiting());
        let queue = &self.schedulers[index].queue;
        if used_all && queue.len() > 1 {
            queue.has_waited_long();
            self.wake_one();
        } else if used_all && is_help_wanted() {
            self.wake_one();
        }
    }

    /// A process has ended.
    fn tell_end(&self, pid: Term, reason: Term) {
        if let Some(ended) = self.ended.get() {
            ended(pid, reason);
        }
    }

    /// Reports a process that starts running, and its scheduler, to the system profiler if these are news.
    #[cold]
    #[inline(never)]
    fn tell_running(&self, index: usize, held: &mut Held<'_>) {
        profile::starts(held);
        // Work for the profiler alone does not count: it would never end.
        let own = &self.schedulers[index];
        if own.rest_told.load(Ordering::Relaxed) && !profile::is_profiler(held.process().pid) {
            own.rest_told.store(false, Ordering::Relaxed);
            profile::scheduler(index, true, self.active_others(index) + 1);
        }
    }

    /// Reports to the system profiler that a scheduler has nothing to run.
    #[cold]
    #[inline(never)]
    fn tell_rest(&self, index: usize) {
        let own = &self.schedulers[index];
        if !own.rest_told.load(Ordering::Relaxed) && profile::scheduler(index, false, self.active_others(index)) {
            own.rest_told.store(true, Ordering::Relaxed);
        }
    }

    /// How many other schedulers than this one have something to run.
    fn active_others(&self, index: usize) -> usize {
        let others = self.schedulers.iter().enumerate().filter(|(other, _)| *other != index);
        others.filter(|(_, other)| !other.idle.rests()).count()
    }

    /// Acts on timers of schedulers that do not come to it.
    fn expire_overdue(&self, index: usize) {
        let now = clock::monotonic();
        (0..self.schedulers.len()).filter(|other| *other != index).for_each(|other| {
            if System::get().timers.next_time(other) < now - OVERDUE {
                expire_timers(other);
            }
        });
    }
}

pub(crate) fn expire_timers(index: usize) {
    if timer_is_due(index) {
        charged(State::Aux, || {
            for (number, action) in System::get().timers.take_due(index, clock::now()) {
                send::expire(number, action);
            }
        });
    }
}

fn timer_is_due(index: usize) -> bool {
    let next = System::get().timers.next_time(index);
    next != i64::MAX && next <= clock::now()
}

impl Scheduling for Schedulers {
    fn count(&self) -> usize {
        self.schedulers.len()
    }

    fn prepare(&self, outside: &'static dyn Poll, ended: fn(Term, Term)) {
        let _ = self.poll.set(outside);
        let _ = self.ended.set(ended);
    }

    fn start(&'static self, engine: fn() -> Box<dyn Engine>) -> io::Result<()> {
        for index in 0..self.schedulers.len() {
            let thread = Builder::new().name(format!("scheduler {}", index + 1)).stack_size(stack_bytes());
            threads::start(thread, move || {
                CURRENT.with(|current| current.set(index));
                Fragment::keep_on_this_thread(KEPT_FRAGMENTS);
                self.work(index, &mut *engine());
            })?;
        }
        self.start_watch(engine);
        Ok(())
    }

    fn halt(&self) {
        self.halted.store(true, Ordering::Release);
    }
}

impl Schedule for Schedulers {
    fn queue_lengths(&self) -> Vec<usize> {
        self.schedulers.iter().map(|scheduler| scheduler.queue.len()).collect()
    }

    fn context_switches(&self) -> usize {
        Schedulers::context_switches(self)
    }

    fn measure_wall_time(&self, on: bool) -> bool {
        self.wall_time.switch(on, self.schedulers.iter().map(|scheduler| &scheduler.idle))
    }

    fn wall_time(&self) -> Option<Vec<(i64, i64)>> {
        self.wall_time.read(self.schedulers.iter().map(|scheduler| &scheduler.idle))
    }

    #[inline]
    fn enqueue(&self, process: Queued) {
        let standing = self.standing(&process);
        self.enqueue_with(process, standing);
    }

    fn enqueue_for_signal(&self, process: Queued) {
        let running = Standing { level: PRIORITY.get(), urgency: URGENCY.get() };
        let standing = self.standing(&process).or(running);
        self.enqueue_with(process, standing);
    }

    fn current(&self) -> usize {
        let current = CURRENT.with(Cell::get);
        if current < self.schedulers.len() { current } else { 0 }
    }

    fn own_thread_of(&self) -> Option<usize> {
        let current = CURRENT.with(Cell::get);
        (current < self.schedulers.len() && !STANDS_IN.get()).then_some(current)
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

    fn wake_all(&self) {
        for index in 0..self.schedulers.len() {
            self.wake(index);
        }
        // Also the thread that has the watch, and those that wait for it.
        self.watch.keep();
        self.pool.wake_all();
    }

    fn leave_world(&self) {
        self.gate.leave();
    }
}

#[cfg(all(test, loom))]
mod sleep_model;
