//! Which policy decides, by its name on the command line.

use std::fmt;
use std::str::FromStr;

use atoll_vm::simulated::{Pct, Policy, RandomWalk, Replay, RoundRobin};

use crate::schedule::Schedule;

/// Depth of the bugs that `pct` looks for if no other is given.
const DEPTH: u32 = 3;

/// A kind of policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PolicyKind {
    /// `random`: see [`RandomWalk`].
    Random,
    /// `pct:DEPTH:STEPS`: see [`Pct`]. Without steps, those of a run under `round-robin` are taken.
    Pct {
        /// The number of ordered events that a bug needs.
        depth: u32,
        /// The operations of a run, about.
        steps: Option<u64>,
    },
    /// `round-robin`: see [`RoundRobin`].
    RoundRobin,
}

impl FromStr for PolicyKind {
    type Err = String;

    fn from_str(text: &str) -> Result<PolicyKind, String> {
        let mut parts = text.split(':');
        let kind = parts.next().unwrap_or_default();
        let mut number = |what: &str| match parts.next() {
            None => Ok(None),
            Some(word) => match word.parse::<u32>() {
                Ok(number @ 1..) => Ok(Some(number)),
                _ => Err(format!("{word}: {what} is a number from 1 on")),
            },
        };
        let policy = match kind {
            "random" => PolicyKind::Random,
            "round-robin" => PolicyKind::RoundRobin,
            "pct" => PolicyKind::Pct {
                depth: number("the depth of pct")?.unwrap_or(DEPTH),
                steps: number("the number of steps of pct")?.map(u64::from),
            },
            _ => return Err("the policies are random, pct, pct:DEPTH, pct:DEPTH:STEPS and round-robin".to_owned()),
        };
        match parts.next() {
            None => Ok(policy),
            Some(rest) => Err(format!("{rest}: too much behind {kind}")),
        }
    }
}

impl fmt::Display for PolicyKind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PolicyKind::Random => write!(out, "random"),
            PolicyKind::RoundRobin => write!(out, "round-robin"),
            PolicyKind::Pct { depth, steps: None } => write!(out, "pct:{depth}"),
            PolicyKind::Pct { depth, steps: Some(steps) } => write!(out, "pct:{depth}:{steps}"),
        }
    }
}

/// Where the decisions of one run come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// A policy and its seed.
    Seed(PolicyKind, u64),
    /// Decisions of another run.
    Given(Schedule),
}

impl Order {
    /// What makes the decisions.
    pub(crate) fn policy(&self) -> Box<dyn Policy> {
        match self {
            Order::Seed(PolicyKind::Random, seed) => Box::new(RandomWalk::new(*seed)),
            Order::Seed(PolicyKind::RoundRobin, _) => Box::new(RoundRobin::default()),
            Order::Seed(PolicyKind::Pct { depth, steps }, seed) => {
                Box::new(Pct::new(*seed, *depth, steps.unwrap_or(1)))
            }
            Order::Given(schedule) => Box::new(Replay::new(schedule.turns())),
        }
    }
}

/// As options of the command line.
impl fmt::Display for Order {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Order::Seed(PolicyKind::Random, seed) => write!(out, "--seed {seed}"),
            Order::Seed(policy, seed) => write!(out, "--policy {policy} --seed {seed}"),
            Order::Given(schedule) => write!(out, "--schedule {schedule}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_are_read_as_they_are_written() {
        for text in ["random", "round-robin", "pct:3", "pct:2:500"] {
            assert_eq!(text.parse::<PolicyKind>().unwrap().to_string(), text);
        }
        assert_eq!("pct".parse::<PolicyKind>().unwrap().to_string(), "pct:3");
        for wrong in ["", "pct:0", "pct:x", "random:1", "pct:1:2:3", "dfs"] {
            assert!(wrong.parse::<PolicyKind>().is_err(), "{wrong}");
        }
    }
}
