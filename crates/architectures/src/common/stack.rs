//! Stacks apart from heaps: small at first, grown by copying.

use atoll_heap::Mutator;

use super::{blocks, fibonacci};

/// Words of a new process's stack.
const FIRST_WORDS: usize = 21;

/// Gives a mutator its stack.
pub(crate) fn create(mutator: &mut Mutator) {
    let block = blocks::allocate(FIRST_WORDS);
    mutator.stack_limit = block;
    mutator.stack_base = block.wrapping_add(FIRST_WORDS);
    mutator.stack = mutator.stack_base;
}

/// Words of the stack's block.
pub(crate) fn block_words(mutator: &Mutator) -> usize {
    blocks::words_between(mutator.stack_limit, mutator.stack_base)
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
        blocks::free(mutator.stack_limit, block_words(mutator));
    }
    mutator.stack_limit = block;
    mutator.stack_base = base;
    mutator.stack = stack;
}

/// Makes room for `words` more words.
pub(crate) fn reserve(mutator: &mut Mutator, words: usize) {
    if blocks::words_between(mutator.stack_limit, mutator.stack) < words {
        // Half as much again, so that a deep recursion copies its stack seldom.
        let used = mutator.stack_words();
        resize(mutator, fibonacci::at_least(used + (used / 2).max(words)));
    }
}

/// Gives back what a stack that has become much smaller does not need.
pub(crate) fn trim(mutator: &mut Mutator, words: usize) {
    let needed = (mutator.stack_words() + words).max(FIRST_WORDS);
    if block_words(mutator) > 4 * needed {
        resize(mutator, fibonacci::at_least(2 * needed));
    }
}

/// Frees the stack.
pub(crate) fn free(mutator: &mut Mutator) {
    // SAFETY: the mutator has ended; its stack is used no more.
    unsafe { blocks::free(mutator.stack_limit, block_words(mutator)) }
}
