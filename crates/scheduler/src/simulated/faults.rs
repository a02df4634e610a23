//! Faults on request: processes that are killed between any two operations, timeouts that come while others could still
//! do something. A fault is drawn in front of a decision; the policy that makes the decision does not know of it.

use atoll_process::Failing;
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
    /// Of failing operations on files and sockets: one of so many.
    pub io: u64,
    /// Of refused memory: at one of so many processes and ports that are to be made, and of so many decisions.
    pub alloc: u64,
}

impl Rates {
    /// Whether there are no faults.
    pub fn are_none(&self) -> bool {
        *self == Rates { spared: self.spared, ..Rates::default() }
    }
}

/// Makes the seed of the draw for late signals another one.
const FOR_DELAYS: u64 = 0xde1a;
/// The same for what fails.
const FOR_FAILING: u64 = 0xfa11;

/// A policy, and faults beside.
#[derive(Debug)]
pub struct Faulty {
    policy: Box<dyn Policy>,
    draw: Draw,
    rates: Rates,
    late: Late,
    failing: Draw,
}

impl Faulty {
    /// What the policy decides, and the faults of this seed.
    pub fn new(policy: Box<dyn Policy>, seed: u64, rates: Rates) -> Faulty {
        // By a draw of its own, so that one kind of fault does not change where the others come.
        let late = Late::new(Draw::of(!seed ^ FOR_DELAYS), rates.delay);
        let failing = Draw::of(!seed ^ FOR_FAILING);
        Faulty { policy, draw: Draw::of(!seed), rates, late, failing }
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

    fn may_fail(&self) -> bool {
        self.rates.io > 0 || self.rates.alloc > 0
    }

    fn fails(&mut self, what: Failing, _: Term, _: u64, ways: usize) -> Option<usize> {
        let rate = match what {
            Failing::Io => self.rates.io,
            Failing::Room => self.rates.alloc,
        };
        let fails = rate > 0 && self.failing.below(rate) == 0;
        fails.then(|| self.failing.below(ways as u64) as usize)
    }

    fn may_fault(&self) -> bool {
        self.rates.kill > 0 || self.rates.timeout > 0 || self.rates.alloc > 0
    }

    fn fault(&mut self, alive: &[Term]) -> Option<Fault> {
        // A process whose heap must not grow is killed.
        if self.comes(self.rates.kill) || self.comes(self.rates.alloc) {
            let victims: Vec<Term> =
                alive.iter().copied().filter(|pid| pid.immediate_data() >= self.rates.spared).collect();
            if !victims.is_empty() {
                return Some(Fault::Kill(victims[self.draw.below(victims.len() as u64) as usize]));
            }
        }
        self.comes(self.rates.timeout).then_some(Fault::Timeout)
    }
}
