//! A schedule that is given: the decisions of another run, or what was left of them when some were taken out.

use std::collections::VecDeque;

use atoll_term::Term;

use super::policy::{ANY_OPERATIONS, Candidate, Choice, LONGEST_SLICE, Policy};

/// One decision: a process and its slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Turn {
    /// The process.
    pub pid: Term,
    /// As in [`Choice`].
    pub operations: i64,
    /// As in [`Choice`].
    pub reductions: i64,
}

/// Follows decisions. One whose process cannot run is left out. When they are all used up, a process runs until it
/// waits, and then the one that has waited longest.
#[derive(Debug)]
pub struct Replay {
    turns: VecDeque<Turn>,
    last: Option<Term>,
}

impl Replay {
    /// Follows these.
    pub fn new(turns: impl IntoIterator<Item = Turn>) -> Replay {
        Replay { turns: turns.into_iter().collect(), last: None }
    }
}

impl Policy for Replay {
    fn choose(&mut self, ready: &[Candidate]) -> Choice {
        let place = |pid: Term| ready.iter().position(|candidate| candidate.pid == pid);
        while let Some(turn) = self.turns.pop_front() {
            if let Some(index) = place(turn.pid) {
                self.last = Some(turn.pid);
                return Choice { index, operations: turn.operations, reductions: turn.reductions };
            }
        }
        let index = self.last.and_then(place).unwrap_or(0);
        self.last = Some(ready[index].pid);
        Choice { index, operations: ANY_OPERATIONS, reductions: LONGEST_SLICE }
    }
}
