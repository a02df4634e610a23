//! The schedule of a run, as it is carried out. A run whose schedule nobody wants counts only: long ones have hundreds
//! of millions of decisions.

use super::Decision;

/// What a run has decided so far.
#[derive(Debug)]
pub(super) struct Recording {
    is_kept: bool,
    kept: Vec<Decision>,
    count: usize,
    /// Operations of all turns but the last.
    operations: i64,
    /// Those of the last.
    last: i64,
}

impl Recording {
    /// Of nothing; `is_kept`: decisions are wanted later.
    pub(super) fn new(is_kept: bool) -> Recording {
        Recording { is_kept, kept: Vec::new(), count: 0, operations: 0, last: 0 }
    }

    /// A decision is made.
    pub(super) fn push(&mut self, decision: Decision) {
        self.count += 1;
        self.operations += std::mem::take(&mut self.last);
        if self.is_kept {
            self.kept.push(decision);
        }
    }

    /// The last decision is not carried out.
    pub(super) fn take_back(&mut self) {
        self.count -= 1;
        self.kept.pop();
    }

    /// The last decision was a turn, which has come to this.
    pub(super) fn ended(&mut self, ran: i64, goes_on: bool) {
        self.last = ran;
        // There is none if the schedule was forgotten in this turn.
        if let Some(last) = self.kept.last_mut() {
            (last.ran, last.goes_on) = (ran, goes_on);
        }
    }

    /// What came so far, the turn that goes on included, is not part of the schedule.
    pub(super) fn forget(&mut self) {
        self.kept.clear();
        (self.operations, self.last) = (0, 0);
    }

    /// How many decisions there were.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Operations of all turns but the last, which may not have come to its end.
    pub(super) fn operations(&self) -> i64 {
        self.operations
    }

    /// Whether decisions are kept.
    pub(super) fn is_kept(&self) -> bool {
        self.is_kept
    }

    /// The decisions, which are gone then.
    pub(super) fn take(&mut self) -> Vec<Decision> {
        std::mem::take(&mut self.kept)
    }
}

#[cfg(test)]
mod tests {
    use atoll_term::Term;

    use super::super::{Move, Turn};
    use super::*;

    fn record(is_kept: bool) -> Recording {
        let turn = Turn { pid: Term::pid(3), operations: 9, reductions: 9 };
        let mut recording = Recording::new(is_kept);
        for ran in [2, 3, 4] {
            recording.push(Decision::beside(Move::Turn(turn)));
            recording.ended(ran, true);
        }
        recording.push(Decision::beside(Move::Turn(turn)));
        recording.take_back();
        recording.push(Decision::beside(Move::Turn(turn)));
        recording
    }

    #[test]
    fn what_is_not_kept_is_counted() {
        let (mut kept, mut counted) = (record(true), record(false));
        assert_eq!((kept.count(), kept.operations()), (4, 9));
        assert_eq!((counted.count(), counted.operations()), (4, 9));
        let ran: Vec<(i64, bool)> = kept.take().iter().map(|decision| (decision.ran, decision.goes_on)).collect();
        assert_eq!(ran, [(2, true), (3, true), (4, true), (0, false)]);
        assert!(counted.take().is_empty());
    }
}
