//! Module `atoll`: priorities as numbers, and deadlines (Feeley 2001, section 3). `--scheduler deadline` orders run
//! queues by them; with `--scheduler levels` a priority counts as the level that it reaches.

use atoll_process::{BuiltIn, Caller, Outcome, Process, System, Urgency, badarg};
use atoll_term::atoms::known_atom;
use atoll_term::{Build, Term};

/// What this file provides.
pub const BUILT_INS: &[BuiltIn] = &[
    BuiltIn::new("atoll", "process_priority", 1, priority),
    BuiltIn::new("atoll", "process_priority", 2, set_priority),
    BuiltIn::new("atoll", "deadline", 1, deadline),
    BuiltIn::new("atoll", "deadline", 2, set_deadline),
];

/// Calls `use_it` with a living local process.
fn with<R>(caller: &Caller<'_>, pid: Term, use_it: impl FnOnce(&Process) -> R) -> Result<R, atoll_process::Interrupt> {
    if pid == caller.process.pid {
        return Ok(use_it(caller.process));
    }
    System::get().table.with(pid, use_it).ok_or_else(badarg)
}

/// `atoll:process_priority(Pid)`: a float.
fn priority(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let urgency = with(caller, arguments[0], Process::urgency)?;
    Ok(caller.heap().float(urgency.priority))
}

/// `atoll:process_priority(Pid, Number)`: the old one. The higher comes first.
fn set_priority(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let &[pid, new] = arguments else { return Err(badarg()) };
    let integer = new.as_small().map(|integer| integer as f64);
    let priority = integer.or_else(|| new.as_float()).filter(|number| number.is_finite()).ok_or_else(badarg)?;
    let old = with(caller, pid, |process| process.set_urgency(Urgency { priority, ..process.urgency() }))?;
    Ok(caller.heap().float(old.priority))
}

/// A deadline as a term.
fn time(caller: &mut Caller<'_>, deadline: i64) -> Term {
    if deadline == Urgency::NEVER { known_atom("infinity") } else { caller.heap().integer(deadline) }
}

/// `atoll:deadline(Pid)`: a time as of `erlang:monotonic_time()`, or `infinity`.
fn deadline(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let urgency = with(caller, arguments[0], Process::urgency)?;
    Ok(time(caller, urgency.deadline))
}

/// `atoll:deadline(Pid, Time)`: the old one. Of equal priorities the earlier deadline comes first.
fn set_deadline(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let &[pid, new] = arguments else { return Err(badarg()) };
    let deadline = if new == known_atom("infinity") { Urgency::NEVER } else { new.to_i64().ok_or_else(badarg)? };
    let old = with(caller, pid, |process| process.set_urgency(Urgency { deadline, ..process.urgency() }))?;
    Ok(time(caller, old.deadline))
}
