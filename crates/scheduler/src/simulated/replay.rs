//! A schedule that is given: the decisions of another run, or what was left of them when some were taken out.

use std::collections::VecDeque;

use atoll_term::Term;

use super::policy::{ANY_OPERATIONS, Candidate, Choice, Fault, LONGEST_SLICE, Policy};

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

/// One thing that happened in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Move {
    /// A process ran.
    Turn(Turn),
    /// Something went wrong.
    Fault(Fault),
}

/// Follows decisions. One whose process cannot run is left out. When they are all used up, a process runs until it
/// waits, and then the one that has waited longest.
#[derive(Debug)]
pub struct Replay {
    moves: VecDeque<Move>,
    last: Option<Term>,
}

impl Replay {
    /// Follows these.
    pub fn new(moves: impl IntoIterator<Item = Move>) -> Replay {
        Replay { moves: moves.into_iter().collect(), last: None }
    }
}

impl Policy for Replay {
    fn choose(&mut self, ready: &[Candidate]) -> Choice {
        let place = |pid: Term| ready.iter().position(|candidate| candidate.pid == pid);
        while let Some(Move::Turn(turn)) = self.moves.front().copied() {
            self.moves.pop_front();
            if let Some(index) = place(turn.pid) {
                self.last = Some(turn.pid);
                return Choice { index, operations: turn.operations, reductions: turn.reductions };
            }
        }
        let index = self.last.and_then(place).unwrap_or(0);
        self.last = Some(ready[index].pid);
        Choice { index, operations: ANY_OPERATIONS, reductions: LONGEST_SLICE }
    }

    fn may_fault(&self) -> bool {
        true
    }

    fn fault(&mut self, alive: &[Term]) -> Option<Fault> {
        while let Some(Move::Fault(fault)) = self.moves.front().copied() {
            self.moves.pop_front();
            if !matches!(fault, Fault::Kill(pid) if !alive.contains(&pid)) {
                return Some(fault);
            }
        }
        None
    }
}
