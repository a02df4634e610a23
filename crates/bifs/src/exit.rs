//! Exceptions that programs raise, and the end of processes and of the machine.

use std::sync::OnceLock;

use atoll_distribution::Wished;
use atoll_heap::architecture;
use atoll_operations::guards::as_boolean;
use atoll_operations::{Class, Exception, list};
use atoll_platform::ending;
use atoll_process::remote::RemotePid;
use atoll_process::{BuiltIn, Caller, Interrupt, Outcome, Signal, System, badarg, signal};
use atoll_term::atoms::known_atom;
use atoll_term::{Build, Term, View, atoms};

use crate::errors::badopt;
use crate::process_info::take_signals;
use crate::suspended::returning;
use crate::texts::text;

/// What this file provides.
pub const BUILT_INS: &[BuiltIn] = &[
    BuiltIn::new("erlang", "error", 1, error_1),
    BuiltIn::new("erlang", "error", 2, error_2),
    BuiltIn::new("erlang", "error", 3, error_3),
    BuiltIn::new("erlang", "nif_error", 1, error_1),
    BuiltIn::new("erlang", "nif_error", 2, error_2),
    BuiltIn::new("erlang", "exit", 1, exit_1),
    BuiltIn::new("erlang", "exit", 2, exit_2),
    BuiltIn::new("erlang", "exit_signal", 2, exit_2),
    BuiltIn::new("erlang", "exit", 3, exit_3),
    BuiltIn::new("erlang", "exit_signal", 3, exit_3),
    BuiltIn::new("erlang", "throw", 1, throw),
    BuiltIn::new("erlang", "raise", 3, raise),
    BuiltIn::new("erlang", "halt", 0, halt_0),
    BuiltIn::new("erlang", "halt", 1, halt_1),
    BuiltIn::new("erlang", "halt", 2, halt_2),
];

static HALT: OnceLock<fn(i32)> = OnceLock::new();

/// Sets what ends the machine with an exit status; the first call counts. What the program has written is to be
/// written out before. Until then, the machine ends by leaving the operating system's process.
pub fn install_halt(halt: fn(i32)) {
    let _ = HALT.set(halt);
}

/// Ends the machine with this exit status; what runs on this thread stands still until then.
pub fn halt(status: i32) -> ! {
    let Some(halt) = HALT.get() else { ending::leave(status) };
    halt(status);
    loop {
        std::thread::park();
    }
}

fn error_1(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    Err(Exception::error(arguments[0]).into())
}

/// The arguments for the trace, `NONE` for `none`.
fn given(arguments: Term) -> Term {
    if arguments == atoms::NONE { Term::NONE } else { arguments }
}

fn error_2(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    Err(Exception { arguments: given(arguments[1]), ..Exception::error(arguments[0]) }.into())
}

fn error_3(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let mut exception = Exception { arguments: given(arguments[1]), ..Exception::error(arguments[0]) };
    // What is no such option is ignored, as in OTP.
    for option in list::elements(arguments[2]).unwrap_or_default() {
        if let Some(&[atoms::ERROR_INFO, info]) = option.tuple_elements()
            && info.is_map()
        {
            exception.error_info = info;
        }
    }
    // The information needs a place at the top of the trace, where the arity stands without arguments.
    if !exception.error_info.is_none() && exception.arguments.is_none() {
        exception.arguments = atoms::NONE;
    }
    Err(exception.into())
}

fn exit_1(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    Err(Exception::new(Class::Exit, arguments[0]).into())
}

fn throw(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    Err(Exception::new(Class::Throw, arguments[0]).into())
}

/// `raise(Class, Reason, Trace)`: gives `badarg` back when class or trace are none.
fn raise(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let &[class, reason, trace] = arguments else { return Ok(atoms::BADARG) };
    let (Some(class), Some(entries)) = (Class::from_atom(class), list::elements(trace)) else {
        return Ok(atoms::BADARG);
    };
    let Some(has_place) = entries.iter().map(|entry| has_place(*entry)).collect::<Option<Vec<bool>>>() else {
        return Ok(atoms::BADARG);
    };
    let trace = if has_place.iter().all(|has| *has) { trace } else { with_places(caller, &entries, &has_place) };
    Err(Exception { trace, ..Exception::new(class, reason) }.into())
}

