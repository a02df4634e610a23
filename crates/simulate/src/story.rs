//! The story of a run, as text: which process ran, what it did to others, and where it stood when it stopped.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use atoll_vm::simulation::{self, Stop};
use serde::{Deserialize, Serialize};

/// An event of a run: the number of the process in its pid, and what happened where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// The process.
    pub process: u64,
    /// What happened.
    pub what: What,
    /// Module, function and arity.
    pub function: Option<String>,
    /// File and line.
    pub line: Option<String>,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum What {
    /// The process begins to run, or goes on.
    Runs,
    /// It called a function that others can notice: the call, and the result.
    Calls(String, String),
    /// It sent a message: the receiver as the program names it, the process that this is, the message, and whether it
    /// is late.
    Sends(String, Option<u64>, String, bool),
    /// It took a message out of its mailbox.
    Takes(String),
    /// It could have gone on, and another process did.
    Interrupted,
    /// It waits for a message or a timeout.
    Waits,
    /// It has ended with this reason.
    Ends(String),
}

impl Event {
    pub(crate) fn of(event: simulation::Event) -> Event {
        let what = match event.what {
            simulation::What::Runs => What::Runs,
            simulation::What::Calls(call, result) => What::Calls(call, result),
            simulation::What::Sends(to, pid, message, is_late) => {
                What::Sends(to, pid.map(|pid| pid.immediate_data()), message, is_late)
            }
            simulation::What::Takes(message) => What::Takes(message),
            simulation::What::Stops(Stop::Interrupted) => What::Interrupted,
            simulation::What::Stops(Stop::Waits) => What::Waits,
            simulation::What::Ends(reason) => What::Ends(reason),
        };
        let (function, line) = event.place.map_or((None, None), |(function, line)| (Some(function), line));
        Event { process: event.pid.immediate_data(), what, function, line }
    }
}

/// Processes that the machine starts for output; they are left out. The next one runs `main/1`.
const SERVERS: u64 = 2;

/// The events that matter to a reader: without those of the machine's own processes and functions, and without stops of
/// a process that goes on at once.
pub(crate) fn told(events: &[Event]) -> Vec<&Event> {
    let mut told: Vec<&Event> = Vec::new();
    for event in events.iter().filter(|event| event.process >= SERVERS && !is_own(event)) {
        if event.what == What::Runs
            && let Some(last) = told.last()
            && last.process == event.process
            && last.what == What::Interrupted
        {
            told.pop();
            continue;
        }
        told.push(event);
    }
    told
}

/// Whether it is a call of a function that the machine has for itself.
fn is_own(event: &Event) -> bool {
    let own = |call: &str| call.starts_with("atoll_") && !call.starts_with("atoll_simulate:");
    matches!(&event.what, What::Calls(call, _) if own(call))
}

/// What a process is called: its pid, and the name that it registers or is registered with.
pub(crate) fn names(events: &[Event]) -> BTreeMap<u64, String> {
    let mut names = BTreeMap::new();
    names.insert(SERVERS, format!("<0.{SERVERS}.0> main/1"));
    for event in events {
        names.entry(event.process).or_insert_with(|| format!("<0.{}.0>", event.process));
        if let What::Calls(call, result) = &event.what
            && result == "true"
            && let Some((name, pid)) = call.strip_prefix("erlang:register(").and_then(|rest| rest.split_once(", "))
            && let Some(number) = pid.strip_prefix("<0.").and_then(|rest| rest.split('.').next()?.parse::<u64>().ok())
        {
            names.insert(number, format!("<0.{number}.0> {name}"));
        }
    }
    names
}

/// One event as a line, without the process.
pub(crate) fn line(event: &Event, names: &BTreeMap<u64, String>) -> String {
    let place = event.function.as_ref().map(|function| format!(", in {function}")).unwrap_or_default();
    match &event.what {
        What::Runs => format!("goes on{place}"),
        What::Calls(call, result) if result.is_empty() => call.clone(),
        What::Calls(call, result) => format!("{call} -> {result}"),
        What::Sends(to, pid, message, is_late) => {
            let name = pid.and_then(|pid| names.get(&pid)).map_or(to, |name| name);
            format!("sends {message} to {name}{}", if *is_late { ", which is late" } else { "" })
        }
        What::Takes(message) => format!("takes {message}"),
        What::Interrupted => format!("is interrupted{place}"),
        What::Waits => format!("waits{place}"),
        What::Ends(reason) => format!("has ended: {reason}"),
    }
}

/// Most lines of a story; those in the middle are left out.
const MOST_LINES: usize = 400;

/// The story as text.
pub fn text(events: &[Event]) -> String {
    let names = names(events);
    let mut lines = Vec::new();
    let (mut last, mut begun) = (None, BTreeSet::new());
    for event in told(events) {
        if last != Some(event.process) {
            lines.push(names.get(&event.process).cloned().unwrap_or_default());
            last = Some(event.process);
        }
        let begins = event.what == What::Runs && begun.insert(event.process);
        let text = if begins { "begins".to_owned() } else { line(event, &names) };
        lines.push(match &event.line {
            Some(place) if event.what != What::Runs => format!("    {text}   [{place}]"),
            _ => format!("    {text}"),
        });
    }
    let mut out = String::new();
    let left_out = lines.len().saturating_sub(MOST_LINES);
    for (index, line) in lines.iter().enumerate() {
        let is_left_out = left_out > 0 && (MOST_LINES / 2..MOST_LINES / 2 + left_out).contains(&index);
        if !is_left_out {
            let _ = writeln!(out, "{line}");
        } else if index == MOST_LINES / 2 {
            let _ = writeln!(out, "    ... {left_out} lines ...");
        }
    }
    out
}
