//! The range of addresses whose objects no collector of a machine moves, so that a collector recognises them with a
//! single comparison: literals of loaded code, persistent terms, and the message area of `hybrid` behind them. The
//! architecture makes the range.

use std::collections::{BTreeMap, BTreeSet};
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, MutexGuard};

use atoll_platform::Reservation;
use atoll_platform::addresses::Share;
use atoll_term::{Allocate, Term, WORD_BYTES, Word};

use crate::part::architecture;
use crate::settings::Settings;

/// Addresses reserved; memory is used as it is filled.
/// Miri fills them at once.
const RESERVED_BYTES: usize = if cfg!(miri) { 4 << 20 } else { 64 << 30 };

/// A range, reserved until it is dropped; each block in it keeps it.
#[derive(Debug)]
pub struct Range {
    reservation: Reservation,
    /// Bytes at its start that blocks are made in.
    blocks: usize,
    /// The verifier wants to see what uses freed blocks.
    verify: bool,
    free: Mutex<FreeSpace>,
}

/// The system gives no addresses for a range: so many bytes would have been the least.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoAddresses(pub usize);

/// What no block takes, in bytes from the range's start. Free runs do not touch each other, nor the unused rest.
#[derive(Debug, Default)]
struct FreeSpace {
    /// Where the rest begins that no block has ever taken, or that all blocks have left.
    top: usize,
    by_start: BTreeMap<usize, usize>,
    by_length: BTreeSet<(usize, usize)>,
}

impl FreeSpace {
    fn remove(&mut self, start: usize, bytes: usize) {
        self.by_start.remove(&start);
        self.by_length.remove(&(bytes, start));
    }

    fn insert(&mut self, start: usize, bytes: usize) {
        self.by_start.insert(start, bytes);
        self.by_length.insert((bytes, start));
    }

    /// The shortest free run that is long enough, or the beginning of the rest; `None`: `end` would be passed.
    fn take(&mut self, bytes: usize, end: usize) -> Option<usize> {
        if let Some(&(length, start)) = self.by_length.range((bytes, 0)..).next() {
            self.remove(start, length);
            if length > bytes {
                self.insert(start + bytes, length - bytes);
            }
            return Some(start);
        }
        let start = self.top;
        self.top = start.checked_add(bytes).filter(|top| *top <= end)?;
        Some(start)
    }

    /// Frees a run, which becomes one with those beside it: their start and bytes together.
    fn give(&mut self, mut start: usize, mut bytes: usize) -> (usize, usize) {
        let before = self.by_start.range(..start).next_back().map(|(start, bytes)| (*start, *bytes));
        if let Some((left, length)) = before.filter(|(left, length)| left + length == start) {
            self.remove(left, length);
            start = left;
            bytes += length;
        }
        if let Some(&length) = self.by_start.get(&(start + bytes)) {
            self.remove(start + bytes, length);
            bytes += length;
        }
        if start + bytes == self.top {
            self.top = start;
        } else {
            self.insert(start, bytes);
        }
        (start, bytes)
    }

    /// Whether a block has this place.
    fn is_taken(&self, place: usize) -> bool {
        let before = self.by_start.range(..=place).next_back();
        place < self.top && before.is_none_or(|(start, bytes)| place - start >= *bytes)
    }
}

/// With the verifier, freed words hold this number.
const FREED: i64 = 0xf4eed;
/// Free bytes side by side whose memory is given back: less is soon taken again.
const GIVEN_BACK: usize = 256 << 10;

impl Range {
    /// A range without an area behind its blocks.
    ///
    /// # Errors
    /// The system gives no addresses.
    pub fn new(settings: &Settings) -> Result<Arc<Range>, NoAddresses> {
        Range::with_area(settings, &[0]).map(|(range, _)| range)
    }

