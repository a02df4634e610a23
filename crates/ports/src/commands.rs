//! What processes ask ports to do by functions. Each returns what the function of the same name in `erlang` expects:
//! a result, or the atom of the error that it raises.

use atoll_code::Resolver;
use atoll_etf::{DecodeOptions, EncodeOptions, decode, encode};
use atoll_heap::{Message, Stored};
use atoll_operations::iolist::iolist_bytes;
use atoll_operations::list::elements;
use atoll_process::{BuiltIn, Caller, Interrupt, Outcome, Signal, System, sequence, signal, tracing, watch};
use atoll_term::atoms::known_atom;
use atoll_term::{Build, ScratchHeap, Term, atoms, this_node};

use crate::driver;
use crate::framing::framed;
use crate::port::Port;
use crate::table::find_or_name;

/// What this file provides.
pub const BUILT_INS: &[BuiltIn] = &[
    BuiltIn::new("erts_internal", "port_command", 3, port_command),
    BuiltIn::new("erts_internal", "port_control", 3, port_control),
    BuiltIn::new("erts_internal", "port_call", 3, port_call),
    BuiltIn::new("erts_internal", "port_close", 1, port_close),
    BuiltIn::new("erts_internal", "port_connect", 2, port_connect),
    BuiltIn::new("erlang", "port_set_data", 2, port_set_data),
    BuiltIn::new("erlang", "port_get_data", 1, port_get_data),
];

/// What came of a command.
enum Command {
    Done,
    Busy,
    Refused,
    NotForced,
}

/// Writes data to a port, with the head that its framing asks for.
pub fn write(port: &Port, caller: Term, data: Vec<u8>) -> bool {
    port.with(|port, state, driver| {
        state.caller = caller;
        let length = data.len();
        let Some(data) = framed(port.settings.framing, data) else {
            port.end_with(state, driver, rustix::io::Errno::INVAL);
            return true;
        };
        state.sent(length);
        if let Err(error) = driver.output(port, state, data) {
            port.end_with(state, driver, error);
        }
        true
    })
    .unwrap_or(false)
}

/// Whether a port has enough to write. If the process may be suspended, it is in the list of those that wait then, and
/// the system monitor hears of it.
pub fn is_busy(port: &Port, process: Term, suspends: bool) -> bool {
    let is_busy = port.with(|_, state, driver| {
        let is_busy = driver.takes_output() && !state.closing && driver.is_busy();
        if is_busy && suspends {
            state.suspended.push(process);
        }
        is_busy
    });
    let is_busy = is_busy.unwrap_or(false);
    if is_busy && suspends {
        tell_busy(port, process);
    }
    is_busy
}

/// Tells the system monitor that a process waits for a port.
fn tell_busy(port: &Port, process: Term) {
    if let Some(watch) = watch::watch().filter(|watch| watch.busy_port && watch.pid != process) {
        let message =
            Message::compose(|heap| heap.tuple(&[known_atom("monitor"), process, known_atom("busy_port"), port.id]));
        System::get().deliver_or_answer(watch.pid, sequence::neutral(message));
    }
}

/// `port_command(Port, Data, [force | nosuspend])`
fn port_command(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let (mut force, mut suspend) = (false, true);
    for option in elements(arguments[2]).unwrap_or_else(|| vec![Term::NIL]) {
        match option {
            _ if option == known_atom("force") => force = true,
            atoms::NOSUSPEND => suspend = false,
            _ => return Ok(atoms::BADARG),
        }
    }
    let Some(port) = find_or_name(arguments[0]) else { return Ok(atoms::BADARG) };
    let Ok(data) = iolist_bytes(arguments[1]) else { return Ok(atoms::BADARG) };
    caller.reductions -= data.len() as i64 / 100;
    let me = caller.process.pid;
    let done = port.with(|port, state, driver| {
        if !driver.takes_output() || state.closing {
            return Command::Refused;
        }
        if force && !driver.can_be_forced() {
            return Command::NotForced;
        }
        if driver.is_busy() && !force {
            if suspend {
                state.suspended.push(me);
            }
            return Command::Busy;
        }
        port.trace_data(me, &data);
        Command::Done
    });
    match done {
        Some(Command::Done) => Ok(if write(&port, me, data) { atoms::TRUE } else { atoms::BADARG }),
        Some(Command::Busy) if suspend => {
            // The signal that ends this is acted on by this process alone, so it cannot come too early.
            caller.own.rare().suspended += 1;
            tell_busy(&port, me);
            Err(Interrupt::Wait(arguments.to_vec()))
        }
        Some(Command::Busy) => Ok(atoms::FALSE),
        Some(Command::NotForced) => Ok(known_atom("notsup")),
        Some(Command::Refused) | None => Ok(atoms::BADARG),
    }
}

/// `{Kind, What}`: how a trace message names what `control` or `call` gets, or answers.
fn traced_as(kind: &str, heap: &mut ScratchHeap, what: impl Fn(&mut ScratchHeap) -> Term) -> Term {
    let what = what(heap);
    heap.tuple(&[known_atom(kind), what])
}

