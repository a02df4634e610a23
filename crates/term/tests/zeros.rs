//! `0.0` and `-0.0` as releases from 27 on see them.

use atoll_term::{Build, ScratchHeap, Term, compare, equal, exactly_equal, map, set_release};

#[test]
fn zeros_are_told_apart_where_equality_is_exact() {
    atoll_term::enter(Box::leak(Box::default()));
    set_release(27);
    let mut heap = ScratchHeap::new();
    let (zero, minus) = (heap.float(0.0), heap.float(-0.0));
    assert!(!exactly_equal(zero, minus) && exactly_equal(minus, heap.float(-0.0)));
    assert!(equal(zero, minus) && compare(zero, minus).is_eq());
    let flat = map::from_pairs(&mut heap, &[(zero, Term::small(1)), (minus, Term::small(2))]);
    let many: Vec<(Term, Term)> = (0..50).map(|number| (Term::small(number), Term::NIL)).collect();
    let large = [&many[..], &[(zero, Term::small(1)), (minus, Term::small(2))]].concat();
    let large = map::from_pairs(&mut heap, &large);
    for (map, size) in [(flat, 2), (large, 52)] {
        assert_eq!(map::map_size(map), size);
        assert_eq!(map::get(map, minus).and_then(Term::as_small), Some(2));
        assert_eq!(map::get(map, zero).and_then(Term::as_small), Some(1));
    }
}
