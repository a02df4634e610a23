//! What signals of other nodes, lost connections and its own end make a process do.

use atoll_heap::{Composer, Message, architecture};
use atoll_term::{Build, Term, atoms};

use super::{
    Connection, Remote, RemoteLink, RemoteMonitor, RemotePid, RemoteSignal, RemoteTarget, RemoteWatcher, Tell,
    distribution,
};
use crate::handle::Fate;
use crate::process::{Own, Process};
use crate::reference::ReferenceId;
use crate::sequence::Mark;
use crate::signal::{Signal, attach};
use crate::system::System;

/// A process with work at its end has ended; `reason` lies on its heap.
pub(crate) fn ended(pid: Term, reason: Term) {
    if let Some(distribution) = distribution() {
        distribution.ended(pid, reason);
    }
}

/// Makes sure that the process hears of the loss of a connection; false: it is lost already.
pub fn watch(pid: Term, own: &mut Own, node: Term, connection: Connection) -> bool {
    let remote = own.remote();
    if remote.watched.contains(&(node, connection)) {
        return true;
    }
    let lasts = distribution().is_some_and(|distribution| distribution.watch(node, connection, pid));
    if lasts {
        remote.watched.push((node, connection));
    }
    lasts
}

/// Acts on a signal of another node.
pub(crate) fn act(process: &Process, own: &mut Own, remote: RemoteSignal, message: Message) -> Fate {
    let pid = process.pid;
    match remote {
        RemoteSignal::LinkExit { from, mark } => {
            let links = own.known_remote().map(|remote| &mut remote.links);
            let was_linked = links.is_some_and(|links| match links.get(&from) {
                Some(link) if link.unlinking == 0 => links.remove(&from).is_some(),
                _ => false,
            });
            if was_linked {
                return crate::handle::linked_exit(pid, own, message, mark);
            }
        }
        RemoteSignal::Spawned { reference, child, mark, .. } => {
            spawned(pid, own, message, reference, child.map(|(child, _)| child), mark);
        }
        RemoteSignal::ConnectionLost { node, connection } => return connection_lost(pid, own, node, connection),
        other => act_silently(pid, own, other),
    }
    Fate::Lives
}

/// Signals that bring no message and end nobody.
fn act_silently(pid: Term, own: &mut Own, remote: RemoteSignal) {
    match remote {
        RemoteSignal::Link { from, connection } => {
            if !watch(pid, own, from.node, connection) {
                return deliver_own(pid, lost_link(from));
            }
            // Where this process has ended the link, the other node does not know yet.
            own.remote().links.entry(from).or_insert(RemoteLink { connection, unlinking: 0 });
        }
        RemoteSignal::Unlink { from, id, connection } => {
            if let Some(remote) = own.known_remote()
                && remote.links.get(&from).is_some_and(|link| link.unlinking == 0)
            {
                remote.links.remove(&from);
            }
            if let Some(distribution) = distribution() {
                distribution.tell(pid, connection, Tell::UnlinkKnown { id, to: from });
            }
        }
        RemoteSignal::UnlinkKnown { from, id } => {
            if let Some(remote) = own.known_remote()
                && remote.links.get(&from).is_some_and(|link| link.unlinking == id)
            {
                remote.links.remove(&from);
            }
        }
        RemoteSignal::Monitor { from, reference, name, connection } => {
            if watch(pid, own, from.node, connection) {
                own.remote().add_watcher(reference, from, name, connection);
            }
        }
        RemoteSignal::Demonitor { reference } => {
            if let Some(remote) = own.known_remote() {
                remote.monitored_by.remove(&reference);
            }
        }
        RemoteSignal::GroupLeader { leader } => own.remote().leader = Some(leader),
        RemoteSignal::LinkExit { .. } | RemoteSignal::Spawned { .. } | RemoteSignal::ConnectionLost { .. } => {}
    }
}

