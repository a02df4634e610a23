//! Large heaps: minor collections that keep the young generation small, and cycles in slices (`cycle.rs`) in the place
//! of major collections. Which heaps are large is decided anew at each collection.

use std::ptr::null_mut;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};

use atoll_heap::{
    HeapFull, Mutator, counters, each_off_heap, join_off_heap, next_off_heap, off_heap_bytes, set_next_off_heap,
};
use atoll_platform::clock::monotonic;
use atoll_term::Word;

use super::ahead::Ahead;
use super::cycle::{Cycle, Finished, Progress, Share, Stayed};
use super::evacuation::{Evacuation, Staying};
use super::helpers::Helpers;
use super::minor;
use super::old::{Block, Old, free_apart};
use super::phases::{Need, Roots, each_fragment, move_stack};
use super::slice::Slice;
use super::state::State;
use crate::common::report::Report;
use crate::common::verify::Whose;
use crate::common::{blocks, fibonacci};

/// Words of the young generation that are free after a minor collection of a large heap, if the stack is not larger.
/// Miri keeps notes of each word.
const NURSERY: usize = if cfg!(miri) { 89 } else { 121_393 };
/// The part of these words that is free while nearly all survives: then it is their number that makes stops long.
const GROWING: usize = 8;
/// Words that live up to which there is room for as many to become old before the next cycle; for a quarter as many
/// from four times these on.
const ROOM: usize = 1 << 22;
/// Words to be done in a cycle for each word that survives into the old generation meanwhile.
const PACE: usize = 2;
/// Least part of the heap that a block for survivors during a cycle has.
const EXTENSION_PART: usize = 8;
/// Objects with off-heap parts that are looked through at once.
const FEW: usize = 1024;
/// Heaps with more words than this have no cycles: the counts of live words are short.
const TOO_LARGE: usize = u32::MAX as usize;

/// What is meant by large and by a slice, and who helps.
#[derive(Debug)]
pub(super) struct Limits {
    /// `--gc-stress` is on.
    stressed: bool,
    above: AtomicUsize,
    nanoseconds: AtomicI64,
    step: AtomicUsize,
    helpers: Arc<Helpers>,
    ahead: Ahead,
}

impl Limits {
    /// 4 MB, and half a millisecond.
    pub(super) fn usual(stressed: bool) -> Limits {
        Limits {
            stressed,
            above: AtomicUsize::new(1 << 19),
            nanoseconds: AtomicI64::new(500_000),
            step: AtomicUsize::new(1024),
            helpers: Arc::default(),
            ahead: Ahead::default(),
        }
    }

    pub(super) fn set(&self, above: usize, nanoseconds: i64, step: usize) {
        self.above.store(above, Ordering::Relaxed);
        self.nanoseconds.store(nanoseconds, Ordering::Relaxed);
        self.step.store(step.max(1), Ordering::Relaxed);
    }

    /// Does something for large heaps on a thread that has nothing else to do, for about so many nanoseconds. Whether
    /// there was something to do.
    pub(super) fn help(&self, nanoseconds: i64) -> bool {
        self.ahead.work() || self.helpers.help(nanoseconds)
    }

    /// Whether there is something to do.
    pub(super) fn is_help_wanted(&self) -> bool {
        self.ahead.is_waiting() || self.helpers.are_wanted()
    }

    /// Words of a large heap. Under `--gc-stress`, so few that many programs have large heaps.
    pub(super) fn above(&self) -> usize {
        let above = self.above.load(Ordering::Relaxed);
        if self.stressed { above.min(8_192) } else { above }
    }

    /// Words from which on this heap is a large one: an eighth of what others have while it grows, because each
    /// collection of a small one copies all of it.
    fn above_of(&self, state: &State) -> usize {
        if state.grows() { self.above() / 8 } else { self.above() }
    }

