//! Equality of terms: `==` and `=:=`. Cheaper than the order, because shapes must agree as well.

use smallvec::SmallVec;

use crate::bit_order::compare_bits;
use crate::header::Kind;
use crate::number::compare_numbers;
use crate::part::release;
use crate::view::{External, ExternalKind, View};
use crate::word::Term;

/// `A == B`: integers and floats of the same value are equal (not as keys of maps).
#[inline]
pub fn equal(a: Term, b: Term) -> bool {
    a == b || !(a.is_immediate() && b.is_immediate()) && shallow(a, b, Mode::ByValue, SHALLOW)
}

/// The first release in which `0.0 =:= -0.0` is false.
const ZEROS_DIFFER: u32 = 27;

/// Whether two floats are exactly equal.
#[inline]
pub(crate) fn same_float(a: f64, b: f64) -> bool {
    a == b && (a != 0.0 || a.to_bits() == b.to_bits() || release() < ZEROS_DIFFER)
}

/// `A =:= B`: integers and floats differ; `0.0` and `-0.0` do not before release 27.
#[inline]
pub fn exactly_equal(a: Term, b: Term) -> bool {
    a == b || a.is_pointer() && b.is_pointer() && shallow(a, b, Mode::Exact, SHALLOW)
}

/// [`exactly_equal`] for keys of maps, many of which are short binaries.
#[inline]
pub(crate) fn same_key(candidate: Term, key: Term) -> bool {
    if candidate == key {
        return true;
    }
    if !(candidate.is_boxed() && key.is_boxed()) {
        return candidate.is_cons() && key.is_cons() && shallow(candidate, key, Mode::Exact, SHALLOW);
    }
    match (candidate.heap_bits_words(), key.heap_bits_words()) {
        (Some(candidate), Some(key)) => same_heap_bits(candidate, key),
        _ => shallow(candidate, key, Mode::Exact, SHALLOW),
    }
}

/// How the terms of a slice are to be the same.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Exact,
    ByValue,
    /// Children of a node of a hashed map: keys exactly, values by value.
    MapChildren,
}

/// Terms that wait to be compared.
type Waiting<'h> = (&'h [Term], &'h [Term], Mode);

enum Relation<'h> {
    Same,
    Different,
    /// As the terms inside them.
    Inside(&'h [Term], &'h [Term], Mode),
}

/// Levels of nesting that are compared on the native stack.
const SHALLOW: u32 = 8;

/// Whether two terms with different words are the same. Most are of the kinds that are handled here.
#[inline(never)]
fn shallow(mut a: Term, mut b: Term, mode: Mode, levels: u32) -> bool {
    loop {
        if levels == 0 {
            return deep(a, b, mode);
        }
        if a.is_cons() && b.is_cons() {
            let ([head_a, tail_a], [head_b, tail_b]) = (*a.cons_cell(), *b.cons_cell());
            if !same_element(head_a, head_b, mode, levels) {
                return false;
            }
            if tail_a == tail_b {
                return true;
            }
            if mode == Mode::Exact && !(tail_a.is_pointer() && tail_b.is_pointer()) {
                return false;
            }
            (a, b) = (tail_a, tail_b);
            continue;
        }
        return match (a.boxed_kind(), b.boxed_kind()) {
            (Some(Kind::Tuple), Some(Kind::Tuple)) => {
                // SAFETY: both are tuples, which are scanned.
                let (left, right) = unsafe { (a.scanned_parts().1, b.scanned_parts().1) };
                if left.len() != right.len() {
                    return false;
                }
                for (one, other) in left.iter().zip(right) {
                    if !same_element(*one, *other, mode, levels) {
                        return false;
                    }
                }
                true
            }
            (Some(left), Some(right)) if left.is_bits() && right.is_bits() => same_bits(&a, &b),
            _ => deep(a, b, mode),
        };
    }
}

