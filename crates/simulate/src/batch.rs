//! Many runs: several at once, outcomes in the order in which the runs began.

use std::collections::BTreeMap;

use crate::order::Order;
use crate::outcome::Outcome;
use crate::run::{Error, Going, Plan, Wanted, wait_for_any};

/// What is to be run, and who wants to know of it.
pub trait Search {
    /// The next order; `None` if there is none before another outcome is seen.
    fn next(&mut self) -> Option<Order>;

    /// Sees an outcome, in the order of [`Search::next`]; whether to go on.
    fn see(&mut self, order: &Order, outcome: Outcome) -> bool;
}

/// Runs the program under each order of the search.
///
/// # Errors
/// The system gives no process or file.
pub fn run(plan: &Plan, wanted: Wanted, search: &mut dyn Search) -> Result<(), Error> {
    let parallel = match plan.subject.is_alone() {
        true => 1,
        false => std::thread::available_parallelism().map_or(1, usize::from),
    };
    let (mut begun, mut seen) = (0, 0);
    let mut going: Vec<(u64, Order, Going)> = Vec::new();
    let mut over: BTreeMap<u64, (Order, Outcome)> = BTreeMap::new();
    loop {
        while going.len() < parallel
            && let Some(order) = search.next()
        {
            let run = plan.start(&order, wanted)?;
            going.push((begun, order, run));
            begun += 1;
        }
        if going.is_empty() {
            return Ok(());
        }
        let runs: Vec<&Going> = going.iter().map(|(_, _, run)| run).collect();
        for index in wait_for_any(&runs)?.into_iter().rev() {
            let (number, order, run) = going.remove(index);
            over.insert(number, (order, run.end()?));
        }
        while let Some((order, outcome)) = over.remove(&seen) {
            if !search.see(&order, outcome) {
                return Ok(());
            }
            seen += 1;
        }
    }
}
