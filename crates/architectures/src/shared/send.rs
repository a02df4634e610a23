//! Spawn arguments and messages: pointers. What comes from outside of the heap is moved in.

use std::ptr::null_mut;
use std::sync::atomic::Ordering;

use atoll_heap::counters::record_message;
use atoll_heap::{Fragment, HeapOptions, Message, Mutator, each_off_heap};
use atoll_platform::clock::monotonic;
use atoll_term::{Allocate, Term};

use super::limits::Account;
use super::state::State;
use super::{Shared, buffer};
use crate::common::{message, stack};

/// Messages that a process sends before it adds them to the counters of the run.
const SENT_AT_MOST: u32 = 1000;

pub(super) fn create(shared: &Shared, mutator: &mut Mutator, arguments: Message, options: &HeapOptions) -> Term {
    buffer::clear(mutator);
    stack::create(mutator);
    let state = State::of_mut(mutator);
    state.ran_in = shared.majors.load(Ordering::Relaxed);
    set_options(shared, mutator, options);
    move_in(shared, mutator, &arguments);
    arguments.term()
}

pub(super) fn set_options(shared: &Shared, mutator: &mut Mutator, options: &HeapOptions) {
    let top = mutator.top;
    let state = State::of_mut(mutator);
    state.set_options(options);
    if options.minimum_words > shared.floor.load(Ordering::Relaxed) {
        shared.floor.fetch_max(options.minimum_words, Ordering::Relaxed);
    }
    if options.maximum_words > 0 && state.account.is_none() {
        state.account = Some(Box::new(Account::new(top)));
        shared.limited.store(true, Ordering::Relaxed);
    }
}

/// Moves what a fragment brings from outside of the heap into the young generation.
fn move_in(shared: &Shared, mutator: &mut Mutator, fragment: &Fragment) {
    let words = fragment.used();
    if words == 0 {
        return;
    }
    let to = if mutator.free_words() >= words {
        let top = mutator.top;
        mutator.top = top.wrapping_add(words);
        top
    } else {
        buffer::allocate(shared, mutator, words)
    };
    // SAFETY: there is room, and nobody holds a term that points into the fragment.
    unsafe { message::move_out(fragment, to, |object| mutator.adopt(object)) };
}

#[inline]
pub(super) fn send(shared: &Shared, sender: Option<&mut Mutator>, term: Term) -> Message {
    let timed = shared.base.settings.timed;
    let started = if timed { monotonic() } else { 0 };
    let fragment = match sender {
        Some(mutator) => {
            let state = State::of_mut(mutator);
            state.sent += 1;
            if state.sent >= SENT_AT_MOST {
                flush_counters(shared, mutator);
            }
            message::by_reference(term)
        }
        None => {
            // SAFETY: terms outside of the heap are not marked.
            let fragment = unsafe { message::by_copy(term, shared.immovable, false) };
            shared.base.statistics.counters.sent(1, fragment.used() as u64);
            fragment
        }
    };
    if timed {
        shared.base.statistics.counters.send_time.fetch_add((monotonic() - started).max(0) as u64, Ordering::Relaxed);
        record_message(fragment.used());
    }
    fragment
}

/// Adds what a process has sent to the counters of the run.
#[inline]
pub(super) fn flush_counters(shared: &Shared, mutator: &mut Mutator) {
    let sent = std::mem::take(&mut State::of_mut(mutator).sent);
    if sent > 0 {
        shared.base.statistics.counters.sent(u64::from(sent), 0);
    }
}

#[inline]
pub(super) fn receive(shared: &Shared, receiver: &mut Mutator, message: &Fragment) -> bool {
    move_in(shared, receiver, message);
    true
}

/// For terms of signals that are taken as they are: the fragment is part of the young generation until the next
/// collection.
pub(super) fn keep_fragment(shared: &Shared, receiver: &mut Mutator, message: Message) {
    if message.used() == 0 {
        return;
    }
    // SAFETY: the objects of the list are whole, and the receiver owns their counts from now on.
    unsafe { each_off_heap(message.replace_off_heap(null_mut()), &mut |object| receiver.adopt(object)) };
    let words = Fragment::HEAD_WORDS + message.capacity();
    receiver.fragment_words += words;
    shared.kept_words.fetch_add(words, Ordering::Relaxed);
    shared.lock().kept.push(message);
}
