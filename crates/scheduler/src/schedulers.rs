//! The scheduler threads.
//!
//! A process that becomes runnable goes to the queue of the scheduler on which that happened, so that processes that
//! talk to each other stay on one core. A sleeping scheduler is woken when a queue holds more than one process, or
//! when a process has used its whole slice while others wait: a single process that was woken by one that is
//! about to wait itself is not worth a second core. If that one does not wait, but enters a function that takes long, a
//! sleeping scheduler that glances ([`crate::glance`]) sees to the process that was woken, and to timers.

use std::cell::Cell;
use std::fmt;
use std::io;
use std::sync::OnceLock;
use std::thread::Builder;
use std::time::Duration;

use atoll_heap::counters::take_paused;
use atoll_heap::{Fragment, concurrent_roots};
use atoll_platform::sync::{AtomicBool, AtomicI64, AtomicUsize, Condvar, Mutex, MutexGuard, Ordering};
use atoll_platform::{clock, threads};
use atoll_process::microstates::{State, charged};
use atoll_process::table::pin;
use atoll_process::{Entry, Held, Lent, Priority, Queued, Schedule, System, Urgency, profile, send};
use atoll_term::Term;

use crate::contract::{Engine, Poll, Scheduling};
use crate::glance::{Glancer, Progress};
use crate::queue::{Order, RunQueue, Standing};
use crate::run_slice::run_slice;
use crate::wall_time::{Idle, WallTime};
use crate::world::Gate;

/// Native stack of a scheduler in bytes: addresses; memory is used as it is touched.
pub(crate) const STACK_BYTES: usize = 256 << 20;
/// Switches after which timers are looked at, if no process used its whole slice before, and no collector kept one for
/// long.
const SWITCHES_PER_CLOCK: u32 = 16;
/// How long a scheduler without work looks around before it sleeps.
const LOOKS: u32 = 50;
/// The same where something is waited for outside of the machine, which takes longer to come.
const LOOKS_WITH_POLLS: u32 = 10;
/// Longest sleep of a scheduler that has to see that another goes on looking after file descriptors.
const WATCH: Duration = Duration::from_millis(10);
/// Freed messages of each size that a scheduler keeps for its next ones.
const KEPT_FRAGMENTS: u32 = 64;
/// Longest sleep without a timer.
pub(crate) const LONGEST_SLEEP: Duration = Duration::from_millis(500);

/// Nanoseconds after which a timer is acted on by another scheduler than its own.
const OVERDUE: i64 = 1_000_000;
/// Nanoseconds after which a busy scheduler looks after file descriptors.
const BUSY_POLL: i64 = 200_000;

/// How a scheduler sleeps.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sleep {
    Awake,
    Waiting,
    /// In [`Poll::wait`].
    Polling,
}

struct Scheduler {
    queue: RunQueue,
    asleep: Mutex<Sleep>,
    wake: Condvar,
    /// Slices run so far, to see from outside whether it makes progress.
    slices: AtomicUsize,
    idle: Idle,
    /// The system profiler has been told that this scheduler is inactive.
    rest_told: AtomicBool,
}

impl Scheduler {
    /// Called by its own thread alone.
    #[inline]
    fn count_slice(&self) {
        self.slices.store(self.slices.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// What a glance from outside sees.
    fn glance(&self, index: usize) -> Progress {
        let is_due = System::get().timers.next_time(index) < clock::monotonic() - OVERDUE;
        Progress { slices: self.slices.load(Ordering::Relaxed), keeps_waiting: self.queue.len() > 0 || is_due }
    }
}

/// All schedulers.
pub struct Schedulers {
    order: Order,
    schedulers: Vec<Scheduler>,
    sleeping: AtomicUsize,
    gate: Gate,
    halted: AtomicBool,
    wall_time: WallTime,
    poll: OnceLock<&'static dyn Poll>,
    /// A scheduler is polling.
    polling: AtomicBool,
    /// When a busy scheduler polled last.
    polled: AtomicI64,
    /// Whether a sleeping scheduler looks after those that are in long functions.
    glancer: Glancer,
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
    /// Whether this scheduler runs a process.
    static RUNS: Cell<bool> = const { Cell::new(false) };
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
            asleep: Mutex::new(Sleep::Awake),
            wake: Condvar::new(),
            slices: AtomicUsize::new(0),
            idle: Idle::default(),
            rest_told: AtomicBool::new(false),
        };
        Box::leak(Box::new(Schedulers {
            order,
            schedulers: (0..count.max(1)).map(|_| scheduler()).collect(),
            sleeping: AtomicUsize::new(0),
            gate: Gate::default(),
            halted: AtomicBool::new(false),
            wall_time: WallTime::default(),
            poll: OnceLock::new(),
            polling: AtomicBool::new(false),
            polled: AtomicI64::new(0),
            glancer: Glancer::default(),
            ended: OnceLock::new(),
        }))
    }

