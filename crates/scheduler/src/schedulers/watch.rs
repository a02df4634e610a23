//! One thread watches the schedulers while any of them is awake. An awake scheduler handles the processes in its queue
//! and its due timers soon, unless its running process has entered a function that takes long. Then another thread has
//! to see to them. Nothing waits for much longer than two [`STEP`]s for that, and no sender has to wake a thread for
//! each message.

use std::time::Duration;

use atoll_platform::Observed;
use atoll_platform::sync::{AtomicBool, Condvar, Mutex, Ordering};

/// Time between two glances.
pub(super) const STEP: Duration = Duration::from_micros(500);
/// CPU time in nanoseconds after which a slice is long.
const WORKED: i64 = 250_000;
/// Glances after which it is one that waits for something, a lock for example.
const WAITING_GLANCES: u32 = 4;
/// Glances at an idle machine after which the watch rests until a scheduler has something to run.
const IDLE_GLANCES: u32 = 20;

/// Whether there is a watch.
#[derive(Default)]
pub(super) struct Watch {
    /// It is kept, or about to be.
    is_kept: AtomicBool,
    state: Mutex<()>,
    wanted: Condvar,
}

impl Watch {
    /// A scheduler that has slept has something to run: the watch is kept from now on.
    #[inline]
    pub(super) fn keep(&self) {
        // Its waking was a write that the watch has read, or that has read what the watch wrote.
        if !self.is_kept.load(Ordering::Acquire) {
            self.is_kept.store(true, Ordering::Release);
            let _state = self.state.lock();
            self.wanted.notify_all();
        }
    }

    /// Rests until a scheduler has something to run, unless one is awake: `sleeping` is changed by each that falls
    /// asleep or wakes, and says whether all sleep.
    pub(super) fn rest(&self, all_sleep: impl Fn() -> bool) {
        let mut state = self.state.lock();
        // Either this thread sees that a scheduler has woken, or that one sees that the watch rests.
        self.is_kept.swap(false, Ordering::AcqRel);
        if all_sleep() {
            while !self.is_kept.load(Ordering::Acquire) {
                self.wanted.wait(&mut state);
            }
        }
        self.is_kept.store(true, Ordering::Release);
    }
}

/// What a glance sees of one scheduler.
#[derive(Clone, Copy)]
pub(super) struct Progress<W = Observed> {
    /// Time slices that were begun in its place, and rests.
    pub(super) slices: usize,
    /// The thread that works in its place; none while it sleeps.
    pub(super) worker: Option<W>,
    /// Whether a process is in its queue, or a timer due.
    pub(super) keeps_waiting: bool,
}

/// A thread that may be in a long function.
pub(super) trait Worker: Copy + PartialEq {
    /// CPU time in nanoseconds that it has used.
    fn cpu(self) -> i64;
    /// Whether it waits for something other than a processor.
    fn waits(self) -> bool;
}

impl Worker for Observed {
    fn cpu(self) -> i64 {
        Observed::cpu(self)
    }

    fn waits(self) -> bool {
        Observed::waits(self)
    }
}

/// A scheduler in whose place no slice has begun for some glances.
#[derive(Clone, Copy)]
struct Still<W> {
    slices: usize,
    worker: W,
    /// The worker's CPU time when it began.
    cpu: i64,
    /// Glances since then.
    glances: u32,
    /// The last ones of them at which something waited.
    waiting: u32,
}

impl<W: Worker> Still<W> {
    /// That of the glance before, or a new one.
    fn see(before: Option<Still<W>>, now: Progress<W>) -> Option<Still<W>> {
        let worker = now.worker?;
        let begins =
            || Still { slices: now.slices, worker, cpu: worker.cpu(), glances: 0, waiting: now.keeps_waiting.into() };
        let before = before.filter(|before| before.slices == now.slices && before.worker == worker);
        Some(before.map_or_else(begins, |before| Still {
            worker,
            glances: before.glances + 1,
            waiting: if now.keeps_waiting { before.waiting + 1 } else { 0 },
            ..before
        }))
    }

    /// Whether the worker is in a long function. A thread that has no processor is not: others would have none, either.
    fn is_long(&self) -> bool {
        let works = self.glances > 0 && self.worker.cpu() - self.cpu >= WORKED;
        works || self.glances >= WAITING_GLANCES && self.worker.waits()
    }
}

/// The glances of a watch.
pub(super) struct Glances<W = Observed> {
    still: Vec<Option<Still<W>>>,
    idle: u32,
}

/// What a glance says.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Seen {
    /// All goes well.
    Well,
    /// All schedulers have slept for so long that the watch may rest.
    Idle,
    /// This scheduler is in a long function, and keeps something waiting.
    Stuck(usize),
    /// It is in one; nothing waits in its queue.
    Long(usize),
}

