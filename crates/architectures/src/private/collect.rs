//! Phase 1: choosing the kind of collection.

use atoll_heap::{Collection, HeapFull, Mutator, RootSet, counters};
use atoll_term::Term;

use super::phases::{Beside, Need, Roots};
use super::state::State;
use super::{Private, first, major, minor, phases, send, sliced, verify};
use crate::common::blocks;
use crate::common::report::clock;

/// Words of memory of fragments up to which no collection is asked for because of them.
pub(super) const FRAGMENTS_AT_LEAST: usize = 4096;

/// Collects.
pub(crate) fn collect(
    architecture: &Private,
    mutator: &mut Mutator,
    request: Collection,
    live: &mut [Term],
    roots: &mut dyn RootSet,
    beside: Beside<'_>,
) -> Result<(), HeapFull> {
    send::flush_counters(architecture, mutator);
    // One word stays free for a return address (`Mutator::heap_limit`); a hibernating process needs none.
    let spare = usize::from(!request.hibernate);
    let need = Need { words: request.heap_words + request.stack_words + spare, exact: request.hibernate };
    // Each for as long as the roots live.
    let Beside { elsewhere, leaving, followed } = beside;
    let mut roots = Roots { live, set: roots, visited: 0, beside: Beside { elsewhere, leaving, followed } };
    let in_use = words_in_use(mutator);
    let counted = words_counted(mutator);
    counters::used_changed(in_use as i64 - counted as i64);
    architecture.room.begins(mutator, need.exact);
    let result = collect_counted(architecture, mutator, &request, need, &mut roots);
    architecture.room.ended(mutator);
    counters::used_changed(words_counted(mutator) as i64 - in_use as i64);
    result?;
    if architecture.base.settings.verify {
        verify::verify(architecture, mutator, need, &mut roots);
    }
    Ok(())
}

/// Words of heap in use: both generations and fragments.
fn words_in_use(mutator: &Mutator) -> usize {
    let state = State::of(mutator);
    let old = state.old().map_or(0, |old| old.used());
    let mut words = blocks::words_between(mutator.block, mutator.top) + old;
    phases::each_fragment(mutator, |fragment| words += fragment.used());
    words
}

/// The same as the last collection left it, which the statistics know of.
pub(super) fn words_counted(mutator: &Mutator) -> usize {
    let state = State::of(mutator);
    blocks::words_between(mutator.block, state.high_water) + state.old().map_or(0, |old| old.used())
}

fn collect_counted(
    architecture: &Private,
    mutator: &mut Mutator,
    request: &Collection,
    need: Need,
    roots: &mut Roots<'_>,
) -> Result<(), HeapFull> {
    counters::work_begins();
    if !request.major && first::outgrow(&architecture.expected, mutator, need, roots)? {
        return Ok(());
    }
    architecture.expected.collected(mutator);
    let limits = &architecture.sliced;
    if in_slices(architecture, mutator, request) {
        minor::tenure(mutator);
        return sliced::collect(limits, mutator, need, roots);
    }
    if wants_minor(mutator, request) && minor::collect(mutator, need, roots, clock(), None)? {
        return Ok(());
    }
    major::collect(limits, mutator, need, roots, clock())
}

/// Whether a collection leaves the old generation where it is, except for the blocks that it reports to `leaving`.
pub(crate) fn in_slices(architecture: &Private, mutator: &Mutator, request: &Collection) -> bool {
    !request.major && !request.hibernate && sliced::concerns(&architecture.sliced, mutator)
}

/// Phase 1: is a minor collection enough as far as can be seen?
fn wants_minor(mutator: &Mutator, request: &Collection) -> bool {
    let state = State::of(mutator);
    if request.major || request.hibernate || state.minors >= state.options().full_sweep_after {
        return false;
    }
    let mature = blocks::words_between(mutator.block, state.high_water);
    state.old().is_none_or(|old| mature <= old.target.free_words() && old.off_heap_bytes <= state.off_heap_limit())
}
