//! Tables against a model, with rows on private heaps.

mod operations;
mod specifications;

use std::collections::BTreeMap;
use std::sync::OnceLock;

use atoll_heap::{HeapOptions, LoneHeap, Mutator, Part, Settings};
use atoll_platform::threads;
use atoll_process::System;
use atoll_process::table::ProcessTable;
use atoll_term::{Build, Term, compare};

use crate::match_spec::{Dialect, Matcher, compile};
use crate::standing::Standing;
use crate::table::{Kind, Options, Protection, Table};
use crate::traversal::Cursor;

const HEAP: HeapOptions = HeapOptions { minimum_words: 233, full_sweep_after: 65_535, maximum_words: 0 };

/// A machine of heap, tables and processes, of which there are none.
struct Tests {
    heap: &'static Part,
    system: System,
    tables: crate::Part,
}

impl threads::Machine for Tests {
    fn enter_parts(&'static self) {
        self.heap.enter_parts();
        atoll_process::enter(&self.system);
        crate::enter(&self.tables);
    }
}

/// This thread works for the tests' machine.
fn enter_machine() {
    static MACHINE: OnceLock<Tests> = OnceLock::new();
    threads::enter(MACHINE.get_or_init(|| {
        let architecture = atoll_architectures::by_name("private", &Settings::default()).expect("an architecture");
        let heap: &'static Part = Box::leak(Box::new(Part::new(architecture)));
        let table = ProcessTable::new(16).expect("a small table");
        let tables = crate::Part::default();
        Tests { heap, system: System::new(heap.architecture(), table, 1), tables }
    }));
}

fn heap() -> LoneHeap {
    enter_machine();
    LoneHeap::new(&HEAP)
}

fn table(kind: Kind) -> Table {
    enter_machine();
    Table::new(1, Standing::new(Term::NIL, Term::pid(1), None), Options { kind, ..Options::default() })
}

/// Rows, so many times fewer under Miri.
const fn scaled(rows: i64) -> i64 {
    if cfg!(miri) { rows / 50 } else { rows }
}

/// A generator of numbers (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: i64) -> i64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as i64
    }
}

/// Key and value of a row.
fn pair(row: Term) -> (i64, i64) {
    let elements = row.tuple_elements().unwrap();
    (elements[0].small_value(), elements[1].small_value())
}

fn pairs(mut list: Term) -> Vec<(i64, i64)> {
    let mut pairs = Vec::new();
    while list.is_cons() {
        pairs.push(pair(list.head()));
        list = list.tail();
    }
    pairs
}

fn row(heap: &mut Mutator, key: i64, value: i64) -> Term {
    heap.tuple(&[Term::small(key), Term::small(value)])
}

/// All keys, by `first` and `next`.
fn walk(table: &Table, heap: &mut Mutator) -> Vec<i64> {
    let mut keys = Vec::new();
    let mut next = table.edge(heap, false);
    while let Some(key) = next {
        keys.push(key.small_value());
        next = table.neighbour(heap, key, false).unwrap();
    }
    keys
}

