//! Timers that send messages.

use atoll_heap::architecture;
use atoll_operations::guards::as_boolean;
use atoll_operations::list;
use atoll_platform::clock;
use atoll_process::{BuiltIn, Caller, Outcome, ReferenceId, System, badarg};
use atoll_term::atoms::known_atom;
use atoll_term::{Build, Term, atoms};

use crate::errors::{badopt, error_with_cause};

/// What this file provides.
pub const BUILT_INS: &[BuiltIn] = &[
    BuiltIn::new("erlang", "send_after", 3, send_after),
    BuiltIn::new("erlang", "send_after", 4, send_after),
    BuiltIn::new("erlang", "start_timer", 3, start_timer),
    BuiltIn::new("erlang", "start_timer", 4, start_timer),
    BuiltIn::new("erlang", "cancel_timer", 1, cancel_timer),
    BuiltIn::new("erlang", "cancel_timer", 2, cancel_timer),
    BuiltIn::new("erlang", "read_timer", 1, read_timer),
    BuiltIn::new("erlang", "read_timer", 2, read_timer),
];

/// Nanoseconds in a millisecond.
const MILLISECOND: i64 = 1_000_000;

fn send_after(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    start(caller, arguments, false)
}

fn start_timer(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    start(caller, arguments, true)
}

/// Time, destination, message, and perhaps options. `wrapped`: the message is `{timeout, Reference, Message}`.
fn start(caller: &mut Caller<'_>, arguments: &[Term], wrapped: bool) -> Outcome {
    let (time, destination, message) = (arguments[0], arguments[1], arguments[2]);
    let mut absolute = false;
    let Some(options) = list::elements(arguments.get(3).copied().unwrap_or(Term::NIL)) else {
        return Err(badopt(caller));
    };
    for option in options {
        match option.tuple_elements() {
            Some(&[atoms::ABS, value]) if as_boolean(value).is_some() => absolute = value == atoms::TRUE,
            _ => return Err(badopt(caller)),
        }
    }
    if !destination.is_local_pid() && !destination.is_atom() {
        return Err(badarg());
    }
    let start = if absolute { 0 } else { clock::now() };
    let milliseconds = time.as_small().filter(|time| absolute || *time >= 0);
    let distance = milliseconds.and_then(|milliseconds| milliseconds.checked_mul(MILLISECOND));
    let Some(due) = distance.and_then(|distance| start.checked_add(distance)) else {
        return Err(error_with_cause(caller, atoms::BADARG, known_atom("time")));
    };
    let reference = ReferenceId::fresh();
    let heap = caller.heap();
    let reference_term = reference.term(heap);
    let message = if wrapped { heap.tuple(&[atoms::TIMEOUT, reference_term, message]) } else { message };
    let fragment = architecture().send(heap, message);
    System::get().send_at(due, destination, fragment, reference);
    Ok(reference_term)
}

/// Whether the result comes as a message, and whether there is one at all.
fn answer_options(options: Option<&Term>, may_be_silent: bool) -> Option<(bool, bool)> {
    let (mut asynchronous, mut told) = (false, true);
    for option in list::elements(options.copied().unwrap_or(Term::NIL))? {
        match *option.tuple_elements()? {
            [atoms::ASYNC, value] => asynchronous = as_boolean(value)?,
            [atoms::INFO, value] if may_be_silent => told = as_boolean(value)?,
            _ => return None,
        }
    }
    Some((asynchronous, told))
}

/// Gives a result to the caller, now or as the message `{Kind, Reference, Result}`.
fn give(caller: &mut Caller<'_>, kind: &str, reference: Term, due: Option<i64>, how: (bool, bool)) -> Outcome {
    let left = due.map(|due| (due - clock::now()).max(0));
    // Rounded up: a timer that has not come has some time left.
    let result = left.map_or(atoms::FALSE, |left| Term::small((left + MILLISECOND - 1) / MILLISECOND));
    match how {
        (false, true) => Ok(result),
        (_, false) => Ok(atoms::OK),
        (true, true) => {
            let me = caller.process.pid;
            let message = caller.heap().tuple(&[known_atom(kind), reference, result]);
            atoll_process::send::send(me, caller.own, me, message)?;
            Ok(atoms::OK)
        }
    }
}

fn cancel_timer(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let how = answer_options(arguments.get(1), true).ok_or_else(badarg)?;
    if !arguments[0].is_reference() {
        return Err(badarg());
    }
    let cancelled = ReferenceId::of(arguments[0]).and_then(|id| System::get().timers.cancel_reference(id));
    let due = cancelled.map(|(due, _)| due);
    give(caller, "cancel_timer", arguments[0], due, how)
}

fn read_timer(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let how = answer_options(arguments.get(1), false).ok_or_else(badarg)?;
    if !arguments[0].is_reference() {
        return Err(badarg());
    }
    let due = ReferenceId::of(arguments[0]).and_then(|id| System::get().timers.time_of_reference(id));
    give(caller, "read_timer", arguments[0], due, how)
}
