//! Makes the schedule of a run that fails smaller: fewer turns, and so fewer switches between processes, in which it
//! still fails in the same way. Turns are left out in ever smaller groups (Zeller and Hildebrandt: Simplifying and
//! Isolating Failure-Inducing Input, IEEE TSE 28(2), 2002), then single turns go on until their process waits. Each
//! candidate is run; what it leaves open, `Replay` decides without switches that are not needed.

use std::time::{Duration, Instant};

use atoll_vm::simulated::ANY_OPERATIONS;

use crate::order::Order;
use crate::outcome::{Failure, Outcome};
use crate::recorded::{exact, joined};
use crate::run::{Error, Plan, Wanted};
use crate::schedule::{NO_LIMIT, Schedule, Step};

/// A schedule that fails, and how it was found.
#[derive(Debug)]
pub struct Shrunk {
    /// The schedule.
    pub schedule: Schedule,
    /// Switches between processes in the run that was given.
    pub before: usize,
    /// Switches in a run of this schedule.
    pub after: usize,
    /// Runs that it took.
    pub runs: usize,
}

struct Shrinking<'p> {
    plan: &'p Plan,
    failure: &'p Failure,
    ends: Instant,
    runs: usize,
}

impl Shrinking<'_> {
    /// What a run of the schedule did, if it fails as wanted.
    fn failing(&mut self, schedule: &Schedule) -> Result<Option<Outcome>, Error> {
        self.runs += 1;
        let wanted = Wanted { schedule: true, ..Wanted::default() };
        let outcome = self.plan.run(&Order::Given(schedule.clone()), wanted)?;
        let is_same = outcome.failures.first().is_some_and(|failure| failure.is_like(self.failure));
        Ok(is_same.then_some(outcome))
    }

    fn has_time(&self) -> bool {
        Instant::now() < self.ends
    }

    /// Leaves out turns in groups of ever fewer.
    fn fewer_turns(&mut self, mut steps: Vec<Step>) -> Result<Vec<Step>, Error> {
        let mut group = steps.len().div_ceil(2);
        while group > 0 && self.has_time() {
            let mut at = 0;
            let before = steps.len();
            while at < steps.len() && self.has_time() {
                let end = (at + group).min(steps.len());
                let rest = [&steps[..at], &steps[end..]].concat();
                if self.failing(&Schedule::of(rest.clone()))?.is_some() {
                    steps = rest;
                } else {
                    at = end;
                }
            }
            if group == 1 && steps.len() == before {
                break;
            }
            group = if group == 1 { 1 } else { group.div_ceil(2) };
        }
        Ok(steps)
    }

    /// Lets processes that are interrupted go on until they wait.
    fn fewer_interruptions(&mut self, mut steps: Vec<Step>) -> Result<Vec<Step>, Error> {
        for index in 0..steps.len() {
            let Step::Turn { process, operations, .. } = steps[index] else { continue };
            if operations == ANY_OPERATIONS {
                continue;
            }
            if !self.has_time() {
                break;
            }
            let mut longer = steps.clone();
            longer[index] = Step::Turn { process, operations: ANY_OPERATIONS, reductions: NO_LIMIT };
            if self.failing(&Schedule::of(longer.clone()))?.is_some() {
                steps = longer;
            }
        }
        Ok(steps)
    }
}

/// Shrinks the schedule of `order`, which fails with `failure`, for so long at most.
///
/// # Errors
/// The system gives no process or file.
pub fn shrink(plan: &Plan, order: &Order, failure: &Failure, limit: Duration) -> Result<Option<Shrunk>, Error> {
    let mut shrinking = Shrinking { plan, failure, ends: Instant::now() + limit, runs: 1 };
    let wanted = Wanted { schedule: true, ..Wanted::default() };
    let first = plan.run(order, wanted)?;
    let before = joined(&first.decisions).switches();
    let mut schedule = joined(&first.decisions);
    if shrinking.failing(&schedule)?.is_none() {
        // It depends on a process that was interrupted between two operations, or waits busily.
        schedule = exact(&first.decisions);
        if shrinking.failing(&schedule)?.is_none() {
            return Ok(None);
        }
    }
    let mut steps = schedule.steps().to_vec();
    loop {
        let fewer = shrinking.fewer_turns(steps.clone())?;
        let fewer = shrinking.fewer_interruptions(fewer)?;
        let is_done = fewer == steps || !shrinking.has_time();
        steps = fewer;
        if is_done {
            break;
        }
    }
    let schedule = Schedule::of(steps);
    let Some(last) = shrinking.failing(&schedule)? else { return Ok(None) };
    let after = joined(&last.decisions).switches();
    Ok(Some(Shrunk { schedule, before, after, runs: shrinking.runs }))
}
