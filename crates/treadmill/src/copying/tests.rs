//! Breaks each invariant of the copying collector in turn, and sees the verifier report that one.

use super::*;
use crate::config::Preset;
use crate::heap::Engine;
use crate::raw::RawHeap;
use crate::runtime::Runtime;
use std::ops::Range;

struct Plain;

// SAFETY: its objects have no references.
unsafe impl Runtime for Plain {
    unsafe fn describe(&self, _: NonNull<u64>, _: usize, _: Range<usize>, _: &mut Visitor<'_>) {}
}

/// Sees the verifier report this invariant once it is broken on a heap with objects; not before.
fn sees(invariant: &str, corrupt: impl FnOnce(&mut Copying, usize)) {
    let heap = RawHeap::new(&Config::preset(Preset::Cp, 4 << 20), Box::new(Plain)).expect("a heap");
    let mutator = heap.mutator();
    // SAFETY: nobody reads the objects.
    let object = unsafe { mutator.allocate(20) }.expect("room").as_ptr() as usize;
    mutator.verify().expect("sound as yet");
    let Engine::Copying(copying) = &mutator.inner.engine else { panic!("another collector") };
    corrupt(&mut copying.lock().expect("nobody panics"), object - 8);
    let violation = mutator.verify().expect_err(invariant);
    assert_eq!(violation.invariant, invariant, "{violation}");
}

#[test]
fn an_object_that_ends_behind_its_page() {
    sees("CP1", |copying, header| copying.set_word(header, 30 << 1));
}

#[test]
fn an_object_that_was_copied_away() {
    sees("CP2", |copying, header| copying.set_word(header, 20 << 1 | 1));
}

#[test]
fn more_pages_than_the_limit() {
    sees("CP3", |copying, _| copying.space.set_limit(0));
}