    /// Slices run so far.
    pub fn context_switches(&self) -> usize {
        self.schedulers.iter().map(|scheduler| scheduler.slices.load(Ordering::Relaxed)).sum()
    }

    fn work(&self, index: usize, engine: &mut dyn Engine) {
        let system = System::get();
        let own = &self.schedulers[index];
        let mut switches = 0;
        // Held over several slices, so that a look-up in the process table does not pay for it.
        let mut pinned = None;
        self.gate.enter();
        while !self.halted.load(Ordering::Relaxed) {
            if self.gate.is_stopping() {
                away_from_heap(|| {
                    self.gate.leave();
                    self.gate.enter();
                });
            }
            if switches >= SWITCHES_PER_CLOCK {
                switches = 0;
                pinned = None;
                expire_timers(index);
                self.poll_while_busy();
            }
            if system.chores.is_wanted() {
                system.chores.run();
            }
            let Some(process) = self.next(index) else {
                pinned = None;
                // Not behind the gate: a collection would not find the messages of timers that are on their way.
                expire_timers(index);
                if system.profiling.is_on() {
                    self.tell_rest(index);
                }
                self.gate.leave();
                self.wall_time.rest(&own.idle);
                let polled = self.find_work(index);
                self.wall_time.work(&own.idle);
                self.gate.enter();
                if let Some(turn) = polled {
                    turn.tell();
                }
                self.expire_overdue(index);
                continue;
            };
            pinned.get_or_insert_with(pin);
            own.count_slice();
            switches += 1;
            let used_all = self.run(system, index, process, engine);
            if used_all || take_paused() {
                switches = SWITCHES_PER_CLOCK;
            }
            if used_all && own.queue.len() > 1 {
                self.wake_one();
            }
        }
        self.gate.leave();
        // A halted scheduler keeps still until the machine exits.
        loop {
            std::thread::park();
        }
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
            let waiting = self.schedulers[current].queue.push(process, standing);
            // The one that runs may go on for long.
            if waiting > 1 || (RUNS.get() && self.glancer.is_wanted()) {
                self.wake_one();
            }
        } else {
            self.schedulers[0].queue.push(process, standing);
            if !self.wake(0) {
                self.wake_one();
            }
        }
    }

    /// Runs a process for a slice; returns whether it used all of it.
    #[inline]
    fn run(&self, system: &System, index: usize, queued: Queued, engine: &mut dyn Engine) -> bool {
        let mut running = queued.run();
        PRIORITY.set(running.process().priority());
        if self.order == Order::Urgency {
            URGENCY.set(running.process().urgency());
        }
        RUNS.set(true);
        if system.profiling.is_on() {
            self.tell_running(index, &mut running.held());
        }
        let used_all = match run_slice(system, running, engine, |pid, reason| self.tell_end(pid, reason)) {
            Some(queued) => {
                self.enqueue(queued);
                true
            }
            None => false,
        };
        RUNS.set(false);
        used_all
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

    /// The turn to poll, if there is something to poll for and no other scheduler polls.
    fn take_turn(&self) -> Option<Turn<'_>> {
        let poll = *self.poll.get()?;
        let free = poll.is_needed() && !self.polling.swap(true, Ordering::Acquire);
        // Made only if it is free: dropping a turn ends it.
        free.then(|| Turn { poll, polling: &self.polling })
    }

    /// Looks after file descriptors now and then, when all schedulers have so much to do that none waits for them.
    fn poll_while_busy(&self) {
        if self.polling.load(Ordering::Relaxed) || !self.poll.get().is_some_and(|poll| poll.is_needed()) {
            return;
        }
        let now = clock::monotonic();
        if now - self.polled.load(Ordering::Relaxed) < BUSY_POLL {
            return;
        }
        if let Some(turn) = self.look(now) {
            turn.tell();
        }
    }

    /// Asks for what is ready, without waiting.
    fn look(&self, now: i64) -> Option<Turn<'_>> {
        let turn = self.take_turn()?;
        self.polled.store(now, Ordering::Relaxed);
        charged(State::CheckIo, || turn.poll.wait(Duration::ZERO)).then_some(turn)
    }

    /// Takes work from another queue, or sleeps until there is some. With the turn that comes back, what was found
    /// ready is still to be told.
    fn find_work(&self, index: usize) -> Option<Turn<'_>> {
        let own = &self.schedulers[index];
        let mut seen = self.progress();
        let polls = self.poll.get().is_some_and(|poll| poll.is_needed());
        for look in 0..if polls { LOOKS_WITH_POLLS } else { LOOKS } {
            if polls
                && look % 5 == 0
                && let Some(turn) = self.look(clock::monotonic())
            {
                return Some(turn);
            }
            if own.queue.len() > 0 || self.halted.load(Ordering::Relaxed) {
                return None;
            }
            // Another's only waiting process is taken if its scheduler has not come to it for a while.
            let now = self.progress();
            let patient = look > 0 && look % 10 == 0 && now == seen;
            if self.steal(index, if patient { 1 } else { 2 }) {
                return None;
            }
            seen = now;
            // On a busy machine a look may take long.
            if timer_is_due(index) {
                return None;
            }
            std::thread::yield_now();
        }
        // SAFETY: this thread runs no process now, so it holds no term.
        if concurrent_roots().is_some_and(|collector| unsafe { collector.idle() }) {
            return None;
        }
        let sleep = || self.sleep(index, || System::get().timers.next_time(index));
        away_from_heap(|| charged(State::Sleep, sleep))
    }

    fn progress(&self) -> usize {
        self.context_switches()
    }

    /// Moves a process from the longest queue that has at least `least` to the own one.
    fn steal(&self, index: usize, least: usize) -> bool {
        let others = self.schedulers.iter().enumerate().filter(|(other, _)| *other != index);
        let Some((_, victim)) = others.max_by_key(|(_, scheduler)| scheduler.queue.len()) else { return false };
        if victim.queue.len() < least {
            return false;
        }
        let Some((process, standing)) = victim.queue.pop_with_standing() else { return false };
        self.schedulers[index].queue.push(process, standing);
        true
    }

    /// Sleeps until there is work, or the time that `next_time` gives.
    fn sleep(&self, index: usize, next_time: impl FnOnce() -> i64) -> Option<Turn<'_>> {
        let own = &self.schedulers[index];
        let mut asleep = own.asleep.lock();
        let is_last = self.sleeping.fetch_add(1, Ordering::SeqCst) + 1 == self.schedulers.len();
        let mut turn = if is_last { self.take_turn() } else { None };
        *asleep = if turn.is_some() { Sleep::Polling } else { Sleep::Waiting };
        // This scheduler sees work that came before it was counted as asleep; a thread that adds work later sees that
        // it sleeps.
        let idle = own.queue.len_in_order() == 0 && self.schedulers.iter().all(|other| other.queue.len_in_order() < 2);
        if idle && !self.halted.load(Ordering::Relaxed) {
            let limit = match next_time() {
                i64::MAX => LONGEST_SLEEP,
                time => Duration::from_nanos(time.saturating_sub(clock::monotonic()).max(0) as u64).min(LONGEST_SLEEP),
            };
            match &turn {
                Some(turn) => {
                    drop(asleep);
                    turn.poll.wait(limit);
                    asleep = own.asleep.lock();
                }
                None if *asleep == Sleep::Waiting && !limit.is_zero() => {
                    let watches = self.poll.get().is_some_and(|poll| poll.is_needed());
                    let watches = watches && !self.polling.load(Ordering::Relaxed);
                    let limit = if watches { limit.min(WATCH) } else { limit };
                    let is_late = self.wait(own, &mut asleep, limit);
                    let now = clock::monotonic();
                    if watches && is_late && now - self.polled.load(Ordering::Relaxed) > WATCH.as_nanos() as i64 {
                        // The others are busy with something that takes long.
                        drop(asleep);
                        turn = self.look(now);
                        asleep = own.asleep.lock();
                    }
                }
                None => {}
            }
        }
        *asleep = Sleep::Awake;
        self.sleeping.fetch_sub(1, Ordering::SeqCst);
        turn
    }

    /// Waits until it is woken, or for so long, or until another scheduler keeps something waiting; whether it was not
    /// woken.
    fn wait(&self, own: &Scheduler, asleep: &mut MutexGuard<'_, Sleep>, limit: Duration) -> bool {
        let Some(mut glances) = self.glancer.take() else { return own.wake.wait_for(asleep, limit).timed_out() };
        let ends = clock::monotonic() + limit.as_nanos() as i64;
        loop {
            let left = ends - clock::monotonic();
            if left <= 0 {
                return true;
            }
            let step = glances.step().min(Duration::from_nanos(left as u64));
            if !own.wake.wait_for(asleep, step).timed_out() {
                return false;
            }
            let is_idle = self.sleeping.load(Ordering::SeqCst) == self.schedulers.len();
            if glances.is_stuck(is_idle, self.schedulers.iter().enumerate().map(|(index, other)| other.glance(index))) {
                return true;
            }
        }
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

    fn wake_one(&self) {
        if self.sleeping.load(Ordering::SeqCst) == 0 {
            return;
        }
        for index in 0..self.schedulers.len() {
            if self.wake(index) {
                return;
            }
        }
    }

    fn wake(&self, index: usize) -> bool {
        let scheduler = &self.schedulers[index];
        let mut asleep = scheduler.asleep.lock();
        match std::mem::replace(&mut *asleep, Sleep::Awake) {
            Sleep::Awake => return false,
            Sleep::Waiting => drop(scheduler.wake.notify_one()),
            Sleep::Polling => {
                if let Some(poll) = self.poll.get() {
                    poll.interrupt();
                }
            }
        }
        true
    }
}

