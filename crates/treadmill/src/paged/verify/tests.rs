//! Breaks each invariant of the paged collector in turn, and sees the verifier report that one.

use super::*;
use crate::config::Config;
use crate::heap::Engine;
use crate::raw::{RawHeap, RawMutator};
use std::ops::Range;

/// Objects whose first word is a reference.
struct First;

// SAFETY: reports the only reference that an object has.
unsafe impl Runtime for First {
    unsafe fn describe(&self, object: NonNull<u64>, _: usize, portion: Range<usize>, visitor: &mut Visitor<'_>) {
        // SAFETY: objects of the tests are initialised.
        let first = unsafe { object.read() };
        if let Some(first) = NonNull::new(first as *mut u64).filter(|_| portion.start == 0) {
            visitor.visit(first);
        }
    }
}

fn allocate(mutator: &RawMutator, words: usize, first: u64) -> NonNull<u64> {
    // SAFETY: initialised at once, and nothing is collected here.
    unsafe {
        let object = mutator.allocate(words).expect("room");
        object.write(first);
        object
    }
}

/// Sees the verifier report this invariant once it is broken on a heap with objects of all sizes; not before.
fn sees(invariant: &str, corrupt: impl FnOnce(&Paged, NonNull<u64>)) {
    let heap = RawHeap::new(&Config::best(16 << 20), Box::new(First)).expect("a heap");
    let mutator = heap.mutator();
    let mut last = allocate(&mutator, 2, 0);
    for words in [2, 3, 50, 500, 511, 512, 700, 900, 5_000, 17, 4, 300] {
        last = allocate(&mutator, words, last.as_ptr() as u64);
    }
    // What is at the hands of a thread is on no list, and what was not marked is not followed.
    let root = mutator.root(last).expect("a slot");
    mutator.collect();
    mutator.park_now();
    mutator.unpark();
    mutator.verify().expect("sound as yet");
    let Engine::Paged(paged) = &mutator.inner.engine else { panic!("another collector") };
    corrupt(paged, last);
    let violation = mutator.verify().expect_err(invariant);
    assert_eq!(violation.invariant, invariant, "{violation}");
    assert_eq!(mutator.verify_within(Duration::from_secs(20)), Some(Err(violation)));
    // SAFETY: the slot is this mutator's.
    unsafe { mutator.unroot(root) };
}

/// A page with a gap.
fn partial(paged: &Paged) -> u32 {
    paged.memory().partial()[0]
}

/// Where the first gap of that page begins.
fn gap(paged: &Paged) -> (u32, usize) {
    let page = partial(paged);
    let blocks = paged.table.blocks(paged.table.get(page));
    let mut at = 0;
    while blocks.is_object(at) {
        at = blocks.end_of(at);
    }
    (page, at)
}

#[test]
fn a_block_that_does_not_begin_where_the_last_ends() {
    sees("PG1", |paged, _| paged.table.blocks(paged.table.get(partial(paged))).flip(0));
}

#[test]
fn a_gap_that_is_not_the_longest() {
    sees("PG2", |paged, _| assert!(paged.break_a_gap()));
}

#[test]
fn more_pages_than_the_limit() {
    sees("PG3", |paged, _| paged.memory().space.set_limit(1));
}

#[test]
fn a_marked_gap() {
    sees("PG4", |paged, _| {
        let (page, gap) = gap(paged);
        let marks = paged.table.marks(paged.table.get(page));
        marks.claim(paged.phase.load(Ordering::Relaxed) >> 1);
        assert!(marks.mark(gap));
    });
}

#[test]
fn a_page_on_two_lists() {
    sees("PG6", |paged, _| {
        let page = partial(paged);
        paged.memory().unswept.push(paged.table, page);
    });
}

#[test]
fn a_free_page_on_a_list() {
    sees("PG6", |paged, _| paged.table.get(partial(paged)).set_unused());
}

#[test]
fn a_reference_into_an_object() {
    sees("PG7", |_, last| {
        // SAFETY: the object is the test's.
        unsafe { last.write(last.as_ptr() as u64 + 8) }
    });
}

/// The bit of its second word is set, and that of the next word too, where the next block begins.
#[test]
fn a_reference_to_the_second_word_of_a_pair() {
    sees("PG7", |paged, last| {
        let pairs = |page: u32| {
            let blocks = paged.table.blocks(paged.table.get(page));
            let pair = (0..PAGE_WORDS - 2).find(|at| blocks.begins_object(*at) && blocks.end_of(*at) == at + 2);
            pair.map(|at| paged.address(page, at))
        };
        let pair = paged.memory().partial().into_iter().find_map(pairs).expect("a pair");
        // SAFETY: the object is the test's.
        unsafe { last.write(pair as u64 + 8) }
    });
}

#[test]
fn a_reference_to_what_was_swept() {
    sees("PG7", |paged, last| {
        let (page, gap) = gap(paged);
        // SAFETY: the object is the test's.
        unsafe { last.write(paged.address(page, gap) as u64) }
    });
}

#[test]
fn a_page_without_a_slot() {
    sees("PG8", |paged, _| {
        let slot = paged.table.get(partial(paged)).slot();
        paged.memory().slots.give(slot);
    });
}

/// While another thread does not come by, nothing is checked, and nobody waits for long.
#[test]
fn a_check_that_others_do_not_allow_is_left_out() {
    let heap = RawHeap::new(&Config::best(1 << 20), Box::new(First)).expect("a heap");
    let (mutator, other) = (heap.mutator(), heap.mutator());
    assert_eq!(mutator.verify_within(Duration::from_millis(2)), None);
    other.park_now();
    assert_eq!(mutator.verify_within(Duration::from_secs(20)), Some(Ok(())));
    other.unpark();
}