    /// A range with an area behind its blocks, for an architecture's own immovable objects: of the first of these sizes
    /// in bytes that the plan of addresses and the system allow, which it gives, too.
    ///
    /// # Errors
    /// The system gives no addresses even for the last of them.
    pub fn with_area(settings: &Settings, areas: &[usize]) -> Result<(Arc<Range>, usize), NoAddresses> {
        // Falls back to a small range where the system allows no large one, and to smaller ones by plan.
        let sizes = [0, 6, 9, 11].map(|halvings| RESERVED_BYTES >> halvings);
        let least = (sizes[3], areas.last().copied().unwrap_or(0));
        let is_planned =
            |(blocks, area): &(usize, usize)| *blocks <= Share::Immovable.most() && *area <= Share::MessageArea.most();
        let wishes =
            areas.iter().flat_map(|area| sizes.map(|blocks| (blocks, *area))).filter(is_planned).chain([least]);
        let mut made = wishes.filter_map(|(blocks, area)| Some((Reservation::new(blocks + area).ok()?, blocks, area)));
        let (reservation, blocks, area) = made.next().ok_or(NoAddresses(least.0 + least.1))?;
        let range = Range { reservation, blocks, verify: settings.verify, free: Mutex::default() };
        Ok((Arc::new(range), area))
    }

    /// The range's first address and its length in bytes.
    pub fn bounds(&self) -> (usize, usize) {
        (self.reservation.start().as_ptr() as usize, self.reservation.bytes())
    }

    /// The first byte of the area.
    pub fn area(&self) -> NonNull<u8> {
        // SAFETY: the blocks end inside of the reservation, or at its end.
        unsafe { self.reservation.start().add(self.blocks) }
    }

    /// Whether a cons or boxed term lies in the range.
    #[inline]
    pub fn contains(&self, term: Term) -> bool {
        let (start, bytes) = self.bounds();
        (term.pointer() as usize).wrapping_sub(start) < bytes
    }

    /// Whether a place in the range is one where an object may be: in a block, or in the area behind the blocks. For
    /// verifiers.
    pub fn is_taken(&self, place: *const Word) -> bool {
        let (start, bytes) = self.bounds();
        let offset = (place as usize).wrapping_sub(start);
        offset >= self.blocks && offset < bytes || self.free_space().is_taken(offset)
    }

    fn free_space(&self) -> MutexGuard<'_, FreeSpace> {
        self.free.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// Whether a cons or boxed term lies in the range of this thread's machine.
pub fn contains(term: Term) -> bool {
    architecture().base().immovable.contains(term)
}

/// A block of words in the range, for terms that are not moved. Freed as a whole when dropped.
#[derive(Debug)]
pub struct Block {
    range: Arc<Range>,
    offset: usize,
    words: usize,
    used: usize,
    off_heap: *mut Word,
    off_heap_bytes: usize,
}

// SAFETY: a block is memory that it owns; its contents are immutable once published.
unsafe impl Send for Block {}
// SAFETY: as above; `&Block` gives nothing but its bounds.
unsafe impl Sync for Block {}

impl Block {
    /// A block of exactly `words` words, in the range of this thread's machine.
    pub fn new(words: usize) -> Block {
        Block::of(&architecture().base().immovable, words)
    }

    fn of(range: &Arc<Range>, words: usize) -> Block {
        let (range, bytes) = (Arc::clone(range), words * WORD_BYTES);
        let offset = if words == 0 { Some(0) } else { range.free_space().take(bytes, range.blocks) };
        let Some(offset) = offset else {
            atoll_platform::ending::crash(&format!("literals: Cannot allocate {bytes} bytes of memory."));
        };
        Block { range, offset, words, used: 0, off_heap: std::ptr::null_mut(), off_heap_bytes: 0 }
    }

    /// First word.
    pub fn start(&self) -> *mut Word {
        self.range.reservation.start().as_ptr().wrapping_add(self.offset).cast()
    }

    /// Length in words.
    pub fn words(&self) -> usize {
        self.words
    }

    /// Bytes outside of the block that its terms keep, such as those of large binaries.
    pub fn off_heap_bytes(&self) -> usize {
        self.off_heap_bytes
    }

    /// Whether a pointer term leads into this block.
    pub fn contains(&self, term: Term) -> bool {
        term.is_pointer() && (term.pointer() as usize).wrapping_sub(self.start() as usize) < self.words * WORD_BYTES
    }
}

impl Allocate for Block {
    fn allocate(&mut self, words: usize) -> NonNull<Word> {
        assert!(self.words - self.used >= words, "a block that was sized for its contents");
        let place = self.start().wrapping_add(self.used);
        self.used += words;
        NonNull::new(place).expect("addresses of the range are not null")
    }

