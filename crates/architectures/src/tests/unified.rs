//! What is particular to the unified heap: one at a time, because its cycles concern all.

use std::sync::{Mutex, MutexGuard};

use atoll_heap::{Collection, ConcurrentRoots, HeapOptions, IdleWork, Message};
use atoll_term::{Allocate, Build, Term};

use super::random::{churn, counts};
use super::stored::{own_rows_may_change, replaced_rows_stay, stored_terms_stay};
use super::{OPTIONS, Process, contents, rounds, verified, world};
use crate::Unified;

static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// A heap of a test's own, and the right to use the world.
pub(crate) fn unified() -> (&'static Unified, MutexGuard<'static, ()>) {
    let guard = ONE_AT_A_TIME.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    (Box::leak(Box::new(Unified::new(&verified()).unwrap())), guard)
}

#[test]
fn random_graphs_on_one_thread() {
    let (architecture, _guard) = unified();
    for seed in 20..24 {
        churn(architecture, &OPTIONS, seed, 20_000);
    }
}

#[test]
fn random_graphs_on_several_threads() {
    let (architecture, _guard) = unified();
    std::thread::scope(|scope| {
        for seed in 0..4 {
            scope.spawn(move || churn(architecture, &OPTIONS, 50 + seed, 10_000));
        }
    });
}

#[test]
fn counts_are_given_back() {
    let (architecture, _guard) = unified();
    counts(architecture);
}

#[test]
fn stored_terms() {
    let (architecture, _guard) = unified();
    stored_terms_stay(architecture);
    own_rows_may_change(architecture);
    replaced_rows_stay(architecture);
}

#[test]
fn a_message_of_any_size_is_a_pointer() {
    let (architecture, _guard) = unified();
    let _running = world::enter(architecture);
    let mut sender = Process::new(architecture, &OPTIONS, Term::NIL);
    let mut receiver = Process::new(architecture, &OPTIONS, Term::NIL);
    sender.reserve(20_000);
    let list = sender.list((0..5_000).map(Term::small));
    assert_eq!(sender.send_to(&mut receiver, list), list);
    // What comes from outside of the heap is copied into it.
    let message = Message::compose(|heap| heap.list((0..5).map(Term::small)));
    let received = receiver.take(message);
    assert_eq!(contents(received), {
        sender.reserve(10);
        contents(sender.list((0..5).map(Term::small)))
    });
}

/// Cycles run to their end while a process allocates, and free what it drops.
#[test]
fn cycles_end_and_free_without_a_stop() {
    let (architecture, _guard) = unified();
    let _running = world::enter(architecture);
    let mut process = Process::new(architecture, &OPTIONS, Term::NIL);
    process.reserve(4_000);
    let kept = process.list((0..1_000).map(Term::small));
    let hash = contents(kept);
    process.roots.push(kept);
    for round in 0..rounds(20_000) as i64 {
        process.reserve(200);
        let list = process.list((0..100).map(|index| Term::small(round + index)));
        process.roots.truncate(3);
        process.roots.push(list);
    }
    assert_eq!(contents(process.roots[1]), hash);
    if !cfg!(miri) {
        let (cycles, sections) = architecture.progress();
        // 32 MB were allocated, most of which died in nurseries.
        assert!(cycles > 5, "{cycles} cycles");
        assert!(sections <= 8, "{sections} sections");
    }
}

/// A process need not come to the end of its time slice for cycles to end.
#[test]
fn who_collects_hears_of_phases() {
    let (architecture, _guard) = unified();
    let _running = world::enter(architecture);
    let mut process = Process::new(architecture, &OPTIONS, Term::NIL);
    let before = architecture.progress().0;
    let mut expected = 0;
    for round in 0..rounds(20_000) as i64 {
        process.reserve_within_slice(200);
        let list = process.list((0..100).map(|index| Term::small(round + index)));
        if round % 100 == 0 {
            // It lives for a hundred rounds, and is part of the next of its kind no longer.
            process.roots.truncate(1);
            process.roots.push(list);
            expected = contents(list);
        }
        assert!(round % 100 != 99 || contents(process.roots[1]) == expected);
    }
    if !cfg!(miri) {
        let cycles = architecture.progress().0 - before;
        assert!(cycles > 5, "{cycles} cycles");
    }
}

/// What has become old is freed as well, without a stop, and what was kept meanwhile stays.
#[test]
fn full_markings_free_what_is_old() {
    let (architecture, _guard) = unified();
    let _running = world::enter(architecture);
    let mut process = Process::new(architecture, &OPTIONS, Term::NIL);
    let build = |process: &mut Process, from: i64| {
        // In portions, between which the list becomes old.
        process.roots.push(Term::NIL);
        let place = process.roots.len() - 1;
        for index in 0..rounds(1_000) as i64 {
            process.reserve(200);
            let mut list = process.roots[place];
            for number in 0..100 {
                list = process.cons(Term::small(from + 100 * index + number), list);
            }
            process.roots[place] = list;
        }
        place
    };
    let kept = build(&mut process, 7);
    let hash = contents(process.roots[kept]);
    for round in 0..24 {
        build(&mut process, round);
        process.roots.pop();
    }
    assert_eq!(contents(process.roots[kept]), hash);
    assert_eq!(architecture.stops(), 0);
    if !cfg!(miri) {
        // 40 MB were built, of which 1.6 MB live. All that was built would take 80 sections.
        let (_, sections) = architecture.progress();
        assert!(sections <= 45, "{sections} sections");
    }
}

