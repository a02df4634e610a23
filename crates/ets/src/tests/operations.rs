//! What operations do beside finding rows: counts, replacements, updates, and how much they look at.

use atoll_term::atoms::atom;

use super::*;
use crate::fault::Fault;

/// `[{Head, Guards, [Body]}]`
fn clause(heap: &mut Mutator, head: Term, guards: &[Term], body: Term) -> Term {
    let (guards, body) = (heap.list(guards.to_vec()), heap.list([body]));
    let clause = heap.tuple(&[head, guards, body]);
    heap.list([clause])
}

fn filled(kind: Kind, heap: &mut Mutator, keys: i64) -> Table {
    let table = table(kind);
    for key in 0..keys {
        let row = row(heap, key, key % 3);
        assert!(table.insert(heap, &[row], true).unwrap());
    }
    table
}

#[test]
fn rows_are_counted_and_replaced_where_a_specification_says_so() {
    for kind in [Kind::Set, Kind::OrderedSet] {
        let heap = &mut heap();
        let table = filled(kind, heap, 30);
        let [x, y] = ["$1", "$2"].map(|name| atom(name).unwrap());
        let head = heap.tuple(&[x, y]);
        let guard = heap.tuple(&[atoll_term::atoms::OP_EXACT_EQ, y, Term::small(1)]);
        let count = clause(heap, head, &[guard], atoll_term::atoms::TRUE);
        let compiled = compile(count, Dialect::Table).unwrap();
        assert_eq!(table.select_count(heap, count, &mut Matcher::new(&compiled, Term::pid(1))), (10, 30));

        // The key stays, as the specification shows; where it does not show that, nothing is replaced.
        for (key, result) in [(x, Ok((10, 30))), (y, Err(Fault::Argument))] {
            let new = heap.tuple(&[key, Term::small(7)]);
            let new = heap.tuple(&[new]);
            let replace = clause(heap, head, &[guard], new);
            let compiled = compile(replace, Dialect::Table).unwrap();
            assert_eq!(table.select_replace(heap, replace, &mut Matcher::new(&compiled, Term::pid(1))), result);
        }
        let sevens = (0..30).filter(|key| pairs(table.lookup(heap, Term::small(*key))) == [(*key, 7)]);
        assert!(sevens.eq((0..30).filter(|key| key % 3 == 1)));
    }
}

#[test]
fn a_part_of_a_key_bounds_what_is_looked_at_in_an_ordered_table() {
    let heap = &mut heap();
    let table = table(Kind::OrderedSet);
    for (first, second) in (0..10).flat_map(|first| (0..5).map(move |second| (first, second))) {
        let key = heap.tuple(&[Term::small(first), Term::small(second)]);
        let row = heap.tuple(&[key]);
        table.insert(heap, &[row], false).unwrap();
    }
    let key = heap.tuple(&[Term::small(4), atom("_").unwrap()]);
    let head = heap.tuple(&[key]);
    let count = clause(heap, head, &[], atoll_term::atoms::TRUE);
    let compiled = compile(count, Dialect::Table).unwrap();
    assert_eq!(table.select_count(heap, count, &mut Matcher::new(&compiled, Term::pid(1))), (5, 5));
}

#[test]
fn the_key_is_where_the_table_says_and_is_not_updated() {
    let heap = &mut heap();
    let standing = Standing::new(Term::NIL, Term::pid(1), None);
    let table = Table::new(1, standing, Options { position: 2, ..Options::default() });
    assert_eq!(table.position(), 2);
    let row = row(heap, 10, 1);
    table.insert(heap, &[row], false).unwrap();
    let operation = |heap: &mut Mutator, position: i64| heap.tuple(&[Term::small(position), Term::small(5)]);
    let [first, second, third] = [1, 2, 3].map(|position| operation(heap, position));
    let mut counted = |operations: &[Term]| table.update_counter(heap, Term::small(1), operations, None);
    assert_eq!(counted(&[first, first]), Ok(crate::update::Counted::from_slice(&[Term::small(15), Term::small(20)])));
    assert_eq!((counted(&[second]), counted(&[third])), (Err(Fault::KeyPosition), Err(Fault::Position)));
    assert_eq!(table.update_element(heap, Term::small(1), Some(&[first]), None), Ok(true));
    assert_eq!(table.update_element(heap, Term::small(1), Some(&[second]), None), Err(Fault::KeyPosition));
    assert_eq!(table.update_element(heap, Term::small(2), Some(&[first]), None), Ok(false));
    assert_eq!(pairs(table.lookup(heap, Term::small(1))), [(5, 1)]);
}

#[test]
fn new_rows_are_inserted_all_or_none() {
    for kind in [Kind::Set, Kind::OrderedSet] {
        // Private tables have one segment.
        for protection in [Protection::Private, Protection::Public] {
            let heap = &mut heap();
            let standing = Standing::new(Term::NIL, Term::pid(1), None);
            let table = Table::new(1, standing, Options { kind, protection, ..Options::default() });
            let rows = [5, 2, 6].map(|key| row(heap, key, 9));
            assert!(table.insert(heap, &rows[1..2], false).unwrap());
            assert!(!table.insert(heap, &rows, true).unwrap());
            assert_eq!(table.size().0, 1);
            assert!(table.insert(heap, &[rows[0], rows[2]], true).unwrap());
            let again = [5, 6, 7].map(|key| row(heap, key, 8));
            assert!(table.insert(heap, &again, false).unwrap());
            let found: Vec<_> = (1..9).filter_map(|key| pairs(table.lookup(heap, Term::small(key))).pop()).collect();
            assert_eq!(found, [(2, 9), (5, 8), (6, 8), (7, 8)]);
            let there: Vec<i64> = (1..9).filter(|key| table.contains(Term::small(*key))).collect();
            assert_eq!(there, [2, 5, 6, 7]);
        }
    }
}

