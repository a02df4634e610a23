//! Parts of bitstrings: shared with the whole, or copied where that takes less.

use atoll_term::{Allocate, Build, Kind, Term};

use crate::bits;
use crate::exception::Exception;

/// Bits up to which a part is copied: a copy takes no more words than a view, and does not keep the whole alive.
const COPY_LIMIT: usize = 128;

/// `length` bits from bit `start` of heap bits or of a binary handle; they must lie inside.
pub(crate) fn of_underlying<H: Allocate + ?Sized>(heap: &mut H, underlying: Term, start: usize, length: usize) -> Term {
    let Some(whole) = underlying.bits() else { return underlying };
    if length <= COPY_LIMIT {
        let (bytes, offset) = whole.slice(start, length).touched();
        if offset == 0 && length.is_multiple_of(8) {
            return heap.bitstring(bytes, length);
        }
        let mut copy = [0; COPY_LIMIT / 8];
        bits::copy_out(bytes, offset, length, &mut copy);
        return heap.bitstring(&copy, length);
    }
    // A handle is no value of its own while its binary can grow.
    let is_fixed = underlying.off_heap_binary().is_none_or(|binary| binary.used() == binary.capacity());
    if is_fixed && whole.length() == length {
        return underlying;
    }
    heap.sub_bits(underlying, start, start + length)
}

/// Bytes `from` to `to` of a whole binary, if they lie inside and are a part that is copied.
#[inline]
pub fn short_part(whole: &[u8], from: usize, to: usize) -> Option<&[u8]> {
    whole.get(from..to).filter(|part| part.len() <= COPY_LIMIT / 8 && part.len() < whole.len())
}

/// `length` bits from bit `from` of a bitstring; `None` if they do not lie inside, or the term is no bitstring.
pub fn part<H: Allocate + ?Sized>(heap: &mut H, bitstring: Term, from: usize, length: usize) -> Option<Term> {
    // What most programs ask for.
    if (from | length).is_multiple_of(8)
        && let Some(whole) = bitstring.aligned_binary()
        && let Some(copied) = short_part(whole, from / 8, from / 8 + length / 8)
    {
        return Some(heap.binary(copied));
    }
    let bits = bitstring.bits()?;
    if from.checked_add(length)? > bits.length() {
        return None;
    }
    if length == bits.length() {
        return Some(bitstring);
    }
    let underlying = match bitstring.boxed_kind() {
        Some(Kind::SubBits) => bitstring.boxed_terms()[2],
        _ => bitstring,
    };
    Some(of_underlying(heap, underlying, bits.start() + from, length))
}

/// `binary_part(Binary, Position, Length)`, in bytes; a negative length counts back from the position.
///
/// # Errors
/// `badarg`
pub fn binary_part<H: Allocate + ?Sized>(
    heap: &mut H,
    binary: Term,
    position: Term,
    length: Term,
) -> Result<Term, Exception> {
    let range = || {
        let (position, length) = (position.as_small()?, length.as_small()?);
        let other = position.checked_add(length)?;
        Some((usize::try_from(position.min(other)).ok()?, usize::try_from(position.max(other)).ok()?))
    };
    let (from, to) = range().ok_or_else(Exception::badarg)?;
    let bits = to.checked_mul(8).map(|_| (to - from) * 8);
    bits.and_then(|bits| part(heap, binary, from * 8, bits)).ok_or_else(Exception::badarg)
}

/// `binary_part(Binary, {Position, Length})`
///
/// # Errors
/// `badarg`
pub fn binary_part_of_pair<H: Allocate + ?Sized>(heap: &mut H, binary: Term, pair: Term) -> Result<Term, Exception> {
    match pair.tuple_elements() {
        Some([position, length]) => binary_part(heap, binary, *position, *length),
        _ => Err(Exception::badarg()),
    }
}
