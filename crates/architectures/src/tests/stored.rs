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

pub(crate) fn store(architecture: &dyn Architecture, process: &mut Process, term: Term) -> NonNull<Fragment> {
    let stored = architecture.store(&mut process.mutator, term);
    // SAFETY: it was made just now.
    unsafe { architecture.link_stored(stored) };
    stored
}

/// Puts another row in the place of one, if that can be done where it lies.
fn replace(
    architecture: &dyn Architecture,
    process: &mut Process,
    (hash, stored): &mut (u64, NonNull<Fragment>),
    term: Term,
) -> bool {
    let with = architecture.store(&mut process.mutator, term);
    // SAFETY: the test made both, and has not linked the second one.
    unsafe {
        let done = architecture.replace_stored(*stored, with);
        if !done {
            architecture.link_stored(with);
            architecture.discard_stored(*stored);
            *stored = with;
        }
        *hash = contents(term);
        done
    }
}

/// Stores rows, replaces and discards some, collects now and then; what is left must read as it was written.
pub(crate) fn stored_terms_stay(architecture: &'static dyn Architecture) {
    let _thread = world::enter(architecture);
    let mut process = Process::new(architecture, &OPTIONS, Term::NIL);
    let mut stored: Vec<(u64, NonNull<Fragment>)> = Vec::new();
    let (mut in_place, mut anew) = (0, 0);
    for number in 0..if cfg!(miri) { 60 } else { 400 } {
        let term = row(&mut process, number);
        stored.push((contents(term), store(architecture, &mut process, term)));
        if number % 2 == 0 {
            let place = number as usize * 5 % stored.len();
            let term = row(&mut process, number + 7);
            let done = replace(architecture, &mut process, &mut stored[place], term);
            *(if done { &mut in_place } else { &mut anew }) += 1;
        }
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
    assert_eq!(in_place > 0, !architecture.fetches_copies() && architecture.name() != "nogc", "{in_place} {anew}");
    assert!(anew > 0 || architecture.name() == "unified", "some are older than a collection");
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

/// Rows that are replaced at different intervals read as they were written, however cycles and replacements meet.
pub(crate) fn replaced_rows_stay(architecture: &'static dyn Architecture) {
    let _thread = world::enter(architecture);
    let mut process = Process::new(architecture, &OPTIONS, Term::NIL);
    let mut rows: Vec<(u64, NonNull<Fragment>)> = Vec::new();
    let (mut in_place, mut anew) = (0, 0);
    for round in 0..if cfg!(miri) { 30 } else { 10_000 } {
        world::safepoint(architecture);
        let term = row(&mut process, round);
        if rows.len() < 12 {
            rows.push((contents(term), store(architecture, &mut process, term)));
            continue;
        }
        // The second one at every second round, the third one at every fourth, and so on; the first one never.
        let place = 1 + round.trailing_zeros() as usize;
        if place < rows.len() {
            let done = replace(architecture, &mut process, &mut rows[place], term);
            *(if done { &mut in_place } else { &mut anew }) += 1;
        }
        for (hash, fragment) in &rows {
            // SAFETY: the fragment is the test's own.
            let term = unsafe { fragment.as_ref() }.term();
            assert_eq!(contents(term), *hash, "{} at {round}", architecture.name());
        }
    }
    assert!(cfg!(miri) || in_place > 10 && anew > 0, "{in_place} in place, {anew} anew");
    for (_, fragment) in rows {
        // SAFETY: the test uses it no more.
        unsafe { architecture.discard_stored(fragment) };
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
    // SAFETY: it was made just now.
    unsafe { architecture.link_stored(given) };
    let kept = store(architecture, &mut process, own);
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
        let again = process.roots.last().copied().unwrap();
        let again = store(architecture, &mut process, again);
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
