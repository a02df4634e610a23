//! One run of a search that knows which turns depend on each other: it begins with given turns, and leaves out what
//! another run of the search shows (sleep sets: Godefroid, *Partial-Order Methods for the Verification of Concurrent
//! Systems*, 1996). A process stops behind each operation.

use std::collections::VecDeque;

use atoll_process::touches::{How, Object, Turn};
use atoll_term::Term;

use super::policy::{Candidate, Choice, Policy};

/// Reductions until a process is asked again that carries out no operation.
const QUIET_SLICE: i64 = 4_000;

/// What a turn touches.
pub type Touched = Vec<(Object, How)>;

/// Whether the order of two turns of different processes matters.
pub fn depend(one: &[(Object, How)], other: &[(Object, How)]) -> bool {
    // A turn that only says that its process lives touches nothing of anybody.
    let is_all = |touched: &[(Object, How)]| touched.iter().any(|(object, _)| *object == Object::Everything);
    let pairs = one.iter().any(|(object, how)| {
        other.iter().any(|(other_object, other_how)| object == other_object && how.matters(*other_how))
    });
    pairs || is_all(one) || is_all(other)
}

/// Turns of processes, and those that need not run.
#[derive(Debug)]
pub struct Guided {
    first: VecDeque<Term>,
    /// Processes whose next turn another run shows, until a turn comes that depends on it.
    asleep: Vec<(Term, Touched)>,
    last: Option<Term>,
    is_redundant: bool,
}

impl Guided {
    /// Begins with turns of these processes. The turns that `asleep` has may be left out from the last of them on.
    pub fn new(first: impl IntoIterator<Item = Term>, asleep: Vec<(Term, Touched)>) -> Guided {
        Guided { first: first.into_iter().collect(), asleep, last: None, is_redundant: false }
    }

    fn is_asleep(&self, pid: Term) -> bool {
        self.asleep.iter().any(|(other, _)| *other == pid)
    }
}

impl Policy for Guided {
    fn choose(&mut self, ready: &[Candidate]) -> Choice {
        let place = |pid: Term| ready.iter().position(|candidate| candidate.pid == pid);
        let given = self.first.pop_front().and_then(place);
        let awake = |pid: &Term| !self.is_asleep(*pid);
        let index = given
            .or_else(|| self.last.filter(awake).and_then(place))
            .or_else(|| ready.iter().position(|candidate| !self.is_asleep(candidate.pid)));
        self.is_redundant = index.is_none();
        let index = index.unwrap_or(0);
        self.last = Some(ready[index].pid);
        Choice { index, operations: 1, reductions: QUIET_SLICE }
    }

    fn wants_touches(&self) -> bool {
        true
    }

    fn touched(&mut self, turn: &Turn) {
        if self.first.is_empty() {
            self.asleep.retain(|(pid, touched)| *pid != turn.pid && !depend(touched, &turn.touched));
        }
    }

    fn is_redundant(&self) -> bool {
        self.is_redundant
    }
}
