//! What terms mean depends on the machine that they belong to: on the name of its node, which local identifiers do not
//! carry but are ordered by, and on the release that it is like.

use std::cell::Cell;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::atoms;
use crate::word::Term;

/// The part of a machine that this crate has.
pub struct Part {
    /// Creation in the low half, atom index of the name in the high half.
    node: AtomicU64,
    release: AtomicU32,
}

/// Before it gets a name.
const UNNAMED: u64 = (atoms::NONODE_NOHOST.atom_index() as u64) << 32;
/// Before it is said which it is.
const FIRST_RELEASE: u32 = 25;

impl Default for Part {
    fn default() -> Part {
        Part { node: AtomicU64::new(UNNAMED), release: AtomicU32::new(FIRST_RELEASE) }
    }
}

thread_local! {
    static PART: Cell<Option<&'static Part>> = const { Cell::new(None) };
}

/// This thread's machine has this part. A thread that has entered none sees a node without a name.
pub fn enter(part: &'static Part) {
    PART.set(Some(part));
}

/// Names the node of this thread's machine (`nonode@nohost` with creation 0 until then).
pub fn set_this_node(name: Term, creation: u32) {
    let part = PART.get().expect("a thread of a machine");
    part.node.store(u64::from(name.atom_index()) << 32 | u64::from(creation), Ordering::Release);
}

/// Name (atom) and creation of this node.
pub fn this_node() -> (Term, u32) {
    let node = PART.get().map_or(UNNAMED, |part| part.node.load(Ordering::Acquire));
    (Term::atom((node >> 32) as u32), node as u32)
}

/// This thread's machine is like this release from now on. To be said before there are terms.
pub fn set_release(number: u32) {
    PART.get().expect("a thread of a machine").release.store(number, Ordering::Relaxed);
}

/// The number of the release that this thread's machine is like.
pub fn release() -> u32 {
    PART.get().map_or(FIRST_RELEASE, |part| part.release.load(Ordering::Relaxed))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a thread of a machine of its own sees.
    fn on_a_machine<T: Send + 'static>(test: fn() -> T) -> T {
        let thread = std::thread::spawn(move || {
            enter(Box::leak(Box::default()));
            test()
        });
        thread.join().expect("the test")
    }

    #[test]
    fn each_machine_has_its_node_and_its_release() {
        let named = || {
            set_this_node(atoms::OK, 7);
            set_release(27);
            (this_node(), release())
        };
        let plain = || (this_node(), release());
        assert_eq!(on_a_machine(named), ((atoms::OK, 7), 27));
        assert_eq!(on_a_machine(plain), ((atoms::NONODE_NOHOST, 0), 25));
        assert_eq!(plain(), ((atoms::NONODE_NOHOST, 0), 25));
    }
}
