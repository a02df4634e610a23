//! Breaks each invariant of a message area of the test's own in turn, and sees the verifier report that one.

use atoll_heap::Mutator;
use atoll_platform::Reservation;
use atoll_term::Build;

use super::super::verify::verify;
use super::*;
use crate::common::verify::expected::{cons_to, sees};
use crate::tests::{OPTIONS, Process, Roots as RootTable, by_name};

/// What the collector has to know of terms, with the roots of mutators alone.
struct Unrooted(Terms);

// SAFETY: as of `Terms`.
unsafe impl Runtime for Unrooted {
    unsafe fn describe(&self, object: NonNull<u64>, words: usize, portion: Range<usize>, visitor: &mut Visitor<'_>) {
        // SAFETY: as the caller's.
        unsafe { self.0.describe(object, words, portion, visitor) }
    }
}

/// An area that nobody else uses, and a process.
fn area() -> (Area, Process) {
    const BYTES: usize = 64 << 20;
    let range = Box::leak(Box::new(Reservation::new(BYTES).unwrap())).start();
    let bounds = Bounds { start: range.as_ptr() as usize, bytes: BYTES };
    let settings = Settings { verify: true, ..Settings::default() };
    let finder = Arc::new(Finder::new(bounds, false));
    // No literals: whatever is not in the area is private.
    let verified = Some(Immovable::NONE);
    let runtime = Terms { bounds, finder: Arc::clone(&finder), verified, _range: None };
    // SAFETY: the range is this area's alone.
    let heap = unsafe { RawHeap::new_in(&Config::best(4 << 20), Box::new(Unrooted(runtime)), range, BYTES) };
    let process = Process::new(by_name("private"), &OPTIONS, Term::NIL);
    let area = Area::of(heap.unwrap(), bounds, finder, (bounds.start, bounds.bytes), &settings);
    area.settle();
    (area, process)
}

/// A cons in the area.
fn cons(area: &Area, head: Term) -> *mut Word {
    let object = area.with(|mutator| area.allocate(mutator, 2, false)).unwrap().as_ptr();
    // SAFETY: the object has two words.
    unsafe {
        *object = head.word();
        *object.add(1) = Term::NIL.word();
    }
    object
}

#[test]
fn a_pointer_into_the_area_that_leads_to_no_object() {
    let (area, mut process) = area();
    let cell = cons(&area, Term::small(1));
    process.roots.push(cons_to(cell));
    let check = |process: &mut Process| {
        let mutator: *const Mutator = &raw const *process.mutator;
        // SAFETY: the test's own.
        verify(&area, unsafe { &*mutator }, &mut RootTable(&mut process.roots));
    };
    check(&mut process);
    process.roots[1] = cons_to(cell.wrapping_add(1));
    assert!(sees("A1", || check(&mut process)).contains("in a root; process"));
    process.roots[1] = Term::NIL;
    process.reserve(2);
    let inside = process.cons(cons_to(cell.wrapping_add(2)), Term::NIL);
    assert!(sees("A1", || check(&mut process)).contains("in the heap; process"));
    // SAFETY: the process's own object.
    unsafe { *inside.pointer() = Term::NIL.word() };
    check(&mut process);
    // A copy that is none.
    area.finder.copies.put(&process.mutator, vec![(inside, cons_to(cell)), (inside, inside)]);
    sees("A3", || check(&mut process));
    area.finder.copies.take(&process.mutator);
    check(&mut process);
}

/// Checks the area's memory now.
fn check_memory(area: &Area) {
    area.check_at.store(0, Ordering::Relaxed);
    area.check_memory();
    assert_ne!(area.check_at.load(Ordering::Relaxed), 0, "it was time to");
}

#[test]
fn an_object_of_the_area_that_points_to_a_private_one() {
    let (area, mut process) = area();
    let cell = cons(&area, Term::small(1));
    area.with(|mutator| {
        mutator.root(NonNull::new(cell).unwrap()).unwrap();
        mutator.collect();
    });
    check_memory(&area);
    process.reserve(2);
    let private = process.cons(Term::NIL, Term::NIL);
    // SAFETY: the test's own object.
    unsafe { *cell = private.word() };
    let report = sees("A2", || check_memory(&area));
    assert!(report.contains(&format!("at {cell:p}, in the heap; the message area")), "{report}");
    // SAFETY: as above.
    unsafe { *cell = cons_to(cell.wrapping_add(1)).word() };
    sees("PG7", || check_memory(&area));
    // SAFETY: as above.
    unsafe { *cell = Term::NIL.word() };
    check_memory(&area);
}

#[test]
fn the_books_of_the_memory() {
    let (area, _process) = area();
    cons(&area, Term::small(1));
    area.with(RawMutator::break_on_purpose);
    let report = sees("PG2", || check_memory(&area));
    assert!(report.ends_with("; the message area"), "{report}");
}

#[test]
fn checks_are_rare() {
    let (area, _process) = area();
    check_memory(&area);
    let next = area.check_at.load(Ordering::Relaxed);
    assert!(next > monotonic() - LEAST_BETWEEN_CHECKS);
    area.check_at.store(i64::MAX, Ordering::Relaxed);
    area.check_memory();
    assert_eq!(area.check_at.load(Ordering::Relaxed), i64::MAX);
}
