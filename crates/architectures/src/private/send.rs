//! Spawn arguments, messages out and in, and memory for built-in functions.

use std::ptr::{NonNull, null_mut};
use std::sync::atomic::Ordering;

use atoll_heap::counters::{self, counters, record_message};
use atoll_heap::{Fragment, HeapOptions, Message, Mutator, each_off_heap, off_heap_bytes};
use atoll_platform::clock::monotonic;
use atoll_term::{Allocate, Header, Kind, Term, Word};

use super::Private;
use super::old::{Block, Old};
use super::state::State;
use crate::common::{blocks, message, small};

/// Words that a new process's block has beside its arguments: a process that soon waits needs no more.
const FIRST_SLACK: usize = 6;
/// The default of `min_heap_size`.
const USUAL_MINIMUM: usize = 233;
/// Largest message that is moved into the receiver's heap before a collection (Wilhelmsson §3.1).
const SMALL_MESSAGE: usize = 64;
/// Words of arguments above which they are not moved out of their fragment, but become the old generation.
const LARGE_ARGUMENTS: usize = 4096;
/// Smallest fragment for built-in functions.
const SMALLEST_FRAGMENT: usize = 256;
/// Largest step by which such fragments grow.
const LARGEST_FRAGMENT: usize = 1 << 17;
/// Under a limit of the heap, the step is no larger than this part of it.
const PART_OF_LIMIT: usize = 16;
/// Messages that a process sends before it adds them to the counters of the run.
const SENT_AT_MOST: u16 = 1000;
/// Words of a message from which on they are added to the counters of the run at once.
const MANY_WORDS: usize = 1 << 20;
const _: () = assert!(SENT_AT_MOST as usize * MANY_WORDS <= u32::MAX as usize);

pub(crate) fn create(mutator: &mut Mutator, arguments: Message, options: &HeapOptions) -> Term {
    *mutator = Mutator::empty();
    let is_large = arguments.used() > LARGE_ARGUMENTS;
    let inside = if is_large { 0 } else { arguments.used() };
    let mut words = inside + FIRST_SLACK;
    if options.minimum_words > USUAL_MINIMUM {
        // A process that asks for more than usual gets it from the start.
        words = words.max(options.minimum_words);
    }
    let block = blocks::allocate(words);
    mutator.top = block;
    mutator.stack_base = block.wrapping_add(words);
    mutator.stack = mutator.stack_base;
    mutator.block = block;
    let state = State::of_mut(mutator);
    state.high_water = block;
    state.set_options(options);
    if words > inside + FIRST_SLACK {
        state.beginning.outgrew_first_block();
    }
    let term = arguments.term();
    if is_large {
        begin_old(state, arguments);
        return term;
    }
    move_in(mutator, &arguments);
    arguments.term()
}

/// The fragment with the arguments becomes the old generation as it is. The arguments point to nothing young.
fn begin_old(state: &mut State, arguments: Message) {
    // SAFETY: the objects on the list are whole and lie in the fragment; the old generation owns their counts now.
    let off_heap = unsafe { arguments.replace_off_heap(null_mut()) };
    let used = arguments.used();
    let (start, words) = arguments.into_block();
    // SAFETY: the words of the head are nobody's any more. An object that nothing leads to fills them, so that the
    // block consists of whole objects.
    unsafe { start.write(Header::new(Kind::PositiveBig, Fragment::HEAD_WORDS - 1).word()) };
    let top = start.wrapping_add(Fragment::HEAD_WORDS + used);
    let old = state.some_old();
    old.aim_at(Block::of(start, top, words));
    old.off_heap = off_heap;
    // SAFETY: as above.
    unsafe { each_off_heap(off_heap, &mut |object| old.off_heap_bytes += off_heap_bytes(object)) };
    counters::heap_changed(words as i64);
    counters::used_changed(old.target.used() as i64);
}

/// Moves a fragment's contents to the top of the heap, which has room for them.
#[inline]
fn move_in(mutator: &mut Mutator, fragment: &Fragment) {
    let words = fragment.used();
    if words == 0 {
        return;
    }
    let to = mutator.top;
    mutator.top = to.wrapping_add(words);
    // SAFETY: the caller has made sure of the room, and nobody holds a term that points into the fragment.
    unsafe { message::move_out(fragment, to, |object| mutator.adopt(object)) };
}

/// Whether other threads may read the process's objects: see `helpers.rs`.
#[inline]
fn has_helpers(mutator: &Mutator) -> bool {
    State::of(mutator).old().is_some_and(Old::has_helpers)
}

/// The message for a term that leads nowhere else: an immediate, a cons or a short tuple, if sends are not timed. So
/// most messages are.
#[inline(always)]
pub(crate) fn send_flat(architecture: &Private, sender: &mut Mutator, term: Term) -> Option<Message> {
    if architecture.base.settings.timed {
        return None;
    }
    let message = if !term.is_pointer() {
        message::by_reference(term)
    } else if architecture.immovable.contains(term) {
        return None;
    } else {
        // SAFETY: a sender's term is whole.
        unsafe { small::copy_flat(term)? }
    };
    count_words(architecture, sender, message.used() as u32);
    Some(message)
}

