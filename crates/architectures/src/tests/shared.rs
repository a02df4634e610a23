//! What is particular to the shared heap: one at a time, because its collections concern all.

use std::sync::{Arc, Mutex, MutexGuard};

use atoll_heap::{Architecture, Collection, HeapOptions, Message};
use atoll_term::{Allocate, Build, Term};

use super::random::{churn, counts, pressure};
use super::{OPTIONS, Process, contents, real_words, shared_with, world};

static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

pub(crate) fn shared() -> (&'static dyn Architecture, MutexGuard<'static, ()>) {
    let guard = ONE_AT_A_TIME.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    (super::by_name("shared"), guard)
}

#[test]
fn random_graphs_on_one_thread() {
    let (architecture, _guard) = shared();
    for seed in 20..24 {
        churn(architecture, &OPTIONS, seed, 20_000);
    }
}

#[test]
fn random_graphs_on_several_threads() {
    let (architecture, _guard) = shared();
    std::thread::scope(|scope| {
        for seed in 0..4 {
            scope.spawn(move || churn(architecture, &OPTIONS, 50 + seed, 10_000));
        }
    });
}

#[test]
fn random_graphs_copied_in_parallel() {
    let (_, _guard) = shared();
    let architecture = shared_with(false);
    architecture.set_parallel(3, 0);
    std::thread::scope(|scope| {
        for seed in 0..2 {
            scope.spawn(move || churn(architecture, &OPTIONS, 70 + seed, 10_000));
        }
    });
    counts(architecture);
    // Many threads on one shared structure: every object is copied once.
    let _running = world::enter(architecture);
    let mut process = Process::new(architecture, &OPTIONS, Term::NIL);
    process.reserve(150_000);
    let mut level: Vec<Term> = (0..5_000).map(|index| process.cons(Term::small(index), Term::NIL)).collect();
    for _ in 0..8 {
        level = (0..level.len())
            .map(|index| process.tuple(&[level[index], level[(index * 7 + 1) % level.len()]]))
            .collect();
    }
    let root = process.tuple(&level);
    process.roots.push(root);
    for (index, term) in level.iter().enumerate() {
        process.push(*term);
        // SAFETY: a return address has no pointer's tag.
        process.push(unsafe { Term::from_word(0x7000_0000_0000 + 8 * index as u64) });
    }
    let words = real_words(root);
    for major in [false, false, true, false, true] {
        process.collect(Collection { major, ..Collection::default() }).unwrap();
        let root = process.roots[1];
        assert_eq!(real_words(root), words);
        for (index, term) in root.boxed_terms().iter().enumerate().rev() {
            let depth = 2 * (4_999 - index);
            // SAFETY: the stack holds 10,000 words.
            let (address, stacked) =
                unsafe { (*process.mutator.stack.add(depth), *process.mutator.stack.add(depth + 1)) };
            assert_eq!((address, stacked), (0x7000_0000_0000 + 8 * index as u64, term.word()));
        }
    }
}

#[test]
fn random_graphs_with_an_old_generation_that_is_not_moved() {
    for workers in [1, 3] {
        let (_, _guard) = shared();
        let architecture = shared_with(true);
        architecture.set_parallel(workers, 0);
        std::thread::scope(|scope| {
            for seed in 0..2 {
                scope.spawn(move || churn(architecture, &OPTIONS, 90 + seed, 10_000));
            }
        });
        counts(architecture);
        pressure(architecture);
    }
}

#[test]
fn what_is_old_and_lives_is_not_moved_and_its_neighbours_give_room() {
    let (_, _guard) = shared();
    let architecture = shared_with(true);
    let _running = world::enter(architecture);
    let mut process = Process::new(architecture, &OPTIONS, Term::NIL);
    let mut highest = 0;
    let mut kept = Vec::new();
    for round in 0..40 {
        process.reserve(60_000);
        for number in 0..1_000 {
            let list = process.list((0..1 + number % 30).map(|index| Term::small(index * round)));
            process.roots.push(list);
        }
        for major in [false, false, true] {
            process.collect(Collection { major, ..Collection::default() }).unwrap();
        }
        // All that lives is old now. Every fourth list is kept for a while.
        assert!(kept.iter().all(|(term, hash)| process.roots.contains(term) && contents(*term) == *hash));
        let mut index = 0;
        process.roots.retain(|_| {
            index += 1;
            index % 4 == 0 || index == 1
        });
        if process.roots.len() > 800 {
            process.roots.truncate(300);
        }
        kept = process.roots.iter().map(|term| (*term, contents(*term))).collect();
        let mut end = 0;
        architecture.each_generation(&mut |start, words| end = start as usize + 8 * words);
        if round == 10 {
            highest = end;
        }
        assert!(round < 10 || end <= highest + 8 * 60_000, "gaps are filled");
    }
    process.roots.clear();
    process.collect(Collection { major: true, ..Collection::default() }).unwrap();
    let mut words = 0;
    architecture.each_generation(&mut |_, used| words += used);
    assert_eq!(words, 0);
}

