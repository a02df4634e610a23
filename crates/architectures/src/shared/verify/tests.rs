//! Breaks each invariant of the shared heap in turn, and sees the verifier report that one.

use std::ptr::null_mut;

use atoll_heap::{Asker, Collection};
use atoll_term::Build;

use super::*;
use crate::common::verify::expected::{cons_to, sees};
use crate::shared::state::State;
use crate::tests::shared::shared;
use crate::tests::{OPTIONS, Process, Roots as RootTable, shared_with, world};

/// A process with a list and a large binary after two collections, which nobody disturbs; `use_it` breaks its heap.
fn with_process(mark_sweep: bool, use_it: impl FnOnce(&'static Shared, &mut Process)) {
    let (_, _guard) = shared();
    let shared = shared_with(mark_sweep);
    let _running = world::enter(shared);
    let mut process = Process::new(shared, &OPTIONS, Term::NIL);
    process.reserve(100);
    let list = process.list((0..5).map(Term::small));
    let binary = process.binary(&[7; 100]);
    process.roots.extend([list, binary]);
    for _ in 0..2 {
        process.collect(Collection::default()).unwrap();
    }
    process.reserve(20);
    let young = process.cons(Term::small(1), Term::NIL);
    process.push(young);
    process.collect(Collection::default()).unwrap();
    check(shared, &mut process);
    use_it(shared, &mut process);
    check(shared, &mut process);
}

fn check(shared: &Shared, process: &mut Process) {
    let asker = Asker { mutator: &mut process.mutator, roots: &mut RootTable(&mut process.roots) };
    let (charge, majors) = (Charge::Nothing, shared.majors.load(Ordering::Relaxed));
    atoll_heap::world().stopped(asker, &mut |stopped| {
        let (is_check, is_major, stored) = (false, false, &shared.stored);
        let mut roots = Roots { shared, stopped, charge, is_check, is_major, stored, all: true, majors };
        verify(shared, &mut shared.lock(), &mut roots);
    });
}

/// Sees the invariant reported with a word changed; puts the word back.
fn sees_word(invariant: &str, shared: &Shared, process: &mut Process, place: *mut Word, word: Word) -> String {
    // SAFETY: the place is a word of the process's, or of the heap's.
    unsafe {
        let before = std::mem::replace(&mut *place, word);
        let report = sees(invariant, || check(shared, process));
        *place = before;
        report
    }
}

#[test]
fn pointers_that_lead_out_of_the_heap() {
    with_process(false, |shared, process| {
        let left = cons_to(shared.lock().other().start()).word();
        let top = process.mutator.stack;
        assert!(sees_word("S1", shared, process, top, left).contains("on the stack; process"));
        let root: *mut Word = (&raw mut process.roots[1]).cast();
        assert!(sees_word("S1", shared, process, root, left).contains("in a root; process"));
        // SAFETY: the process's own stack.
        let young = unsafe { Term::from_word(*top) }.pointer();
        assert!(sees_word("S1", shared, process, young, left).contains("in the cons at"));
    });
}

#[test]
fn an_old_object_that_points_to_a_young_one() {
    with_process(false, |shared, process| {
        // SAFETY: the process's own stack.
        let (young, old) = (unsafe { *process.mutator.stack }, process.roots[1].pointer());
        let report = sees_word("S2", shared, process, old, young);
        assert!(report.contains("the heap of all, collected for process"), "{report}");
    });
}

#[test]
fn a_buffer_that_was_not_taken_away() {
    with_process(false, |shared, process| {
        let top = process.mutator.top;
        process.mutator.top = top.wrapping_add(1);
        sees("S3", || check(shared, process));
        process.mutator.top = top;
    });
}

#[test]
fn a_handle_that_no_list_names() {
    with_process(false, |shared, process| {
        let list = std::mem::replace(&mut shared.lock().old_off_heap, null_mut());
        assert!(!list.is_null());
        sees("S4", || check(shared, process));
        shared.lock().young_off_heap = list;
        sees("S4", || check(shared, process));
        let mut collector = shared.lock();
        (collector.young_off_heap, collector.old_off_heap) = (null_mut(), list);
    });
}

#[test]
fn a_young_term_on_a_part_of_the_stack_that_is_not_scanned() {
    with_process(false, |shared, process| {
        State::of_mut(&mut process.mutator).clean = 1;
        sees("S5", || check(shared, process));
        State::of_mut(&mut process.mutator).clean = 0;
        // A marker that is none.
        State::of_mut(&mut process.mutator).covered = 1;
        sees("S5", || check(shared, process));
        State::of_mut(&mut process.mutator).covered = 0;
    });
}

#[test]
fn free_runs_that_overlap_or_hold_an_object() {
    with_process(true, |shared, process| {
        let list = process.roots[1].pointer();
        let give = |start: *mut Word, words: usize| {
            let mut collector = shared.lock();
            let runs = &mut collector.mark_sweep.as_mut().unwrap().runs;
            // SAFETY: a word is overwritten, which the test puts back.
            unsafe { runs.give(start, start.wrapping_add(words)) }
        };
        let forget = || shared.lock().mark_sweep.as_mut().unwrap().runs = Default::default();
        let top = shared.lock().old_top;
        give(top, 32);
        sees("S6", || check(shared, process));
        forget();
        // SAFETY: the words of the heap that `give` writes to, put back.
        unsafe {
            let start = shared.lock().old().start();
            let before = *start;
            shared.lock().old_top = start.wrapping_add(100);
            give(start, 40);
            give(start.wrapping_add(20), 40);
            sees("S6", || check(shared, process));
            forget();
            give(start, 40);
            assert!((list as usize) < start.wrapping_add(40) as usize);
            sees("S1", || check(shared, process));
            forget();
            *start = before;
            shared.lock().old_top = top;
        }
    });
}
