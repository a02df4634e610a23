//! Where the area lies, and the pointers into it among the words of a run.

use std::ptr::NonNull;

use atoll_term::{Header, Term, Word};

/// Words between looks at the budget.
pub(super) const STEP: usize = 64;

/// Addresses of the area.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// Address of the first byte.
    pub(super) start: usize,
    /// Length of the range.
    pub(super) bytes: usize,
}

impl Bounds {
    /// The object of the area that a term refers to, if it does.
    #[inline(always)]
    pub(super) fn object(self, term: Term) -> Option<NonNull<Word>> {
        let place = term.pointer();
        // Few words have such an address, whatever they are.
        let inside = (place as usize).wrapping_sub(self.start) < self.bytes && term.is_pointer();
        if inside { NonNull::new(place) } else { None }
    }

    /// Calls `visit` with the objects of the area that words of a run refer to.
    ///
    /// # Safety
    /// The run is readable.
    pub(super) unsafe fn each_in_run(self, start: *const Word, words: usize, visit: &mut dyn FnMut(NonNull<Word>)) {
        for index in 0..words {
            // SAFETY: the caller vouches for the run.
            if let Some(object) = self.object(unsafe { Term::from_word(*start.add(index)) }) {
                visit(object);
            }
        }
    }

    /// As [`Bounds::each_in_objects`] for as long as `visit` says so, which is asked with `None` every few words as
    /// well. Gives the words that were looked at: up to the first word of an object, or of a field.
    ///
    /// # Safety
    /// The run consists of whole objects, the first perhaps without some of its first words.
    pub(super) unsafe fn each_in_some(
        self,
        start: *const Word,
        words: usize,
        visit: &mut dyn FnMut(Option<NonNull<Word>>) -> bool,
    ) -> usize {
        let mut index = 0;
        let mut goes_on = true;
        while index < words && goes_on {
            let step = (index + STEP).min(words);
            while index < step {
                // SAFETY: the index stays inside the run, at a term or a header.
                let word = unsafe { Term::from_word(*start.add(index)) };
                index += if word.is_header() && Header::from_word(word.word()).is_opaque() {
                    Header::from_word(word.word()).object_words()
                } else {
                    if let Some(object) = self.object(word) {
                        goes_on &= visit(Some(object));
                    }
                    1
                };
            }
            goes_on &= visit(None);
        }
        index
    }

    /// As [`Bounds::each_in_run`], for a run of whole objects.
    ///
    /// # Safety
    /// The run consists of whole objects.
    pub(super) unsafe fn each_in_objects(self, start: *const Word, words: usize, visit: &mut dyn FnMut(NonNull<Word>)) {
        let mut index = 0;
        while index < words {
            // SAFETY: the index stays inside the run, at a term or a header.
            let word = unsafe { Term::from_word(*start.add(index)) };
            // A jump, which is foretold: a length chosen without one would make each word wait for the one before.
            if word.is_header() && Header::from_word(word.word()).is_opaque() {
                index += Header::from_word(word.word()).object_words();
                continue;
            }
            index += 1;
            if let Some(object) = self.object(word) {
                visit(object);
            }
        }
    }
}
