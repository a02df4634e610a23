//! The addresses of fragments, to tell whether an object lies in one.

use atoll_heap::Fragment;
use atoll_term::{WORD_BYTES, Word};

/// Runs of addresses (start, bytes), sorted.
#[derive(Debug, Default)]
pub(crate) struct FragmentRanges(Vec<(usize, usize)>);

impl FragmentRanges {
    /// Adds a fragment; [`FragmentRanges::sort`] is called after the last one.
    pub(crate) fn add(&mut self, fragment: &Fragment) {
        self.0.push((fragment.words() as usize, fragment.used() * WORD_BYTES));
    }

    /// Adds a run of words that is to be treated as a fragment is.
    pub(crate) fn add_run(&mut self, start: *const Word, words: usize) {
        self.0.push((start as usize, words * WORD_BYTES));
    }

    /// Makes the ranges ready for questions.
    pub(crate) fn sort(mut self) -> FragmentRanges {
        self.0.sort_unstable();
        self
    }

    /// Whether an address lies in one of them.
    #[inline(always)]
    pub(crate) fn contains(&self, place: *const Word) -> bool {
        !self.0.is_empty() && self.search(place as usize)
    }

    fn search(&self, address: usize) -> bool {
        let after = self.0.partition_point(|(start, _)| *start <= address);
        after > 0 && address - self.0[after - 1].0 < self.0[after - 1].1
    }
}
