//! Which policy decides, by its name on the command line.

use std::fmt;
use std::str::FromStr;

use atoll_term::Term;
use atoll_vm::simulated::{Delays, Faulty, Guided, Pct, Policy, RandomWalk, Rates, Replay, RoundRobin, Touched};

use crate::schedule::Schedule;

/// Depth of the bugs that `pct` looks for if no other is given.
const DEPTH: u32 = 3;
/// Delays of `exhaustive:`, without a number behind the colon.
const DELAYS: u32 = 2;
/// The number of the first processes of a machine, which are never killed: those for output, and the one that runs
/// `main/1`.
const SPARED: u64 = 3;

/// What goes wrong beside, by its name on the command line: `kill:RATE:FIRST`, `timeout:RATE`, `delay:RATE`,
/// `io:RATE`, `alloc:RATE`, with a comma between them; numbers may be left out. A kill or a timeout comes at one of
/// `RATE` decisions, a delay with one of `RATE` signals, an error with one of `RATE` operations on files and sockets;
/// processes with lower pids than `FIRST` are not killed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faults(Rates);

/// A fault comes at one of so many decisions if no other number is given.
const RATE: u64 = 50;
/// One of so many signals is delayed if no other number is given.
const DELAYED: u64 = 4;
/// One of so many operations on files and sockets fails if no other number is given.
const FAILING: u64 = 10;

impl FromStr for Faults {
    type Err = String;

    fn from_str(text: &str) -> Result<Faults, String> {
        let mut rates = Rates { spared: SPARED, ..Rates::default() };
        for word in text.split(',') {
            let mut parts = word.split(':');
            let kind = parts.next().unwrap_or_default();
            let mut number = |least: u64, otherwise: u64| match parts.next().map(str::parse) {
                None => Ok(otherwise),
                Some(Ok(number)) if number >= least => Ok(number),
                Some(_) => Err(format!("{word}: numbers are wanted behind the colons, a rate from 1 on")),
            };
            match kind {
                "kill" => (rates.kill, rates.spared) = (number(1, RATE)?, number(SPARED, SPARED)?),
                "timeout" => rates.timeout = number(1, RATE)?,
                "delay" => rates.delay = number(1, DELAYED)?,
                "io" => rates.io = number(1, FAILING)?,
                "alloc" => rates.alloc = number(1, RATE)?,
                _ => {
                    let all = "kill:RATE:FIRST, timeout:RATE, delay:RATE, io:RATE and alloc:RATE";
                    return Err(format!("{word}: the faults are {all}"));
                }
            }
            if let Some(rest) = parts.next() {
                return Err(format!("{word}: {rest} is too much"));
            }
        }
        Ok(Faults(rates))
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Rates { kill, spared, timeout, delay, io, alloc } = self.0;
        let kill = (kill > 0).then(|| format!("kill:{kill}:{spared}"));
        let others = [("timeout", timeout), ("delay", delay), ("io", io), ("alloc", alloc)];
        let others = others.into_iter().filter(|(_, rate)| *rate > 0).map(|(name, rate)| format!("{name}:{rate}"));
        let words: Vec<String> = kill.into_iter().chain(others).collect();
        write!(out, "{}", words.join(","))
    }
}

/// A kind of policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PolicyKind {
    /// `random`: see [`RandomWalk`].
    Random,
    /// `random:prompt`: the same, with signals that arrive when they are sent.
    Prompt,
    /// `pct:DEPTH:STEPS`: see [`Pct`]. Without steps, those of a run under `round-robin` are taken.
    Pct {
        /// The number of ordered events that a bug needs.
        depth: u32,
        /// The operations of a run, about.
        steps: Option<u64>,
    },
    /// `round-robin`: see [`RoundRobin`].
    RoundRobin,
    /// `exhaustive`: all schedules, without those that differ only in the order of turns that do not depend on each
    /// other, see [`crate::Reduced`].
    Reduced,
    /// `exhaustive:DELAYS`: all schedules with so many delays at most, see [`Delays`].
    Exhaustive(u32),
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
            "random" if text == "random:prompt" => return Ok(PolicyKind::Prompt),
            "random" => PolicyKind::Random,
            "round-robin" => PolicyKind::RoundRobin,
            "exhaustive" if text == "exhaustive" => PolicyKind::Reduced,
            "exhaustive" => PolicyKind::Exhaustive(number("the number of delays")?.unwrap_or(DELAYS)),
            "pct" => PolicyKind::Pct {
                depth: number("the depth of pct")?.unwrap_or(DEPTH),
                steps: number("the number of steps of pct")?.map(u64::from),
            },
            _ => {
                return Err("the policies are random, random:prompt, pct, pct:DEPTH, pct:DEPTH:STEPS, round-robin, \
                            exhaustive and exhaustive:DELAYS"
                    .to_owned());
            }
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
            PolicyKind::Prompt => write!(out, "random:prompt"),
            PolicyKind::RoundRobin => write!(out, "round-robin"),
            PolicyKind::Reduced => write!(out, "exhaustive"),
            PolicyKind::Exhaustive(delays) => write!(out, "exhaustive:{delays}"),
            PolicyKind::Pct { depth, steps: None } => write!(out, "pct:{depth}"),
            PolicyKind::Pct { depth, steps: Some(steps) } => write!(out, "pct:{depth}:{steps}"),
        }
    }
}