/// Whether two bitstrings are the same.
fn same_bits(a: &Term, b: &Term) -> bool {
    if let (Some(a), Some(b)) = (a.heap_bits_words(), b.heap_bits_words()) {
        return same_heap_bits(a, b);
    }
    if let (Some(a), Some(b)) = (a.aligned_binary(), b.aligned_binary()) {
        return a == b;
    }
    match (a.bits(), b.bits()) {
        (Some(a), Some(b)) => a.length() == b.length() && compare_bits(a, b).is_eq(),
        _ => false,
    }
}

/// Whether heap bits are the same, word by word: most are so short that a call to compare bytes takes longer.
#[inline]
fn same_heap_bits(a: &[u64], b: &[u64]) -> bool {
    let ([length, a @ ..], [other, b @ ..]) = (a, b) else { return false };
    if length != other {
        return false;
    }
    let (whole, rest) = ((length / 64) as usize, length % 64);
    if a.iter().zip(b).take(whole).any(|(a, b)| a != b) {
        return false;
    }
    match (a.get(whole), b.get(whole)) {
        // The first bits in memory.
        (Some(a), Some(b)) if rest > 0 => (a ^ b) & (u64::MAX << (64 - rest)).to_be() == 0,
        _ => true,
    }
}

#[inline(always)]
fn same_element(a: Term, b: Term, mode: Mode, levels: u32) -> bool {
    if a == b {
        return true;
    }
    let differ = match mode {
        Mode::Exact => !(a.is_pointer() && b.is_pointer()),
        _ => a.is_immediate() && b.is_immediate(),
    };
    !differ && shallow(a, b, mode, levels - 1)
}

/// As [`shallow`], of any terms: what waits is kept outside of the native stack.
#[inline(never)]
fn deep(a: Term, b: Term, mode: Mode) -> bool {
    let (a, b) = ([a], [b]);
    let mut pending: SmallVec<[Waiting; 8]> = SmallVec::new();
    let (mut left, mut right, mut mode) = (&a[..], &b[..], mode);
    loop {
        while let ([a, rest_left @ ..], [b, rest_right @ ..]) = (left, right) {
            (left, right) = (rest_left, rest_right);
            if a == b {
                continue;
            }
            match relation(a, b, mode) {
                Relation::Same => {}
                Relation::Different => return false,
                Relation::Inside(inner_left, inner_right, inner_mode) => {
                    if inner_left.len() != inner_right.len() {
                        return false;
                    }
                    if !left.is_empty() {
                        pending.push((left, right, mode));
                    }
                    (left, right, mode) = (inner_left, inner_right, inner_mode);
                }
            }
        }
        match pending.pop() {
            Some(next) => (left, right, mode) = next,
            None => return true,
        }
    }
}

