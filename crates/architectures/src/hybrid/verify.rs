//! The invariants A1 and A3 of `mod.rs`; A2 is checked where the area's objects are visited (`area.rs`). Those of the
//! private heaps are checked by `private/verify.rs`, those of the area's memory by the `treadmill` crate.

use std::ptr::NonNull;

use atoll_heap::{Mutator, RootSet};
use atoll_term::Word;

use super::area::Area;
use crate::common::faults;
use crate::common::verify::{Part, Whose, violation};
use crate::private::phases::each_block;

const A1: &str = "A1 (pointers into the area lead to objects)";
const A3: &str = "A3 (copies of terms lie in the area)";

/// A1, A3: after a private collection.
pub(super) fn verify(area: &Area, mutator: &Mutator, roots: &mut dyn RootSet) {
    let whose = Whose::Process(mutator);
    let check = |part| {
        move |object: NonNull<Word>| {
            if !area.is_object(object.as_ptr()) || faults::is_wanted("A1") {
                violation(A1, whose, part, object.as_ptr(), object.as_ptr() as Word);
            }
        }
    };
    // SAFETY: the process's own memory, which a collection has just left in order.
    unsafe {
        area.bounds.each_in_run(mutator.stack, mutator.stack_words(), &mut check(Part::Stack));
        roots.each_slice(&mut |start, terms| area.bounds.each_in_run(start.cast(), terms, &mut check(Part::Roots)));
        each_block(mutator, &mut |start, used| area.bounds.each_in_objects(start, used, &mut check(Part::Heap)));
    }
    roots.each_message(&mut |message| {
        area.finder.scan_fragment(message, &mut check(Part::Message));
    });
    area.finder.copies.each(mutator, |copy| {
        if area.bounds.object(copy).is_none() {
            violation(A3, whose, Part::Books, copy.pointer(), copy.word());
        }
    });
}
