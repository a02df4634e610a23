//! How a scheduler finds work, sleeps when there is none, and is woken.

use std::time::Duration;

use atoll_heap::{ConcurrentRoots, concurrent_roots, idle_work};
use atoll_platform::clock;
use atoll_platform::sync::Ordering;
use atoll_process::System;
use atoll_process::microstates::{State, charged};

use super::polls::Turn;
use super::{Schedulers, timer_is_due};
use crate::queue::RunQueue;

/// How long a scheduler without work looks around before it sleeps.
const LOOKS: u32 = 50;
/// The same where something is waited for outside of the machine, which takes longer to come.
const LOOKS_WITH_POLLS: u32 = 10;
/// Nanoseconds between two looks that show that other programs want the processor. Later looks may take as long, or
/// much longer.
const LONG_LOOK: i64 = 50_000;
/// Longest sleep without a timer.
pub(crate) const LONGEST_SLEEP: Duration = Duration::from_millis(500);

/// How a scheduler sleeps.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Sleep {
    Awake,
    Waiting,
    /// In [`Poll::wait`](crate::Poll::wait).
    Polling,
}

/// What a look around has found.
enum Found<'a> {
    Nothing,
    /// There may be something to run.
    Work,
    /// File descriptors are ready.
    Turn(Turn<'a>),
}

impl Schedulers {
    /// Takes work from another queue, or sleeps until there is some. With the turn that comes back, what was found
    /// ready is still to be told.
    pub(super) fn find_work(&self, index: usize) -> Option<Turn<'_>> {
        let looks = &self.schedulers[index].looks;
        looks.store(true, Ordering::Relaxed);
        let found = self.look_for_work(index);
        looks.store(false, Ordering::Relaxed);
        match found {
            Found::Work => None,
            Found::Turn(turn) => Some(turn),
            Found::Nothing => {
                let sleep = || self.sleep(index, || System::get().timers.next_time(index));
                away_from_heap(|| charged(State::Sleep, sleep))
            }
        }
    }

    fn look_for_work(&self, index: usize) -> Found<'_> {
        let own = &self.schedulers[index];
        let mut seen = self.progress();
        let poll = self.poll.get().filter(|poll| poll.is_needed());
        let polls = poll.is_some();
        // What another thread does for a process comes soon.
        let soon = poll.is_none_or(|poll| poll.is_working());
        // A collector would wait for this thread for as long as all its looks take, and memory would grow meanwhile.
        let mut away = None;
        for look in 0..if soon { LOOKS } else { LOOKS_WITH_POLLS } {
            // Another node, to which it has just sent something, may run on this processor whenever this thread yields.
            if polls
                && (look < LOOKS_WITH_POLLS || look % 5 == 0)
                && let Some(turn) = self.look(clock::monotonic())
            {
                return Found::Turn(turn);
            }
            if own.queue.len() > 0 || self.halted.load(Ordering::Relaxed) {
                return Found::Work;
            }
            // Another's only waiting process is taken if its scheduler has not come to it for a while.
            let now = self.progress();
            let patient = look > 0 && look % 10 == 0 && now == seen;
            if self.steal(index, if patient { 1 } else { 2 }) {
                return Found::Work;
            }
            seen = now;
            // On a busy machine a look may take long.
            if timer_is_due(index) {
                return Found::Work;
            }
            if away.is_none()
                && let Some(work) = idle_work().filter(|work| work.is_waiting())
            {
                // SAFETY: this thread runs no process now, so it holds no term.
                unsafe { work.work() };
            }
            let looked = clock::monotonic();
            std::thread::yield_now();
            if away.is_none() && clock::monotonic() - looked > LONG_LOOK {
                away = Some(Away::from_heap());
            }
        }
        drop(away);
        // SAFETY: this thread runs no process now, so it holds no term.
        if idle_work().is_some_and(|work| unsafe { work.work() }) {
            return Found::Work;
        }
        Found::Nothing
    }

    fn progress(&self) -> usize {
        self.context_switches()
    }

    /// Moves a process from the longest queue that has at least `least` to the own one.
    pub(super) fn steal(&self, index: usize, least: usize) -> bool {
        let others = self.schedulers.iter().enumerate().filter(|(other, _)| *other != index);
        let Some((_, victim)) = others.max_by_key(|(_, scheduler)| scheduler.queue.len()) else { return false };
        let is_enough = match least {
            1 => victim.queue.len() > 0,
            _ => victim.queue.is_crowded_for(self.sharing.patience()),
        };
        if !is_enough {
            return false;
        }
        let Some((process, standing)) = victim.queue.pop_with_standing() else { return false };
        let own = &self.schedulers[index];
        if least > 1 {
            victim.queue.was_relieved();
            self.sharing.has_taken();
        }
        own.queue.push(process, standing);
        true
    }

    /// Sleeps until there is work, or the time that `next_time` gives.
    pub(super) fn sleep(&self, index: usize, next_time: impl FnOnce() -> i64) -> Option<Turn<'_>> {
        let own = &self.schedulers[index];
        let mut asleep = own.asleep.lock();
        let is_last = self.sleeping.fetch_add(1, Ordering::SeqCst) + 1 == self.schedulers.len();
        let turn = if is_last { self.take_turn() } else { None };
        *asleep = if turn.is_some() { Sleep::Polling } else { Sleep::Waiting };
        // This scheduler sees work that came before it was counted as asleep; a thread that adds work later sees that
        // it sleeps.
        let patience = self.sharing.patience();
        let is_crowded = |queue: &RunQueue| queue.len_in_order() > 1 && queue.is_crowded_for(patience);
        let idle = own.queue.len_in_order() == 0 && !self.schedulers.iter().any(|other| is_crowded(&other.queue));
        if idle && !self.halted.load(Ordering::Relaxed) {
            let limit = match next_time() {
                i64::MAX => LONGEST_SLEEP,
                time => Duration::from_nanos(time.saturating_sub(clock::monotonic()).max(0) as u64).min(LONGEST_SLEEP),
            };
            match &turn {
                Some(turn) => {
                    drop(asleep);
                    turn.wait(limit);
                    asleep = own.asleep.lock();
                }
                None if *asleep == Sleep::Waiting && !limit.is_zero() => drop(own.wake.wait_for(&mut asleep, limit)),
                None => {}
            }
        }
        *asleep = Sleep::Awake;
        self.sleeping.fetch_sub(1, Ordering::SeqCst);
        turn
    }

    pub(super) fn wake_one(&self) {
        if self.sleeping.load(Ordering::SeqCst) == 0 {
            return;
        }
        for index in 0..self.schedulers.len() {
            if self.wake(index) {
                return;
            }
        }
    }

    pub(super) fn wake(&self, index: usize) -> bool {
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
    let _away = Away::from_heap();
    wait()
}

/// For as long as it lives no collector waits for this thread, which touches no terms.
struct Away(Option<&'static dyn ConcurrentRoots>);

impl Away {
    fn from_heap() -> Away {
        let collector = concurrent_roots();
        collector.into_iter().for_each(|collector| collector.thread_sleeps());
        Away(collector)
    }
}

impl Drop for Away {
    fn drop(&mut self) {
        self.0.into_iter().for_each(|collector| collector.thread_wakes());
    }
}
