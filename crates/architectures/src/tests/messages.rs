//! Messages: contents, sharing, depth, limits.

use std::time::Instant;

use atoll_heap::{Architecture, Collection, Fragment, HeapOptions};
use atoll_term::{Allocate, Build, ScratchHeap, Term};

use super::random::Random;
use super::{OPTIONS, Process, contents, real_words, rounds};

fn private() -> &'static dyn Architecture {
    super::by_name("private")
}

/// A term of nested tuples, lists and binaries; parts are used again with probability 1 / `sharing`.
fn random_term(
    heap: &mut ScratchHeap,
    random: &mut Random,
    depth: usize,
    sharing: usize,
    used: &mut Vec<Term>,
) -> Term {
    if sharing > 0 && !used.is_empty() && random.below(sharing) == 0 {
        return used[random.below(used.len())];
    }
    let term = match random.below(if depth == 0 { 3 } else { 8 }) {
        0 => return Term::small(random.below(1000) as i64),
        1 => heap.binary(&vec![3; random.below(120)]),
        2 => heap.float(random.below(10) as f64),
        3..6 => {
            let elements: Vec<Term> =
                (0..random.below(6)).map(|_| random_term(heap, random, depth - 1, sharing, used)).collect();
            heap.tuple(&elements)
        }
        _ => {
            let elements: Vec<Term> =
                (0..random.below(9)).map(|_| random_term(heap, random, depth - 1, sharing, used)).collect();
            heap.list(elements)
        }
    };
    used.push(term);
    term
}

#[test]
fn messages_keep_contents_and_sharing() {
    let mut random = Random(11);
    for round in 0..rounds(400) {
        let mut heap = ScratchHeap::new();
        let sharing = [0, 3, 10][round % 3];
        let original = random_term(&mut heap, &mut random, 5, sharing, &mut Vec::new());
        let (hash, words) = (contents(original), real_words(original));
        // Out of a scratch heap through the table, then from process to process through marks.
        let mut sender = Process::new(private(), &OPTIONS, original);
        let mut receiver = Process::new(private(), &OPTIONS, Term::NIL);
        assert_eq!((contents(sender.roots[0]), real_words(sender.roots[0])), (hash, words));
        let term = sender.roots[0];
        let received = sender.send_to(&mut receiver, term);
        assert_eq!((contents(received), real_words(received)), (hash, words), "round {round}");
        assert_eq!((contents(term), real_words(term)), (hash, words), "the original is as it was");
        receiver.roots.push(received);
        receiver.collect(Collection::default()).unwrap();
        let kept = receiver.roots[1];
        assert_eq!((contents(kept), real_words(kept)), (hash, words));
        let back = receiver.send_to(&mut sender, kept);
        assert_eq!((contents(back), real_words(back)), (hash, words));
    }
}

#[test]
fn a_term_that_is_large_by_sharing_is_sent_at_once() {
    let mut sender = Process::new(private(), &OPTIONS, Term::NIL);
    let mut receiver = Process::new(private(), &OPTIONS, Term::NIL);
    sender.reserve(100);
    let mut term = sender.list((0..10).map(Term::small));
    for _ in 0..30 {
        sender.roots[0] = term;
        sender.reserve(3);
        let part = sender.roots[0];
        term = sender.tuple(&[part, part]);
    }
    let started = Instant::now();
    let received = sender.send_to(&mut receiver, term);
    assert_eq!(real_words(received), 20 + 30 * 3);
    receiver.roots[0] = received;
    receiver.collect(Collection::default()).unwrap();
    assert_eq!(real_words(receiver.roots[0]), 20 + 30 * 3);
    // Without sharing this takes 2^30 copies.
    assert!(started.elapsed().as_millis() < if cfg!(miri) { 60_000 } else { 1000 });
}

#[test]
fn deep_terms_are_sent_and_collected() {
    let mut sender = Process::new(private(), &OPTIONS, Term::NIL);
    let mut receiver = Process::new(private(), &OPTIONS, Term::NIL);
    for nested in [false, true] {
        sender.roots[0] = Term::NIL;
        for index in 0..if cfg!(miri) { 100 } else { 1_000_000 } {
            sender.reserve(4);
            let before = sender.roots[0];
            sender.roots[0] = if nested {
                sender.tuple(&[before, Term::small(index)])
            } else {
                sender.cons(Term::small(index), before)
            };
        }
        let term = sender.roots[0];
        let received = sender.send_to(&mut receiver, term);
        assert_eq!(real_words(received), real_words(term));
        receiver.roots[0] = received;
        receiver.collect(Collection { major: true, ..Collection::default() }).unwrap();
        assert_eq!(real_words(receiver.roots[0]), real_words(term));
    }
}

#[test]
fn small_messages_are_moved_in_when_there_is_room() {
    let mut sender = Process::new(private(), &OPTIONS, Term::NIL);
    let mut receiver = Process::new(private(), &OPTIONS, Term::NIL);
    sender.reserve(200);
    let small = sender.tuple(&[Term::small(1), Term::NIL]);
    let large = sender.list((0..40).map(Term::small));
    receiver.reserve(100);
    sender.send_to(&mut receiver, small);
    assert_eq!(receiver.mutator.fragment_words, 0);
    sender.send_to(&mut receiver, large);
    assert_eq!(receiver.mutator.fragment_words, 80 + Fragment::HEAD_WORDS);
    let immediate = private().send(&mut sender.mutator, Term::small(3));
    assert_eq!((immediate.used(), immediate.term()), (0, Term::small(3)));
}