/// The exit signal of a link whose connection is lost.
fn lost_link(from: RemotePid) -> Message {
    let message = Message::compose(|heap| {
        let other = from.term(heap);
        heap.tuple(&[atoms::EXIT_UPPER, other, atoms::NOCONNECTION])
    });
    // Whether it is linked does not matter any more.
    attach(message, Signal::Exit { from: Term::NONE })
}

fn deliver_own(pid: Term, message: Message) {
    drop(System::get().deliver(pid, message));
}

/// Ends a link that this process has with another node's.
pub fn unlink(pid: Term, own: &mut Own, other: RemotePid) {
    let Some(remote) = own.known_remote() else { return };
    let Some(link) = remote.links.get_mut(&other).filter(|link| link.unlinking == 0) else { return };
    remote.next_unlink += 1;
    link.unlinking = remote.next_unlink;
    let (id, connection) = (link.unlinking, link.connection);
    if let Some(distribution) = distribution() {
        distribution.tell(pid, connection, Tell::Unlink { id, to: other });
    }
}

/// A monitor of this process is over, which may be one on a process of another node.
pub(crate) fn forget_monitor(own: &mut Own, reference: ReferenceId) -> Option<RemoteMonitor> {
    own.known_remote()?.monitoring.remove(&reference)
}

/// Tells the other node, if the monitor is on a process of one.
pub(crate) fn demonitor(pid: Term, own: &mut Own, reference: ReferenceId) {
    if let Some(monitor) = forget_monitor(own, reference)
        && let Some(distribution) = distribution()
    {
        distribution.tell(pid, monitor.connection, Tell::Demonitor { reference, target: monitor.target });
    }
}

/// The answer to a request for a process.
fn spawned(pid: Term, own: &mut Own, message: Message, reference: ReferenceId, child: Option<RemotePid>, mark: Mark) {
    let Some(request) = own.known_remote().and_then(|remote| remote.spawning.remove(&reference)) else {
        return;
    };
    let rare = own.rare();
    let alias = rare.aliases.contains_key(&reference);
    let tag = rare.reply_tags.remove(&reference);
    match child {
        Some(child) if request.abandoned => {
            if let Some(distribution) = distribution() {
                if request.link {
                    let what = Tell::Exit { to: child, reason: atoms::ABANDONED, token: Term::NONE };
                    distribution.tell(pid, request.connection, what);
                }
                if request.monitor {
                    let what = Tell::Demonitor { reference, target: RemoteTarget::Pid(child) };
                    distribution.tell(pid, request.connection, what);
                }
            }
            return;
        }
        Some(child) => {
            if request.link {
                own.remote().add_link(child, request.connection);
            }
            if request.monitor {
                own.remote().add_monitor(reference, RemoteTarget::Pid(child), request.connection);
            }
        }
        None => {
            let rare = own.rare();
            rare.monitoring.remove(&reference);
            rare.tags.remove(&reference);
            rare.aliases.remove(&reference);
        }
    }
    let (tells_success, tells_failure) = request.tells;
    if request.abandoned || !(if child.is_some() { tells_success } else { tells_failure }) {
        return;
    }
    let value = crate::handle::take_term(own, message);
    let heap = &mut own.mutator;
    let reference = if alias { reference.alias_term(heap, pid) } else { reference.term(heap) };
    let outcome = if child.is_some() { atoms::OK } else { atoms::ERROR };
    let message = heap.tuple(&[tag.unwrap_or(atoms::SPAWN_REPLY), reference, outcome, value]);
    let message = architecture().send(&mut own.mutator, message);
    crate::handle::take_in(pid, own, message, mark, Term::NONE);
}