    /// A slice, no longer than so many nanoseconds, unless more is owed.
    fn slice(&self, owed: usize, most: i64) -> Slice<'static> {
        if self.stressed {
            // Small steps, but not so small that a program's collections do not suffice for a cycle.
            return Slice::new(0, owed, 1024);
        }
        let until = monotonic() + self.nanoseconds.load(Ordering::Relaxed).min(most);
        Slice::new(until, owed, self.step.load(Ordering::Relaxed))
    }

    fn nursery(&self, grows: bool) -> usize {
        NURSERY.min(self.above() / 4) / if grows { GROWING } else { 1 }
    }
}

/// Whether the heap is collected as a large one: it is, or a cycle is under way. With a limit, memory counts more than
/// pauses, and a heap is never large.
pub(super) fn concerns(limits: &Limits, mutator: &Mutator) -> bool {
    let state = State::of(mutator);
    if state.options().maximum_words != 0 {
        return false;
    }
    let mature = blocks::words_between(mutator.block, state.high_water);
    match state.old() {
        Some(old) if old.cycle.is_some() => true,
        Some(old) => (limits.above_of(state)..TOO_LARGE).contains(&(mature + old.used())),
        None => mature >= limits.above_of(state),
    }
}

/// Gives up the cycle under way, if there is one; ends it if it has come too far for that.
pub(super) fn leave_cycle(limits: &Limits, mutator: &mut Mutator, roots: &mut Roots<'_>) {
    let Some(old) = State::of_mut(mutator).old_mut() else { return };
    if old.cycle.as_ref().is_some_and(|cycle| cycle.copies_are_used()) {
        let now = monotonic();
        advance(limits, mutator, roots, usize::MAX, Stop { started: now, collected: now });
    } else {
        old.give_up_cycle();
    }
}

/// Collects the young generation, and does a slice of a cycle if one is due or under way. The need is always met.
pub(super) fn collect(
    limits: &Limits,
    mutator: &mut Mutator,
    need: Need,
    roots: &mut Roots<'_>,
) -> Result<(), HeapFull> {
    let started = monotonic();
    let state = State::of(mutator);
    let mature = blocks::words_between(mutator.block, state.high_water);
    let before = state.old().map_or((0, 0), |old| (old.used(), old.off_heap_bytes));
    let active = state.old().is_some_and(|old| old.cycle.is_some());
    let full = state.old().is_none_or(|old| mature > old.target.free_words());
    let pressed = state.old().is_some_and(|old| old.off_heap_bytes > state.off_heap_limit());
    let swept = state.minors >= state.options().full_sweep_after;
    let due = !active && (full && state.old().is_some() || pressed || swept);

    let nursery = limits.nursery(state.grows()).max(mutator.stack_words()).max(need.words);
    if full && mature >= limits.above_of(state) && mutator.fragments.is_null() {
        let used = blocks::words_between(mutator.block, mutator.top);
        adopt(mutator, nursery);
        let state = State::of_mut(mutator);
        if state.grows() {
            make_room(limits, state.some_old(), used);
        }
        state.minors = state.minors.saturating_add(1);
        report(mutator, false, started, used, used);
    } else {
        let target = match (full, due) {
            (false, _) => None,
            // What begins now is collected at once: no room beside what is needed.
            (true, true) => Some(mature),
            (true, false) => Some(mature.max(before.0 / EXTENSION_PART).max(nursery)),
        };
        let large = minor::Large { nursery, must: false, target };
        if !minor::collect(mutator, need, roots, started, Some(large))? {
            // A second one leaves nothing in the young generation.
            let state = State::of(mutator);
            let young = blocks::words_between(mutator.block, state.high_water);
            let full = state.old().is_none_or(|old| young > old.target.free_words());
            let large = minor::Large { nursery, must: true, target: full.then_some(young) };
            let enough = minor::collect(mutator, need, roots, monotonic(), Some(large))?;
            debug_assert!(enough);
        }
    }
    let old = State::of_mut(mutator).some_old();
    let promoted = old.used() - before.0 + old.off_heap_bytes.saturating_sub(before.1) / size_of::<usize>();
    let collected = monotonic();
    if due {
        let whole = pressed || swept;
        begin(limits, mutator, roots, whole);
    }
    if active || due {
        advance(limits, mutator, roots, PACE * promoted, Stop { started, collected });
    }
    let old = State::of_mut(mutator).some_old();
    old.paged = limits.ahead.reach(&old.target, old.paged);
    Ok(())
}

