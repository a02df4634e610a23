//! `max_heap_size`: what is reachable from a process with a limit, which the process counts itself, when it has
//! allocated a quarter of its limit since the last time, and not further than the limit.

use std::collections::HashSet;

use atoll_heap::{Collection, HeapFull, Mutator, RootSet};
use atoll_term::{Term, Word};

use super::space::Space;
use super::state::State;
use crate::common::blocks::words_between;
use crate::common::sizing::extent;

/// Counts what a process has allocated in its buffer so far; it may get another one then.
#[inline]
pub(super) fn count(mutator: &mut Mutator) {
    let top = mutator.top;
    let state = State::of_mut(mutator);
    if state.maximum_words() > 0 {
        state.allocated += words_between(state.counted as *const Word, top);
        state.counted = top as usize;
    }
}

/// Counts what a process has allocated outside of its buffer.
pub(super) fn count_more(mutator: &mut Mutator, words: usize) {
    let state = State::of_mut(mutator);
    if state.maximum_words() > 0 {
        state.allocated += words;
    }
}

/// The process's heap top is another one now.
#[inline]
pub(super) fn count_from_here(mutator: &mut Mutator) {
    let top = mutator.top as usize;
    State::of_mut(mutator).counted = top;
}

/// Whether a process has allocated so much that its limit has to be looked at.
pub(super) fn is_due(mutator: &mut Mutator, request: &Collection) -> bool {
    let maximum = State::of(mutator).maximum_words();
    if maximum == 0 {
        return false;
    }
    count(mutator);
    let stack = mutator.stack_words() + request.stack_words;
    request.major || stack > maximum || State::of(mutator).allocated + request.heap_words > maximum / 4
}

/// Looks at the limit. Twice what is reachable, as a private heap needs while it is copied, the stack and the room that
/// is asked for are to be below it.
///
/// # Errors
/// The process has reached its limit.
pub(super) fn check(
    space: &Space,
    mutator: &mut Mutator,
    request: &Collection,
    live: &[Term],
    roots: &mut dyn RootSet,
) -> Result<(), HeapFull> {
    let maximum = State::of(mutator).maximum_words();
    State::of_mut(mutator).allocated = 0;
    let beside = mutator.stack_words() + request.stack_words + request.heap_words;
    let mut seen =
        Seen { space, most: maximum.saturating_sub(beside) / 2, words: 0, met: HashSet::new(), waiting: Vec::new() };
    // SAFETY: the process's stack, registers and roots are whole, and this thread runs it.
    unsafe {
        seen.run(mutator.stack, mutator.stack_words());
        seen.run(live.as_ptr().cast(), live.len());
        roots.each_slice(&mut |start, terms| seen.run(start.cast(), terms));
    }
    let words = 2 * seen.words + beside;
    if words > maximum { Err(HeapFull { words }) } else { Ok(()) }
}

/// Objects that are reachable, up to a number of words.
struct Seen<'a> {
    space: &'a Space,
    most: usize,
    words: usize,
    met: HashSet<usize>,
    waiting: Vec<Term>,
}

impl Seen<'_> {
    /// Counts what a run of words leads to.
    ///
    /// # Safety
    /// The run is readable, and pointers into the heap lead to whole objects.
    unsafe fn run(&mut self, start: *const Word, words: usize) {
        for index in 0..words {
            // SAFETY: the caller vouches for the run.
            self.note(unsafe { Term::from_word(*start.add(index)) });
        }
        while self.words <= self.most
            && let Some(term) = self.waiting.pop()
        {
            // SAFETY: parts of a whole term are whole.
            let (size, fields, count) = unsafe { extent(term) };
            self.words += size;
            for index in 0..count {
                // SAFETY: as above.
                self.note(unsafe { Term::from_word(*fields.add(index)) });
            }
        }
    }

    fn note(&mut self, term: Term) {
        if let Some(index) = self.space.index_of(term)
            && self.met.insert(index)
        {
            self.waiting.push(term);
        }
    }
}
