//! Guard functions and tests on terms. In a guard an exception is a failure; elsewhere it is raised.

use std::cmp::Ordering;

use atoll_loader::{Comparison, TypeTest};
use atoll_term::{Allocate, Term, View, atoms, compare, equal, exactly_equal, map};

use crate::bit_match::Context;
use crate::exception::Exception;
use crate::list;

/// Type test of one value.
#[inline]
pub fn is_of_type(test: TypeTest, value: Term) -> bool {
    match test {
        TypeTest::Integer => value.is_integer(),
        TypeTest::Float => value.is_float(),
        TypeTest::Number => value.is_integer() || value.is_float(),
        TypeTest::Atom => value.is_atom(),
        TypeTest::Pid => value.is_pid(),
        TypeTest::Reference => value.is_reference(),
        TypeTest::Port => value.is_port(),
        TypeTest::Nil => value.is_nil(),
        TypeTest::Binary => value.is_binary(),
        TypeTest::Bitstring => value.is_bitstring(),
        TypeTest::List => value.is_list(),
        TypeTest::NonemptyList => value.is_cons(),
        TypeTest::Tuple => value.is_tuple(),
        TypeTest::Map => value.is_map(),
        TypeTest::Function => value.is_fun(),
        TypeTest::Boolean => as_boolean(value).is_some(),
        TypeTest::NativeRecord => false,
    }
}

/// Comparison of two values.
#[inline]
pub fn holds(comparison: Comparison, left: Term, right: Term) -> bool {
    match comparison {
        Comparison::Less => compare(left, right) == Ordering::Less,
        Comparison::GreaterOrEqual => compare(left, right) != Ordering::Less,
        Comparison::Equal => equal(left, right),
        Comparison::NotEqual => !equal(left, right),
        Comparison::ExactlyEqual => exactly_equal(left, right),
        Comparison::NotExactlyEqual => !exactly_equal(left, right),
    }
}

/// `min(A, B)`: the first if they are equal.
#[inline]
pub fn min(a: Term, b: Term) -> Term {
    if compare(a, b) == Ordering::Greater { b } else { a }
}

/// `max(A, B)`: the first if they are equal.
#[inline]
pub fn max(a: Term, b: Term) -> Term {
    if compare(a, b) == Ordering::Less { b } else { a }
}

/// The value of `true` and `false`.
#[inline]
pub fn as_boolean(term: Term) -> Option<bool> {
    if term == atoms::TRUE {
        Some(true)
    } else if term == atoms::FALSE {
        Some(false)
    } else {
        None
    }
}

/// `not A`
///
/// # Errors
/// `badarg`: no boolean
#[inline]
pub fn not(a: Term) -> Result<Term, Exception> {
    as_boolean(a).map(|a| Term::boolean(!a)).ok_or(Exception::badarg())
}

/// `A and B`, `A or B`, `A xor B` by their function on booleans.
///
/// # Errors
/// `badarg`: one is no boolean
#[inline]
pub fn logical(a: Term, b: Term, operator: fn(bool, bool) -> bool) -> Result<Term, Exception> {
    match (as_boolean(a), as_boolean(b)) {
        (Some(a), Some(b)) => Ok(Term::boolean(operator(a, b))),
        _ => Err(Exception::badarg()),
    }
}

/// `element(N, Tuple)`
///
/// # Errors
/// `badarg`
#[inline]
pub fn element(position: Term, tuple: Term) -> Result<Term, Exception> {
    let elements = tuple.tuple_elements().ok_or(Exception::badarg())?;
    let index = position.as_small().and_then(|position| usize::try_from(position.wrapping_sub(1)).ok());
    index.and_then(|index| elements.get(index).copied()).ok_or(Exception::badarg())
}

fn count(number: usize) -> Term {
    Term::small(number as i64)
}

/// `tuple_size(Tuple)`
///
/// # Errors
/// `badarg`
#[inline]
pub fn tuple_size(tuple: Term) -> Result<Term, Exception> {
    tuple.tuple_elements().map(|elements| count(elements.len())).ok_or(Exception::badarg())
}

/// `size(TupleOrBinary)`: bits that fill no byte do not count.
///
/// # Errors
/// `badarg`
pub fn size(term: Term) -> Result<Term, Exception> {
    match term.view() {
        View::Tuple(elements) => Ok(count(elements.len())),
        View::Bits(bits) => Ok(count(bits.length() / 8)),
        _ => Err(Exception::badarg()),
    }
}

/// Bits of a bitstring, or those that are left of one that is being matched: compilers from release 26 on ask about the
/// rest of a match without making it.
#[inline]
fn bits_of(term: Term) -> Option<usize> {
    match term.bits() {
        Some(bits) => Some(bits.length()),
        None => Context::of(term).map(|context| context.remaining()),
    }
}

/// `byte_size(Bitstring)`: bits that fill no byte count as one.
///
/// # Errors
/// `badarg`
#[inline]
pub fn byte_size(term: Term) -> Result<Term, Exception> {
    bits_of(term).map(|bits| count(bits.div_ceil(8))).ok_or(Exception::badarg())
}

