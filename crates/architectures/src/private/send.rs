//! Spawn arguments, messages out and in, and memory for built-in functions.

use std::ptr::{NonNull, null_mut};
use std::sync::atomic::Ordering;

use atoll_heap::statistics::{COUNTERS, TIMED, record_message};
use atoll_heap::{Fragment, HeapOptions, Mutator, each_off_heap};
use atoll_platform::clock::monotonic;
use atoll_term::{Allocate, Term, Word};

use super::Private;
use super::state::State;
use crate::common::relocate::Move;
use crate::common::{blocks, message, off_heap};

/// Words that a new process's block has beside its arguments: a process that soon waits needs no more.
const FIRST_SLACK: usize = 6;
/// The default of `min_heap_size`.
const USUAL_MINIMUM: usize = 233;
/// Largest message that is moved into the receiver's heap before a collection (Wilhelmsson §3.1).
const SMALL_MESSAGE: usize = 64;
/// Smallest fragment for built-in functions.
const SMALLEST_FRAGMENT: usize = 256;
/// Largest step by which such fragments grow.
const LARGEST_FRAGMENT: usize = 1 << 17;
/// Under a limit of the heap, the step is no larger than this part of it.
const PART_OF_LIMIT: usize = 16;
/// Messages that a process sends before it adds them to the counters of the run.
const SENT_AT_MOST: u16 = 1000;

pub(crate) fn create(mutator: &mut Mutator, mut arguments: NonNull<Fragment>, options: &HeapOptions) -> Term {
    *mutator = Mutator::empty();
    // SAFETY: the caller hands the fragment over.
    let fragment = unsafe { arguments.as_mut() };
    let mut words = fragment.used() + FIRST_SLACK;
    if options.minimum_words > USUAL_MINIMUM {
        // A process that asks for more than usual gets it from the start.
        words = words.max(options.minimum_words);
    }
    let block = blocks::allocate(words);
    mutator.top = block;
    mutator.stack_base = block.wrapping_add(words);
    mutator.stack = mutator.stack_base;
    let state = State::of_mut(mutator);
    state.heap = block;
    state.high_water = block;
    state.set_options(options);
    if words > fragment.used() + FIRST_SLACK {
        state.beginning.outgrew_first_block();
    }
    move_in(mutator, fragment);
    let term = fragment.term;
    // SAFETY: the fragment's contents have moved.
    unsafe { Fragment::free(arguments) };
    term
}

/// Moves a fragment's contents to the top of the heap, which has room for them.
#[inline]
fn move_in(mutator: &mut Mutator, fragment: &mut Fragment) {
    let words = fragment.used();
    if words == 0 {
        return;
    }
    let moving = Move { from: fragment.words(), words, to: mutator.top };
    // SAFETY: a message's fragment consists of whole objects, and the caller has made sure of the room.
    unsafe {
        moving.copy();
        off_heap::each_moved(fragment.off_heap, &moving, |object| mutator.adopt(object));
    }
    mutator.top = mutator.top.wrapping_add(words);
    // SAFETY: what the fragment's term pointed to has moved there.
    fragment.term = unsafe { Term::from_word(moving.shifted(fragment.term.word())) };
    fragment.clear();
}

#[inline]
pub(crate) fn send(architecture: &Private, sender: Option<&mut Mutator>, term: Term) -> NonNull<Fragment> {
    let started = start();
    let own = sender.is_some();
    // SAFETY: the sender's heap is read by its own thread alone, which is here; other terms are not marked.
    let fragment = unsafe { message::by_copy(term, architecture.immovable, own) };
    counted(sender, fragment, started)
}

/// The time, if sends are timed.
#[inline]
pub(crate) fn start() -> Option<i64> {
    TIMED.load(Ordering::Relaxed).then(monotonic)
}

/// Counts a message that was made by copying, from `started` on.
#[inline]
pub(crate) fn counted(
    sender: Option<&mut Mutator>,
    fragment: NonNull<Fragment>,
    started: Option<i64>,
) -> NonNull<Fragment> {
    // SAFETY: the new fragment is ours.
    let words = unsafe { fragment.as_ref().used() };
    match sender {
        Some(mutator) => count(mutator, words),
        None => {
            COUNTERS.messages.fetch_add(1, Ordering::Relaxed);
            COUNTERS.words_copied.fetch_add(words as u64, Ordering::Relaxed);
        }
    }
    if let Some(started) = started {
        let time = (monotonic() - started).max(0) as u64;
        COUNTERS.send_time.fetch_add(time, Ordering::Relaxed);
        record_message(words);
        if words > 0 {
            COUNTERS.copy_time.fetch_add(time, Ordering::Relaxed);
        }
    }
    fragment
}

/// Counts a message of so many words that were copied.
#[inline]
pub(crate) fn count(mutator: &mut Mutator, words: usize) {
    let state = State::of_mut(mutator);
    state.sent += 1;
    let total = state.sent_words as usize + words;
    state.sent_words = u32::try_from(total).unwrap_or(0);
    if state.sent_words as usize != total {
        COUNTERS.words_copied.fetch_add(total as u64, Ordering::Relaxed);
    }
    if state.sent >= SENT_AT_MOST {
        flush_counters(mutator);
    }
}

/// Adds what a process has sent to the counters of the run.
#[inline]
pub(super) fn flush_counters(mutator: &mut Mutator) {
    let state = State::of_mut(mutator);
    if state.sent > 0 {
        COUNTERS.messages.fetch_add(u64::from(state.sent), Ordering::Relaxed);
        COUNTERS.words_copied.fetch_add(u64::from(state.sent_words), Ordering::Relaxed);
        state.sent = 0;
        state.sent_words = 0;
    }
}

#[inline]
pub(super) fn receive(receiver: &mut Mutator, message: &mut Fragment) -> bool {
    let words = message.used();
    if words == 0 {
        return true;
    }
    if words > SMALL_MESSAGE || words > receiver.free_words() {
        return false;
    }
    move_in(receiver, message);
    true
}

pub(super) fn keep_fragment(receiver: &mut Mutator, mut message: NonNull<Fragment>) {
    // SAFETY: the caller hands the fragment over.
    unsafe {
        let fragment = message.as_mut();
        if fragment.used() == 0 {
            Fragment::free(message);
            return;
        }
        let list = std::mem::replace(&mut fragment.off_heap, null_mut());
        each_off_heap(list, &mut |object| receiver.adopt(object));
        receiver.own_fragment(message);
    }
}

#[cold]
pub(super) fn allocate_slow(mutator: &mut Mutator, words: usize) -> NonNull<Word> {
    // SAFETY: the fragments are the process's own.
    if let Some(roomiest) = unsafe { mutator.fragments.as_mut() }
        && let Some(place) = roomiest.try_allocate(words)
    {
        return place;
    }
    let largest = match State::of(mutator).options().maximum_words {
        0 => LARGEST_FRAGMENT,
        maximum => (maximum / PART_OF_LIMIT).min(LARGEST_FRAGMENT),
    };
    let capacity = words.max(mutator.fragment_words.max(SMALLEST_FRAGMENT).min(largest));
    let mut fragment = Fragment::new(capacity);
    // SAFETY: the new fragment is ours, and large enough; it has no off-heap list of its own.
    unsafe {
        let place = fragment.as_mut().try_allocate(words);
        mutator.own_fragment(fragment);
        place.unwrap_or(NonNull::dangling())
    }
}
