//! The Cheney copy (Cheney 1970), with up to two destinations. A copied cons leaves `NONE` in its first word and the
//! new term in its second; a copied boxed object leaves the new term in the place of its header.
//!
//! The spine of a list is copied in one go, so that lists lie in a row and fewer objects wait to be scanned.

use atoll_term::{Header, Term, Word};

/// What becomes of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Destination {
    /// It is not in the collected space.
    Stay,
    /// It is copied to the young generation.
    Young,
    /// It is copied to the old generation.
    Old,
}

/// Says from an object's address where it goes; the answer does not change during a collection.
pub(crate) trait Policy {
    /// Where the object at this address goes.
    fn destination(&self, place: *const Word) -> Destination;
}

/// A copy under way. The destinations are large enough for everything that may be copied there.
pub(crate) struct Copier<P> {
    policy: P,
    /// Next free word of the young destination.
    pub(crate) young: *mut Word,
    /// Next free word of the old destination.
    pub(crate) old: *mut Word,
}

impl<P: Policy> Copier<P> {
    /// A copy to these places.
    pub(crate) fn new(policy: P, young: *mut Word, old: *mut Word) -> Copier<P> {
        Copier { policy, young, old }
    }

    /// Copies what a word refers to, if it is collected, and redirects the word.
    ///
    /// # Safety
    /// The word is a term (or a code address) whose object, if it is collected, is whole or forwarded.
    #[inline(always)]
    pub(crate) unsafe fn visit(&mut self, slot: *mut Word) {
        // SAFETY: the caller vouches for the slot; the destinations have room.
        unsafe {
            let term = Term::from_word(*slot);
            if !term.is_pointer() {
                return;
            }
            let moved = match self.policy.destination(term.pointer()) {
                Destination::Stay => return,
                Destination::Young => {
                    let (moved, top) = self.copy(term, Destination::Young, self.young);
                    self.young = top;
                    moved
                }
                Destination::Old => {
                    let (moved, top) = self.copy(term, Destination::Old, self.old);
                    self.old = top;
                    moved
                }
            };
            *slot = moved.word();
        }
    }

    /// Redirects objects that exist elsewhere already to their copies, if this collection concerns them; leaves the
    /// others in the list.
    ///
    /// # Safety
    /// Pairs of whole objects and copies of them, of the same kind; nothing has been visited yet. The objects have no
    /// off-heap parts.
    pub(crate) unsafe fn redirect(&mut self, elsewhere: &mut Vec<(Term, Term)>) {
        elsewhere.retain(|(object, copy)| {
            let place = object.pointer();
            if self.policy.destination(place) == Destination::Stay {
                return true;
            }
            // SAFETY: the object is whole, and is only met through what is forwarded here from now on.
            unsafe {
                if object.is_cons() {
                    *place = Term::NONE.word();
                    *place.add(1) = copy.word();
                } else {
                    *place = copy.word();
                }
            }
            false
        });
    }

    /// Where an object that was whole before is now; `None` if nothing refers to it.
    ///
    /// # Safety
    /// A pointer to such an object; everything was scanned.
    pub(crate) unsafe fn moved(&self, object: Term) -> Option<Term> {
        let place = object.pointer();
        if self.policy.destination(place) == Destination::Stay {
            return Some(object);
        }
        // SAFETY: the object is whole, or was replaced by where it is.
        unsafe {
            let first = Term::from_word(*place);
            match object.is_cons() {
                true => (first == Term::NONE).then(|| Term::from_word(*place.add(1))),
                false => (!first.is_header()).then_some(first),
            }
        }
    }

    /// Visits a run of words.
    ///
    /// # Safety
    /// As [`Copier::visit`] for each of them.
    pub(crate) unsafe fn visit_run(&mut self, start: *mut Word, words: usize) {
        for index in 0..words {
            // SAFETY: the caller vouches for the run.
            unsafe { self.visit(start.add(index)) }
        }
    }