/// A process has called the port with an operation and bytes.
fn trace_asked(port: &Port, by: Term, kind: &str, operation: u32, bytes: &[u8]) {
    port.trace_command(by, |heap| {
        traced_as(kind, heap, |heap| {
            let (operation, bytes) = (Term::small(operation.into()), heap.binary(bytes));
            heap.tuple(&[operation, bytes])
        })
    });
}

/// The port has answered such a call.
fn trace_answered(port: &Port, by: Term, kind: &str, bytes: &[u8]) {
    port.trace(tracing::SEND, "send", |heap| {
        let answer = traced_as(kind, heap, |heap| heap.binary(bytes));
        [heap.tuple(&[port.id, answer]), by]
    });
}

/// `port_control(Port, Operation, Data)`
fn port_control(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let operation = arguments[1].as_small().and_then(|operation| u32::try_from(operation).ok());
    let (Some(port), Some(operation)) = (find_or_name(arguments[0]), operation) else { return Ok(atoms::BADARG) };
    let Ok(data) = iolist_bytes(arguments[2]) else { return Ok(atoms::BADARG) };
    let me = caller.process.pid;
    let answer = port.with(|port, state, driver| {
        state.caller = me;
        trace_asked(port, me, "control", operation, &data);
        let answer = driver.control(port, state, operation, &data);
        if let Ok(bytes) = &answer {
            trace_answered(port, me, "control", bytes);
        }
        answer.map(|answer| (answer, driver.answers_in_binaries()))
    });
    Ok(match answer {
        Some(Ok((bytes, true))) => caller.heap().binary(&bytes),
        Some(Ok((bytes, false))) => caller.heap().list(bytes.iter().map(|byte| Term::small(i64::from(*byte)))),
        Some(Err(failure)) => driver::reason(failure),
        None => atoms::BADARG,
    })
}

/// `port_call(Port, Operation, Term)`: `{ok, Term}`
fn port_call(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let operation = arguments[1].as_small().and_then(|operation| u32::try_from(operation).ok());
    let (Some(port), Some(operation)) = (find_or_name(arguments[0]), operation) else { return Ok(atoms::BADARG) };
    let Ok(term) = encode(arguments[2], EncodeOptions::default(), this_node()) else { return Ok(atoms::BADARG) };
    let me = caller.process.pid;
    let answer = port.with(|port, state, driver| {
        state.caller = me;
        trace_asked(port, me, "call", operation, &term);
        let answer = driver.call(port, state, operation, &term);
        if let Ok(bytes) = &answer {
            trace_answered(port, me, "call", bytes);
        }
        answer
    });
    let Some(Ok(bytes)) = answer else { return Ok(atoms::BADARG) };
    let heap = caller.heap();
    match decode(&bytes, DecodeOptions::default(), &mut Resolver, heap) {
        Ok((term, _)) => Ok(heap.tuple(&[atoms::OK, term])),
        Err(_) => Ok(atoms::BADARG),
    }
}

/// `port_close(Port)`
fn port_close(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let Some(port) = find_or_name(arguments[0]) else { return Ok(atoms::BADARG) };
    port.trace_command(caller.process.pid, |_| known_atom("close"));
    port.close();
    Ok(atoms::TRUE)
}

/// `port_connect(Port, Pid)`: the new owner is linked, the old one stays so.
fn port_connect(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let Some(port) = find_or_name(arguments[0]) else { return Ok(atoms::BADARG) };
    let me = caller.process.pid;
    let done = arguments[1].is_local_pid() && connect(&port, me, arguments[1]);
    if done {
        port.trace(tracing::SEND, "send", |heap| [heap.tuple(&[port.id, known_atom("connected")]), me]);
    }
    Ok(if done { atoms::TRUE } else { atoms::BADARG })
}

/// Makes a process the owner, if it lives; another has asked for it.
pub fn connect(port: &Port, by: Term, pid: Term) -> bool {
    if System::get().deliver_from_outside(pid, signal::bare(Signal::Link { from: port.id })).is_err() {
        return false;
    }
    let connected = port.with(|port, state, _| {
        if !state.links.contains(&pid) {
            state.links.push(pid);
            port.trace(tracing::PORTS, "getting_linked", |_| [pid]);
        }
        port.trace_command(by, |heap| heap.tuple(&[known_atom("connect"), pid]));
        port.set_connected(state, pid);
    });
    connected.is_some()
}

/// `port_set_data(Port, Term)`
fn port_set_data(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let stored = Stored::new(caller.heap(), arguments[1]);
    match find_or_name(arguments[0]).and_then(|port| port.with(|_, state, _| state.data = Some(stored))) {
        Some(()) => Ok(atoms::TRUE),
        None => Err(atoll_operations::Exception::badarg().into()),
    }
}

/// `port_get_data(Port)`
fn port_get_data(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let heap = caller.heap();
    let data = find_or_name(arguments[0])
        .and_then(|port| port.with(|_, state, _| state.data.as_ref().map(|stored| stored.fetch(heap))));
    match data {
        Some(data) => Ok(data.unwrap_or(atoms::UNDEFINED)),
        None => Err(atoll_operations::Exception::badarg().into()),
    }
}
