//! What processes send to ports: commands as messages, links, monitors, exits.

use std::sync::atomic::Ordering;

use atoll_etf::EncodeOptions;
use atoll_heap::{Message, architecture};
use atoll_operations::iolist::iolist_bytes;
use atoll_process::remote::Sent;
use atoll_process::tracing::Tracing;
use atoll_process::{Own, Ports, Signal, System, sequence, signal, tracing};
use atoll_term::atoms::known_atom;
use atoll_term::{Build, Term, atoms, this_node};

use crate::part::part;
use crate::port::{Monitor, Port};
use crate::table::{self, find, find_for_processes};
use crate::traced::Change;
use crate::{commands, deferred, poller};

/// The ports as processes see them.
pub struct AllPorts;

impl Ports for AllPorts {
    fn exists(&self, port: Term) -> bool {
        find_for_processes(port).is_some()
    }

    fn limit(&self) -> usize {
        table::limit()
    }

    fn count(&self) -> usize {
        table::count()
    }

    fn carried(&self) -> [u64; 2] {
        part().carried.each_ref().map(|bytes| bytes.load(Ordering::Relaxed))
    }

    fn watched(&self) -> (usize, usize) {
        poller::watched()
    }

    fn signal(&self, port: Term, message: Message) -> Result<(), Message> {
        let Some(port) = find_for_processes(port) else { return Err(message) };
        let Some(body) = signal::detach(&message) else { return Ok(()) };
        let known = port.with(|port, state, _| match body {
            Signal::Link { from } | Signal::Unlink { from, .. } => {
                state.links.retain(|pid| *pid != from);
                if matches!(body, Signal::Link { .. }) {
                    state.links.push(from);
                    port.trace(tracing::PORTS, "getting_linked", |_| [from]);
                } else {
                    port.trace(tracing::PORTS, "getting_unlinked", |_| [from]);
                }
            }
            Signal::Monitor { from, reference, name, tag } => {
                state.monitors.push(Monitor { reference, watcher: from, name, tag });
            }
            Signal::Demonitor { reference } => state.monitors.retain(|monitor| monitor.reference != reference),
            _ => {}
        });
        if known.is_none() {
            return Err(signal::attach(message, body));
        }
        match body {
            Signal::Unlink { from, number } => signal::tell_unlink_is_known(port.id, from, number),
            Signal::LinkExit { from, .. } => {
                let was_linked = port.with(|_, state, _| {
                    let before = state.links.len();
                    state.links.retain(|pid| *pid != from);
                    state.links.len() < before || state.connected == from
                });
                if was_linked == Some(true) {
                    exit(&port, from, signal::exit_reason(&message));
                }
            }
            Signal::Exit { from } => exit(&port, from, signal::exit_reason(&message)),
            _ => {}
        }
        Ok(())
    }

    fn trace_name(&self, port: Term, event: &str, name: Term) {
        if let Some(port) = find_for_processes(port) {
            port.trace(tracing::PORTS, event, |_| [name]);
        }
    }

    fn tracing_of(&self, port: Term) -> Option<Option<Tracing>> {
        find_for_processes(port).map(|port| port.traced.tracing())
    }

    fn change_tracing(&self, port: Option<Term>, change: Change<'_>) -> usize {
        let ports = port.map_or_else(table::all, |port| vec![port]);
        ports.into_iter().filter_map(find_for_processes).filter(|port| port.traced.change(change)).count()
    }

    fn tell_tracer(&self, port: Term, message: Term) -> bool {
        let Some(port) = find(port) else { return false };
        // What has no external form is lost, and no reason to end tracing.
        let Ok(bytes) = atoll_etf::encode(message, EncodeOptions::default(), this_node()) else { return true };
        if let Some(bytes) = deferred::outside(port.id, bytes) {
            return commands::write(&port, port.connected(), bytes);
        }
        true
    }

    fn message(&self, sender: Term, own: &mut Own, port: Term, message: Term, suspends: bool) -> Sent {
        let Some(port) = find_for_processes(port) else { return Sent::Done };
        command(&port, sender, own, message, suspends).unwrap_or_else(|| {
            let heap = &mut own.mutator;
            let exit = heap.tuple(&[atoms::EXIT_UPPER, port.id, known_atom("badsig")]);
            let fragment = architecture().send(heap, exit);
            let signal = signal::attach(fragment, Signal::Exit { from: port.id });
            System::get().deliver_or_answer(sender, signal);
            Sent::Done
        })
    }
}

/// An exit signal: a port ends by any, except `normal` from a process other than its owner.
fn exit(port: &Port, from: Term, reason: Term) {
    if reason == atoms::NORMAL && from != port.connected() {
        return;
    }
    port.trace_command(from, |_| known_atom("close"));
    port.traced.is_killed.store(reason == atoms::KILL, Ordering::Relaxed);
    let reason = if reason == atoms::KILL { atoms::KILLED } else { reason };
    port.end_now(reason);
}

/// `{Owner, {command, Data} | {connect, Pid} | close}`; `None` if it is none of these.
fn command(port: &Port, sender: Term, own: &mut Own, message: Term, suspends: bool) -> Option<Sent> {
    let &[owner, command] = message.tuple_elements()? else { return None };
    if owner != port.connected() {
        return None;
    }
    if command == known_atom("close") {
        let closed = own.mutator.tuple(&[port.id, known_atom("closed")]);
        port.trace_command(owner, |_| command);
        port.close();
        port.trace(tracing::SEND, "send", |_| [known_atom("closed"), owner]);
        answer(own, owner, closed);
        return Some(Sent::Done);
    }
    let &[what, argument] = command.tuple_elements()? else { return None };
    if what == known_atom("command") {
        let data = iolist_bytes(argument).ok()?;
        if commands::is_busy(port, sender, suspends) {
            if suspends {
                own.rare().suspended += 1;
            }
            return Some(if suspends { Sent::Later } else { Sent::Full });
        }
        port.trace_data(sender, &data);
        commands::write(port, owner, data);
        Some(Sent::Done)
    } else if what == known_atom("connect") && argument.is_local_pid() {
        if !commands::connect(port, sender, argument) {
            return None;
        }
        port.trace(tracing::SEND, "send", |heap| [heap.tuple(&[port.id, known_atom("connected")]), owner]);
        let connected = own.mutator.tuple(&[port.id, known_atom("connected")]);
        answer(own, owner, connected);
        Some(Sent::Done)
    } else {
        None
    }
}

fn answer(own: &mut Own, to: Term, message: Term) {
    let fragment = architecture().send(&mut own.mutator, message);
    System::get().deliver_or_answer(to, sequence::neutral(fragment));
}
