//! Breaks each invariant of a private heap in turn, and sees the verifier report that one.

use std::ptr::null_mut;

use atoll_heap::{Architecture, Collection};
use atoll_term::{Build, Kind, Term};

use super::*;
use crate::common::verify::expected::{boxed_to, cons_to, sees};
use crate::private::phases::Beside;
use crate::tests::{OPTIONS, Process, Roots as RootTable};

/// A process with a list, a tuple and a large binary, in its old generation after `collections`; and its architecture.
fn process(collections: usize) -> (&'static Private, Process) {
    let private = crate::tests::private();
    let mut process = Process::new(private, &OPTIONS, Term::NIL);
    let list = process.list((0..5).map(Term::small));
    let binary = process.binary(&[7; 100]);
    let tuple = process.tuple(&[list, binary]);
    process.roots.extend([list, tuple]);
    for _ in 0..collections {
        process.collect(Collection::default()).unwrap();
    }
    check(private, &mut process, 0);
    (private, process)
}

fn check(private: &Private, process: &mut Process, words: usize) {
    let beside = Beside { elsewhere: &mut Vec::new(), leaving: &mut |_| {}, followed: &mut |_| {} };
    let mut roots = Roots { live: &mut [], set: &mut RootTable(&mut process.roots), visited: 0, beside };
    verify(private, &mut process.mutator, Need { words, exact: false }, &mut roots);
}

/// Sees the invariant reported with a word changed; puts the word back.
fn sees_word(invariant: &str, private: &Private, process: &mut Process, place: *mut Word, word: Word) -> String {
    // SAFETY: the place is a word of the process's, or of the test's.
    unsafe {
        let before = std::mem::replace(&mut *place, word);
        let report = sees(invariant, || check(private, process, 0));
        *place = before;
        check(private, process, 0);
        report
    }
}

#[test]
fn pointers_that_lead_out_of_the_process() {
    let (private, mut process) = process(1);
    let foreign = Box::new([Term::NIL.word(); 2]);
    let foreign = cons_to(foreign.as_ptr()).word();
    let root: *mut Word = process.roots.as_mut_ptr().wrapping_add(1).cast();
    assert!(sees_word("P1", private, &mut process, root, foreign).contains("in a root; process"));
    process.push(Term::NIL);
    let top = process.mutator.stack;
    assert!(sees_word("P1", private, &mut process, top, foreign).contains("on the stack; process"));
    let element = process.roots[2].word_pointer(1);
    let report = sees_word("P1", private, &mut process, element, foreign);
    assert!(
        report.contains(&format!("is broken: {foreign:#018x} at {element:p}, in the Tuple of 3 words")),
        "{report}"
    );
}

#[test]
fn an_old_object_that_points_to_a_young_one() {
    let (private, mut process) = process(2);
    process.reserve(2);
    let young = process.cons(Term::NIL, Term::NIL);
    let old = process.roots[1].pointer();
    assert!(sees_word("P2", private, &mut process, old, young.word()).contains("in the cons at"));
}

#[test]
fn less_room_than_was_asked_for() {
    let (private, mut process) = process(1);
    let free = process.mutator.free_words();
    check(private, &mut process, free);
    sees("P3", || check(private, &mut process, free + 2));
}

/// The list of handles of the young generation, or of the old one.
fn handles(process: &mut Process, young: bool) -> &mut *mut Word {
    if young {
        return &mut process.mutator.off_heap;
    }
    &mut State::of_mut(&mut process.mutator).old_mut().expect("an old generation").off_heap
}

#[test]
fn a_handle_that_no_list_names() {
    for collections in [1, 2] {
        let ((private, mut process), (_, other)) = (process(collections), process(1));
        let young = !process.mutator.off_heap.is_null();
        assert!(!handles(&mut process, young).is_null());
        for strange in [null_mut(), other.mutator.off_heap] {
            let handle = std::mem::replace(handles(&mut process, young), strange);
            sees("P4", || check(private, &mut process, 0));
            *handles(&mut process, young) = handle;
        }
        check(private, &mut process, 0);
    }
}

#[test]
fn a_fragment_that_was_left() {
    let (private, mut process) = process(1);
    let room = process.mutator.free_words();
    private.allocate_slow(&mut process.mutator, room + 10);
    sees("P5", || check(private, &mut process, 0));
    process.mutator.fragment_words = 0;
    sees("P5", || check(private, &mut process, 0));
}

#[test]
fn a_boxed_pointer_to_a_cons() {
    let (private, mut process) = process(1);
    let root: *mut Word = process.roots.as_mut_ptr().wrapping_add(1).cast();
    let (list, tuple) = (process.roots[1].pointer(), process.roots[2].pointer());
    sees_word("H1", private, &mut process, root, boxed_to(list).word());
    sees_word("H1", private, &mut process, root, cons_to(tuple).word());
}

#[test]
fn objects_that_cannot_be_so_long() {
    let (private, mut process) = process(1);
    let tuple = process.roots[2].pointer();
    for header in [Header::new(Kind::Tuple, 1_000), Header::new(Kind::Float, 2)] {
        let report = sees_word("H2", private, &mut process, tuple, header.word());
        assert!(report.contains(&format!("in the {:?} of {}", header.kind(), header.object_words())), "{report}");
    }
    // A word that is left over looks like half of a cons.
    // SAFETY: there is a free word.
    unsafe { *process.mutator.top = Term::NIL.word() };
    process.mutator.top = process.mutator.top.wrapping_add(1);
    sees("H2", || check(private, &mut process, 0));
    process.mutator.top = process.mutator.top.wrapping_sub(1);
}

#[test]
fn a_header_inside_an_object() {
    let (private, mut process) = process(1);
    let element = process.roots[2].word_pointer(2);
    sees_word("H3", private, &mut process, element, Header::new(Kind::Tuple, 1).word());
}
