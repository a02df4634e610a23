//! The name of this node, which local identifiers do not carry but are ordered by.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::atoms;
use crate::word::Term;

/// Creation in the low half, atom index of the name in the high half.
static THIS_NODE: AtomicU64 = AtomicU64::new((atoms::NONODE_NOHOST.atom_index() as u64) << 32);

/// Names this node (`nonode@nohost` with creation 0 until then).
pub fn set_this_node(name: Term, creation: u32) {
    THIS_NODE.store(u64::from(name.atom_index()) << 32 | u64::from(creation), Ordering::Release);
}

/// Name (atom) and creation of this node.
pub fn this_node() -> (Term, u32) {
    let node = THIS_NODE.load(Ordering::Acquire);
    (Term::atom((node >> 32) as u32), node as u32)
}
