//! The invariants A1 and A3 of `mod.rs`; A2 is checked where the area's objects are visited (`area.rs`). Those of the private heaps are checked by `private/verify.rs`, those of the area's memory
//! by the `treadmill` crate.

use atoll_heap::{Mutator, RootSet};
use atoll_term::Word;

use super::area::Area;
use crate::common::verify::violation;
use crate::private::phases::each_block;

/// A1, A3: after a private collection.
pub(super) fn verify(area: &Area, mutator: &Mutator, roots: &mut dyn RootSet) {
    let mut check = |object: std::ptr::NonNull<Word>| {
        if !area.is_object(object.as_ptr()) {
            violation("A1 (pointers into the area lead to objects)", object.as_ptr(), object.as_ptr() as Word);
        }
    };
    // SAFETY: the process's own memory, which a collection has just left in order.
    unsafe {
        area.bounds.each_in_run(mutator.stack, mutator.stack_words(), &mut check);
        roots.each_slice(&mut |start, terms| area.bounds.each_in_run(start.cast(), terms, &mut check));
        each_block(mutator, &mut |start, used| area.bounds.each_in_objects(start, used, &mut check));
    }
    roots.each_message(&mut |message| {
        area.finder.scan_fragment(message, &mut check);
    });
    area.finder.copies.each(mutator, |copy| {
        if area.bounds.object(copy).is_none() {
            violation("A3 (copies of terms lie in the area)", std::ptr::null(), copy.word());
        }
    });
}
