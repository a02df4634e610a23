//! Threads that stand in for schedulers. While a scheduler's own thread is inside a function that takes long (a
//! built-in or native one, or a collection), another thread runs the processes of its queue in its place, and looks
//! after its timers and file descriptors. It stops when the scheduler goes on. A stand-in may meet a long function,
//! too; then the next one stands in beside it.
//!
//! One of these threads has the watch ([`super::watch`]), and gives it to another before it stands in.

use std::thread::Builder;

use atoll_heap::Fragment;
use atoll_platform::addresses::Share;
use atoll_platform::sync::{AtomicUsize, Condvar, Mutex, Ordering};
use atoll_platform::{Observed, clock, threads};
use atoll_process::System;

use super::polls::Turn;
use super::sleep::{Sleep, away_from_heap};
use super::watch::{Glances, Progress, STEP, Seen};
use super::{CURRENT, KEPT_FRAGMENTS, Pace, STANDS_IN, Schedulers, expire_timers, stack_bytes};
use crate::contract::Engine;

/// The most threads that stand in for schedulers, and watch them.
const MOST: usize = 64;
/// How often a stand-in looks for something to run before it leaves the rest to the watch.
const LOOKS: u32 = 100;

/// The threads that do not stand in now.
#[derive(Default)]
pub(super) struct Pool {
    state: Mutex<Roles>,
    /// The watch is free.
    is_free: Condvar,
    /// Threads that stand in.
    pub(super) standing: AtomicUsize,
}

#[derive(Default)]
struct Roles {
    /// A thread has the watch, or is about to take it.
    is_watched: bool,
    /// Threads that wait for the watch.
    waiting: usize,
    started: usize,
}

impl Pool {
    /// Waits for the watch, and takes it.
    fn take_watch(&self) {
        let mut roles = self.state.lock();
        roles.waiting += 1;
        let rounds = &System::get().rounds;
        let mut round = 0;
        while roles.is_watched {
            if rounds.number() == round {
                self.is_free.wait(&mut roles);
            } else {
                round = rounds.number();
                drop(roles);
                rounds.run();
                roles = self.state.lock();
            }
        }
        roles.waiting -= 1;
        roles.is_watched = true;
    }

    /// Wakes the threads that wait for the watch, which then look whether there is something for each thread.
    pub(super) fn wake_all(&self) {
        let _roles = self.state.lock();
        self.is_free.notify_all();
    }

    /// Gives the watch to another thread; whether a new one has to be started for it.
    fn give_watch(&self) -> bool {
        let most = MOST.min(Share::StandIns.most() / stack_bytes());
        let mut roles = self.state.lock();
        roles.is_watched = false;
        let is_missing = roles.waiting == 0 && roles.started < most;
        roles.started += usize::from(is_missing);
        self.is_free.notify_one();
        is_missing
    }
}

impl Schedulers {
    /// Starts a thread that watches and stands in. If the system gives none, the others do without it.
    pub(super) fn start_stand_in(&'static self, engine: fn() -> Box<dyn Engine>) {
        let thread = Builder::new().name("stand-in".to_owned()).stack_size(stack_bytes());
        let work = move || {
            STANDS_IN.set(true);
            System::get().rounds.take_part();
            Fragment::keep_on_this_thread(KEPT_FRAGMENTS);
            self.stand_by(engine);
        };
        if threads::start(thread, work).is_err() {
            self.pool.state.lock().started -= 1;
        }
    }

    /// Starts the first one. If the system does not give it, nothing stands in.
    pub(super) fn start_watch(&'static self, engine: fn() -> Box<dyn Engine>) {
        self.pool.state.lock().started += 1;
        self.start_stand_in(engine);
    }

    fn stand_by(&'static self, new_engine: fn() -> Box<dyn Engine>) {
        let mut engine = None;
        loop {
            let (index, turn) = away_from_heap(|| {
                self.pool.take_watch();
                self.watch()
            });
            // Before the next one has the watch, which rests only when none stands in.
            self.pool.standing.fetch_add(1, Ordering::AcqRel);
            if self.pool.give_watch() {
                self.start_stand_in(new_engine);
            }
            CURRENT.with(|current| current.set(index));
            self.stand_in(index, turn, &mut **engine.get_or_insert_with(new_engine));
            CURRENT.with(|current| current.set(usize::MAX));
            self.pool.standing.fetch_sub(1, Ordering::AcqRel);
        }
    }

