//! Identifiers of other nodes as numbers, which no collection makes stale.

use atoll_term::{Build, ExternalKind, Term, View};

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
