//! Maps against stock `erl`, and against themselves.

mod support;

use atoll_term::map::{self, MapIter, NextForm};
use atoll_term::text::to_string;
use atoll_term::{Build, ScratchHeap, Term, atoms, compare_exact, exactly_equal};
use support::{ask, elements, fields};

fn pairs(list: Term) -> Vec<(Term, Term)> {
    elements(list).iter().map(|pair| (fields(pair)[0], fields(pair)[1])).collect()
}

fn shortened(record: Term) -> String {
    to_string(record).chars().take(2000).collect()
}

/// Whether two terms are built alike, word for word.
fn assert_same(what: &str, record: Term, left: Term, right: Term) {
    assert!(
        exactly_equal(left, right),
        "{what}: {} instead of {} in {}",
        to_string(left),
        to_string(right),
        shortened(record)
    );
}

#[test]
fn maps_are_those_of_erl() {
    let Some(mut answers) = ask("map", 500) else { return };
    let heap = &mut answers.heap;
    for record in &answers.records {
        let &[given, listed, walked, keys, values, steps, listed_after, other, merged] = fields(record) else {
            panic!("a record")
        };
        let all = pairs(given);
        if cfg!(miri) && elements(merged).len() > 60 {
            continue;
        }
        let built = map::from_pairs(heap, &all);
        let list = map::to_list(heap, built);
        assert_same("to_list", *record, list, listed);
        let list = map::keys(heap, built);
        assert_same("keys", *record, list, keys);
        let list = map::values(heap, built);
        assert_same("values", *record, list, values);
        let walk: Vec<(Term, Term)> = MapIter::new(&built).collect();
        let walk: Vec<Term> = walk.iter().map(|(key, value)| heap.tuple(&[*key, *value])).collect();
        let list = heap.list(walk);
        assert_same("iterator", *record, list, walked);
        let empty = map::empty(heap);
        let mut one_by_one = empty;
        for (key, value) in &all {
            one_by_one = map::put(heap, one_by_one, *key, *value);
            assert_eq!(map::get(one_by_one, *key), Some(*value));
        }
        assert_same("put", *record, one_by_one, built);
        let at_once = map::put_many(heap, empty, &all);
        assert_same("put_many", *record, at_once, built);

        let mut after = built;
        for step in elements(steps) {
            let before = map::map_size(after);
            match *fields(&step) {
                [_, key, value] => {
                    let had = map::get(after, key);
                    match (map::update(heap, after, key, value), had) {
                        (Some(updated), Some(_)) => assert_eq!(map::get(updated, key), Some(value)),
                        (None, None) => {}
                        _ => panic!("update and get disagree about {} in {}", to_string(key), to_string(*record)),
                    }
                    after = map::put(heap, after, key, value);
                    assert_eq!(map::get(after, key), Some(value));
                    assert_eq!(map::map_size(after), before + usize::from(had.is_none()));
                }
                [_, key] => {
                    let had = map::get(after, key);
                    match map::remove(heap, after, key) {
                        Some((value, without)) => {
                            assert_eq!(had, Some(value));
                            assert_eq!(map::map_size(without), before - 1);
                            assert_eq!(map::get(without, key), None);
                            after = without;
                        }
                        None => assert_eq!(had, None),
                    }
                }
                _ => panic!("a step"),
            }
        }
        let list = map::to_list(heap, after);
        assert_same("steps", *record, list, listed_after);
        let built_after = map::from_pairs(heap, &pairs(listed_after));
        assert_same("the shape after steps", *record, after, built_after);
        let other = map::from_pairs(heap, &pairs(other));
        let both = map::merge(heap, after, other);
        let list = map::to_list(heap, both);
        assert_same("merge", *record, list, merged);
        let built_merged = map::from_pairs(heap, &pairs(merged));
        assert_same("the shape after merge", *record, both, built_merged);
    }
}