/// `bit_size(Bitstring)`
///
/// # Errors
/// `badarg`
#[inline]
pub fn bit_size(term: Term) -> Result<Term, Exception> {
    bits_of(term).map(count).ok_or(Exception::badarg())
}

/// `length(List)`
///
/// # Errors
/// `badarg`: no proper list
#[inline]
pub fn length(term: Term) -> Result<Term, Exception> {
    list::length(term).map(count).ok_or(Exception::badarg())
}

/// `hd(List)`
///
/// # Errors
/// `badarg`
#[inline]
pub fn hd(list: Term) -> Result<Term, Exception> {
    if list.is_cons() { Ok(list.head()) } else { Err(Exception::badarg()) }
}

/// `tl(List)`
///
/// # Errors
/// `badarg`
#[inline]
pub fn tl(list: Term) -> Result<Term, Exception> {
    if list.is_cons() { Ok(list.tail()) } else { Err(Exception::badarg()) }
}

#[cold]
fn badmap<H: Allocate + ?Sized>(heap: &mut H, term: Term) -> Exception {
    Exception::tagged(heap, atoms::BADMAP, term)
}

/// `map_size(Map)`
///
/// # Errors
/// `{badmap, Term}`
#[inline]
pub fn map_size<H: Allocate + ?Sized>(heap: &mut H, map: Term) -> Result<Term, Exception> {
    if map.is_map() { Ok(count(map::map_size(map))) } else { Err(badmap(heap, map)) }
}

/// `map_get(Key, Map)`
///
/// # Errors
/// `{badmap, Term}`, `{badkey, Key}`
#[inline]
pub fn map_get<H: Allocate + ?Sized>(heap: &mut H, key: Term, map: Term) -> Result<Term, Exception> {
    if !map.is_map() {
        return Err(badmap(heap, map));
    }
    match map::get(map, key) {
        Some(value) => Ok(value),
        None => Err(Exception::tagged(heap, atoms::BADKEY, key)),
    }
}

/// `is_map_key(Key, Map)`
///
/// # Errors
/// `{badmap, Term}`
#[inline]
pub fn is_map_key<H: Allocate + ?Sized>(heap: &mut H, key: Term, map: Term) -> Result<Term, Exception> {
    if map.is_map() { Ok(Term::boolean(map::get(map, key).is_some())) } else { Err(badmap(heap, map)) }
}

/// Number of arguments of a fun.
#[inline]
pub fn fun_arity(term: Term) -> Option<u8> {
    match term.view() {
        View::Fun(fun) => Some(fun.entry.arity),
        View::ExternalFun(export) => Some(export.arity),
        _ => None,
    }
}

/// `is_function(Term, Arity)`
///
/// # Errors
/// `badarg`: the arity is no integer, or below zero
pub fn is_function(term: Term, arity: Term) -> Result<Term, Exception> {
    match arity.view() {
        View::Small(arity @ 0..) => Ok(Term::boolean(fun_arity(term).is_some_and(|found| i64::from(found) == arity))),
        View::Big(arity) if !arity.negative => Ok(atoms::FALSE),
        _ => Err(Exception::badarg()),
    }
}

/// `is_record(Term, Tag)`
///
/// # Errors
/// `badarg`: the tag is no atom
pub fn is_record(term: Term, tag: Term) -> Result<Term, Exception> {
    if !tag.is_atom() {
        return Err(Exception::badarg());
    }
    Ok(Term::boolean(term.tuple_elements().is_some_and(|elements| elements.first() == Some(&tag))))
}

/// `is_record(Term, Tag, Size)`
///
/// # Errors
/// `badarg`: the tag is no atom, or the size no small integer
pub fn is_record_of_size(term: Term, tag: Term, size: Term) -> Result<Term, Exception> {
    let (true, Some(size)) = (tag.is_atom(), size.as_small()) else { return Err(Exception::badarg()) };
    let tagged = |elements: &[Term]| elements.first() == Some(&tag) && i64::try_from(elements.len()) == Ok(size);
    Ok(Term::boolean(term.tuple_elements().is_some_and(tagged)))
}

#[cfg(test)]
mod tests {
    use atoll_term::Build;

    use super::*;
    use crate::bit_part::{binary_part, binary_part_of_pair};
    use crate::oracle::Oracle;