/// Where the decisions of one run come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// A policy, its seed, and what goes wrong.
    Seed(PolicyKind, u64, Faults),
    /// Delays: see [`Delays`].
    Delays(Vec<(usize, usize)>),
    /// Turns of these processes, then any; and what the next turns of some processes would touch, which need not come
    /// then: see [`Guided`].
    Turns(Vec<u64>, Vec<(u64, Touched)>),
    /// Decisions of another run.
    Given(Schedule),
}

impl Order {
    /// What makes the decisions.
    pub(crate) fn policy(&self) -> Box<dyn Policy> {
        let (kind, seed, faults) = match self {
            Order::Seed(kind, seed, faults) => (*kind, *seed, faults.0),
            Order::Turns(first, asleep) => {
                return Box::new(Guided::new(first.iter().map(|pid| Term::pid(*pid)), pids(asleep)));
            }
            Order::Delays(delays) => return Box::new(Delays::new(delays.iter().copied())),
            Order::Given(schedule) => return Box::new(Replay::new(schedule.moves())),
        };
        let policy: Box<dyn Policy> = match kind {
            // Their number is given.
            PolicyKind::Random if faults.delay > 0 => Box::new(RandomWalk::prompt(seed)),
            PolicyKind::Random => Box::new(RandomWalk::new(seed)),
            PolicyKind::Prompt => Box::new(RandomWalk::prompt(seed)),
            PolicyKind::RoundRobin => Box::new(RoundRobin::default()),
            PolicyKind::Pct { depth, steps } => Box::new(Pct::new(seed, depth, steps.unwrap_or(1))),
            PolicyKind::Exhaustive(_) | PolicyKind::Reduced => Box::new(Delays::new([])),
        };
        if faults.are_none() { policy } else { Box::new(Faulty::new(policy, seed, faults)) }
    }
}

/// As options of the command line.
impl fmt::Display for Order {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Order::Seed(policy, seed, faults) => {
                if *policy != PolicyKind::Random {
                    write!(out, "--policy {policy} ")?;
                }
                if *faults != Faults::default() {
                    write!(out, "--faults {faults} ")?;
                }
                write!(out, "--seed {seed}")
            }
            // Such an order is told by the decisions of its run.
            Order::Delays(delays) => write!(out, "{} delays", delays.iter().map(|(_, passed)| passed).sum::<usize>()),
            Order::Turns(first, _) => write!(out, "other turns from the {}th on", first.len()),
            Order::Given(schedule) => write!(out, "--schedule {schedule}"),
        }
    }
}

/// The pids of a list, for a policy.
fn pids(asleep: &[(u64, Touched)]) -> Vec<(Term, Touched)> {
    asleep.iter().map(|(pid, touched)| (Term::pid(*pid), touched.clone())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_are_read_as_they_are_written() {
        for text in ["random", "random:prompt", "round-robin", "pct:3", "pct:2:500", "exhaustive:1", "exhaustive"] {
            assert_eq!(text.parse::<PolicyKind>().unwrap().to_string(), text);
        }
        assert_eq!("pct".parse::<PolicyKind>().unwrap().to_string(), "pct:3");
        for text in ["kill:50:3", "kill:7:4,timeout:9", "timeout:9,delay:3,io:4,alloc:8"] {
            assert_eq!(text.parse::<Faults>().unwrap().to_string(), text);
        }
        for wrong in ["", "kill:0", "kill:5:1", "kill:5:9:1", "timeout:x", "delay:0", "flood"] {
            assert!(wrong.parse::<Faults>().is_err(), "{wrong}");
        }
        for wrong in ["", "pct:0", "pct:x", "random:1", "random:prompt:1", "pct:1:2:3", "dfs"] {
            assert!(wrong.parse::<PolicyKind>().is_err(), "{wrong}");
        }
    }
}
