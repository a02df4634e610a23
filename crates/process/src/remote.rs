//! Processes of other nodes: how they are named here, what a process knows of them, and what they do to it. The crate
//! `distribution` brings what they send, and takes what processes of this node tell them ([`Distribution`]).
//!
//! An identifier of another node is an object on some heap. What is kept longer than a call is kept as numbers
//! ([`RemotePid`], [`RemoteReference`]), which no collection makes stale.
//!
//! Each entry here belongs to one connection. When that is lost, the process gets [`RemoteSignal::ConnectionLost`]
//! behind all that came through it, and acts on the entries of that connection and of those before it.

use atoll_platform::steady::HashMap;

use atoll_heap::{Message, architecture};
use atoll_term::{Build, ExternalKind, Term, View, atoms};

use crate::handle::Fate;
use crate::process::{Own, Process};
use crate::reference::ReferenceId;
use crate::sequence::Mark;
use crate::signal::{Signal, attach};
use crate::system::System;

/// Number of a connection: higher than those of all earlier ones, whatever their nodes.
pub type Connection = u32;

/// A pid of another node, or of an earlier run of this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RemotePid {
    /// The node's name (atom).
    pub node: Term,
    /// Its creation.
    pub creation: u32,
    /// The pid's number.
    pub number: u32,
    /// Its serial.
    pub serial: u32,
}

impl RemotePid {
    /// The numbers of a pid that is not local.
    pub fn of(term: Term) -> Option<RemotePid> {
        match term.view() {
            View::External(external) if external.kind == ExternalKind::Pid => Some(RemotePid {
                node: external.node,
                creation: external.creation,
                number: external.data.first().copied().unwrap_or(0) as u32,
                serial: external.data.get(1).copied().unwrap_or(0) as u32,
            }),
            _ => None,
        }
    }

    /// A term of it.
    pub fn term(self, heap: &mut (impl Build + ?Sized)) -> Term {
        heap.external(ExternalKind::Pid, self.node, self.creation, &[self.number.into(), self.serial.into()])
    }
}

/// Most numbers of a reference.
const REFERENCE_NUMBERS: usize = 5;

/// A reference of another node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RemoteReference {
    /// The node's name (atom).
    pub node: Term,
    /// Its creation.
    pub creation: u32,
    count: u8,
    numbers: [u32; REFERENCE_NUMBERS],
}

impl RemoteReference {
    /// The numbers of a reference that is not local.
    pub fn of(term: Term) -> Option<RemoteReference> {
        let View::External(external) = term.view() else { return None };
        if external.kind != ExternalKind::Reference || external.data.len() > REFERENCE_NUMBERS {
            return None;
        }
        let mut numbers = [0; REFERENCE_NUMBERS];
        numbers.iter_mut().zip(external.data).for_each(|(number, word)| *number = *word as u32);
        let (node, creation, count) = (external.node, external.creation, external.data.len() as u8);
        Some(RemoteReference { node, creation, count, numbers })
    }

    /// Its numbers.
    pub fn numbers(&self) -> &[u32] {
        &self.numbers[..usize::from(self.count)]
    }

    /// A term of it.
    pub fn term(&self, heap: &mut (impl Build + ?Sized)) -> Term {
        let words: Vec<u64> = self.numbers().iter().copied().map(u64::from).collect();
        heap.external(ExternalKind::Reference, self.node, self.creation, &words)
    }
}

/// What a process of another node is watched by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RemoteTarget {
    /// Its pid.
    Pid(RemotePid),
    /// A name registered on a node.
    Name {
        /// The name (atom).
        name: Term,
        /// The node (atom).
        node: Term,
    },
}

impl RemoteTarget {
    /// The node.
    pub fn node(self) -> Term {
        match self {
            RemoteTarget::Pid(pid) => pid.node,
            RemoteTarget::Name { node, .. } => node,
        }
    }

