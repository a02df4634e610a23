//! What is kept beside each page: where its blocks begin, which are objects, which are marked.
//!
//! A block's first word has its bit set in `starts`; the bit of its second word says whether the block is an object or a gap. All blocks are
//! at least two words long, so the bits never collide. Only the thread that owns the page, or holds the lock of the memory, writes them; markers read them.

use super::marks::{Marks, PAGE_WORDS, groups};
use crate::sync::{AtomicU32, AtomicU64, Ordering};

/// What a page is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Nothing, or the inside of a large object.
    None,
    /// Objects up to a page.
    Small,
    /// The first page of a large object. Its last page may be a `Small` one.
    Large,
}

/// The metadata of one page. All zero is a page used for nothing.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Meta {
    starts: [AtomicU64; PAGE_WORDS / 64],
    pub(super) marks: Marks,
    kind: AtomicU32,
    /// The next page of the list that this one is on, plus one.
    next: AtomicU32,
    /// The longest gap in words, of a page on a list.
    gap: AtomicU32,
    /// Whether the page is the first or the last of a free run; `starts` then holds the run's tags.
    run: AtomicU32,
}

const GROUPS: usize = PAGE_WORDS / 64;

/// The bits of first words among those of a group, where that of a second word follows the one of its first.
///
/// No block is one word long, so in each run of ones first and second words take turns, and no block begins at a group's last word, so no
/// run goes on in the next group.
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

impl Meta {
    /// Where the words that blocks are noted in begin, in bytes.
    pub(super) const BLOCKS: usize = std::mem::offset_of!(Meta, starts);
    /// Where it is noted whether the page begins or ends a free run, in bytes.
    pub(super) const RUN: usize = std::mem::offset_of!(Meta, run);

    /// Asks the processor to fetch what sweeping will read.
    #[inline]
    pub(super) fn prefetch(&self) {
        crate::area::prefetch(std::ptr::from_ref(self).cast());
        crate::area::prefetch(std::ptr::from_ref(&self.marks).cast());
    }

    pub(super) fn kind(&self) -> Kind {
        match self.kind.load(Ordering::Relaxed) {
            1 => Kind::Small,
            2 => Kind::Large,
            _ => Kind::None,
        }
    }

    pub(super) fn set_kind(&self, kind: Kind) {
        let number = match kind {
            Kind::None => 0,
            Kind::Small => 1,
            Kind::Large => 2,
        };
        self.kind.store(number, Ordering::Relaxed);
    }

    pub(super) fn next(&self) -> Option<u32> {
        self.next.load(Ordering::Relaxed).checked_sub(1)
    }

    pub(super) fn set_next(&self, page: Option<u32>) {
        self.next.store(page.map_or(0, |page| page + 1), Ordering::Relaxed);
    }

    pub(super) fn gap(&self) -> usize {
        self.gap.load(Ordering::Relaxed) as usize
    }

    pub(super) fn set_gap(&self, words: usize) {
        self.gap.store(words as u32, Ordering::Relaxed);
    }

