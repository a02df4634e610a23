//! Words between being found and being marked. What they refer to is asked from memory when they are found, so that a
//! marker does not wait for each object by itself (Cher, Hosking and Vitek, "Software prefetching for mark-sweep
//! garbage collection", ASPLOS 2004).

use atoll_term::{Term, Word};
use treadmill::prefetch;

/// So many objects are on their way from memory.
const AHEAD: usize = 8;

/// A queue of that length, which is always full: of words that refer to nothing at first.
pub(crate) struct Ahead {
    words: [Word; AHEAD],
    oldest: usize,
}

impl Ahead {
    pub(crate) fn new() -> Ahead {
        Ahead { words: [Term::NIL.word(); AHEAD], oldest: 0 }
    }

    /// Puts in a pointer, and takes out the word that waited longest.
    #[inline(always)]
    pub(crate) fn exchange(&mut self, pointer: Term) -> Word {
        prefetch(pointer.pointer().cast_const().cast());
        let oldest = std::mem::replace(&mut self.words[self.oldest], pointer.word());
        self.oldest = (self.oldest + 1) % AHEAD;
        oldest
    }

    /// What is still in it, in order; takes it all out.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = Word> + use<> {
        let mut words = std::mem::replace(&mut self.words, [Term::NIL.word(); AHEAD]);
        words.rotate_left(self.oldest);
        words.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_leave_in_the_order_in_which_they_came() {
        let cells = [[0u64; 2]; AHEAD + 3];
        // SAFETY: nobody looks into the cells.
        let terms = cells.each_ref().map(|cell| unsafe { Term::cons_at(cell.as_ptr().cast_mut()) });
        let mut ahead = Ahead::new();
        let mut left: Vec<Word> = terms.iter().map(|term| ahead.exchange(*term)).collect();
        left.extend(ahead.drain());
        let (nothing, words) = left.split_at(AHEAD);
        assert!(nothing.iter().all(|word| *word == Term::NIL.word()));
        assert_eq!(words, terms.map(Term::word));
        assert!(ahead.drain().all(|word| word == Term::NIL.word()));
    }
}