    /// Watches the schedulers until one has to be stood in for. With the turn that may come back, what was found ready
    /// is still to be told.
    fn watch(&self) -> (usize, Option<Turn<'_>>) {
        let mut glances = Glances::new();
        loop {
            std::thread::sleep(STEP);
            System::get().rounds.run();
            if self.halted.load(Ordering::Relaxed) {
                self.keep_still();
            }
            let is_idle = self.all_sleep();
            match glances.look(is_idle, self.schedulers.iter().enumerate().map(|(index, other)| other.glance(index))) {
                Seen::Well => {}
                Seen::Idle => {
                    self.watch.rest(|| self.all_sleep());
                    glances.forget();
                }
                Seen::Stuck(index) if self.hand_to_sleeper(index) => {}
                Seen::Stuck(index) => return (index, None),
                Seen::Long(index) => {
                    if !self.polling.load(Ordering::Relaxed)
                        && let Some(turn) = self.look(clock::monotonic())
                    {
                        return (index, Some(turn));
                    }
                }
            }
        }
    }

    /// Whether no thread runs processes.
    fn all_sleep(&self) -> bool {
        self.sleeping.fetch_add(0, Ordering::AcqRel) == self.schedulers.len()
            && self.pool.standing.load(Ordering::Acquire) == 0
    }

    /// Wakes a scheduler that sleeps, and gives it what waits longest for this one. Whether there is one.
    fn hand_to_sleeper(&self, stuck: usize) -> bool {
        let is_asleep = |index: &usize| *self.schedulers[*index].asleep.lock() != Sleep::Awake;
        let Some(sleeper) = (0..self.schedulers.len()).find(is_asleep) else { return false };
        if let Some((process, standing)) = self.schedulers[stuck].queue.pop_with_standing() {
            self.schedulers[sleeper].queue.push(process, standing);
        }
        self.wake(sleeper)
    }

    /// Does the work of a scheduler until its own thread goes on with it, or there is none.
    fn stand_in(&self, index: usize, turn: Option<Turn<'_>>, engine: &mut dyn Engine) {
        let own = &self.schedulers[index];
        let this = Observed::this_thread();
        own.workers.lock().push(this);
        let mut pace = Pace::default();
        self.gate.enter();
        if let Some(turn) = turn {
            turn.tell();
        }
        expire_timers(index);
        let (mut begun, mut looks) = (0, 0);
        let others = |begun: usize| own.progress() - begun;
        let others_before = others(begun);
        while !self.halted.load(Ordering::Relaxed) && looks < LOOKS && others(begun) == others_before {
            self.between_slices(index, &mut pace);
            let Some(process) = self.next(index) else {
                pace.pinned = None;
                looks += 1;
                // Not by giving way: on a busy machine that takes milliseconds.
                std::hint::spin_loop();
                continue;
            };
            looks = 0;
            begun += 1;
            own.stood_in.fetch_add(1, Ordering::Relaxed);
            self.run(index, process, &mut pace, engine);
        }
        drop(pace);
        self.gate.leave();
        own.workers.lock().retain(|worker| *worker != this);
        // It may have gone to sleep before a process came into its queue, or a timer was started.
        self.wake(index);
    }
}

impl super::Scheduler {
    /// Slices begun in its place, and rests.
    pub(super) fn progress(&self) -> usize {
        [&self.slices, &self.rests, &self.stood_in].iter().map(|count| count.load(Ordering::Relaxed)).sum()
    }

    /// What a glance sees.
    fn glance(&self, index: usize) -> Progress {
        let workers = self.workers.lock();
        let sleeps = workers.len() <= 1 && *self.asleep.lock() != Sleep::Awake;
        let keeps_waiting = self.queue.len() > 0 || super::timer_is_due(index);
        Progress { slices: self.progress(), worker: workers.last().copied().filter(|_| !sleeps), keeps_waiting }
    }
}
