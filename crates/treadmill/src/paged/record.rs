//! The record of each page: what it is used for, and all that there is to know of a page with one object.
//!
//! Pages with several objects have bits for their blocks besides ([`Blocks`]), in a slot whose number their record
//! holds.

use super::blocks::Blocks;
use super::marks::{FIRST_OBJECT, Head, Marks};
use crate::sync::{AtomicU32, AtomicU64, Ordering};

/// What a page is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Nothing, or the inside of a large object.
    None,
    /// Objects up to a page, and gaps.
    Small,
    /// One object that leaves no room worth its while.
    Single,
    /// The first page of a large object. Its last page may be a `Small` one.
    Large,
}

/// The record of one page. All zero is a page used for nothing.
#[derive(Debug)]
#[repr(C, align(32))]
pub(super) struct Record {
    pub(super) head: Head,
    /// Whether the page is the first or the last of a free run, in the lowest bits; `body` then holds the run's tags.
    /// And its kind. Written under the lock of the memory only.
    state: AtomicU32,
    /// The next page of the list that this one is on, plus one.
    next: AtomicU32,
    /// Of a small page: where its slot is, in bytes, and its longest gap in words. Of one object: twice its length in
    /// words, plus whether it shares its last page; and where its next portion to scan begins, above the two bits of
    /// its mark.
    body: [AtomicU64; 2],
}

const KIND_SHIFT: u32 = 2;
const RUN_BITS: u32 = (1 << KIND_SHIFT) - 1;
const PORTION_SHIFT: u32 = 2;

impl Record {
    #[cfg(loom)]
    pub(super) fn new() -> Record {
        let body = std::array::from_fn(|_| AtomicU64::new(0));
        Record { head: Head::new(), state: AtomicU32::new(0), next: AtomicU32::new(0), body }
    }

    /// The mark bits of a page with one object.
    #[inline]
    pub(super) fn own_marks(&self) -> Marks<'_> {
        Marks { head: &self.head, groups: std::slice::from_ref(&self.body[1]) }
    }

    /// Where the numbers of free runs are, in bytes.
    pub(super) const BODY: usize = std::mem::offset_of!(Record, body);
    /// Where it is noted whether the page begins or ends a free run, in bytes.
    pub(super) const STATE: usize = std::mem::offset_of!(Record, state);

    #[inline]
    pub(super) fn kind(&self) -> Kind {
        match self.state.load(Ordering::Relaxed) >> KIND_SHIFT {
            1 => Kind::Small,
            2 => Kind::Single,
            3 => Kind::Large,
            _ => Kind::None,
        }
    }

    fn set_kind(&self, kind: Kind) {
        let number = match kind {
            Kind::None => 0,
            Kind::Small => 1,
            Kind::Single => 2,
            Kind::Large => 3,
        };
        let run = self.state.load(Ordering::Relaxed) & RUN_BITS;
        self.state.store(run | number << KIND_SHIFT, Ordering::Relaxed);
    }

    /// Makes this a page used for nothing.
    pub(super) fn set_unused(&self) {
        self.set_kind(Kind::None);
    }

    pub(super) fn next(&self) -> Option<u32> {
        self.next.load(Ordering::Relaxed).checked_sub(1)
    }

    pub(super) fn set_next(&self, page: Option<u32>) {
        self.next.store(page.map_or(0, |page| page + 1), Ordering::Relaxed);
    }

    /// Makes this a page for several objects.
    pub(super) fn set_small(&self, slot: u32) {
        self.head.forget();
        self.body[0].store(slot as u64 * size_of::<Blocks>() as u64, Ordering::Relaxed);
        self.set_kind(Kind::Small);
    }

    /// The slot of this page for several objects.
    pub(super) fn slot(&self) -> u32 {
        (self.body[0].load(Ordering::Relaxed) / size_of::<Blocks>() as u64) as u32
    }

    /// The longest gap in words, of a small page on a list.
    pub(super) fn gap(&self) -> usize {
        self.body[1].load(Ordering::Relaxed) as usize
    }

    pub(super) fn set_gap(&self, words: usize) {
        self.body[1].store(words as u64, Ordering::Relaxed);
    }

    /// Makes this the page of a single object of `words` words.
    pub(super) fn set_single(&self, words: usize) {
        self.set_object(words, false);
        self.set_kind(Kind::Single);
    }

    /// Makes this the first page of a large object of `words` words, which shares its last page with small objects or
    /// not.
    pub(super) fn set_large(&self, words: usize, shares: bool) {
        self.set_object(words, shares);
        self.set_kind(Kind::Large);
    }

    fn set_object(&self, words: usize, shares: bool) {
        self.head.forget();
        self.body[0].store((words as u64) << 1 | shares as u64, Ordering::Relaxed);
        self.body[1].store(0, Ordering::Relaxed);
    }

    /// The length in words of the one object that begins on this page.
    #[inline]
    pub(super) fn object_words(&self) -> usize {
        (self.body[0].load(Ordering::Relaxed) >> 1) as usize
    }

    /// Whether small objects may lie behind the end of the large object that begins on this page.
    pub(super) fn shares_last_page(&self) -> bool {
        self.body[0].load(Ordering::Relaxed) & 1 == 1
    }

    /// Takes the next `portion` words of a large object to be scanned; its words from the result on.
    pub(super) fn take_portion(&self, portion: usize) -> usize {
        (self.body[1].fetch_add((portion as u64) << PORTION_SHIFT, Ordering::AcqRel) >> PORTION_SHIFT) as usize
    }

    pub(super) fn rewind_portions(&self) {
        self.body[1].fetch_and(FIRST_OBJECT, Ordering::AcqRel);
    }
}

