//! Which words of some blocks are those of live objects, one bit each; and where each word is after the live ones have
//! been moved together, found from the bits by counting those in front of it.

use std::slice;

use atoll_heap::out_of_memory;
use atoll_platform::Reservation;
use atoll_term::{WORD_BYTES, Word};

/// Words that one group of bits stands for.
pub(super) const GROUP: usize = 64;

/// A run of words in the map.
#[derive(Clone, Copy, Debug)]
pub(super) struct Source {
    pub(super) start: usize,
    pub(super) words: usize,
    /// The group of its first word.
    pub(super) group: usize,
}

/// The map.
#[derive(Debug)]
pub(super) struct LiveMap {
    sources: Vec<Source>,
    groups: usize,
    /// For each group its bits, and behind all of those for each group the live words in front of it. The system gives
    /// each page, filled with zeroes, when it is first touched: filling all of it at once would be a long pause.
    memory: Reservation,
    lowest: usize,
    bytes: usize,
}

impl LiveMap {
    /// A map of these runs (first word, words), in which nothing lives. The runs have less than 2^32 words.
    pub(super) fn new(runs: &[(*mut Word, usize)]) -> LiveMap {
        let mut sources = Vec::with_capacity(runs.len());
        let mut group = 0;
        let (mut lowest, mut highest) = (usize::MAX, 0);
        for (start, words) in runs {
            let start = *start as usize;
            sources.push(Source { start, words: *words, group });
            group += words.div_ceil(GROUP);
            lowest = lowest.min(start);
            highest = highest.max(start + words * WORD_BYTES);
        }
        // Most addresses that are asked for lie in the largest run.
        sources.sort_by_key(|source| std::cmp::Reverse(source.words));
        let bytes = highest.saturating_sub(lowest);
        let size = group * (size_of::<u64>() + size_of::<u32>());
        let memory = Reservation::new(size).unwrap_or_else(|_| out_of_memory(size));
        LiveMap { sources, groups: group, memory, lowest, bytes }
    }

    /// The map's memory, which takes a while to give back.
    pub(super) fn into_memory(self) -> Reservation {
        self.memory
    }

    #[inline(always)]
    fn bits(&self) -> &[u64] {
        // SAFETY: the reservation begins with one such number for each group, zero at first; `set` alone writes them,
        // through a unique reference to the map.
        unsafe { slice::from_raw_parts(self.memory.start().as_ptr().cast(), self.groups) }
    }

    #[inline(always)]
    fn bits_mut(&mut self) -> &mut [u64] {
        // SAFETY: as in `bits`; the reference to the map is unique.
        unsafe { slice::from_raw_parts_mut(self.memory.start().as_ptr().cast(), self.groups) }
    }

    /// Where the live words in front of each group are.
    #[inline(always)]
    fn before(&self) -> *mut u32 {
        self.memory.start().as_ptr().cast::<u64>().wrapping_add(self.groups).cast()
    }

    /// The runs, in the order in which their live words lie after the move.
    pub(super) fn sources(&self) -> &[Source] {
        &self.sources
    }

    /// The bit of an address that lies in one of the runs.
    #[inline(always)]
    pub(super) fn bit(&self, place: *const Word) -> Option<usize> {
        let address = place as usize;
        if address.wrapping_sub(self.lowest) >= self.bytes {
            return None;
        }
        for source in &self.sources {
            let offset = address.wrapping_sub(source.start) / WORD_BYTES;
            if offset < source.words {
                return Some(source.group * GROUP + offset);
            }
        }
        None
    }

    #[inline(always)]
    pub(super) fn is_live(&self, bit: usize) -> bool {
        self.bits()[bit / GROUP] >> (bit % GROUP) & 1 != 0
    }

    /// The bits of a group, those of its first words lowest.
    #[inline(always)]
    pub(super) fn group(&self, group: usize) -> u64 {
        self.bits()[group]
    }

    /// These words live.
    #[inline(always)]
    pub(super) fn set(&mut self, bit: usize, words: usize) {
        let (mut group, shift) = (bit / GROUP, bit % GROUP);
        let first = words.min(GROUP - shift);
        let bits = self.bits_mut();
        bits[group] |= (u64::MAX >> (GROUP - first)) << shift;
        let mut left = words - first;
        while left > 0 {
            group += 1;
            let count = left.min(GROUP);
            bits[group] |= u64::MAX >> (GROUP - count);
            left -= count;
        }
    }

    /// Counts the live words of the next group, in the order of the sources; to be called once for each group.
    pub(super) fn count_group(&mut self, group: usize, before: usize) -> usize {
        let live = self.bits()[group].count_ones() as usize;
        // SAFETY: the group is one of the map's, as its bits have just been found, and the reference to the map is
        // unique.
        unsafe { self.before().add(group).write(before as u32) };
        before + live
    }

    /// Live words in front of a live word.
    #[inline(always)]
    pub(super) fn words_before(&self, bit: usize) -> usize {
        let group = bit / GROUP;
        let below = self.bits()[group] & !(u64::MAX << (bit % GROUP));
        // SAFETY: the group is one of the map's, as its bits have just been found.
        let before = unsafe { self.before().add(group).read() };
        before as usize + below.count_ones() as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn live_words_are_counted_across_groups_and_runs() {
        let (small, large) = (0x10_0000 as *mut Word, 0x20_0000 as *mut Word);
        let mut map = LiveMap::new(&[(small, 70), (large, 300)]);
        assert_eq!(map.bit(small.wrapping_sub(1)), None);
        assert_eq!(map.bit(small.wrapping_add(70)), None);
        assert_eq!(map.groups, 2 + 5);
        for (start, at, words) in [(small, 60, 10), (large, 0, 1), (large, 62, 140), (large, 299, 1)] {
            let bit = map.bit(start.wrapping_add(at)).unwrap();
            assert!(!map.is_live(bit));
            map.set(bit, words);
            assert!(map.is_live(bit) && map.is_live(bit + words - 1));
        }
        let mut total = 0;
        for source in map.sources().to_vec() {
            for group in source.group..source.group + source.words.div_ceil(GROUP) {
                total = map.count_group(group, total);
            }
        }
        assert_eq!(total, 152);
        let before = |start: *mut Word, at| map.words_before(map.bit(start.wrapping_add(at)).unwrap());
        assert_eq!([before(large, 0), before(large, 62), before(large, 201), before(large, 299)], [0, 1, 140, 141]);
        assert_eq!([before(small, 60), before(small, 64), before(small, 69)], [142, 146, 151]);
    }
}
