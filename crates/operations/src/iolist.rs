//! Bytes out of nested lists, and lists of bytes.

use std::borrow::Cow;

use atoll_term::{Allocate, Bits, Build, Term, copy_short};

use crate::bit_construct;
use crate::exception::Exception;

/// What an I/O list is made of, in order.
#[derive(Clone, Copy)]
enum Piece<'h> {
    /// An integer from 0 to 255.
    Byte(u8),
    /// A term that may be a bitstring. Its parts in place of the term would go through memory for each piece.
    Other(&'h Term),
}

/// Visits the pieces of a list or bitstring in order, without recursion.
///
/// # Errors
/// `badarg`: something else is in it, or `visit` refuses a piece
#[inline(always)]
fn visit<'h>(term: &'h Term, mut visit: impl FnMut(Piece<'h>) -> Option<()>) -> Result<(), Exception> {
    let mut later: Vec<&Term> = Vec::new();
    let mut rest = term;
    loop {
        // Along the tails; of the heads only lists are put off, with the tail that follows them.
        let (item, tail) = match rest.is_cons() {
            true => {
                let [head, tail] = rest.cons_cell();
                (head, Some(tail))
            }
            false => (rest, None),
        };
        let small = item.as_small().filter(|_| tail.is_some());
        if small.is_some() || !item.is_immediate() && !item.is_cons() {
            let piece = match small {
                Some(small) => Piece::Byte(u8::try_from(small).map_err(|_| Exception::badarg())?),
                None => Piece::Other(item),
            };
            visit(piece).ok_or(Exception::badarg())?;
        } else if item.is_cons() {
            later.extend(tail.filter(|tail| !tail.is_nil()));
            rest = item;
            continue;
        } else if !item.is_nil() {
            return Err(Exception::badarg());
        }
        rest = match tail.or_else(|| later.pop()) {
            Some(rest) => rest,
            None => return Ok(()),
        };
    }
}

/// Bits of a list whose pieces may be bitstrings. A list that contains the same parts many times may have more than
/// 2^64 of them.
fn size_in_bits(term: Term, whole_bytes: bool) -> Result<u128, Exception> {
    let mut size = 0u128;
    visit(&term, |piece| {
        let bits = match piece {
            Piece::Byte(_) => 8,
            Piece::Other(term) => {
                term.bits_in_loop().map(|bits| bits.length()).filter(|bits| !whole_bytes || bits.is_multiple_of(8))?
            }
        };
        size += bits as u128;
        Some(())
    })?;
    Ok(size)
}

/// `iolist_size(Term)`, in bytes.
///
/// # Errors
/// `badarg`, `system_limit` if the size has more than 64 bits
pub fn iolist_size(term: Term) -> Result<u64, Exception> {
    u64::try_from(size_in_bits(term, true)? / 8).map_err(|_| Exception::system_limit())
}

/// The bytes of an I/O list: where they lie if it is a binary, else outside of any heap.
///
/// # Errors
/// `badarg`
pub fn bytes_of(term: &Term) -> Result<Cow<'_, [u8]>, Exception> {
    if let Some(bits) = term.bits().filter(Bits::is_binary) {
        return Ok(bits.to_bytes());
    }
    let mut bytes = Vec::new();
    visit(term, |piece| {
        match piece {
            Piece::Byte(byte) => bytes.push(byte),
            Piece::Other(term) => bytes.extend_from_slice(&term.bits().filter(Bits::is_binary)?.to_bytes()),
        }
        Some(())
    })?;
    Ok(bytes.into())
}

/// The bytes of an I/O list, outside of any heap.
///
/// # Errors
/// `badarg`
pub fn iolist_bytes(term: Term) -> Result<Vec<u8>, Exception> {
    bytes_of(&term).map(Cow::into_owned)
}