    fn values(oracle: &mut Oracle) -> Vec<Term> {
        let heap = &mut oracle.heap;
        let big = heap.big_from_limbs(false, &[1, 1]);
        let below = heap.big_from_limbs(true, &[1, 1]);
        let tuple = heap.tuple(&[atoms::OK, Term::small(2), big]);
        let empty = heap.tuple(&[]);
        let pairs: Vec<(Term, Term)> = (0..40).map(|key| (Term::small(key), Term::small(-key))).collect();
        let maps = [0, 1, 3, 40].map(|size| map::from_pairs(heap, &pairs[..size]));
        let pair = heap.tuple(&[Term::small(1), Term::small(2)]);
        let bytes = heap.binary(b"some bytes");
        let mut values = vec![big, below, tuple, empty, pair, bytes, Term::NIL, atoms::OK, atoms::TRUE, atoms::FALSE];
        values.extend(maps);
        values.extend([-1, 0, 1, 2, 3, 5].map(Term::small));
        values.extend([1.0, -0.0, 0.5].map(|value| heap.float(value)));
        values.extend([heap.bitstring(b"odd", 21), heap.binary(&[9; 100]), heap.binary(b"")]);
        values.push(heap.list([Term::small(1), atoms::OK]));
        values.push(heap.cons(Term::small(1), Term::small(2)));
        values
    }

    #[test]
    fn functions_of_one_value_as_on_stock() {
        let mut oracle = Oracle::default();
        let tests = [
            ("is_integer", TypeTest::Integer),
            ("is_float", TypeTest::Float),
            ("is_number", TypeTest::Number),
            ("is_atom", TypeTest::Atom),
            ("is_pid", TypeTest::Pid),
            ("is_reference", TypeTest::Reference),
            ("is_port", TypeTest::Port),
            ("is_binary", TypeTest::Binary),
            ("is_bitstring", TypeTest::Bitstring),
            ("is_list", TypeTest::List),
            ("is_tuple", TypeTest::Tuple),
            ("is_map", TypeTest::Map),
            ("is_function", TypeTest::Function),
            ("is_boolean", TypeTest::Boolean),
        ];
        for value in values(&mut oracle) {
            for (name, test) in tests {
                oracle.expect(name, &[value], Ok(Term::boolean(is_of_type(test, value))));
            }
            let results = [
                ("tuple_size", tuple_size(value)),
                ("size", size(value)),
                ("byte_size", byte_size(value)),
                ("bit_size", bit_size(value)),
                ("length", length(value)),
                ("hd", hd(value)),
                ("tl", tl(value)),
                ("'not'", not(value)),
                ("map_size", map_size(&mut oracle.heap, value)),
            ];
            for (name, result) in results {
                oracle.expect(name, &[value], result);
            }
        }
        oracle.check();
    }

    #[test]
    fn functions_of_two_values_as_on_stock() {
        let mut oracle = Oracle::default();
        let values = values(&mut oracle);
        for a in values.iter().copied() {
            for b in values.iter().copied() {
                let heap = &mut oracle.heap;
                let results = [
                    ("'<'", Ok(Term::boolean(holds(Comparison::Less, a, b)))),
                    ("'>='", Ok(Term::boolean(holds(Comparison::GreaterOrEqual, a, b)))),
                    ("'=='", Ok(Term::boolean(holds(Comparison::Equal, a, b)))),
                    ("'/='", Ok(Term::boolean(holds(Comparison::NotEqual, a, b)))),
                    ("'=:='", Ok(Term::boolean(holds(Comparison::ExactlyEqual, a, b)))),
                    ("'=/='", Ok(Term::boolean(holds(Comparison::NotExactlyEqual, a, b)))),
                    ("min", Ok(min(a, b))),
                    ("max", Ok(max(a, b))),
                    ("'and'", logical(a, b, |a, b| a && b)),
                    ("'or'", logical(a, b, |a, b| a || b)),
                    ("'xor'", logical(a, b, |a, b| a != b)),
                    ("element", element(a, b)),
                    ("map_get", map_get(heap, a, b)),
                    ("is_map_key", is_map_key(heap, a, b)),
                    ("is_function", is_function(a, b)),
                    ("is_record", is_record(a, b)),
                    ("binary_part", binary_part_of_pair(heap, a, b)),
                ];
                for (name, result) in results {
                    oracle.expect(name, &[a, b], result);
                }
            }
        }
        oracle.check();
    }

    #[test]
    fn functions_of_three_values_as_on_stock() {
        let mut oracle = Oracle::default();
        let values = values(&mut oracle);
        for a in values.iter().copied().filter(|term| term.is_bitstring()) {
            for from in -2..13 {
                for length in -14..14 {
                    let arguments = [a, Term::small(from), Term::small(length)];
                    let result = binary_part(&mut oracle.heap, a, arguments[1], arguments[2]);
                    oracle.expect("binary_part", &arguments, result);
                }
            }
            for b in values.iter().copied() {
                let result = binary_part(&mut oracle.heap, a, b, Term::small(1));
                oracle.expect("binary_part", &[a, b, Term::small(1)], result);
            }
        }
        for a in values.iter().copied() {
            for b in values.iter().copied() {
                let result = is_record_of_size(a, atoms::OK, b);
                oracle.expect("is_record", &[a, atoms::OK, b], result);
                oracle.expect("is_record", &[a, b, Term::small(3)], is_record_of_size(a, b, Term::small(3)));
            }
        }
        oracle.check();
    }
}