    /// Scans what was copied since `young` and `old` until nothing is left to copy.
    ///
    /// # Safety
    /// From these places on, only this copy has written.
    pub(crate) unsafe fn scan(&mut self, mut young: *mut Word, mut old: *mut Word) {
        while young < self.young || old < self.old {
            while young < self.young {
                // SAFETY: the place is the start of a copied object's word that was not scanned.
                young = unsafe { scan_word(young, |slot| self.visit(slot)) };
            }
            while old < self.old {
                // SAFETY: as above.
                old = unsafe { scan_word(old, |slot| self.visit(slot)) };
            }
        }
    }

    #[inline(always)]
    unsafe fn copy(&self, term: Term, destination: Destination, top: *mut Word) -> (Term, *mut Word) {
        if term.is_cons() {
            // SAFETY: as the caller's.
            return unsafe { self.copy_list(term.pointer(), destination, top) };
        }
        // SAFETY: the object is whole or forwarded, and there is room at `top` for it.
        unsafe {
            let object = term.pointer();
            let first = Term::from_word(*object);
            if !first.is_header() {
                return (first, top);
            }
            let words = Header::from_word(first.word()).object_words();
            copy_words(object, top, words);
            let moved = Term::boxed_at(top);
            *object = moved.word();
            (moved, top.add(words))
        }
    }

    unsafe fn copy_list(&self, mut cell: *mut Word, destination: Destination, mut top: *mut Word) -> (Term, *mut Word) {
        // SAFETY: each cell is a whole or forwarded cons of the collected space with this destination, which has room.
        unsafe {
            if *cell == Term::NONE.word() {
                return (Term::from_word(*cell.add(1)), top);
            }
            let moved = Term::cons_at(top);
            loop {
                let tail = Term::from_word(*cell.add(1));
                *top = *cell;
                *cell = Term::NONE.word();
                *cell.add(1) = Term::cons_at(top).word();
                let link = top.add(1);
                top = top.add(2);
                if !tail.is_cons() || self.policy.destination(tail.pointer()) != destination {
                    *link = tail.word();
                    return (moved, top);
                }
                cell = tail.pointer();
                if *cell == Term::NONE.word() {
                    *link = *cell.add(1);
                    return (moved, top);
                }
                *link = Term::cons_at(top).word();
            }
        }
    }
}

/// Has a word of a copied object visited if it is a pointer: where the next one is to be scanned.
///
/// # Safety
/// `place` is the first word of a whole object, or one behind it that is a term.
#[inline(always)]
pub(crate) unsafe fn scan_word(place: *mut Word, visit: impl FnOnce(*mut Word)) -> *mut Word {
    // SAFETY: the caller's obligation; after a header of an opaque object nothing is scanned.
    unsafe {
        let word = Term::from_word(*place);
        if word.is_pointer() {
            visit(place);
        } else if word.is_header() {
            let header = Header::from_word(word.word());
            if header.is_opaque() {
                return place.add(header.object_words());
            }
        }
        place.add(1)
    }
}

/// Copies an object. Most are a few words, for which calling the library's copy would take longer than the copy.
///
/// # Safety
/// `from` is readable and `to` writable for so many words, at least one; they do not overlap.
#[inline(always)]
pub(crate) unsafe fn copy_words(from: *const Word, to: *mut Word, words: usize) {
    #[inline(always)]
    unsafe fn fixed<const N: usize>(from: *const Word, to: *mut Word) {
        // SAFETY: the caller's.
        unsafe { *to.cast::<[Word; N]>() = *from.cast::<[Word; N]>() }
    }
    // SAFETY: the caller's.
    unsafe {
        match words {
            1 => fixed::<1>(from, to),
            2 => fixed::<2>(from, to),
            3 => fixed::<3>(from, to),
            4 => fixed::<4>(from, to),
            5 => fixed::<5>(from, to),
            6 => fixed::<6>(from, to),
            _ => std::ptr::copy_nonoverlapping(from, to, words),
        }
    }
}
