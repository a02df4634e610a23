//! A schedule as text: which process ran, and for how many operations and reductions, as `3.4r120` for process 3, four
//! operations and 120 reductions; without `r` any number of those, with `*` any number of operations. Turns are joined
//! by `-`, which stands alone for no turns.

use std::fmt;
use std::str::FromStr;

use atoll_term::Term;
use atoll_vm::simulated::{ANY_OPERATIONS, Turn};

/// So many reductions that a process comes to its next operation, unless it never does.
pub const NO_LIMIT: i64 = 10_000_000;

/// The decisions of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schedule(Vec<Step>);

/// One decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Step {
    /// The number in the process's pid.
    pub process: u64,
    /// See [`Turn`].
    pub operations: i64,
    /// See [`Turn`].
    pub reductions: i64,
}

impl Schedule {
    /// The decisions, in their order.
    pub fn steps(&self) -> &[Step] {
        &self.0
    }

    /// Of these decisions.
    pub fn of(steps: Vec<Step>) -> Schedule {
        Schedule(steps)
    }

    pub(crate) fn turns(&self) -> impl Iterator<Item = Turn> {
        self.0.iter().map(|step| Turn {
            pid: Term::pid(step.process),
            operations: step.operations,
            reductions: step.reductions,
        })
    }

    /// How often another process runs than before.
    pub fn switches(&self) -> usize {
        self.0.windows(2).filter(|pair| pair[0].process != pair[1].process).count()
    }
}

impl fmt::Display for Step {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.operations {
            ANY_OPERATIONS => write!(out, "{}.*", self.process)?,
            operations => write!(out, "{}.{operations}", self.process)?,
        }
        match self.reductions {
            NO_LIMIT => Ok(()),
            reductions => write!(out, "r{reductions}"),
        }
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return write!(out, "-");
        }
        for (index, step) in self.0.iter().enumerate() {
            write!(out, "{}{step}", if index > 0 { "-" } else { "" })?;
        }
        Ok(())
    }
}

impl FromStr for Step {
    type Err = String;

    fn from_str(text: &str) -> Result<Step, String> {
        let wrong = || format!("{text}: a turn is PROCESS.OPERATIONS or PROCESS.OPERATIONSrREDUCTIONS");
        let (process, rest) = text.split_once('.').ok_or_else(wrong)?;
        let (operations, reductions) = match rest.split_once('r') {
            Some((operations, reductions)) => (operations, reductions.parse().map_err(|_| wrong())?),
            None => (rest, NO_LIMIT),
        };
        let operations = if operations == "*" { ANY_OPERATIONS } else { operations.parse().map_err(|_| wrong())? };
        if operations < 1 || reductions < 1 {
            return Err(wrong());
        }
        Ok(Step { process: process.parse().map_err(|_| wrong())?, operations, reductions })
    }
}

impl FromStr for Schedule {
    type Err = String;

    fn from_str(text: &str) -> Result<Schedule, String> {
        let words = text.split('-').filter(|word| !word.is_empty());
        words.map(str::parse).collect::<Result<Vec<Step>, String>>().map(Schedule)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schedule_is_read_as_it_is_written() {
        let text = "83.4r120-84.*-83.1-84.*r7";
        let schedule: Schedule = text.parse().unwrap();
        assert_eq!((schedule.to_string(), schedule.switches()), (text.to_owned(), 3));
        assert_eq!("-".parse::<Schedule>().unwrap().to_string(), "-");
        for wrong in ["83", "83.", "x.1", "83.0", "83.1r0", "83.1r"] {
            assert!(wrong.parse::<Schedule>().is_err(), "{wrong}");
        }
    }
}