#[test]
fn counts_are_given_back() {
    let (architecture, _guard) = shared();
    counts(architecture);
}

#[test]
fn binaries_press() {
    let (architecture, _guard) = shared();
    pressure(architecture);
}

#[test]
fn a_kept_fragment_is_young_until_the_next_collection() {
    let (architecture, _guard) = shared();
    let _running = world::enter(architecture);
    let mut heap = atoll_term::ScratchHeap::new();
    let binary = heap.binary(&[9; 1_000]);
    let term = heap.tuple(&[binary, Term::small(1), binary]);
    let mut process = Process::new(architecture, &OPTIONS, Term::NIL);
    for major in [false, true] {
        let signal = architecture.send_copy(term);
        process.roots.push(signal.term());
        architecture.keep_fragment(&mut process.mutator, signal);
        process.collect(Collection { major, ..Collection::default() }).unwrap();
    }
    for root in &process.roots[1..] {
        assert_eq!((contents(*root), real_words(*root)), (contents(term), real_words(term)));
    }
    assert_eq!(binary.off_heap_binary().unwrap().owners(), 3);
}

#[test]
fn messages_are_pointers_and_roots() {
    let (architecture, _guard) = shared();
    let _running = world::enter(architecture);
    let mut sender = Process::new(architecture, &OPTIONS, Term::NIL);
    let mut receiver = Process::new(architecture, &OPTIONS, Term::NIL);
    sender.reserve(2_000);
    let term = sender.list((0..1_000).map(Term::small));
    let hash = contents(term);
    let received = sender.send_to(&mut receiver, term);
    assert_eq!(received, term, "the same object");
    receiver.roots.push(received);
    drop(sender);
    for major in [false, false, true, false, false] {
        receiver.collect(Collection { major, ..Collection::default() }).unwrap();
        assert_eq!(contents(receiver.roots[1]), hash);
        assert_eq!(real_words(receiver.roots[1]), 2_000);
    }
}

#[test]
fn a_message_from_outside_is_moved_in() {
    let (architecture, _guard) = shared();
    let _running = world::enter(architecture);
    let mut heap = atoll_term::ScratchHeap::new();
    let binary = heap.binary(&[9; 1_000]);
    let elements = vec![binary; 50];
    let term = heap.tuple(&elements);
    let mut receiver = Process::new(architecture, &OPTIONS, Term::NIL);
    let received = receiver.take(architecture.send_copy(term));
    assert_eq!((contents(received), real_words(received)), (contents(term), real_words(term)));
    receiver.roots.push(received);
    for major in [false, true] {
        receiver.collect(Collection { major, ..Collection::default() }).unwrap();
    }
    assert_eq!(contents(receiver.roots[1]), contents(term));
    assert_eq!(binary.off_heap_binary().unwrap().owners(), 2);
}

#[test]
fn idle_processes_keep_what_they_had() {
    let (architecture, _guard) = shared();
    let _running = world::enter(architecture);
    let mut worker = Process::new(architecture, &OPTIONS, Term::NIL);
    let mut idle: Vec<(Process, u64)> = (0..50)
        .map(|number| {
            let mut process = Process::new(architecture, &OPTIONS, Term::NIL);
            process.reserve(500);
            let term = process.list((0..100 + number).map(Term::small));
            process.push(term);
            // SAFETY: the test's terms are its processes' roots, and what it hands over it does not use any more.
            unsafe { architecture.schedule_out(&mut process.mutator) };
            (process, contents(term))
        })
        .collect();
    for round in 0..200 {
        worker.reserve(3_000);
        let term = worker.list((0..1_000).map(Term::small));
        worker.roots.push(term);
        worker.collect(Collection { major: round % 50 == 20, ..Collection::default() }).unwrap();
        if round % 20 == 0 {
            worker.roots.clear();
        }
    }
    for (process, hash) in &mut idle {
        // SAFETY: the test's terms are its processes' roots, and what it hands over it does not use any more.
        unsafe { architecture.schedule_in(&mut process.mutator) };
        assert_eq!(contents(process.pop()), *hash);
    }
}

