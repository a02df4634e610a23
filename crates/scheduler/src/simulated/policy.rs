//! Where decisions come from. A simulated scheduler asks its policy which process runs next and for how long; it does
//! not know whether a seed, a rule or a recording answers.

use std::fmt::Debug;

use atoll_process::held_back::Pair;
use atoll_process::{Failing, Priority, touches};
use atoll_term::Term;

/// Most reductions of a slice, as elsewhere: a process that does not stop by itself lets others run after these.
pub const LONGEST_SLICE: i64 = 4_000;
/// So many operations that no slice has them.
pub const ANY_OPERATIONS: i64 = i64::MAX;

/// A process that can run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The process.
    pub pid: Term,
    /// The priority that it waits with.
    pub priority: Priority,
}

/// Which process runs next, and when it lets others run at the latest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Its place among the candidates.
    pub index: usize,
    /// After so many operations that other processes can notice (see `runtime/operations.rs`), at least one.
    pub operations: i64,
    /// After so many reductions, at least one.
    pub reductions: i64,
}

/// What goes wrong in front of a decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fault {
    /// This process gets the exit signal `kill`.
    Kill(Term),
    /// Time passes until the next timer.
    Timeout,
}

/// A source of decisions.
pub trait Policy: Send + Debug {
    /// Chooses one of the processes that can run, which are in the order in which they became so. There is at least
    /// one. They have all the same priority, or priorities `normal` and `low`.
    fn choose(&mut self, ready: &[Candidate]) -> Choice;

    /// OTP has booted, and what the command line has it do begins.
    fn program_begins(&mut self) {}

    /// The process that was chosen last has carried out so many operations.
    fn ran(&mut self, operations: i64) {
        let _ = operations;
    }

    /// Whether [`Policy::touched`] is to be told.
    fn wants_touches(&self) -> bool {
        false
    }

    /// What the last turn touched.
    fn touched(&mut self, turn: &touches::Turn) {
        let _ = turn;
    }

    /// Whether the rest of this run is like that of another one, so that it can end.
    fn is_redundant(&self) -> bool {
        false
    }

    /// Whether signals may be late: whether [`Policy::is_late`] and [`Policy::arrives`] are to be asked.
    fn has_late(&self) -> bool {
        false
    }

    /// Whether the signal is late that a process sends another now, the `number`th that it sends. Not asked if an
    /// earlier one of the pair is late, which this one then stays behind.
    fn is_late(&mut self, pair: Pair, number: u64) -> bool {
        let _ = (pair, number);
        false
    }

    /// The pair whose first late signal arrives before the next decision, by its place; asked until there is none.
    /// `late` has those with the oldest signals first. If no process can run, the oldest arrives.
    fn arrives(&mut self, late: &[Pair]) -> Option<usize> {
        let _ = late;
        None
    }

    /// Whether [`Policy::fails`] is to be asked.
    fn may_fail(&self) -> bool {
        false
    }

    /// Whether something fails that this process does, and in which of so many ways; the `number`th such thing that it
    /// does.
    fn fails(&mut self, what: Failing, pid: Term, number: u64, ways: usize) -> Option<usize> {
        let _ = (what, pid, number, ways);
        None
    }

    /// Whether [`Policy::fault`] is to be asked.
    fn may_fault(&self) -> bool {
        false
    }

    /// What goes wrong before the next decision. `alive` are all processes, in the order of their pids.
    fn fault(&mut self, alive: &[Term]) -> Option<Fault> {
        let _ = alive;
        None
    }
}