#[test]
fn a_deleted_table_takes_nothing() {
    for kind in [Kind::Set, Kind::OrderedSet] {
        let heap = &mut heap();
        let table = filled(kind, heap, 3);
        table.status.delete();
        let rows = [row(heap, 1, 1), row(heap, 5, 5)];
        assert_eq!(table.insert(heap, &rows[..1], false), Err(Fault::Id));
        assert_eq!(table.insert(heap, &rows, false), Err(Fault::Id));
        let operation = heap.tuple(&[Term::small(2), Term::small(5)]);
        assert_eq!(table.update_element(heap, Term::small(1), Some(&[operation]), None), Err(Fault::Id));
        assert_eq!(table.fix(Term::pid(1)), Err(Fault::Id));
    }
}

#[test]
fn a_process_may_fix_a_table_several_times() {
    let table = table(Kind::Set);
    let holders = || table.fixed().map(|(_, holders)| holders);
    let (one, other) = (Term::pid(1), Term::pid(2));
    assert_eq!(holders(), None);
    (0..3).for_each(|_| table.fix(one).unwrap());
    table.fix(other).unwrap();
    table.release(one, false);
    assert_eq!(holders(), Some(vec![(one, 2), (other, 1)]));
    table.release(one, true);
    assert_eq!(holders(), Some(vec![(other, 1)]));
    assert!(table.status.is_fixed());
    table.release(other, false);
    assert_eq!(holders(), None);
    assert!(!table.status.is_fixed());
}

#[test]
fn what_is_deleted_by_a_specification_leaves_no_trace_unless_the_table_is_fixed() {
    for (fixed, dead) in [(false, 0), (true, 10)] {
        let heap = &mut heap();
        let table = filled(Kind::Set, heap, 30);
        if fixed {
            table.status.fix();
        }
        let [x, y] = ["$1", "$2"].map(|name| atom(name).unwrap());
        let head = heap.tuple(&[x, y]);
        let guard = heap.tuple(&[atoll_term::atoms::OP_EXACT_EQ, y, Term::small(1)]);
        let clause = clause(heap, head, &[guard], atoll_term::atoms::TRUE);
        let compiled = compile(clause, Dialect::Table).unwrap();
        let deleted = table.select_delete(heap, clause, &mut Matcher::new(&compiled, Term::pid(1)));
        assert_eq!(deleted, (10, 30));
        assert_eq!((table.size().0, table.spread().unwrap().dead), (20, dead));
    }
}

#[test]
fn portions_are_as_long_as_they_are_wanted() {
    let heap = &mut heap();
    let table = filled(Kind::Set, heap, scaled(1_000));
    let any = atom("_").unwrap();
    let clause = clause(heap, any, &[], atoll_term::atoms::TRUE);
    let compiled = compile(clause, Dialect::Table).unwrap();
    let matcher = &mut Matcher::new(&compiled, Term::pid(1));
    let (mut after, mut lengths) = (None, Vec::new());
    loop {
        let portion = table.select_portion(heap, clause, matcher, false, after, 10);
        lengths.push(portion.results.len());
        after = portion.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(lengths.iter().sum::<usize>(), scaled(1_000) as usize);
    // Rows that share a hash are not parted; few do.
    let longer = lengths.iter().filter(|length| **length > 10).count();
    assert!(longer * 20 <= lengths.len(), "{lengths:?}");
    assert!(lengths.iter().rev().skip(1).all(|length| *length >= 10), "{lengths:?}");
}

#[test]
fn a_table_without_rows_has_no_places() {
    let heap = &mut heap();
    let table = table(Kind::Set);
    let empty = table.size().1;
    let row = row(heap, 1, 1);
    table.insert(heap, &[row], false).unwrap();
    assert!(empty < table.size().1);
    let segment = crate::segment::Segment::new(4);
    assert_eq!((segment.bits(), segment.places()), (0, 0));
}

#[test]
fn causes_have_the_names_that_otp_gives_them() {
    let named = [Fault::Type, Fault::Id, Fault::Access, Fault::BadKey, Fault::Position, Fault::KeyPosition];
    let more = [Fault::TableType, Fault::AlreadyExists, Fault::Owner, Fault::NotOwner];
    let names: Vec<_> = named.into_iter().chain(more).map(|fault| fault.cause().unwrap()).collect();
    let expected = "type id access badkey position keypos table_type already_exists owner not_owner";
    assert_eq!(names.join(" "), expected);
    assert_eq!(Fault::Argument.cause(), None);
}

#[test]
fn rows_are_spread_over_the_slots_evenly() {
    let heap = &mut heap();
    let keys = scaled(2_000);
    let table = filled(Kind::Set, heap, keys);
    table.status.fix();
    for key in 0..10 {
        table.delete_key(Term::small(key));
    }
    let spread = table.spread().unwrap();
    assert_eq!((spread.rows, spread.dead), (keys as usize, 10));
    // By chance alone, the squares would come to the rows times one more than the rows of a slot.
    let (rows, mean) = (spread.rows as f64, spread.rows as f64 / spread.slots as f64);
    assert!((spread.squares as f64) < rows * (mean + 1.0) * 1.5, "{spread:?}");
    assert!(spread.fewest <= spread.most && spread.most < 4 + 8 * (mean as usize + 1), "{spread:?}");
    let mut garbage = table.clear();
    assert_eq!(garbage.rows(), keys as usize - 10);
    while garbage.free(100) {}
}
