//! The first block of a process, which has room for its arguments and a few words, gives way to one of the usual
//! size, or of the size that is expected (`expected.rs`). What is in it is moved as it is: it is hardly more than the
//! arguments, so a collection would free nothing.

use atoll_heap::{HeapFull, Mutator};

use super::expected::Expected;
use super::phases::{Need, Roots, check_limit, move_stack, shift_heap};
use super::state::State;
use crate::common::relocate::Move;
use crate::common::{blocks, fibonacci};

/// Moves the contents of the first block to another one that has the room needed. False: that is to be done by a
/// collection.
pub(super) fn outgrow(
    expected: &Expected,
    mutator: &mut Mutator,
    need: Need,
    roots: &mut Roots<'_>,
) -> Result<bool, HeapFull> {
    let state = State::of(mutator);
    let block = state.block_words(mutator);
    let minimum = state.options().minimum_words;
    // Copies in immovable memory are noted by the addresses of their originals.
    if !state.beginning.has_first_block()
        || need.exact
        || !mutator.fragments.is_null()
        || !roots.beside.elsewhere.is_empty()
    {
        return Ok(false);
    }
    let heap = mutator.block;
    let used = blocks::words_between(heap, mutator.top);
    let least = (used + mutator.stack_words() + need.words).max(minimum);
    let lent = expected.lend(mutator, least);
    let new_words = fibonacci::at_least(lent.unwrap_or(least));
    check_limit(mutator, new_words)?;
    let start = move_stack(mutator, new_words);
    let shift = Move { from: heap, words: used, to: start };
    // SAFETY: the new block has room for the whole objects of the old one, which nobody uses afterwards.
    unsafe {
        std::ptr::copy_nonoverlapping(heap, start, used);
        shift_heap(mutator, &shift, roots);
        blocks::free(heap, block);
    }
    mutator.top = start.wrapping_add(used);
    mutator.block = start;
    let state = State::of_mut(mutator);
    state.high_water = start;
    state.beginning.outgrew_first_block();
    if lent.is_some() {
        expected.lent(mutator);
    }
    Ok(true)
}