    /// How a `'DOWN'` message and `process_info` name it.
    pub fn term(self, heap: &mut (impl Build + ?Sized)) -> Term {
        match self {
            RemoteTarget::Pid(pid) => pid.term(heap),
            RemoteTarget::Name { name, node } => heap.tuple(&[name, node]),
        }
    }
}

/// A link with a process of another node.
#[derive(Clone, Copy, Debug)]
pub struct RemoteLink {
    connection: Connection,
    /// The number under which its end was told to the other node, which has not said yet that it knows of that; 0 as
    /// long as the link lasts.
    unlinking: u64,
}

/// A monitor on a process of another node.
#[derive(Clone, Copy, Debug)]
pub struct RemoteMonitor {
    /// What is watched.
    pub target: RemoteTarget,
    connection: Connection,
}

/// A monitor that a process of another node has on this one.
#[derive(Clone, Copy, Debug)]
pub struct RemoteWatcher {
    /// The watcher.
    pub watcher: RemotePid,
    /// The name by which it watches, or `NONE`.
    pub name: Term,
    connection: Connection,
}

/// A process that is to be made on another node.
#[derive(Clone, Copy, Debug)]
pub struct RemoteSpawn {
    /// The node.
    pub node: Term,
    /// The connection through which it was asked for.
    pub connection: Connection,
    /// Whether it is to be linked.
    pub link: bool,
    /// Whether it is to be watched.
    pub monitor: bool,
    /// Whether the program gets a message about a success, and about a failure.
    pub tells: (bool, bool),
    /// The program has given the request up: a process that is made is to end, if it is linked.
    pub abandoned: bool,
}

/// What a process has to do with other nodes.
#[derive(Default)]
pub struct Remote {
    /// Links, the ended ones that the other node may still believe in among them.
    pub links: HashMap<RemotePid, RemoteLink>,
    /// Monitors on others. An entry in [`crate::Rare::monitoring`] goes with each.
    pub monitoring: HashMap<ReferenceId, RemoteMonitor>,
    /// Monitors of others.
    pub monitored_by: HashMap<RemoteReference, RemoteWatcher>,
    /// Processes that it has asked for; the heads of the replies stand in [`crate::Rare::tags`].
    pub spawning: HashMap<ReferenceId, RemoteSpawn>,
    /// The group leader, if that is a process of another node.
    pub leader: Option<RemotePid>,
    /// The group leader that a new process begins with, if that is one of this node (local pid).
    pub local_leader: Option<Term>,
    /// The process that asked for this one.
    pub parent: Option<RemotePid>,
    /// Connections that tell this process when they are lost.
    pub watched: Vec<(Term, Connection)>,
    next_unlink: u64,
}

impl Remote {
    /// Links that last, always in the same order.
    pub fn linked(&self) -> impl Iterator<Item = RemotePid> {
        self.links.iter().filter(|(_, link)| link.unlinking == 0).map(|(pid, _)| *pid)
    }

    /// Adds a link that both sides know of.
    pub fn add_link(&mut self, pid: RemotePid, connection: Connection) {
        self.links.insert(pid, RemoteLink { connection, unlinking: 0 });
    }

    /// Adds a monitor of another.
    pub fn add_watcher(&mut self, reference: RemoteReference, watcher: RemotePid, name: Term, connection: Connection) {
        self.monitored_by.insert(reference, RemoteWatcher { watcher, name, connection });
    }

    /// Begins a link: whether the other node is to be told of it.
    pub fn begin_link(&mut self, pid: RemotePid, connection: Connection) -> bool {
        match self.links.get(&pid) {
            Some(link) if link.unlinking == 0 && link.connection == connection => false,
            _ => {
                self.add_link(pid, connection);
                true
            }
        }
    }

    /// Adds a monitor on another.
    pub fn add_monitor(&mut self, reference: ReferenceId, target: RemoteTarget, connection: Connection) {
        self.monitoring.insert(reference, RemoteMonitor { target, connection });
    }
}

