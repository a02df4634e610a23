//! What a run was, decision by decision, and the schedule that says the same in fewer words.

use atoll_vm::simulated::{ANY_OPERATIONS, Decision};
use serde::{Deserialize, Serialize};

use crate::schedule::{NO_LIMIT, Schedule, Step};

/// A decision, and what came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Recorded {
    process: u64,
    operations: i64,
    reductions: i64,
    ran: i64,
    goes_on: bool,
}

impl Recorded {
    pub(crate) fn of(decision: &Decision) -> Recorded {
        Recorded {
            process: decision.turn.pid.immediate_data(),
            operations: decision.turn.operations,
            reductions: decision.turn.reductions,
            ran: decision.ran,
            goes_on: decision.goes_on,
        }
    }
}

/// The schedule with each decision as it was.
pub(crate) fn exact(run: &[Recorded]) -> Schedule {
    let step = |one: &Recorded| Step { process: one.process, operations: one.operations, reductions: one.reductions };
    Schedule::of(run.iter().map(step).collect())
}

/// The schedule in which turns of one process behind each other are one, and turns end behind operations or where the
/// process waits. What processes do to each other is the same, unless one waits busily.
pub(crate) fn joined(run: &[Recorded]) -> Schedule {
    let mut steps: Vec<Step> = Vec::new();
    for one in run {
        // Nobody else notices how far it came.
        if one.goes_on && one.ran == 0 {
            continue;
        }
        let operations = if one.goes_on { one.ran } else { ANY_OPERATIONS };
        match steps.last_mut().filter(|last| last.process == one.process && last.operations != ANY_OPERATIONS) {
            Some(last) => last.operations = last.operations.saturating_add(operations),
            None => steps.push(Step { process: one.process, operations, reductions: NO_LIMIT }),
        }
    }
    Schedule::of(steps)
}
