//! Sending as a function.

use atoll_process::{BuiltIn, Caller, Outcome};
use atoll_term::{Term, atoms};

use crate::process_support::{badopt, list_elements};

/// What this file provides.
pub const BUILT_INS: &[BuiltIn] = &[
    BuiltIn { module: "erlang", name: "!", arity: 2, function: send },
    BuiltIn { module: "erlang", name: "send", arity: 2, function: send },
    BuiltIn { module: "erlang", name: "send", arity: 3, function: send_with },
    BuiltIn { module: "net_kernel", name: "dflag_unicode_io", arity: 1, function: dflag_unicode_io },
];

fn send(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    atoll_process::send::send(caller.process.pid, caller.own, arguments[0], arguments[1])?;
    Ok(arguments[1])
}

/// `send(Destination, Message, [nosuspend | noconnect])`
fn send_with(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let mut connect = true;
    let Some(options) = list_elements(arguments[2]) else { return Err(badopt(caller)) };
    for option in options {
        match option {
            atoms::NOSUSPEND => {}
            atoms::NOCONNECT => connect = false,
            _ => return Err(badopt(caller)),
        }
    }
    let destination = arguments[0];
    let node = match destination.view() {
        atoll_term::View::External(external) => Some(external.node),
        atoll_term::View::Tuple(&[_, node]) if node.is_atom() => Some(node),
        _ => None,
    };
    if !connect && node.is_some_and(|node| node != crate::node::this()) {
        return Ok(atoms::NOCONNECT);
    }
    atoll_process::send::send(caller.process.pid, caller.own, destination, arguments[1])?;
    Ok(atoms::OK)
}

/// Whether the I/O server of a process takes Unicode: every node since R13 does.
fn dflag_unicode_io(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    if arguments[0].is_pid() { Ok(atoms::TRUE) } else { Err(atoll_operations::Exception::badarg().into()) }
}
