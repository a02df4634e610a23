//! The invariants U1 to U5 of `mod.rs`, checked on the whole heap after a cycle in a stopped world.

use std::collections::HashSet;

use atoll_heap::StoppedWorld;
use atoll_term::{Header, Term, Word};

use super::space::{LINE_WORDS, line};
use super::{Unified, buffer};
use crate::common::faults;
use crate::common::verify::{Part, Whose, check_objects, check_run, violation};

const U1: &str = "U1 (pointers of processes lead to live objects)";
const U2: &str = "U2 (live objects refer to live objects)";
const U3: &str = "U3 (nothing that is used lies in a free line)";
const U4: &str = "U4 (off-heap lists name each live handle once)";
const U5: &str = "U5 (no buffers after a stop)";

/// A pointer leads into a free line.
#[cold]
pub(super) fn free_line(place: *const Word) -> ! {
    violation(U3, Whose::Heap, Part::Heap, place, 0)
}

/// Checks all processes and the whole heap.
pub(super) fn verify(unified: &Unified, stopped: &mut dyn StoppedWorld) {
    let whose = Whose::All(&raw const *stopped.asker().mutator);
    let space = &unified.space;
    let is_live = |place: *const Word| match space.index(place) {
        Some(index) => space.marks.is_marked(index),
        None => {
            // SAFETY: the word's bits alone are looked at.
            let term = unsafe { Term::boxed_at(place) };
            unified.immovable.contains(term) && unified.base.immovable.is_taken(place)
        }
    };
    // Messages that were never received may lie in fragments outside of the heap.
    let root = |place: *const Word| is_live(place) || space.index(place).is_none();
    stopped.each_mutator(&mut |mutator, own| {
        let whose = Whose::Process(mutator);
        if !buffer::is_clear(mutator) {
            violation(U5, whose, Part::Books, mutator.top, mutator.limit as Word);
        }
        // SAFETY: stack in use and roots are readable.
        unsafe {
            faults::put("U1", mutator.stack, mutator.stack_words());
            check_run(mutator.stack, mutator.stack_words(), U1, whose, Part::Stack, &is_live);
            own.each_slice(&mut |start, terms| check_run(start.cast(), terms, U1, whose, Part::Roots, &root));
        }
    });
    let mut handles = HashSet::new();
    space.marks.each(space.extent(), &mut |index| {
        let place = space.line_start(0).wrapping_add(index);
        // SAFETY: at a marked word begins a whole object.
        unsafe {
            let first = Term::from_word(*place);
            let words = if first.is_header() { Header::from_word(first.word()).object_words() } else { 2 };
            for number in index / LINE_WORDS..=(index + words - 1) / LINE_WORDS {
                if space.line(number).load(std::sync::atomic::Ordering::Relaxed) == line::FREE {
                    violation(U3, whose, Part::Object(place), place, first.word());
                }
            }
            if check_objects(place, words, U2, whose, &is_live) > 0 {
                handles.insert(place as usize);
            }
        }
    });
    let mut listed = HashSet::new();
    unified.off_heap.each(&mut |object| {
        if !listed.insert(object as usize) || !handles.contains(&(object as usize)) {
            violation(U4, whose, Part::Books, object, 0);
        }
    });
    if let Some(lost) = handles.difference(&listed).next() {
        violation(U4, whose, Part::Books, *lost as *const Word, 0);
    }
}

#[cfg(test)]
mod tests;
