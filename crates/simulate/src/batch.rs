//! Many seeds: several runs at once, outcomes in the order of the seeds.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use crate::order::{Order, PolicyKind};
use crate::outcome::Outcome;
use crate::run::{Error, Going, Plan, Wanted, wait_for_any};

/// Runs the program under each seed, until `see`, which gets the outcomes in the order of the seeds, returns false.
///
/// # Errors
/// The system gives no process or file.
pub fn run(
    plan: &Plan,
    policy: PolicyKind,
    seeds: RangeInclusive<u64>,
    mut see: impl FnMut(u64, Outcome) -> bool,
) -> Result<(), Error> {
    let parallel = std::thread::available_parallelism().map_or(1, usize::from);
    let (mut left, mut next) = (seeds.clone(), *seeds.start());
    let mut going: Vec<(u64, Going)> = Vec::new();
    let mut over: BTreeMap<u64, Outcome> = BTreeMap::new();
    loop {
        while going.len() < parallel
            && let Some(seed) = left.next()
        {
            going.push((seed, plan.start(&Order::Seed(policy, seed), Wanted::default())?));
        }
        if going.is_empty() {
            return Ok(());
        }
        let runs: Vec<&Going> = going.iter().map(|(_, run)| run).collect();
        for index in wait_for_any(&runs)?.into_iter().rev() {
            let (seed, run) = going.remove(index);
            over.insert(seed, run.end()?);
        }
        while let Some(outcome) = over.remove(&next) {
            if !see(next, outcome) {
                return Ok(());
            }
            next += 1;
        }
    }
}