/// Access to the records of all pages, and to the bits of blocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Table {
    records: *const Record,
    pages: usize,
    blocks: *const Blocks,
    slot_bytes: usize,
}

// SAFETY: the table is memory that lives as long as the collector, and is made of atomics.
unsafe impl Send for Table {}
// SAFETY: as above.
unsafe impl Sync for Table {}

impl Table {
    /// # Safety
    /// `records` points to `pages` zeroed or initialised [`Record`]s, and `blocks` to `slots` [`Blocks`], which all
    /// outlive the table.
    pub(super) unsafe fn new(records: *const Record, pages: usize, blocks: *const Blocks, slots: usize) -> Table {
        Table { records, pages, blocks, slot_bytes: slots * size_of::<Blocks>() }
    }

    #[inline]
    pub(super) fn get(&self, page: u32) -> &Record {
        assert!((page as usize) < self.pages);
        // SAFETY: in bounds, and by the contract of `new` initialised; all-zero is a valid `Record`.
        unsafe { &*self.records.add(page as usize) }
    }

    /// What is noted of the blocks of a small page.
    #[inline]
    pub(super) fn blocks(&self, record: &Record) -> &Blocks {
        let at = record.body[0].load(Ordering::Relaxed) as usize;
        assert!(at < self.slot_bytes);
        // SAFETY: in bounds, as only `set_small` writes it a multiple of the size, and by the contract of `new`
        // initialised; all bits are valid `Blocks`.
        unsafe { &*self.blocks.byte_add(at) }
    }

    /// The mark bits of a page.
    #[inline]
    pub(super) fn marks<'a>(&'a self, record: &'a Record) -> Marks<'a> {
        self.marks_of(record, record.kind())
    }

    /// As [`Table::marks`] where the kind of the page is known.
    #[inline]
    pub(super) fn marks_of<'a>(&'a self, record: &'a Record, kind: Kind) -> Marks<'a> {
        match kind {
            Kind::Small => Marks { head: &record.head, groups: &self.blocks(record).marks },
            _ => record.own_marks(),
        }
    }

    /// The words of the block at word `index` of a page, or of the object that begins there.
    #[inline]
    pub(super) fn words(&self, record: &Record, index: usize) -> usize {
        self.words_of(record, record.kind(), index)
    }

    /// As [`Table::words`] where the kind of the page is known.
    #[inline]
    pub(super) fn words_of(&self, record: &Record, kind: Kind, index: usize) -> usize {
        match kind {
            Kind::Single | Kind::Large => record.object_words(),
            _ => self.blocks(record).end_of(index) - index,
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// The marks of an object that has a page of its own, its length and its portions do not touch each other.
    #[test]
    fn one_object_needs_no_more_than_its_record() {
        assert_eq!(size_of::<Record>(), 32);
        // SAFETY: all zero is a valid `Record`.
        let record: Record = unsafe { std::mem::zeroed() };
        record.set_large(5000, true);
        let marks = record.own_marks();
        assert!(!marks.is_of(0), "stale colours are forgotten");
        marks.claim(3);
        assert!(marks.mark(0) && !marks.mark(0) && marks.is_marked(0));
        assert_eq!((record.take_portion(512), record.take_portion(1024), record.take_portion(1)), (0, 512, 1536));
        assert!(marks.is_marked(0) && marks.take_scan(0) && !marks.take_scan(0));
        assert_eq!(marks.next_marked(0), Some((0, true)));
        assert_eq!(marks.next_marked(2), None);
        record.rewind_portions();
        assert_eq!((record.take_portion(512), record.object_words(), record.shares_last_page()), (0, 5000, true));
        marks.claim(4);
        assert!(!marks.is_marked(0) && marks.next_marked(0).is_none());
        assert_eq!(record.take_portion(1), 512);
        record.set_single(500);
        assert_eq!((record.kind(), record.object_words(), record.shares_last_page()), (Kind::Single, 500, false));
    }
}
