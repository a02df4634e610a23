//! The nodes that this one is or was connected to, and what sends go through.

use std::collections::BTreeMap;
use std::sync::Arc;

use atoll_process::System;
use atoll_process::remote::Connection;
use atoll_term::atoms::known_atom;
use atoll_term::{Build, Term, atoms, this_node};
use parking_lot::RwLock;

use crate::kept::Kept;
use crate::node::{self, Handle, Line, Node, Phase};

/// By the index of the atom that is the name.
pub(crate) type Known = RwLock<BTreeMap<u32, Arc<Node>>>;

fn known() -> &'static Known {
    &crate::part().nodes
}

/// Nodes that may be known and not connected before they are forgotten.
const MOST_IDLE: usize = 1024;

/// A node that is known.
pub fn find(name: Term) -> Option<Arc<Node>> {
    known().read().get(&name.atom_index()).cloned()
}

/// Name and creation of the connected node that texts of pids call by this number, the index of its name.
pub fn numbered(number: u32) -> Option<(Term, u32)> {
    let node = known().read().get(&number).cloned()?;
    Some((node.name, node.creation()?))
}

/// A node, which is known from now on.
pub fn find_or_add(name: Term) -> Arc<Node> {
    if let Some(node) = find(name) {
        return node;
    }
    let mut nodes = known().write();
    if nodes.len() >= MOST_IDLE {
        nodes.retain(|_, node| Arc::strong_count(node) > 1 || !node.is_idle());
    }
    nodes.entry(name.atom_index()).or_insert_with(|| Arc::new(Node::new(name))).clone()
}

/// All that are known.
pub fn all() -> Vec<Arc<Node>> {
    known().read().values().cloned().collect()
}

/// The node that a handle is of, if that connection lasts.
pub fn of_handle(handle: Handle) -> Option<Arc<Node>> {
    all().into_iter().find(|node| node.is_handle(handle))
}

/// The way to a node. With `connect`, one is made if there is none and this node can make connections.
pub fn way_to(name: Term, connect: bool) -> Option<(Arc<Node>, Line)> {
    if this_node().0 == atoms::NONODE_NOHOST {
        return None;
    }
    let found = find(name);
    if let Some((node, line)) = found.as_ref().and_then(|node| Some((node, node.line()?))) {
        return Some((node.clone(), line));
    }
    if !connect {
        return None;
    }
    let kernel = System::get().whereis(atoms::NET_KERNEL)?;
    let node = found.unwrap_or_else(|| find_or_add(name));
    let (is_new, handle) = node.begin();
    if is_new {
        node::tell(kernel, |heap| {
            let handle = handle.term(heap);
            heap.tuple(&[known_atom("auto_connect"), name, handle])
        });
    }
    let line = node.line()?;
    Some((node, line))
}

/// Ends all connections: the process that keeps them has ended. `reason` is an immediate.
pub fn end_all(reason: Term) {
    for node in all() {
        let (phase, connection, _) = node.status();
        if phase != Phase::Idle {
            end(&node, connection, reason);
        }
    }
}

/// Ends a connection, and the port that carries it. `reason` is an immediate.
pub fn end(node: &Arc<Node>, connection: Connection, reason: Term) {
    let carrier = node.carrier();
    if node.end(connection, Kept::of(reason))
        && let node::Carrier::Port(port) = carrier
    {
        atoll_ports::channel::close(port, reason);
    }
}
