//! First come, first served, each for a whole slice: what one scheduler of a real run does. It needs no seed.

use atoll_process::Priority;

use super::policy::{ANY_OPERATIONS, Candidate, Choice, LONGEST_SLICE, Policy};
use super::random::{CHOICES_FOR_LOW, others};

/// Turns of processes in their order.
#[derive(Debug, Default)]
pub struct RoundRobin {
    turns: u64,
}

impl Policy for RoundRobin {
    fn choose(&mut self, ready: &[Candidate]) -> Choice {
        self.turns += 1;
        let low = || ready.iter().position(|one| one.priority == Priority::Low);
        let index = if self.turns.is_multiple_of(CHOICES_FOR_LOW) { low() } else { others(ready).next() };
        Choice { index: index.unwrap_or(0), operations: ANY_OPERATIONS, reductions: LONGEST_SLICE }
    }
}
