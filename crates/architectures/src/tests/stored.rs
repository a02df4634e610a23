//! Stored terms: what is stored comes back, for every architecture, whatever is collected in between.

use std::ptr::NonNull;

use atoll_heap::{Architecture, Collection, Fragment};
use atoll_term::{Build, Term};

use super::{OPTIONS, Process, contents, world};

fn row(process: &mut Process, number: i64) -> Term {
    process.reserve(200);
    let list = process.list((0..20).map(|place| Term::small(number * 100 + place)));
    let binary = process.binary(&[number as u8; 100]);
    process.tuple(&[Term::small(number), list, binary, list])
}

/// Stores rows, discards some, collects now and then; what is left must read as it was written.
pub(crate) fn stored_terms_stay(architecture: &'static dyn Architecture) {
    let _thread = world::enter(architecture);
    let mut process = Process::new(architecture, &OPTIONS, Term::NIL);
    let mut stored: Vec<(u64, NonNull<Fragment>)> = Vec::new();
    for number in 0..if cfg!(miri) { 60 } else { 400 } {
        let term = row(&mut process, number);
        stored.push((contents(term), architecture.store(&mut process.mutator, term)));
        if number % 3 == 2 {
            let (_, discarded) = stored.swap_remove(number as usize * 7 % stored.len());
            // SAFETY: the test made it with `store`, and uses it no more once it is discarded.
            unsafe { architecture.discard_stored(discarded) };
        }
        if number % 20 == 0 {
            let major = number % 100 == 0;
            process.collect(Collection { heap_words: 100, major, ..Collection::default() }).unwrap();
        }
        for (hash, fragment) in stored.iter().rev().take(5) {
            // SAFETY: the fragment is the test's own.
            let term = unsafe { fragment.as_ref() }.term();
            assert_eq!(contents(term), *hash, "{} at {number}", architecture.name());
        }
    }
    process.collect(Collection { major: true, ..Collection::default() }).unwrap();
    process.collect(Collection::default()).unwrap();
    for (hash, fragment) in stored {
        process.reserve(200);
        // SAFETY: as above.
        let term = unsafe { fragment.as_ref() }.term();
        // SAFETY: the test made it with `store`, and uses it no more once it is discarded.
        let fetched = unsafe { architecture.fetch(&mut process.mutator, fragment, term) };
        assert_eq!(contents(fetched), hash);
        let part = term.tuple_elements().unwrap()[1];
        // SAFETY: the test made it with `store`, and uses it no more once it is discarded.
        let fetched_part = unsafe { architecture.fetch(&mut process.mutator, fragment, part) };
        assert_eq!(contents(fetched_part), contents(part));
        assert_eq!(fetched == term, !architecture.fetches_copies());
        process.roots.extend([fetched, fetched_part]);
        // SAFETY: the test made it with `store`, and uses it no more once it is discarded.
        unsafe { architecture.discard_stored(fragment) };
        if architecture.fetches_copies() {
            process.collect(Collection::default()).unwrap();
            let last = process.roots.len() - 2;
            assert_eq!(contents(process.roots[last]), hash);
        }
    }
}

/// A row may change where it lies until a process can hold it.
pub(crate) fn own_rows_may_change(architecture: &'static dyn Architecture) {
    let _thread = world::enter(architecture);
    let mut process = Process::new(architecture, &OPTIONS, Term::NIL);
    let copies = architecture.fetches_copies();
    let own = row(&mut process, 1);
    process.roots.push(own);
    let given = architecture.store_own(&mut process.mutator, own);
    let kept = architecture.store(&mut process.mutator, own);
    process.reserve(400);
    // SAFETY: the test made them, and discards them at its end.
    unsafe {
        let may_change = |stored: NonNull<Fragment>| architecture.may_change(stored.as_ref());
        let is_copied = given.as_ref().term() != own;
        assert!(may_change(given));
        assert_eq!(may_change(kept), is_copied, "the process has what was stored itself");
        let part = given.as_ref().term().tuple_elements().unwrap()[1];
        let fetched = architecture.fetch(&mut process.mutator, given, part);
        assert!(may_change(given), "a part that is an object of its own");
        process.roots.push(fetched);
        let fetched = architecture.fetch(&mut process.mutator, given, given.as_ref().term());
        assert_eq!(may_change(given), copies);
        process.roots.push(fetched);
        // What lies where it would be stored already is another's too.
        let again = architecture.store(&mut process.mutator, *process.roots.last().unwrap());
        assert_eq!(may_change(again), again.as_ref().term() != *process.roots.last().unwrap());
        for stored in [given, kept, again] {
            architecture.discard_stored(stored);
        }
    }
}

#[test]
fn stored_terms_stay_in_private() {
    stored_terms_stay(super::by_name("private"));
    own_rows_may_change(super::by_name("private"));
}

#[test]
fn stored_terms_stay_in_shared() {
    let (architecture, _guard) = super::shared::shared();
    stored_terms_stay(architecture);
    own_rows_may_change(architecture);
}
