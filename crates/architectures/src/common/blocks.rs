//! Blocks of heap words from the global allocator, counted.

use std::alloc::{Layout, alloc, dealloc, realloc};

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
