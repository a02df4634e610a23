//! The old generation of a process: one block that survivors go to, and others while or after a collection in slices
//! (`cycle.rs`). A process that never had an old generation has no memory for one.

use std::ptr::{NonNull, null_mut};
use std::thread::Builder;

use atoll_heap::join_off_heap;
use atoll_platform::{Reservation, discard_in_portions, threads};
use atoll_term::{WORD_BYTES, Word};

use super::cycle::Cycle;
use crate::common::{blocks, spares};

/// Words of a block above which it is given back by another thread.
const FREED_APART: usize = 1 << 19;

/// Words of blocks given back together above which they are given back in portions. The allocator gives the pages of
/// fewer back a tenth of a second later, all at once and on whatever thread asks it for memory then, or gives them out
/// again as they are, for which programs with small heaps need no new pages.
const FREED_IN_PORTIONS: usize = 1 << 22;

/// A block of whole objects.
#[derive(Clone, Copy)]
pub(super) struct Block {
    /// First word; null: there is none.
    pub(super) start: *mut Word,
    /// Next free word.
    pub(super) top: *mut Word,
    /// Length.
    pub(super) words: usize,
    /// Whether it is memory of the system's rather than the allocator's, which keeps a block that it is given back for
    /// a tenth of a second, and takes milliseconds of a scheduler's time to return it.
    is_mapped: bool,
}

impl Block {
    pub(super) const NONE: Block = Block::of(null_mut(), null_mut(), 0);

    /// A block of at least `least` words, about as many as are wanted.
    pub(super) fn new(least: usize, wanted: usize) -> Block {
        let is_mapped = wanted > FREED_IN_PORTIONS;
        let (start, words) = if is_mapped { spares::map(least, wanted) } else { (blocks::allocate(wanted), wanted) };
        Block { start, top: start, words, is_mapped }
    }

    /// A block that the allocator gave.
    pub(super) const fn of(start: *mut Word, top: *mut Word, words: usize) -> Block {
        Block { start, top, words, is_mapped: false }
    }

    pub(super) fn used(&self) -> usize {
        blocks::words_between(self.start, self.top)
    }

    pub(super) fn free_words(&self) -> usize {
        self.words - self.used()
    }

    /// Gives the block back.
    ///
    /// # Safety
    /// Nobody uses its objects any more.
    pub(super) unsafe fn free(self) {
        // SAFETY: as the caller's.
        unsafe {
            match self.is_mapped {
                true => spares::unmap(self.start, self.words),
                false => blocks::free(self.start, self.words),
            }
        }
    }
}

// SAFETY: a block is a range of memory, and tied to no thread.
unsafe impl Send for Block {}

/// The old generation.
pub(super) struct Old {
    /// Where survivors go.
    pub(super) target: Block,
    /// Full blocks, in the order in which their objects became old: none refers to an object of a later one.
    pub(super) others: Vec<Block>,
    /// Objects in these blocks with off-heap parts.
    pub(super) off_heap: *mut Word,
    /// Bytes that these objects keep outside of heaps.
    pub(super) off_heap_bytes: usize,
    /// The collection under way. It has the blocks that it collects, with their objects.
    pub(super) cycle: Option<Box<Cycle>>,
    /// Address up to which the target has pages, or has been asked to have them (`ahead.rs`).
    pub(super) paged: usize,
    /// In so many minor collections from now on, all that survives becomes old at once.
    pub(super) at_once: u8,
}

impl Old {
    pub(super) fn new(target: Block) -> Old {
        let others = Vec::new();
        Old { target, others, off_heap: null_mut(), off_heap_bytes: 0, cycle: None, paged: 0, at_once: 0 }
    }

    /// Whether other threads may read the objects.
    pub(super) fn has_helpers(&self) -> bool {
        self.cycle.as_ref().is_some_and(|cycle| cycle.has_helpers())
    }

    /// Gives up the cycle under way, if there is one. Its copies are not in use, or nothing is any more.
    pub(super) fn give_up_cycle(&mut self) {
        if let Some(cycle) = self.cycle.take() {
            let (blocks, off_heap) = cycle.give_up();
            self.put_in_front(blocks);
            // SAFETY: both lists are this process's, of whole objects.
            unsafe { join_off_heap(&mut self.off_heap, off_heap) }
        }
    }

    /// Visits all blocks.
    pub(super) fn each_block(&self, mut visit: impl FnMut(&Block)) {
        if let Some(cycle) = &self.cycle {
            cycle.each_block(&mut visit);
        }
        self.others.iter().for_each(&mut visit);
        visit(&self.target);
    }

    /// Words in use in all blocks.
    pub(super) fn used(&self) -> usize {
        let mut words = 0;
        self.each_block(|block| words += block.used());
        words
    }

    /// Length of all blocks.
    pub(super) fn words(&self) -> usize {
        let mut words = 0;
        self.each_block(|block| words += block.words);
        words
    }

    /// These blocks are older than all others.
    pub(super) fn put_in_front(&mut self, mut blocks: Vec<Block>) {
        blocks.append(&mut self.others);
        self.others = blocks;
    }

    /// Survivors go to another block from now on.
    pub(super) fn aim_at(&mut self, block: Block) {
        let before = std::mem::replace(&mut self.target, block);
        if before.used() > 0 {
            self.others.push(before);
        } else {
            // SAFETY: an empty block has no objects.
            unsafe { before.free() }
        }
    }

    /// Gives all blocks back.
    ///
    /// # Safety
    /// Nobody uses their objects any more. This function does not release the off-heap lists.
    pub(super) unsafe fn free(mut self) {
        self.give_up_cycle();
        self.others.push(self.target);
        // SAFETY: as the caller's.
        unsafe { free_apart(self.others, None) }
    }
}

/// Gives blocks back, and the map of a cycle. What is large and not kept (`spares.rs`) is given back by a thread of its
/// own, in portions: the system takes tens of milliseconds for it.
///
/// # Safety
/// Nobody uses their objects any more.
pub(super) unsafe fn free_apart(blocks: Vec<Block>, map: Option<Reservation>) {
    let is_large = |block: &Block| block.words > FREED_APART && !block.is_mapped;
    let (large, small): (Vec<Block>, Vec<Block>) = blocks.into_iter().partition(is_large);
    for block in small {
        // SAFETY: as the caller's.
        unsafe { block.free() }
    }
    if let Some(map) = map {
        spares::discard(map);
    }
    if large.is_empty() {
        return;
    }
    let portions = in_portions(&large);
    let free = move |blocks: &[Block]| {
        for block in blocks {
            // SAFETY: as the caller's.
            unsafe {
                if let Some(first) = NonNull::new(block.start.cast()).filter(|_| portions) {
                    discard_in_portions(first, block.words * WORD_BYTES);
                }
                block.free();
            }
        }
    };
    let theirs = large.clone();
    if threads::start(Builder::new().name("memory".into()), move || free(&theirs)).is_err() {
        free(&large);
    }
}

/// Whether blocks that are given back together are given back in portions.
fn in_portions(blocks: &[Block]) -> bool {
    blocks.iter().map(|block| block.words).sum::<usize>() > FREED_IN_PORTIONS
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Twenty blocks of 24 MB, none of which is long by itself, were left to the allocator, which took 10 ms for them.
    #[test]
    fn blocks_that_are_freed_together_are_a_long_one() {
        let block = Block::of(null_mut(), null_mut(), 3 << 20);
        assert!(in_portions(&[block; 20]));
        assert!(!in_portions(&[block]));
    }
}
