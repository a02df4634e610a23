//! The place where an engine builds objects of an area that all processes share, one in front of the other: a few words
//! that belong to the scheduler until the window is closed. The engine reports the new objects to the architecture all
//! at once, when the window is closed, so building costs about as much as on the process's own heap.
//!
//! The architecture opens windows. It closes them before another process can see a new object (in a message, in a
//! stored term, at the end of the time slice), and before it allocates in the area in any other way.

use std::cell::Cell;
use std::ptr::{null_mut, without_provenance_mut};

use atoll_term::{Term, Word};

/// Words of the groups that windows lie in: a window never reaches over the end of one.
pub const GROUP_WORDS: usize = 64;

/// Where a closed window begins: there is no room above.
const CLOSED: *mut Word = without_provenance_mut(usize::MAX);

/// A window, open or closed.
#[derive(Debug)]
pub struct BuildWindow {
    /// Where the next object ends. Lists are built from their ends, so their cells come to lie in a row.
    next: Cell<*mut Word>,
    /// Where the window begins; `CLOSED` if it is not open.
    start: Cell<*mut Word>,
    /// Bits of the first and of the second word of each object, numbered within the group.
    objects: Cell<u64>,
    /// The two bits of an object that begins at `next`, modulo the group: kept so that taking room is a rotation by a
    /// constant.
    bits: Cell<u64>,
    /// Addresses that may be referred to, and their number: what no collector moves.
    immovable: Cell<(usize, usize)>,
}

thread_local! {
    static WINDOW: BuildWindow = const {
        BuildWindow {
            next: Cell::new(null_mut()),
            start: Cell::new(CLOSED),
            objects: Cell::new(0),
            bits: Cell::new(0),
            immovable: Cell::new((0, 0)),
        }
    };
}

/// Calls `use_it` with this thread's window.
#[inline(always)]
pub fn build_window<R>(use_it: impl FnOnce(&BuildWindow) -> R) -> R {
    WINDOW.with(use_it)
}

impl BuildWindow {
    /// Room for an object of `words` words, at least two, which has to be written at once; `None` if the window is
    /// closed or full.
    #[inline(always)]
    pub fn take(&self, words: usize) -> Option<*mut Word> {
        let place = self.next.get().wrapping_sub(words);
        if place < self.start.get() {
            return None;
        }
        self.next.set(place);
        let bits = self.bits.get().rotate_right(words as u32);
        self.bits.set(bits);
        self.objects.set(self.objects.get() | bits);
        Some(place)
    }

    /// Whether an object of the window may have this term in it: an immediate, or a pointer to what is not moved.
    #[inline(always)]
    pub fn admits(&self, term: Term) -> bool {
        let (start, bytes) = self.immovable.get();
        !term.is_pointer() || (term.pointer() as usize).wrapping_sub(start) < bytes
    }

    /// Opens it: `words` words at `start`, all in one group (no words: it stays closed, whatever `start` is);
    /// `immovable` as an address and bytes.
    pub fn open(&self, start: *mut Word, words: usize, immovable: (usize, usize)) {
        let end = start.wrapping_add(words);
        self.next.set(end);
        self.start.set(if words == 0 { CLOSED } else { start });
        self.objects.set(0);
        self.bits.set(3_u64.rotate_left((end as usize / size_of::<Word>() % GROUP_WORDS) as u32));
        self.immovable.set(immovable);
    }

    /// Whether anything was built in it that was not told yet.
    #[inline(always)]
    pub fn is_used(&self) -> bool {
        self.objects.get() != 0
    }

    /// Closes it: the bits of what was built, and where the last of it begins; `None` if nothing was.
    #[inline(always)]
    pub fn close(&self) -> Option<(u64, *mut Word)> {
        let built = self.is_used().then(|| (self.objects.replace(0), self.next.get()));
        self.start.set(CLOSED);
        built
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_gives_what_it_has_and_tells_what_was_built() {
        #[repr(align(512))]
        struct Group([Word; GROUP_WORDS]);
        let mut group = Group([0; GROUP_WORDS]);
        let start = group.0.as_mut_ptr().wrapping_add(10);
        build_window(|window| {
            assert_eq!((window.take(2), window.close(), window.take(2)), (None, None, None));
            window.open(null_mut(), 0, (0, 0));
            assert_eq!(window.take(2), None);
            window.open(start, 6, (start as usize, 48));
            // SAFETY: the window compares the address alone.
            assert!(window.admits(Term::small(1)) && window.admits(unsafe { Term::cons_at(start) }));
            // SAFETY: the window compares the address alone.
            assert!(!window.admits(unsafe { Term::cons_at(start.wrapping_add(6)) }));
            assert_eq!(window.take(2), Some(start.wrapping_add(4)));
            assert_eq!(window.take(3), Some(start.wrapping_add(1)));
            assert_eq!(window.take(2), None, "one word is left");
            assert!(window.is_used());
            assert_eq!(window.close(), Some((3 << 14 | 3 << 11, start.wrapping_add(1))));
            assert_eq!((window.take(2), window.close()), (None, None));
        });
    }
}
