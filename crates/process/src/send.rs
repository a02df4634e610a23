//! Sending: `!`, and what timers send.

use atoll_heap::{architecture, concurrent_roots};
use atoll_operations::Exception;
use atoll_term::{Term, View, atoms, this_node};

use crate::process::Own;
use crate::reference::ReferenceId;
use crate::remote::{SendOptions, Sent};
use crate::sequence::{self, Mark};
use crate::signal::{Signal, attach};
use crate::system::System;
use crate::timers::Action;
use crate::tracing;

/// Sends `message`, which lies on the sender's heap, to a pid, a registered name, `{Name, Node}` or an alias.
///
/// # Errors
/// `badarg` if the destination is none of these, or a name that is not registered.
pub fn send(sender: Term, own: &mut Own, destination: Term, message: Term) -> Result<Sent, Exception> {
    send_with(sender, own, destination, message, SendOptions { connect: true, suspend: true })
}

/// As [`send`]. The options are for messages to other nodes and to ports.
///
/// # Errors
/// As [`send`].
pub fn send_with(
    sender: Term,
    own: &mut Own,
    destination: Term,
    message: Term,
    options: SendOptions,
) -> Result<Sent, Exception> {
    debug_assert!(sender.is_local_pid());
    let system = System::get();
    let pid = if destination.is_local_pid() {
        destination
    } else {
        match destination.view() {
            View::Atom(name) => system.whereis(name).ok_or(Exception::badarg())?,
            View::Reference(reference) => {
                if let Some(pid) = reference.alias_of() {
                    let reference = ReferenceId(reference.numbers());
                    let mark = match own.flags.traced() && system.table.contains(pid) {
                        true => sequence::sent(sender, own, destination, message),
                        false => Mark::Plain,
                    };
                    let fragment = system.architecture.send(&mut own.mutator, message);
                    let to_alias = attach(fragment, Signal::ToAlias { reference, mark });
                    drop(system.deliver(pid, to_alias));
                }
                return Ok(Sent::Done);
            }
            View::Tuple([name, node]) if name.is_atom() && node.is_atom() => {
                if *node != this_node().0 {
                    return elsewhere(sender, own, destination, message, options);
                }
                match system.whereis(*name) {
                    Some(pid) => pid,
                    None => return Ok(Sent::Done),
                }
            }
            View::Port(_) => destination,
            // An identifier of this node from an earlier run is of nobody.
            View::External(external) if external.node == this_node().0 => return Ok(Sent::Done),
            View::External(_) => return elsewhere(sender, own, destination, message, options),
            _ => return Err(Exception::badarg()),
        }
    };
    if pid.is_local_port() {
        if let Some(ports) = system.ports.get() {
            if own.flags.traced() && ports.exists(pid) {
                sequence::sent(sender, own, pid, message);
            }
            return Ok(ports.message(sender, own, pid, message, options.suspend));
        }
        return Ok(Sent::Done);
    }
    if own.flags.traced() {
        send_told(sender, own, pid, destination, message);
        return Ok(Sent::Done);
    }
    send_to_process(own, pid, message);
    Ok(Sent::Done)
}

/// Sends to the pid of a process here, from one that is not traced.
pub fn send_to_process(own: &mut Own, pid: Term, message: Term) {
    let system = System::get();
    let fragment = system.architecture.send(&mut own.mutator, message);
    drop(system.deliver(pid, fragment));
}

/// Sends to another node; without a way to any, the message is lost.
///
/// # Errors
/// The message is too large.
#[inline(never)]
fn elsewhere(
    sender: Term,
    own: &mut Own,
    destination: Term,
    message: Term,
    options: SendOptions,
) -> Result<Sent, Exception> {
    match System::get().distribution.get() {
        Some(distribution) => match distribution.send(sender, own, destination, message, options) {
            Sent::TooLarge => Err(Exception::error(atoms::SYSTEM_LIMIT)),
            sent => Ok(sent),
        },
        None if options.connect => Ok(Sent::Done),
        None => Ok(Sent::NotConnected),
    }
}

/// A process that is traced or has a token sends. Its tracer hears of it before the receiver can do anything about it.
#[cold]
#[inline(never)]
fn send_told(sender: Term, own: &mut Own, pid: Term, destination: Term, message: Term) {
    let system = System::get();
    let exists = system.table.contains(pid);
    let what = if exists { "send" } else { "send_to_non_existing_process" };
    tracing::event(sender, own, tracing::SEND, what, &[message, destination]);
    let mark = if exists { sequence::sent(sender, own, pid, message) } else { Mark::Plain };
    let fragment = sequence::mark_from(architecture().send(&mut own.mutator, message), mark, sender);
    drop(system.deliver(pid, fragment));
}

/// Does what a timer was set for; for the scheduler that keeps it.
pub fn expire(number: u64, action: Action) {
    match action {
        Action::Wait { pid } => {
            let signal = crate::signal::bare(Signal::Timeout { wait: number });
            System::get().deliver_or_answer(pid, signal);
        }
        Action::Message { destination, message, .. } => {
            if let Some(collector) = concurrent_roots() {
                collector.deliver_kept(&message);
            }
            let message = sequence::neutral(message);
            let pid = if destination.is_atom() { System::get().whereis(destination) } else { Some(destination) };
            if let Some(pid) = pid {
                drop(System::get().deliver(pid, message));
            }
        }
    }
}
