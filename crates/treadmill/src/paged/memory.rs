//! The pages of the paged collector: which have room for what. Everything here is under one lock, held for a page's
//! worth of work at a time.

use super::PAGE_BYTES;
use super::blocks::Blocks;
use super::marks::PAGE_WORDS;
use super::record::{Kind, Record, Table};
use super::slots::{Slots, UNIT_BYTES};
use crate::space::PageSpace;

/// Buckets: gaps of 2 to 15 words exactly, then eight a doubling, up to a whole page.
const BUCKETS: usize = 57;

/// Free pages are scarce below one part in so many of the limit.
const SCARCE_PART: u32 = 8;

/// What is roomy then, in words: shorter gaps are taken last.
const SCARCE_ROOMY: usize = 16;

/// An object that would leave no more words of its page than this has the page for itself: noting the blocks of the
/// page would take as much.
pub(super) const SINGLE_REST: usize = size_of::<Blocks>() / 8;

/// Bytes that a page takes, its record included.
const PAGE_COST: usize = PAGE_BYTES + size_of::<Record>();

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

/// Pages off the list of unswept ones: this thread's alone until they are settled.
#[derive(Debug)]
pub(super) struct Unswept {
    cycle: u32,
    pages: [u32; SWEPT],
    pub(super) length: usize,
}

/// What a page was found to be.
#[derive(Clone, Copy, Debug)]
pub(super) enum Found {
    /// A page, or the first of several, with one object.
    LiveObject,
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
            let record = table.get(*page);
            let marks = table.marks(record);
            let lives = marks.is_of(self.cycle);
            *found = match record.kind() {
                Kind::Small if lives => match table.blocks(record).sweep() {
                    swept if swept.live == 0 => Found::Free,
                    swept => Found::Gap(swept.gap),
                },
                Kind::Single | Kind::Large if lives && marks.is_marked(0) => Found::LiveObject,
                Kind::Large => Found::DeadLarge,
                _ => Found::Free,
            };
        }
        found
    }
}

/// Where an object goes that could have a page for itself.
#[derive(Clone, Copy, Debug)]
pub(super) enum Room {
    /// Into a gap of this page, which the caller owns.
    Gap(u32),
    /// To this page, made for it.
    Single(u32),
}

/// A singly-linked list of pages, through their records.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PageList {
    head: Option<u32>,
    tail: Option<u32>,
    pub(super) length: u32,
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
    /// Pages with one object, and the first pages of large objects.
    pub(super) large: PageList,
    /// Pages of before the last collection's end, not yet looked at.
    pub(super) unswept: PageList,
    /// Sum of the longest gaps of the pages in buckets, in words.
    pub(super) gap_words: u64,
    /// The limit in bytes, for pages and their metadata.
    limit: usize,
    /// Whether all memory was backed at once, with slots for each page.
    pub(super) backed: bool,
    pub(super) slots: Slots,
    /// Words lost at the ends of objects that have pages for themselves.
    pub(super) large_padding: u64,
    /// Pages that sweeping has looked at since the last collection's end.
    pub(super) looked_at: u64,
    /// The collection that left the unswept pages.
    cycle: u32,
    /// Pages taken from `unswept` that a thread is sweeping.
    in_flight: usize,
}