#[test]
fn paths_are_those_of_erl() {
    let Some(mut answers) = ask("paths", 60) else { return };
    let heap = &mut answers.heap;
    for record in &answers.records {
        let &[listed, paths] = fields(record) else { panic!("a record") };
        if cfg!(miri) && elements(listed).len() > 60 {
            continue;
        }
        let built = map::from_pairs(heap, &pairs(listed));
        let walk: Vec<Term> = MapIter::new(&built).map(|(key, _)| key).collect();
        let mut path = Term::small(0);
        let mut start = 0;
        for piece in elements(paths) {
            let &[last, next_path, next_key] = fields(&piece) else { panic!("a piece") };
            let end = 1 + walk.iter().position(|key| exactly_equal(*key, last)).expect("a key of the map");
            let next = map::map_next(heap, built, path, NextForm::Iterator, end - start).expect("a path");
            let innermost = (start..end).fold(next, |next, _| fields(&next)[2]);
            assert_same("path", *record, innermost.head(), next_path);
            assert_eq!(innermost.tail(), built);
            assert!(exactly_equal(walk[end], next_key));
            (path, start) = (next_path, end);
        }
        // Any other cut leads on as well, in both forms.
        for limit in [1, 7, 100] {
            let (mut path, mut list, mut rounds) = (Term::small(0), Term::NIL, 0);
            loop {
                list = map::map_next(heap, built, path, NextForm::List(list), limit).expect("a path");
                rounds += 1;
                if !list.head().is_integer() {
                    break;
                }
                path = list.head();
                assert_eq!(list.tail().head(), built);
                list = list.tail().tail();
            }
            let expected = if map::is_flat(built) { 1 } else { map::map_size(built).div_ceil(limit) };
            assert_eq!(rounds, expected);
            assert_same("list", *record, list, listed);
        }
    }
}

#[test]
fn wrong_paths_are_errors() {
    let mut heap = ScratchHeap::new();
    let all: Vec<(Term, Term)> = (0..100).map(|number| (Term::small(number), Term::small(number))).collect();
    let built = map::from_pairs(&mut heap, &all);
    let huge = heap.big_from_limbs(false, &[u64::MAX, u64::MAX]);
    let negative = heap.big_from_limbs(true, &[u64::MAX]);
    for path in [Term::small(-1), Term::small(0xffff_ffff), huge, negative, atoms::TRUE] {
        assert!(map::map_next(&mut heap, built, path, NextForm::Iterator, 10).is_err());
    }
}

#[test]
fn updates_share_what_they_can() {
    let mut heap = ScratchHeap::new();
    let key = |number| Term::atom(number);
    let all: Vec<(Term, Term)> = (0..30).map(|number| (key(number), Term::small(0))).collect();
    let flat = map::from_pairs(&mut heap, &all);
    assert_eq!(map::put(&mut heap, flat, key(3), Term::small(0)), flat);
    let changed = map::put(&mut heap, flat, key(3), Term::small(1));
    assert_eq!(changed.boxed_terms()[0], flat.boxed_terms()[0], "the keys' tuple is the same");
    let changed = map::put_many(&mut heap, flat, &[(key(3), Term::small(1)), (key(4), Term::small(1))]);
    assert_eq!(changed.boxed_terms()[0], flat.boxed_terms()[0]);
    assert_eq!(map::update_many(&mut heap, flat, &[(key(3), Term::NIL), (key(99), Term::NIL)]), None);
    let all: Vec<(Term, Term)> =
        (0..if cfg!(miri) { 300 } else { 5000 }).map(|number| (Term::small(number), Term::small(0))).collect();
    let hashed = map::from_pairs(&mut heap, &all);
    assert_eq!(map::put(&mut heap, hashed, Term::small(77), Term::small(0)), hashed);
    let changed = map::put(&mut heap, hashed, Term::small(77), Term::small(1));
    let (old, new) = (hashed.boxed_terms(), changed.boxed_terms());
    assert_eq!(old.iter().zip(new).filter(|(old, new)| old != new).count(), 1, "one child of the root differs");
}

