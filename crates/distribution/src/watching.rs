//! Processes that get messages about nodes that come and go (`net_kernel:monitor_nodes`).

use atoll_process::remote::Connection;
use atoll_term::atoms::known_atom;
use atoll_term::{Build, ScratchHeap, Term, atoms, map};
use parking_lot::Mutex;

use crate::kept::Kept;
use crate::node::tell as send;

/// The nodes about which a process gets messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Those that are published.
    Visible,
    /// The others.
    Hidden,
    /// All.
    All,
}

/// What these messages say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wish {
    /// Which nodes.
    pub kind: Kind,
    /// Says of which kind a node is.
    pub tells_kind: bool,
    /// Says why a node is down.
    pub tells_reason: bool,
    /// Says the number of the connection.
    pub tells_connection: bool,
    /// Messages have a third element; whether that is a list rather than a map.
    pub information: Option<bool>,
}

impl Wish {
    /// That of `monitor_nodes` without options.
    pub const PLAIN: Wish = Wish {
        kind: Kind::Visible,
        tells_kind: false,
        tells_reason: false,
        tells_connection: false,
        information: None,
    };
}

/// What has happened to a node.
#[derive(Clone, Copy, Debug)]
pub enum Change<'r> {
    /// It is connected.
    Up,
    /// It is not any more.
    Down {
        /// Why.
        reason: &'r Kept,
    },
}

/// Each process's wishes, with how often it has each.
pub(crate) type Wishes = Mutex<Vec<(Term, Wish, u32)>>;

fn kept() -> &'static Wishes {
    &crate::part().wishes
}

/// A process wishes to be told once more, or not at all; how often it has wished before.
pub fn set(pid: Term, wish: Wish, on: bool) -> u32 {
    let mut wishes = kept().lock();
    let place = wishes.iter().position(|(other, one, _)| (*other, *one) == (pid, wish));
    match (place, on) {
        (Some(place), true) => {
            wishes[place].2 += 1;
            wishes[place].2 - 1
        }
        (Some(place), false) => wishes.remove(place).2,
        (None, true) => {
            wishes.push((pid, wish, 1));
            0
        }
        (None, false) => 0,
    }
}

/// The process has ended.
pub fn forget(pid: Term) {
    kept().lock().retain(|(other, _, _)| *other != pid);
}

/// Each process's wishes, with how often it has each.
pub fn wishes() -> Vec<(Term, Wish, u32)> {
    kept().lock().clone()
}

/// Tells all that wish it.
pub fn tell(change: Change<'_>, node: Term, connection: Connection, is_published: bool) {
    for (pid, wish, count) in wishes() {
        let is_meant = match wish.kind {
            Kind::Visible => is_published,
            Kind::Hidden => !is_published,
            Kind::All => true,
        };
        if is_meant {
            (0..count).for_each(|_| send(pid, |heap| message(heap, wish, change, node, connection, is_published)));
        }
    }
}

fn message(
    heap: &mut ScratchHeap,
    wish: Wish,
    change: Change<'_>,
    node: Term,
    connection: Connection,
    is_published: bool,
) -> Term {
    let what = if matches!(change, Change::Up) { atoms::NODEUP } else { atoms::NODEDOWN };
    let mut pairs = Vec::new();
    if wish.tells_connection {
        pairs.push((known_atom("connection_id"), Term::small(connection.into())));
    }
    if wish.tells_kind {
        let kind = if is_published { atoms::VISIBLE } else { atoms::HIDDEN };
        pairs.push((known_atom("node_type"), kind));
    }
    if let Change::Down { reason } = change
        && wish.tells_reason
    {
        pairs.push((known_atom("nodedown_reason"), reason.term(heap)));
    }
    match wish.information {
        None => heap.tuple(&[what, node]),
        Some(true) => {
            let pairs: Vec<Term> = pairs.into_iter().map(|(key, value)| heap.tuple(&[key, value])).collect();
            let list = heap.list(pairs);
            heap.tuple(&[what, node, list])
        }
        Some(false) => {
            let information = map::from_pairs(heap, &pairs);
            heap.tuple(&[what, node, information])
        }
    }
}
