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
    /// Its place among the runs that the map was made of.
    pub(super) age: usize,
}

/// In front of a group: its words stay where they are.
const STAYS: u32 = u32::MAX;

impl Source {
    /// The bit of an address, if it lies in this run.
    #[inline(always)]
    fn bit(&self, address: usize) -> Option<usize> {
        let offset = address.wrapping_sub(self.start) / WORD_BYTES;
        (offset < self.words).then_some(self.group * GROUP + offset)
    }
}

/// Least bytes of address space that one entry of [`Finder`] stands for, as a binary logarithm.
const LEAST_GRANULE: u32 = 16;
/// The granules become larger when there would be more of them.
const MOST_GRANULES: usize = 1024;

/// Finds the run in which an address lies: a heap that has grown for long has dozens.
#[derive(Debug)]
struct Finder {
    /// The runs by address.
    sources: Vec<Source>,
    granule: u32,
    /// A hash table, at most half full: the number of a granule, and the first run that ends behind its first byte.
    entries: Vec<Option<(u32, u32)>>,
}

impl Finder {
    fn new(mut sources: Vec<Source>) -> Finder {
        sources.retain(|source| source.words > 0);
        sources.sort_by_key(|source| source.start);
        let mut granule = LEAST_GRANULE;
        let granules = |granule: u32| {
            let of = move |source: &Source| {
                let last = source.start + source.words * WORD_BYTES - 1;
                (source.start >> granule) as u32..=(last >> granule) as u32
            };
            sources.iter().map(of)
        };
        while granules(granule).map(Iterator::count).sum::<usize>() > MOST_GRANULES.max(2 * sources.len()) {
            granule += 1;
        }
        let count = granules(granule).map(Iterator::count).sum::<usize>();
        let mut entries = vec![None; (2 * count).next_power_of_two()];
        for (index, numbers) in granules(granule).enumerate() {
            for number in numbers {
                let place = Finder::place(&entries, number);
                entries[place].get_or_insert((number, index as u32));
            }
        }
        Finder { sources, granule, entries }
    }

    /// Where the entry of a granule is, or would be.
    #[inline(always)]
    fn place(entries: &[Option<(u32, u32)>], number: u32) -> usize {
        let mask = entries.len() - 1;
        let mut place = number.wrapping_mul(0x9E37_79B1) as usize >> 8 & mask;
        while entries[place].is_some_and(|(found, _)| found != number) {
            place = (place + 1) & mask;
        }
        place
    }

    /// The bit of an address that lies in one of the runs.
    #[inline]
    fn bit(&self, address: usize) -> Option<usize> {
        let place = Finder::place(&self.entries, (address >> self.granule) as u32);
        let (_, first) = self.entries[place]?;
        let from = self.sources[first as usize..].iter().take_while(|source| source.start <= address);
        from.filter_map(|source| source.bit(address)).next()
    }
}

/// The map.
#[derive(Debug)]
pub(super) struct LiveMap {
    /// The runs, the longest first.
    sources: Vec<Source>,
    finder: Finder,
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
        for (age, (start, words)) in runs.iter().enumerate() {
            let start = *start as usize;
            sources.push(Source { start, words: *words, group, age });
            group += words.div_ceil(GROUP);
            lowest = lowest.min(start);
            highest = highest.max(start + words * WORD_BYTES);
        }
        // Most addresses that are asked for lie in the largest run.
        sources.sort_by_key(|source| std::cmp::Reverse(source.words));
        let bytes = highest.saturating_sub(lowest);
        let size = group * (size_of::<u64>() + size_of::<u32>());
        let memory = Reservation::new(size).unwrap_or_else(|_| out_of_memory(size));
        LiveMap { finder: Finder::new(sources.clone()), sources, groups: group, memory, lowest, bytes }
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
        self.sources.first()?.bit(address).or_else(|| self.finder.bit(address))
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

    /// Live words of a group.
    pub(super) fn live_in(&self, group: usize) -> usize {
        self.bits()[group].count_ones() as usize
    }

    /// The words of this group stay where they are.
    pub(super) fn leave_group(&mut self, group: usize) {
        assert!(group < self.groups);
        // SAFETY: the group is one of the map's, and the reference to the map is unique.
        unsafe { self.before().add(group).write(STAYS) };
    }

    /// Counts the live words of the next group that moves, in the order of the sources; to be called once for each.
    pub(super) fn count_group(&mut self, group: usize, before: usize) -> usize {
        let live = self.live_in(group);
        // SAFETY: the group is one of the map's, as its bits have just been found, and the reference to the map is
        // unique.
        unsafe { self.before().add(group).write(before as u32) };
        before + live
    }

    /// Live words that move in front of a live word; `None`: it stays where it is.
    #[inline(always)]
    pub(super) fn words_before(&self, bit: usize) -> Option<usize> {
        let group = bit / GROUP;
        let below = self.bits()[group] & !(u64::MAX << (bit % GROUP));
        // SAFETY: the group is one of the map's, as its bits have just been found.
        let before = unsafe { self.before().add(group).read() };
        (before != STAYS).then_some(before as usize + below.count_ones() as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_found_in_its_run() {
        // Short runs in one granule, runs that share one at their ends, and one of many granules.
        let runs = [(0x7F00_0000_0000, 3), (0x7F00_0000_0100, 5), (0x7F00_0000_FFF8, 20_000), (0x10_0000, 40 << 20)];
        let map = LiveMap::new(&runs.map(|(start, words)| (start as *mut Word, words)));
        let mut bits = std::collections::HashSet::new();
        for (start, words) in runs {
            for word in [0, 1, words / 2, words - 1] {
                let bit = map.bit((start + word * WORD_BYTES) as *const Word).expect("it lies in the run");
                let first = map.bit(start as *const Word).unwrap();
                assert_eq!(bit - first, word);
                bits.insert(bit);
            }
            assert_eq!(map.bit((start - WORD_BYTES) as *const Word), None);
            assert_eq!(map.bit((start + words * WORD_BYTES) as *const Word), None);
        }
        assert_eq!(bits.len(), 3 + 4 + 4 + 4);
    }

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
        let before = |map: &LiveMap, start: *mut Word, at| map.words_before(map.bit(start.wrapping_add(at)).unwrap());
        assert_eq!([0, 62, 201, 299].map(|at| before(&map, large, at)), [0, 1, 140, 141].map(Some));
        assert_eq!([60, 64, 69].map(|at| before(&map, small, at)), [142, 146, 151].map(Some));
        (0..5).for_each(|group| map.leave_group(map.sources()[0].group + group));
        assert_eq!([before(&map, large, 62), before(&map, small, 60)], [None, Some(142)]);
    }
}
