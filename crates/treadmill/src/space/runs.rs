//! Free runs of backed pages: coalesced as they are given back and found by good fit, both in constant time (a
//! two-level segregated fit with boundary tags).
//!
//! Invariants: FR1 no two free runs touch; FR2 the first and the last page of each free run, and no others, are tagged
//! as such, with its length; FR3 a run is on the list of the bin of its length.

use crate::area::Area;
use crate::error::HeapError;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// Bins of exact lengths below 16 pages, then eight a doubling.
const BINS: usize = 256;
/// Runs looked at in the bin that may hold shorter ones than wanted.
const LOOKS: usize = 8;

const FIRST: u32 = 1;
const LAST: u32 = 2;

/// The bytes of a table of tags for each page.
const ENTRY: usize = 20;

fn bin_of(length: u32) -> usize {
    if length < 16 {
        return length as usize;
    }
    let log = length.ilog2();
    16 + (log as usize - 4) * 8 + (length >> (log - 3) & 7) as usize
}

/// Where the tags of each page are: four numbers, used while the page is the first or the last of a free run, and one
/// that says whether it is.
#[derive(Debug)]
pub(crate) struct Tags {
    area: Arc<Area>,
    stride: usize,
    numbers: usize,
    flags: usize,
    pages: u32,
}

impl Tags {
    /// A table of its own for so many pages.
    pub(crate) fn new(pages: u32) -> Result<Tags, HeapError> {
        let area = Arc::new(Area::reserve(pages as usize * ENTRY, 4096)?);
        Ok(Tags { area, stride: ENTRY, numbers: 0, flags: 16, pages })
    }

    /// Inside a table of `stride` bytes for each page: the four numbers at byte `numbers` of each entry, the flags at
    /// byte `flags`.
    ///
    /// # Safety
    /// The entries are zero at first and aligned. The flags' two lowest bits belong to the tags alone, and so do the
    /// numbers while a page is free. A thread that writes the flags' other bits keeps the two lowest, and does so while
    /// no other thread uses the tags.
    pub(crate) unsafe fn within(area: Arc<Area>, stride: usize, numbers: usize, flags: usize) -> Tags {
        let pages = (area.range().len() / stride) as u32;
        Tags { area, stride, numbers, flags, pages }
    }

    fn cell(&self, page: u32, offset: usize) -> &AtomicU32 {
        assert!(page < self.pages);
        let address = self.area.base() + page as usize * self.stride + offset;
        // SAFETY: in bounds, aligned, and zeroed or written by us, as `within` asks for; the area lives as long as the
        // tags.
        unsafe { AtomicU32::from_ptr(self.area.pointer(address).cast()) }
    }

    fn number(&self, page: u32, which: usize) -> &AtomicU32 {
        self.cell(page, self.numbers + 4 * which)
    }

    /// Length of the free run that begins on the page.
    fn length(&self, page: u32) -> &AtomicU32 {
        self.number(page, 0)
    }

    /// Length of the free run that ends on the page.
    fn back(&self, page: u32) -> &AtomicU32 {
        self.number(page, 1)
    }

    /// The next run of the bin, plus one.
    fn next(&self, page: u32) -> &AtomicU32 {
        self.number(page, 2)
    }

    /// The previous run of the bin, plus one.
    fn previous(&self, page: u32) -> &AtomicU32 {
        self.number(page, 3)
    }

    fn is(&self, page: u32, flag: u32) -> bool {
        page < self.pages && self.cell(page, self.flags).load(Ordering::Relaxed) & flag != 0
    }

    fn set(&self, page: u32, flag: u32) {
        let cell = self.cell(page, self.flags);
        cell.store(cell.load(Ordering::Relaxed) | flag, Ordering::Relaxed);
    }

    fn clear(&self, page: u32, flag: u32) {
        let cell = self.cell(page, self.flags);
        cell.store(cell.load(Ordering::Relaxed) & !flag, Ordering::Relaxed);
    }
}

/// The free runs, by length.
#[derive(Debug)]
pub(crate) struct FreeRuns {
    tags: Tags,
    /// The first run of each bin, plus one.
    heads: [u32; BINS],
    /// Bit n: bin n has runs.
    occupied: [u64; BINS / 64],
    total: u32,
}

impl FreeRuns {
    pub(crate) fn new(tags: Tags) -> FreeRuns {
        FreeRuns { tags, heads: [0; BINS], occupied: [0; BINS / 64], total: 0 }
    }

    /// Pages in all runs.
    pub(crate) fn total(&self) -> u32 {
        self.total
    }

    fn link(&mut self, start: u32, length: u32) {
        let (tags, bin) = (&self.tags, bin_of(length));
        let head = self.heads[bin];
        tags.set(start, FIRST);
        tags.set(start + length - 1, LAST);
        tags.length(start).store(length, Ordering::Relaxed);
        tags.back(start + length - 1).store(length, Ordering::Relaxed);
        tags.next(start).store(head, Ordering::Relaxed);
        tags.previous(start).store(0, Ordering::Relaxed);
        if let Some(other) = head.checked_sub(1) {
            tags.previous(other).store(start + 1, Ordering::Relaxed);
        }
        self.heads[bin] = start + 1;
        self.occupied[bin / 64] |= 1 << (bin % 64);
    }

