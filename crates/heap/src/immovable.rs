//! One range of addresses whose objects no collector moves, so that a collector recognises them with a single
//! comparison: literals of loaded code, persistent terms, and the message area of `hybrid` behind them.

use std::collections::{BTreeMap, BTreeSet};
use std::ptr::NonNull;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard, OnceLock};

use atoll_platform::Reservation;
use atoll_term::{Allocate, Term, WORD_BYTES, Word};

use crate::statistics::VERIFY;

/// Addresses reserved; memory is used as it is filled.
/// Miri fills them at once.
const RESERVED_BYTES: usize = if cfg!(miri) { 4 << 20 } else { 64 << 30 };

struct Range {
    reservation: Reservation,
    /// Bytes at its start that blocks are made in.
    blocks: usize,
    free: Mutex<FreeSpace>,
}

/// What no block takes, in bytes from the range's start. Free runs do not touch each other, nor the unused rest.
#[derive(Default)]
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

static RANGE: OnceLock<Range> = OnceLock::new();

fn free_space(range: &Range) -> MutexGuard<'_, FreeSpace> {
    range.free.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

fn range() -> &'static Range {
    RANGE.get_or_init(|| reserve(&[0]).0)
}

/// The range with an area behind its blocks: of the first of these sizes that the system allows.
fn reserve(areas: &[usize]) -> (Range, usize) {
    // Falls back to a small range where the system allows no large one.
    let sizes = [RESERVED_BYTES, RESERVED_BYTES >> 6];
    let wishes = areas.iter().flat_map(|area| sizes.map(|blocks| (blocks, *area)));
    let made = wishes.filter_map(|(blocks, area)| Some((Reservation::new(blocks + area).ok()?, blocks, area))).next();
    let Some((reservation, blocks, area)) = made else {
        let least = sizes[1] + areas.last().unwrap_or(&0);
        eprintln!("atoll: cannot reserve {least} bytes of addresses (literals and message area)");
        atoll_platform::ending::leave(1)
    };
    (Range { reservation, blocks, free: Mutex::default() }, area)
}

/// Reserves the range with an area behind its blocks, for an architecture's own immovable objects: of the first of
/// these sizes in bytes that the system allows. Gives its first byte and its size. `None`: the range is in use already.
pub fn reserve_with_area(sizes: &[usize]) -> Option<(NonNull<u8>, usize)> {
    let mut reserved = None;
    let range = RANGE.get_or_init(|| {
        let (range, area) = reserve(sizes);
        reserved = Some(area);
        range
    });
    let start = range.reservation.start().as_ptr().wrapping_add(range.blocks);
    Some((NonNull::new(start)?, reserved?))
}

/// The range's first address and its length in bytes.
pub fn bounds() -> (usize, usize) {
    let range = range();
    (range.reservation.start().as_ptr() as usize, range.reservation.bytes())
}

/// Whether a cons or boxed term lies in the range.
#[inline]
pub fn contains(term: Term) -> bool {
    let (start, bytes) = bounds();
    (term.pointer() as usize).wrapping_sub(start) < bytes
}

/// Whether a place in the range is one where an object may be: in a block, or in the area behind the blocks. For
/// verifiers.
pub fn is_taken(place: *const Word) -> bool {
    let range = range();
    let offset = (place as usize).wrapping_sub(range.reservation.start().as_ptr() as usize);
    offset >= range.blocks && offset < range.reservation.bytes() || free_space(range).is_taken(offset)
}

/// A block of words in the range, for terms that are not moved. Freed as a whole when dropped.
#[derive(Debug)]
pub struct Block {
    offset: usize,
    words: usize,
    used: usize,
    off_heap: *mut Word,
}

// SAFETY: a block is memory that it owns; its contents are immutable once published.
unsafe impl Send for Block {}
// SAFETY: as above; `&Block` gives nothing but its bounds.
unsafe impl Sync for Block {}

impl Block {
    /// A block of exactly `words` words.
    pub fn new(words: usize) -> Block {
        let (range, bytes) = (range(), words * WORD_BYTES);
        let offset = if words == 0 { Some(0) } else { free_space(range).take(bytes, range.blocks) };
        let Some(offset) = offset else {
            atoll_platform::ending::crash(&format!("literals: Cannot allocate {bytes} bytes of memory."));
        };
        Block { offset, words, used: 0, off_heap: std::ptr::null_mut() }
    }

    /// First word.
    pub fn start(&self) -> *mut Word {
        range().reservation.start().as_ptr().wrapping_add(self.offset).cast()
    }

    /// Length in words.
    pub fn words(&self) -> usize {
        self.words
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
        // SAFETY: the object lies in this block and is new.
        unsafe { crate::link_off_heap(&mut self.off_heap, object) }
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        if self.words == 0 {
            return;
        }
        let range = range();
        // SAFETY: the owner that drops the block vouches that its terms are not used any more.
        unsafe {
            crate::release_off_heap_list(self.off_heap);
            if VERIFY.load(Ordering::Relaxed) {
                // What is used all the same shall be seen.
                std::slice::from_raw_parts_mut(self.start(), self.words).fill(Term::small(FREED).word());
            }
        }
        let mut free = free_space(range);
        let (start, bytes) = free.give(self.offset, self.words * WORD_BYTES);
        if bytes >= GIVEN_BACK {
            // SAFETY: no block has these bytes, nor gets them while the lock is held.
            unsafe { range.reservation.discard(start, bytes) };
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
}
