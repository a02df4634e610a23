//! Allocation buffers: pieces of the young generation, one a scheduler thread, so that allocation needs no
//! synchronisation. A process borrows its thread's buffer while it runs.

use std::cell::Cell;
use std::ptr::NonNull;
use std::sync::atomic::Ordering;

use atoll_heap::{Mutator, counters, out_of_memory};
use atoll_term::{WORD_BYTES, Word};

use super::state::State;
use super::{Shared, limits};

/// Buffers are this part of the room that is left, within limits.
const PART: usize = 8;
const SMALLEST: usize = 256;
const LARGEST: usize = 16_384;

#[derive(Clone, Copy)]
struct Buffer {
    top: *mut Word,
    limit: *mut Word,
    epoch: usize,
}

/// An address that no heap has, for buffers without room: a null limit would mean a stack in the same block.
const NOWHERE: *mut Word = NonNull::<Word>::dangling().as_ptr();
const EMPTY: Buffer = Buffer { top: NOWHERE, limit: NOWHERE, epoch: 0 };

thread_local! {
    static BUFFER: Cell<Buffer> = const { Cell::new(EMPTY) };
}

/// Takes the mutator's buffer away.
#[inline]
pub(super) fn clear(mutator: &mut Mutator) {
    mutator.top = NOWHERE;
    mutator.limit = NOWHERE;
    limits::count_from_here(mutator);
}

/// Whether the mutator has no buffer.
pub(super) fn is_clear(mutator: &Mutator) -> bool {
    mutator.top == NOWHERE && mutator.limit == NOWHERE
}

/// Lends the thread's buffer to the mutator.
#[inline]
pub(super) fn take(shared: &Shared, mutator: &mut Mutator) {
    let buffer = BUFFER.replace(EMPTY);
    if buffer.epoch == shared.epoch.load(Ordering::Acquire) {
        mutator.top = buffer.top;
        mutator.limit = buffer.limit;
        limits::count_from_here(mutator);
    } else {
        clear(mutator);
    }
}

/// Gives the mutator's buffer back to the thread.
#[inline]
pub(super) fn give_back(shared: &Shared, mutator: &mut Mutator) {
    if !is_clear(mutator) {
        let epoch = shared.epoch.load(Ordering::Acquire);
        limits::count(mutator);
        BUFFER.set(Buffer { top: mutator.top, limit: mutator.limit, epoch });
        clear(mutator);
    }
}

/// Words from the young generation: `least`, and with `more` what makes a buffer of them; `None`: a collection is due.
/// With `force` the limit does not count.
fn carve(shared: &Shared, least: usize, more: bool, force: bool) -> Option<(*mut Word, usize)> {
    let limit = shared.young_limit.load(Ordering::Acquire);
    let mut top = shared.young_top.load(Ordering::Acquire);
    loop {
        let room = limit.saturating_sub(top) / WORD_BYTES;
        let words = if room < least {
            if !force {
                return None;
            }
            least
        } else if more {
            room.min(least + (room / PART).clamp(SMALLEST, LARGEST))
        } else {
            least
        };
        let end = top + words * WORD_BYTES;
        if end > shared.young_end.load(Ordering::Acquire) {
            out_of_memory(words.saturating_mul(WORD_BYTES));
        }
        match shared.young_top.compare_exchange_weak(top, end, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => {
                counters::used_changed(words as i64);
                return Some((top as *mut Word, words));
            }
            Err(now) => top = now,
        }
    }
}

/// Gives the mutator a buffer with `words` free words if that is possible without a collection.
pub(super) fn refill(shared: &Shared, mutator: &mut Mutator, words: usize) -> bool {
    let Some((start, got)) = carve(shared, words, true, false) else { return false };
    if start != mutator.limit {
        limits::count(mutator);
        mutator.top = start;
        limits::count_from_here(mutator);
    }
    mutator.limit = start.wrapping_add(got);
    true
}

/// Room outside of any buffer, beyond the limit if need be. The mutator's process is to ask soon whether a collection
/// is due.
pub(super) fn allocate(shared: &Shared, mutator: &mut Mutator, words: usize) -> *mut Word {
    mutator.fragment_words += words;
    carve(shared, words, false, true).map_or(NOWHERE, |(start, _)| start)
}

/// Room for a built-in function: moves nothing, collects nothing. A running process gets a new buffer.
#[cold]
pub(super) fn allocate_slow(shared: &Shared, mutator: &mut Mutator, words: usize) -> NonNull<Word> {
    let place = if State::of(mutator).running && refill(shared, mutator, words) {
        let place = mutator.top;
        mutator.top = place.wrapping_add(words);
        place
    } else {
        limits::count_more(mutator, words);
        allocate(shared, mutator, words)
    };
    NonNull::new(place).unwrap_or(NonNull::dangling())
}
