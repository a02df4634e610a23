//! Links.

use atoll_distribution::Wished;
use atoll_heap::{Message, architecture};
use atoll_operations::Exception;
use atoll_process::remote::RemotePid;
use atoll_process::{BuiltIn, Caller, Outcome, Signal, System, badarg, remote, signal, tracing};
use atoll_term::{Build, Term, View, atoms};

use crate::exit::only_priority;
use crate::process_info::take_signals;
use crate::suspended::returning;

/// What this file provides.
pub const BUILT_INS: &[BuiltIn] = &[
    BuiltIn::new("erlang", "link", 1, link),
    BuiltIn::new("erlang", "link", 2, link_2),
    BuiltIn::new("erlang", "unlink", 1, unlink),
];

fn link(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let target = arguments[0];
    let me = caller.process.pid;
    match target.view() {
        View::Pid(_) | View::Port(_) => {
            // A closed port's exit signal may not have been taken yet.
            if target == me || !caller.own.rare().links.insert(target) && (target.is_local_pid() || is_open(target)) {
                return Ok(atoms::TRUE);
            }
            if caller.own.flags.traced() {
                tracing::event(me, caller.own, tracing::PROCS, "link", &[target]);
            }
            if let Err(signal) = System::get().deliver(target, signal::bare(Signal::Link { from: me })) {
                return no_such(caller, target, signal);
            }
        }
        View::External(external) if target.is_pid() && external.node == crate::node::this() => {
            missing(caller, target, atoms::NOPROC);
        }
        View::External(_) if target.is_pid() => {
            let Some(other) = RemotePid::of(target) else { return Err(badarg()) };
            if caller.own.flags.traced() {
                tracing::event(me, caller.own, tracing::PROCS, "link", &[target]);
            }
            match atoll_distribution::link(me, caller.own, other) {
                Wished::Done => {}
                Wished::Busy => return Err(returning(atoms::TRUE)),
                _ => missing(caller, target, atoms::NOCONNECTION),
            }
        }
        _ => return Err(badarg()),
    }
    if !caller.own.flags.trap_exit() && !caller.process.inbox.is_empty() {
        take_signals(caller)?;
    }
    Ok(atoms::TRUE)
}

/// `link(PidOrPort, [priority])`
fn link_2(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    only_priority(caller, arguments[1])?;
    link(caller, &arguments[..1])
}

fn is_open(port: Term) -> bool {
    System::get().ports.get().is_some_and(|ports| ports.exists(port))
}

/// Who traps exits learns by a signal that there is nothing to link to, others by an error.
fn no_such(caller: &mut Caller<'_>, target: Term, signal: Message) -> Outcome {
    if caller.own.flags.trap_exit() {
        System::get().answer_for_missing(target, signal);
        return Ok(atoms::TRUE);
    }
    caller.own.rare().links.remove(target);
    Err(Exception::error(atoms::NOPROC).into())
}

/// The exit signal of something that cannot be linked to.
fn missing(caller: &mut Caller<'_>, target: Term, reason: Term) {
    let heap = caller.heap();
    let message = heap.tuple(&[atoms::EXIT_UPPER, target, reason]);
    let fragment = architecture().send(heap, message);
    let exit = signal::attach(fragment, Signal::Exit { from: Term::NONE });
    System::get().deliver_or_answer(caller.process.pid, exit);
}

fn unlink(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let target = arguments[0];
    match target.view() {
        View::Pid(_) | View::Port(_) => {
            let from = caller.process.pid;
            if caller.own.flags.traced() {
                tracing::event(from, caller.own, tracing::PROCS, "unlink", &[target]);
            }
            let Some(rare) = &mut caller.own.rare else { return Ok(atoms::TRUE) };
            if let Some(number) = rare.links.end(target) {
                let signal = signal::bare(Signal::Unlink { from, number: Some(number) });
                if System::get().deliver(target, signal).is_err() {
                    rare.links.end_is_known(target, number);
                }
            }
            Ok(atoms::TRUE)
        }
        View::External(_) if target.is_pid() || target.is_port() => {
            if let Some(other) = RemotePid::of(target) {
                let from = caller.process.pid;
                if caller.own.flags.traced() {
                    tracing::event(from, caller.own, tracing::PROCS, "unlink", &[target]);
                }
                remote::unlink(from, caller.own, other);
            }
            Ok(atoms::TRUE)
        }
        _ => Err(badarg()),
    }
}