    /// Makes one gap of the whole page.
    pub(super) fn format(&self) {
        self.starts[0].store(1, Ordering::Relaxed);
        for bits in &self.starts[1..] {
            bits.store(0, Ordering::Relaxed);
        }
        self.set_kind(Kind::Small);
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

    /// Turns the front of the gap at `index`, of which `words` words are wanted, into an object; `rest` words of gap stay behind it.
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

    /// As [`Meta::place`] for `count` objects of two words in a row, of `words` words together.
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

    /// Turns the end of a gap into objects, which all begin in the group of word `index`: the bits of the first two words of each.
    #[inline]
    pub(super) fn place_group(&self, index: usize, objects: u64) {
        let bits = &self.starts[index / 64];
        bits.store(bits.load(Ordering::Relaxed) | objects, Ordering::Relaxed);
    }

    /// How an object of `words` words lies in a gap of `gap` words at `index`: the words it takes, and those of gap behind it. No block is one word
    /// long, and none begins at the last word of a group of 64.
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

    /// Whether a block begins here; only meaningful where no block's second word is.
    pub(super) fn is_start(&self, index: usize) -> bool {
        self.test(index)
    }

    /// Makes gaps of all objects that `cycle` left unmarked; the words of those that stay, and the longest gap.
    pub(super) fn sweep(&self, cycle: u32) -> Swept {
        if !self.marks.is_of(cycle) {
            return Swept { live: 0, gap: PAGE_WORDS };
        }
        let (mut starts, mut kept, mut dead) = ([0; GROUPS], [0; GROUPS], [0; GROUPS]);
        for group in 0..GROUPS {
            starts[group] = first_words(self.starts[group].load(Ordering::Relaxed));
            // An object that lives has both of its bits, here as there; whether it was scanned does not matter any more.
            let marked = self.marks.group(group) & starts[group];
            kept[group] = marked | marked << 1;
            dead[group] = starts[group] & !marked;
        }
        let (mut live, mut longest, mut at) = (0, 0, 0);
        while at < PAGE_WORDS {
            // A gap from here to the next object that lives, then those that lie side by side, up to the next block that is none.
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

    /// The length in words of the large object that begins on this page.
    pub(super) fn large_words(&self) -> usize {
        self.starts[1].load(Ordering::Relaxed) as usize
    }

    /// Makes this the first page of a large object of `words` words, which shares its last page with small objects or not.
    pub(super) fn set_large(&self, words: usize, shares: bool) {
        self.starts[1].store(words as u64, Ordering::Relaxed);
        self.starts[2].store(0, Ordering::Relaxed);
        self.starts[3].store(shares as u64, Ordering::Relaxed);
        self.set_kind(Kind::Large);
    }

    /// Whether small objects may lie behind the end of the large object that begins on this page.
    pub(super) fn shares_last_page(&self) -> bool {
        self.starts[3].load(Ordering::Relaxed) == 1
    }

    /// Makes this the last page of a large object: its last `words` words look like an object of their own. The words of gap behind them.
    pub(super) fn set_tail(&self, words: usize) -> usize {
        self.format();
        let (taken, rest) = Meta::fit(0, words.max(2), PAGE_WORDS);
        self.place(0, taken, rest);
        rest
    }

    /// Takes the next `portion` words of a large object to be scanned; its words from the result on.
    pub(super) fn take_portion(&self, portion: usize) -> usize {
        self.starts[2].fetch_add(portion as u64, Ordering::AcqRel) as usize
    }

    pub(super) fn rewind_portions(&self) {
        self.starts[2].store(0, Ordering::Release);
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
            // SAFETY: all zero is a valid `Meta`.
            let (row, single): (Meta, Meta) = unsafe { (std::mem::zeroed(), std::mem::zeroed()) };
            for meta in [&row, &single] {
                meta.format();
                meta.set(index);
            }
            row.place_pairs(index, count, 2 * count, PAGE_WORDS - index - 2 * count);
            for at in (index..index + 2 * count).step_by(2) {
                let (taken, rest) = Meta::fit(at, 2, PAGE_WORDS - at);
                assert_eq!(taken, 2);
                single.place(at, taken, rest);
            }
            let bits = |meta: &Meta| meta.starts.iter().map(|bits| bits.load(Ordering::Relaxed)).collect::<Vec<_>>();
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
            // SAFETY: all zero is a valid `Meta`.
            let meta: Meta = unsafe { std::mem::zeroed() };
            meta.format();
            meta.marks.claim(5);
            let (mut at, mut blocks) = (0, Vec::new());
            let longest = [3, 12, 60, 500][round % 4];
            while at < PAGE_WORDS {
                let gap = PAGE_WORDS - at;
                let words = 2 + random(longest) as usize;
                if words + 2 > gap {
                    break;
                }
                let (taken, rest) = Meta::fit(at, words, gap);
                meta.place(at, taken, rest);
                let marked = random(3) > 0;
                if marked {
                    meta.marks.mark_and_take(at);
                }
                blocks.push((at, at + taken, marked));
                at += taken;
            }
            let live: usize = blocks.iter().filter(|block| block.2).map(|block| block.1 - block.0).sum();
            let swept = meta.sweep(5);
            assert_eq!(swept.live, live);
            let (mut at, mut found, mut gaps) = (0, Vec::new(), Vec::new());
            while at < PAGE_WORDS {
                let end = meta.end_of(at);
                if meta.is_object(at) {
                    found.push((at, end, true));
                } else {
                    gaps.push((at, end));
                }
                at = end;
            }
            assert!(gaps.windows(2).all(|pair| pair[0].1 < pair[1].0), "neighbours are joined");
            assert_eq!(swept.gap, gaps.iter().map(|gap| gap.1 - gap.0).max().unwrap_or(0));
            blocks.retain(|block| block.2);
            assert_eq!(found, blocks);
        }
    }
}