/// The relation of two terms with different words.
fn relation<'h>(a: &'h Term, b: &'h Term, mode: Mode) -> Relation<'h> {
    if a.is_cons() && b.is_cons() {
        let (a, b) = (a.cons_cell(), b.cons_cell());
        if mode == Mode::MapChildren {
            // Exact comparison never comes back here, so this call is not a step of a deep recursion.
            return if exactly_equal(a[0], b[0]) {
                Relation::Inside(&a[1..], &b[1..], Mode::ByValue)
            } else {
                Relation::Different
            };
        }
        return Relation::Inside(a, b, mode);
    }
    let (Some(kind), Some(kind_of_b)) = (a.boxed_kind(), b.boxed_kind()) else {
        return if mode == Mode::ByValue { same_value(a, b) } else { Relation::Different };
    };
    let is = |condition| if condition { Relation::Same } else { Relation::Different };
    match (kind, kind_of_b) {
        (Kind::Tuple, Kind::Tuple) => Relation::Inside(a.boxed_terms(), b.boxed_terms(), mode),
        (Kind::FlatMap, Kind::FlatMap) => {
            let (a, b) = (a.boxed_terms(), b.boxed_terms());
            match mode {
                Mode::Exact => Relation::Inside(a, b, mode),
                _ if exactly_equal(a[0], b[0]) => Relation::Inside(&a[1..], &b[1..], mode),
                _ => Relation::Different,
            }
        }
        (Kind::HashMapRoot, Kind::HashMapRoot) | (Kind::HashMapNode, Kind::HashMapNode) => {
            let inner = if mode == Mode::Exact { mode } else { Mode::MapChildren };
            match a.header() == b.header() {
                true => Relation::Inside(a.boxed_terms(), b.boxed_terms(), inner),
                false => Relation::Different,
            }
        }
        (left, right) if left.is_bits() && right.is_bits() => is(same_bits(a, b)),
        (Kind::PositiveBig, Kind::PositiveBig) | (Kind::NegativeBig, Kind::NegativeBig) => {
            is(a.as_big().map(|big| big.limbs) == b.as_big().map(|big| big.limbs))
        }
        (Kind::Float, Kind::Float) => is(match (a.as_float(), b.as_float()) {
            (Some(a), Some(b)) if mode == Mode::Exact => same_float(a, b),
            (a, b) => a == b,
        }),
        (Kind::Float, _) | (_, Kind::Float) if mode == Mode::ByValue => same_value(a, b),
        _ => match (a.view(), b.view()) {
            (View::Fun(a), View::Fun(b)) => {
                let (entry, other) = (a.entry, b.entry);
                let same_code = std::ptr::eq(entry, other)
                    || entry.module == other.module
                        && entry.index == other.index
                        && entry.old_unique == other.old_unique;
                if same_code { Relation::Inside(a.free, b.free, mode) } else { Relation::Different }
            }
            (View::ExternalFun(a), View::ExternalFun(b)) => {
                is(a.module == b.module && a.name == b.name && a.arity == b.arity)
            }
            (View::Reference(a), View::Reference(b)) => is(a.numbers() == b.numbers()),
            (View::External(a), View::External(b)) => is(same_external(a, b)),
            _ => Relation::Different,
        },
    }
}

fn same_value(a: &Term, b: &Term) -> Relation<'static> {
    match compare_numbers(a.view(), b.view()) {
        Some(order) if order.is_eq() => Relation::Same,
        _ => Relation::Different,
    }
}

fn same_external(a: External, b: External) -> bool {
    a.kind == b.kind
        && a.node == b.node
        && a.creation == b.creation
        && match a.kind {
            // Missing numbers of a reference count as zero.
            ExternalKind::Reference => {
                let number = |data: &[u64], index| data.get(index).copied().unwrap_or(0);
                (0..a.data.len().max(b.data.len())).all(|index| number(a.data, index) == number(b.data, index))
            }
            _ => a.data == b.data,
        }
}

#[cfg(test)]
mod tests {
    use crate::{Build, ScratchHeap};

    use super::*;

    #[test]
    fn each_bit_counts_and_none_behind_the_last() {
        for length in (0..200).step_by(if cfg!(miri) { 33 } else { 1 }) {
            let mut heap = ScratchHeap::new();
            let bytes: Vec<u8> = (0..25).map(|byte| (byte * 37 + length) as u8).collect();
            let one = heap.bitstring(&bytes, length);
            let mut other = bytes.clone();
            if length % 8 > 0 {
                other[length / 8] ^= 0xff >> (length % 8);
            }
            let same = heap.bitstring(&other, length);
            assert!(exactly_equal(one, same), "{length} bits");
            for bit in (0..length).step_by(if cfg!(miri) { 7 } else { 1 }) {
                let mut changed = bytes.clone();
                changed[bit / 8] ^= 0x80 >> (bit % 8);
                let changed = heap.bitstring(&changed, length);
                assert!(!exactly_equal(one, changed), "bit {bit} of {length}");
            }
            if length > 0 {
                let shorter = heap.bitstring(&bytes, length - 1);
                assert!(!exactly_equal(one, shorter), "{length} bits and one less");
            }
        }
    }
}
