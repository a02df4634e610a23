//! Faults on request: processes that are killed between any two operations, timeouts that come while others could still
//! do something. A fault is drawn in front of a decision; the policy that makes the decision does not know of it.

use atoll_term::Term;

use super::draw::Draw;
use super::policy::{Candidate, Choice, Fault, Policy};

/// How often faults come: at one of so many decisions; 0: never.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rates {
    /// Of kills.
    pub kill: u64,
    /// The processes with so many first pids are not killed.
    pub spared: u64,
    /// Of early timeouts.
    pub timeout: u64,
}

impl Rates {
    /// Whether there are no faults.
    pub fn are_none(self) -> bool {
        self.kill == 0 && self.timeout == 0
    }
}

/// A policy, and faults beside.
#[derive(Debug)]
pub struct Faulty {
    policy: Box<dyn Policy>,
    draw: Draw,
    rates: Rates,
}

impl Faulty {
    /// What the policy decides, and the faults of this seed.
    pub fn new(policy: Box<dyn Policy>, seed: u64, rates: Rates) -> Faulty {
        Faulty { policy, draw: Draw::of(!seed), rates }
    }

    fn comes(&mut self, rate: u64) -> bool {
        rate > 0 && self.draw.below(rate) == 0
    }
}

impl Policy for Faulty {
    fn choose(&mut self, ready: &[Candidate]) -> Choice {
        self.policy.choose(ready)
    }

    fn ran(&mut self, operations: i64) {
        self.policy.ran(operations);
    }

    fn may_fault(&self) -> bool {
        true
    }

    fn fault(&mut self, alive: &[Term]) -> Option<Fault> {
        if self.comes(self.rates.kill) {
            let victims: Vec<Term> =
                alive.iter().copied().filter(|pid| pid.immediate_data() >= self.rates.spared).collect();
            if !victims.is_empty() {
                return Some(Fault::Kill(victims[self.draw.below(victims.len() as u64) as usize]));
            }
        }
        self.comes(self.rates.timeout).then_some(Fault::Timeout)
    }
}
