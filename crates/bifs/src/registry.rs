//! Registered names, and what concerns all processes.

use atoll_process::{BuiltIn, Caller, Interrupt, NotRegistered, Outcome, RequestKind, System, badarg, tracing};
use atoll_term::atoms::known_atom;
use atoll_term::{Build, Term, View, atoms};

use crate::errors::error_with_cause;
use crate::process_info::request;

/// What this file provides.
pub const BUILT_INS: &[BuiltIn] = &[
    BuiltIn::new("erlang", "register", 2, register),
    BuiltIn::new("erlang", "unregister", 1, unregister),
    BuiltIn::new("erlang", "whereis", 1, whereis),
    BuiltIn::new("erlang", "registered", 0, registered),
    BuiltIn::new("erlang", "processes", 0, processes),
    BuiltIn::new("erts_internal", "processes_next", 1, processes_next),
    BuiltIn::new("erlang", "is_process_alive", 1, is_process_alive),
];

fn register(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let &[registered, target] = arguments else { return Err(badarg()) };
    let is_name = registered.is_atom() && registered != atoms::UNDEFINED;
    if !is_name || !(target.is_local_pid() || target.is_local_port()) {
        return Err(error_with_cause(caller, atoms::BADARG, atoms::NONE));
    }
    let system = System::get();
    match system.register(registered, target) {
        Ok(()) => {
            trace_name(caller, "register", registered, target);
            Ok(atoms::TRUE)
        }
        Err(NotRegistered::Taken) => Err(error_with_cause(caller, atoms::BADARG, known_atom("registered_name"))),
        Err(NotRegistered::NoProcess) => Err(error_with_cause(caller, atoms::BADARG, known_atom("notalive"))),
    }
}

fn unregister(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    if !arguments[0].is_atom() {
        return Err(badarg());
    }
    let pid = System::get().names.take(arguments[0]).ok_or_else(badarg)?;
    trace_name(caller, "unregister", arguments[0], pid);
    Ok(atoms::TRUE)
}

/// Tells the tracer of a process that gets or loses a name; only that of the caller itself, if that is the process.
fn trace_name(caller: &mut Caller<'_>, event: &str, name: Term, pid: Term) {
    if pid.is_local_port() {
        System::get().ports.get().into_iter().for_each(|ports| ports.trace_name(pid, event, name));
    }
    if caller.own.flags.traced() && pid == caller.process.pid {
        tracing::event(pid, caller.own, tracing::PROCS, event, &[name]);
    }
}

fn whereis(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    if !arguments[0].is_atom() {
        return Err(badarg());
    }
    Ok(System::get().whereis(arguments[0]).unwrap_or(atoms::UNDEFINED))
}

fn registered(caller: &mut Caller<'_>, _: &[Term]) -> Outcome {
    let names = System::get().names.all();
    Ok(caller.heap().list(names))
}

fn processes(caller: &mut Caller<'_>, _: &[Term]) -> Outcome {
    let pids = System::get().table.pids();
    Ok(caller.heap().list(pids))
}

/// Places of the table that are looked at in one call of `processes_next`.
const PLACES: usize = 1024;

/// `processes_next(Place)`: `{NextPlace, Pids}`, or `none` behind the last one.
fn processes_next(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let place = arguments[0].as_small().and_then(|place| usize::try_from(place).ok()).ok_or_else(badarg)?;
    let table = &System::get().table;
    if place > table.limit() {
        return Err(badarg());
    }
    if place == table.limit() {
        return Ok(atoms::NONE);
    }
    let mut pids = Vec::new();
    let next = table.each_from(place, PLACES, |process| pids.push(process.pid)).unwrap_or_else(|| table.limit());
    let heap = caller.heap();
    let pids = heap.list(pids);
    Ok(heap.tuple(&[Term::small(next as i64), pids]))
}

/// `is_process_alive(Pid)`: signals that the caller sent before count, so a process that has not acted on all of its is
/// asked. Messages that wait for it do not matter.
fn is_process_alive(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let pid = arguments[0];
    if !matches!(pid.view(), View::Pid(_)) {
        return Err(badarg());
    }
    if pid == caller.process.pid {
        return Ok(atoms::TRUE);
    }
    let system = System::get();
    let settled = system.table.with(pid, |process| !process.has_signals() && !system.held_back.is_late(pid));
    match settled {
        None => Ok(atoms::FALSE),
        Some(true) => Ok(atoms::TRUE),
        Some(false) => Err(ask_whether_alive(caller, pid)),
    }
}

fn ask_whether_alive(caller: &mut Caller<'_>, pid: Term) -> Interrupt {
    request(caller, pid, RequestKind::IsAlive, atoms::TRUE, ("atoll_internal", "await_alive"))
}
