//! The scheduler threads.
//!
//! A process that becomes runnable goes to the queue of the scheduler on which that happened, so that processes that
//! talk to each other stay on one core. A sleeping scheduler is woken when a queue holds more than one process, or
//! when a process has used its whole slice while others wait: a single process that was woken by one that is
//! about to wait itself is not worth a second core.

use std::cell::Cell;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use atoll_heap::architecture;
use atoll_platform::clock;
use atoll_process::{Process, Schedule, System, exit, send};
use atoll_term::Term;
use parking_lot::{Condvar, Mutex};

use crate::queue::RunQueue;
use crate::world::Gate;

/// Native stack of a scheduler in bytes: addresses; memory is used as it is touched.
const STACK_BYTES: usize = 256 << 20;
/// Switches after which timers are looked at, if no process used its whole slice before.
const SWITCHES_PER_CLOCK: u32 = 16;
/// How long a scheduler without work looks around before it sleeps.
const LOOKS: u32 = 50;
/// Longest sleep without a timer.
const LONGEST_SLEEP: Duration = Duration::from_millis(500);

/// How a time slice ended.
#[derive(Clone, Copy, Debug)]
pub enum Slice {
    /// The process wants to go on.
    Yielded,
    /// It waits for a signal.
    Waits,
    /// It has ended with this reason.
    Ended(Term),
}

/// What runs processes: one for each scheduler.
pub trait Engine {
    /// Runs a process for a time slice.
    fn run(&mut self, process: &Process) -> Slice;
}

struct Scheduler {
    queue: RunQueue,
    asleep: Mutex<bool>,
    wake: Condvar,
    /// Slices run so far, to see from outside whether it makes progress.
    slices: AtomicUsize,
}

/// All schedulers.
pub struct Schedulers {
    schedulers: Vec<Scheduler>,
    sleeping: AtomicUsize,
    gate: Gate,
    halted: AtomicBool,
    /// Told when a process has ended: its pid and the reason, while its heap still exists.
    on_end: fn(Term, Term),
}

thread_local! {
    static CURRENT: Cell<usize> = const { Cell::new(usize::MAX) };
}

