//! One range of addresses whose objects no collector moves, so that a collector asks a single comparison: literals
//! of loaded code and persistent terms now, the message area of `hybrid` later.

use std::ptr::NonNull;
use std::sync::{Mutex, OnceLock};

use atoll_platform::Reservation;
use atoll_term::{Allocate, Term, WORD_BYTES, Word};

/// Addresses reserved; memory is used as it is filled.
/// Miri fills them at once.
const RESERVED_BYTES: usize = if cfg!(miri) { 4 << 20 } else { 64 << 30 };

struct Range {
    reservation: Reservation,
    /// Bytes at its start that blocks are made in.
    blocks: usize,
    free: Mutex<FreeSpace>,
}

#[derive(Default)]
struct FreeSpace {
    top: usize,
    blocks: Vec<(usize, usize)>,
}

static RANGE: OnceLock<Range> = OnceLock::new();

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

/// Reserves the range with an area behind its blocks, for an architecture's own immovable objects: of the first of these sizes in
/// bytes that the system allows. Gives its first byte and its size. `None`: the range is in use already.
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
        let range = range();
        let mut free = range.free.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some(position) = free.blocks.iter().position(|(_, room)| *room >= words) {
            let (offset, room) = free.blocks.swap_remove(position);
            if room > words {
                free.blocks.push((offset + words * WORD_BYTES, room - words));
            }
            return Block { offset, words, used: 0, off_heap: std::ptr::null_mut() };
        }
        let offset = free.top;
        if offset + words * WORD_BYTES > range.blocks {
            let bytes = words * WORD_BYTES;
            atoll_platform::ending::crash(&format!("literals: Cannot allocate {bytes} bytes of memory."));
        }
        free.top += words * WORD_BYTES;
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
        let range = range();
        // SAFETY: whoever drops the block vouches that its terms are not used any more.
        unsafe {
            crate::release_off_heap_list(self.off_heap);
            range.reservation.discard(self.offset, self.words * WORD_BYTES);
        }
        let mut free = range.free.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        free.blocks.push((self.offset, self.words));
    }
}
