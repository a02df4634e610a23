//! What is kept beside each page with several objects: where its blocks begin, which are objects, which are marked.
//!
//! A block's first word has its bit set in `starts`; the bit of its second word says whether the block is an object or
//! a gap. All blocks are at least two words long, so the bits never collide. Only the thread that owns the page, or
//! holds the lock of the memory, writes them; markers read them.

use super::marks::{PAGE_WORDS, groups};
use crate::sync::{AtomicU64, Ordering};

/// The bits of one page. Those of marks count only while the page's colour says so.
#[derive(Debug)]
#[repr(C, align(64))]
pub(super) struct Blocks {
    starts: [AtomicU64; GROUPS],
    pub(super) marks: [AtomicU64; GROUPS],
}

const GROUPS: usize = PAGE_WORDS / 64;

/// The bits of first words among those of a group, where that of a second word follows the one of its first.
///
/// No block is one word long, so in each run of ones first and second words take turns, and no block begins at a
/// group's last word, so no run goes on in the next group.
fn first_words(bits: u64) -> u64 {
    const EVEN: u64 = 0x5555_5555_5555_5555;
    let run_starts = bits & !(bits << 1);
    // Adding the start of a run of ones clears it all, by the carry.
    let from_even = bits & !bits.wrapping_add(run_starts & EVEN);
    from_even & EVEN | bits & !from_even & !EVEN
}

/// The first bit at or behind `from`, or the number of bits.
fn next_bit(groups: &[u64; GROUPS], from: usize) -> usize {
    let mut group = from / 64;
    if group >= GROUPS {
        return PAGE_WORDS;
    }
    let mut bits = groups[group] >> (from % 64) << (from % 64);
    while bits == 0 {
        group += 1;
        if group == GROUPS {
            return PAGE_WORDS;
        }
        bits = groups[group];
    }
    group * 64 + bits.trailing_zeros() as usize
}

impl Blocks {
    #[cfg(loom)]
    pub(super) fn new() -> Blocks {
        let bits = || std::array::from_fn(|_| AtomicU64::new(0));
        Blocks { starts: bits(), marks: bits() }
    }

    /// Asks the processor to fetch what sweeping will read.
    #[inline]
    pub(super) fn prefetch(&self) {
        crate::area::prefetch(self.starts.as_ptr().cast());
        crate::area::prefetch(self.marks.as_ptr().cast());
    }

    /// Makes one gap of the whole page.
    pub(super) fn format(&self) {
        self.starts[0].store(1, Ordering::Relaxed);
        for bits in &self.starts[1..] {
            bits.store(0, Ordering::Relaxed);
        }
    }

    #[inline]
    fn set(&self, index: usize) {
        let bits = &self.starts[index / 64];
        bits.store(bits.load(Ordering::Relaxed) | 1 << (index % 64), Ordering::Relaxed);
    }

    #[inline]
    fn test(&self, index: usize) -> bool {
        self.starts[index / 64].load(Ordering::Relaxed) >> (index % 64) & 1 == 1
    }

    /// Turns the front of the gap at `index`, of which `words` words are wanted, into an object; `rest` words of gap
    /// stay behind it.
    #[inline]
    pub(super) fn place(&self, index: usize, words: usize, rest: usize) {
        let (object, gap) = (index + 1, index + words);
        let in_group = |at: usize| 1u64 << (at % 64);
        if rest > 0 && gap / 64 == object / 64 {
            let bits = &self.starts[object / 64];
            bits.store(bits.load(Ordering::Relaxed) | in_group(object) | in_group(gap), Ordering::Relaxed);
            return;
        }
        self.set(object);
        if rest > 0 {
            self.set(gap);
        }
    }

    /// As [`Blocks::place`] for `count` objects of two words in a row, of `words` words together.
    #[inline]
    pub(super) fn place_pairs(&self, index: usize, count: usize, words: usize, rest: usize) {
        for (group, mask) in groups(index, index + 2 * count) {
            let bits = &self.starts[group];
            bits.store(bits.load(Ordering::Relaxed) | mask, Ordering::Relaxed);
        }
        if rest > 0 {
            self.set(index + words);
        }
    }

    /// Turns the end of a gap into objects, which all begin in the group of word `index`: the bits of the first two
    /// words of each.
    #[inline]
    pub(super) fn place_group(&self, index: usize, objects: u64) {
        let bits = &self.starts[index / 64];
        bits.store(bits.load(Ordering::Relaxed) | objects, Ordering::Relaxed);
    }

    /// How an object of `words` words lies in a gap of `gap` words at `index`: the words it takes, and those of gap
    /// behind it. No block is one word long, and none begins at the last word of a group of 64.
    #[inline]
    pub(super) fn fit(index: usize, words: usize, gap: usize) -> (usize, usize) {
        let taken = words + usize::from((index + words) % 64 == 63);
        match gap - taken {
            1 => (gap, 0),
            rest => (taken, rest),
        }
    }

    /// Where the block that begins at `index` ends.
    #[inline]
    pub(super) fn end_of(&self, index: usize) -> usize {
        let from = index + 2;
        let mut group = from / 64;
        if group >= self.starts.len() {
            return PAGE_WORDS;
        }
        let mut bits = self.starts[group].load(Ordering::Relaxed) >> (from % 64) << (from % 64);
        while bits == 0 {
            group += 1;
            if group == self.starts.len() {
                return PAGE_WORDS;
            }
            bits = self.starts[group].load(Ordering::Relaxed);
        }
        group * 64 + bits.trailing_zeros() as usize
    }

    /// Whether the block that begins at `index` is an object.
    #[inline]
    pub(super) fn is_object(&self, index: usize) -> bool {
        self.test(index + 1)
    }