/// The whole block of heap and stack becomes one of the old generation, with the list of its objects with off-heap
/// parts. Nothing moves but the stack.
fn adopt(mutator: &mut Mutator, nursery: usize) {
    let state = State::of(mutator);
    let block = Block::of(mutator.block, mutator.top, state.block_words(mutator));
    let new_words = fibonacci::at_least((mutator.stack_words() + nursery).max(state.options().minimum_words));
    let start = move_stack(mutator, new_words);
    let list = std::mem::replace(&mut mutator.off_heap, null_mut());
    mutator.off_heap_bytes = 0;
    mutator.top = start;
    mutator.block = start;
    let state = State::of_mut(mutator);
    state.high_water = start;
    state.set_growth(0);
    let old = state.some_old();
    old.aim_at(block);
    // SAFETY: the list is the process's, of whole objects.
    unsafe {
        each_off_heap(list, &mut |object| old.off_heap_bytes += off_heap_bytes(object));
        join_off_heap(&mut old.off_heap, list);
    }
}

/// After a major collection that was none in slices: a young generation that is large becomes the old one, so that the
/// next minor collection does not copy it. False: it is not large.
pub(super) fn settle(limits: &Limits, mutator: &mut Mutator, need: Need) -> bool {
    let state = State::of(mutator);
    let used = blocks::words_between(mutator.block, mutator.top);
    if need.exact || used < limits.above() || state.options().maximum_words != 0 {
        return false;
    }
    adopt(mutator, limits.nursery(false).max(mutator.stack_words()).max(need.words));
    // All of them are counted as those that lived after this collection.
    State::of_mut(mutator).some_old().off_heap_bytes = 0;
    true
}

/// Begins a cycle over the whole old generation, all of which is to be copied, or what is worth it.
fn begin(limits: &Limits, mutator: &mut Mutator, roots: &mut Roots<'_>, whole: bool) {
    let (heap, top) = (mutator.block, mutator.top);
    let old = State::of_mut(mutator).some_old();
    old.aim_at(Block::NONE);
    let blocks = std::mem::take(&mut old.others);
    let off_heap = (std::mem::replace(&mut old.off_heap, null_mut()), std::mem::take(&mut old.off_heap_bytes));
    let may_stay = match whole {
        true => Staying::Nothing,
        false if has_few(off_heap.0) => Staying::Oldest,
        false => Staying::AllOrNothing,
    };
    let mut evacuation = Evacuation::new(Whose::Process(mutator), &blocks, may_stay);
    // SAFETY: the roots hold whole terms, and the young generation consists of whole objects, as a collection has just
    // left both.
    unsafe {
        roots.each_run(mutator, |start, words| {
            for index in 0..words {
                evacuation.mark_root(*start.add(index));
            }
        });
        evacuation.mark_objects(heap, blocks::words_between(heap, top));
    }
    let cycle = Cycle::begin(&limits.helpers, blocks, off_heap, evacuation, monotonic());
    State::of_mut(mutator).some_old().cycle = Some(Box::new(cycle));
}

/// Whether a list of objects with off-heap parts is short enough to be looked through at once.
fn has_few(list: *mut Word) -> bool {
    let (mut next, mut left) = (list, FEW);
    while !next.is_null() && left > 0 {
        // SAFETY: the list is the process's own, of whole objects.
        next = unsafe { next_off_heap(next) };
        left -= 1;
    }
    next.is_null()
}

/// A stop of the process: when it began, and when its minor collection was over.
#[derive(Clone, Copy)]
struct Stop {
    started: i64,
    collected: i64,
}

