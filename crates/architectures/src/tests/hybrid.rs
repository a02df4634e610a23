//! The message area: what goes there, what is found again, what is reclaimed; private heaps in one world with it.

use std::sync::atomic::Ordering;
use std::sync::mpsc;

use atoll_heap::{Architecture, Collection, Fragment, Message, MessageBuilder, Mutator, build_window};
use atoll_term::{Build, Term};

use super::random::{churn, counts, pressure};
use super::{OPTIONS, Process, contents, world};
use crate::private::state::State;

fn builder() -> &'static dyn MessageBuilder {
    hybrid().message_builder().unwrap()
}

fn hybrid() -> &'static dyn Architecture {
    super::by_name("hybrid")
}

fn long_list(process: &mut Process, length: i64) -> Term {
    process.reserve(4 * length as usize);
    process.list((0..length).map(Term::small))
}

#[test]
fn a_large_term_is_copied_once_and_then_passed_by_pointer() {
    let _running = world::enter(hybrid());
    let mut sender = Process::new(hybrid(), &OPTIONS, Term::NIL);
    let mut receiver = Process::new(hybrid(), &OPTIONS, Term::NIL);
    world::safepoint(hybrid());
    let list = long_list(&mut sender, 500);
    let hash = contents(list);
    sender.roots.push(list);
    let first = sender.send_to(&mut receiver, list);
    receiver.roots.push(first);
    assert_ne!(first, list);
    assert_eq!(sender.send_to(&mut receiver, list), first, "known by its address");
    for depth in 0..2 {
        sender.reserve(10);
        let mut message = sender.tuple(&[Term::small(1), sender.roots[1]]);
        for _ in 0..depth {
            message = sender.list([message]);
        }
        let received = sender.send_to(&mut receiver, message);
        let tuple = if depth == 0 { received } else { received.head() };
        assert_eq!(tuple.tuple_elements().unwrap()[1], first, "known inside a small term");
    }
    sender.collect(Collection { heap_words: 10, ..Collection::default() }).unwrap();
    assert_eq!(sender.roots[1], first, "the sender has its copy after a collection");
    assert!(hybrid().sizes(&sender.mutator).young_used < 100, "and nothing else");
    assert_eq!(contents(sender.roots[1]), hash);
    // Back and forth it stays where it is.
    assert_eq!(receiver.send_to(&mut sender, first), first);
}

#[test]
fn a_stored_term_is_its_owners_alone_unless_its_copy_may_be_sent() {
    super::stored::own_rows_may_change(hybrid());
    let _running = world::enter(hybrid());
    let mut process = Process::new(hybrid(), &OPTIONS, Term::NIL);
    for (length, is_own) in [(0, false), (1, true), (31, true), (32, false), (500, false)] {
        let list = long_list(&mut process, length);
        let stored = super::stored::store(hybrid(), &mut process, list);
        // SAFETY: the test's own.
        unsafe {
            assert_eq!(hybrid().may_change(stored.as_ref()), is_own, "{length}");
            hybrid().discard_stored(stored);
        }
    }
}

/// A collector may be looking at it on another thread, by an atomic operation; a write of the whole mutator is none.
#[test]
fn the_cycle_in_which_a_process_was_scanned_stays_when_it_ends() {
    let _running = world::enter(hybrid());
    let mut mutator = Mutator::empty();
    let arguments = hybrid().send_copy(Term::NIL);
    // SAFETY: the test runs this process and keeps no term of it.
    unsafe { hybrid().create(&mut mutator, arguments, &OPTIONS) };
    State::of(&mutator).area_cycle.store(200, Ordering::Release);
    // SAFETY: nobody has a term of this process.
    unsafe { hybrid().destroy(&mut mutator) };
    assert_eq!(State::area_cycle_at(&raw const mutator), 200);
    assert!(mutator.block.is_null() && mutator.stack.is_null() && mutator.fragments.is_null());
}

#[test]
fn an_old_term_is_replaced_by_a_major_collection() {
    let _running = world::enter(hybrid());
    let mut sender = Process::new(hybrid(), &OPTIONS, Term::NIL);
    let mut receiver = Process::new(hybrid(), &OPTIONS, Term::NIL);
    world::safepoint(hybrid());
    let list = long_list(&mut sender, 300);
    sender.roots.push(list);
    for _ in 0..2 {
        sender.collect(Collection::default()).unwrap();
    }
    let copy = sender.send_to(&mut receiver, sender.roots[1]);
    receiver.roots.push(copy);
    sender.collect(Collection::default()).unwrap();
    assert_eq!(sender.send_to(&mut receiver, sender.roots[1]), copy);
    sender.collect(Collection { major: true, ..Collection::default() }).unwrap();
    assert_eq!(sender.roots[1], copy);
}

