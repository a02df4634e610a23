//! What a run was, decision by decision, and the schedule that says the same in fewer words.

use atoll_vm::simulated::{ANY_OPERATIONS, Decision};
use serde::{Deserialize, Serialize};

use crate::schedule::{NO_LIMIT, Schedule, Step};

/// A decision, and what came of it: see [`Decision`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Recorded {
    step: Step,
    pub(crate) ran: i64,
    pub(crate) goes_on: bool,
    pub(crate) ready: usize,
}

impl Recorded {
    pub(crate) fn of(decision: &Decision) -> Recorded {
        let Decision { made, ran, goes_on, ready } = decision;
        Recorded { step: Step::of(made), ran: *ran, goes_on: *goes_on, ready: *ready }
    }
}

/// The schedule with each decision as it was.
pub(crate) fn exact(run: &[Recorded]) -> Schedule {
    Schedule::of(run.iter().map(|one| one.step).collect())
}

/// The schedule in which turns of one process behind each other are one, and turns end behind operations or where the
/// process waits. What processes do to each other is the same, unless one waits busily.
pub(crate) fn joined(run: &[Recorded]) -> Schedule {
    let mut steps: Vec<Step> = Vec::new();
    for one in run {
        let Step::Turn { process, .. } = one.step else {
            steps.push(one.step);
            continue;
        };
        // Nobody else notices how far it came.
        if one.goes_on && one.ran == 0 {
            continue;
        }
        let more = if one.goes_on { one.ran } else { ANY_OPERATIONS };
        match steps.last_mut() {
            Some(Step::Turn { process: last, operations, .. }) if *last == process && *operations != ANY_OPERATIONS => {
                *operations = operations.saturating_add(more);
            }
            _ => steps.push(Step::Turn { process, operations: more, reductions: NO_LIMIT }),
        }
    }
    Schedule::of(steps)
}
