//! The pages of the paged collector: which have room for what. Everything here is under one lock, held for a page's worth of work at a time.

use super::marks::PAGE_WORDS;
use super::meta::{Kind, Meta};
use crate::space::PageSpace;

/// Buckets: gaps of 2 to 15 words exactly, then eight a doubling, up to a whole page.
const BUCKETS: usize = 57;

/// Free pages are scarce below one part in so many of the limit.
const SCARCE_PART: u32 = 8;

/// What is roomy then, in words: shorter gaps are taken last.
const SCARCE_ROOMY: usize = 16;

/// A large object shares its last page if what would be lost is at least one part in so many of it.
const SHARED_PART: usize = 8;

/// The bucket of pages whose longest gap has this many words.
fn bucket_of(gap: usize) -> usize {
    if gap < 16 {
        return gap;
    }
    let log = gap.ilog2() as usize;
    16 + (log - 4) * 8 + (gap >> (log - 3) & 7)
}

/// The first bucket all of whose pages have a gap of at least `words`.
fn bucket_for(words: usize) -> usize {
    let bucket = bucket_of(words);
    if words < 16 {
        return bucket;
    }
    let log = words.ilog2() as usize;
    let exact = words & ((1 << (log - 3)) - 1) == 0;
    bucket + usize::from(!exact)
}

/// Pages swept at a time.
pub(super) const SWEPT: usize = 8;

/// Pages off the list of unswept ones: nobody else's until they are settled.
#[derive(Debug)]
pub(super) struct Unswept {
    cycle: u32,
    pages: [u32; SWEPT],
    pub(super) length: usize,
}

/// What a page was found to be.
#[derive(Clone, Copy, Debug)]
pub(super) enum Found {
    LiveLarge,
    DeadLarge,
    /// A page with objects, and its longest gap in words.
    Gap(usize),
    Free,
}

impl Unswept {
    /// Looks at the pages: dead objects become gaps.
    pub(super) fn look(&self, table: Table) -> [Found; SWEPT] {
        let mut found = [Found::Free; SWEPT];
        for (page, found) in self.pages[..self.length].iter().zip(&mut found) {
            let meta = table.get(*page);
            *found = if meta.kind() == Kind::Large {
                match meta.marks.is_of(self.cycle) && meta.marks.is_marked(0) {
                    true => Found::LiveLarge,
                    false => Found::DeadLarge,
                }
            } else {
                match meta.sweep(self.cycle) {
                    swept if swept.live == 0 => Found::Free,
                    swept => Found::Gap(swept.gap),
                }
            };
        }
        found
    }
}

/// A singly-linked list of pages, through their metadata.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PageList {
    head: Option<u32>,
    tail: Option<u32>,
    pub(super) length: u32,
}

/// Access to the metadata of all pages.
#[derive(Clone, Copy, Debug)]
pub(super) struct Table {
    first: *const Meta,
    pages: usize,
}

// SAFETY: the table is memory that lives as long as the collector, and `Meta` is made of atomics.
unsafe impl Send for Table {}
// SAFETY: as above.
unsafe impl Sync for Table {}

impl Table {
    /// # Safety
    /// `first` points to `pages` zeroed or initialised [`Meta`]s that outlive the table.
    pub(super) unsafe fn new(first: *const Meta, pages: usize) -> Table {
        Table { first, pages }
    }

    #[inline]
    pub(super) fn get(&self, page: u32) -> &Meta {
        assert!((page as usize) < self.pages);
        // SAFETY: in bounds, and by the contract of `new` initialised; all-zero is a valid `Meta`.
        unsafe { &*self.first.add(page as usize) }
    }

    pub(super) fn pointer(&self, page: u32) -> *const Meta {
        self.get(page)
    }
}

impl PageList {
    pub(super) fn push(&mut self, table: Table, page: u32) {
        table.get(page).set_next(self.head);
        if self.head.is_none() {
            self.tail = Some(page);
        }
        self.head = Some(page);
        self.length += 1;
    }

    pub(super) fn pop(&mut self, table: Table) -> Option<u32> {
        let page = self.head?;
        self.head = table.get(page).next();
        if self.head.is_none() {
            self.tail = None;
        }
        self.length -= 1;
        Some(page)
    }

    fn append(&mut self, table: Table, other: PageList) {
        let Some(head) = other.head else { return };
        match self.tail {
            Some(tail) => table.get(tail).set_next(Some(head)),
            None => self.head = Some(head),
        }
        self.tail = other.tail;
        self.length += other.length;
    }

