//! Arguments of one kind that several built-in functions take.

use atoll_term::{Term, atoms};

/// A size that is not negative.
pub fn size(term: Term) -> Option<usize> {
    usize::try_from(term.as_small()?).ok()
}

/// Whether messages are kept off the heap.
pub fn message_queue_data(value: Term) -> Option<bool> {
    match value {
        atoms::OFF_HEAP => Some(true),
        atoms::ON_HEAP => Some(false),
        _ => None,
    }
}