/// Acts for all that this process had through a connection, or an earlier one to the same node.
fn connection_lost(pid: Term, own: &mut Own, node: Term, lost: Connection) -> Fate {
    let Some(rare) = own.rare.as_deref_mut() else { return Fate::Lives };
    let Some(remote) = rare.remote.as_deref_mut() else { return Fate::Lives };
    let is_lost = |other: Term, connection: Connection| other == node && connection <= lost;
    remote.watched.retain(|(other, connection)| !is_lost(*other, *connection));
    remote.monitored_by.retain(|_, one| !is_lost(one.watcher.node, one.connection));
    let spawning: Vec<ReferenceId> =
        remote.spawning.iter().filter(|(_, one)| is_lost(one.node, one.connection)).map(|(id, _)| *id).collect();
    let monitoring = &mut rare.monitoring;
    let monitors = remote.take_monitors(
        |one| is_lost(one.target.node(), one.connection),
        |reference| monitoring.remove(reference).is_some(),
    );
    let mut links = Vec::new();
    remote.links.retain(|other, link| {
        let is_over = is_lost(other.node, link.connection);
        if is_over && link.unlinking == 0 {
            links.push(*other);
        }
        !is_over
    });
    for reference in spawning {
        let reason = architecture().send_copy(atoms::NOCONNECTION);
        spawned(pid, own, reason, reference, None, Mark::Neutral);
    }
    let mut composer = Composer::new();
    for (reference, target) in monitors {
        // Not on the heap of this process, where it would be garbage at once.
        let message = composer.message(|heap| {
            let parts = [atoms::DOWN, reference.term(heap), atoms::PROCESS, target.term(heap), atoms::NOCONNECTION];
            heap.tuple(&parts)
        });
        crate::handle::tell_fired(pid, own, reference, message);
    }
    for other in links {
        let heap = &mut own.mutator;
        let other = other.term(heap);
        let message = heap.tuple(&[atoms::EXIT_UPPER, other, atoms::NOCONNECTION]);
        let message = architecture().send(heap, message);
        if let Fate::Dies(reason) = crate::handle::linked_exit(pid, own, message, Mark::Neutral) {
            return Fate::Dies(reason);
        }
    }
    Fate::Lives
}

/// What a process that does not exist answers a signal of another node.
pub(crate) fn answer_for_missing(pid: Term, remote: &RemoteSignal) {
    let Some(distribution) = distribution() else { return };
    match *remote {
        RemoteSignal::Link { from, connection } => {
            let what = Tell::Exit { to: from, reason: atoms::NOPROC, token: Term::NONE };
            distribution.tell(pid, connection, what);
        }
        RemoteSignal::Unlink { from, id, connection } => {
            distribution.tell(pid, connection, Tell::UnlinkKnown { id, to: from });
        }
        RemoteSignal::Monitor { from, reference, name, connection } => {
            let what = Tell::Down { to: from, reference, name, reason: atoms::NOPROC };
            distribution.tell(pid, connection, what);
        }
        RemoteSignal::Spawned { child: Some((child, true)), connection, .. } => {
            let what = Tell::Exit { to: child, reason: atoms::NOPROC, token: Term::NONE };
            distribution.tell(pid, connection, what);
        }
        _ => {}
    }
}

/// A process has ended, and has left the table: tells other nodes. `reason` and `tokens` lie on its heap.
pub(crate) fn tell_others(pid: Term, remote: &Remote, reason: Term, tokens: &[Term]) {
    let Some(distribution) = distribution() else { return };
    let tokens = tokens.iter().copied().chain(std::iter::repeat(Term::NONE));
    let lasting = remote.links.iter().filter(|(_, link)| link.unlinking == 0);
    for ((other, link), token) in lasting.zip(tokens) {
        distribution.tell(pid, link.connection, Tell::Exit { to: *other, reason, token });
    }
    for (reference, watcher) in &remote.monitored_by {
        let RemoteWatcher { watcher, name, connection } = *watcher;
        let what = Tell::Down { to: watcher, reference: *reference, name, reason };
        distribution.tell(pid, connection, what);
    }
    for (reference, monitor) in &remote.monitoring {
        let what = Tell::Demonitor { reference: *reference, target: monitor.target };
        distribution.tell(pid, monitor.connection, what);
    }
    for (node, connection) in &remote.watched {
        distribution.forget(*node, *connection, pid);
    }
}
