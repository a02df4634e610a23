//! The old generation of a process: one block that survivors go to, and others while or after a collection in slices
//! (`cycle.rs`). A process that never had an old generation has no memory for one.

use std::ptr::null_mut;

use atoll_term::Word;

use super::cycle::Cycle;
use crate::common::blocks;

/// A block of whole objects.
#[derive(Clone, Copy)]
pub(super) struct Block {
    /// First word; null: there is none.
    pub(super) start: *mut Word,
    /// Next free word.
    pub(super) top: *mut Word,
    /// Length.
    pub(super) words: usize,
}

impl Block {
    pub(super) const NONE: Block = Block { start: null_mut(), top: null_mut(), words: 0 };

    pub(super) fn new(words: usize) -> Block {
        let start = blocks::allocate(words);
        Block { start, top: start, words }
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
        unsafe { blocks::free(self.start, self.words) }
    }
}

/// The old generation.
pub(super) struct Old {
    /// Where survivors go.
    pub(super) target: Block,
    /// Full blocks, in the order in which they became full.
    pub(super) others: Vec<Block>,
    /// Objects in these blocks with off-heap parts.
    pub(super) off_heap: *mut Word,
    /// Bytes that these objects keep outside of heaps.
    pub(super) off_heap_bytes: usize,
    /// The collection under way. It has the blocks that it collects, with their objects.
    pub(super) cycle: Option<Box<Cycle>>,
}

impl Old {
    pub(super) fn new(target: Block) -> Old {
        Old { target, others: Vec::new(), off_heap: null_mut(), off_heap_bytes: 0, cycle: None }
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
        if let Some(cycle) = self.cycle.take() {
            self.others.extend(cycle.give_up().0);
        }
        for block in self.others.iter().chain([&self.target]) {
            // SAFETY: as the caller's.
            unsafe { block.free() }
        }
    }
}
