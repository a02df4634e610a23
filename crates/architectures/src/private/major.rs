//! A major collection: both generations and the fragments into one new young generation (Wilhelmsson §3.2.3).

use std::ptr::null_mut;

use atoll_heap::{HeapFull, Mutator, link_off_heap, off_heap_bytes};
use atoll_term::{WORD_BYTES, Word};

use super::old::Block;
use super::phases::{
    Need, Roots, SHRINK_FACTOR, check_limit, copy, fragment_ranges, move_stack, replace_block, resize,
};
use super::sliced::{self, Limits};
use super::state::State;
use crate::common::cheney::{Destination, Policy};
use crate::common::fragments::FragmentRanges;
use crate::common::report::Report;
use crate::common::{blocks, fibonacci, off_heap};

struct Both {
    young: usize,
    young_bytes: usize,
    old: usize,
    old_bytes: usize,
    /// And other blocks of the old generation.
    fragments: FragmentRanges,
}

impl Policy for Both {
    #[inline(always)]
    fn destination(&self, place: *const Word) -> Destination {
        let address = place as usize;
        if address.wrapping_sub(self.young) < self.young_bytes
            || address.wrapping_sub(self.old) < self.old_bytes
            || self.fragments.contains(place)
        {
            Destination::Young
        } else {
            Destination::Stay
        }
    }
}

/// Collects everything. The new block has room for all that was in use, so the need is always met.
pub(super) fn collect(
    limits: &Limits,
    mutator: &mut Mutator,
    need: Need,
    roots: &mut Roots<'_>,
    started: i64,
) -> Result<(), HeapFull> {
    sliced::leave_cycle(limits, mutator, roots);
    let state = State::of(mutator);
    let (heap, block) = (mutator.block, state.block_words(mutator));
    let used = blocks::words_between(heap, mutator.top);
    let target = state.old().map_or(Block::NONE, |old| old.target);
    let (mut fragments, fragment_words) = fragment_ranges(mutator);
    let before = used + state.old().map_or(0, |old| old.used()) + fragment_words;
    let most = before + mutator.stack_words() + need.words;
    let wanted = match (need.exact, state.growth()) {
        (true, _) => most,
        (false, 0) => most.max(state.options().minimum_words),
        (false, growth) => (most + growth.max(most / 4)).max(state.options().minimum_words),
    };
    let new_words = fibonacci::at_least(wanted);
    check_limit(mutator, new_words)?;

    for block in state.old().iter().flat_map(|old| &old.others) {
        fragments.add_run(block.start, block.used());
    }
    let fragments = fragments.sort();
    let block_start = move_stack(mutator, new_words);
    let policy = Both {
        young: heap as usize,
        young_bytes: used * WORD_BYTES,
        old: target.start as usize,
        old_bytes: target.used() * WORD_BYTES,
        fragments,
    };
    // SAFETY: phases 3 to 6: the roots hold whole terms; the new block has room for all that was in use; the lists
    // are the process's own.
    let top = unsafe {
        let (top, _) = copy(mutator, roots, policy, block_start, null_mut());
        let mut kept = null_mut();
        let mut bytes = 0;
        let mut keep = |object| {
            bytes += off_heap_bytes(object);
            link_off_heap(&mut kept, object);
        };
        off_heap::sweep(mutator.off_heap, &mut keep);
        if let Some(old) = State::of_mut(mutator).take_old() {
            off_heap::sweep(old.off_heap, &mut keep);
            old.free();
        }
        mutator.off_heap = kept;
        mutator.off_heap_bytes = 0;
        State::of_mut(mutator).live_off_heap_bytes = bytes;
        replace_block(mutator, block_start, block, blocks::free);
        top
    };
    mutator.top = top;
    let state = State::of_mut(mutator);
    state.high_water = top;
    state.minors = 0;
    let live = blocks::words_between(block_start, top);
    state.found_living(live, before);
    if !sliced::settle(limits, mutator, need) {
        resize(mutator, need, SHRINK_FACTOR, live * 4 > before * 3, roots);
    }
    Report {
        architecture: "private",
        major: true,
        started,
        before,
        live,
        young_block: State::of(mutator).block_words(mutator),
        old_block: State::of(mutator).old().map_or(0, |old| old.words()),
    }
    .record();
    Ok(())
}
