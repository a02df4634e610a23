//! What collections leave in the figures of their machine.

use std::sync::atomic::Ordering::Relaxed;
use std::thread::Builder;

use atoll_heap::counters::{
    area_slices, count_pauses_from_now, counters, helps, pauses, record_area_slice, record_idle_work, record_pointers,
    record_slice, work_begins,
};
use atoll_heap::lanes::{Kind, Level};
use atoll_heap::{Collection, Part, Settings};
use atoll_platform::threads;
use atoll_term::{Build, Term};

use super::{OPTIONS, Process};

/// Runs a test on a thread of a machine of its own, whose collections are timed.
fn on_a_machine(test: fn(&'static Part)) {
    let run = move || {
        let architecture = crate::by_name("private", &Settings { timed: true, ..super::verified() }).unwrap();
        let part: &'static Part = Box::leak(Box::new(Part::new(architecture)));
        threads::enter(part);
        test(part);
    };
    std::thread::spawn(run).join().unwrap();
}

#[test]
fn collections_are_counted_with_what_they_kept() {
    on_a_machine(|part| {
        let mut process = Process::new(part.architecture(), &OPTIONS, Term::NIL);
        process.reserve(100);
        let list = process.list((0..10).map(Term::small));
        process.roots.push(list);
        let read = || {
            let [minor, major] = [Kind::Minor, Kind::Major].map(|kind| counters().lanes.collections(kind));
            ([minor.count, minor.live_words, major.count, major.live_words], pauses().len())
        };
        let (start, records) = read();
        let mut after = |major| {
            process.collect(Collection { major, ..Collection::default() }).unwrap();
            let (now, recorded) = read();
            (std::array::from_fn(|index| now[index] - start[index]), recorded - records)
        };
        assert_eq!(after(false), ([1, 20, 0, 0], 1));
        assert_eq!(after(true), ([1, 20, 1, 20], 2));
        assert_eq!(counters().live_words.load(Relaxed), 20);
        let sizes = part.architecture().sizes(&process.mutator);
        assert_eq!(counters().lanes.level(Level::Used), 20);
        assert_eq!(counters().lanes.level(Level::Heap), (sizes.young_block + sizes.old_block) as u64);
        let longest = pauses().iter().map(|pause| pause.length).max();
        let counted = [Kind::Minor, Kind::Major].map(|kind| counters().lanes.collections(kind).longest);
        assert_eq!(longest, counted.into_iter().max());
    });
}

/// Of what a program with a large heap builds and keeps, nearly all is copied once, on its way to the old generation.
/// Cycles find that it lives, and leave it where it is.
#[test]
#[cfg_attr(miri, ignore = "a heap of more than 4 MB takes Miri too long")]
fn what_all_lives_becomes_old_at_once() {
    on_a_machine(|part| {
        let mut process = Process::new(part.architecture(), &OPTIONS, Term::NIL);
        let (mut kept, mut early) = (0, (Vec::new(), 0));
        let counted = || [Kind::Minor, Kind::Major].map(|kind| counters().lanes.collections(kind));
        for round in 0..12_000 {
            process.reserve(2 * 100);
            let list = process.list((0..100).map(|index| Term::small(round + index)));
            process.roots.push(list);
            kept += 2 * 100;
            if round == 3_000 {
                early = (process.roots[..1_000].to_vec(), counted()[1].count);
            }
        }
        let [minor, major] = counted();
        assert!(minor.live_words * 10 <= kept * 12, "{} words copied of {kept}", minor.live_words);
        let (old, cycles) = early;
        assert!(major.count > cycles, "{} cycles have ended since", major.count - cycles);
        let moved = old.iter().zip(process.roots.iter()).filter(|(before, now)| before != now).count();
        assert_eq!(moved, 0, "of {} old lists", old.len());
    });
}

#[test]
fn slices_and_pointers_are_added_up() {
    on_a_machine(|_| {
        record_slice(30, 50);
        record_slice(20, 40);
        let major = counters().lanes.collections(Kind::Major);
        assert_eq!([major.time, major.longest], [50, 50]);
        assert_eq!(pauses().iter().map(|pause| pause.length).collect::<Vec<_>>(), [30, 20]);
        std::thread::sleep(std::time::Duration::from_millis(1));
        count_pauses_from_now();
        assert!(pauses().is_empty());
        record_slice(10, 10);
        assert_eq!(pauses().iter().map(|pause| pause.length).collect::<Vec<_>>(), [10]);
        work_begins();
        std::thread::sleep(std::time::Duration::from_millis(2));
        record_slice(2_000_000, 2_000_000);
        record_idle_work(1_000_000);
        let used = [pauses()[1].used, helps()[0].used];
        assert!(cfg!(miri) || used.iter().all(|used| *used < 1_000_000), "the thread slept: {used:?}");
        record_pointers(2, 3);
        record_pointers(1, 1);
        let pointers = [&counters().pointers_to_old, &counters().pointers_to_young];
        assert_eq!(pointers.map(|counter| counter.load(Relaxed)), [3, 4]);
        record_area_slice(7);
        threads::start(Builder::new(), || record_area_slice(8)).unwrap().join().unwrap();
        record_area_slice(9);
        assert_eq!(area_slices(), [(0, 7), (1, 8), (0, 9)]);
    });
}
