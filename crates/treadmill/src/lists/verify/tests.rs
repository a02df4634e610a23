//! Breaks each invariant of the lists in turn, and sees the verifier report that one.

use super::*;
use crate::config::{Config, Preset};
use crate::heap::Engine;
use crate::raw::RawHeap;
use crate::runtime::{Runtime, Visitor};
use std::ops::Range;
use std::ptr::NonNull;

struct Plain;

// SAFETY: its objects have no references.
unsafe impl Runtime for Plain {
    unsafe fn describe(&self, _: NonNull<u64>, _: usize, _: Range<usize>, _: &mut Visitor<'_>) {}
}

/// Sees the verifier report this invariant once it is broken on a heap with objects; not before.
fn sees(invariant: &str, corrupt: impl FnOnce(&mut Lists, usize)) {
    let heap = RawHeap::new(&Config::preset(Preset::TmRt, 4 << 20), Box::new(Plain)).expect("a heap");
    let mutator = heap.mutator();
    for _ in 0..10 {
        // SAFETY: nobody reads the objects.
        unsafe { mutator.allocate(20) }.expect("room");
    }
    mutator.verify().expect("sound as yet");
    let Engine::Lists(lists) = &mutator.inner.engine else { panic!("another collector") };
    let mut lists = lists.lock().expect("nobody panics");
    let class = lists.classes.iter().position(|class| class.ecru.length >= 10).expect("a class with objects");
    corrupt(&mut lists, class);
    drop(lists);
    let violation = mutator.verify().expect_err(invariant);
    assert_eq!(violation.invariant, invariant, "{violation}");
}

#[test]
fn a_list_that_is_shorter_than_it_says() {
    sees("TM1", |lists, class| lists.classes[class].white.length += 1);
}

#[test]
fn a_block_of_another_colour_than_its_list() {
    sees("TM2", |lists, class| lists.access.set_colour(lists.classes[class].ecru.head, lists.live));
}

#[test]
fn a_block_on_a_page_of_another_class() {
    sees("TM3", |lists, class| {
        let page = lists.page_of(lists.classes[class].ecru.head);
        lists.pages.get_mut(page).class += 1;
    });
}

#[test]
fn an_object_on_a_free_page() {
    sees("TM4", |lists, class| {
        let page = lists.page_of(lists.classes[class].ecru.head);
        lists.pages.make_free(page);
    });
}

#[test]
fn more_pages_than_the_limit() {
    sees("TM5", |lists, _| lists.space.set_limit(0));
}

#[test]
fn a_grey_block_outside_a_collection() {
    sees("TM6", |lists, class| {
        let access = lists.access;
        let node = lists.classes[class].ecru.pop(access).expect("an object");
        access.set_colour(node, lists.live);
        lists.classes[class].grey.push(access, node);
    });
}
