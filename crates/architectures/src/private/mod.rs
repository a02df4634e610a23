//! `private`: each process has a heap and a stack of its own, in one block, growing towards each other; messages are
//! copied (Wilhelmsson §3, Johansson §3). The thread that runs a process collects it; others help with
//! large heaps (`helpers.rs`).
//!
//! What it cannot do: pass a term without copying it.
//!
//! A collection, in phases; all run on the process's own thread:
//!
//! 1. Decide (`collect.rs`): sizes of the new blocks, minor or major; the limit of the heap is checked here, before
//!    anything has moved. A major one is chosen when it is asked for, when `fullsweep_after` minors have passed, or
//!    when the data below the high-water mark does not fit the old generation (§3.2.1).
//! 2. New block, and the stack copied to its upper end.
//! 3. Roots: stack, live registers, and what the machine names (dictionary, messages looked at). Objects below the
//!    high-water mark go to the old generation, others and those of fragments to the new block (§3.2.2); in a
//!    major one all go to the new block (§3.2.3).
//! 4. Cheney scan of both destinations until nothing is left.
//! 5. Off-heap lists: copied handles are kept, others give up their count.
//! 6. Old block and fragments are freed; the high-water mark is the new top.
//! 7. Size: after a minor one, below 25% needed and over 8,000 words or over the old generation, the block shrinks to
//!    the series' next above 3 x needed; after a major one below 25% to the next above 2 x needed. Above 75% the
//!    next collection grows the block. When a minor one frees too little, a major one follows.
//!
//! A process that is collected several times in a time slice gets more room than that (`room.rs`).
//!
//! The first time that a process asks for room, nothing is collected: its first block gives way to a larger one
//! (`first.rs`), of the size that is expected (`expected.rs`).
//!
//! Large heaps (`sliced.rs`) have minor collections only, each followed by a slice of a cycle (`cycle.rs`) if one is
//! under way. A heap in which nearly all lives, as while a program builds what it keeps, is large sooner, and has a
//! short young generation that becomes old at once. Other threads make the pages of what becomes old (`ahead.rs`).
//!
//! Invariants (`verify.rs`):
//! * P1: a pointer on the stack, in a root or in the young generation leads to the process's own generations or to
//!   the immovable range.
//! * P2: a pointer in a block of the old generation leads to the same block, to one in which objects became old before,
//!   or to the immovable range.
//! * P3: the block holds heap and stack apart, and as much free room between them as was asked for.
//! * P4: the off-heap lists name each handle of the heap once.
//! * P5: no fragments are left.
//! * P6: what is in use is marked when a cycle has marked everything.

mod ahead;
pub(crate) mod collect;
mod cycle;
mod evacuation;
mod expected;
mod first;
mod helpers;
mod live_map;
mod major;
mod minor;
mod old;
pub(crate) mod phases;
mod room;
pub(crate) mod send;
mod slice;
mod sliced;
pub(crate) mod state;
mod stored;
mod verify;

use std::ptr::NonNull;
use std::sync::Arc;

use atoll_heap::immovable::{NoAddresses, Range};
use atoll_heap::{
    Architecture, Base, Collection, FirstBlocks, Fragment, HeapFull, HeapOptions, HeapSizes, IdleWork, Message,
    Mutator, RootSet, Settings, StackPlacement, counters, each_off_heap, release_off_heap_list,
};
use atoll_term::{Term, Word};

use crate::common::{Immovable, blocks};
use expected::Expected;
use phases::Beside;
use room::Room;
use state::State;

/// A helper looks for processes again after this part of `--max-pause`.
const HELP: u32 = 10;

/// The architecture with private heaps.
#[derive(Debug)]
pub struct Private {
    pub(crate) base: Base,
    pub(crate) immovable: Immovable,
    sliced: sliced::Limits,
    expected: Expected,
    room: Room,
}

impl Private {
    /// The architecture, with its immovable range.
    ///
    /// # Errors
    /// The system gives no addresses.
    pub fn new(settings: &Settings) -> Result<Private, NoAddresses> {
        Ok(Private::beside(settings, Range::new(settings)?))
    }

    /// The architecture, for one that has something else in its immovable range.
    pub(crate) fn beside(settings: &Settings, range: Arc<Range>) -> Private {
        Private {
            immovable: Immovable::of(&range),
            base: Base::with_range(settings, range),
            sliced: sliced::Limits::usual(settings.is_stressed()),
            expected: Expected::new(),
            room: Room::default(),
        }
    }

    /// Words lent to busy processes.
    #[cfg(test)]
    pub(crate) fn lent(&self) -> usize {
        self.room.lent()
    }

    /// Sets above how many words the old generation is collected in slices, for how many nanoseconds each lasts, and
    /// after how many words of work it looks at the clock.
    pub fn set_slices(&self, above: usize, nanoseconds: i64, step: usize) {
        self.sliced.set(above, nanoseconds, step);
    }
}

/// While what comes back lives, no other thread reads objects of this process, which this thread runs: see
/// `helpers.rs`.
pub(crate) fn keep_helpers_away(mutator: &Mutator) -> Option<impl Sized + '_> {
    State::of(mutator).old()?.cycle.as_ref()?.keep_helpers_away()
}