/// Does a slice of the cycle, and ends it if that was the last.
fn advance(limits: &Limits, mutator: &mut Mutator, roots: &mut Roots<'_>, owed: usize, stop: Stop) {
    let old = State::of_mut(mutator).some_old();
    let Some(cycle) = old.cycle.take() else { return };
    let mut extension = old.others.clone();
    extension.push(old.target);
    let ran = stop.started - cycle.left_at;
    let slice = |owed, share| {
        // With its minor collection, the stop takes no longer than three quarters of what the process has run.
        let left = ran - ran / 4 - (stop.collected - stop.started);
        let most = match share {
            Share::Whole => left,
            Share::Rest => left / 2,
        };
        limits.slice(owed, most.max(ran / 8))
    };
    // SAFETY: the blocks consist of whole objects.
    match unsafe { cycle.advance(owed, slice, &extension) } {
        Progress::Copied(finished) => end(limits, mutator, roots, finished, stop.collected),
        Progress::Stays(stayed) => stay(limits, mutator, stayed, stop.collected),
        Progress::Goes(mut cycle) => {
            let now = monotonic();
            cycle.left_at = now;
            old.cycle = Some(cycle);
            counters::record_slice((now - stop.collected).max(0) as u64, (now - stop.started).max(0) as u64);
        }
    }
}

fn end(limits: &Limits, mutator: &mut Mutator, roots: &mut Roots<'_>, cycle: Finished, started: i64) {
    let heap = mutator.block;
    roots.beside.elsewhere.retain(|(object, _)| cycle.stays(object.pointer()));
    // SAFETY: the cycle has come to its end; the roots hold whole terms, and the young generation consists of whole
    // objects.
    unsafe {
        roots.each_run(mutator, |start, words| cycle.update_run(start, words));
        cycle.update_objects(heap, blocks::words_between(heap, mutator.top));
        each_fragment(mutator, |fragment| cycle.update_objects(fragment.words(), fragment.used()));
    }
    let outcome = cycle.end();
    outcome.freed.iter().for_each(|block| (roots.beside.leaving)(block.start));
    let before = outcome.freed.iter().chain(&outcome.stayed).map(Block::used).sum();
    // SAFETY: no pointer to their objects is left.
    unsafe { free_apart(outcome.freed, Some(outcome.map)) }
    let state = State::of_mut(mutator);
    state.minors = 0;
    state.live_off_heap_bytes = outcome.off_heap_bytes;
    let live = outcome.live;
    let old = state.some_old();
    let (first, last) = outcome.off_heap;
    if !last.is_null() {
        // SAFETY: the last object of a list of whole objects; its link is free.
        unsafe { set_next_off_heap(last, old.off_heap) };
        old.off_heap = first;
    }
    let mut older = outcome.stayed;
    older.push(outcome.target);
    older.retain(|block| block.words > 0);
    old.put_in_front(older);
    make_room(limits, old, live);
    report(mutator, true, started, before, live);
}

/// A cycle ends that has copied nothing.
fn stay(limits: &Limits, mutator: &mut Mutator, stayed: Stayed, started: i64) {
    let Stayed { blocks, off_heap, off_heap_bytes, live, map } = stayed;
    let words = blocks.iter().map(Block::used).sum();
    // SAFETY: no blocks are given back.
    unsafe { free_apart(Vec::new(), Some(map)) }
    let state = State::of_mut(mutator);
    state.minors = 0;
    let old = state.some_old();
    old.put_in_front(blocks);
    old.off_heap_bytes += off_heap_bytes;
    // SAFETY: both lists are this process's, of whole objects.
    unsafe { join_off_heap(&mut old.off_heap, off_heap) }
    make_room(limits, old, live);
    report(mutator, true, started, words, words);
}

/// Room for what becomes old before the next cycle, after one that found so many words live. Of what has just been
/// freed, if it is long: room in the block of the copies would be memory in use all through the cycle.
fn make_room(limits: &Limits, old: &mut Old, live: usize) {
    let room = (live / 4).max(live.min(ROOM)).max(limits.above() / 8);
    let least = room - room / 4;
    if old.target.free_words() < least {
        old.aim_at(Block::new(least, room));
    }
}

fn report(mutator: &Mutator, major: bool, started: i64, before: usize, live: usize) {
    let state = State::of(mutator);
    let (young_block, old_block) = (state.block_words(mutator), state.old().map_or(0, |old| old.words()));
    Report { architecture: "private", major, started, before, live, young_block, old_block }.record();
}