/// Whether an entry of a trace says where it is: `{Module, Function, ArityOrArguments, Place}` or
/// `{Fun, Arguments, Place}`, or these without their places. `None` if it is neither.
fn has_place(entry: Term) -> Option<bool> {
    let is_place = |place: Term| list::elements(place).is_some();
    match entry.tuple_elements()? {
        [fun, _] if fun.is_fun() => Some(false),
        [fun, _, place] if fun.is_fun() => is_place(*place).then_some(true),
        [module, function, _] if module.is_atom() && function.is_atom() => Some(false),
        [module, function, _, place] if module.is_atom() && function.is_atom() => is_place(*place).then_some(true),
        _ => None,
    }
}

/// The trace with an empty place in each entry that has none.
fn with_places(caller: &mut Caller<'_>, entries: &[Term], has_place: &[bool]) -> Term {
    let heap = caller.heap();
    let completed: Vec<Term> = entries
        .iter()
        .zip(has_place)
        .map(|(entry, has_place)| match entry.tuple_elements() {
            Some(parts) if !has_place => heap.tuple(&[parts, &[Term::NIL]].concat()),
            _ => *entry,
        })
        .collect();
    heap.list(completed)
}

/// `exit(PidOrPort, Reason)`
fn exit_2(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let &[target, reason] = arguments else { return Err(badarg()) };
    if !target.is_local_pid() && !target.is_local_port() {
        return match target.view() {
            View::External(external) if target.is_pid() || target.is_port() => {
                // One of an earlier run of this node is of nobody.
                let other = RemotePid::of(target).filter(|_| external.node != crate::node::this());
                let Some(other) = other else { return Ok(atoms::TRUE) };
                match atoll_distribution::exit_signal(caller.process.pid, caller.own, other, reason) {
                    Wished::Busy => Err(returning(atoms::TRUE)),
                    Wished::TooLarge => Err(Exception::error(atoms::SYSTEM_LIMIT).into()),
                    _ => Ok(atoms::TRUE),
                }
            }
            _ => Err(badarg()),
        };
    }
    let from = caller.process.pid;
    let heap = caller.heap();
    let message = heap.tuple(&[atoms::EXIT_UPPER, from, reason]);
    let fragment = architecture().send(heap, message);
    System::get().deliver_or_answer(target, signal::attach(fragment, Signal::Exit { from }));
    if target == from {
        take_signals(caller)?;
    }
    Ok(atoms::TRUE)
}

/// `exit(PidOrPort, Reason, [priority])`
fn exit_3(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    only_priority(caller, arguments[2])?;
    exit_2(caller, &arguments[..2])
}

/// Checks the options of a signal: `priority` alone. It would have an effect only on a process that asked for priority
/// messages, which no process can do here.
pub fn only_priority(caller: &mut Caller<'_>, options: Term) -> Result<(), Interrupt> {
    let known = list::elements(options).is_some_and(|options| options.iter().all(|one| *one == atoms::PRIORITY));
    if known { Ok(()) } else { Err(badopt(caller)) }
}

fn halt_0(_: &mut Caller<'_>, _: &[Term]) -> Outcome {
    halt(0)
}

fn halt_1(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    halt_2(caller, &[arguments[0], Term::NIL])
}

/// Longest slogan of `halt/1`, in characters.
const LONGEST_SLOGAN: usize = 1_023;

/// `halt(Status | abort | Slogan, [{flush, Bool}])`
fn halt_2(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let mut flush = true;
    let Some(options) = list::elements(arguments[1]) else { return Err(badopt(caller)) };
    for option in options {
        match option.tuple_elements() {
            Some(&[atoms::FLUSH, value]) if as_boolean(value).is_some() => flush = value == atoms::TRUE,
            _ => return Err(badopt(caller)),
        }
    }
    let status = arguments[0];
    if let Some(code @ 0..) = status.as_small() {
        let code = (code & 0xff) as i32;
        if flush { halt(code) } else { ending::leave(code) }
    }
    if status == known_atom("abort") {
        ending::abort()
    }
    let slogan = status.is_list().then(|| text(status)).flatten().ok_or_else(badarg)?;
    if slogan.chars().count() > LONGEST_SLOGAN {
        return Err(badarg());
    }
    eprintln!("{slogan}");
    ending::dump(&slogan, true);
    halt(1)
}
