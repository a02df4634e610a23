//! Processes of other nodes: how they are named here, what a process knows of them, and what they do to it. The crate
//! `distribution` brings what they send, and takes what processes of this node tell them ([`Distribution`]).
//!
//! An identifier of another node is an object on some heap. What is kept longer than a call is kept as numbers
//! ([`RemotePid`], [`RemoteReference`]), which no collection makes stale.
//!
//! | file | holds |
//! |---|---|
//! | `identifiers` | pids, references and what is watched, as numbers |
//! | `acting` | what a process does at signals, lost connections and its end |
//!
//! Each entry here belongs to one connection. When that is lost, the process gets [`RemoteSignal::ConnectionLost`]
//! behind all that came through it, and acts on the entries of that connection and of those before it.

use atoll_heap::Message;
use atoll_platform::steady::{HashMap, QuickMap};
use atoll_term::Term;

use crate::process::Own;
use crate::reference::ReferenceId;
use crate::sequence::Mark;
use crate::signal::{Signal, attach};
use crate::system::System;

mod acting;
mod identifiers;

pub(crate) use acting::{act, answer_for_missing, demonitor, ended, forget_monitor, tell_others};
pub use acting::{unlink, watch};
pub use identifiers::{RemotePid, RemoteReference, RemoteTarget};

/// Number of a connection: higher than those of all earlier ones, whatever their nodes.
pub type Connection = u32;

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
    /// How many the process has made before it. References do not say that: each scheduler gives its own.
    place: u64,
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
    pub monitoring: QuickMap<ReferenceId, RemoteMonitor>,
    /// Monitors of others.
    pub monitored_by: HashMap<RemoteReference, RemoteWatcher>,
    /// Processes that it has asked for; the heads of the replies stand in [`crate::Rare::tags`].
    pub spawning: QuickMap<ReferenceId, RemoteSpawn>,
    /// The group leader, if that is a process of another node.
    pub leader: Option<RemotePid>,
    /// The group leader that a new process begins with, if that is one of this node (local pid).
    pub local_leader: Option<Term>,
    /// The process that asked for this one.
    pub parent: Option<RemotePid>,
    /// Connections that tell this process when they are lost.
    pub watched: Vec<(Term, Connection)>,
    next_unlink: u64,
    next_monitor: u64,
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
        let place = self.next_monitor;
        self.next_monitor += 1;
        self.monitoring.insert(reference, RemoteMonitor { target, connection, place });
    }

    /// Takes some of its monitors out, in the order in which they were made, in which programs that wait for many look
    /// for them; of these, those that `lasts` knows.
    fn take_monitors(
        &mut self,
        which: impl Fn(&RemoteMonitor) -> bool,
        mut lasts: impl FnMut(&ReferenceId) -> bool,
    ) -> Vec<(ReferenceId, RemoteTarget)> {
        let places = self.monitoring.values().filter(|one| which(one)).map(|one| one.place);
        let (count, first, last) =
            places.fold((0, u64::MAX, 0), |(count, first, last), place| (count + 1, first.min(place), last.max(place)));
        if count == 0 {
            return Vec::new();
        }
        // A map of the same keys lies in the same order, so `lasts` goes through such a map from one end to the other.
        let taken = self.monitoring.extract_if(|_, one| which(one)).filter(|(key, _)| lasts(key));
        let taken = taken.map(|(key, one)| (one.place, key, one.target));
        if last - first < 2 * count {
            // Most places from the first to the last: each is put where it belongs.
            let mut slots = vec![None; (last - first + 1) as usize];
            taken.for_each(|(place, key, target)| slots[(place - first) as usize] = Some((key, target)));
            return slots.into_iter().flatten().collect();
        }
        let mut taken: Vec<(u64, ReferenceId, RemoteTarget)> = taken.collect();
        taken.sort_unstable_by_key(|(place, ..)| *place);
        taken.into_iter().map(|(_, key, target)| (key, target)).collect()
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

/// What became of a message to another node, or to a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    /// It is on its way, or lost.
    Done,
    /// It is on its way, and so much before it that the sender has to wait: it is suspended until a signal ends that.
    Busy,
    /// It was not sent, because the port has enough to write: the sender is suspended until a signal ends that, and
    /// sends it again then.
    Later,
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

#[cfg(test)]
mod tests {
    use atoll_term::atoms;

    use super::*;

    #[test]
    fn monitors_are_in_the_order_in_which_they_were_made() {
        // A process that runs on one scheduler and then on another gets references that fall.
        let made: Vec<ReferenceId> = [5, 4096, 6, 9000, 1, 2].map(|number| ReferenceId([number, 0, 0])).into();
        let mut remote = Remote::default();
        let target = RemoteTarget::Name { name: atoms::OK, node: atoms::ERROR };
        for (connection, reference) in made.iter().enumerate() {
            remote.add_monitor(*reference, target, connection as Connection);
        }
        let mut taken = |below: Connection| -> Vec<ReferenceId> {
            let monitors = remote.take_monitors(|one| one.connection < below, |key| *key != made[1]);
            monitors.into_iter().map(|(reference, _)| reference).collect()
        };
        assert_eq!(taken(3), [made[0], made[2]]);
        assert_eq!(taken(9), made[3..]);
        assert_eq!(taken(9), []);
    }

    /// Those of one connection lie between those of others.
    #[test]
    fn monitors_far_apart_are_in_their_order_too() {
        let made: Vec<ReferenceId> = (0..100).map(|number| ReferenceId([number * 7919 % 100, number, 0])).collect();
        let mut remote = Remote::default();
        let target = RemoteTarget::Name { name: atoms::OK, node: atoms::ERROR };
        for (place, reference) in made.iter().enumerate() {
            remote.add_monitor(*reference, target, place as Connection % 10);
        }
        let monitors = remote.take_monitors(|one| one.connection == 3, |_| true);
        let taken: Vec<ReferenceId> = monitors.into_iter().map(|(reference, _)| reference).collect();
        assert_eq!(taken, made.iter().skip(3).step_by(10).copied().collect::<Vec<_>>());
        assert_eq!(remote.monitoring.len(), 90);
    }
}