#[test]
fn a_full_heap_is_an_error_and_leaves_everything() {
    const MOST: usize = if cfg!(miri) { 700 } else { 3_000 };
    let options = HeapOptions { maximum_words: MOST, ..OPTIONS };
    let mut process = Process::new(private(), &options, Term::NIL);
    let mut length = 0;
    let error = loop {
        if process.mutator.free_words() < 2
            && let Err(error) = process.collect(Collection { heap_words: 2, ..Collection::default() })
        {
            break error;
        }
        let before = process.roots[0];
        process.roots[0] = process.cons(Term::small(1), before);
        length += 1;
    };
    assert!(error.words > MOST);
    assert!(length > MOST / 15 && real_words(process.roots[0]) == 2 * length);
    private().set_options(&mut process.mutator, &OPTIONS);
    process.collect(Collection { heap_words: 10_000, ..Collection::default() }).unwrap();
    assert!(process.mutator.free_words() >= 10_000);
    assert_eq!(real_words(process.roots[0]), 2 * length);
}

#[test]
fn an_idle_process_is_small_and_a_sleeping_one_exact() {
    let mut heap = ScratchHeap::new();
    let argument = heap.tuple(&[Term::small(1), Term::small(2)]);
    let mut process = Process::new(private(), &OPTIONS, argument);
    let sizes = private().sizes(&process.mutator);
    assert!(std::mem::size_of_val(&*process.mutator) + 8 * (sizes.young_block + sizes.stack) <= 400);
    process.reserve(5_000);
    process.collect(Collection { hibernate: true, ..Collection::default() }).unwrap();
    let sizes = private().sizes(&process.mutator);
    assert_eq!((sizes.young_block, sizes.young_used, process.mutator.free_words()), (3, 3, 0));
    process.reserve(2);
    assert!(private().sizes(&process.mutator).young_block >= 233);
}

#[test]
fn generations_and_sizes_follow_the_rules() {
    let mut process = Process::new(private(), &OPTIONS, Term::NIL);
    process.reserve(30);
    assert_eq!(private().sizes(&process.mutator).young_block, 233);
    let kept = process.list((0..50).map(Term::small));
    process.roots.push(kept);
    process.collect(Collection::default()).unwrap();
    assert_eq!(private().sizes(&process.mutator).old_used, 0, "new data stays young once");
    process.collect(Collection::default()).unwrap();
    let sizes = private().sizes(&process.mutator);
    assert_eq!((sizes.old_used, sizes.young_used), (100, 0), "what survived twice is old");
    process.collect(Collection { heap_words: 100_000, ..Collection::default() }).unwrap();
    assert!(process.mutator.free_words() >= 100_000);
    process.collect(Collection { heap_words: 10, ..Collection::default() }).unwrap();
    assert!(private().sizes(&process.mutator).young_block <= 377, "a large empty block shrinks");
    process.collect(Collection { major: true, ..Collection::default() }).unwrap();
    let sizes = private().sizes(&process.mutator);
    assert_eq!((sizes.old_block, sizes.minor_collections, sizes.young_used), (0, Some(0), 100));
}

#[test]
fn messages_in_one_run_two_runs_and_many_are_whole() {
    let mut heap = ScratchHeap::new();
    let sizes: &[i64] = if cfg!(miri) { &[0, 17] } else { &[0, 1, 2, 5, 15, 16, 17, 40, 1000] };
    for &size in sizes {
        let mut elements = Vec::new();
        for index in 0..size {
            elements.push(heap.tuple(&[Term::small(index), Term::NIL]));
        }
        let cells = heap.list(elements.clone());
        let numbers = heap.list((0..size).map(Term::small).collect::<Vec<_>>());
        let floats: Vec<Term> = (0..size).map(|index| heap.float(index as f64)).collect();
        let opaque = heap.tuple(&floats);
        let both = heap.tuple(&[cells, numbers, opaque]);
        for term in [cells, numbers, opaque, both] {
            let mut sender = Process::new(private(), &OPTIONS, term);
            let mut receiver = Process::new(private(), &OPTIONS, Term::NIL);
            let own = sender.roots[0];
            // First what a process was made with, then what the copy of that has become.
            let received = sender.send_to(&mut receiver, own);
            let again = receiver.send_to(&mut sender, received);
            for copy in [received, again] {
                assert_eq!((contents(copy), real_words(copy)), (contents(term), real_words(term)), "{size}");
            }
            receiver.roots.push(received);
            receiver.collect(Collection { major: true, ..Collection::default() }).unwrap();
            assert_eq!(contents(receiver.roots[1]), contents(term));
        }
    }
}

#[test]
fn messages_that_are_taken_leave_built_in_functions_the_room_that_they_have() {
    let mut receiver = Process::new(private(), &OPTIONS, Term::NIL);
    let mut heap = ScratchHeap::new();
    let list = heap.list((0..40).map(Term::small));
    let words = real_words(list);
    let messages = rounds(1000);
    for _ in 0..messages {
        receiver.take(private().send_copy(list));
        let free = receiver.mutator.free_words();
        receiver.allocate(free);
        receiver.allocate(3);
    }
    let least = messages * (words + 3);
    let taken = receiver.mutator.fragment_words;
    assert!(taken < 3 * least, "{taken} words for {least}");
}
