//! A sleeping scheduler checks those that are awake now and then. An awake scheduler handles the processes in its queue
//! and its due timers soon, unless its running process has entered a function that takes long. One sleeper at a time
//! wakes at intervals to check for that. So nothing waits for much longer than two [`STEP`]s while a scheduler sleeps,
//! and no sender has to wake a thread for each message.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Time between two glances.
const STEP: Duration = Duration::from_micros(500);
/// Glances at an idle machine after which there is nothing to look after: then a scheduler that makes a process
/// runnable wakes another one, which begins anew.
const IDLE_GLANCES: u32 = 20;
/// Time between two glances then.
const LONG_STEP: Duration = Duration::from_secs(1);

/// Whether a scheduler glances.
#[derive(Default)]
pub(crate) struct Glancer(AtomicBool);

/// What a glance sees of one scheduler.
pub(crate) struct Progress {
    /// Time slices that it has begun.
    pub(crate) slices: usize,
    /// Whether a process is in its queue, or a timer overdue.
    pub(crate) keeps_waiting: bool,
}

/// The glances of the scheduler that has the role.
pub(crate) struct Glances<'a> {
    glancer: &'a AtomicBool,
    /// Slices of those that kept something waiting at the last glance.
    waiting: Vec<Option<usize>>,
    idle: u32,
}

impl Glancer {
    /// Whether no scheduler has the role.
    #[inline]
    pub(crate) fn is_wanted(&self) -> bool {
        !self.0.load(Ordering::Relaxed)
    }

    /// Takes the role, if no other scheduler has it, until the result is dropped.
    pub(crate) fn take(&self) -> Option<Glances<'_>> {
        let is_free = !self.0.swap(true, Ordering::AcqRel);
        is_free.then(|| Glances { glancer: &self.0, waiting: Vec::new(), idle: 0 })
    }
}

impl Glances<'_> {
    /// How long to sleep until the next glance.
    pub(crate) fn step(&self) -> Duration {
        if self.idle < IDLE_GLANCES { STEP } else { LONG_STEP }
    }

    /// A glance: whether a scheduler has kept something waiting since the last one without beginning a time slice.
    /// `is_idle`: all sleep.
    pub(crate) fn is_stuck(&mut self, is_idle: bool, seen: impl Iterator<Item = Progress>) -> bool {
        self.idle = if is_idle { self.idle + 1 } else { 0 };
        // Between the two a process may have become runnable; the next glance, a `STEP` later, sees it.
        self.glancer.store(self.idle < IDLE_GLANCES, Ordering::Release);
        let now: Vec<Option<usize>> = seen.map(|one| one.keeps_waiting.then_some(one.slices)).collect();
        let is_stuck = now.iter().zip(&self.waiting).any(|(now, before)| now.is_some() && now == before);
        self.waiting = now;
        is_stuck
    }
}

impl Drop for Glances<'_> {
    fn drop(&mut self) {
        self.glancer.store(false, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(slices: [usize; 2], waits: [bool; 2]) -> impl Iterator<Item = Progress> {
        (0..2).map(move |index| Progress { slices: slices[index], keeps_waiting: waits[index] })
    }

    #[test]
    fn a_scheduler_is_stuck_that_begins_no_slice_while_something_waits() {
        let glancer = Glancer::default();
        let mut glances = glancer.take().expect("nobody has the role");
        assert!(glancer.take().is_none() && !glancer.is_wanted());
        assert!(!glances.is_stuck(false, seen([1, 5], [true, false])));
        assert!(
            !glances.is_stuck(false, seen([2, 5], [true, true])),
            "the first has gone on, the second has just begun"
        );
        assert!(!glances.is_stuck(false, seen([2, 6], [false, true])));
        assert!(glances.is_stuck(false, seen([3, 6], [true, true])));
        drop(glances);
        assert!(glancer.is_wanted());
    }

    #[test]
    fn an_idle_machine_is_not_looked_at_for_long() {
        let glancer = Glancer::default();
        let mut glances = glancer.take().expect("nobody has the role");
        for _ in 0..IDLE_GLANCES {
            assert_eq!((glances.step(), glancer.is_wanted()), (STEP, false));
            assert!(!glances.is_stuck(true, seen([1, 1], [false, false])));
        }
        assert_eq!((glances.step(), glancer.is_wanted()), (LONG_STEP, true));
        assert!(!glances.is_stuck(false, seen([1, 1], [true, false])));
        assert_eq!((glances.step(), glancer.is_wanted()), (STEP, false));
    }
}
