//! What `private` keeps in a mutator. A process that never had an old generation has no memory for one.

use std::sync::atomic::{AtomicU8, Ordering};

use atoll_heap::{HeapOptions, Mutator, OFF_HEAP_BYTES_AT_LEAST, STATE_WORDS};
use atoll_term::Word;

use super::expected::Beginning;
use super::old::{Block, Old};
use crate::common::{blocks, in_32_bits};

/// The overlay of `Mutator::state`.
#[repr(C)]
pub(crate) struct State {
    /// Objects below survived the last collection.
    pub(super) high_water: *mut Word,
    old: *mut Old,
    minimum_words: u32,
    maximum_words: u32,
    /// Bytes that the heap kept outside of itself after the last major collection.
    pub(super) live_off_heap_bytes: usize,
    full_sweep_after: u16,
    /// Minor collections since the last major one.
    pub(super) minors: u16,
    /// The next collection leaves more room: 0, or one more than the binary logarithm of the free words that it is to
    /// leave.
    grow: u8,
    /// For `hybrid`: the cycle of the message area in which the roots were last found.
    pub(crate) area_cycle: AtomicU8,
    /// For `hybrid`: [`HAS_COPIES`], [`IN_PORTIONS`] and [`IS_REMEMBERED`]. For `room.rs`: [`COLLECTIONS`] and
    /// [`IS_ROOMY`]. [`GROWS`].
    marks: u8,
    /// For `hybrid`: the number of the thread that remembers objects of this heap as samples, 0 if none does.
    pub(crate) sampler: AtomicU8,
    /// Messages sent that are not counted yet, and their words.
    pub(super) sent: u16,
    /// How it began.
    pub(super) beginning: Beginning,
    pub(super) sent_words: u32,
}

/// Terms of this heap have copies in the message area.
const HAS_COPIES: u8 = 1;
/// The roots are being found in portions, and some are left.
const IN_PORTIONS: u8 = 2;
/// A thread remembers terms of this heap that were copied for their receivers.
const IS_REMEMBERED: u8 = 4;
/// One collection in this time slice, of at most [`MOST_COLLECTIONS`].
const COLLECTION: u8 = 8;
/// The highest count of collections.
const MOST_COLLECTIONS: u8 = 7;
/// Where that count is.
const COLLECTIONS: u8 = COLLECTION * MOST_COLLECTIONS;
/// The block may be larger than what lives in it asks for.
const IS_ROOMY: u8 = 64;
/// Fewest words that tell what part of what a program makes lives on.
pub(super) const TELLING: usize = 1024;
/// Nearly all that the last collection visited lived.
const GROWS: u8 = 128;

const _: () = assert!(size_of::<State>() <= STATE_WORDS * size_of::<usize>());
const _: () = assert!(align_of::<State>() <= align_of::<usize>());

impl State {
    #[inline(always)]
    pub(crate) fn of(mutator: &Mutator) -> &State {
        // SAFETY: the state words are this architecture's; all zeros is a valid state.
        unsafe { &*mutator.state.as_ptr().cast::<State>() }
    }

    #[inline(always)]
    pub(crate) fn of_mut(mutator: &mut Mutator) -> &mut State {
        // SAFETY: as above.
        unsafe { &mut *mutator.state.as_mut_ptr().cast::<State>() }
    }

    /// [`State::area_cycle`] of a mutator that another thread may be using.
    pub(crate) fn area_cycle_at(mutator: *const Mutator) -> u8 {
        // SAFETY: callers pass a mutator that lives; the field is atomic wherever it is used.
        unsafe { (*(&raw const (*mutator).state).cast::<State>()).area_cycle.load(Ordering::Acquire) }
    }

    /// [`State::sampler`] of a mutator that this thread runs.
    pub(crate) fn sampler_at(mutator: *const Mutator) -> *const AtomicU8 {
        // SAFETY: callers pass a mutator that lives; only an address is made.
        unsafe { &raw const (*(&raw const (*mutator).state).cast::<State>()).sampler }
    }

    /// See [`HAS_COPIES`].
    pub(crate) fn has_copies(&self) -> bool {
        self.marks & HAS_COPIES != 0
    }

    pub(crate) fn set_has_copies(&mut self, on: bool) {
        self.mark(HAS_COPIES, on);
    }

    /// See [`IN_PORTIONS`].
    pub(crate) fn in_portions(&self) -> bool {
        self.marks & IN_PORTIONS != 0
    }

    pub(crate) fn set_in_portions(&mut self, on: bool) {
        self.mark(IN_PORTIONS, on);
    }