/// What a process tells processes of other nodes. Terms lie on its heap.
#[derive(Clone, Copy, Debug)]
pub enum Tell {
    /// The link is over.
    Unlink {
        /// To be given back by the other node.
        id: u64,
        /// The other end.
        to: RemotePid,
    },
    /// It is known that the link is over.
    UnlinkKnown {
        /// The other node's number.
        id: u64,
        /// The other end.
        to: RemotePid,
    },
    /// The monitor is over.
    Demonitor {
        /// The monitor.
        reference: ReferenceId,
        /// What it watched.
        target: RemoteTarget,
    },
    /// The process ends, and is linked.
    Exit {
        /// The other end.
        to: RemotePid,
        /// The reason.
        reason: Term,
        /// The token that goes along, or `NONE`.
        token: Term,
    },
    /// The process ends, or does not exist, and is watched.
    Down {
        /// The watcher.
        to: RemotePid,
        /// The monitor.
        reference: RemoteReference,
        /// The name by which it is watched, or `NONE`.
        name: Term,
        /// The reason.
        reason: Term,
    },
}

impl Tell {
    /// The node that gets this.
    pub fn node(&self) -> Term {
        match self {
            Tell::Unlink { to, .. } | Tell::UnlinkKnown { to, .. } | Tell::Exit { to, .. } | Tell::Down { to, .. } => {
                to.node
            }
            Tell::Demonitor { target, .. } => target.node(),
        }
    }
}

/// What became of a message to another node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// It is on its way, or lost.
    Done,
    /// It is on its way, and so much before it that the sender has to wait: it is suspended until a signal ends that.
    Busy,
    /// It was not sent, because it would have had to wait.
    Full,
    /// It was not sent, because there is no connection.
    NotConnected,
    /// It was not sent, because it is too large.
    TooLarge,
}

/// How a message may be sent.
#[derive(Clone, Copy, Debug)]
pub struct SendOptions {
    /// Make a connection if there is none.
    pub connect: bool,
    /// The sender may be made to wait.
    pub suspend: bool,
}

/// The way to other nodes, for processes.
pub trait Distribution: Sync {
    /// Sends a message, which lies on the sender's heap, to a pid, `{Name, Node}` or an alias of another node.
    fn send(&self, sender: Term, own: &mut Own, destination: Term, message: Term, options: SendOptions) -> Sent;

    /// Tells another node something about the local process `from`, if that connection lasts.
    fn tell(&self, from: Term, connection: Connection, what: Tell);

    /// The process is to get [`RemoteSignal::ConnectionLost`]; false: the connection is lost already.
    fn watch(&self, node: Term, connection: Connection, pid: Term) -> bool;

    /// The process has ended.
    fn forget(&self, node: Term, connection: Connection, pid: Term);

    /// A process with work at its end has ended: it may have carried a connection. `reason` lies on its heap.
    fn ended(&self, pid: Term, reason: Term);
}

/// What processes of other nodes, and the connections to them, do to a process.
#[derive(Clone, Debug)]
pub enum RemoteSignal {
    /// The sender is linked to the receiver from now on.
    Link {
        /// The sender.
        from: RemotePid,
        /// Through which it came.
        connection: Connection,
    },
    /// The sender is not linked any more.
    Unlink {
        /// The sender.
        from: RemotePid,
        /// To be given back.
        id: u64,
        /// Through which it came.
        connection: Connection,
    },
    /// The sender knows that it is not linked any more.
    UnlinkKnown {
        /// The sender.
        from: RemotePid,
        /// Number of the link's end.
        id: u64,
    },
    /// A linked process has ended. The message's term is `{'EXIT', From, Reason}`.
    LinkExit {
        /// The sender.
        from: RemotePid,
        /// What it does as a message.
        mark: Mark,
    },
    /// The sender watches the receiver.
    Monitor {
        /// The watcher.
        from: RemotePid,
        /// The monitor.
        reference: RemoteReference,
        /// The name by which it watches, or `NONE`.
        name: Term,
        /// Through which it came.
        connection: Connection,
    },
    /// The sender does not watch the receiver any more.
    Demonitor {
        /// The monitor.
        reference: RemoteReference,
    },
    /// Take this group leader.
    GroupLeader {
        /// The new one.
        leader: RemotePid,
    },
    /// A process was made as the receiver had asked, or could not be. The message's term is the value of the reply: a
    /// pid or a reason.
    Spawned {
        /// The request.
        reference: ReferenceId,
        /// The new process, and whether it is linked; `None`: there is none.
        child: Option<(RemotePid, bool)>,
        /// Through which the reply came.
        connection: Connection,
        /// What the reply does as a message.
        mark: Mark,
    },
    /// Nothing comes through this connection any more.
    ConnectionLost {
        /// The node.
        node: Term,
        /// The connection.
        connection: Connection,
    },
}

