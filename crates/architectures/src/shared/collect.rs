//! Phases 1 and 2, the choice between the kinds of collection, and phase 7.

use std::sync::atomic::Ordering;

use atoll_heap::{
    Asker, Collection, HeapFull, Mutator, OFF_HEAP_BYTES_AT_LEAST, RootSet, StoppedWorld, counters, world,
};
use atoll_platform::clock::monotonic;
use atoll_term::{Term, Word};

use super::limits::{self, Charge};
use super::roots::Roots;
use super::state::State;
use super::{Shared, buffer, major, mark_sweep, minor, send, verify};
use crate::common::{blocks, stack};

pub(super) fn collect(
    shared: &Shared,
    mutator: &mut Mutator,
    request: Collection,
    live: &mut [Term],
    roots: &mut dyn RootSet,
) -> Result<(), HeapFull> {
    send::flush_counters(shared, mutator);
    let epoch = shared.epoch.load(Ordering::Acquire);
    let is_due = limits::is_due(mutator, &request)?;
    let stack_room = blocks::words_between(mutator.block, mutator.stack);
    let had_room = mutator.free_words() >= request.heap_words
        && stack_room >= request.stack_words
        && !limits::is_spared(mutator, epoch);
    reserve_stack(shared, mutator, request.stack_words);
    if request.hibernate {
        stack::fit(mutator, request.stack_words);
        return Ok(());
    }
    let wants_room = !request.major && !had_room && !is_due;
    if wants_room && (mutator.free_words() >= request.heap_words || buffer::refill(shared, mutator, request.heap_words))
    {
        return Ok(());
    }

    // While this thread waits, another may collect; then the live registers are found on the stack.
    reserve_stack(shared, mutator, live.len() + request.stack_words);
    mutator.stack = mutator.stack.wrapping_sub(live.len());
    // SAFETY: the stack has room for the live registers.
    unsafe { std::ptr::copy_nonoverlapping(live.as_ptr().cast(), mutator.stack, live.len()) };
    let started = monotonic();
    let mut result = Ok(());
    world().stopped(Asker { mutator, roots }, &mut |stopped| {
        let collected = shared.epoch.load(Ordering::Acquire) != epoch;
        if wants_room && collected && buffer::refill(shared, stopped.asker().mutator, request.heap_words) {
            return;
        }
        collect_stopped(shared, stopped, is_due, &request, started);
        let mutator = stopped.asker().mutator;
        if is_due {
            result = limits::check(mutator, &request);
            let epoch = shared.epoch.load(Ordering::Acquire);
            limits::judged(mutator, if result.is_err() { epoch } else { 0 });
        }
        if mutator.free_words() < request.heap_words {
            let refilled = buffer::refill(shared, mutator, request.heap_words);
            debug_assert!(refilled, "a collection leaves the room that was asked for");
        }
    });
    // SAFETY: the live registers lie on top of the stack.
    unsafe { std::ptr::copy_nonoverlapping(mutator.stack, live.as_mut_ptr().cast(), live.len()) };
    mutator.stack = mutator.stack.wrapping_add(live.len());
    reserve_stack(shared, mutator, request.stack_words);
    result
}

fn reserve_stack(shared: &Shared, mutator: &mut Mutator, words: usize) {
    if let Some(words) = stack::reserve(mutator, words) {
        shared.first_stacks.grew(State::of(mutator).beginning, words);
    }
}

/// Phases 2 to 7 in a stopped world.
fn collect_stopped(shared: &Shared, stopped: &mut dyn StoppedWorld, is_due: bool, request: &Collection, started: i64) {
    let collector = &mut *shared.lock();
    let majors = shared.majors.load(Ordering::Relaxed);
    let mature = blocks::words_between(collector.young().start(), collector.mark);
    let used = blocks::words_between(collector.young().start(), shared.young_top.load(Ordering::Relaxed) as *mut Word);
    // What was carved out since the last collection has been told already.
    collector.tell_used(used + collector.old_used(), used - mature);
    let old_free = collector.old_words.saturating_sub(collector.old_used());
    let off_heap_limit = OFF_HEAP_BYTES_AT_LEAST + 2 * collector.live_off_heap_bytes;
    let is_major = request.major
        || collector.minors >= usize::from(State::of(stopped.asker().mutator).options().full_sweep_after)
        || (collector.old_words > 0 && mature > old_free)
        || collector.old_off_heap_bytes > off_heap_limit;
    let limited = shared.limited.load(Ordering::Relaxed);
    let charge = if limited { Charge::Minor } else { Charge::Nothing };
    let all = is_major || collector.minors == 0;
    let mut roots = Roots { shared, stopped, charge, is_check: false, is_major, stored: &shared.stored, all, majors };
    let need = request.heap_words;
    let moves = collector.mark_sweep.is_none();
    counters::work_begins();
    let mut enough = !(is_major && moves) && minor::collect(shared, collector, need, &mut roots, started);
    enough &= !is_major && (!is_due || limits::check(roots.stopped.asker().mutator, request).is_ok());
    if !enough {
        let started = if is_major && moves { started } else { monotonic() };
        if moves {
            (roots.all, roots.is_major) = (true, true);
            roots.charge = if limited { Charge::All } else { Charge::Nothing };
            major::collect(shared, collector, need, &mut roots, started);
        } else {
            mark_sweep::collect(shared, collector, &mut roots, started);
        }
    }
    let old = blocks::words_between(collector.old().start(), collector.old_top) * size_of::<Word>();
    let old_start = collector.old().start() as usize;
    shared.stored.sort(!enough, |term| {
        !shared.immovable.contains(term) && (term.pointer() as usize).wrapping_sub(old_start) >= old
    });
    collector.tell_used(collector.old_used() + blocks::words_between(collector.young().start(), collector.mark), 0);
    collector.ended = monotonic();
    let limit = OFF_HEAP_BYTES_AT_LEAST + 2 * collector.live_off_heap_bytes;
    shared.off_heap_limit.store(limit, Ordering::Relaxed);
    shared.minors.store(collector.minors, Ordering::Relaxed);
    shared.kept_words.store(0, Ordering::Relaxed);
    shared.epoch.fetch_add(1, Ordering::Release);
    if shared.base.settings.verify {
        verify::verify(shared, collector, &mut roots);
    }
}
