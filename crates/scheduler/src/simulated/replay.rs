//! A schedule that is given: the decisions of another run, or what was left of them when some were taken out.

use std::collections::{HashMap, HashSet, VecDeque};

use atoll_process::Failing;
use atoll_process::held_back::Pair;
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
    /// A signal was late: of this process, the one of this number among all that it sends others.
    Late(Term, u64),
    /// Something failed that this process did, the one of this number among all that can fail, in this way.
    Fails(Failing, Term, u64, usize),
    /// The first late signal of a pair has arrived.
    Arrives(Pair),
}

/// Follows decisions. One whose process cannot run is left out. When they are all used up, a process runs until it
/// waits, and then the one that has waited longest.
#[derive(Debug)]
pub struct Replay {
    moves: VecDeque<Move>,
    /// The signals that are late, wherever that stands among the moves.
    late: HashSet<(Term, u64)>,
    /// What fails, and in which way; as above.
    failing: HashMap<(Failing, Term, u64), usize>,
    last: Option<Term>,
}

impl Replay {
    /// Follows these.
    pub fn new(moves: impl IntoIterator<Item = Move>) -> Replay {
        let (mut late, mut failing, mut others) = (HashSet::new(), HashMap::new(), VecDeque::new());
        for one in moves {
            match one {
                Move::Late(sender, number) => {
                    late.insert((sender, number));
                }
                Move::Fails(what, pid, number, way) => {
                    failing.insert((what, pid, number), way);
                }
                one => others.push_back(one),
            }
        }
        Replay { moves: others, late, failing, last: None }
    }
}

impl Policy for Replay {
    fn choose(&mut self, ready: &[Candidate]) -> Choice {
        let place = |pid: Term| ready.iter().position(|candidate| candidate.pid == pid);
        while let Some(Move::Turn(_) | Move::Arrives(_)) = self.moves.front() {
            // A signal that is not late any more cannot arrive.
            let Some(Move::Turn(turn)) = self.moves.pop_front() else { continue };
            if let Some(index) = place(turn.pid) {
                self.last = Some(turn.pid);
                return Choice { index, operations: turn.operations, reductions: turn.reductions };
            }
        }
        let index = self.last.and_then(place).unwrap_or(0);
        self.last = Some(ready[index].pid);
        Choice { index, operations: ANY_OPERATIONS, reductions: LONGEST_SLICE }
    }

    fn has_late(&self) -> bool {
        !self.late.is_empty()
    }

    fn is_late(&mut self, (sender, _): Pair, number: u64) -> bool {
        self.late.contains(&(sender, number))
    }

    fn arrives(&mut self, late: &[Pair]) -> Option<usize> {
        while let Some(Move::Arrives(pair)) = self.moves.front() {
            let place = late.iter().position(|other| other == pair);
            self.moves.pop_front();
            if place.is_some() {
                return place;
            }
        }
        None
    }

    fn may_fail(&self) -> bool {
        !self.failing.is_empty()
    }

    fn fails(&mut self, what: Failing, pid: Term, number: u64, ways: usize) -> Option<usize> {
        self.failing.get(&(what, pid, number)).map(|way| *way % ways)
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