impl Memory {
    pub(super) fn new(space: PageSpace, table: Table, slots: Slots, limit: usize, backed: bool) -> Memory {
        Memory {
            limit,
            backed,
            slots,
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

    /// A page with a gap of at least `words`: rather a half-empty one, then a free one, then any; where few pages are
    /// free, they are kept for what needs whole ones as long as there is a gap. The caller owns the page.
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
        let slot = self.take_slot()?;
        let Some(page) = self.take_run(1) else {
            self.slots.give(slot);
            return None;
        };
        self.make_small(page, slot).format();
        Some(page)
    }

    fn make_small(&self, page: u32, slot: u32) -> &Blocks {
        let record = self.table.get(page);
        record.set_small(slot);
        self.table.blocks(record)
    }

    /// A slot for a page that has yet to be taken.
    fn take_slot(&mut self) -> Option<u32> {
        if let Some(slot) = self.slots.take() {
            return Some(slot);
        }
        let pages = self.limit.saturating_sub(self.slots.bytes() + UNIT_BYTES) / PAGE_COST;
        if self.backed || pages <= self.space.in_use() as usize || !self.slots.grow() {
            return None;
        }
        self.fit_limit();
        self.slots.take()
    }

    /// Contiguous free pages; slots that nobody uses make room for them.
    fn take_run(&mut self, pages: u32) -> Option<u32> {
        while !self.backed && self.space.available() < pages && self.slots.shrink() {
            self.fit_limit();
        }
        if pages == 1 { self.space.take_page() } else { self.space.take_run(pages) }
    }

    /// How many pages the limit has room for.
    fn fit_limit(&mut self) {
        let bytes = self.limit.saturating_sub(self.slots.bytes());
        self.space.set_limit((bytes / PAGE_COST) as u32);
    }

    /// Bytes of the records of pages in use, and of slots.
    pub(super) fn metadata(&self) -> usize {
        self.space.in_use() as usize * size_of::<Record>() + self.slots.bytes()
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
    /// Where much of its last page would be lost, small objects may lie there: the object's last words look like an
    /// object of their own then, which is marked whenever the object is.
    pub(super) fn take_large(&mut self, words: usize) -> Option<u32> {
        let pages = words.div_ceil(PAGE_WORDS);
        let run = u32::try_from(pages).ok()?;
        let lost = pages * PAGE_WORDS - words;
        let shares = lost > 8 && lost * SHARED_PART >= words;
        let slot = if shares { Some(self.take_slot()?) } else { None };
        let Some(page) = self.take_run(run) else {
            slot.into_iter().for_each(|slot| self.slots.give(slot));
            return None;
        };
        self.table.get(page).set_large(words, shares);
        self.large.push(self.table, page);
        match slot {
            Some(slot) => {
                let last = page + run - 1;
                let gap = self.make_small(last, slot).set_tail(PAGE_WORDS - lost);
                self.give(last, gap);
            }
            None => self.large_padding += lost as u64,
        }
        Some(page)
    }

    /// A page with a gap of at least `words` words, or else one made for an object of that length alone.
    pub(super) fn take_single(&mut self, words: usize) -> Option<Room> {
        if let Some(page) = self.take_partial(words) {
            return Some(Room::Gap(page));
        }
        let page = self.take_run(1)?;
        self.table.get(page).set_single(words);
        self.large.push(self.table, page);
        self.large_padding += (PAGE_WORDS - words) as u64;
        Some(Room::Single(page))
    }

    /// Gives the pages of a dead large object back; a shared last page is swept by itself.
    fn give_large(&mut self, page: u32) {
        let record = self.table.get(page);
        let words = record.object_words();
        let mut pages = words.div_ceil(PAGE_WORDS);
        if record.shares_last_page() {
            pages -= 1;
        } else {
            self.large_padding -= (pages * PAGE_WORDS - words) as u64;
        }
        record.set_unused();
        self.space.give_run(page, pages as u32);
    }

    /// Notes that a page of small objects, or of a single one, is free.
    fn empty(&mut self, page: u32) {
        let record = self.table.get(page);
        match record.kind() {
            Kind::Small => self.slots.give(record.slot()),
            _ => self.large_padding -= (PAGE_WORDS - record.object_words()) as u64,
        }
        record.set_unused();
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
            let record = self.table.get(page);
            if record.kind() == Kind::Small {
                self.table.blocks(record).prefetch();
            }
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
                Found::LiveObject => self.large.push(table, page),
                Found::DeadLarge => self.give_large(page),
                Found::Gap(gap) => self.give(page, *gap),
                Found::Free => {
                    self.empty(page);
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

    fn give_free(&mut self, first: u32, length: u32) {
        if length > 0 {
            self.space.give_run(first, length);
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
