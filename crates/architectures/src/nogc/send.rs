//! Spawn arguments, messages by reference, and memory for built-in functions.

use std::ptr::NonNull;

use atoll_heap::{HeapOptions, Message, Mutator};
use atoll_term::{Term, Word};

use super::NoGc;
use super::state::{State, next_chunk};
use crate::common::{message, stack};

pub(super) fn create(mutator: &mut Mutator, arguments: Message, options: &HeapOptions) -> Term {
    *mutator = Mutator::empty();
    // An empty heap that is not null: the limit's absence would mean that heap and stack share a block.
    mutator.top = NonNull::<Word>::dangling().as_ptr();
    mutator.limit = mutator.top;
    stack::create(mutator);
    State::of_mut(mutator).options = *options;
    let term = arguments.term();
    keep_fragment(mutator, arguments);
    term
}

pub(super) fn send(architecture: &NoGc, sender: Option<&mut Mutator>, term: Term) -> Message {
    let counters = &architecture.base.statistics.counters;
    if sender.is_some() {
        counters.sent(1, 0);
        return message::by_reference(term);
    }
    // SAFETY: terms outside of heaps are not marked.
    let message = unsafe { message::by_copy(term, architecture.immovable, false) };
    counters.sent(1, message.used() as u64);
    message
}

/// Words of fragments stay where they are for ever, because any process may hold pointers to them.
pub(super) fn keep_fragment(_receiver: &mut Mutator, message: Message) {
    if message.used() > 0 {
        message.into_raw();
    }
}

/// A chunk like any other: nothing has to move. The limit of the heap counts at the next collection.
pub(super) fn allocate_slow(mutator: &mut Mutator, words: usize) -> NonNull<Word> {
    let options = State::of(mutator).options;
    State::of_mut(mutator).options.maximum_words = 0;
    let chunk = next_chunk(mutator, words);
    State::of_mut(mutator).options = options;
    debug_assert!(chunk.is_ok());
    let place = mutator.top;
    mutator.top = place.wrapping_add(words);
    NonNull::new(place).unwrap_or(NonNull::dangling())
}
