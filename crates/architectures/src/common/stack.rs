//! Stacks apart from heaps: small at first, grown by copying.

use atoll_heap::Mutator;

use super::{blocks, fibonacci};

/// Words of a new process's stack: what one needs that waits for messages in the function it was spawned with.
const FIRST_WORDS: usize = 2;
/// Words that a stack keeps although few are in use.
const KEPT_WORDS: usize = 84;

/// Gives a mutator its stack.
pub(crate) fn create(mutator: &mut Mutator) {
    place(mutator, FIRST_WORDS);
}

fn place(mutator: &mut Mutator, words: usize) {
    mutator.block = blocks::allocate(words);
    mutator.stack_base = mutator.block.wrapping_add(words);
    mutator.stack = mutator.stack_base;
}

/// Gives a mutator whose stack is empty one of another size.
pub(crate) fn replace_empty(mutator: &mut Mutator, words: usize) {
    debug_assert!(mutator.stack_words() == 0);
    free(mutator);
    place(mutator, words);
}

/// Words of the stack's block.
pub(crate) fn block_words(mutator: &Mutator) -> usize {
    blocks::words_between(mutator.block, mutator.stack_base)
}

/// Moves the stack to a block of another size, which has room for what is in use.
fn resize(mutator: &mut Mutator, words: usize) {
    let used = mutator.stack_words();
    let block = blocks::allocate(words);
    let base = block.wrapping_add(words);
    let stack = base.wrapping_sub(used);
    // SAFETY: the new block has room; the old one is the mutator's own.
    unsafe {
        std::ptr::copy_nonoverlapping(mutator.stack, stack, used);
        blocks::free(mutator.block, block_words(mutator));
    }
    mutator.block = block;
    mutator.stack_base = base;
    mutator.stack = stack;
}

/// Makes room for `words` more words. If that takes another block, its size.
pub(crate) fn reserve(mutator: &mut Mutator, words: usize) -> Option<usize> {
    if blocks::words_between(mutator.block, mutator.stack) >= words {
        return None;
    }
    // Half as much again, so that a deep recursion copies its stack seldom.
    let used = mutator.stack_words();
    resize(mutator, fibonacci::at_least(used + (used / 2).max(words)));
    Some(block_words(mutator))
}

/// Gives back what a stack that has become much smaller does not need.
pub(crate) fn trim(mutator: &mut Mutator, words: usize) {
    let needed = mutator.stack_words() + words;
    if block_words(mutator) > (4 * needed).max(KEPT_WORDS) {
        resize(mutator, fibonacci::at_least(2 * needed));
    }
}

/// Gives back what the stack of a process that will wait for long does not need.
pub(crate) fn fit(mutator: &mut Mutator, words: usize) {
    let needed = (mutator.stack_words() + words).max(FIRST_WORDS);
    if block_words(mutator) > needed {
        resize(mutator, needed);
    }
}

/// Frees the stack.
pub(crate) fn free(mutator: &mut Mutator) {
    // SAFETY: the mutator has ended; its stack is used no more.
    unsafe { blocks::free(mutator.block, block_words(mutator)) }
}
