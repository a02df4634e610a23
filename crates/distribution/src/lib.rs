//! Connections to other nodes. OTP's Erlang code makes them and keeps them alive; here is what it expects of the
//! machine: the table of nodes, the control messages, and what happens to processes when a connection is lost.
//!
//! | file | holds |
//! |---|---|
//! | `nodes` | the nodes that are known, and the way to each |
//! | `node` | the connection to one: its phases, its end, the processes that learn of it |
//! | `handle` | its name for the process that made it |
//! | `arrivals` | what has come through it, on which one thread at a time acts |
//! | `output`, `atom_cache` | what is to leave; fragments, headers |
//! | `input` | what has come; fragments, headers |
//! | `control`, `signals` | control messages, and what processes of this node make of theirs |
//! | `dispatch`, `spawning` | what control messages do to processes of this node |
//! | `kept` | terms that are kept while no heap has them |
//! | `token` | tokens of sequential tracing in control messages |
//! | `watching` | processes that get messages about nodes that come and go |
//! | `description` | what crash dumps say of all this |
#![forbid(unsafe_code)]

use std::sync::atomic::{AtomicU32, Ordering};

use atoll_process::System;
use atoll_term::atoms::known_atom;
use atoll_term::{AtomicImmediate, Immediate, Term, atoms, set_this_node, this_node};

mod arrivals;
pub mod atom_cache;
mod control;
pub mod description;
mod dispatch;
pub mod flags;
mod form;
mod handle;
mod input;
mod kept;
pub mod node;
pub mod nodes;
mod output;
pub mod report;
mod signals;
pub mod spawning;
mod token;
pub mod watching;

pub use kept::Kept;
pub use node::tell;
pub use signals::{Request, Wished, exit_signal, group_leader, link, monitor, request_process};

/// The default of [`busy_limit`].
pub const BUSY_LIMIT: usize = 1 << 20;

/// What one machine knows of other nodes.
pub struct Part {
    busy_limit: usize,
    /// The process that keeps the connections (local pid).
    kernel: AtomicImmediate,
    next_connection: AtomicU32,
    nodes: nodes::Known,
    wishes: watching::Wishes,
}

atoll_platform::part_of_machine!(Part);

impl Part {
    /// Of a machine in which so many bytes may wait for a connection before senders have to.
    pub fn new(busy_limit: usize) -> Part {
        Part {
            busy_limit,
            kernel: AtomicImmediate::new(Immediate::NONE),
            next_connection: AtomicU32::new(1),
            nodes: nodes::Known::default(),
            wishes: watching::Wishes::default(),
        }
    }
}

/// Bytes that may wait for a connection before senders have to.
pub fn busy_limit() -> usize {
    part().busy_limit
}

/// The node has got its name: when this process ends, it loses its name and all connections.
pub fn set_kernel(pid: Term) {
    part().kernel.store(Immediate::or_none(pid), Ordering::Release);
    System::get().table.with(pid, |process| process.at_end.note_work());
}

/// Gives processes the way to other nodes; once, before the first starts.
pub fn install() {
    let _ = System::get().distribution.set(&signals::Nodes);
}

/// Of `{shutdown, Reason}` the reason: carriers that are processes of OTP's end with it when they are told to.
fn in_shutdown(reason: Term) -> Term {
    match reason.tuple_elements() {
        Some(&[shutdown, inner]) if shutdown == known_atom("shutdown") => inner,
        _ => reason,
    }
}

/// A process with work at its end has ended: it may have kept a connection, or all of them.
fn process_ended(pid: Term, reason: Term) {
    watching::forget(pid);
    if part().kernel.load(Ordering::Acquire) == pid {
        part().kernel.store(Immediate::NONE, Ordering::Release);
        let reason = known_atom("net_kernel_terminated");
        nodes::end_all(reason);
        let (this, _) = this_node();
        set_this_node(atoms::NONODE_NOHOST, 0);
        watching::tell(watching::Change::Down { reason: &Kept::of(reason) }, this, 0, true);
    }
    for node in nodes::all() {
        if node.carrier() == node::Carrier::Process(pid) {
            let (_, connection, _) = node.status();
            node.end(connection, Kept::of(in_shutdown(reason)));
        }
    }
}
