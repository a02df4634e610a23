//! What control messages of another node do to processes of this one.

use atoll_heap::{Message as Heaped, architecture};
use atoll_process::remote::{self, RemotePid, RemoteReference, RemoteSignal, RemoteTarget};
use atoll_process::sequence::{self, Mark};
use atoll_process::{ReferenceId, Signal, System, signal};
use atoll_term::{Build, Term, View, atoms};

use crate::control;
use crate::input::{Fault, Received};
use crate::node::{Line, Node};
use crate::signals::Message;
use crate::{spawning, token};

/// Acts on a message.
///
/// # Errors
/// It is none that a node can send. The connection is to be ended.
pub(crate) fn act(node: &Node, line: Line, received: &Received) -> Result<(), Fault> {
    let parts = received.control.tuple_elements().unwrap_or_default();
    let (Some(kind), payload) = (parts.first().and_then(|kind| kind.as_small()), received.payload) else {
        return Err(Fault::Malformed);
    };
    match (kind, &parts[1..]) {
        (control::SEND, [_, to]) | (control::SEND_SENDER, [_, to]) => message(node, *to, payload, Mark::Plain),
        (control::SEND_TT, [_, to, given]) | (control::SEND_SENDER_TT, [_, to, given]) => {
            message(node, *to, payload, token::mark(*given)?)
        }
        (control::REG_SEND, [from, _, name]) => named_message(node, *from, *name, payload, Mark::Plain),
        (control::REG_SEND_TT, [from, _, name, given]) => {
            named_message(node, *from, *name, payload, token::mark(*given)?)
        }
        (control::ALIAS_SEND, [_, alias]) => to_alias(*alias, payload, Mark::Plain),
        (control::ALIAS_SEND_TT, [_, alias, given]) => to_alias(*alias, payload, token::mark(*given)?),
        (control::LINK, [from, to]) => link(line, *from, *to),
        (control::UNLINK, [from, to]) => unlink(line, 0, *from, *to),
        (control::UNLINK_ID, [id, from, to]) => unlink(line, unlink_number(*id)?, *from, *to),
        (control::UNLINK_ID_ACK, [id, from, to]) => {
            let (from, id) = (sender(*from)?, unlink_number(*id)?);
            signal(*to, remote::bare(RemoteSignal::UnlinkKnown { from, id }))
        }
        (control::EXIT, [from, to, reason]) => linked_exit(*from, *to, *reason, Mark::Plain),
        (control::EXIT_TT, [from, to, given, reason]) => linked_exit(*from, *to, *reason, token::mark(*given)?),
        (control::PAYLOAD_EXIT, [from, to]) => linked_exit(*from, *to, payload, Mark::Plain),
        (control::PAYLOAD_EXIT_TT, [from, to, given]) => linked_exit(*from, *to, payload, token::mark(*given)?),
        (control::EXIT2, [from, to, reason]) => exit(*from, *to, *reason),
        (control::EXIT2_TT, [from, to, _, reason]) => exit(*from, *to, *reason),
        (control::PAYLOAD_EXIT2, [from, to]) => exit(*from, *to, payload),
        (control::PAYLOAD_EXIT2_TT, [from, to, _]) => exit(*from, *to, payload),
        (control::MONITOR_P, [from, to, reference]) => monitor(node, line, *from, *to, *reference),
        (control::DEMONITOR_P, [_, to, reference]) => demonitor(node, *to, *reference),
        (control::MONITOR_P_EXIT, [from, to, reference, reason]) => down(node, *from, *to, *reference, *reason),
        (control::PAYLOAD_MONITOR_P_EXIT, [from, to, reference]) => down(node, *from, *to, *reference, payload),
        (control::GROUP_LEADER, [leader, to]) => group_leader(*leader, *to),
        (control::SPAWN_REQUEST, [_, _, _, _, _]) | (control::SPAWN_REQUEST_TT, [_, _, _, _, _, _]) => {
            spawning::requested(node, line, received)
        }
        (control::SPAWN_REPLY, [request, to, flags, result]) => {
            spawn_reply(line, *request, *to, *flags, *result, Mark::Neutral)
        }
        (control::SPAWN_REPLY_TT, [request, to, flags, result, given]) => {
            spawn_reply(line, *request, *to, *flags, *result, token::mark(*given)?)
        }
        (control::NODE_LINK, _) => Ok(()),
        _ => Err(Fault::Malformed),
    }
}

/// A sender of another node.
fn sender(pid: Term) -> Result<RemotePid, Fault> {
    RemotePid::of(pid).ok_or(Fault::Malformed)
}

fn unlink_number(id: Term) -> Result<u64, Fault> {
    id.to_u64().filter(|id| *id != 0).ok_or(Fault::Malformed)
}

/// Delivers a signal to a process of this node; one of an earlier run is answered for.
fn signal(to: Term, fragment: Heaped) -> Result<(), Fault> {
    if to.is_local_pid() {
        System::get().deliver_or_answer(to, fragment);
        return Ok(());
    }
    if to.is_pid() {
        System::get().answer_for_missing(to, fragment);
        return Ok(());
    }
    Err(Fault::Malformed)
}

fn deliver(node: &Node, to: Term, payload: Term, mark: Mark) {
    // As in OTP, tracing tells the node of a sender elsewhere, and not the process.
    let fragment = sequence::mark_from(architecture().send_copy(payload), mark, node.name);
    drop(System::get().deliver_from_outside(to, fragment));
}

fn message(node: &Node, to: Term, payload: Term, mark: Mark) -> Result<(), Fault> {
    match to.view() {
        View::Pid(_) => deliver(node, to, payload, mark),
        View::External(_) | View::Port(_) => {}
        _ => return Err(Fault::Malformed),
    }
    Ok(())
}

