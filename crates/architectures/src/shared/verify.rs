//! The invariants S1 to S6 of `mod.rs`, checked on the whole heap after a collection, in the stopped world.

use std::sync::atomic::Ordering;

use atoll_heap::each_off_heap;
use atoll_term::{Header, Term, WORD_BYTES, Word};

use super::limits::Charge;
use super::roots::{Roots, Visit};
use super::state::Collector;
use super::{Shared, buffer, stack_marks};
use crate::common::blocks::words_between;
use crate::common::faults;
use crate::common::verify::{Part, Whose, check_objects, check_run, violation};

const S1: &str = "S1 (pointers lead to the heap in use)";
const S2: &str = "S2 (the old generation does not point to the young one)";
const S3: &str = "S3 (no buffers after a collection)";
const S4: &str = "S4 (off-heap lists name each of the heap's handles once)";
const S5: &str = "S5 (what is not scanned does not point to the young generation)";
const S6: &str = "S6 (free runs lie apart in the old generation)";

/// Checks roots: whose collection it is, and what they may lead to.
struct Check<'a>(Whose, &'a dyn Fn(*const Word) -> bool);

impl Visit for Check<'_> {
    fn run(&mut self, start: *mut Word, words: usize) {
        // SAFETY: roots are readable.
        unsafe { check_run(start, words, S1, self.0, Part::Roots, self.1) }
    }

    fn follow(&mut self) -> [usize; 2] {
        [0; 2]
    }
}

/// Checks the heap, all stacks and all roots: a process that was taken for inactive must be in order too.
pub(super) fn verify(shared: &Shared, collector: &mut Collector, roots: &mut Roots<'_>) {
    let whose = Whose::All(&raw const *roots.stopped.asker().mutator);
    let start = collector.young().start();
    let young = (start, words_between(start, collector.mark));
    let old = (collector.old().start(), collector.old_extent());
    let mut free: Vec<(usize, usize)> =
        collector.mark_sweep.as_ref().map(|space| space.runs.each().collect()).unwrap_or_default();
    free.sort_unstable();
    if free.windows(2).any(|pair| pair[0].1 > pair[1].0)
        || free.last().is_some_and(|run| run.1 > collector.old_top as usize)
    {
        violation(S6, whose, Part::Books, old.0, free.len() as Word);
    }
    let inside = |run: (*mut Word, usize), place: *const Word| {
        (place as usize).wrapping_sub(run.0 as usize) < run.1 * WORD_BYTES
    };
    let immovable = |place: *const Word| {
        // SAFETY: the word's bits alone are looked at.
        let term = unsafe { Term::boxed_at(place) };
        shared.immovable.contains(term) && shared.base.immovable.is_taken(place)
    };
    let is_free = |place: *const Word| {
        let behind = free.partition_point(|run| run.0 <= place as usize);
        behind > 0 && (place as usize) < free[behind - 1].1
    };
    let not_young = |place: *const Word| (inside(old, place) && !is_free(place)) || immovable(place);
    let heap = |place: *const Word| inside(young, place) || not_young(place);
    // Messages that were never received lie in fragments outside of the heap.
    let ranges = [collector.young(), collector.other(), collector.old()];
    let reserved = move |place: *const Word| {
        ranges.iter().any(|range| (range.start() as usize..range.end()).contains(&(place as usize)))
    };
    let root = |place: *const Word| heap(place) || !reserved(place);
    roots.stopped.each_mutator(&mut |mutator, own| {
        let whose = Whose::Process(mutator);
        if !buffer::is_clear(mutator) {
            violation(S3, whose, Part::Books, mutator.top, mutator.limit as Word);
        }
        // SAFETY: stack in use and roots are readable, and this looks at the stack.
        unsafe {
            faults::put("S1", mutator.stack, mutator.stack_words());
            check_run(mutator.stack, mutator.stack_words(), S1, whose, Part::Stack, &heap);
            let clean = stack_marks::clean_words(mutator);
            check_run(mutator.stack_base.wrapping_sub(clean), clean, S5, whose, Part::Stack, &not_young);
            own.each_slice(&mut |start, terms| check_run(start.cast(), terms, S1, whose, Part::Roots, &root));
            if let Some((place, _)) = stack_marks::marker(mutator)
                && (*place as usize != shared.marker.load(Ordering::Relaxed) || place < mutator.stack)
            {
                violation(S5, whose, Part::Stack, place, *place);
            }
        }
    });
    (roots.all, roots.charge, roots.is_check) = (true, Charge::Nothing, true);
    roots.each_run(collector, &mut Check(whose, &root));
    // SAFETY: the generations consist of whole objects after a collection; the lists are the heap's own.
    unsafe {
        let young_handles = check_objects(young.0, young.1, S1, whose, &heap);
        let old_handles = check_objects(old.0, old.1, S2, whose, &not_young);
        for (run, list, handles) in
            [(young, collector.young_off_heap, young_handles), (old, collector.old_off_heap, old_handles)]
        {
            let mut listed = 0;
            each_off_heap(list, &mut |object| {
                listed += 1;
                let header = Header::from_word(*object.as_ptr());
                if !inside(run, object.as_ptr()) || !header.has_off_heap_part() {
                    violation(S4, whose, Part::Object(object.as_ptr()), object.as_ptr(), header.word());
                }
            });
            if listed != handles {
                violation(S4, whose, Part::Books, run.0, listed as Word);
            }
        }
    }
}

#[cfg(test)]
mod tests;
