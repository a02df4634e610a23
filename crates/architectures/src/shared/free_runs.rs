//! Free runs of words in an old generation that is not moved. Each begins with the header of an opaque object, as all
//! unused words in there do, so that the generation can be walked.

use atoll_term::{Header, Kind, WORD_BYTES, Word};

use crate::common::blocks::words_between;

/// Shorter gaps between objects wait for a neighbour to die.
const SHORTEST: usize = 16;
/// Runs that are looked at for one request.
const LOOKED_AT: usize = 16;

/// Makes an object of unused words.
///
/// # Safety
/// The words are the caller's.
pub(super) unsafe fn fill(start: *mut Word, end: *mut Word) {
    let header = match words_between(start, end) {
        0 => return,
        1 => Header::new(Kind::Tuple, 0),
        words => Header::new(Kind::HeapBits, words - 1),
    };
    // SAFETY: at least one word, the caller's.
    unsafe { *start = header.word() }
}

/// The runs. What is short is used last, as the runs with the lowest addresses are used first.
#[derive(Debug, Default)]
pub(super) struct FreeRuns {
    /// First and last address, filled; the lowest is the last after a sweep.
    runs: Vec<(usize, usize)>,
    words: usize,
}

impl FreeRuns {
    /// Words in all runs.
    pub(super) fn words(&self) -> usize {
        self.words
    }

    /// First address of each run, and the one behind it.
    pub(super) fn each(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.runs.iter().copied()
    }

    /// Makes a run of unused words, or at least fills them.
    ///
    /// # Safety
    /// The words are in the old generation, nobody uses them, and they are in no run.
    pub(super) unsafe fn give(&mut self, start: *mut Word, end: *mut Word) {
        // SAFETY: as the caller's.
        unsafe { fill(start, end) };
        let words = words_between(start, end);
        if words >= SHORTEST {
            self.runs.push((start as usize, end as usize));
            self.words += words;
        }
    }

    /// After a sweep from low to high addresses.
    pub(super) fn turn(&mut self) {
        self.runs.reverse();
    }

    /// `least` words, and up to `most` if they are there.
    pub(super) fn take(&mut self, least: usize, most: usize) -> Option<(*mut Word, usize)> {
        let looked_at = self.runs.len().saturating_sub(LOOKED_AT)..self.runs.len();
        let index = looked_at.rev().find(|index| {
            let (start, end) = self.runs[*index];
            end - start >= least * WORD_BYTES
        })?;
        let (start, end) = self.runs[index];
        let there = (end - start) / WORD_BYTES;
        let words = if there < most + SHORTEST { there } else { most };
        let rest = start + words * WORD_BYTES;
        if words == there {
            self.runs.remove(index);
        } else {
            self.runs[index].0 = rest;
            // SAFETY: nothing refers to the run.
            unsafe { fill(rest as *mut Word, end as *mut Word) };
        }
        self.words -= words;
        Some((start as *mut Word, words))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_taken_in_pieces_and_stay_filled() {
        let mut memory = vec![0_u64; 1_000];
        let start = memory.as_mut_ptr();
        let mut runs = FreeRuns::default();
        // SAFETY: the words are the test's.
        unsafe {
            runs.give(start, start.add(100));
            runs.give(start.add(200), start.add(203));
            runs.give(start.add(300), start.add(900));
        }
        runs.turn();
        assert_eq!(runs.words(), 700, "three words are no run");
        assert_eq!(runs.take(10, 50), Some((start, 50)));
        assert_eq!(runs.take(10, 50), Some((start.wrapping_add(50), 50)), "all that is left of it");
        assert_eq!(runs.take(601, 700), None);
        assert_eq!(runs.take(590, 590), Some((start.wrapping_add(300), 600)), "no rest that is too short");
        assert_eq!((runs.words(), runs.take(1, 1)), (0, None));
        assert_eq!(Header::from_word(memory[200]).object_words(), 3);
        assert_eq!(Header::from_word(memory[50]).object_words(), 50);
    }
}