    /// See [`IS_REMEMBERED`].
    pub(crate) fn is_remembered(&self) -> bool {
        self.marks & IS_REMEMBERED != 0
    }

    /// Something is noted of the process beside it, which is to be forgotten when it ends.
    #[inline]
    pub(crate) fn is_noted(&self) -> bool {
        self.marks & (HAS_COPIES | IN_PORTIONS) != 0 || self.sampler.load(Ordering::Relaxed) != 0
    }

    /// Copies of terms of the process are noted, or terms that it has sent are remembered.
    pub(crate) fn knows_terms(&self) -> bool {
        self.marks & (HAS_COPIES | IS_REMEMBERED) != 0
    }

    pub(crate) fn set_remembered(&mut self, on: bool) {
        self.mark(IS_REMEMBERED, on);
    }

    /// See [`IS_ROOMY`].
    pub(super) fn is_roomy(&self) -> bool {
        self.marks & IS_ROOMY != 0
    }

    pub(super) fn set_roomy(&mut self, on: bool) {
        self.mark(IS_ROOMY, on);
    }

    /// See [`GROWS`].
    pub(super) fn grows(&self) -> bool {
        self.marks & GROWS != 0
    }

    /// A collection that visited so many words has found so many living.
    pub(super) fn found_living(&mut self, living: usize, visited: usize) {
        self.mark(GROWS, visited >= TELLING && living * 8 >= visited * 7);
    }

    /// Counts a collection in this time slice; gives the count.
    pub(super) fn count_collection(&mut self) -> u8 {
        if self.marks & COLLECTIONS != COLLECTIONS {
            self.marks += COLLECTION;
        }
        (self.marks & COLLECTIONS) / COLLECTION
    }

    /// A time slice has ended: the next begins with half of its count, so that one collection in each does not make a
    /// process busy, and two do.
    #[inline]
    pub(super) fn count_slice(&mut self) {
        let count = (self.marks & COLLECTIONS) / COLLECTION;
        self.marks = (self.marks & !COLLECTIONS) | (count.div_ceil(2) * COLLECTION);
    }

    fn mark(&mut self, mark: u8, on: bool) {
        self.marks = if on { self.marks | mark } else { self.marks & !mark };
    }

    /// Words of the block of heap and stack.
    #[inline]
    pub(super) fn block_words(&self, mutator: &Mutator) -> usize {
        blocks::words_between(mutator.block, mutator.stack_base)
    }

    pub(super) fn old(&self) -> Option<&Old> {
        // SAFETY: null, or a box that this state owns.
        unsafe { self.old.as_ref() }
    }

    pub(super) fn old_mut(&mut self) -> Option<&mut Old> {
        // SAFETY: as above.
        unsafe { self.old.as_mut() }
    }

    /// The old generation, which is there afterwards.
    pub(super) fn some_old(&mut self) -> &mut Old {
        if self.old.is_null() {
            self.old = Box::into_raw(Box::new(Old::new(Block::NONE)));
        }
        // SAFETY: not null, and this state's own.
        unsafe { &mut *self.old }
    }

    pub(super) fn take_old(&mut self) -> Option<Box<Old>> {
        let old = std::mem::replace(&mut self.old, std::ptr::null_mut());
        // SAFETY: not null, it came from `Box::into_raw` and has no other owner now.
        (!old.is_null()).then(|| unsafe { Box::from_raw(old) })
    }

    /// The next collection is to leave so many free words; 0: as few as are asked for.
    pub(super) fn set_growth(&mut self, words: usize) {
        self.grow = words.checked_ilog2().map_or(0, |logarithm| logarithm as u8 + 1);
    }

    /// What [`State::set_growth`] was told, to within a factor of two.
    pub(super) fn growth(&self) -> usize {
        self.grow.checked_sub(1).map_or(0, |logarithm| 1 << logarithm)
    }

    /// Bytes outside of the heap that are kept by the old generation, or new, at which a collection is due.
    pub(super) fn off_heap_limit(&self) -> usize {
        OFF_HEAP_BYTES_AT_LEAST + 2 * self.live_off_heap_bytes
    }

    pub(super) fn set_options(&mut self, options: &HeapOptions) {
        self.minimum_words = in_32_bits(options.minimum_words);
        self.maximum_words = in_32_bits(options.maximum_words);
        self.full_sweep_after = options.full_sweep_after;
    }

    pub(super) fn options(&self) -> HeapOptions {
        HeapOptions {
            minimum_words: self.minimum_words as usize,
            full_sweep_after: self.full_sweep_after,
            maximum_words: self.maximum_words as usize,
        }
    }
}