    fn adopt(&mut self, object: NonNull<Word>) {
        // SAFETY: the object lies in this block, is whole and new.
        unsafe {
            self.off_heap_bytes += crate::off_heap_bytes(object);
            crate::link_off_heap(&mut self.off_heap, object)
        }
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        if self.words == 0 {
            return;
        }
        // SAFETY: the owner that drops the block vouches that its terms are not used any more.
        unsafe {
            crate::release_off_heap_list(self.off_heap);
            if self.range.verify {
                // What is used all the same shall be seen.
                std::slice::from_raw_parts_mut(self.start(), self.words).fill(Term::small(FREED).word());
            }
        }
        let mut free = self.range.free_space();
        let (start, bytes) = free.give(self.offset, self.words * WORD_BYTES);
        if bytes >= GIVEN_BACK {
            // SAFETY: no block has these bytes, nor gets them while the lock is held.
            unsafe { self.range.reservation.discard(start, bytes) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn free_runs_become_one_again() {
        let mut free = FreeSpace::default();
        let places: Vec<usize> = (0..6).map(|_| free.take(80, 4096).expect("room")).collect();
        assert_eq!(places, [0, 80, 160, 240, 320, 400]);
        free.give(80, 80);
        free.give(240, 80);
        assert!(!free.is_taken(80) && free.is_taken(160) && !free.is_taken(319) && free.is_taken(320));
        assert_eq!(free.give(160, 80), (80, 240), "with both neighbours");
        assert_eq!(free.take(160, 4096), Some(80), "from the run, not from the rest");
        free.give(400, 80);
        assert_eq!((free.top, free.by_start.len()), (400, 1), "the last run is a part of the rest");
        assert_eq!(free.take(4096, 4096), None);
        for (start, bytes) in [(0, 80), (80, 160), (320, 80)] {
            free.give(start, bytes);
        }
        assert!(free.top == 0 && free.by_start.is_empty() && free.by_length.is_empty());
    }

    #[test]
    fn blocks_lie_in_the_range_and_are_used_again() {
        let range = Range::new(&Settings { verify: true, ..Settings::default() }).expect("addresses");
        let (start, bytes) = range.bounds();
        assert!(bytes >= RESERVED_BYTES >> 6);
        let mut block = Block::of(&range, 4);
        let first = block.allocate(2).as_ptr();
        let second = block.allocate(2).as_ptr();
        assert_eq!((first, second, block.words()), (block.start(), block.start().wrapping_add(2), 4));
        let places = [first.wrapping_add(3), first.wrapping_add(4)];
        // SAFETY: addresses alone are compared.
        let [inside, outside] = places.map(|at| unsafe { Term::cons_at(at) });
        assert!(block.contains(inside) && !block.contains(outside) && !block.contains(Term::NIL));
        assert_eq!(places.map(|at| range.is_taken(at)), [true, false]);
        assert!(range.contains(inside) && first.addr() - start < bytes);
        let edges = [start.wrapping_sub(8), start + bytes - 8, start + bytes].map(|at| at as *const Word);
        // SAFETY: as above.
        assert_eq!(edges.map(|at| range.contains(unsafe { Term::cons_at(at) })), [false, true, false]);
        drop(block);
        assert!(!range.is_taken(first));
        // SAFETY: the range has this memory, which no block has.
        assert_eq!(unsafe { *first }, Term::small(FREED).word(), "the verifier sees what uses it");
        let again = Block::of(&range, 3);
        assert_eq!((again.start(), again.words()), (first, 3));
        assert_eq!(Block::of(&range, 0).words(), 0);
    }

    #[test]
    fn the_area_lies_behind_the_blocks() {
        let (range, area) = Range::with_area(&Settings::default(), &[1 << 20]).expect("addresses");
        let (start, bytes) = range.bounds();
        let first = range.area().as_ptr();
        assert_eq!((area, first.addr() + area), (1 << 20, start + bytes));
        // What is in the area only its architecture knows.
        assert_eq!(
            [-8, 0, (1 << 20) - 8, 1 << 20].map(|at| range.is_taken(first.wrapping_offset(at).cast())),
            [false, true, true, false]
        );
    }
}
