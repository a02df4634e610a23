//! How urgent processes are, for schedulers that order them by more than four levels (Feeley 2001, section 3: the
//! priority is a floating-point number, and deadlines decide between processes).
//!
//! Most processes have one of OTP's levels and no deadline. The others stand in a table.

use std::cmp::Ordering::{self, Equal};

use atoll_platform::steady::HashMap;
use atoll_term::Term;
use parking_lot::Mutex;

use crate::process::Priority;

/// A priority, and the time by which the process should be done.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Urgency {
    /// A finite number; the higher comes first. OTP's levels stand at 2, 1, 0 and -1.
    pub priority: f64,
    /// In nanoseconds of the monotonic clock; [`Urgency::NEVER`] if there is none. Of equal priorities the earlier
    /// comes first.
    pub deadline: i64,
}

impl Urgency {
    /// No deadline.
    pub const NEVER: i64 = i64::MAX;

    /// That of a level.
    #[inline]
    pub const fn of(level: Priority) -> Urgency {
        let priority = match level {
            Priority::Max => 2.0,
            Priority::High => 1.0,
            Priority::Normal => 0.0,
            Priority::Low => -1.0,
        };
        Urgency { priority, deadline: Urgency::NEVER }
    }

    /// The level that comes nearest without being higher; the lowest for what is below all.
    pub fn level(self) -> Priority {
        let reached = |level: &Priority| self.priority >= Urgency::of(*level).priority;
        Priority::ALL.into_iter().find(reached).unwrap_or(Priority::Low)
    }

    /// Which of both comes first: `Less` if it is this one.
    pub fn order(self, other: Urgency) -> Ordering {
        let by_priority = other.priority.partial_cmp(&self.priority).unwrap_or(Equal);
        by_priority.then(self.deadline.cmp(&other.deadline))
    }
}

/// The processes that have more than a level, by pid.
#[derive(Debug, Default)]
pub struct Urgencies(Mutex<HashMap<Term, Urgency>>);

impl Urgencies {
    pub(crate) fn of(&self, pid: Term) -> Option<Urgency> {
        self.0.lock().get(&pid).copied()
    }

    pub(crate) fn set(&self, pid: Term, urgency: Urgency) {
        self.0.lock().insert(pid, urgency);
    }

    pub(crate) fn forget(&self, pid: Term) {
        self.0.lock().remove(&pid);
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.lock().len()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn levels_are_numbers_and_numbers_levels() {
        for level in Priority::ALL {
            assert_eq!(Urgency::of(level).level(), level);
        }
        let level = |priority| Urgency { priority, deadline: 0 }.level();
        assert_eq!([1e9, 1.5, 0.9, -0.5, -7.0].map(level), {
            use Priority::{High, Low, Max, Normal};
            [Max, High, Normal, Low, Low]
        });
    }

    #[test]
    fn priority_decides_before_the_deadline() {
        let urgency = |priority, deadline| Urgency { priority, deadline };
        assert_eq!(urgency(1.0, 5).order(urgency(0.5, 1)), Ordering::Less);
        assert_eq!(urgency(0.5, 5).order(urgency(0.5, 1)), Ordering::Greater);
        assert_eq!(urgency(0.5, 5).order(Urgency { priority: 0.5, deadline: Urgency::NEVER }), Ordering::Less);
        assert_eq!(urgency(-0.0, 5).order(urgency(0.0, 5)), Ordering::Equal);
    }
}