/// Attaches a signal of another node to the message of its term.
pub fn signal_with(message: Message, remote: RemoteSignal) -> Message {
    attach(message, Signal::Remote(Box::new(remote)))
}

/// A signal of another node without a term.
pub fn bare(remote: RemoteSignal) -> Message {
    signal_with(Message::new(0), remote)
}

fn distribution() -> Option<&'static dyn Distribution> {
    System::get().distribution.get().copied()
}

impl Own {
    /// What it has to do with other nodes, made if there is nothing yet.
    pub fn remote(&mut self) -> &mut Remote {
        self.rare().remote.get_or_insert_default()
    }

    /// What it has to do with other nodes, if there is anything.
    pub fn known_remote(&mut self) -> Option<&mut Remote> {
        self.rare.as_mut()?.remote.as_deref_mut()
    }

    /// The group leader as a term on this process's heap.
    pub fn leader_term(&mut self) -> Term {
        match self.rare.as_ref().and_then(|rare| rare.remote.as_ref()?.leader) {
            Some(leader) => leader.term(&mut self.mutator),
            None => self.group_leader,
        }
    }

    /// The group leader, if it is a process of another node.
    pub fn remote_leader(&self) -> Option<RemotePid> {
        self.rare.as_ref()?.remote.as_ref()?.leader
    }

    /// Sets the group leader: a pid of any node.
    pub fn set_leader(&mut self, leader: Term) {
        match RemotePid::of(leader) {
            Some(remote) => self.remote().leader = Some(remote),
            None => {
                if let Some(remote) = self.known_remote() {
                    remote.leader = None;
                }
                self.group_leader = leader;
            }
        }
    }
}

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
    let tag = crate::handle::take_reply_tag(rare, reference);
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
            crate::handle::forget_monitor_tag(rare, reference);
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
    let Some(remote) = own.known_remote() else { return Fate::Lives };
    let is_lost = |other: Term, connection: Connection| other == node && connection <= lost;
    remote.watched.retain(|(other, connection)| !is_lost(*other, *connection));
    remote.monitored_by.retain(|_, one| !is_lost(one.watcher.node, one.connection));
    let spawning: Vec<ReferenceId> =
        remote.spawning.iter().filter(|(_, one)| is_lost(one.node, one.connection)).map(|(id, _)| *id).collect();
    let mut monitors: Vec<(ReferenceId, RemoteTarget)> = remote
        .monitoring
        .iter()
        .filter(|(_, one)| is_lost(one.target.node(), one.connection))
        .map(|(reference, one)| (*reference, one.target))
        .collect();
    // In the order in which they were made, in which programs that wait for many of them look for them.
    monitors.sort_unstable_by_key(|(ReferenceId([low, middle, high]), _)| (*high, *middle, *low));
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
    for (reference, target) in monitors {
        let heap = &mut own.mutator;
        let reference_term = reference.term(heap);
        let object = target.term(heap);
        let message = heap.tuple(&[atoms::DOWN, reference_term, atoms::PROCESS, object, atoms::NOCONNECTION]);
        let message = architecture().send(heap, message);
        crate::handle::monitor_fired(pid, own, reference, message);
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
