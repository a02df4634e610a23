//! Terms nested a million deep: nothing may recurse on the native stack, which is small here.

use atoll_term::text::{self, TextOptions};
use atoll_term::{Build, ScratchHeap, Term, compare, compare_exact, equal, exactly_equal, hash, map};

const DEPTH: usize = if cfg!(miri) { 60 } else { 1_000_000 };
const STACK_BYTES: usize = 128 << 10;

type Wrap = fn(&mut ScratchHeap, Term) -> Term;

const WRAPS: [(&str, Wrap); 6] = [
    ("heads of lists", |heap, inner| heap.cons(inner, Term::NIL)),
    ("tails of lists", |heap, inner| heap.cons(Term::small(300), inner)),
    ("tuples", |heap, inner| heap.tuple(&[Term::small(1), inner, Term::small(2)])),
    ("values of maps", |heap, inner| map::from_pairs(heap, &[(Term::small(1), inner)])),
    ("keys of maps", |heap, inner| map::from_pairs(heap, &[(inner, Term::NIL)])),
    ("improper lists", |heap, inner| heap.cons(inner, Term::small(1))),
];

fn on_small_stack(test: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(STACK_BYTES).spawn(test).expect("a thread");
    thread.join().expect("the test on a small stack passes");
}

#[test]
fn deep_terms() {
    on_small_stack(|| {
        for (name, wrap) in WRAPS {
            let mut heap = ScratchHeap::new();
            let build = |heap: &mut ScratchHeap, end| (0..DEPTH).fold(end, |inner, _| wrap(heap, inner));
            let (left, same, other) =
                (build(&mut heap, Term::small(1)), build(&mut heap, Term::small(1)), build(&mut heap, Term::small(2)));
            assert!(compare(left, same).is_eq() && compare(left, other).is_lt(), "{name}");
            assert!(compare_exact(left, same).is_eq() && compare_exact(other, left).is_gt(), "{name}");
            assert!(equal(left, same) && !equal(left, other), "{name}");
            assert!(exactly_equal(left, same) && !exactly_equal(left, other), "{name}");
            assert_eq!(hash::phash2(left), hash::phash2(same), "{name}");
            assert_ne!(hash::map_hash(left), hash::map_hash(other), "{name}");
            assert_eq!(hash::phash(left, 1 << 32), hash::phash(same, 1 << 32), "{name}");
            assert!(atoll_term::flat_words(left) >= 2 * DEPTH, "{name}");
            assert_eq!(atoll_term::flat_words(left), atoll_term::shared_words(left), "{name}");
            let mut out = String::new();
            text::write(&mut out, left, TextOptions::default());
            assert!(out.len() > 2 * DEPTH, "{name}");
        }
    });
}

/// Large maps as keys and values of large maps.
#[test]
fn deep_large_maps() {
    on_small_stack(|| {
        let mut heap = ScratchHeap::new();
        let mut build = |end, as_key: bool| {
            (0..if cfg!(miri) { 5 } else { 3_000 }).fold(end, |inner, _| {
                let mut pairs: Vec<(Term, Term)> = (0..33).map(|key| (Term::small(key), Term::NIL)).collect();
                pairs.push(if as_key { (inner, Term::NIL) } else { (Term::small(99), inner) });
                map::from_pairs(&mut heap, &pairs)
            })
        };
        let values =
            (build(Term::small(1000), false), build(Term::small(1000), false), build(Term::small(2000), false));
        assert!(equal(values.0, values.1) && compare(values.0, values.1).is_eq());
        assert!(compare(values.0, values.2).is_lt() && compare(values.2, values.0).is_gt());
        assert_eq!(hash::phash2(values.0), hash::phash2(values.1));
    });
    on_small_stack(|| {
        // Each level hashes and compares all those below, so keys cannot nest as deep in reasonable time.
        let mut heap = ScratchHeap::new();
        let mut build = |end| {
            (0..if cfg!(miri) { 3 } else { 60 }).fold(end, |inner, _| {
                let mut pairs: Vec<(Term, Term)> = (0..33).map(|key| (Term::small(key), Term::NIL)).collect();
                pairs.push((inner, Term::NIL));
                map::from_pairs(&mut heap, &pairs)
            })
        };
        let (left, same, other) = (build(Term::small(1000)), build(Term::small(1000)), build(Term::small(2000)));
        assert!(exactly_equal(left, same) && compare(left, same).is_eq());
        assert!(compare(left, other).is_lt() && compare(other, left).is_gt());
    });
}