    fn unlink(&mut self, start: u32, length: u32) {
        let (tags, bin) = (&self.tags, bin_of(length));
        let next = tags.next(start).load(Ordering::Relaxed);
        let previous = tags.previous(start).load(Ordering::Relaxed);
        if let Some(next) = next.checked_sub(1) {
            tags.previous(next).store(previous, Ordering::Relaxed);
        }
        match previous.checked_sub(1) {
            Some(previous) => tags.next(previous).store(next, Ordering::Relaxed),
            None => self.heads[bin] = next,
        }
        if self.heads[bin] == 0 {
            self.occupied[bin / 64] &= !(1 << (bin % 64));
        }
        tags.clear(start, FIRST);
        tags.clear(start + length - 1, LAST);
    }

    /// The first bin from `bin` on that has runs.
    fn occupied_from(&self, bin: usize) -> Option<usize> {
        let mut group = bin / 64;
        let mut bits = self.occupied.get(group)? & (u64::MAX << (bin % 64));
        while bits == 0 {
            group += 1;
            bits = *self.occupied.get(group)?;
        }
        Some(group * 64 + bits.trailing_zeros() as usize)
    }

    pub(crate) fn give(&mut self, mut start: u32, mut length: u32) {
        self.total += length;
        if start > 0 && self.tags.is(start - 1, LAST) {
            let left = self.tags.back(start - 1).load(Ordering::Relaxed);
            start -= left;
            self.unlink(start, left);
            length += left;
        }
        if self.tags.is(start + length, FIRST) {
            let right = self.tags.length(start + length).load(Ordering::Relaxed);
            self.unlink(start + length, right);
            length += right;
        }
        self.link(start, length);
    }

    /// A run of at least `pages` pages, of about that length if there is one.
    fn find(&self, pages: u32) -> Option<u32> {
        let bin = bin_of(pages);
        let mut at = self.heads[bin];
        for _ in 0..LOOKS {
            let Some(start) = at.checked_sub(1) else { break };
            if self.tags.length(start).load(Ordering::Relaxed) >= pages {
                return Some(start);
            }
            at = self.tags.next(start).load(Ordering::Relaxed);
        }
        let bin = self.occupied_from(bin + 1)?;
        self.heads[bin].checked_sub(1)
    }

    /// The front `pages` pages of the free run that begins at `start`.
    fn cut(&mut self, start: u32, pages: u32) -> u32 {
        let length = self.tags.length(start).load(Ordering::Relaxed);
        self.unlink(start, length);
        if length > pages {
            self.link(start + pages, length - pages);
        }
        self.total -= pages;
        start
    }

    pub(crate) fn take(&mut self, pages: u32) -> Option<u32> {
        let start = self.find(pages)?;
        Some(self.cut(start, pages))
    }

    /// Takes at most `pages` pages from one of the longest runs.
    pub(crate) fn take_of_long(&mut self, pages: u32) -> Option<(u32, u32)> {
        let group = self.occupied.iter().rposition(|bits| *bits != 0)?;
        let bin = group * 64 + self.occupied[group].ilog2() as usize;
        let start = self.heads[bin].checked_sub(1)?;
        let taken = pages.min(self.tags.length(start).load(Ordering::Relaxed));
        Some((self.cut(start, taken), taken))
    }

    /// Takes at most `pages` pages from one of the shortest runs: those that serve large objects least.
    pub(crate) fn take_some(&mut self, pages: u32) -> Option<(u32, u32)> {
        let start = self.heads[self.occupied_from(0)?].checked_sub(1)?;
        let taken = pages.min(self.tags.length(start).load(Ordering::Relaxed));
        Some((self.cut(start, taken), taken))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn runs(pages: u32) -> FreeRuns {
        FreeRuns::new(Tags::new(pages).expect("reserve"))
    }

    #[test]
    fn runs_coalesce_and_split() {
        let mut runs = runs(64);
        runs.give(4, 4);
        runs.give(12, 4);
        runs.give(8, 4);
        assert_eq!(runs.take(12), Some(4));
        assert_eq!(runs.take(1), None);
        runs.give(4, 6);
        assert_eq!(runs.take(2), Some(4));
        assert_eq!(runs.total(), 4);
    }

    /// FR1 to FR3 against a map of pages, over random giving and taking.
    #[test]
    fn runs_agree_with_a_map_of_pages() {
        const PAGES: u32 = 700;
        let mut runs = runs(PAGES);
        let mut free = vec![false; PAGES as usize];
        let mut taken: Vec<(u32, u32)> = vec![(0, PAGES)];
        let mut seed = 7u64;
        let mut random = |limit: usize| {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            (seed >> 8) as usize % limit.max(1)
        };
        for _ in 0..20_000 {
            if random(2) == 0 && !taken.is_empty() {
                let (start, length) = taken.swap_remove(random(taken.len()));
                let part = 1 + random(length as usize) as u32;
                runs.give(start, part);
                (start..start + part).for_each(|page| free[page as usize] = true);
                if part < length {
                    taken.push((start + part, length - part));
                }
            } else {
                let pages = 1 + random(40) as u32;
                let longest = free.split(|free| !free).map(<[bool]>::len).max().unwrap_or(0) as u32;
                match runs.take(pages) {
                    Some(start) => {
                        for page in start..start + pages {
                            assert!(std::mem::replace(&mut free[page as usize], false), "page {page} was not free");
                        }
                        taken.push((start, pages));
                    }
                    // What is in the bin of its own length may have been overlooked.
                    None => assert!(longest < pages || bin_of(longest) == bin_of(pages)),
                }
            }
            assert_eq!(runs.total() as usize, free.iter().filter(|free| **free).count());
        }
    }
}