impl Architecture for Private {
    fn name(&self) -> &'static str {
        "private"
    }

    fn base(&self) -> &Base {
        &self.base
    }

    fn stack_placement(&self) -> StackPlacement {
        StackPlacement::United
    }

    fn first_blocks(&self) -> Option<&dyn FirstBlocks> {
        Some(self)
    }

    fn idle_work(&self) -> Option<&dyn IdleWork> {
        Some(self)
    }

    unsafe fn create(&self, mutator: &mut Mutator, arguments: Message, options: &HeapOptions) -> Term {
        send::create(mutator, arguments, options)
    }

    unsafe fn destroy(&self, mutator: &mut Mutator) {
        send::flush_counters(self, mutator);
        self.expected.ended(mutator);
        self.room.give_back(mutator);
        counters::used_changed(-(collect::words_counted(mutator) as i64));
        let state = State::of(mutator);
        let (heap, words) = (mutator.block, state.block_words(mutator));
        // SAFETY: the process has ended: nobody uses its objects, blocks and fragments any more.
        unsafe {
            release_off_heap_list(mutator.off_heap);
            if let Some(mut old) = State::of_mut(mutator).take_old() {
                old.give_up_cycle();
                release_off_heap_list(old.off_heap);
                old.free();
            }
            blocks::free(heap, words);
            phases::free_fragments(mutator);
        }
        mutator.forget_memory();
    }

    unsafe fn schedule_out(&self, mutator: &mut Mutator) {
        send::flush_counters(self, mutator);
        State::of_mut(mutator).count_slice();
    }

    unsafe fn collect(
        &self,
        mutator: &mut Mutator,
        request: Collection,
        live: &mut [Term],
        roots: &mut dyn RootSet,
    ) -> Result<(), HeapFull> {
        let beside = Beside { elsewhere: &mut Vec::new(), leaving: &mut |_| {}, followed: &mut |_| {} };
        collect::collect(self, mutator, request, live, roots, beside)
    }

    fn allocate_slow(&self, mutator: &mut Mutator, words: usize) -> NonNull<Word> {
        send::allocate_slow(mutator, words)
    }

    fn send(&self, sender: &mut Mutator, term: Term) -> Message {
        send::send_flat(self, sender, term).unwrap_or_else(|| send::send(self, Some(sender), term))
    }

    fn send_copy(&self, term: Term) -> Message {
        send::send(self, None, term)
    }

    unsafe fn receive(&self, receiver: &mut Mutator, message: &Fragment) -> bool {
        send::receive(receiver, message)
    }

    fn keep_fragment(&self, receiver: &mut Mutator, message: Message) {
        send::keep_fragment(receiver, message);
    }

    fn store(&self, owner: &mut Mutator, term: Term) -> NonNull<Fragment> {
        self.store_own(owner, term)
    }

    fn store_own(&self, _owner: &mut Mutator, term: Term) -> NonNull<Fragment> {
        stored::store(term)
    }

    unsafe fn fetch(&self, reader: &mut Mutator, stored: NonNull<Fragment>, part: Term) -> Term {
        // SAFETY: here nobody changes a stored fragment before it is discarded.
        stored::fetch(reader, unsafe { stored.as_ref() }, part)
    }

    fn fetches_copies(&self) -> bool {
        true
    }

    fn may_change(&self, _stored: &Fragment) -> bool {
        true
    }

    fn messages_are_roots(&self) -> bool {
        false
    }

    fn wants_collection(&self, mutator: &Mutator) -> bool {
        let state = State::of(mutator);
        let most = state.block_words(mutator).max(collect::FRAGMENTS_AT_LEAST);
        // Under a limit fragments must not grow so far that the collection of what is dead in them would exceed it.
        let most = match state.options().maximum_words {
            0 => most,
            maximum => most.min(maximum / 8),
        };
        mutator.fragment_words > most || mutator.off_heap_bytes > state.off_heap_limit()
    }

    fn set_options(&self, mutator: &mut Mutator, options: &HeapOptions) {
        State::of_mut(mutator).set_options(options);
    }

    fn options(&self, mutator: &Mutator) -> HeapOptions {
        State::of(mutator).options()
    }

    fn sizes(&self, mutator: &Mutator) -> HeapSizes {
        let state = State::of(mutator);
        let stack = mutator.stack_words();
        let (old_block, old_used) = state.old().map_or((0, 0), |old| (old.words(), old.used()));
        HeapSizes {
            young_block: state.block_words(mutator) - stack,
            young_used: blocks::words_between(mutator.block, mutator.top),
            old_block,
            old_used,
            stack,
            fragments: mutator.fragment_words,
            minor_collections: Some(usize::from(state.minors)),
        }
    }

    fn each_block(&self, mutator: &Mutator, visit: &mut dyn FnMut(*mut Word, usize)) {
        phases::each_block(mutator, visit);
    }

    fn each_off_heap(&self, mutator: &Mutator, visit: &mut dyn FnMut(NonNull<Word>)) {
        // SAFETY: the lists are the process's own, their objects are whole.
        unsafe {
            each_off_heap(mutator.off_heap, visit);
            if let Some(old) = State::of(mutator).old() {
                each_off_heap(old.off_heap, visit);
                each_off_heap(old.cycle.as_ref().map_or(std::ptr::null_mut(), |cycle| cycle.off_heap()), visit);
            }
        }
    }
}

impl IdleWork for Private {
    unsafe fn work(&self) -> bool {
        self.sliced.help((self.base.settings.max_pause / HELP).as_nanos() as i64)
    }

    fn is_waiting(&self) -> bool {
        self.sliced.is_help_wanted()
    }
}

impl FirstBlocks for Private {
    fn begins(&self, mutator: &mut Mutator, function: (Term, Term), arguments: Term) {
        self.expected.begins(mutator, function, arguments);
    }
}
