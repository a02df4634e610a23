//! Terms without a pointer: what may be kept for longer than a call.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::word::{Term, Word};

/// An atom, a local pid or port, a small integer or `[]`, or [`Term::NONE`]: complete in its word, so no collection
/// makes it stale. What outlives a call, lies in a static or goes to another thread is of this type where a [`Term`]
/// cannot be.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(transparent)]
pub struct Immediate(Word);

impl Immediate {
    /// No term at all: see [`Term::NONE`].
    pub const NONE: Immediate = Immediate(Term::NONE.word());

    /// The term, if it has no pointer.
    #[inline(always)]
    pub const fn of(term: Term) -> Option<Immediate> {
        if term.is_pointer() { None } else { Some(Immediate(term.word())) }
    }

    /// The term, if it has no pointer, else [`Immediate::NONE`].
    #[inline(always)]
    pub const fn or_none(term: Term) -> Immediate {
        if term.is_pointer() { Immediate::NONE } else { Immediate(term.word()) }
    }

    /// The term.
    #[inline(always)]
    pub const fn term(self) -> Term {
        // SAFETY: no immediate is made of a pointer.
        unsafe { Term::from_word(self.0) }
    }

    /// Whether this is [`Immediate::NONE`].
    #[inline(always)]
    pub const fn is_none(self) -> bool {
        self.0 == Immediate::NONE.0
    }
}

impl fmt::Debug for Immediate {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.term().fmt(out)
    }
}

impl From<Immediate> for Term {
    #[inline(always)]
    fn from(immediate: Immediate) -> Term {
        immediate.term()
    }
}

impl PartialEq<Term> for Immediate {
    #[inline(always)]
    fn eq(&self, other: &Term) -> bool {
        self.0 == other.word()
    }
}

impl PartialEq<Immediate> for Term {
    #[inline(always)]
    fn eq(&self, other: &Immediate) -> bool {
        self.word() == other.0
    }
}

/// An [`Immediate`] that threads share.
#[derive(Debug)]
pub struct AtomicImmediate(AtomicU64);

impl AtomicImmediate {
    /// With this value at first.
    pub const fn new(value: Immediate) -> AtomicImmediate {
        AtomicImmediate(AtomicU64::new(value.0))
    }

    /// The value.
    #[inline(always)]
    pub fn load(&self, ordering: Ordering) -> Immediate {
        Immediate(self.0.load(ordering))
    }

    /// Sets the value.
    #[inline(always)]
    pub fn store(&self, value: Immediate, ordering: Ordering) {
        self.0.store(value.0, ordering);
    }

    /// Sets the value, and gives back the one before.
    #[inline(always)]
    pub fn swap(&self, value: Immediate, ordering: Ordering) -> Immediate {
        Immediate(self.0.swap(value.0, ordering))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Build, ScratchHeap, atoms};

    #[test]
    fn pointers_are_refused() {
        let mut heap = ScratchHeap::new();
        let (tuple, list) = (heap.tuple(&[Term::NIL]), heap.list([Term::NIL]));
        for term in [tuple, list] {
            assert_eq!(Immediate::of(term), None);
            assert!(Immediate::or_none(term).is_none());
        }
        for term in [Term::small(-5), Term::pid(7), Term::port(7), Term::NIL, atoms::TRUE, Term::NONE] {
            assert_eq!(Immediate::of(term).map(Immediate::term), Some(term));
        }
        let shared = AtomicImmediate::new(Immediate::NONE);
        shared.store(Immediate::or_none(atoms::TRUE), Ordering::Relaxed);
        assert_eq!(shared.load(Ordering::Relaxed), atoms::TRUE);
    }
}