/// Writes the bytes of an I/O list that has as many as fit.
fn fill(term: &Term, room: &mut [u8]) -> Result<(), Exception> {
    let mut rest = room;
    visit(term, |piece| {
        match piece {
            Piece::Byte(byte) => *rest.split_off_first_mut()? = byte,
            Piece::Other(term) => match term.aligned_binary() {
                Some(bytes) => copy_short(bytes, rest.split_off_mut(..bytes.len())?),
                None => {
                    let bytes = term.bits()?.to_bytes();
                    rest.split_off_mut(..bytes.len())?.copy_from_slice(&bytes);
                }
            },
        }
        Some(())
    })
}

fn gather<H: Allocate + ?Sized>(heap: &mut H, term: Term, whole_bytes: bool) -> Result<Term, Exception> {
    let bits = usize::try_from(size_in_bits(term, whole_bytes)?).ok().filter(|bits| *bits <= bit_construct::MAX_BITS);
    let bits = bits.ok_or(Exception::system_limit())?;
    if whole_bytes {
        return Ok(heap.filled_binary(bits / 8, |room| {
            let filled = fill(&term, room);
            debug_assert!(filled.is_ok(), "it was measured before");
        }));
    }
    let mut building = bit_construct::begin(heap, bits);
    visit(&term, |piece| match piece {
        Piece::Byte(byte) => building.writer.byte(byte),
        Piece::Other(term) => building.writer.put_run(term.bits()?),
    })?;
    Ok(building.finish())
}

/// `iolist_to_binary(Term)`
///
/// # Errors
/// `badarg`, `system_limit`
pub fn iolist_to_binary<H: Allocate + ?Sized>(heap: &mut H, term: Term) -> Result<Term, Exception> {
    if term.is_binary() { Ok(term) } else { gather(heap, term, true) }
}

/// `list_to_binary(List)`
///
/// # Errors
/// `badarg`, `system_limit`
pub fn list_to_binary<H: Allocate + ?Sized>(heap: &mut H, list: Term) -> Result<Term, Exception> {
    if list.is_list() { gather(heap, list, true) } else { Err(Exception::badarg()) }
}

/// `list_to_bitstring(List)`
///
/// # Errors
/// `badarg`, `system_limit`
pub fn list_to_bitstring<H: Allocate + ?Sized>(heap: &mut H, list: Term) -> Result<Term, Exception> {
    if list.is_list() { gather(heap, list, false) } else { Err(Exception::badarg()) }
}

fn list_of_bytes<H: Allocate + ?Sized>(heap: &mut H, bits: Bits<'_>, tail: Term) -> Term {
    heap.list_of_bytes(&bits.to_bytes(), tail)
}

/// `binary_to_list(Binary)`
///
/// # Errors
/// `badarg`
pub fn binary_to_list<H: Allocate + ?Sized>(heap: &mut H, binary: Term) -> Result<Term, Exception> {
    let bits = binary.bits().filter(|bits| bits.is_binary()).ok_or(Exception::badarg())?;
    Ok(list_of_bytes(heap, bits, Term::NIL))
}

/// `binary_to_list(Binary, Start, Stop)`: bytes from 1 on, both ends included.
///
/// # Errors
/// `badarg`
pub fn binary_part_to_list<H: Allocate + ?Sized>(
    heap: &mut H,
    binary: Term,
    start: Term,
    stop: Term,
) -> Result<Term, Exception> {
    let bits = binary.bits().ok_or(Exception::badarg())?;
    let position = |term: Term| {
        let position = usize::try_from(term.as_small()?).ok()?;
        (1..=bits.length() / 8).contains(&position).then_some(position)
    };
    match (position(start), position(stop)) {
        (Some(start), Some(stop)) if start <= stop => {
            Ok(list_of_bytes(heap, bits.slice((start - 1) * 8, (stop - start + 1) * 8), Term::NIL))
        }
        _ => Err(Exception::badarg()),
    }
}

