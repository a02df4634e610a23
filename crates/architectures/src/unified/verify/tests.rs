//! Breaks each invariant of the unified heap in turn, and sees the verifier report that one.

use atoll_heap::{Asker, Collection};
use atoll_term::Build;

use super::*;
use crate::common::verify::expected::{boxed_to, cons_to, sees};
use crate::tests::unified::unified;
use crate::tests::{OPTIONS, Process, Roots as RootTable, world};

/// A process with a list, a tuple and a large binary right after a whole collection; `use_it` breaks its heap.
fn with_process(use_it: impl FnOnce(&'static Unified, &mut Process)) {
    let (unified, _guard) = unified();
    let _running = world::enter(unified);
    let mut process = Process::new(unified, &OPTIONS, Term::NIL);
    process.reserve(200);
    let list = process.list((0..5).map(Term::small));
    let tuple = process.tuple(&[list, Term::small(1)]);
    let binary = process.binary(&[7; 100]);
    process.roots.extend([list, tuple, binary]);
    process.push(list);
    process.collect(Collection { major: true, ..Collection::default() }).unwrap();
    buffer::clear(&mut process.mutator);
    check(unified, &mut process);
    use_it(unified, &mut process);
    check(unified, &mut process);
}

fn check(unified: &Unified, process: &mut Process) {
    let asker = Asker { mutator: &mut process.mutator, roots: &mut RootTable(&mut process.roots) };
    atoll_heap::world().stopped(asker, &mut |stopped| verify(unified, stopped));
}

/// Sees the invariant reported with a word changed; puts the word back.
fn sees_word(invariant: &str, unified: &Unified, process: &mut Process, place: *mut Word, word: Word) -> String {
    // SAFETY: the place is a word of the process's, or of the heap's.
    unsafe {
        let before = std::mem::replace(&mut *place, word);
        let report = sees(invariant, || check(unified, process));
        *place = before;
        report
    }
}

#[test]
fn pointers_of_processes_that_lead_to_nothing_live() {
    with_process(|unified, process| {
        // The second word of a cell.
        let inside = cons_to(process.roots[1].pointer().wrapping_add(1)).word();
        let top = process.mutator.stack;
        assert!(sees_word("U1", unified, process, top, inside).contains("on the stack; process"));
        let root: *mut Word = (&raw mut process.roots[1]).cast();
        assert!(sees_word("U1", unified, process, root, inside).contains("in a root; process"));
    });
}

#[test]
fn a_live_object_that_refers_to_a_dead_one() {
    with_process(|unified, process| {
        let (tuple, list) = (process.roots[2].pointer(), process.roots[1].pointer());
        let dead = cons_to(list.wrapping_add(1)).word();
        let report = sees_word("U2", unified, process, tuple.wrapping_add(1), dead);
        assert!(report.contains("in the Tuple of 3 words"), "{report}");
    });
}

#[test]
fn a_live_object_in_a_free_line() {
    with_process(|unified, process| {
        let index = unified.space.index(process.roots[1].pointer()).unwrap();
        let byte = unified.space.line(index / LINE_WORDS);
        byte.store(line::FREE, std::sync::atomic::Ordering::Relaxed);
        sees("U3", || check(unified, process));
        byte.store(line::MARKED, std::sync::atomic::Ordering::Relaxed);
        // A pointer into lines that nobody has taken.
        let free = unified.space.line_start(index / LINE_WORDS + 100);
        let free = unified.space.index_of(boxed_to(free)).unwrap();
        sees("U3", || unified.space.check_in_use(free));
    });
}

#[test]
fn a_handle_that_no_list_names() {
    with_process(|unified, process| {
        unified.off_heap.hide(|| sees("U4", || check(unified, process)));
    });
}

#[test]
fn a_buffer_that_was_not_taken_away() {
    with_process(|unified, process| {
        let top = process.mutator.top;
        process.mutator.top = top.wrapping_add(1);
        sees("U5", || check(unified, process));
        process.mutator.top = top;
    });
}
