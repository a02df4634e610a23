//! Heaps whose limit is far above what they use: memory is committed on demand and given back, objects may be very
//! long.
#![cfg(not(loom))]

mod common;

use common::{allocate, heap, id_of, rooted, unroot};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;
use treadmill::Config;
use treadmill::raw::{RawHeap, RawMutator, Runtime, Visitor};

/// The tests take turns, for one of them looks at the memory of the whole process.
static TURN: Mutex<()> = Mutex::new(());

fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

const MEGABYTE: usize = 1 << 20;

/// Objects without references.
struct Bare;

// SAFETY: there are no references to report.
unsafe impl Runtime for Bare {
    unsafe fn describe(&self, _: std::ptr::NonNull<u64>, _: usize, _: std::ops::Range<usize>, _: &mut Visitor<'_>) {}
}

/// Memory of the process that is in use, in bytes.
fn resident() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").expect("Linux");
    let pages = statm.split(' ').nth(1).and_then(|field| field.parse::<usize>().ok()).expect("a number");
    pages * 4096
}

/// Writes the first and the last word of an object of so many words.
fn touch(mutator: &RawMutator, words: usize) -> std::ptr::NonNull<u64> {
    // SAFETY: without references nothing needs to be initialised.
    unsafe {
        let object = mutator.allocate(words).expect("room");
        object.as_ptr().write(words as u64);
        object.as_ptr().add(words - 1).write(!(words as u64));
        object
    }
}

#[test]
fn objects_of_100_megabytes_come_and_go_under_a_limit_of_64_gigabytes() {
    let _turn = turn();
    let heap = RawHeap::new(&Config::best(64 << 30), Box::new(Bare)).expect("addresses");
    let mutator = heap.mutator();
    let mut kept = Vec::new();
    for round in 0..120 {
        let words = (1 + round % 100) * MEGABYTE / 8 + round * 37;
        let object = touch(&mutator, words);
        if round % 40 == 0 {
            kept.push((mutator.root(object).expect("a slot"), words));
        }
    }
    let statistics = heap.statistics();
    assert!(statistics.collections > 5, "garbage does not pile up to the limit: {statistics:?}");
    let in_use = heap.usage().in_use;
    assert!(in_use < 4 << 30, "{} MB of 6,000 allocated", in_use as usize / MEGABYTE);
    for (slot, words) in kept {
        // SAFETY: the slot is in use, and its object so long.
        unsafe {
            let object = mutator.rooted(slot).expect("rooted");
            assert_eq!(object.as_ptr().read(), words as u64);
            assert_eq!(object.as_ptr().add(words - 1).read(), !(words as u64));
            mutator.unroot(slot);
        }
    }
    mutator.collect();
    mutator.collect();
    assert!(heap.usage().in_use < MEGABYTE as u64);
    mutator.verify().expect("a sound heap");
    assert!(heap.statistics().returned_pages > 0);
}

#[test]
fn memory_is_committed_on_demand_and_given_back() {
    let _turn = turn();
    let (heap, _) = heap(&Config::best(64 << 30));
    let mutator = heap.mutator();
    let before = resident();
    let slots: Vec<_> = (0..40_000)
        .map(|id| mutator.root(allocate(&mutator, id, 0, 500, false).expect("room")).expect("a slot"))
        .collect();
    let full = resident();
    assert!(full - before > 150 * MEGABYTE, "{} MB were written", (full - before) / MEGABYTE);
    assert!(slots.iter().enumerate().all(|(id, slot)| rooted(&mutator, *slot).is_some_and(|o| id_of(o) == id as u64)));
    slots.iter().for_each(|slot| unroot(&mutator, *slot));
    mutator.collect();
    mutator.collect();
    let after = resident();
    assert!(
        full - after > 90 * MEGABYTE,
        "{} of {} MB went back",
        (full - after) / MEGABYTE,
        (full - before) / MEGABYTE
    );
    mutator.verify().expect("a sound heap");
}

/// The raw interface with references into very long objects, from two threads.
#[test]
fn a_long_table_of_references_is_marked_in_portions() {
    let _turn = turn();
    let (heap, _) = heap(&Config::best(4 << 30));
    let mutator = heap.mutator();
    let entries = 2 * MEGABYTE / 8;
    let table = mutator.root(allocate(&mutator, 1, entries, entries + 2, false).expect("room")).expect("a slot");
    for index in 0..entries / 16 {
        let object = allocate(&mutator, index as u64, 0, 3, false).expect("room");
        common::link(&mutator, rooted(&mutator, table).expect("rooted"), index * 16, Some(object));
    }
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..2000 {
                if !heap.assist(Duration::from_micros(100)) {
                    std::thread::sleep(Duration::from_micros(20));
                }
            }
        });
        for id in 0..200_000 {
            allocate(&mutator, id, 0, 40, false).expect("room");
        }
    });
    mutator.collect();
    let table = rooted(&mutator, table).expect("rooted");
    for index in 0..entries / 16 {
        let object = common::reference(table, index * 16).expect("a reference");
        assert_eq!(id_of(object), index as u64);
    }
    mutator.verify().expect("a sound heap");
}
