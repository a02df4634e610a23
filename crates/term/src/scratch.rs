//! A heap that only grows, for terms outside of any process: literals, tests, tools.

use std::ptr::NonNull;

use crate::build::Allocate;
use crate::off_heap::release_off_heap_part;
use crate::word::Word;

/// Blocks of words that are freed together. Terms in it live as long as it does.
#[derive(Debug, Default)]
pub struct ScratchHeap {
    blocks: Vec<Box<[Word]>>,
    used: usize,
    off_heap: Vec<NonNull<Word>>,
}

/// Under Miri each object has a block of its own: Miri sees then where an object ends, and its neighbours do not
/// slow it down.
const BLOCK_WORDS: usize = if cfg!(miri) { 1 } else { 1024 };

// SAFETY: the heap owns its blocks and the binaries' counts; nothing in it is tied to a thread.
unsafe impl Send for ScratchHeap {}

impl ScratchHeap {
    /// An empty heap.
    pub fn new() -> ScratchHeap {
        ScratchHeap::default()
    }
}

impl Allocate for ScratchHeap {
    fn allocate(&mut self, words: usize) -> NonNull<Word> {
        if self.blocks.last().is_none_or(|block| block.len() - self.used < words) {
            self.blocks.push(vec![0; words.max(BLOCK_WORDS)].into_boxed_slice());
            self.used = 0;
        }
        let block = self.blocks.last_mut().expect("a block was just pushed");
        let place = NonNull::from(&mut block[self.used..]).cast::<Word>();
        self.used += words;
        place
    }

    fn adopt(&mut self, object: NonNull<Word>) {
        self.off_heap.push(object);
    }
}

impl Drop for ScratchHeap {
    fn drop(&mut self) {
        for object in &self.off_heap {
            // SAFETY: adopted objects lie whole in the blocks, which are still there.
            unsafe { release_off_heap_part(*object) };
        }
    }
}
