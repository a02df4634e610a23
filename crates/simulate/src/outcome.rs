//! What a run did, and whether that is a failure.

use std::collections::BTreeMap;
use std::fmt;

use atoll_platform::copies::End;
use atoll_vm::simulation::Turn;
use serde::{Deserialize, Serialize};

use crate::recorded::{Recorded, exact, joined};
use crate::schedule::Schedule;
use crate::story::Event;
use crate::touching::Touching;

/// What went wrong in a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Failure {
    /// The exit status is not 0.
    Status(i32),
    /// A process ended by an error, or reported one.
    Crash(String),
    /// All processes wait for each other. Where they wait, one a line.
    Deadlock(String),
    /// It took more decisions than it may.
    TooLong,
    /// `atoll_simulate:always(Name, false)`
    Assertion(String),
    /// It asked for something that nobody can repeat, and was to be strict.
    Refused(String),
    /// The run was to begin with a mark that the program has not set.
    Unmarked,
    /// The machine itself was ended by a signal of this number.
    Signal(i32),
    /// It took longer than it may, in real time.
    TimedOut,
}

impl Failure {
    /// Whether the other one is of the same kind, as schedules are compared that may differ in details.
    pub fn is_like(&self, other: &Failure) -> bool {
        match (self, other) {
            (Failure::Assertion(one), Failure::Assertion(other)) => {
                let name = |text: &str| text.split(" in process").next().unwrap_or_default().to_owned();
                name(one) == name(other)
            }
            (one, other) => std::mem::discriminant(one) == std::mem::discriminant(other),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Status(status) => write!(out, "exit status {status}"),
            Failure::Crash(what) | Failure::Assertion(what) | Failure::Refused(what) => write!(out, "{what}"),
            Failure::Unmarked => write!(out, "--from-mark: it has not called atoll_simulate:begins()"),
            Failure::Deadlock(_) => write!(out, "deadlock"),
            Failure::TooLong => write!(out, "no end after as many decisions as allowed"),
            Failure::Signal(number) => write!(out, "the machine was killed by signal {number}"),
            Failure::TimedOut => write!(out, "no end after as much real time as allowed"),
        }
    }
}

/// What a run hands to the process that started it.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Report {
    pub(crate) status: i32,
    pub(crate) failures: Vec<Failure>,
    pub(crate) sometimes: BTreeMap<String, bool>,
    pub(crate) operations: i64,
    pub(crate) elapsed: i64,
    /// If they were asked for.
    pub(crate) decisions: Vec<Recorded>,
    /// If it was asked for.
    pub(crate) story: Vec<Event>,
    /// What turns touched, if the policy asks for it.
    pub(crate) turns: Vec<Touching>,
    /// It ended because another run of the search shows the rest.
    pub(crate) is_redundant: bool,
}

/// What one run did.
#[derive(Debug)]
pub struct Outcome {
    /// Exit status.
    pub status: i32,
    /// What went wrong, the first first.
    pub failures: Vec<Failure>,
    /// Names in `atoll_simulate:sometimes/2`, and whether one of their values was true.
    pub sometimes: BTreeMap<String, bool>,
    /// Operations that other processes could notice.
    pub operations: i64,
    /// Nanoseconds by the clock of the machine.
    pub elapsed: i64,
    /// The decisions, if they were asked for.
    pub(crate) decisions: Vec<Recorded>,
    /// What turns touched, if the policy asks for it.
    pub turns: Vec<Turn>,
    /// It ended because another run of the search shows the rest.
    pub is_redundant: bool,
    /// What processes did to each other, if that was asked for.
    pub story: Vec<Event>,
    /// What it printed, if that was kept.
    pub stdout: Vec<u8>,
    /// What it printed to standard error, if that was kept.
    pub stderr: Vec<u8>,
}

impl Outcome {
    /// The decisions, if they were asked for.
    pub fn schedule(&self) -> Option<Schedule> {
        (!self.decisions.is_empty()).then(|| exact(&self.decisions))
    }

    /// The same in few words: turns of a process behind each other are one.
    pub fn short_schedule(&self) -> Option<Schedule> {
        (!self.decisions.is_empty()).then(|| joined(&self.decisions))
    }

    pub(crate) fn new(end: End, timed_out: bool, report: Option<Report>, printed: [Vec<u8>; 2]) -> Outcome {
        let is_whole = report.is_some();
        let report = report.unwrap_or_default();
        let mut failures = report.failures;
        let status = match end {
            _ if timed_out => {
                failures.push(Failure::TimedOut);
                1
            }
            End::Signalled(signal) => {
                failures.push(Failure::Signal(signal));
                128 + signal
            }
            End::Exited(status) => {
                if is_whole {
                    report.status
                } else {
                    status
                }
            }
        };
        if status != 0 && failures.is_empty() {
            failures.push(Failure::Status(status));
        }
        let [stdout, stderr] = printed;
        Outcome {
            status,
            failures,
            sometimes: report.sometimes,
            operations: report.operations,
            elapsed: report.elapsed,
            decisions: report.decisions,
            turns: report.turns.iter().map(Touching::turn).collect(),
            is_redundant: report.is_redundant,
            story: report.story,
            stdout,
            stderr,
        }
    }
}
