//! The invariants P1 to P5 of `mod.rs`, checked on one process after a collection; P6 is checked where pointers are
//! replaced (`cycle.rs`).

use std::cell::Cell;

use atoll_heap::{Mutator, each_off_heap};
use atoll_term::{Header, WORD_BYTES, Word};

use super::Private;
use super::phases::{Need, Roots};
use super::state::State;
use crate::common::blocks::words_between;
use crate::common::faults;
use crate::common::verify::{Part, Whose, check_objects, check_run, violation};

const P1: &str = "P1 (pointers lead to own generations)";
const P2: &str = "P2 (what is old does not point to what is younger)";
const P3: &str = "P3 (the room that was asked for)";
const P4: &str = "P4 (off-heap lists name each of the heap's handles once)";
const P5: &str = "P5 (no fragments are left)";

/// Checks the process. Live registers may hold a message that was looked at and not taken, so they are not
/// checked.
pub(super) fn verify(architecture: &Private, mutator: &mut Mutator, need: Need, roots: &mut Roots<'_>) {
    // SAFETY: the stack in use, which is checked below.
    unsafe { faults::put("P1", mutator.stack, mutator.stack_words()) };
    let whose = Whose::Process(mutator);
    let state = State::of(mutator);
    let heap = (mutator.block, words_between(mutator.block, mutator.top));
    let mut old = Vec::new();
    if let Some(generation) = state.old() {
        generation.each_block(|block| old.push((block.start, block.used())));
    }
    let inside = |run: (*mut Word, usize), place: *const Word| {
        (place as usize).wrapping_sub(run.0 as usize) < run.1 * WORD_BYTES
    };
    let in_old = |place: *const Word| old.iter().any(|run| inside(*run, place));
    let immovable = |place: *const Word| {
        // SAFETY: the word's bits alone are looked at.
        let term = unsafe { atoll_term::Term::boxed_at(place) };
        architecture.immovable.contains(term) && architecture.base.immovable.is_taken(place)
    };
    let own = |place: *const Word| inside(heap, place) || in_old(place) || immovable(place);
    // SAFETY: the process's own memory, which a collection has just left in order.
    unsafe {
        check_run(mutator.stack, mutator.stack_words(), P1, whose, Part::Stack, &own);
        roots.set.each_slice(&mut |start, terms| check_run(start.cast(), terms, P1, whose, Part::Roots, &own));
        let young_handles = check_objects(heap.0, heap.1, P1, whose, &own);
        let mut old_handles = 0;
        for (index, run) in old.iter().enumerate() {
            let not_younger =
                |place: *const Word| old[..=index].iter().any(|older| inside(*older, place)) || immovable(place);
            old_handles += check_objects(run.0, run.1, P2, whose, &not_younger);
        }
        let listed = Cell::new(0);
        let count_listed = |inside: &dyn Fn(*const Word) -> bool, list| {
            listed.set(0);
            each_off_heap(list, &mut |object| {
                listed.set(listed.get() + 1);
                let header = Header::from_word(*object.as_ptr());
                if !inside(object.as_ptr()) || !header.has_off_heap_part() {
                    violation(P4, whose, Part::Object(object.as_ptr()), object.as_ptr(), header.word());
                }
            });
            listed.get()
        };
        let old_list = state.old().map_or(std::ptr::null_mut(), |old| old.off_heap);
        // The old generation may hold handles of the same list that died since its last collection: all are listed,
        // until a cycle finds them.
        let in_cycle = state.old().is_some_and(|old| old.cycle.is_some());
        if count_listed(&|place| inside(heap, place), mutator.off_heap) != young_handles
            || count_listed(&in_old, old_list) != old_handles && !in_cycle
        {
            violation(P4, whose, Part::Books, heap.0, listed.get() as Word);
        }
    }
    let free = words_between(mutator.top, mutator.stack.max(mutator.top));
    if free < need.words || mutator.stack < mutator.top || mutator.stack > mutator.stack_base {
        violation(P3, whose, Part::Books, mutator.top, free as Word);
    }
    if !mutator.fragments.is_null() || mutator.fragment_words != 0 {
        violation(P5, whose, Part::Books, mutator.fragments.cast(), mutator.fragment_words as Word);
    }
}

#[cfg(test)]
mod tests;
