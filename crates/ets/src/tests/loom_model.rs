//! The segments of hashed tables, and what writers, readers, deletion and fixation do with them at once, model-checked.

use std::sync::OnceLock;

use atoll_heap::{HeapOptions, Incoming, LoneHeap, Part, Settings, Stored};
use atoll_platform::threads;
use atoll_term::{Build, Term};
use loom::sync::Arc;
use loom::thread;

use crate::hashed::{Duplicates, Hashed, Replaced};
use crate::status::Status;

const HEAP: HeapOptions = HeapOptions { minimum_words: 233, full_sweep_after: 65_535, maximum_words: 0 };
/// Two segments.
const SEGMENT_BITS: u32 = 1;

/// A machine that has heaps and nothing else.
struct Heaps(&'static Part);

impl threads::Machine for Heaps {
    fn enter_parts(&'static self) {
        self.0.enter_parts();
    }
}

/// This thread works for the models' machine.
fn enter_machine() {
    static MACHINE: OnceLock<Heaps> = OnceLock::new();
    threads::enter(MACHINE.get_or_init(|| {
        let architecture = atoll_architectures::by_name("private", &Settings::default()).expect("an architecture");
        Heaps(Box::leak(Box::new(Part::new(architecture))))
    }));
}

/// A set's rows, with what the table knows of itself.
struct Set {
    rows: Hashed,
    status: Status,
}

fn set() -> Arc<Set> {
    let rows = Hashed::new(SEGMENT_BITS, 1, Duplicates::Replace);
    Arc::new(Set { rows, status: Status::default() })
}

fn row(key: i64, value: i64) -> Incoming {
    enter_machine();
    let mut heap = LoneHeap::new(&HEAP);
    let row = heap.tuple(&[Term::small(key), Term::small(value)]);
    Incoming::new(&mut heap, row)
}

impl Set {
    /// Inserts rows with this value; false if the table is deleted, or `only_new` and one of the keys is there.
    fn insert(&self, keys: &[i64], value: i64, only_new: bool) -> bool {
        let rows = keys.iter().map(|key| row(*key, value));
        self.rows.insert(&self.status, rows, only_new, &mut Replaced::new()).is_ok_and(|inserted| inserted)
    }

    /// The value of a key.
    fn get(&self, key: i64) -> Option<i64> {
        let value = |row: &Stored| row.term().tuple_elements().expect("a row")[1].small_value();
        self.rows.with_key(Term::small(key), |rows| rows.first().map(value))
    }

    /// The keys in the table's order, found one by one.
    fn walk(&self) -> Vec<i64> {
        let key = |row: &Stored| row.term().tuple_elements().expect("a row")[0].small_value();
        let mut keys: Vec<i64> = self.rows.first(key).into_iter().collect();
        while let Some(last) = keys.last() {
            match self.rows.next(Term::small(*last), key) {
                Ok(Some(next)) => keys.push(next),
                Ok(None) => break,
                Err(()) => panic!("the walk has lost its place"),
            }
        }
        keys
    }
}

/// Two keys of different segments, in the order of their segments.
fn keys(set: &Set) -> [i64; 2] {
    let segment = |key: &i64| {
        let bits = SEGMENT_BITS;
        let mut found = None;
        for slot in 0..1 << bits {
            set.rows.slot(slot, bits, |rows| {
                if rows.iter().any(|row| row.term().tuple_elements().expect("a row")[0] == Term::small(*key)) {
                    found = Some(slot);
                }
            });
        }
        found
    };
    for key in 1..20 {
        assert!(set.insert(&[key], 0, false));
    }
    let of = |wanted| (1..20).find(|key| segment(key) == Some(wanted)).expect("a key in each segment");
    let keys = [of(0), of(1)];
    drop(set.rows.clear(&set.status));
    keys
}

/// [`keys`], looked for outside of the models, which are to stay small.
fn two_keys() -> [i64; 2] {
    let found = std::sync::Arc::new(std::sync::Mutex::new([0; 2]));
    let to = std::sync::Arc::clone(&found);
    loom::model(move || *to.lock().expect("one thread") = keys(&set()));
    let keys = *found.lock().expect("one thread");
    keys
}

fn model(check: impl Fn([i64; 2]) + Sync + Send + 'static) {
    let keys = two_keys();
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(move || check(keys));
}

#[test]
fn rows_of_several_segments_are_inserted_at_once() {
    model(|[low, high]| {
        let set = set();
        assert!(set.insert(&[low, high], 1, false));
        let other = Arc::clone(&set);
        let writer = thread::spawn(move || assert!(other.insert(&[high, low], 2, false)));
        let seen = [set.get(high), set.get(low)];
        assert!(seen != [Some(2), Some(1)], "a reader saw one row of two");
        let seen = [set.get(low), set.get(high)];
        assert!(seen != [Some(2), Some(1)], "a reader saw one row of two");
        writer.join().unwrap();
        assert_eq!([set.get(low), set.get(high)], [Some(2); 2]);
        assert_eq!(set.rows.size().0, 2);
    });
}

/// Two threads insert the same new keys in different orders: one succeeds, and neither waits for the other for ever.
#[test]
fn new_rows_are_inserted_by_one_thread() {
    model(|[low, high]| {
        let set = set();
        let other = Arc::clone(&set);
        let writer = thread::spawn(move || other.insert(&[low, high], 1, true));
        let own = set.insert(&[high, low], 2, true);
        let others = writer.join().unwrap();
        assert!(own != others);
        let winner = Some(if own { 2 } else { 1 });
        assert_eq!([set.get(low), set.get(high)], [winner; 2]);
    });
}

#[test]
fn rows_are_counted_at_one_moment() {
    model(|[low, high]| {
        let set = set();
        assert!(set.insert(&[high], 1, false));
        let other = Arc::clone(&set);
        let reader = thread::spawn(move || {
            // The first segment before, and the second one after, would have none.
            let rows = other.rows.count();
            assert!((1..=2).contains(&rows), "{rows}");
        });
        assert!(set.insert(&[low], 1, false));
        drop(set.rows.remove(&set.status, Term::small(high), |_| ()));
        assert_eq!(set.rows.count(), 1, "what this thread did is done");
        reader.join().unwrap();
    });
}

#[test]
fn a_table_that_is_cleared_has_all_its_rows_or_none() {
    model(|[low, high]| {
        let set = set();
        assert!(set.insert(&[low, high], 1, false));
        let other = Arc::clone(&set);
        let reader = thread::spawn(move || {
            for rows in [other.rows.count(), other.rows.size().0] {
                assert!(rows == 0 || rows == 2, "a reader counted one row of two");
            }
        });
        drop(set.rows.clear(&set.status));
        reader.join().unwrap();
    });
}

#[test]
fn nothing_stays_in_a_deleted_table() {
    model(|[low, high]| {
        let set = set();
        assert!(set.insert(&[low], 1, false));
        let other = Arc::clone(&set);
        let writer = thread::spawn(move || other.insert(&[low, high], 2, false));
        set.status.delete();
        let mut garbage = set.rows.clear(&set.status);
        let inserted = writer.join().unwrap();
        assert_eq!(garbage.rows(), if inserted { 2 } else { 1 });
        while garbage.free(1) {}
        assert_eq!(set.rows.size().0, 0);
        assert!(!set.insert(&[high], 3, false), "a deleted table takes nothing");
    });
}

/// A key is deleted while a table is fixed, used and let go: the walk keeps its place, and no dead key is left behind.
#[test]
fn a_fixed_table_keeps_its_keys_until_it_is_let_go() {
    model(|[low, high]| {
        let set = set();
        assert!(set.insert(&[low, high], 1, false));
        let other = Arc::clone(&set);
        let deleter = thread::spawn(move || drop(other.rows.remove(&other.status, Term::small(low), |_| ())));
        set.status.fix();
        let walked = set.walk();
        assert!(walked == [low, high] || walked == [high], "{walked:?}");
        if set.status.unfix(1) {
            set.rows.unfixed(&set.status);
        }
        deleter.join().unwrap();
        assert_eq!(set.walk(), [high]);
        let spread = set.rows.spread();
        assert_eq!((spread.rows, spread.dead), (1, 0));
    });
}

/// Two processes fix a table; the one that lets it go last takes out the dead keys.
#[test]
fn the_last_fixation_takes_the_dead_keys_out() {
    model(|[low, high]| {
        let set = set();
        assert!(set.insert(&[low, high], 1, false));
        let fixed = |set: &Set, key: i64| {
            set.status.fix();
            drop(set.rows.remove(&set.status, Term::small(key), |_| ()));
            let known = set.rows.next(Term::small(key), |_| ()).is_ok();
            if set.status.unfix(1) {
                set.rows.unfixed(&set.status);
            }
            assert!(known, "a key went while the table was fixed");
        };
        let other = Arc::clone(&set);
        let thread = thread::spawn(move || fixed(&other, low));
        fixed(&set, high);
        thread.join().unwrap();
        let spread = set.rows.spread();
        assert_eq!((spread.rows, spread.dead), (0, 0));
    });
}