/// Keys whose 32-bit hashes agree, found by trying: they meet only below level 8.
#[test]
#[cfg_attr(miri, ignore = "looks for collisions among more hashes than Miri can make")]
fn keys_with_the_same_hash_live_together() {
    let mut seen = std::collections::HashMap::new();
    let mut colliding: Vec<(Term, Term)> = Vec::new();
    for number in 0..400_000 {
        let key = Term::small(number);
        if let Some(other) = seen.insert(atoll_term::hash::map_hash(key), key) {
            colliding.extend([(other, Term::small(1)), (key, Term::small(2))]);
        }
    }
    assert!(colliding.len() >= 10, "400,000 hashes of 32 bits have collisions");
    let mut heap = ScratchHeap::new();
    let mut all = colliding.clone();
    all.extend((0..40).map(|number| (Term::atom(number), Term::small(number.into()))));
    let bulk = map::from_pairs(&mut heap, &all);
    let mut one_by_one = map::empty(&mut heap);
    for (key, value) in all.iter().rev() {
        one_by_one = map::put(&mut heap, one_by_one, *key, *value);
    }
    assert!(exactly_equal(bulk, one_by_one));
    for (key, value) in &colliding {
        assert_eq!(map::get(bulk, *key), Some(*value));
        let (removed, without) = map::remove(&mut heap, bulk, *key).expect("the key is there");
        assert_eq!((removed, map::get(without, *key)), (*value, None));
        let rest: Vec<(Term, Term)> = all.iter().copied().filter(|(other, _)| other != key).collect();
        let rebuilt = map::from_pairs(&mut heap, &rest);
        assert!(exactly_equal(without, rebuilt));
    }
}

/// A key `{Tag, Name}` as compilers have, or something like it. Each call makes it anew.
fn named(heap: &mut ScratchHeap, random: &mut fastrand::Rng) -> Term {
    let atoms = [atoms::TRUE, atoms::ERROR, atoms::OK];
    let tag = if random.u8(..10) == 0 { atoms::OK } else { atoms::ERROR };
    let number = Term::small(random.i64(-4..12));
    let name = match random.u8(..12) {
        0 | 1 => atoms[random.usize(..3)],
        2 => heap.tuple(&[atoms[random.usize(..3)], number]),
        3 => heap.tuple(&[number, atoms[random.usize(..3)]]),
        4 => heap.integer([i64::MIN, i64::MAX][random.usize(..2)]),
        5 => heap.float(random.i8(-4..12).into()),
        6 => heap.list([number]),
        7 => Term::NIL,
        _ => number,
    };
    match random.u8(..20) {
        0 => name,
        1 => heap.tuple(&[tag, name, number]),
        2 => heap.tuple(&[name, tag]),
        _ => heap.tuple(&[tag, name]),
    }
}

#[test]
fn keys_of_a_tag_and_a_name_stand_in_their_order() {
    let mut random = fastrand::Rng::with_seed(7);
    for _ in 0..if cfg!(miri) { 20 } else { 2_000 } {
        let heap = &mut ScratchHeap::new();
        let mut built = map::empty(heap);
        let mut model: Vec<(Term, i64)> = Vec::new();
        let one_kind = random.bool();
        for number in 0..random.i64(1..40) {
            let key = match one_kind {
                true => {
                    let name = Term::small(random.i64(-20..20));
                    heap.tuple(&[atoms::ERROR, name])
                }
                false => named(heap, &mut random),
            };
            let known = model.iter_mut().find(|(other, _)| exactly_equal(*other, key));
            let had = map::get(built, key).map(|value| value.small_value());
            assert_eq!(had, known.as_ref().map(|(_, value)| *value), "{}", to_string(key));
            match known {
                Some((_, value)) => *value = number,
                None => model.push((key, number)),
            }
            built = map::put(heap, built, key, Term::small(number));
            assert_eq!(map::map_size(built), model.len());
        }
        if !map::is_flat(built) {
            continue;
        }
        let walked: Vec<Term> = MapIter::new(&built).map(|(key, _)| key).collect();
        assert!(walked.is_sorted_by(|one, other| compare_exact(*one, *other).is_lt()), "{}", to_string(built));
        for (key, value) in model {
            assert_eq!(map::get(built, key), Some(Term::small(value)));
        }
    }
}