    pub(super) fn pages(&self, table: Table) -> Vec<u32> {
        let mut pages = Vec::new();
        let mut next = self.head;
        while let Some(page) = next {
            pages.push(page);
            next = table.get(page).next();
        }
        pages
    }
}

#[derive(Debug)]
pub(super) struct Memory {
    pub(super) space: PageSpace,
    table: Table,
    buckets: [PageList; BUCKETS],
    /// Bit n: bucket n has pages.
    occupied: u64,
    pub(super) full: PageList,
    pub(super) large: PageList,
    /// Pages of before the last collection's end, not yet looked at.
    pub(super) unswept: PageList,
    /// Sum of the longest gaps of the pages in buckets, in words.
    pub(super) gap_words: u64,
    /// The limit in bytes, for pages and their metadata.
    limit: usize,
    /// Whether all memory was backed at once, with metadata for each page.
    pub(super) backed: bool,
    /// Pages in use that need metadata: all but those inside large objects.
    pub(super) described: usize,
    /// Words lost at the ends of large objects.
    pub(super) large_padding: u64,
    /// Pages that sweeping has looked at since the last collection's end.
    pub(super) looked_at: u64,
    /// The collection that left the unswept pages.
    cycle: u32,
    /// Pages taken from `unswept` that somebody is looking at.
    in_flight: usize,
}

impl Memory {
    pub(super) fn new(space: PageSpace, table: Table, limit: usize, backed: bool) -> Memory {
        Memory {
            limit,
            backed,
            described: 0,
            space,
            table,
            buckets: [PageList::default(); BUCKETS],
            occupied: 0,
            full: PageList::default(),
            large: PageList::default(),
            unswept: PageList::default(),
            gap_words: 0,
            large_padding: 0,
            looked_at: 0,
            cycle: 0,
            in_flight: 0,
        }
    }

    /// A page with a gap of at least `words`: rather a half-empty one, then a free one, then any; where few pages are free, they are kept
    /// for what needs whole ones as long as there is a gap. The caller owns the page.
    pub(super) fn take(&mut self, words: usize, roomy: usize) -> Option<u32> {
        if self.space.available() < self.space.limit() / SCARCE_PART {
            let partial = self.take_partial(words.max(roomy.min(SCARCE_ROOMY)));
            return partial.or_else(|| self.take_partial(words)).or_else(|| self.take_free());
        }
        let half_empty = self.take_partial(words.max(roomy));
        half_empty.or_else(|| self.take_free()).or_else(|| self.take_partial(words))
    }

    fn take_partial(&mut self, words: usize) -> Option<u32> {
        let fitting = self.occupied & (u64::MAX << bucket_for(words));
        if fitting == 0 {
            return None;
        }
        let bucket = fitting.trailing_zeros() as usize;
        let page = self.buckets[bucket].pop(self.table)?;
        if self.buckets[bucket].length == 0 {
            self.occupied &= !(1 << bucket);
        }
        self.gap_words -= self.table.get(page).gap() as u64;
        Some(page)
    }

    fn take_free(&mut self) -> Option<u32> {
        self.count_metadata(1);
        let Some(page) = self.space.take_page() else {
            self.count_metadata(-1);
            return None;
        };
        self.table.get(page).format();
        Some(page)
    }

    /// Takes a page back whose longest gap is known.
    pub(super) fn give(&mut self, page: u32, gap: usize) {
        self.table.get(page).set_gap(gap);
        if gap < 2 {
            self.full.push(self.table, page);
            return;
        }
        let bucket = bucket_of(gap);
        self.buckets[bucket].push(self.table, page);
        self.occupied |= 1 << bucket;
        self.gap_words += gap as u64;
    }

    /// A run of pages for a large object of `words` words.
    ///
    /// Where much of its last page would be lost, small objects may lie there: the object's last words look like an object of their own then, which
    /// is marked whenever the object is.
    pub(super) fn take_large(&mut self, words: usize) -> Option<u32> {
        let pages = words.div_ceil(PAGE_WORDS);
        let run = u32::try_from(pages).ok()?;
        let lost = pages * PAGE_WORDS - words;
        let shares = lost > 8 && lost * SHARED_PART >= words;
        let with_metadata = 1 + i64::from(shares);
        self.count_metadata(with_metadata);
        let Some(page) = self.space.take_run(run) else {
            self.count_metadata(-with_metadata);
            return None;
        };
        self.table.get(page).set_large(words, shares);
        self.large.push(self.table, page);
        if shares {
            let last = page + pages as u32 - 1;
            let gap = self.table.get(last).set_tail(PAGE_WORDS - lost);
            self.give(last, gap);
        } else {
            self.large_padding += lost as u64;
        }
        Some(page)
    }