/// `bitstring_to_list(Bitstring)`: bits that fill no byte come last, as a bitstring.
///
/// # Errors
/// `badarg`
pub fn bitstring_to_list<H: Allocate + ?Sized>(heap: &mut H, bitstring: Term) -> Result<Term, Exception> {
    let bits = bitstring.bits().ok_or(Exception::badarg())?;
    let (whole, rest) = (bits.length() / 8 * 8, bits.length() % 8);
    let tail = if rest == 0 {
        Term::NIL
    } else {
        let last = heap.bitstring(&bits.slice(whole, rest).to_bytes(), rest);
        heap.cons(last, Term::NIL)
    };
    Ok(list_of_bytes(heap, bits.slice(0, whole), tail))
}

#[cfg(test)]
mod tests {
    use atoll_term::{ScratchHeap, atoms};

    use super::*;
    use crate::oracle::{Oracle, Random};

    fn nested(random: &mut Random, heap: &mut ScratchHeap, depth: u32) -> Term {
        let kind = random.below(if depth == 0 { 8 } else { 12 });
        match kind {
            0..=2 => Term::small(random.below(256) as i64),
            3 | 4 => {
                let length = random.below(20) as usize;
                heap.binary(&random.bytes(length))
            }
            5 if random.below(3) == 0 => {
                let length = random.below(30) as usize;
                let bytes = random.bytes(length / 8 + 1);
                heap.bitstring(&bytes, length)
            }
            6 if random.below(8) == 0 => [atoms::OK, Term::small(256), Term::small(-1)][random.below(3) as usize],
            _ => {
                let count = random.below(6);
                let elements: Vec<Term> = (0..count).map(|_| nested(random, heap, depth.saturating_sub(1))).collect();
                let tail = match random.below(6) {
                    0 => {
                        let length = random.below(9) as usize;
                        heap.binary(&random.bytes(length))
                    }
                    1 if random.below(9) == 0 => Term::small(1),
                    _ => Term::NIL,
                };
                heap.list_with_tail(elements, tail)
            }
        }
    }

    #[test]
    fn nested_lists_as_on_stock() {
        type Function = fn(&mut ScratchHeap, Term) -> Result<Term, Exception>;
        const FUNCTIONS: [(&str, Function); 6] = [
            ("iolist_to_binary", iolist_to_binary),
            ("list_to_binary", list_to_binary),
            ("list_to_bitstring", list_to_bitstring),
            ("iolist_size", |heap, term| iolist_size(term).map(|size| heap.integer(size as i64))),
            ("binary_to_list", binary_to_list),
            ("bitstring_to_list", bitstring_to_list),
        ];
        let (mut oracle, mut random) = (Oracle::default(), Random(31));
        for _ in 0..400 {
            let term = nested(&mut random, &mut oracle.heap, 3);
            for (name, function) in FUNCTIONS {
                let result = function(&mut oracle.heap, term);
                oracle.expect(name, &[term], result);
            }
            let bytes = iolist_bytes(term).map(|bytes| oracle.heap.binary(&bytes));
            oracle.expect("iolist_to_binary", &[term], bytes);
            let ends = [random.below(8) as i64, random.below(12) as i64].map(Term::small);
            let result = binary_part_to_list(&mut oracle.heap, term, ends[0], ends[1]);
            oracle.expect("binary_to_list", &[term, ends[0], ends[1]], result);
        }
        oracle.check();
    }

    #[test]
    fn deep_lists_take_no_stack() {
        let heap = &mut ScratchHeap::new();
        let (mut left, mut right) = (Term::NIL, Term::NIL);
        for _ in 0..300_000 {
            let pair = heap.cons(Term::small(1), Term::NIL);
            left = heap.cons(left, pair);
            right = heap.cons(right, Term::NIL);
        }
        assert_eq!(iolist_size(left).unwrap(), 300_000);
        assert_eq!(iolist_size(right).unwrap(), 0);
        assert_eq!(iolist_bytes(left).unwrap().len(), 300_000);
    }
}
