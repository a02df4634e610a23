//! Sending as a function.

use atoll_operations::list;
use atoll_process::remote::{SendOptions, Sent};
use atoll_process::{BuiltIn, Caller, Interrupt, Outcome};
use atoll_term::{Term, atoms};

use crate::errors::badopt;
use crate::suspended::returning;

/// What this file provides.
pub const BUILT_INS: &[BuiltIn] = &[
    BuiltIn::new("erlang", "!", 2, send),
    BuiltIn::new("erlang", "send", 2, send),
    BuiltIn::new("erlang", "send", 3, send_with),
    BuiltIn::new("net_kernel", "dflag_unicode_io", 1, dflag_unicode_io),
];

fn send(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    match atoll_process::send::send(caller.process.pid, caller.own, arguments[0], arguments[1])? {
        Sent::Busy => Err(returning(arguments[1])),
        Sent::Later => Err(Interrupt::Wait(arguments.to_vec())),
        _ => Ok(arguments[1]),
    }
}

/// `send(Destination, Message, [nosuspend | noconnect])`
fn send_with(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let mut how = SendOptions { connect: true, suspend: true };
    let Some(options) = list::elements(arguments[2]) else { return Err(badopt(caller)) };
    for option in options {
        match option {
            atoms::NOSUSPEND => how.suspend = false,
            atoms::NOCONNECT => how.connect = false,
            _ => return Err(badopt(caller)),
        }
    }
    match atoll_process::send::send_with(caller.process.pid, caller.own, arguments[0], arguments[1], how)? {
        Sent::Done | Sent::TooLarge => Ok(atoms::OK),
        Sent::Busy => Err(returning(atoms::OK)),
        Sent::Later => Err(Interrupt::Wait(arguments.to_vec())),
        Sent::Full => Ok(atoms::NOSUSPEND),
        Sent::NotConnected => Ok(atoms::NOCONNECT),
    }
}

/// Whether the I/O server of a process takes Unicode: every node since R13 does.
fn dflag_unicode_io(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    if arguments[0].is_pid() { Ok(atoms::TRUE) } else { Err(atoll_operations::Exception::badarg().into()) }
}
