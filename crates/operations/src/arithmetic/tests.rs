use atoll_term::{Build, SMALL_MAX, SMALL_MIN, ScratchHeap, Term, atoms};

use super::*;
use crate::oracle::{Oracle, Random};

type Binary = fn(&mut ScratchHeap, Term, Term) -> Result<Term, Exception>;
type Unary = fn(&mut ScratchHeap, Term) -> Result<Term, Exception>;

const BINARY: [(&str, Binary); 9] = [
    ("'+'", add),
    ("'-'", subtract),
    ("'*'", multiply),
    ("'/'", divide),
    ("'div'", integer_divide),
    ("'rem'", remainder),
    ("'band'", band),
    ("'bor'", bor),
    ("'bxor'", bxor),
];
const SHIFTS: [(&str, Binary); 2] = [("'bsl'", bsl), ("'bsr'", bsr)];
const UNARY: [(&str, Unary); 9] = [
    ("'-'", negate),
    ("'+'", |_, a| plus(a)),
    ("'bnot'", bnot),
    ("'abs'", abs),
    ("'round'", round),
    ("'trunc'", trunc),
    ("'floor'", floor),
    ("'ceil'", ceil),
    ("'float'", float),
];

fn any(random: &mut Random, heap: &mut ScratchHeap) -> Term {
    match random.below(8) {
        0 => atoms::OK,
        1 | 2 => heap.float(random.float()),
        3 => random.integer(heap, 20),
        _ => random.integer(heap, 3),
    }
}

#[test]
fn random_operands_as_on_stock() {
    let (mut oracle, mut random) = (Oracle::default(), Random(1));
    for _ in 0..600 {
        let (a, b) = (any(&mut random, &mut oracle.heap), any(&mut random, &mut oracle.heap));
        for (name, operation) in BINARY {
            let result = operation(&mut oracle.heap, a, b);
            oracle.expect(name, &[a, b], result);
        }
        for (name, operation) in UNARY {
            let result = operation(&mut oracle.heap, a);
            oracle.expect(name, &[a], result);
        }
        let distance = match random.below(10) {
            0 => b,
            _ => Term::small(random.below(300) as i64 - 150),
        };
        for (name, operation) in SHIFTS {
            let result = operation(&mut oracle.heap, a, distance);
            // A shift by a float or atom fails alike; one by a large integer gives too long a text to compare.
            if result.is_err() || distance.as_small().is_some_and(|distance| distance.abs() < 1000) {
                oracle.expect(name, &[a, distance], result);
            }
        }
    }
    oracle.check();
}

#[test]
fn limits_of_small_integers_as_on_stock() {
    let mut oracle = Oracle::default();
    let ends = [SMALL_MIN, SMALL_MIN + 1, -2, -1, 0, 1, 2, SMALL_MAX - 1, SMALL_MAX];
    let wide = [i128::MIN, i128::MAX, i64::MIN as i128, i64::MAX as i128, u64::MAX as i128, SMALL_MAX as i128 + 1];
    let mut values: Vec<Term> = ends.iter().map(|value| Term::small(*value)).collect();
    values.extend(wide.map(|value| integer128(&mut oracle.heap, value)));
    for a in &values {
        for b in &values {
            for (name, operation) in BINARY {
                let result = operation(&mut oracle.heap, *a, *b);
                oracle.expect(name, &[*a, *b], result);
            }
        }
        for distance in [-130, -64, -60, -59, -1, 0, 1, 59, 60, 63, 64, 128] {
            for (name, operation) in SHIFTS {
                let result = operation(&mut oracle.heap, *a, Term::small(distance));
                oracle.expect(name, &[*a, Term::small(distance)], result);
            }
        }
        for (name, operation) in UNARY {
            let result = operation(&mut oracle.heap, *a);
            oracle.expect(name, &[*a], result);
        }
    }
    oracle.check();
}

/// The limits were read off stock Erlang 25: `1 bsl 33554367` is its largest power of two.
#[test]
fn integers_have_a_largest_size() {
    let heap = &mut ScratchHeap::new();
    let limit = crate::number::MAX_BITS as i64;
    assert_eq!(limit, 33_554_368);
    let largest = bsl(heap, Term::small(1), Term::small(limit - 1)).unwrap();
    assert!(bsl(heap, Term::small(1), Term::small(limit)).is_err_and(|error| error.reason == atoms::SYSTEM_LIMIT));
    assert!(add(heap, largest, largest).is_err_and(|error| error.reason == atoms::SYSTEM_LIMIT));
    assert!(multiply(heap, largest, largest).is_err_and(|error| error.reason == atoms::SYSTEM_LIMIT));
    assert!(multiply(heap, largest, Term::small(2)).is_err_and(|error| error.reason == atoms::SYSTEM_LIMIT));
    assert!(multiply(heap, largest, Term::small(1)).is_ok());
    let far = bsl(heap, Term::small(1), Term::small(80)).unwrap();
    assert!(bsl(heap, Term::small(1), far).is_err_and(|error| error.reason == atoms::SYSTEM_LIMIT));
    assert_eq!(bsl(heap, Term::small(0), far).unwrap(), Term::small(0));
    assert_eq!(bsr(heap, Term::small(-1), far).unwrap(), Term::small(-1));
    assert_eq!(bsr(heap, largest, far).unwrap(), Term::small(0));
}
