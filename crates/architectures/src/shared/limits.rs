//! `max_heap_size`: what a process with a limit has of the heap that belongs to all.
//!
//! Processes with a limit are traced before all others, one by one, the one that asked for the collection first: what
//! is copied then is charged to them. What such a process received or shares is charged as if it had it alone, to the
//! first that is traced. Between collections the words that it allocates are counted where buffers change hands.
//!
//! A process is full when twice what is charged to it, its stack and the room it asks for are above its limit: a
//! private heap needs as much while it is copied. What is charged may be dead already, so that is judged after a major
//! collection. A limit is not looked at before so much has been allocated that it may have been reached, and a quarter
//! of it since the last time.

use atoll_heap::{Collection, HeapFull, Mutator};
use atoll_term::Word;

use super::state::State;
use crate::common::blocks::words_between;

/// What the words are that a process with a limit is charged for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Charge {
    /// No process has a limit.
    Nothing,
    /// Copies of a minor collection: young ones, and those that have become old.
    Minor,
    /// All that is copied.
    All,
    /// All that is old.
    Old,
}

/// What is charged to one process, in words.
pub(super) struct Account {
    /// In the old generation.
    old: usize,
    /// In the young generation, as the last collection left it.
    young: usize,
    /// Allocated since.
    allocated: usize,
    /// Allocated before that, since the limit was looked at.
    not_judged: usize,
    /// Its allocation buffer is counted up to here.
    counted: *mut Word,
    /// The collection after which it was told that it is full; 0: none.
    refused_in: usize,
}

impl Account {
    pub(super) fn new(top: *mut Word) -> Account {
        Account { old: 0, young: 0, allocated: 0, not_judged: 0, counted: top, refused_in: 0 }
    }

    /// Charged words in the young generation, with those that were allocated since.
    pub(super) fn young(&self) -> usize {
        self.young + self.allocated
    }

    /// Charged words in the old generation.
    pub(super) fn old(&self) -> usize {
        self.old
    }
}

/// Counts what a process has allocated in its buffer so far; it may get another one then.
#[inline]
pub(super) fn count(mutator: &mut Mutator) {
    let top = mutator.top;
    if let Some(account) = &mut State::of_mut(mutator).account {
        account.allocated += words_between(account.counted, top);
        account.counted = top;
    }
}

/// Counts what a process has allocated outside of its buffer.
pub(super) fn count_more(mutator: &mut Mutator, words: usize) {
    if let Some(account) = &mut State::of_mut(mutator).account {
        account.allocated += words;
    }
}

/// The process's heap top is another one now.
#[inline]
pub(super) fn count_from_here(mutator: &mut Mutator) {
    let top = mutator.top;
    if let Some(account) = &mut State::of_mut(mutator).account {
        account.counted = top;
    }
}

/// In a collection: charges what the process alone has made it copy to the young and the old generation, or mark there.
pub(super) fn charge(mutator: &mut Mutator, charge: Charge, [young, old]: [usize; 2]) {
    if let Some(account) = &mut State::of_mut(mutator).account {
        account.old = if charge == Charge::Minor { account.old + old } else { old };
        if charge != Charge::Old {
            account.young = young;
            account.not_judged += std::mem::take(&mut account.allocated);
        }
    }
}

/// Before a collection: whether a process has allocated so much that its limit has to be looked at.
///
/// # Errors
/// Its stack alone is above the limit.
pub(super) fn is_due(mutator: &mut Mutator, request: &Collection) -> Result<bool, HeapFull> {
    let maximum = State::of(mutator).maximum_words();
    if maximum == 0 {
        return Ok(false);
    }
    count(mutator);
    let stack = mutator.stack_words() + request.stack_words;
    if stack > maximum {
        return Err(HeapFull { words: stack });
    }
    let Some(account) = &State::of(mutator).account else { return Ok(false) };
    let new = account.allocated + request.heap_words;
    let may_be_reached = account.old + account.young + new + stack > maximum;
    Ok(request.major || account.not_judged + new > maximum / 4 && may_be_reached)
}

/// After a collection for which it was time to look at the limit.
///
/// # Errors
/// The process has reached its limit.
pub(super) fn check(mutator: &Mutator, request: &Collection) -> Result<(), HeapFull> {
    let state = State::of(mutator);
    let Some(account) = &state.account else { return Ok(()) };
    let words = 2 * (account.old + account.young) + mutator.stack_words() + request.heap_words;
    if state.maximum_words() > 0 && words > state.maximum_words() { Err(HeapFull { words }) } else { Ok(()) }
}

/// The limit was looked at: the process was told that it is full after the collection `refused_in`, or not (0).
pub(super) fn judged(mutator: &mut Mutator, refused_in: usize) {
    if let Some(account) = &mut State::of_mut(mutator).account {
        account.refused_in = refused_in;
        account.not_judged = 0;
    }
}

/// Whether the last collection was the process's own and it has been told that it is full, but is to be spared.
pub(super) fn is_spared(mutator: &Mutator, epoch: usize) -> bool {
    let state = State::of(mutator);
    state.maximum_words() == 0 && state.account.as_ref().is_some_and(|account| account.refused_in == epoch)
}
