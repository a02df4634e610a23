//! One run, in a copy of this process of the operating system: a machine keeps its memory until its process ends, and
//! atoms and the like are the same in each copy, as if it were the first run.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use atoll_platform::copies::{Copied, copy};
use atoll_vm::simulation::{self, Beginning, Simulation, simulate, simulate_otp};
use atoll_vm::{Options, Program};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::stdio::{dup2_stderr, dup2_stdout};
use thiserror::Error;

use crate::order::Order;
use crate::outcome::{Failure, Outcome, Report};
use crate::recorded::Recorded;
use crate::story::Event;
use crate::touching::Touching;

/// Exit status of a run that could not begin.
const NOT_BEGUN: i32 = 1;

/// Why a run cannot be had.
#[derive(Debug, Error)]
pub enum Error {
    /// The system gives no process, file or thread.
    #[error("cannot start a run: {0}")]
    System(#[from] io::Error),
}

impl From<rustix::io::Errno> for Error {
    fn from(error: rustix::io::Errno) -> Error {
        Error::System(error.into())
    }
}

/// What is run.
#[derive(Debug)]
pub enum Subject {
    /// A program, and its arguments, as `atoll run` does it.
    Program(Program, Vec<String>),
    /// All of OTP, with the words of an `erl` command line, in a folder that is empty at first, if it needs one. Only
    /// one run goes on at a time then.
    Otp(Vec<OsString>, Option<PathBuf>),
}

impl Subject {
    /// Whether only one run may go on at a time.
    pub(crate) fn is_alone(&self) -> bool {
        matches!(self, Subject::Otp(_, Some(_)))
    }
}

/// What all runs have in common.
#[derive(Debug)]
pub struct Plan {
    /// Options of the machines.
    pub options: Options,
    /// What is run.
    pub subject: Subject,
    /// Most decisions of a run.
    pub limit: usize,
    /// Longest real time of a run.
    pub timeout: Duration,
    /// Whether a process may end by an error without that being a failure.
    pub may_crash: bool,
    /// Whether a run fails that wants something whose result nobody can repeat.
    pub strict: bool,
    /// From where the order given counts.
    pub beginning: Beginning,
}

/// What is wanted of a run beside its outcome.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wanted {
    /// Its decisions.
    pub schedule: bool,
    /// What processes did to each other.
    pub story: bool,
    /// That it prints where this process does, instead of keeping what it prints.
    pub shown: bool,
}

/// A run that goes on.
#[derive(Debug)]
pub struct Going {
    copy: Copied,
    ends: Instant,
    report: File,
    printed: [File; 2],
}

impl Plan {
    /// Starts a run.
    ///
    /// # Errors
    /// The system gives no process or file.
    pub fn start(&self, order: &Order, wanted: Wanted) -> Result<Going, Error> {
        if let Subject::Otp(_, Some(folder)) = &self.subject {
            match std::fs::remove_dir_all(folder) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
                _ => std::fs::create_dir_all(folder)?,
            }
        }
        let report = memory_file()?;
        let printed = [memory_file()?, memory_file()?];
        let work = || match self.work(order, wanted, &report, &printed) {
            Ok(status) => status,
            Err(error) => {
                eprintln!("atoll: {error}");
                NOT_BEGUN
            }
        };
        let copy = copy(work)?;
        Ok(Going { copy, ends: Instant::now() + self.timeout, report, printed })
    }

    /// A run from its start to its end.
    ///
    /// # Errors
    /// As [`Plan::start`].
    pub fn run(&self, order: &Order, wanted: Wanted) -> Result<Outcome, Error> {
        let going = self.start(order, wanted)?;
        while wait_for_any(&[&going])?.is_empty() {}
        going.end()
    }

    /// What the copy does.
    fn work(&self, order: &Order, wanted: Wanted, report: &File, printed: &[File; 2]) -> Result<i32, String> {
        let failed = |error: &dyn std::fmt::Display| error.to_string();
        if !wanted.shown {
            dup2_stdout(&printed[0]).map_err(|error| failed(&error))?;
            dup2_stderr(&printed[1]).map_err(|error| failed(&error))?;
        }
        let simulation = Simulation {
            policy: order.policy(),
            limit: self.limit,
            recorded: wanted.schedule,
            told: wanted.story,
            strict: self.strict,
            beginning: self.beginning,
        };
        let run = match &self.subject {
            Subject::Program(program, arguments) => simulate(&self.options, program, arguments, simulation),
            Subject::Otp(words, _) => simulate_otp(&self.options, words, simulation),
        };
        let run = run.map_err(|error| failed(&error))?;
        let kept = |failure: &simulation::Failure| match failure {
            simulation::Failure::Crash(_) if self.may_crash => None,
            simulation::Failure::Crash(what) => Some(Failure::Crash(what.clone())),
            simulation::Failure::Deadlock(places) => Some(Failure::Deadlock(places.clone())),
            simulation::Failure::Redundant => None,
            simulation::Failure::TooLong => Some(Failure::TooLong),
            simulation::Failure::Refused(what) => Some(Failure::Refused(what.clone())),
            simulation::Failure::Unmarked => Some(Failure::Unmarked),
            simulation::Failure::Assertion(what) => Some(Failure::Assertion(what.clone())),
        };
        let written = Report {
            status: run.status,
            failures: run.failures.iter().filter_map(kept).collect(),
            sometimes: run.sometimes,
            operations: run.operations,
            elapsed: run.elapsed,
            decisions: run.decisions.iter().map(Recorded::of).collect(),
            turns: run.turns.iter().map(Touching::of).collect(),
            is_redundant: run.failures.contains(&simulation::Failure::Redundant),
            story: run.story.into_iter().map(Event::of).collect(),
        };
        let text = serde_json::to_vec(&written).map_err(|error| failed(&error))?;
        (&*report).write_all(&text).map_err(|error| failed(&error))?;
        Ok(run.status)
    }
}

/// Waits until one of these runs has ended, or its time is over. Returns the places of those.
pub(crate) fn wait_for_any(all: &[&Going]) -> io::Result<Vec<usize>> {
    let ends = all.iter().map(|run| run.ends).min().unwrap_or_else(Instant::now);
    let left = ends.saturating_duration_since(Instant::now());
    let limit = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: i64::from(left.subsec_nanos()) };
    let mut polled: Vec<PollFd<'_>> = all.iter().map(|run| PollFd::new(*run, PollFlags::IN)).collect();
    match poll(&mut polled, Some(&limit)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => {}
        Err(error) => return Err(error.into()),
    }
    let now = Instant::now();
    let is_over = |index: &usize| !polled[*index].revents().is_empty() || all[*index].ends <= now;
    Ok((0..all.len()).filter(is_over).collect())
}

impl Going {
    /// The outcome of a run that is over; it is ended if it is not.
    pub(crate) fn end(self) -> Result<Outcome, Error> {
        let timed_out = Instant::now() >= self.ends;
        if timed_out {
            self.copy.kill();
        }
        let end = self.copy.wait()?;
        let report = serde_json::from_slice(&content(self.report)?).ok();
        let [stdout, stderr] = self.printed;
        let printed = [content(stdout)?, content(stderr)?];
        Ok(Outcome::new(end, timed_out && report.is_none(), report, printed))
    }
}

impl AsFd for Going {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.copy.as_fd()
    }
}

fn memory_file() -> io::Result<File> {
    Ok(memfd_create("run", MemfdFlags::CLOEXEC)?.into())
}

fn content(mut file: File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}
