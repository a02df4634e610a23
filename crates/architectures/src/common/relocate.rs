//! Moving a run of whole objects as it is: pointers that lead into the run are shifted.

use atoll_term::{Header, Term, WORD_BYTES, Word};

/// A run of words that has moved, or is about to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Move {
    /// Where it was.
    pub(crate) from: *const Word,
    /// Its length.
    pub(crate) words: usize,
    /// Where it is now.
    pub(crate) to: *mut Word,
}

impl Move {
    /// The word as it must be after the move.
    #[inline(always)]
    pub(crate) fn shifted(&self, word: Word) -> Word {
        let term = Term::from_word(word);
        if term.is_pointer() {
            let offset = (term.pointer() as usize).wrapping_sub(self.from as usize);
            if offset < self.words * WORD_BYTES {
                return term.with_pointer(self.to.wrapping_byte_add(offset)).word();
            }
        }
        word
    }

    /// Copies the run to its new place.
    ///
    /// # Safety
    /// The run consists of whole objects; there is room at the new place, which does not overlap.
    pub(crate) unsafe fn copy(&self) {
        // SAFETY: the caller vouches for both places.
        unsafe {
            std::ptr::copy_nonoverlapping(self.from, self.to, self.words);
            self.shift_objects(self.to, self.words);
        }
    }

    /// Shifts the pointers in a run of whole objects.
    ///
    /// # Safety
    /// `start` is the first word of a run of `words` words of whole objects.
    pub(crate) unsafe fn shift_objects(&self, start: *mut Word, words: usize) {
        let mut index = 0;
        while index < words {
            // SAFETY: the index stays inside the run, at a term or a header.
            unsafe {
                let place = start.add(index);
                let word = Term::from_word(*place);
                if word.is_header() && Header::from_word(word.word()).is_opaque() {
                    index += Header::from_word(word.word()).object_words();
                    continue;
                }
                *place = self.shifted(word.word());
            }
            index += 1;
        }
    }

    /// Shifts a run of root words.
    ///
    /// # Safety
    /// The run consists of terms (or code addresses).
    pub(crate) unsafe fn shift_run(&self, start: *mut Word, words: usize) {
        for index in 0..words {
            // SAFETY: the caller vouches for the run.
            unsafe { *start.add(index) = self.shifted(*start.add(index)) }
        }
    }
}