#[test]
fn tables_do_as_a_model_does() {
    const ROUNDS: i64 = if cfg!(miri) { 24 } else { 20_000 };
    for kind in [Kind::Set, Kind::OrderedSet, Kind::Bag, Kind::DuplicateBag] {
        let (table, heap) = (table(kind), &mut heap());
        let mut model: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
        let mut random = Random(42);
        for round in 0..ROUNDS {
            // Grows, then shrinks.
            let (key, value) = (random.below(scaled(3000)) * 1_000_003, random.below(3));
            if random.below(10) < if round < ROUNDS / 2 { 8 } else { 2 } {
                let row = row(heap, key, value);
                assert!(table.insert(heap, &[row], false).unwrap());
                let values = model.entry(key).or_default();
                match kind {
                    Kind::Set | Kind::OrderedSet => *values = vec![value],
                    Kind::Bag if values.contains(&value) => {}
                    _ => values.push(value),
                }
            } else if random.below(4) == 0 {
                let row = row(heap, key, value);
                table.delete_object(row);
                if let Some(values) = model.get_mut(&key) {
                    values.retain(|other| *other != value);
                }
                model.retain(|_, values| !values.is_empty());
            } else {
                let taken = table.take(heap, Term::small(key));
                let expected: Vec<(i64, i64)> =
                    model.remove(&key).unwrap_or_default().into_iter().map(|value| (key, value)).collect();
                assert_eq!(pairs(taken), expected, "{kind:?}");
            }
            let found = table.lookup(heap, Term::small(key));
            let expected: Vec<(i64, i64)> = model.get(&key).into_iter().flatten().map(|value| (key, *value)).collect();
            assert_eq!(pairs(found), expected, "{kind:?} at {round}");
        }
        assert_eq!(table.size().0, model.values().map(Vec::len).sum::<usize>());
        let mut keys = walk(&table, heap);
        if kind != Kind::OrderedSet {
            keys.sort_unstable();
        }
        assert!(keys.iter().eq(model.keys()), "{kind:?}");
        let mut garbage = table.clear();
        assert_eq!(garbage.rows(), model.values().map(Vec::len).sum::<usize>());
        // Rows are freed few at a time, and all of them.
        let portions = (0..).take_while(|_| garbage.free(3)).count();
        assert!(portions * 3 >= garbage.rows().saturating_sub(6) && !garbage.free(1));
        assert_eq!((table.size().0, walk(&table, heap).len()), (0, 0));
    }
}

#[test]
fn keys_that_were_met_stay_while_the_table_is_fixed() {
    let (table, heap) = (table(Kind::Set), &mut heap());
    for key in 0..scaled(1000) {
        let row = row(heap, key, 0);
        table.insert(heap, &[row], false).unwrap();
    }
    table.status.fix();
    let mut met = Vec::new();
    let mut next = table.edge(heap, false);
    while let Some(key) = next {
        met.push(key.small_value());
        table.delete_key(key);
        // The table grows meanwhile, so segments are rebuilt.
        for new in 0..3 {
            let row = row(heap, -1 - key.small_value() * 3 - new, 0);
            if key.small_value() >= 0 {
                table.insert(heap, &[row], false).unwrap();
            }
        }
        next = table.neighbour(heap, key, false).unwrap();
    }
    met.retain(|key| *key >= 0);
    met.sort_unstable();
    assert!(met.into_iter().eq(0..scaled(1000)));
    assert!(table.neighbour(heap, Term::small(scaled(500)), false).is_ok(), "a deleted key is still known");
    assert!(table.status.unfix(1));
    if let crate::table::Rows::Hashed(rows) = &table.rows {
        rows.unfixed(&table.status);
    }
    assert!(table.neighbour(heap, Term::small(scaled(500)), false).is_err());
}

#[test]
fn portions_make_up_the_whole() {
    for kind in [Kind::Set, Kind::OrderedSet, Kind::Bag] {
        let (table, heap) = (table(kind), &mut heap());
        for key in 0..scaled(500) {
            let row = row(heap, key, key % 7);
            table.insert(heap, &[row], false).unwrap();
        }
        let [x, y] = ["$1", "$2"].map(|name| atoll_term::atoms::atom(name).unwrap());
        let head = heap.tuple(&[x, y]);
        let guard = heap.tuple(&[atoll_term::atoms::OP_EXACT_EQ, y, Term::small(3)]);
        let (guards, body) = (heap.list([guard]), heap.list([x]));
        let clause = heap.tuple(&[head, guards, body]);
        let specification = heap.list([clause]);
        let compiled = compile(specification, Dialect::Table).unwrap();
        let mut matcher = Matcher::new(&compiled, Term::pid(1));
        let mut found = Vec::new();
        let mut after: Option<Cursor> = None;
        loop {
            let portion = table.select_portion(heap, specification, &mut matcher, false, after, 4);
            found.extend(portion.results);
            after = portion.next;
            if after.is_none() {
                break;
            }
        }
        found.sort_by(|one, other| compare(*one, *other));
        let expected: Vec<Term> = (0..scaled(500)).filter(|key| key % 7 == 3).map(Term::small).collect();
        assert_eq!(found, expected, "{kind:?}");
        assert_eq!(table.select_delete(heap, specification, &mut matcher).0, 0, "no result is `true`");
    }
}