#[inline(never)]
pub(crate) fn send(architecture: &Private, sender: Option<&mut Mutator>, term: Term) -> Message {
    let started = start(architecture);
    let own = sender.as_ref().is_some_and(|sender| !has_helpers(sender));
    // SAFETY: without helpers the sender's heap is read by its own thread alone, which is here; other terms are not
    // marked.
    let message = unsafe { message::by_copy(term, architecture.immovable, own) };
    counted(architecture, sender, message, started)
}

/// As [`send`], from `started` on, for a pointer to what is not small: `small::copy` makes no copy of it.
#[inline]
pub(crate) fn send_long(architecture: &Private, sender: &mut Mutator, term: Term, started: Option<i64>) -> Message {
    // SAFETY: as in `send`.
    let message = unsafe { message::by_measured_copy(term, architecture.immovable, !has_helpers(sender)) };
    counted(architecture, Some(sender), message, started)
}

/// The time, if sends are timed.
#[inline]
pub(crate) fn start(architecture: &Private) -> Option<i64> {
    architecture.base.settings.timed.then(monotonic)
}

/// Counts a message that was made by copying, from `started` on.
#[inline(always)]
pub(crate) fn counted(
    architecture: &Private,
    sender: Option<&mut Mutator>,
    message: Message,
    started: Option<i64>,
) -> Message {
    let words = message.used();
    match sender {
        Some(mutator) => count(architecture, mutator, words),
        None => add_to_counters(architecture, 1, words as u64),
    }
    if let Some(started) = started {
        timed(words, started);
    }
    message
}

/// Counts a message by the time that sending it has taken.
#[cold]
pub(crate) fn timed(words: usize, started: i64) {
    let time = (monotonic() - started).max(0) as u64;
    let counters = counters();
    counters.send_time.fetch_add(time, Ordering::Relaxed);
    record_message(words);
    if words > 0 {
        counters.copy_time.fetch_add(time, Ordering::Relaxed);
    }
}

#[inline]
fn add_to_counters(architecture: &Private, messages: u64, words: u64) {
    architecture.base.statistics.counters.sent(messages, words);
}

/// Counts a message of so many words that were copied.
#[inline(always)]
pub(crate) fn count(architecture: &Private, mutator: &mut Mutator, words: usize) {
    if words < MANY_WORDS {
        return count_words(architecture, mutator, words as u32);
    }
    add_to_counters(architecture, 0, words as u64);
    count_words(architecture, mutator, 0);
}

/// As [`count`], for less than [`MANY_WORDS`].
#[inline(always)]
fn count_words(architecture: &Private, mutator: &mut Mutator, words: u32) {
    let state = State::of_mut(mutator);
    state.sent += 1;
    state.sent_words += words;
    if state.sent >= SENT_AT_MOST {
        flush_many(architecture, mutator);
    }
}

#[cold]
#[inline(never)]
fn flush_many(architecture: &Private, mutator: &mut Mutator) {
    flush_counters(architecture, mutator);
}

/// Adds what a process has sent to the counters of the run.
#[inline]
pub(super) fn flush_counters(architecture: &Private, mutator: &mut Mutator) {
    let state = State::of_mut(mutator);
    if state.sent > 0 {
        add_to_counters(architecture, u64::from(state.sent), u64::from(state.sent_words));
        state.sent = 0;
        state.sent_words = 0;
    }
}

#[inline]
pub(super) fn receive(receiver: &mut Mutator, message: &Fragment) -> bool {
    let words = message.used();
    if words > SMALL_MESSAGE || words > receiver.free_words() {
        return false;
    }
    let to = receiver.top;
    // SAFETY: there is room, and only the message holds its term.
    if unsafe { message::move_out_flat(message, to) } {
        receiver.top = to.wrapping_add(words);
        return true;
    }
    move_in_any(receiver, message);
    true
}

#[inline(never)]
fn move_in_any(receiver: &mut Mutator, message: &Fragment) {
    move_in(receiver, message);
}

pub(super) fn keep_fragment(receiver: &mut Mutator, message: Message) {
    if message.used() == 0 {
        return;
    }
    // SAFETY: the objects of the list are whole, and the receiver owns their counts from now on.
    unsafe {
        each_off_heap(message.replace_off_heap(null_mut()), &mut |object| receiver.adopt(object));
        receiver.own_fragment(message);
    }
}

#[cold]
pub(super) fn allocate_slow(mutator: &mut Mutator, words: usize) -> NonNull<Word> {
    let largest = match State::of(mutator).options().maximum_words {
        0 => LARGEST_FRAGMENT,
        maximum => (maximum / PART_OF_LIMIT).min(LARGEST_FRAGMENT),
    };
    let capacity = words.max(mutator.fragment_words.max(SMALLEST_FRAGMENT).min(largest));
    let fragment = Message::new(capacity);
    // SAFETY: the new fragment is ours, and large enough; it has no off-heap list of its own.
    unsafe {
        let place = fragment.try_allocate(words);
        mutator.own_fragment(fragment);
        place.unwrap_or(NonNull::dangling())
    }
}