/// Waits while no collector waits for this thread.
pub(crate) fn away_from_heap<R>(wait: impl FnOnce() -> R) -> R {
    let collector = concurrent_roots();
    if let Some(collector) = collector {
        collector.thread_sleeps();
    }
    let result = wait();
    if let Some(collector) = collector {
        collector.thread_wakes();
    }
    result
}

/// The turn of one scheduler to poll.
struct Turn<'a> {
    poll: &'static dyn Poll,
    polling: &'a AtomicBool,
}

impl Turn<'_> {
    /// Tells what was found ready, and ends the turn.
    fn tell(self) {
        self.poll.tell();
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.polling.store(false, Ordering::Release);
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
            let thread = Builder::new().name(format!("scheduler {}", index + 1)).stack_size(STACK_BYTES);
            threads::start(thread, move || {
                CURRENT.with(|current| current.set(index));
                Fragment::keep_on_this_thread(KEPT_FRAGMENTS);
                self.work(index, &mut *engine());
            })?;
        }
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
}

#[cfg(all(test, loom))]
#[path = "sleep_model.rs"]
mod sleep_model;

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::contract::NoEnd;

    struct Always;

    impl Poll for Always {
        fn is_needed(&self) -> bool {
            true
        }

        fn is_awaited(&self) -> bool {
            true
        }

        fn wait(&self, _limit: Duration) -> bool {
            true
        }

        fn tell(&self) {}

        fn interrupt(&self) {}

        fn is_working(&self) -> bool {
            false
        }

        fn no_end(&self, _: NoEnd) {}
    }

    #[test]
    fn only_one_has_the_turn_to_poll() {
        let schedulers = Schedulers::new(2);
        schedulers.prepare(&Always, |_, _| {});
        let turn = schedulers.take_turn().expect("nobody polls");
        assert!(schedulers.take_turn().is_none());
        assert!(schedulers.take_turn().is_none(), "who asked in vain did not end the turn");
        turn.tell();
        assert!(schedulers.take_turn().is_some());
    }
}
