//! A random walk: each decision is drawn by itself. Slices end behind few operations or many, few reductions or many,
//! so that some runs interrupt processes all the time and some let them come far.

use atoll_process::Priority;
use atoll_process::held_back::Pair;

use super::draw::Draw;
use super::late::Late;
use super::policy::{Candidate, Choice, Policy};

/// A slice has at most `1 << n` operations, `n` drawn below this.
const DOUBLINGS_OF_OPERATIONS: u64 = 6;
/// Most reductions of a slice are `SHORTEST` doubled so many times, less than `DOUBLINGS`.
const SHORTEST: u64 = 4;
const DOUBLINGS: u64 = 11;
/// One of so many choices goes to a process of priority `low` while others wait.
pub(super) const CHOICES_FOR_LOW: u64 = 8;

/// Places of those that do not have the priority `low`.
pub(super) fn others(ready: &[Candidate]) -> impl Iterator<Item = usize> {
    ready.iter().enumerate().filter(|(_, one)| one.priority != Priority::Low).map(|(index, _)| index)
}

/// One of so many signals is late.
const LATE: u64 = 16;
/// Makes the seed of the draw for late signals another one.
const FOR_LATE: u64 = 0x1a7e;

/// The walk of a seed.
#[derive(Debug)]
pub struct RandomWalk {
    draw: Draw,
    late: Late,
}

impl RandomWalk {
    /// That of this seed.
    pub fn new(seed: u64) -> RandomWalk {
        RandomWalk { draw: Draw::of(seed), late: Late::new(Draw::of(seed ^ FOR_LATE), LATE) }
    }

    /// That of this seed, in which all signals arrive when they are sent.
    pub fn prompt(seed: u64) -> RandomWalk {
        RandomWalk { draw: Draw::of(seed), late: Late::new(Draw::of(seed), 0) }
    }
}

impl Policy for RandomWalk {
    fn choose(&mut self, ready: &[Candidate]) -> Choice {
        self.late.count();
        let mut index = self.draw.below(ready.len() as u64) as usize;
        if ready[index].priority == Priority::Low && self.draw.below(CHOICES_FOR_LOW) != 0 {
            index = others(ready).nth(self.draw.below(others(ready).count().max(1) as u64) as usize).unwrap_or(index);
        }
        let operations = 1 << self.draw.below(DOUBLINGS_OF_OPERATIONS);
        let reductions = SHORTEST << self.draw.below(DOUBLINGS);
        Choice {
            index,
            operations: 1 + self.draw.below(operations) as i64,
            reductions: 1 + self.draw.below(reductions) as i64,
        }
    }

    fn has_late(&self) -> bool {
        self.late.may_come()
    }

    fn is_late(&mut self, pair: Pair, _: u64) -> bool {
        self.late.is_late(pair)
    }

    fn arrives(&mut self, late: &[Pair]) -> Option<usize> {
        self.late.arrives(late)
    }
}
