//! What `nogc` keeps in a mutator: its chunks, each with a link to the one before in its first words.

use atoll_heap::{HeapFull, HeapOptions, Mutator, STATE_WORDS};
use atoll_term::Word;

use crate::common::blocks;

/// Words of a process's first chunk.
const FIRST_CHUNK: usize = 64;
/// Chunks grow up to this.
const LARGEST_CHUNK: usize = 1 << 17;
/// Words at the head of a chunk: the chunk before, and words that were used in that one.
const CHUNK_HEAD: usize = 2;

/// The overlay of `Mutator::state`.
#[repr(C)]
pub(super) struct State {
    /// The chunk in use.
    chunk: *mut Word,
    /// Words of all chunks so far.
    pub(super) allocated: usize,
    pub(super) options: HeapOptions,
}

const _: () = assert!(size_of::<State>() <= STATE_WORDS * size_of::<usize>());

impl State {
    pub(super) fn of(mutator: &Mutator) -> &State {
        // SAFETY: the state words are this architecture's; all zeros is a valid state.
        unsafe { &*mutator.state.as_ptr().cast::<State>() }
    }

    pub(super) fn of_mut(mutator: &mut Mutator) -> &mut State {
        // SAFETY: as above.
        unsafe { &mut *mutator.state.as_mut_ptr().cast::<State>() }
    }
}

/// Gives the process a chunk with at least `words` free words.
pub(super) fn next_chunk(mutator: &mut Mutator, words: usize) -> Result<(), HeapFull> {
    let top = mutator.top;
    let state = State::of_mut(mutator);
    let maximum = state.options.maximum_words;
    let capacity = words.max(state.allocated.clamp(FIRST_CHUNK, LARGEST_CHUNK));
    if maximum > 0 && state.allocated + words > maximum {
        return Err(HeapFull { words: state.allocated + words });
    }
    let chunk = blocks::allocate(CHUNK_HEAD + capacity);
    let before = std::mem::replace(&mut state.chunk, chunk);
    state.allocated += capacity;
    let used = if before.is_null() { 0 } else { blocks::words_between(before, top) - CHUNK_HEAD };
    // SAFETY: the new chunk has room for its head.
    unsafe {
        *chunk = before as Word;
        *chunk.add(1) = used as Word;
    }
    mutator.top = chunk.wrapping_add(CHUNK_HEAD);
    mutator.limit = mutator.top.wrapping_add(capacity);
    Ok(())
}

/// Visits the chunks with the words in use.
pub(super) fn each_chunk(mutator: &Mutator, visit: &mut dyn FnMut(*mut Word, usize)) {
    let mut chunk = State::of(mutator).chunk;
    if chunk.is_null() {
        return;
    }
    let mut used = blocks::words_between(chunk, mutator.top) - CHUNK_HEAD;
    while !chunk.is_null() {
        visit(chunk.wrapping_add(CHUNK_HEAD), used);
        // SAFETY: a chunk starts with its head.
        unsafe {
            used = *chunk.add(1) as usize;
            chunk = *chunk as *mut Word;
        }
    }
}
