//! A minor collection: the young generation and the fragments (Wilhelmsson §3.2.1 and §3.2.2).

use std::ptr::null_mut;

use atoll_heap::{HeapFull, Mutator, link_off_heap, off_heap_bytes};
use atoll_term::{WORD_BYTES, Word};

use super::old::Block;
use super::phases::{
    Need, Roots, check_limit, copy, fragment_ranges, move_stack_to, replace_block, resize, resize_large,
};
use super::state::{State, TELLING};
use crate::common::cheney::{Destination, Policy};
use crate::common::fragments::FragmentRanges;
use crate::common::report::Report;
use crate::common::{blocks, fibonacci, off_heap};

/// Shrinks to the series' next size above this times what is needed.
const SHRINK_FACTOR: usize = 3;

struct Young {
    start: usize,
    mature_bytes: usize,
    used_bytes: usize,
    fragments: FragmentRanges,
}

impl Policy for Young {
    #[inline(always)]
    fn destination(&self, place: *const Word) -> Destination {
        let offset = (place as usize).wrapping_sub(self.start);
        if offset < self.used_bytes {
            if offset < self.mature_bytes { Destination::Old } else { Destination::Young }
        } else if self.fragments.contains(place) {
            Destination::Young
        } else {
            Destination::Stay
        }
    }
}

/// Collections in a row in which survivors become old at once.
const AT_ONCE: u8 = 6;
/// In larger old generations objects are left more time to die: what becomes old too early costs whole cycles.
const LARGEST: usize = 1 << 22;

/// In large heaps, objects become old when they have survived twice. Where nearly all that survived once survives
/// again, as while a program builds what it keeps, the first time is enough: each is copied once then, not twice. Every
/// few collections it is looked at again. Where nearly all that is new survives, nothing has to be looked at again: the
/// next collection tells.
pub(super) fn tenure(mutator: &mut Mutator) {
    // An object may refer to a fragment, which does not become old.
    if !mutator.fragments.is_null() {
        return;
    }
    let top = mutator.top;
    let state = State::of_mut(mutator);
    if !state.grows() {
        let Some(old) = state.old_mut().filter(|old| old.at_once > 0 && old.used() < LARGEST) else { return };
        old.at_once -= 1;
    }
    state.high_water = top;
}

/// Sizes in a large heap.
pub(super) struct Large {
    /// Words of the young generation that shall be free afterwards, if it can be.
    pub(super) nursery: usize,
    /// Whether what is needed must be free.
    pub(super) must: bool,
    /// Length of a new block for what becomes old, if there is to be one.
    pub(super) target: Option<usize>,
}

/// Collects the young generation. False: that did not make enough room.
pub(super) fn collect(
    mutator: &mut Mutator,
    need: Need,
    roots: &mut Roots<'_>,
    started: i64,
    large: Option<Large>,
) -> Result<bool, HeapFull> {
    let state = State::of(mutator);
    let (heap, block) = (mutator.block, state.block_words(mutator));
    let used = blocks::words_between(heap, mutator.top);
    let mature = blocks::words_between(heap, state.high_water);
    let (fragments, fragment_words) = fragment_ranges(mutator);
    let before = used + fragment_words;
    let most = before + mutator.stack_words();
    let most_young = if large.is_some() { most - mature } else { most };
    let at_least = match &large {
        // The block may become smaller.
        Some(large) if state.grows() => most_young + large.nursery,
        _ => block,
    };
    let mut wanted = at_least.max(most_young).max(state.options().minimum_words);
    let growth = state.growth();
    match &large {
        Some(large) if large.must || need.words > wanted / 4 => wanted = wanted.max(most_young + need.words),
        // Nothing becomes old: what survives takes room that has to be free afterwards.
        Some(large) if growth > 0 || mature == 0 => wanted = wanted.max(most_young + large.nursery.max(growth)),
        // A major collection would find no more that is dead.
        None if growth > 0 || mature == 0 && state.old().is_none() || need.words > wanted / 4 => {
            wanted = wanted.max(most + need.words.max(growth))
        }
        _ => {}
    }
    let new_words = fibonacci::at_least(wanted);
    let new_old = match &large {
        Some(large) => large.target.unwrap_or(0),
        None if mature > 0 && state.old().is_none() => fibonacci::at_least(mature + used),
        None => 0,
    };
    check_limit(mutator, new_words + new_old)?;

    let fragments = fragments.sort();
    let is_large = large.is_some();
    let new_block = if is_large { blocks::take(new_words) } else { blocks::allocate(new_words) };
    let block_start = move_stack_to(mutator, new_block, new_words);
    let state = State::of_mut(mutator);
    if new_old > 0 {
        let least = if is_large { mature.max(new_old - new_old / 4) } else { new_old };
        state.some_old().aim_at(Block::new(least, new_old));
    }
    let old_top = state.old().map_or(null_mut(), |old| old.target.top);
    let policy =
        Young { start: heap as usize, mature_bytes: mature * WORD_BYTES, used_bytes: used * WORD_BYTES, fragments };
    // SAFETY: phases 3 to 6: the roots hold whole terms; the new block has room for all that is young, the old
    // generation for all that is mature; the lists are the process's own.
    let top = unsafe {
        let tops = copy(mutator, roots, policy, block_start, old_top);
        let list = std::mem::replace(&mut mutator.off_heap, null_mut());
        let mut young_list = null_mut();
        let mut old_list = State::of(mutator).old().map_or(null_mut(), |old| old.off_heap);
        let mut old_bytes = 0;
        off_heap::sweep(list, |object| {
            let is_young = (object.as_ptr() as usize).wrapping_sub(block_start as usize) < new_words * WORD_BYTES;
            old_bytes += if is_young { 0 } else { off_heap_bytes(object) };
            link_off_heap(if is_young { &mut young_list } else { &mut old_list }, object);
        });
        mutator.off_heap = young_list;
        mutator.off_heap_bytes = 0;
        if let Some(old) = State::of_mut(mutator).old_mut() {
            let promoted = blocks::words_between(old_top, tops.1);
            if mature >= TELLING && mature < used {
                old.at_once = if promoted * 8 >= mature * 7 { AT_ONCE } else { 0 };
            }
            old.target.top = tops.1;
            old.off_heap = old_list;
            old.off_heap_bytes += old_bytes;
        }
        replace_block(mutator, block_start, block, if is_large { blocks::give_back } else { blocks::free });
        tops
    };
    mutator.top = top.0;
    let state = State::of_mut(mutator);
    state.high_water = top.0;
    state.minors = state.minors.saturating_add(1);

    let live = blocks::words_between(block_start, top.0);
    let promoted = blocks::words_between(old_top, top.1);
    State::of_mut(mutator).found_living(live + promoted, before);
    let enough = live + mutator.stack_words() + need.words <= new_words;
    match large {
        Some(large) if enough => resize_large(mutator, need, large.nursery, roots),
        None if enough => {
            let most_survived = (live + promoted) * 4 > before * 3;
            resize(mutator, need, SHRINK_FACTOR, most_survived, roots);
        }
        _ => {}
    }
    let state = State::of(mutator);
    Report {
        architecture: "private",
        major: false,
        started,
        before,
        live: live + promoted,
        young_block: state.block_words(mutator),
        old_block: state.old().map_or(0, |old| old.words()),
    }
    .record();
    Ok(enough)
}