    /// Gives the pages of a dead large object back; a shared last page is swept by itself.
    fn give_large(&mut self, page: u32) {
        let meta = self.table.get(page);
        let words = meta.large_words();
        let mut pages = words.div_ceil(PAGE_WORDS);
        if meta.shares_last_page() {
            pages -= 1;
        } else {
            self.large_padding -= (pages * PAGE_WORDS - words) as u64;
        }
        meta.set_kind(Kind::None);
        self.space.give_run(page, pages as u32);
        self.count_metadata(-1);
    }

    /// Changes the number of pages in use that need metadata, and with it how many pages the limit has room for.
    fn count_metadata(&mut self, more: i64) {
        self.described = self.described.saturating_add_signed(more as isize);
        if self.backed {
            return;
        }
        let bytes = self.limit.saturating_sub(self.described * size_of::<Meta>());
        self.space.set_limit((bytes / (PAGE_WORDS * 8)) as u32);
    }

    /// The end of a collection: every page on a list is to be looked at again. Constant time.
    pub(super) fn flip(&mut self, cycle: u32) {
        let table = self.table;
        for bucket in &mut self.buckets {
            self.unswept.append(table, std::mem::take(bucket));
        }
        self.unswept.append(table, std::mem::take(&mut self.full));
        self.unswept.append(table, std::mem::take(&mut self.large));
        self.occupied = 0;
        self.gap_words = 0;
        self.looked_at = 0;
        self.cycle = cycle;
    }

    /// Takes unswept pages for [`Unswept::look`], which needs no lock, and [`Memory::settle`].
    pub(super) fn take_unswept(&mut self) -> Unswept {
        let mut taken = Unswept { cycle: self.cycle, pages: [0; SWEPT], length: 0 };
        while taken.length < SWEPT
            && let Some(page) = self.unswept.pop(self.table)
        {
            self.table.get(page).prefetch();
            taken.pages[taken.length] = page;
            taken.length += 1;
        }
        self.looked_at += taken.length as u64;
        self.in_flight += taken.length;
        taken
    }

    /// Whether all that the last collection left was looked at.
    pub(super) fn is_swept(&self) -> bool {
        self.unswept.head.is_none() && self.in_flight == 0
    }

    /// Puts swept pages where they belong.
    pub(super) fn settle(&mut self, taken: &Unswept, found: &[Found; SWEPT]) {
        let table = self.table;
        // Neighbours are given back together, which spares joining them one by one.
        let (mut first, mut length) = (0, 0);
        for (page, found) in taken.pages[..taken.length].iter().copied().zip(found) {
            match found {
                Found::LiveLarge => self.large.push(table, page),
                Found::DeadLarge => self.give_large(page),
                Found::Gap(gap) => self.give(page, *gap),
                Found::Free => {
                    table.get(page).set_kind(Kind::None);
                    if length > 0 && page == first + length {
                        length += 1;
                    } else if length > 0 && page + 1 == first {
                        (first, length) = (page, length + 1);
                    } else {
                        self.give_free(first, length);
                        (first, length) = (page, 1);
                    }
                }
            }
        }
        self.give_free(first, length);
        self.in_flight -= taken.length;
    }

    /// Takes so many free pages back that had metadata each.
    fn give_free(&mut self, first: u32, length: u32) {
        if length > 0 {
            self.space.give_run(first, length);
            self.count_metadata(-i64::from(length));
        }
    }

    /// Free words: of free pages, and what the longest gaps of partly filled ones promise.
    pub(super) fn free_words(&self) -> u64 {
        self.space.available() as u64 * PAGE_WORDS as u64 + self.gap_words * 3 / 4
    }

    /// Pages with gaps, by bucket.
    pub(super) fn partial(&self) -> Vec<u32> {
        self.buckets.iter().flat_map(|bucket| bucket.pages(self.table)).collect()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn every_page_of_the_bucket_found_is_long_enough() {
        for gap in 2..=PAGE_WORDS {
            assert!(bucket_of(gap) < BUCKETS);
            for words in 2..=PAGE_WORDS {
                if bucket_of(gap) >= bucket_for(words) {
                    assert!(gap >= words, "gap {gap} for {words} words");
                }
            }
            assert!(bucket_for(gap) <= bucket_of(gap) + 1);
        }
    }
}
