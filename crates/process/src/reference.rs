//! Numbers of references: unique for the life of the machine.

use std::sync::atomic::{AtomicU64, Ordering};

use atoll_term::{Build, Term, View};

/// The numbers of a local reference, as a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ReferenceId(pub [u32; 3]);

static NEXT: AtomicU64 = AtomicU64::new(1);

/// References are handed to a thread in runs of this many, so that threads do not meet at the counter.
const RUN: u64 = 4096;

thread_local! {
    static OWN: std::cell::Cell<(u64, u64)> = const { std::cell::Cell::new((0, 0)) };
}

impl ReferenceId {
    /// Numbers that were never used before.
    pub fn fresh() -> ReferenceId {
        OWN.with(|own| {
            let (mut next, mut end) = own.get();
            if next == end {
                next = NEXT.fetch_add(RUN, Ordering::Relaxed);
                end = next + RUN;
            }
            own.set((next + 1, end));
            // The first number of a reference has 18 bits in the external format.
            ReferenceId([(next & 0x3_ffff) as u32, (next >> 18) as u32, (next >> 50) as u32])
        })
    }

    /// The numbers of a local reference term.
    pub fn of(term: Term) -> Option<ReferenceId> {
        match term.view() {
            View::Reference(reference) => Some(ReferenceId(reference.numbers())),
            _ => None,
        }
    }

    /// A term with these numbers.
    pub fn term(self, heap: &mut (impl Build + ?Sized)) -> Term {
        heap.reference(self.0, None)
    }

    /// A term with these numbers that messages to `process` can be sent to.
    pub fn alias_term(self, heap: &mut (impl Build + ?Sized), process: Term) -> Term {
        heap.reference(self.0, Some(process))
    }
}
