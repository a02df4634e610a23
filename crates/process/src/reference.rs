//! Numbers of references: unique for the life of the machine.

use std::any::Any;
use std::hash::{Hash, Hasher};
use std::sync::atomic::Ordering;

use atoll_heap::known;
use atoll_term::{Build, MagicValue, Term, View};

use crate::system::System;

/// The numbers of a local reference, as a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ReferenceId(pub [u32; 3]);

impl Hash for ReferenceId {
    /// Two words at once: a derived hash goes through the numbers as through bytes of any length.
    fn hash<H: Hasher>(&self, state: &mut H) {
        let [first, second, third] = self.0;
        state.write_u64(u64::from(first) | u64::from(second) << 32);
        state.write_u32(third);
    }
}

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
                next = System::get().given.references.fetch_add(RUN, Ordering::Relaxed);
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

    /// A new reference that keeps a value of the machine alive.
    pub fn of_value(heap: &mut (impl Build + ?Sized), value: impl Any + Send + Sync) -> Term {
        heap.magic_reference(ReferenceId::fresh().0, MagicValue::new(value))
    }

    /// As [`ReferenceId::of_value`]. The value is also found by a reference that was written in the external format and
    /// read again, while the value lives.
    pub fn of_known_value(heap: &mut (impl Build + ?Sized), value: impl Any + Send + Sync) -> Term {
        let (numbers, value) = (ReferenceId::fresh().0, MagicValue::new(value));
        known().remember(numbers, &value);
        heap.magic_reference(numbers, value)
    }

    /// A term with these numbers that messages to `process` can be sent to.
    pub fn alias_term(self, heap: &mut (impl Build + ?Sized), process: Term) -> Term {
        heap.reference(self.0, Some(process))
    }
}