    /// Whether an object begins here. The bit of its second word is set as well; this tells the two apart.
    pub(super) fn begins_object(&self, index: usize) -> bool {
        let first = first_words(self.starts[index / 64].load(Ordering::Relaxed)) >> (index % 64) & 1 == 1;
        first && self.is_object(index)
    }

    /// Changes a bit, so that a test breaks what the bits must be.
    #[cfg(all(test, not(loom)))]
    pub(super) fn flip(&self, index: usize) {
        self.starts[index / 64].fetch_xor(1 << (index % 64), Ordering::Relaxed);
    }

    /// Whether a block begins here; only meaningful where no block's second word is.
    pub(super) fn is_start(&self, index: usize) -> bool {
        self.test(index)
    }

    /// Makes gaps of all objects that are not marked; the words of those that stay, and the longest gap.
    pub(super) fn sweep(&self) -> Swept {
        let (mut starts, mut kept, mut dead) = ([0; GROUPS], [0; GROUPS], [0; GROUPS]);
        for group in 0..GROUPS {
            starts[group] = first_words(self.starts[group].load(Ordering::Relaxed));
            // An object that lives has both of its bits, here as there; whether it was scanned does not matter any
            // more.
            let marked = self.marks[group].load(Ordering::Relaxed) & starts[group];
            kept[group] = marked | marked << 1;
            dead[group] = starts[group] & !marked;
        }
        let (mut live, mut longest, mut at) = (0, 0, 0);
        while at < PAGE_WORDS {
            // A gap from here to the next object that lives, then those that lie side by side, up to the next block
            // that is none.
            let object = next_bit(&kept, at);
            if object > at {
                kept[at / 64] |= 1 << (at % 64);
                longest = longest.max(object - at);
            }
            at = next_bit(&dead, object);
            live += at - object;
        }
        for (bits, new) in self.starts.iter().zip(kept) {
            bits.store(new, Ordering::Relaxed);
        }
        Swept { live, gap: longest }
    }

    /// Makes this that of the last page of a large object: the last `words` words of it look like an object of their
    /// own. The words of gap behind them.
    pub(super) fn set_tail(&self, words: usize) -> usize {
        self.format();
        let (taken, rest) = Blocks::fit(0, words.max(2), PAGE_WORDS);
        self.place(0, taken, rest);
        rest
    }
}

/// What sweeping a page found.
#[derive(Clone, Copy, Debug)]
pub(super) struct Swept {
    pub(super) live: usize,
    pub(super) gap: usize,
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Rows of pairs look like the same objects made one by one.
    #[test]
    fn a_row_of_pairs_is_that_many_objects() {
        for (index, count) in [(0, 1), (0, 256), (62, 1), (62, 2), (2, 31), (64, 32), (128, 190), (510, 1)] {
            // SAFETY: all zero is a valid `Blocks`.
            let (row, single): (Blocks, Blocks) = unsafe { (std::mem::zeroed(), std::mem::zeroed()) };
            for blocks in [&row, &single] {
                blocks.format();
                blocks.set(index);
            }
            row.place_pairs(index, count, 2 * count, PAGE_WORDS - index - 2 * count);
            for at in (index..index + 2 * count).step_by(2) {
                let (taken, rest) = Blocks::fit(at, 2, PAGE_WORDS - at);
                assert_eq!(taken, 2);
                single.place(at, taken, rest);
            }
            let bits =
                |blocks: &Blocks| blocks.starts.iter().map(|bits| bits.load(Ordering::Relaxed)).collect::<Vec<_>>();
            assert_eq!(bits(&row), bits(&single), "{count} at {index}");
        }
    }

    /// Sweeping by whole groups of bits finds what going from block to block finds.
    #[test]
    fn sweeping_keeps_the_marked_and_joins_the_rest() {
        let mut seed = 11u64;
        let mut random = |limit: u64| {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            (seed >> 8) % limit
        };
        for round in 0..3000 {
            // SAFETY: all zero is a valid `Blocks`.
            let blocks: Blocks = unsafe { std::mem::zeroed() };
            blocks.format();
            let (mut at, mut made) = (0, Vec::new());
            let longest = [3, 12, 60, 500][round % 4];
            while at < PAGE_WORDS {
                let gap = PAGE_WORDS - at;
                let words = 2 + random(longest) as usize;
                if words + 2 > gap {
                    break;
                }
                let (taken, rest) = Blocks::fit(at, words, gap);
                blocks.place(at, taken, rest);
                let marked = random(3) > 0;
                if marked {
                    blocks.marks[at / 64].fetch_or(3 << (at % 64), Ordering::Relaxed);
                }
                made.push((at, at + taken, marked));
                at += taken;
            }
            let begin: Vec<usize> = (0..PAGE_WORDS - 1).filter(|at| blocks.begins_object(*at)).collect();
            assert_eq!(begin, made.iter().map(|block| block.0).collect::<Vec<_>>());
            let live: usize = made.iter().filter(|block| block.2).map(|block| block.1 - block.0).sum();
            let swept = blocks.sweep();
            assert_eq!(swept.live, live);
            let (mut at, mut found, mut gaps) = (0, Vec::new(), Vec::new());
            while at < PAGE_WORDS {
                let end = blocks.end_of(at);
                if blocks.is_object(at) {
                    found.push((at, end, true));
                } else {
                    gaps.push((at, end));
                }
                at = end;
            }
            assert!(gaps.windows(2).all(|pair| pair[0].1 < pair[1].0), "neighbours are joined");
            assert_eq!(swept.gap, gaps.iter().map(|gap| gap.1 - gap.0).max().unwrap_or(0));
            made.retain(|block| block.2);
            assert_eq!(found, made);
        }
    }
}
