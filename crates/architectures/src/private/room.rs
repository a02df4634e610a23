//! Room for busy processes. One that keeps little alive has a small block, and if it allocates fast it is collected
//! every few hundred words: hundreds of times in a time slice, each time at the cost of visiting its roots. Such a
//! process gets a block that a cache holds, and has it for as long as it stays busy: so it is collected for the sake of
//! what it allocates, not because it keeps little.
//!
//! The words are lent: all processes together have no more than [`LENT_AT_MOST`] because of it, so a crowd that was
//! busy once and waits now does not hold memory without bound. The others' blocks follow what they keep alive.

use std::sync::atomic::{AtomicUsize, Ordering};

use atoll_heap::Mutator;

use super::state::State;

/// Words above which a small heap's block does not grow because its process is busy: two of them fit the first cache of
/// most processors, or nearly.
const LARGEST: usize = 4_181;
/// As [`LARGEST`], of a block beside an old generation that is at least as large. Objects have more time to die then,
/// and the memory is in proportion to what lives. Two such blocks fit a cache of the second level.
const LARGEST_BESIDE_OLD: usize = 17_711;
/// Words of all blocks that are larger than what lives in them because their processes are busy.
const LENT_AT_MOST: usize = 1 << 22;
/// Collections in a time slice from which on a process is busy. [`State::count_slice`] says how earlier ones count.
const BUSY: u8 = 3;

/// Words up to which the block of a busy process grows. It does not shrink up to twice as many: what is needed for a
/// moment takes it beyond the limit, and to make it smaller each time would cost more than the room.
pub(super) fn largest(state: &State) -> usize {
    state.old().map_or(0, |old| old.used()).clamp(LARGEST, LARGEST_BESIDE_OLD)
}

/// The words that are lent.
#[derive(Debug, Default)]
pub(super) struct Room(AtomicUsize);

impl Room {
    #[cfg(test)]
    pub(super) fn lent(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    /// A collection begins: decides whether it may leave more room than is needed ([`State::is_roomy`]).
    pub(super) fn begins(&self, mutator: &mut Mutator, exact: bool) {
        self.give_back(mutator);
        let words = State::of(mutator).block_words(mutator);
        let state = State::of_mut(mutator);
        let busy = state.count_collection() >= BUSY && !exact && state.options().maximum_words == 0;
        let roomy = busy && words <= 2 * largest(state) && self.0.load(Ordering::Relaxed) + 2 * words <= LENT_AT_MOST;
        state.set_roomy(roomy);
    }

    /// A collection has ended: the block that it left is lent if it is larger because the process is busy.
    pub(super) fn ended(&self, mutator: &mut Mutator) {
        let state = State::of(mutator);
        let words = state.block_words(mutator);
        if !state.is_roomy() {
        } else if words > 2 * largest(state) {
            State::of_mut(mutator).set_roomy(false);
        } else {
            self.0.fetch_add(words, Ordering::Relaxed);
        }
    }

    /// The block is about to be given back, or to be what a collection makes of it.
    pub(super) fn give_back(&self, mutator: &mut Mutator) {
        let words = State::of(mutator).block_words(mutator);
        let state = State::of_mut(mutator);
        if state.is_roomy() {
            state.set_roomy(false);
            self.0.fetch_sub(words, Ordering::Relaxed);
        }
    }
}
