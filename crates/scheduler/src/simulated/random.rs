//! A random walk: each decision is drawn by itself. Slices end behind few operations or many, few reductions or many,
//! so that some runs interrupt processes all the time and some let them come far.

use atoll_process::Priority;

use super::draw::Draw;
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

/// The walk of a seed.
#[derive(Debug)]
pub struct RandomWalk(Draw);

impl RandomWalk {
    /// That of this seed.
    pub fn new(seed: u64) -> RandomWalk {
        RandomWalk(Draw::of(seed))
    }
}

impl Policy for RandomWalk {
    fn choose(&mut self, ready: &[Candidate]) -> Choice {
        let mut index = self.0.below(ready.len() as u64) as usize;
        if ready[index].priority == Priority::Low && self.0.below(CHOICES_FOR_LOW) != 0 {
            index = others(ready).nth(self.0.below(others(ready).count().max(1) as u64) as usize).unwrap_or(index);
        }
        let operations = 1 << self.0.below(DOUBLINGS_OF_OPERATIONS);
        let reductions = SHORTEST << self.0.below(DOUBLINGS);
        Choice {
            index,
            operations: 1 + self.0.below(operations) as i64,
            reductions: 1 + self.0.below(reductions) as i64,
        }
    }
}
