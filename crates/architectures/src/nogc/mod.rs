//! `nogc`: bump allocation without collection, the baseline for measuring every other architecture (Epsilon in the
//! JVM). Heaps are chunks that no process gives back, stacks lie apart, messages and spawn arguments pass pointers.
//!
//! What it cannot do: run for long. Nothing is freed but stacks: not heaps, not large binaries, not what is dead.
//!
//! A process takes a chunk when its last one is full; each is twice as large as the one before, up to a limit, so that
//! a small process costs little and a large one seldom asks.
//!
//! Invariants: none of the heap's objects moves or goes away, so there is nothing to verify beyond the limits.

mod send;
mod state;

use std::ptr::NonNull;

use atoll_heap::immovable::NoAddresses;
use atoll_heap::{
    Architecture, Base, Collection, Fragment, HeapFull, HeapOptions, HeapSizes, Message, Mutator, RootSet, Settings,
    StackPlacement,
};
use atoll_term::{Term, Word};

use crate::common::{Immovable, message, stack};
use state::State;

/// The architecture that never collects.
#[derive(Debug)]
pub struct NoGc {
    base: Base,
    immovable: Immovable,
}

impl NoGc {
    /// The architecture, with its immovable range.
    ///
    /// # Errors
    /// The system gives no addresses.
    pub fn new(settings: &Settings) -> Result<NoGc, NoAddresses> {
        let base = Base::new(settings)?;
        Ok(NoGc { immovable: Immovable::of(&base.immovable), base })
    }
}

impl Architecture for NoGc {
    fn name(&self) -> &'static str {
        "nogc"
    }

    fn base(&self) -> &Base {
        &self.base
    }

    fn stack_placement(&self) -> StackPlacement {
        StackPlacement::Apart
    }

    unsafe fn create(&self, mutator: &mut Mutator, arguments: Message, options: &HeapOptions) -> Term {
        send::create(mutator, arguments, options)
    }

    unsafe fn destroy(&self, mutator: &mut Mutator) {
        stack::free(mutator);
        *mutator = Mutator::empty();
    }

    unsafe fn collect(
        &self,
        mutator: &mut Mutator,
        request: Collection,
        _live: &mut [Term],
        _roots: &mut dyn RootSet,
    ) -> Result<(), HeapFull> {
        let _ = stack::reserve(mutator, request.stack_words);
        if mutator.free_words() < request.heap_words {
            state::next_chunk(mutator, request.heap_words)?;
        }
        Ok(())
    }

    fn allocate_slow(&self, mutator: &mut Mutator, words: usize) -> NonNull<Word> {
        send::allocate_slow(mutator, words)
    }

    fn send(&self, sender: &mut Mutator, term: Term) -> Message {
        send::send(self, Some(sender), term)
    }

    fn send_copy(&self, term: Term) -> Message {
        send::send(self, None, term)
    }

    unsafe fn receive(&self, _receiver: &mut Mutator, message: &Fragment) -> bool {
        message.used() == 0
    }

    fn keep_fragment(&self, receiver: &mut Mutator, message: Message) {
        send::keep_fragment(receiver, message);
    }

    fn store_own(&self, _owner: &mut Mutator, term: Term) -> NonNull<Fragment> {
        message::by_reference(term).into_raw()
    }

    fn messages_are_roots(&self) -> bool {
        false
    }

    fn wants_collection(&self, _mutator: &Mutator) -> bool {
        false
    }

    fn set_options(&self, mutator: &mut Mutator, options: &HeapOptions) {
        State::of_mut(mutator).options = *options;
    }

    fn options(&self, mutator: &Mutator) -> HeapOptions {
        State::of(mutator).options
    }

    fn sizes(&self, mutator: &Mutator) -> HeapSizes {
        let state = State::of(mutator);
        HeapSizes {
            young_block: state.allocated,
            young_used: state.allocated - mutator.free_words(),
            stack: mutator.stack_words(),
            ..HeapSizes::default()
        }
    }

    fn each_block(&self, mutator: &Mutator, visit: &mut dyn FnMut(*mut Word, usize)) {
        state::each_chunk(mutator, visit);
    }

    /// Memory of processes that have ended stays allocated, because other processes may have pointers into it, but no
    /// list has it any more.
    fn shows_all_blocks(&self) -> bool {
        false
    }
}
