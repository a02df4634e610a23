//! One of the schedules with few delays (Emmi, Qadeer, Rakamarić: Delay-Bounded Scheduling, POPL 2011). Without a
//! delay, a process runs until it waits, and then the one that has waited longest. A delay at a decision lets the next
//! process in this order run instead. A process stops behind each operation, so that there is a decision everywhere.
//!
//! There are finitely many schedules with at most so many delays, and whoever tries them all knows that no such
//! schedule of a program fails.

use std::collections::VecDeque;

use atoll_term::Term;

use super::policy::{Candidate, Choice, Policy};

/// Reductions until a process is asked again that carries out no operation.
const QUIET_SLICE: i64 = 4_000;

/// Delays at some decisions.
#[derive(Debug)]
pub struct Delays {
    /// Numbers of decisions, in order, and how many processes are passed over there.
    delays: VecDeque<(usize, usize)>,
    made: usize,
    last: Option<Term>,
}

impl Delays {
    /// At the decisions of these numbers, in order, so many processes are passed over.
    pub fn new(delays: impl IntoIterator<Item = (usize, usize)>) -> Delays {
        Delays { delays: delays.into_iter().collect(), made: 0, last: None }
    }
}

impl Policy for Delays {
    fn choose(&mut self, ready: &[Candidate]) -> Choice {
        let delay = match self.delays.front() {
            Some((number, delay)) if *number == self.made => *delay,
            _ => 0,
        };
        if delay > 0 {
            self.delays.pop_front();
        }
        self.made += 1;
        let first = self.last.and_then(|last| ready.iter().position(|candidate| candidate.pid == last));
        // The one that ran, then the others in their order.
        let others = (0..ready.len()).filter(|index| Some(*index) != first);
        let index = first.into_iter().chain(others).nth(delay % ready.len()).unwrap_or(0);
        self.last = Some(ready[index].pid);
        Choice { index, operations: 1, reductions: QUIET_SLICE }
    }
}

#[cfg(test)]
mod tests {
    use atoll_process::Priority;

    use super::*;

    #[test]
    fn a_delay_lets_the_next_one_run() {
        let ready: Vec<Candidate> =
            [4, 5, 6].map(|number| Candidate { pid: Term::pid(number), priority: Priority::Normal }).into();
        let mut delays = Delays::new([(1, 2), (3, 1)]);
        let chosen: Vec<usize> = (0..5).map(|_| delays.choose(&ready).index).collect();
        assert_eq!(chosen, [0, 2, 2, 0, 0]);
    }
}