#[test]
fn what_nobody_has_is_reclaimed_while_the_rest_stays() {
    let _running = world::enter(hybrid());
    let mut sender = Process::new(hybrid(), &OPTIONS, Term::NIL);
    let mut receiver = Process::new(hybrid(), &OPTIONS, Term::NIL);
    let mut hashes = vec![contents(Term::NIL)];
    let mut stored: Vec<(u64, std::ptr::NonNull<Fragment>)> = Vec::new();
    for round in 0..3_000 {
        world::safepoint(hybrid());
        sender.reserve(600);
        let number = Term::small(round);
        let elements: Vec<Term> = (0..60).map(|index| sender.tuple(&[number, Term::small(index)])).collect();
        let binary = sender.binary(&[round as u8; 100]);
        let message = sender.list(elements.into_iter().chain([binary]));
        let hash = contents(message);
        let received = sender.send_to(&mut receiver, message);
        if round % 40 == 0 {
            receiver.roots.push(received);
            hashes.push(hash);
        }
        if round % 30 == 0 {
            stored.push((hash, super::stored::store(hybrid(), &mut sender, message)));
        }
        if stored.len() > 10 {
            // SAFETY: the test made it, and uses no term of it from here on.
            unsafe { hybrid().discard_stored(stored.remove(0).1) };
        }
        for (term, hash) in receiver.roots.iter().zip(&hashes) {
            assert_eq!(contents(*term), *hash, "round {round}");
        }
        for (hash, fragment) in &stored {
            // SAFETY: the test's own.
            assert_eq!(contents(unsafe { fragment.as_ref() }.term()), *hash, "round {round}");
        }
    }
    for (_, fragment) in stored {
        // SAFETY: the test made it, and uses no term of it from here on.
        unsafe { hybrid().discard_stored(fragment) };
    }
}

#[test]
fn replaced_rows_stay() {
    super::stored::replaced_rows_stay(hybrid());
}

#[test]
fn terms_travel_between_threads() {
    let (sender, receiver) = mpsc::channel::<(u64, Message)>();
    let (taken, next) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let _running = world::enter(hybrid());
            let mut process = Process::new(hybrid(), &OPTIONS, Term::NIL);
            world::safepoint(hybrid());
            for round in 0..2_000 {
                let term = long_list(&mut process, 40 + round % 50);
                let hash = contents(term);
                let message = hybrid().send(&mut process.mutator, term);
                sender.send((hash, message)).unwrap();
                // A message on its way is in no mailbox here, so no safepoint may come before it is taken.
                next.recv().unwrap();
            }
        });
        scope.spawn(move || {
            let _running = world::enter(hybrid());
            let mut process = Process::new(hybrid(), &OPTIONS, Term::NIL);
            world::safepoint(hybrid());
            let mut hashes = vec![contents(Term::NIL)];
            while let Ok((hash, message)) = receiver.recv() {
                let term = process.take(message);
                assert_eq!(contents(term), hash);
                process.roots.push(term);
                hashes.push(hash);
                if process.roots.len() > 200 {
                    process.roots.drain(1..100);
                    hashes.drain(1..100);
                }
                for (term, hash) in process.roots.iter().zip(&hashes) {
                    assert_eq!(contents(*term), *hash);
                }
                world::safepoint(hybrid());
                taken.send(()).unwrap();
            }
        });
    });
}

#[test]
fn parts_of_messages_are_built_in_the_area_when_they_can_be() {
    let _running = world::enter(hybrid());
    let mut process = Process::new(hybrid(), &OPTIONS, Term::NIL);
    world::safepoint(hybrid());
    let cell = builder().build_message(None, &[Term::small(1), Term::NIL]).unwrap();
    assert_eq!((cell.head(), cell.tail()), (Term::small(1), Term::NIL));
    process.reserve(10);
    let private = process.tuple(&[Term::small(2)]);
    assert!(builder().build_message(None, &[private, cell]).is_none(), "a part is private");
    let longer = builder().build_message(None, &[cell, cell]).unwrap();
    let mut receiver = Process::new(hybrid(), &OPTIONS, Term::NIL);
    assert_eq!(process.send_to(&mut receiver, longer), longer);
}

/// Lists of cells of different schedulers' windows, and of cells that no window had room for, survive many cycles.
#[test]
fn what_is_built_in_windows_lives_as_long_as_it_is_referred_to() {
    let cons = |head: Term, tail: Term| {
        let place =
            build_window(|window| if window.admits(head) && window.admits(tail) { window.take(2) } else { None });
        let Some(place) = place else { return builder().build_message(None, &[head, tail]).unwrap() };
        // SAFETY: the window has given room for two words.
        unsafe {
            *place = head.word();
            *place.add(1) = tail.word();
        }
        // SAFETY: the cell was filled.
        unsafe { Term::cons_at(place) }
    };
    std::thread::scope(|scope| {
        for thread in 1..=2 {
            scope.spawn(move || {
                let _running = world::enter(hybrid());
                let mut process = Process::new(hybrid(), &OPTIONS, Term::NIL);
                let mut expected = vec![contents(Term::NIL)];
                for round in 0..2_000i64 {
                    let mut list = Term::NIL;
                    for number in 0..round % 90 {
                        let inner = cons(Term::small(number), Term::NIL);
                        list = cons(if number % 3 == 0 { inner } else { Term::small(thread * number) }, list);
                    }
                    expected.push(contents(list));
                    process.roots.push(list);
                    if process.roots.len() > 50 {
                        process.roots.drain(..25);
                        expected.drain(..25);
                    }
                    world::safepoint(hybrid());
                    for (term, content) in process.roots.iter().zip(&expected) {
                        assert_eq!(contents(*term), *content);
                    }
                }
            });
        }
    });
}

#[test]
fn private_heaps_beside_the_area_keep_random_graphs() {
    for seed in 30..33 {
        churn(hybrid(), &OPTIONS, seed, 10_000);
    }
    counts(hybrid());
    pressure(hybrid());
}
