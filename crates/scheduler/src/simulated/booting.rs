//! A boot that is the same in every run, and a policy that decides from where the program begins. What OTP does until
//! then is thousands of turns in which nobody looks for a fault, and which would fill schedules and stories.

use atoll_process::held_back::Pair;
use atoll_process::{Failing, touches};
use atoll_term::Term;

use super::policy::{Candidate, Choice, Fault, Policy};
use super::round_robin::RoundRobin;

/// First come, first served, until [`Policy::program_begins`] is called.
#[derive(Debug)]
pub struct Booting {
    boot: RoundRobin,
    program: Box<dyn Policy>,
    has_begun: bool,
}

impl Booting {
    /// This policy decides once the program begins.
    pub fn new(program: Box<dyn Policy>) -> Booting {
        Booting { boot: RoundRobin::default(), program, has_begun: false }
    }
}

impl Policy for Booting {
    fn program_begins(&mut self) {
        self.has_begun = true;
    }

    fn choose(&mut self, ready: &[Candidate]) -> Choice {
        if self.has_begun { self.program.choose(ready) } else { self.boot.choose(ready) }
    }

    fn ran(&mut self, operations: i64) {
        if self.has_begun {
            self.program.ran(operations);
        }
    }

    fn wants_touches(&self) -> bool {
        self.program.wants_touches()
    }

    fn touched(&mut self, turn: &touches::Turn) {
        if self.has_begun {
            self.program.touched(turn);
        }
    }

    fn is_redundant(&self) -> bool {
        self.has_begun && self.program.is_redundant()
    }

    fn has_late(&self) -> bool {
        self.program.has_late()
    }

    fn is_late(&mut self, pair: Pair, number: u64) -> bool {
        self.has_begun && self.program.is_late(pair, number)
    }

    fn arrives(&mut self, late: &[Pair]) -> Option<usize> {
        if self.has_begun { self.program.arrives(late) } else { None }
    }

    fn may_fail(&self) -> bool {
        self.program.may_fail()
    }

    fn fails(&mut self, what: Failing, pid: Term, number: u64, ways: usize) -> Option<usize> {
        if self.has_begun { self.program.fails(what, pid, number, ways) } else { None }
    }

    fn may_fault(&self) -> bool {
        self.program.may_fault()
    }

    fn fault(&mut self, alive: &[Term]) -> Option<Fault> {
        if self.has_begun { self.program.fault(alive) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use atoll_process::Priority;

    use super::super::{Faulty, Rates};
    use super::*;

    #[test]
    fn the_policy_decides_once_the_program_begins() {
        let ready = [2, 3].map(|pid| Candidate { pid: Term::pid(pid), priority: Priority::Normal });
        let rates = Rates { io: 1, timeout: 1, ..Rates::default() };
        let mut policy = Booting::new(Box::new(Faulty::new(Box::new(RoundRobin::default()), 1, rates)));
        assert!(policy.may_fail() && policy.may_fault());
        assert_eq!(policy.choose(&ready).index, 0);
        assert_eq!((policy.fails(Failing::Io, Term::pid(2), 1, 1), policy.fault(&[])), (None, None));
        policy.program_begins();
        assert_eq!(policy.fails(Failing::Io, Term::pid(2), 1, 1), Some(0));
        assert_eq!(policy.fault(&[]), Some(Fault::Timeout));
    }
}
