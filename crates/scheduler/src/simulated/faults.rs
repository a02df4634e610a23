//! Faults on request: processes that are killed between any two operations, timeouts that come while others could still
//! do something. A fault is drawn in front of a decision; the policy that makes the decision does not know of it.

use atoll_process::held_back::Pair;
use atoll_term::Term;

use super::draw::Draw;
use super::late::Late;
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
    /// Of late signals, instead of what the policy makes late: one of so many.
    pub delay: u64,
}

impl Rates {
    /// Whether there are no faults.
    pub fn are_none(self) -> bool {
        self.kill == 0 && self.timeout == 0 && self.delay == 0
    }
}

/// Makes the seed of the draw for late signals another one.
const FOR_DELAYS: u64 = 0xde1a;

/// A policy, and faults beside.
#[derive(Debug)]
pub struct Faulty {
    policy: Box<dyn Policy>,
    draw: Draw,
    rates: Rates,
    late: Late,
}

impl Faulty {
    /// What the policy decides, and the faults of this seed.
    pub fn new(policy: Box<dyn Policy>, seed: u64, rates: Rates) -> Faulty {
        // By a draw of its own, so that one kind of fault does not change where the others come.
        let late = Late::new(Draw::of(!seed ^ FOR_DELAYS), rates.delay);
        Faulty { policy, draw: Draw::of(!seed), rates, late }
    }

    fn comes(&mut self, rate: u64) -> bool {
        rate > 0 && self.draw.below(rate) == 0
    }
}

impl Policy for Faulty {
    fn choose(&mut self, ready: &[Candidate]) -> Choice {
        self.late.count();
        self.policy.choose(ready)
    }

    fn ran(&mut self, operations: i64) {
        self.policy.ran(operations);
    }

    fn has_late(&self) -> bool {
        self.late.may_come() || self.policy.has_late()
    }

    fn is_late(&mut self, pair: Pair, number: u64) -> bool {
        if self.late.may_come() { self.late.is_late(pair) } else { self.policy.is_late(pair, number) }
    }

    fn arrives(&mut self, late: &[Pair]) -> Option<usize> {
        if self.late.may_come() { self.late.arrives(late) } else { self.policy.arrives(late) }
    }

    fn may_fault(&self) -> bool {
        self.rates.kill > 0 || self.rates.timeout > 0
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
