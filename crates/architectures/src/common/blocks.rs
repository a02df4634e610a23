//! Blocks of heap words from the global allocator, counted.

use std::alloc::{Layout, alloc, dealloc, realloc};
use std::cell::Cell;
use std::ptr::null_mut;

use atoll_heap::{counters, out_of_memory};
use atoll_platform::allocator::may_fail;
use atoll_term::{WORD_BYTES, Word};

fn layout(words: usize) -> Layout {
    match Layout::array::<Word>(words.max(1)) {
        Ok(layout) => layout,
        Err(_) => out_of_memory(words.saturating_mul(WORD_BYTES)),
    }
}

/// A block of `words` words, not initialised. Ends the run when there is no memory.
pub(crate) fn allocate(words: usize) -> *mut Word {
    let layout = layout(words);
    // SAFETY: the layout is not empty.
    let block = may_fail(|| unsafe { alloc(layout) });
    if block.is_null() {
        out_of_memory(layout.size());
    }
    counters::heap_changed(words as i64);
    block.cast()
}

/// Gives a block back; null is none.
///
/// # Safety
/// `block` is null or came from here with this size, and nobody uses it any more.
pub(crate) unsafe fn free(block: *mut Word, words: usize) {
    if !block.is_null() {
        counters::heap_changed(-(words as i64));
        // SAFETY: the caller gives up a block of this layout.
        unsafe { dealloc(block.cast(), layout(words)) }
    }
}

/// The block that this thread gave back last with [`give_back`], uncounted.
struct Kept {
    block: *mut Word,
    words: usize,
}

impl Drop for Kept {
    fn drop(&mut self) {
        if !self.block.is_null() {
            // SAFETY: nobody uses a block that was given back.
            unsafe { dealloc(self.block.cast(), layout(self.words)) }
        }
    }
}

/// Longest block that a thread keeps, in words.
const LONGEST_KEPT: usize = 1 << 19;

impl Kept {
    const NOTHING: Kept = Kept { block: null_mut(), words: 0 };
}

thread_local! {
    static KEPT: Cell<Kept> = const { Cell::new(Kept::NOTHING) };
}

/// As [`allocate`], for young generations of large heaps, two of which take turns: the block that this thread gave back
/// last, if it is of this length. The allocator would now and then give its pages back to the system, for which the
/// thread that asks it for memory stands still for milliseconds, and the new pages would take as long again.
pub(crate) fn take(words: usize) -> *mut Word {
    let kept = KEPT.replace(Kept::NOTHING);
    if kept.words != words {
        KEPT.set(kept);
        return allocate(words);
    }
    let block = kept.block;
    std::mem::forget(kept);
    counters::heap_changed(words as i64);
    block
}

/// As [`free`]; this thread keeps the block for the next [`take`], if it is not too long.
///
/// # Safety
/// As for [`free`].
pub(crate) unsafe fn give_back(block: *mut Word, words: usize) {
    if block.is_null() || words > LONGEST_KEPT {
        // SAFETY: as the caller's.
        return unsafe { free(block, words) };
    }
    counters::heap_changed(-(words as i64));
    KEPT.set(Kept { block, words });
}

/// Makes a block smaller; its first `smaller` words are kept, perhaps at another address.
///
/// # Safety
/// `block` came from here with `words` words; `smaller` is at most that.
pub(crate) unsafe fn shrink(block: *mut Word, words: usize, smaller: usize) -> *mut Word {
    counters::heap_changed(smaller as i64 - words as i64);
    let bytes = layout(smaller).size();
    // SAFETY: the block has this layout, and the new size is not zero.
    let moved = may_fail(|| unsafe { realloc(block.cast(), layout(words), bytes) });
    if moved.is_null() {
        out_of_memory(bytes);
    }
    moved.cast()
}

/// Words from `start` to `end`.
#[inline(always)]
pub(crate) fn words_between(start: *const Word, end: *const Word) -> usize {
    (end as usize - start as usize) / WORD_BYTES
}