fn named_message(node: &Node, from: Term, name: Term, payload: Term, mark: Mark) -> Result<(), Fault> {
    if !from.is_pid() || !name.is_atom() {
        return Err(Fault::Malformed);
    }
    if let Some(pid) = System::get().whereis(name).filter(|pid| pid.is_local_pid()) {
        deliver(node, pid, payload, mark);
    }
    Ok(())
}

fn to_alias(alias: Term, payload: Term, mark: Mark) -> Result<(), Fault> {
    let View::Reference(reference) = alias.view() else {
        return if alias.is_reference() { Ok(()) } else { Err(Fault::Malformed) };
    };
    if let Some(pid) = reference.alias_of() {
        let reference = ReferenceId(reference.numbers());
        let signal = Signal::ToAlias { reference, mark };
        let fragment = signal::attach(architecture().send_copy(payload), signal);
        drop(System::get().deliver_from_outside(pid, fragment));
    }
    Ok(())
}

fn link(line: Line, from: Term, to: Term) -> Result<(), Fault> {
    let from = sender(from)?;
    signal(to, remote::bare(RemoteSignal::Link { from, connection: line.connection }))
}

fn unlink(line: Line, id: u64, from: Term, to: Term) -> Result<(), Fault> {
    let from = sender(from)?;
    signal(to, remote::bare(RemoteSignal::Unlink { from, id, connection: line.connection }))
}

/// The message of `{'EXIT', From, Reason}`.
fn exit_term(from: Term, reason: Term) -> Heaped {
    Heaped::compose(|heap| heap.tuple(&[atoms::EXIT_UPPER, from, reason]))
}

fn linked_exit(from: Term, to: Term, reason: Term, mark: Mark) -> Result<(), Fault> {
    let sender = sender(from)?;
    signal(to, remote::signal_with(exit_term(from, reason), RemoteSignal::LinkExit { from: sender, mark }))
}

fn exit(from: Term, to: Term, reason: Term) -> Result<(), Fault> {
    sender(from)?;
    signal(to, signal::attach(exit_term(from, reason), Signal::Exit { from: Term::NONE }))
}

fn monitor(node: &Node, line: Line, from: Term, to: Term, reference: Term) -> Result<(), Fault> {
    let from = sender(from)?;
    let reference = RemoteReference::of(reference).ok_or(Fault::Malformed)?;
    let connection = line.connection;
    if !to.is_atom() {
        return signal(to, remote::bare(RemoteSignal::Monitor { from, reference, name: Term::NONE, connection }));
    }
    match System::get().whereis(to).filter(|pid| pid.is_local_pid()) {
        Some(pid) => {
            node.note_named(reference, pid);
            signal(pid, remote::bare(RemoteSignal::Monitor { from, reference, name: to, connection }))
        }
        None => {
            let message = Message::new(line, control::MONITOR_P_EXIT, 4).term(to).pid(from).reference(&reference);
            message.term(atoms::NOPROC).send(node, line, to, None);
            Ok(())
        }
    }
}

fn demonitor(node: &Node, to: Term, reference: Term) -> Result<(), Fault> {
    let reference = RemoteReference::of(reference).ok_or(Fault::Malformed)?;
    let to = if to.is_atom() { node.take_named(&reference) } else { Some(to) };
    match to {
        Some(to) => signal(to, remote::bare(RemoteSignal::Demonitor { reference })),
        None => Ok(()),
    }
}

fn down(node: &Node, from: Term, to: Term, reference: Term, reason: Term) -> Result<(), Fault> {
    let id = match reference.view() {
        View::Reference(_) => ReferenceId::of(reference).ok_or(Fault::Malformed)?,
        // Of an earlier run of this node.
        View::External(_) if reference.is_reference() => return Ok(()),
        _ => return Err(Fault::Malformed),
    };
    let target = match from.is_atom() {
        true => RemoteTarget::Name { name: from, node: node.name },
        false => RemoteTarget::Pid(sender(from)?),
    };
    let message = Heaped::compose(|heap| {
        let object = target.term(heap);
        heap.tuple(&[atoms::DOWN, reference, atoms::PROCESS, object, reason])
    });
    signal(to, signal::attach(message, Signal::Down { reference: id }))
}

fn group_leader(leader: Term, to: Term) -> Result<(), Fault> {
    let fragment = match RemotePid::of(leader) {
        Some(leader) => remote::bare(RemoteSignal::GroupLeader { leader }),
        None if leader.is_local_pid() => signal::bare(Signal::GroupLeader { leader }),
        None => return Err(Fault::Malformed),
    };
    signal(to, fragment)
}

fn spawn_reply(line: Line, request: Term, to: Term, flags: Term, result: Term, mark: Mark) -> Result<(), Fault> {
    let (Some(reference), Some(flags)) = (ReferenceId::of(request), flags.as_small()) else {
        return Err(Fault::Malformed);
    };
    let child = match RemotePid::of(result) {
        Some(child) => Some((child, flags & control::SPAWNED_LINK != 0)),
        None if result.is_atom() => None,
        None => return Err(Fault::Malformed),
    };
    let spawned = RemoteSignal::Spawned { reference, child, connection: line.connection, mark };
    signal(to, remote::signal_with(architecture().send_copy(result), spawned))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_ends_of_links_are_not_zero() {
        assert_eq!(unlink_number(Term::small(0)), Err(Fault::Malformed));
        assert_eq!(unlink_number(Term::small(7)), Ok(7));
        assert_eq!(unlink_number(atoms::TRUE), Err(Fault::Malformed));
    }
}
