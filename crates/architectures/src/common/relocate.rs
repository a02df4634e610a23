//! Moving a run of whole objects as it is: pointers that lead into the run are shifted.

use atoll_term::{Header, Term, WORD_BYTES, Word, is_pointer_among};

/// Words up to which a loop is faster than a call.
const FEW: usize = 8;

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
        // SAFETY: the word's bits alone are looked at.
        let term = unsafe { Term::from_word(word) };
        if term.is_pointer() {
            let offset = (term.pointer() as usize).wrapping_sub(self.from as usize);
            if offset < self.words * WORD_BYTES {
                // SAFETY: as above.
                return unsafe { term.with_pointer(self.to.wrapping_byte_add(offset)) }.word();
            }
        }
        word
    }

    /// Copies the run to its new place.
    ///
    /// # Safety
    /// The run consists of whole objects; there is room at the new place, which does not overlap.
    #[inline]
    pub(crate) unsafe fn copy(&self) {
        // SAFETY: the caller vouches for both places.
        unsafe {
            if self.words <= FEW {
                for index in 0..self.words {
                    *self.to.add(index) = *self.from.add(index);
                }
            } else {
                std::ptr::copy_nonoverlapping(self.from, self.to, self.words);
            }
            self.shift_objects(self.to, self.words);
        }
    }

    /// As [`Move::copy`], if the run is of two to five words without a pointer among them; whether it was.
    ///
    /// # Safety
    /// The same.
    #[inline(always)]
    pub(crate) unsafe fn copy_flat(&self) -> bool {
        // SAFETY: the run has these words.
        unsafe {
            match self.words {
                2 => self.copy_flat_words::<2>(),
                3 => self.copy_flat_words::<3>(),
                4 => self.copy_flat_words::<4>(),
                5 => self.copy_flat_words::<5>(),
                _ => false,
            }
        }
    }

    /// What looks like no pointer is none, whatever the words are.
    ///
    /// # Safety
    /// As for [`Move::copy_flat`], for a run of so many words.
    #[inline(always)]
    unsafe fn copy_flat_words<const WORDS: usize>(&self) -> bool {
        // SAFETY: the run has these words.
        unsafe {
            let words = *self.from.cast::<[Word; WORDS]>();
            self.to.cast::<[Word; WORDS]>().write(words);
            !is_pointer_among(words)
        }
    }

    /// Shifts the pointers in a run of whole objects.
    ///
    /// # Safety
    /// `start` is the first word of a run of `words` words of whole objects.
    #[inline(never)]
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

/// Copies two runs of words that are terms and headers alone to their new places. Pointers into either are shifted.
///
/// # Safety
/// The runs are readable, and there is room at the new places, which do not overlap with them.
pub(crate) unsafe fn copy_plain(moves: &[Move; 2]) {
    #[cfg(target_arch = "x86_64")]
    if moves[0].words + moves[1].words >= WIDE_ABOVE && std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: as the caller's; the processor has what is needed.
        return unsafe { copy_plain_wide(moves) };
    }
    // SAFETY: as the caller's.
    unsafe { copy_plain_words(moves) }
}

/// Words from which on a test for wide registers pays.
#[cfg(target_arch = "x86_64")]
const WIDE_ABOVE: usize = 32;

/// The same in wide registers, which the compiler makes of it.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn copy_plain_wide(moves: &[Move; 2]) {
    // SAFETY: as the caller's.
    unsafe { copy_plain_words(moves) }
}

#[inline(always)]
unsafe fn copy_plain_words(moves: &[Move; 2]) {
    let [first, second] = *moves;
    let distance = |moving: &Move| (moving.to as u64).wrapping_sub(moving.from as u64);
    let (first_distance, second_distance) = (distance(&first), distance(&second));
    let inside = |word: Word, moving: &Move| word.wrapping_sub(moving.from as u64) < (moving.words * WORD_BYTES) as u64;
    for moving in moves.iter().filter(|moving| moving.words > 0) {
        // SAFETY: the caller vouches for both runs.
        let (from, to) = unsafe {
            (
                std::slice::from_raw_parts(moving.from, moving.words),
                std::slice::from_raw_parts_mut(moving.to, moving.words),
            )
        };
        for (word, place) in from.iter().zip(to) {
            // Without branches. The tag bits do not carry an address out of its run.
            let distance = if inside(*word, &first) { first_distance } else { 0 }
                | if inside(*word, &second) { second_distance } else { 0 };
            // SAFETY: the word's bits alone are looked at.
            *place = word.wrapping_add(if unsafe { Term::from_word(*word) }.is_pointer() { distance } else { 0 });
        }
    }
}