/// A full marking that is behind keeps those who allocate, and for no more than is due for what they have taken.
#[test]
#[cfg_attr(miri, ignore = "a heap that is large enough takes minutes")]
fn who_takes_nothing_does_not_mark_what_is_old() {
    let (architecture, _guard) = unified();
    let _running = world::enter(architecture);
    let mut process = Process::new(architecture, &OPTIONS, Term::NIL);
    process.roots.push(Term::NIL);
    let behind = (0..200_000).any(|index| {
        process.reserve(200);
        let mut list = *process.roots.last().unwrap();
        for number in 0..100 {
            list = process.cons(Term::small(100 * index + number), list);
        }
        *process.roots.last_mut().unwrap() = list;
        index > 2_000 && architecture.fall_behind()
    });
    assert!(behind);
    // What lives in the nursery takes room when it is copied.
    process.collect(Collection::default()).unwrap();
    assert!(architecture.fall_behind());
    let marked = architecture.marked_in_full();
    for _ in 0..100 {
        architecture.end_rest();
        process.collect(Collection::default()).unwrap();
        assert_eq!(architecture.marked_in_full(), marked);
    }
    // At first the roots may not have been found, and buffers of a nursery are used again.
    let marks = (0..10_000).any(|_| {
        architecture.end_rest();
        process.reserve(200);
        process.list((0..100).map(Term::small));
        architecture.marked_in_full() != marked
    });
    assert!(marks);
}

/// A process that allocates is spared what a scheduler without processes has done.
#[test]
fn help_counts_for_those_who_allocate() {
    let (architecture, _guard) = unified();
    let _running = world::enter(architecture);
    let mut process = Process::new(architecture, &OPTIONS, Term::NIL);
    process.reserve(40_000);
    let kept = process.list((0..10_000).map(Term::small));
    process.roots.push(kept);
    let mut allocate = || {
        architecture.end_rest();
        process.reserve(200);
        process.list((0..50).map(Term::small));
    };
    let help = || {
        super::enter_for(architecture);
        // SAFETY: this thread holds no term.
        while unsafe { architecture.work() } {}
        architecture.thread_sleeps();
    };
    let helped = (0..rounds(20_000)).find_map(|_| {
        allocate();
        if architecture.is_waiting() {
            std::thread::scope(|scope| scope.spawn(help).join()).unwrap();
        }
        Some(architecture.helped()).filter(|helped| *helped > 0)
    });
    let helped = helped.expect("a cycle gives helpers something to do");
    let left = (0..rounds(20_000)).find_map(|_| {
        allocate();
        Some(architecture.helped()).filter(|left| *left != helped)
    });
    assert!(left.is_some_and(|left| 0 < left && left < helped), "{left:?} of {helped}");
}

#[test]
fn memory_is_given_back() {
    let (architecture, _guard) = unified();
    let _running = world::enter(architecture);
    let mut process = Process::new(architecture, &OPTIONS, Term::NIL);
    for _ in 0..40 {
        process.reserve(100_000);
        let place = process.allocate(100_000);
        // SAFETY: the room is the test's; the words are opaque.
        unsafe { *place.as_ptr() = atoll_term::Header::new(atoll_term::Kind::HeapBits, 99_999).word() };
        // SAFETY: an object begins there.
        process.roots.push(unsafe { Term::boxed_at(place.as_ptr()) });
    }
    process.collect(Collection { major: true, ..Collection::default() }).unwrap();
    let full = architecture.progress().1;
    assert!(full >= 60, "{full} sections");
    process.roots.clear();
    process.collect(Collection { major: true, ..Collection::default() }).unwrap();
    let empty = architecture.progress().1;
    assert!(empty <= 4, "{empty} sections");
}

#[test]
fn a_process_that_reaches_its_limit_is_told() {
    let (architecture, _guard) = unified();
    let _running = world::enter(architecture);
    let options = HeapOptions { maximum_words: 10_000, ..OPTIONS };
    let mut process = Process::new(architecture, &options, Term::NIL);
    let mut other = Process::new(architecture, &OPTIONS, Term::NIL);
    let mut refused = None;
    for round in 0..2_000 {
        other.reserve(100);
        let request = Collection { heap_words: 60, ..Collection::default() };
        if process.mutator.free_words() < 60
            && let Err(full) = process.collect(request)
        {
            refused = Some((round, full.words));
            break;
        }
        let list = process.list((0..20).map(Term::small));
        process.roots.push(list);
    }
    let (round, words) = refused.expect("it reaches its limit");
    // Twice 40 words a round, found a quarter of the limit late.
    assert!(words > 10_000 && (100..=250).contains(&round), "{words} words in round {round}");
}
