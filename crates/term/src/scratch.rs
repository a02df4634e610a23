//! A heap that only grows, for terms outside of any process: literals, tests, tools.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ptr::NonNull;

use crate::build::Allocate;
use crate::off_heap::release_off_heap_part;
use crate::word::Word;

/// Blocks of words that are freed together. Terms in it live as long as it does.
#[derive(Debug, Default)]
pub struct ScratchHeap {
    /// Not boxes, whose contents nobody else may point to. With their lengths in words.
    blocks: Vec<(NonNull<Word>, usize)>,
    used: usize,
    off_heap: Vec<NonNull<Word>>,
}

/// Under Miri each object has a block of its own: Miri sees then where an object ends, and its neighbours do not
/// slow it down.
const BLOCK_WORDS: usize = if cfg!(miri) { 1 } else { 1024 };
/// Most heaps hold a message of a few words: a long block would cost more than the message.
const FIRST_BLOCK_WORDS: usize = if cfg!(miri) { 1 } else { 64 };

// SAFETY: the heap owns its blocks and the binaries' counts; nothing in it is tied to a thread.
unsafe impl Send for ScratchHeap {}

impl ScratchHeap {
    /// An empty heap.
    pub fn new() -> ScratchHeap {
        ScratchHeap::default()
    }

    /// Visits the blocks: first words, lengths in words.
    pub fn each_block(&self, visit: &mut dyn FnMut(*mut Word, usize)) {
        for (start, length) in &self.blocks {
            visit(start.as_ptr(), *length);
        }
    }

    /// Gives up all terms, and keeps memory for as many as usual.
    pub fn clear(&mut self) {
        self.release(1);
        self.used = 0;
    }

    /// Gives up all terms, and the blocks behind so many.
    fn release(&mut self, kept: usize) {
        for object in self.off_heap.drain(..) {
            // SAFETY: adopted objects lie whole in the blocks, which are still there.
            unsafe { release_off_heap_part(object) };
        }
        for (block, length) in self.blocks.drain(kept.min(self.blocks.len())..) {
            // SAFETY: the block was allocated with this layout, and the heap's terms are not used any more.
            unsafe { dealloc(block.as_ptr().cast(), ScratchHeap::layout(length)) };
        }
    }

    fn layout(words: usize) -> Layout {
        Layout::array::<Word>(words).expect("a block within the address space")
    }
}

impl Allocate for ScratchHeap {
    fn allocate(&mut self, words: usize) -> NonNull<Word> {
        if self.blocks.last().is_none_or(|(_, length)| length - self.used < words) {
            let length = words.max(if self.blocks.is_empty() { FIRST_BLOCK_WORDS } else { BLOCK_WORDS });
            let layout = ScratchHeap::layout(length);
            // SAFETY: a block has at least a word.
            let block = NonNull::new(unsafe { alloc_zeroed(layout) }).unwrap_or_else(|| handle_alloc_error(layout));
            self.blocks.push((block.cast(), length));
            self.used = 0;
        }
        let (block, _) = self.blocks.last().expect("a block was just pushed");
        // SAFETY: so many words of the block are in use, and at least `words` are left.
        let place = unsafe { block.add(self.used) };
        self.used += words;
        place
    }

    fn adopt(&mut self, object: NonNull<Word>) {
        self.off_heap.push(object);
    }
}

impl Drop for ScratchHeap {
    fn drop(&mut self) {
        self.release(0);
    }
}

/// A [`ScratchHeap`] that counts the words that were allocated in it.
#[derive(Debug, Default)]
pub struct MeasuringHeap {
    words: usize,
    scratch: ScratchHeap,
}

impl MeasuringHeap {
    /// Words allocated so far.
    pub fn words(&self) -> usize {
        self.words
    }
}

impl Allocate for MeasuringHeap {
    fn allocate(&mut self, words: usize) -> NonNull<Word> {
        self.words += words;
        self.scratch.allocate(words)
    }

    fn adopt(&mut self, object: NonNull<Word>) {
        self.scratch.adopt(object);
    }
}
