//! All schedules with few delays, those with the fewest first: see [`atoll_vm::simulated::Delays`].

use std::collections::VecDeque;

use crate::order::Order;
use crate::outcome::Outcome;

/// The schedules that are still to be run.
#[derive(Debug)]
pub struct Exhaustive {
    most: usize,
    /// By their number of delays.
    waiting: Vec<VecDeque<Vec<(usize, usize)>>>,
}

impl Exhaustive {
    /// All with so many delays at most.
    pub fn new(most: u32) -> Exhaustive {
        let mut waiting = vec![VecDeque::new(); most as usize + 1];
        waiting[0].push_back(Vec::new());
        Exhaustive { most: most as usize, waiting }
    }

    /// One of those with the fewest delays.
    pub fn take(&mut self) -> Option<Order> {
        self.waiting.iter_mut().find_map(VecDeque::pop_front).map(Order::Delays)
    }

    /// Adds the schedules that have the delays of this run and one more place with delays behind them. Each schedule is
    /// added once, by the run without its last place.
    pub fn add_after(&mut self, order: &Order, outcome: &Outcome) {
        let Order::Delays(delays) = order else { return };
        let used: usize = delays.iter().map(|(_, passed)| passed).sum();
        let first = delays.last().map_or(0, |(number, _)| number + 1);
        let decisions = &outcome.decisions;
        for number in first..decisions.len() {
            // A process that has done nothing since the decision before may as well be delayed there.
            if number > 0 && decisions[number - 1].goes_on && decisions[number - 1].ran == 0 {
                continue;
            }
            let others = decisions[number].ready.saturating_sub(1);
            for passed in 1..=others.min(self.most - used) {
                let mut more = delays.clone();
                more.push((number, passed));
                self.waiting[used + passed].push_back(more);
            }
        }
    }
}