impl Schedulers {
    /// Queues for `count` schedulers; nothing runs yet.
    pub fn new(count: usize, on_end: fn(Term, Term)) -> &'static Schedulers {
        let scheduler = || Scheduler {
            queue: RunQueue::default(),
            asleep: Mutex::new(false),
            wake: Condvar::new(),
            slices: AtomicUsize::new(0),
        };
        Box::leak(Box::new(Schedulers {
            schedulers: (0..count.max(1)).map(|_| scheduler()).collect(),
            sleeping: AtomicUsize::new(0),
            gate: Gate::default(),
            halted: AtomicBool::new(false),
            on_end,
        }))
    }

    /// Starts the threads; each makes its engine.
    ///
    /// # Errors
    /// The system gives no more threads.
    pub fn start(&'static self, engine: fn() -> Box<dyn Engine>) -> std::io::Result<()> {
        for index in 0..self.schedulers.len() {
            std::thread::Builder::new().name(format!("scheduler {}", index + 1)).stack_size(STACK_BYTES).spawn(
                move || {
                    CURRENT.set(index);
                    self.work(index, &mut *engine());
                },
            )?;
        }
        Ok(())
    }

    /// Processes waiting in all run queues.
    pub fn queued(&self) -> usize {
        self.schedulers.iter().map(|scheduler| scheduler.queue.len()).sum()
    }

    /// Slices run so far.
    pub fn context_switches(&self) -> usize {
        self.schedulers.iter().map(|scheduler| scheduler.slices.load(Ordering::Relaxed)).sum()
    }

    /// No process starts another slice from now on.
    pub fn halt(&self) {
        self.halted.store(true, Ordering::Release);
    }

    fn work(&self, index: usize, engine: &mut dyn Engine) {
        let own = &self.schedulers[index];
        let mut switches = 0;
        self.gate.enter();
        while !self.halted.load(Ordering::Relaxed) {
            if self.gate.is_stopping() {
                architecture().thread_sleeps();
                self.gate.leave();
                self.gate.enter();
                architecture().thread_wakes();
            }
            if switches >= SWITCHES_PER_CLOCK {
                switches = 0;
                expire_timers(index);
            }
            let Some(process) = own.queue.pop() else {
                self.gate.leave();
                expire_timers(index);
                self.find_work(index);
                self.gate.enter();
                continue;
            };
            own.slices.fetch_add(1, Ordering::Relaxed);
            switches += 1;
            if self.run(process, engine) {
                switches = SWITCHES_PER_CLOCK;
                if own.queue.len() > 1 {
                    self.wake_one();
                }
            }
        }
        self.gate.leave();
        // A halted scheduler keeps still until the machine exits.
        loop {
            std::thread::park();
        }
    }

    /// Runs a process for a slice; returns whether it used all of it.
    #[inline]
    fn run(&self, pointer: NonNull<Process>, engine: &mut dyn Engine) -> bool {
        // SAFETY: a queued process is alive, and is freed by nobody but the scheduler that runs it to its end.
        let process = unsafe { pointer.as_ref() };
        process.start_running();
        loop {
            match engine.run(process) {
                Slice::Yielded => {
                    process.requeue();
                    self.enqueue(pointer);
                    return true;
                }
                Slice::Waits => {
                    if process.try_sleep() {
                        return false;
                    }
                }
                Slice::Ended(reason) => {
                    (self.on_end)(process.pid, reason);
                    exit::terminate(pointer, reason);
                    return false;
                }
            }
        }
    }

    /// Takes work from another queue, or sleeps until there is some.
    fn find_work(&self, index: usize) {
        let own = &self.schedulers[index];
        let mut seen = self.progress();
        for look in 0..LOOKS {
            if own.queue.len() > 0 || self.halted.load(Ordering::Relaxed) {
                return;
            }
            // Another's only waiting process is taken if its scheduler has not come to it for a while.
            let now = self.progress();
            let patient = look > 0 && look % 10 == 0 && now == seen;
            if self.steal(index, if patient { 1 } else { 2 }) {
                return;
            }
            seen = now;
            std::thread::yield_now();
        }
        if !architecture().idle() {
            architecture().thread_sleeps();
            self.sleep(index);
            architecture().thread_wakes();
        }
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
        let Some(process) = victim.queue.pop() else { return false };
        // SAFETY: a queued process is alive; its priority changes only while it runs.
        let priority = unsafe { process.as_ref().own_mut() }.priority;
        self.schedulers[index].queue.push(process, priority);
        true
    }

    fn sleep(&self, index: usize) {
        let own = &self.schedulers[index];
        let mut asleep = own.asleep.lock();
        *asleep = true;
        self.sleeping.fetch_add(1, Ordering::SeqCst);
        // Work that came before this scheduler was counted as asleep is seen here.
        let idle = own.queue.len() == 0 && self.schedulers.iter().all(|other| other.queue.len() < 2);
        if idle && !self.halted.load(Ordering::Relaxed) {
            let next = System::get().timers.next_time(index);
            let limit = match next {
                i64::MAX => LONGEST_SLEEP,
                time => Duration::from_nanos(time.saturating_sub(clock::monotonic()).max(0) as u64).min(LONGEST_SLEEP),
            };
            if *asleep && !limit.is_zero() {
                own.wake.wait_for(&mut asleep, limit);
            }
        }
        *asleep = false;
        self.sleeping.fetch_sub(1, Ordering::SeqCst);
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
        let slept = std::mem::replace(&mut *asleep, false);
        if slept {
            scheduler.wake.notify_one();
        }
        slept
    }
}

fn expire_timers(index: usize) {
    let timers = &System::get().timers;
    if timers.next_time(index) != i64::MAX {
        let now = clock::monotonic();
        if timers.next_time(index) <= now {
            for (number, action) in timers.take_due(index, now) {
                send::expire(number, action);
            }
        }
    }
}

impl Schedule for Schedulers {
    fn queue_lengths(&self) -> Vec<usize> {
        self.schedulers.iter().map(|scheduler| scheduler.queue.len()).collect()
    }

    fn context_switches(&self) -> usize {
        Schedulers::context_switches(self)
    }

    #[inline]
    fn enqueue(&self, process: NonNull<Process>) {
        let current = CURRENT.get();
        // SAFETY: a process that becomes queued is alive; its priority changes only while it runs.
        let priority = unsafe { process.as_ref().own_mut() }.priority;
        if current < self.schedulers.len() {
            if self.schedulers[current].queue.push(process, priority) > 1 {
                self.wake_one();
            }
        } else {
            self.schedulers[0].queue.push(process, priority);
            self.wake(0);
        }
    }

    fn current(&self) -> usize {
        let current = CURRENT.get();
        if current < self.schedulers.len() { current } else { 0 }
    }

    fn stop_world(&self) {
        self.gate.stop();
    }

    fn resume_world(&self) {
        self.gate.resume();
    }
}
