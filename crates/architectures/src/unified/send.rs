//! Spawn arguments and messages: pointers, with the barrier, which stands here alone. What comes from outside of the
//! heap is moved in.

use std::ptr::NonNull;
use std::sync::atomic::Ordering;

use atoll_heap::counters::record_message;
use atoll_heap::{Fragment, HeapOptions, Message, Mutator};
use atoll_platform::clock::monotonic;
use atoll_term::{Allocate, Term};

use super::full::Found;
use super::state::State;
use super::{Unified, buffer, nursery};
use crate::common::stored::StoredTerms;
use crate::common::{message, stack};

/// Messages that a process sends before it adds them to the counters of the run.
const SENT_AT_MOST: u32 = 1000;

impl Unified {
    pub(super) fn create_process(&self, mutator: &mut Mutator, arguments: &Message, options: &HeapOptions) -> Term {
        buffer::clear(mutator);
        stack::create(mutator);
        let scanned = self.with_local(|local| local.cycle);
        let state = State::of_mut(mutator);
        // The first cycle that begins to look at processes after this one scans it.
        state.set_scanned(scanned, true);
        state.nursery_of = None;
        state.set_options(options);
        self.move_in(mutator, arguments);
        arguments.term()
    }

    /// Moves what a fragment brings from outside of the heap into it.
    pub(super) fn move_in(&self, mutator: &mut Mutator, fragment: &Fragment) {
        let words = fragment.used();
        if words == 0 {
            return;
        }
        let to = if mutator.free_words() >= words {
            let top = mutator.top;
            mutator.top = top.wrapping_add(words);
            top
        } else {
            self.allocate_more(mutator, words).as_ptr()
        };
        // The message may stay in the mailbox, where a collection of the nursery does not look.
        nursery::end(mutator);
        // SAFETY: there is room, and nobody holds a term that points into the fragment.
        unsafe { message::move_out(fragment, to, |object| mutator.adopt(object)) };
    }

    #[inline]
    pub(super) fn make_message(&self, sender: Option<&mut Mutator>, term: Term) -> Message {
        let timed = self.base.settings.timed;
        let started = if timed { monotonic() } else { 0 };
        let message = match sender {
            Some(mutator) => {
                let state = State::of_mut(mutator);
                state.sent += 1;
                if state.sent >= SENT_AT_MOST {
                    self.flush_counters(mutator);
                }
                self.show(mutator, term);
                message::by_reference(term)
            }
            None => {
                // SAFETY: terms outside of the heap are not marked.
                let message = unsafe { message::by_copy(term, self.immovable, false) };
                self.base.statistics.counters.sent(1, message.used() as u64);
                message
            }
        };
        if timed {
            let time = (monotonic() - started).max(0) as u64;
            self.base.statistics.counters.send_time.fetch_add(time, Ordering::Relaxed);
            record_message(message.used());
        }
        message
    }

    /// A process shows others a term.
    #[inline(always)]
    fn show(&self, mutator: &mut Mutator, term: Term) {
        if term.is_pointer() {
            nursery::end(mutator);
            if self.finds_roots() {
                self.shade(term);
            }
        }
    }

    /// While roots are being found, whatever enters a message or a stored term is greyed.
    #[inline(always)]
    pub(super) fn barrier(&self, term: Term) {
        if self.finds_roots() && term.is_pointer() {
            self.shade(term);
        }
    }

    #[cold]
    fn shade(&self, term: Term) {
        let cycle = self.epoch().cycle();
        self.with_local(|local| {
            if local.grey_of != cycle {
                local.grey = Found::new(self.wants_all_roots());
                local.grey_of = cycle;
            }
            local.grey.shade(&self.space, term);
        });
    }

    /// Adds what a process has sent to the counters of the run.
    #[inline]
    pub(super) fn flush_counters(&self, mutator: &mut Mutator) {
        let sent = std::mem::take(&mut State::of_mut(mutator).sent);
        if sent > 0 {
            self.base.statistics.counters.sent(u64::from(sent), 0);
        }
    }

    /// A fragment for a term that is to be kept outside of processes.
    pub(super) fn store_term(&self, owner: &mut Mutator, term: Term) -> NonNull<Fragment> {
        self.show(owner, term);
        StoredTerms::hold(term)
    }

    /// A fragment whose objects the process uses where they are. Its messages have moved into the heap before this, so
    /// none does: what is kept lives as long as the machine.
    pub(super) fn keep(&self, message: Message) {
        // But for objects of a single word, which messages do not leave.
        debug_assert!(message.used() < 2, "what is received has moved into the heap");
        if message.used() > 0 {
            let _ = message.into_raw();
        }
    }
}
