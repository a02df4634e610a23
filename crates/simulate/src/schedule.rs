//! A schedule as text: which process ran, and for how many operations and reductions, as `3.4r120` for process 3, four
//! operations and 120 reductions; without `r` any number of those, with `*` any number of operations. `kill3` stands
//! where process 3 was killed, `timeout` where a timeout came early.
//!
//! Some words may stand anywhere. `late3.7`: of the signals that process 3 sends, the seventh is late, until it arrives
//! at `arrive3.4` with process 4, or when nothing else can happen. `io3.2.1`: of what process 3 does with files and
//! sockets, the second fails with the error of number 1 among those that it can have. `room3.2.0`: of the processes and
//! ports that it makes, the second finds no room.
//!
//! All are joined by `-`, which stands alone for nothing.

use std::fmt;
use std::str::FromStr;

use atoll_term::Term;
use atoll_vm::simulated::{ANY_OPERATIONS, Failing, Fault, Move, Turn};
use serde::{Deserialize, Serialize};

/// So many reductions that a process comes to its next operation, unless it never does.
pub const NO_LIMIT: i64 = 10_000_000;

/// What was decided in a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schedule(Vec<Step>);

/// One decision. Processes are numbers of pids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Step {
    /// A process runs: see [`Turn`].
    Turn {
        /// Which one.
        process: u64,
        /// For so many operations.
        operations: i64,
        /// For so many reductions.
        reductions: i64,
    },
    /// A process is killed.
    Kill(u64),
    /// Time passes until the next timer.
    Timeout,
    /// A signal is late: its sender, and its number among the signals that this one sends.
    Late(u64, u64),
    /// The first late signal of a sender and a receiver arrives.
    Arrive(u64, u64),
    /// An operation on a file or socket fails: the process, the number of the operation, the error's number.
    Io(u64, u64, u64),
    /// There is no room for a process or port: as [`Step::Io`].
    Room(u64, u64, u64),
}

impl Step {
    /// What a run has done.
    pub(crate) fn of(made: &Move) -> Step {
        match made {
            Move::Turn(Turn { pid, operations, reductions }) => {
                Step::Turn { process: pid.immediate_data(), operations: *operations, reductions: *reductions }
            }
            Move::Fault(Fault::Kill(pid)) => Step::Kill(pid.immediate_data()),
            Move::Fault(Fault::Timeout) => Step::Timeout,
            Move::Late(sender, number) => Step::Late(sender.immediate_data(), *number),
            Move::Fails(Failing::Io, pid, number, way) => Step::Io(pid.immediate_data(), *number, *way as u64),
            Move::Fails(Failing::Room, pid, number, way) => Step::Room(pid.immediate_data(), *number, *way as u64),
            Move::Arrives((from, to)) => Step::Arrive(from.immediate_data(), to.immediate_data()),
        }
    }

    fn to_move(self) -> Move {
        match self {
            Step::Turn { process, operations, reductions } => {
                Move::Turn(Turn { pid: Term::pid(process), operations, reductions })
            }
            Step::Kill(process) => Move::Fault(Fault::Kill(Term::pid(process))),
            Step::Timeout => Move::Fault(Fault::Timeout),
            Step::Late(sender, number) => Move::Late(Term::pid(sender), number),
            Step::Io(pid, number, way) => Move::Fails(Failing::Io, Term::pid(pid), number, way as usize),
            Step::Room(pid, number, way) => Move::Fails(Failing::Room, Term::pid(pid), number, way as usize),
            Step::Arrive(from, to) => Move::Arrives((Term::pid(from), Term::pid(to))),
        }
    }

    /// The process that runs.
    fn process(&self) -> Option<u64> {
        match self {
            Step::Turn { process, .. } => Some(*process),
            _ => None,
        }
    }
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

    pub(crate) fn moves(&self) -> impl Iterator<Item = Move> {
        self.0.iter().map(|step| step.to_move())
    }

    /// How often another process runs than before.
    pub fn switches(&self) -> usize {
        let running: Vec<u64> = self.0.iter().filter_map(Step::process).collect();
        running.windows(2).filter(|pair| pair[0] != pair[1]).count()
    }
}

impl fmt::Display for Step {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (process, operations, reductions) = match *self {
            Step::Turn { process, operations, reductions } => (process, operations, reductions),
            Step::Kill(process) => return write!(out, "kill{process}"),
            Step::Timeout => return write!(out, "timeout"),
            Step::Late(sender, number) => return write!(out, "late{sender}.{number}"),
            Step::Io(pid, number, way) => return write!(out, "io{pid}.{number}.{way}"),
            Step::Room(pid, number, way) => return write!(out, "room{pid}.{number}.{way}"),
            Step::Arrive(from, to) => return write!(out, "arrive{from}.{to}"),
        };
        match operations {
            ANY_OPERATIONS => write!(out, "{process}.*")?,
            operations => write!(out, "{process}.{operations}")?,
        }
        match reductions {
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
        if text == "timeout" {
            return Ok(Step::Timeout);
        }
        if let Some(process) = text.strip_prefix("kill") {
            return process.parse().map(Step::Kill).map_err(|_| wrong());
        }
        for (name, step) in [("io", Step::Io as fn(u64, u64, u64) -> Step), ("room", Step::Room)] {
            if let Some(numbers) = text.strip_prefix(name) {
                let numbers: Result<Vec<u64>, _> = numbers.split('.').map(str::parse).collect();
                let Ok([pid, number, way]) = numbers.as_deref() else { return Err(wrong()) };
                return Ok(step(*pid, *number, *way));
            }
        }
        for (name, step) in [("late", Step::Late as fn(u64, u64) -> Step), ("arrive", Step::Arrive)] {
            if let Some(numbers) = text.strip_prefix(name) {
                let (first, second) = numbers.split_once('.').ok_or_else(wrong)?;
                return Ok(step(first.parse().map_err(|_| wrong())?, second.parse().map_err(|_| wrong())?));
            }
        }
        let (process, rest) = text.split_once('.').ok_or_else(wrong)?;
        let (operations, reductions) = match rest.split_once('r') {
            Some((operations, reductions)) => (operations, reductions.parse().map_err(|_| wrong())?),
            None => (rest, NO_LIMIT),
        };
        let operations = if operations == "*" { ANY_OPERATIONS } else { operations.parse().map_err(|_| wrong())? };
        if operations < 1 || reductions < 1 {
            return Err(wrong());
        }
        Ok(Step::Turn { process: process.parse().map_err(|_| wrong())?, operations, reductions })
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
        let text = "late83.2-io83.2.1-room9.1.0-83.4r120-84.*-kill7-83.1-arrive83.84-timeout-84.*r7";
        let schedule: Schedule = text.parse().unwrap();
        assert_eq!((schedule.to_string(), schedule.switches()), (text.to_owned(), 3));
        assert_eq!("-".parse::<Schedule>().unwrap().to_string(), "-");
        for wrong in ["83", "kill", "83.", "x.1", "83.0", "83.1r0", "83.1r", "late3", "io3.1", "room3.1.x", "arrive3.x"]
        {
            assert!(wrong.parse::<Schedule>().is_err(), "{wrong}");
        }
    }
}
