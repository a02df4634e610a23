//! Sending: `!`, and what timers send.

use atoll_heap::architecture;
use atoll_operations::Exception;
use atoll_term::{Term, View, this_node};

use crate::process::Own;
use crate::reference::ReferenceId;
use crate::sequence::{self, Mark};
use crate::signal::{self, Signal, attach};
use crate::system::System;
use crate::timers::Action;
use crate::tracing;

/// Sends `message`, which lies on the sender's heap, to a pid, a registered name, `{Name, Node}` or an alias.
///
/// # Errors
/// `badarg` if the destination is none of these, or a name that is not registered.
pub fn send(sender: Term, own: &mut Own, destination: Term, message: Term) -> Result<(), Exception> {
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
                    let mark = match own.flags.traced && system.table.contains(pid) {
                        true => sequence::sent(sender, own, destination, message),
                        false => Mark::Plain,
                    };
                    let fragment = architecture().send(Some(&mut own.mutator), message);
                    let to_alias = attach(fragment, Signal::ToAlias { reference, mark });
                    if let Err(fragment) = system.deliver(pid, to_alias) {
                        signal::discard(fragment);
                    }
                }
                return Ok(());
            }
            View::Tuple([name, node]) if name.is_atom() && node.is_atom() => {
                // Other nodes are always down: a message there is lost.
                match system.whereis(*name) {
                    Some(pid) if *node == this_node().0 => pid,
                    _ => return Ok(()),
                }
            }
            View::Port(_) => destination,
            View::External(_) => return Ok(()),
            _ => return Err(Exception::badarg()),
        }
    };
    if pid.is_local_port() {
        if let Some(ports) = system.ports.get() {
            if own.flags.traced && ports.exists(pid) {
                sequence::sent(sender, own, pid, message);
            }
            ports.message(sender, own, pid, message);
        }
        return Ok(());
    }
    if own.flags.traced {
        send_told(sender, own, pid, destination, message);
        return Ok(());
    }
    let fragment = architecture().send(Some(&mut own.mutator), message);
    if let Err(fragment) = system.deliver(pid, fragment) {
        signal::discard(fragment);
    }
    Ok(())
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
    let fragment = sequence::mark_from(architecture().send(Some(&mut own.mutator), message), mark, sender);
    if let Err(fragment) = system.deliver(pid, fragment) {
        signal::discard(fragment);
    }
}

/// Does what a timer was set for; for the scheduler that keeps it.
pub fn expire(number: u64, action: Action) {
    match action {
        Action::Wait { pid } => {
            let signal = crate::signal::bare(Signal::Timeout { wait: number });
            System::get().deliver_or_answer(pid, signal);
        }
        Action::Message { destination, fragment, .. } => {
            // SAFETY: the fragment was kept for the timer, which gives it up here.
            unsafe { architecture().deliver_kept(fragment) };
            let fragment = sequence::neutral(fragment);
            let pid = if destination.is_atom() { System::get().whereis(destination) } else { Some(destination) };
            let undelivered = match pid {
                Some(pid) => System::get().deliver(pid, fragment).err(),
                None => Some(fragment),
            };
            if let Some(fragment) = undelivered {
                crate::signal::discard(fragment);
            }
        }
    }
}