#[test]
fn several_threads_send_and_collect() {
    let (architecture, _guard) = shared();
    type Sent = Vec<(Message, u64)>;
    let mailboxes: Arc<[Mutex<Sent>]> = (0..3).map(|_| Mutex::default()).collect();
    std::thread::scope(|scope| {
        for number in 0..3 {
            let mailboxes = mailboxes.clone();
            scope.spawn(move || {
                let _running = world::enter(architecture);
                let mut process = Process::new(architecture, &OPTIONS, Term::NIL);
                for round in 0..3_000_i64 {
                    process.reserve(80);
                    let kept = process.roots.last().copied().unwrap_or(Term::NIL);
                    let list = process.list((0..20).map(|index| Term::small(index * round)));
                    let term = process.tuple(&[kept, list]);
                    // Held in no mailbox while a collection can happen: there is no safepoint before it is taken.
                    let mut inbox = mailboxes[number].lock().unwrap();
                    for (message, hash) in inbox.drain(..) {
                        let received = process.take(message);
                        assert_eq!(contents(received), hash);
                        process.roots.push(received);
                    }
                    drop(inbox);
                    if process.roots.len() > 20 {
                        process.roots.drain(..15);
                    }
                    // A message is a copy of hash and pointer; a scratch copy stays valid through collections.
                    if round % 3 == 0 {
                        let hash = contents(list);
                        let message = architecture.send_copy(list);
                        mailboxes[(number + 1) % 3].lock().unwrap().push((message, hash));
                    }
                    process.roots.push(if round % 50 == 0 { Term::NIL } else { term });
                    if round % 10 == 0 {
                        process.roots.truncate(5);
                    }
                }
            });
        }
    });
}

#[test]
fn stacks_grow_and_give_memory_back() {
    let (architecture, _guard) = shared();
    let _running = world::enter(architecture);
    let mut process = Process::new(architecture, &HeapOptions { minimum_words: 377, ..OPTIONS }, Term::NIL);
    for number in 0..20_000 {
        process.reserve(2);
        let term = process.cons(Term::small(number), Term::NIL);
        process.push(term);
    }
    for number in (10..20_000).rev() {
        assert_eq!(process.pop().head(), Term::small(number));
    }
    process.collect(Collection { major: true, ..Collection::default() }).unwrap();
    let block = crate::common::blocks::words_between(process.mutator.block, process.mutator.stack_base);
    assert!(block < 100);
    for number in (0..10).rev() {
        assert_eq!(process.pop().head(), Term::small(number));
    }
}

#[test]
fn a_process_that_holds_more_than_its_limit_is_full() {
    for (workers, mark_sweep) in [(1, false), (3, false), (1, true), (3, true)] {
        let (_, _guard) = shared();
        let architecture = shared_with(mark_sweep);
        architecture.set_parallel(workers, 0);
        let _running = world::enter(architecture);
        let mut other = Process::new(architecture, &OPTIONS, Term::NIL);
        let limited = HeapOptions { maximum_words: 10_000, full_sweep_after: 4, ..OPTIONS };
        let mut process = Process::new(architecture, &limited, Term::NIL);
        other.reserve(40_000);
        let large = other.list((0..20_000).map(Term::small));
        other.roots.push(large);
        // What others have, and what is dead, does not count; what it holds may be half of its limit.
        for round in 0..100 {
            process.reserve(2_000);
            let list = process.list((0..1_000).map(Term::small));
            process.roots.truncate(2);
            process.roots.push(list);
            assert!(architecture.sizes(&process.mutator).minor_collections <= Some(4), "in round {round}");
        }
        process.collect(Collection { major: true, ..Collection::default() }).unwrap();
        let sizes = architecture.sizes(&process.mutator);
        assert_eq!(sizes.young_used + sizes.old_used, 4_000);
        // A list too many, which a major collection finds; or more than may be allocated unseen.
        let major = Collection { major: true, ..Collection::default() };
        for (count, request) in [(1_000, major), (3_500, Collection::default())] {
            let list = process.list((0..count).map(Term::small));
            process.roots.push(list);
            let refused = process.collect(request);
            assert_eq!(refused.unwrap_err().words, 2 * (4_000 + 2 * count as usize));
            process.roots.pop();
            process.collect(major).unwrap();
        }
        other.collect(Collection::default()).unwrap();
    }
}

#[test]
fn room_beyond_the_limit_and_in_fragments_asks_for_a_collection() {
    let (architecture, _guard) = shared();
    let _running = world::enter(architecture);
    let mut heap = atoll_term::ScratchHeap::new();
    let list = heap.list((0..10_000).map(Term::small));
    let mut process = Process::new(architecture, &OPTIONS, Term::NIL);
    process.collect(Collection::default()).unwrap();
    assert!(process.mutator.is_calm());
    let message = architecture.send_copy(list);
    architecture.keep_fragment(&mut process.mutator, message);
    assert!(!process.mutator.is_calm() && architecture.wants_collection(&process.mutator));
    process.collect(Collection::default()).unwrap();
    assert!(process.mutator.is_calm() && !architecture.wants_collection(&process.mutator));
    for _ in 0..100 {
        process.allocate(10_000);
    }
    assert!(!process.mutator.is_calm() && architecture.wants_collection(&process.mutator));
    process.collect(Collection::default()).unwrap();
    assert!(!architecture.wants_collection(&process.mutator));
}