impl<W: Worker> Glances<W> {
    pub(super) fn new() -> Glances<W> {
        Glances { still: Vec::new(), idle: 0 }
    }

    /// The next glance is the first one.
    pub(super) fn forget(&mut self) {
        self.idle = 0;
        self.still.fill(None);
    }

    /// A glance; `is_idle`: no thread runs processes. Takes no memory after the first one.
    pub(super) fn look(&mut self, is_idle: bool, now: impl Iterator<Item = Progress<W>>) -> Seen {
        self.idle = if is_idle { self.idle + 1 } else { 0 };
        let mut seen = if self.idle >= IDLE_GLANCES { Seen::Idle } else { Seen::Well };
        for (index, now) in now.enumerate() {
            if index == self.still.len() {
                self.still.push(None);
            }
            self.still[index] = Still::see(self.still[index], now);
            let Some(still) = self.still[index].filter(Still::is_long) else { continue };
            match seen {
                Seen::Stuck(_) => {}
                _ if still.waiting > 1 => seen = Seen::Stuck(index),
                Seen::Long(_) => {}
                _ => seen = Seen::Long(index),
            }
        }
        seen
    }
}

#[cfg(all(test, loom))]
mod model {
    use super::*;
    use atoll_platform::sync::AtomicUsize;
    use loom::sync::Arc;

    /// A watch that goes to rest while a scheduler wakes sees that, or is told of it.
    #[test]
    fn a_watch_that_goes_to_rest_is_kept_for_a_scheduler_that_wakes() {
        loom::model(|| {
            let (watch, sleeping) = (Arc::new(Watch::default()), Arc::new(AtomicUsize::new(1)));
            watch.is_kept.store(true, Ordering::Relaxed);
            let watcher = loom::thread::spawn({
                let (watch, sleeping) = (watch.clone(), sleeping.clone());
                move || watch.rest(|| sleeping.fetch_add(0, Ordering::AcqRel) == 1)
            });
            sleeping.fetch_sub(1, Ordering::AcqRel);
            watch.keep();
            watcher.join().unwrap();
        });
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// A thread with a number, the CPU time that it has used, and whether it waits.
    #[derive(Clone, Copy, Debug)]
    struct Thread(u32, i64, bool);

    impl PartialEq for Thread {
        fn eq(&self, other: &Thread) -> bool {
            self.0 == other.0
        }
    }

    impl Worker for Thread {
        fn cpu(self) -> i64 {
            self.1
        }

        fn waits(self) -> bool {
            self.2
        }
    }

    fn seen(slices: usize, worker: Thread, keeps_waiting: bool) -> impl Iterator<Item = Progress<Thread>> {
        std::iter::once(Progress { slices, worker: Some(worker), keeps_waiting })
    }

    #[test]
    fn a_scheduler_is_stuck_that_works_and_begins_no_slice_while_something_waits() {
        let mut glances = Glances::new();
        assert_eq!(glances.look(false, seen(1, Thread(7, 0, false), true)), Seen::Well);
        assert_eq!(glances.look(false, seen(2, Thread(7, WORKED, false), true)), Seen::Well, "it has gone on");
        assert_eq!(glances.look(false, seen(2, Thread(7, 2 * WORKED, false), false)), Seen::Long(0));
        assert_eq!(glances.look(false, seen(2, Thread(7, 3 * WORKED, false), true)), Seen::Long(0), "only now");
        assert_eq!(glances.look(false, seen(2, Thread(7, 4 * WORKED, false), true)), Seen::Stuck(0));
        assert_eq!(glances.look(false, seen(2, Thread(8, 4 * WORKED, false), true)), Seen::Well, "another works");
    }

    #[test]
    fn a_thread_without_a_processor_is_not_stuck_but_one_that_waits_is() {
        let mut glances = Glances::new();
        assert!((0..100).all(|_| glances.look(false, seen(1, Thread(7, 0, false), true)) == Seen::Well));
        assert_eq!(glances.look(false, seen(1, Thread(7, 0, true), true)), Seen::Stuck(0));
        assert_eq!(glances.look(false, seen(2, Thread(7, 0, true), true)), Seen::Well);
    }

    #[test]
    fn an_idle_machine_is_not_looked_at_for_long() {
        let mut glances = Glances::<Thread>::new();
        let mut look = |sleeps: bool| {
            let worker = (!sleeps).then_some(Thread(7, 0, false));
            glances.look(sleeps, std::iter::once(Progress { slices: 1, worker, keeps_waiting: false }))
        };
        assert!((1..IDLE_GLANCES).all(|_| look(true) == Seen::Well));
        assert_eq!(look(true), Seen::Idle);
        assert_eq!(look(false), Seen::Well);
        assert_eq!(look(true), Seen::Well);
    }
}
