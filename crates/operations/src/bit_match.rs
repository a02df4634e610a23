//! Matching bitstrings. A match context is an object of its own that one process owns: its position moves in place.
//! `None` (or `false`) is a match that fails, and leaves the position where it was.

use atoll_loader::{BitFlags, MatchCommand, Register, SegmentType};
use atoll_term::{Allocate, Build, Kind, Term};

use crate::bit_part;
use crate::bits;
use crate::number::MAX_LIMBS;
use crate::raw_match::{CONTEXT_ARITY, part_object};
pub use crate::raw_match::{COPIED_BYTES, Context, PartObject, context};
use crate::utf;

/// Bits of a segment of `size` units; `None` if the size is no integer from 0 to the most that a term can have.
#[inline]
pub fn segment_bits(size: Term, unit: u16) -> Option<usize> {
    usize::try_from(size.as_small()?).ok()?.checked_mul(usize::from(unit))
}

/// Starts a match: a new context at the start of a bitstring. A context stays what it is.
#[inline]
pub fn start_match<H: Allocate + ?Sized>(heap: &mut H, value: Term) -> Option<Term> {
    if Context::of(value).is_some() {
        return Some(value);
    }
    Some(heap.scanned_object(Kind::MatchContext, 0, &new_context(value)?))
}

/// The words of a new context at the start of a bitstring; `None` if the term is none.
#[inline(always)]
pub fn new_context(value: Term) -> Option<[Term; CONTEXT_ARITY]> {
    let (start, end, underlying) = match value.boxed_kind()? {
        Kind::SubBits => match *value.boxed_terms() {
            [start, end, underlying] => (start, end, underlying),
            _ => return None,
        },
        Kind::HeapBits | Kind::BinaryHandle => (Term::small(0), Term::small(value.bits()?.length() as i64), value),
        _ => return None,
    };
    Some([start, start, end, underlying])
}

/// Integer segment of 1 to 56 bits, which is always a small integer; little-endian ones are of whole bytes. The caller
/// has seen that so many bits remain. `None` is for [`get_integer`] to find out.
#[inline(always)]
pub fn get_small<const LITTLE: bool, const SIGNED: bool>(context: Context, bits: usize) -> Option<Term> {
    let read = context.peek(bits)?;
    let value = if LITTLE { read.swap_bytes() >> (64 - bits) } else { read };
    context.advance(bits);
    let value = if SIGNED { ((value << (64 - bits)) as i64) >> (64 - bits) } else { value as i64 };
    Some(Term::small(value))
}

/// As [`get_small`], of 8 bits without sign.
#[inline(always)]
pub fn get_byte(context: Context) -> Option<Term> {
    let byte = context.peek_byte()?;
    context.advance(8);
    Some(Term::small(byte.into()))
}

/// Whether the next 1 to 56 bits, which remain, are these; if so, skips them. `None` is for [`match_string`] to find
/// out.
#[inline(always)]
pub fn match_small(context: Context, bits: usize, expected: u64) -> Option<bool> {
    let same = context.peek(bits)? == expected;
    if same {
        context.advance(bits);
    }
    Some(same)
}

/// Integer segment.
#[inline]
pub fn get_integer<H: Allocate + ?Sized>(heap: &mut H, context: Term, bits: usize, flags: BitFlags) -> Option<Term> {
    let context = Context::of(context)?;
    if bits > context.remaining() {
        return None;
    }
    let integer = match bits {
        0..=64 => {
            let value = ordered(bits::read(context.bytes(), context.position(), bits), bits, flags);
            match flags.signed {
                true => heap.integer(sign_extended(value, bits)),
                false => heap.unsigned(value),
            }
        }
        _ => large_integer(heap, &context, bits, flags)?,
    };
    context.advance(bits);
    Some(integer)
}

/// The value of up to 64 bits that were read most significant first.
#[inline]
fn ordered(value: u64, bits: usize, flags: BitFlags) -> u64 {
    if !flags.little || bits <= 8 {
        return value;
    }
    // Whole bytes come least significant first; the bits that are left over are the most significant ones.
    let rest = bits % 8;
    let whole = bits - rest;
    let low = (value >> rest).swap_bytes() >> (64 - whole);
    if rest == 0 { low } else { low | (value & ((1 << rest) - 1)) << whole }
}

#[inline]
fn sign_extended(value: u64, bits: usize) -> i64 {
    if bits == 0 { 0 } else { ((value << (64 - bits)) as i64) >> (64 - bits) }
}

#[cold]
fn large_integer<H: Allocate + ?Sized>(heap: &mut H, context: &Context, bits: usize, flags: BitFlags) -> Option<Term> {
    let bytes = context.bytes();
    let limb = |index: usize| {
        let length = (bits - index * 64).min(64);
        match flags.little {
            true => ordered(bits::read(bytes, context.position() + index * 64, length), length, flags),
            false => bits::read(bytes, context.position() + bits - index * 64 - length, length),
        }
    };
    let mut limbs: Vec<u64> = (0..bits.div_ceil(64)).map(limb).collect();
    let top_bits = (bits - 1) % 64 + 1;
    let negative = flags.signed && limbs.last().is_some_and(|top| top >> (top_bits - 1) & 1 == 1);
    if negative {
        let mut carry = true;
        for limb in &mut limbs {
            (*limb, carry) = (!*limb).overflowing_add(u64::from(carry));
        }
        if let Some(top) = limbs.last_mut() {
            *top &= u64::MAX >> (64 - top_bits);
        }
    }
    let length = limbs.iter().rposition(|limb| *limb != 0).map_or(0, |top| top + 1);
    (length as u64 <= MAX_LIMBS).then(|| heap.big_from_limbs(negative, &limbs))
}

/// Float segment of 0, 16, 32 or 64 bits; a value that is not finite does not match.
#[inline]
pub fn get_float<H: Allocate + ?Sized>(heap: &mut H, context: Term, bits: usize, flags: BitFlags) -> Option<Term> {
    let context = Context::of(context)?;
    if bits > context.remaining() || !matches!(bits, 0 | 16 | 32 | 64) {
        return None;
    }
    let word = ordered(bits::read(context.bytes(), context.position(), bits), bits, flags);
    let value = match bits {
        64 => f64::from_bits(word),
        32 => f32::from_bits(word as u32).into(),
        16 => crate::half::to_f64(word as u16),
        _ => 0.0,
    };
    if !value.is_finite() {
        return None;
    }
    context.advance(bits);
    Some(heap.float(value))
}

/// Binary segment of so many bits.
#[inline]
pub fn get_binary<H: Allocate + ?Sized>(heap: &mut H, context: Term, bits: usize) -> Option<Term> {
    let context = Context::of(context)?;
    if bits > context.remaining() {
        return None;
    }
    let part = bit_part::of_underlying(heap, context.underlying(), context.position(), bits);
    context.advance(bits);
    Some(part)
}

/// The object of a binary segment of so many bits, moving on if `ADVANCE`; `None` if there are not so many, or for
/// [`get_binary`] and [`get_tail`] to find out.
#[inline(always)]
pub fn quick_part<const ADVANCE: bool>(context: Term, bits: usize) -> Option<PartObject> {
    let context = Context::of(context)?;
    if bits > context.remaining() {
        return None;
    }
    let object = part_object(context, bits)?;
    if ADVANCE {
        context.advance(bits);
    }
    Some(object)
}

/// Bits that are left, if they are a multiple of `unit`.
#[inline(always)]
pub fn rest_in_units(context: Term, unit: u16) -> Option<usize> {
    let rest = Context::of(context)?.remaining();
    // The unit is nearly always 8 or 1, and a division takes long.
    let whole = if unit == 8 { rest.is_multiple_of(8) } else { rest.is_multiple_of(unit.into()) };
    whole.then_some(rest)
}

/// Binary segment that takes all the rest, which must be a multiple of `unit`.
#[inline]
pub fn get_binary_all<H: Allocate + ?Sized>(heap: &mut H, context: Term, unit: u16) -> Option<Term> {
    get_binary(heap, context, rest_in_units(context, unit)?)
}

/// The rest as a bitstring; the position stays.
#[inline]
pub fn get_tail<H: Allocate + ?Sized>(heap: &mut H, context: Term) -> Option<Term> {
    let context = Context::of(context)?;
    Some(bit_part::of_underlying(heap, context.underlying(), context.position(), context.remaining()))
}

/// Skips so many bits.
#[inline]
pub fn skip(context: Term, bits: usize) -> bool {
    match Context::of(context) {
        Some(context) if bits <= context.remaining() => {
            context.advance(bits);
            true
        }
        _ => false,
    }
}

/// Skips all the rest, which must be a multiple of `unit`.
#[inline]
pub fn skip_all(context: Term, unit: u16) -> bool {
    test_unit(context, unit) && Context::of(context).is_some_and(|rest| skip(context, rest.remaining()))
}

/// Whether exactly so many bits remain.
#[inline]
pub fn test_tail(context: Term, bits: u64) -> bool {
    Context::of(context).is_some_and(|context| context.remaining() as u64 == bits)
}

/// Whether what remains is a multiple of `unit` bits.
#[inline]
pub fn test_unit(context: Term, unit: u16) -> bool {
    rest_in_units(context, unit).is_some()
}

/// Whether the next `bits` bits are those of `string`; if so, skips them.
#[inline]
pub fn match_string(context: Term, string: &[u8], bits: usize) -> bool {
    let Some(context) = Context::of(context) else { return false };
    if bits > context.remaining()
        || bits > string.len() * 8
        || !bits::same(context.bytes(), context.position(), string, 0, bits)
    {
        return false;
    }
    context.advance(bits);
    true
}

/// The position, for [`set_position`].
#[inline]
pub fn get_position(context: Term) -> Option<Term> {
    Context::of(context).map(|context| Term::small(context.position() as i64))
}

/// Goes back to a position of the same context.
#[inline]
pub fn set_position(context: Term, position: Term) {
    if let (Some(context), Some(position)) = (Context::of(context), position.as_small())
        && let Ok(position) = usize::try_from(position)
        && position <= context.end()
    {
        context.set_position(position);
    }
}

/// UTF segment: the code point.
#[inline]
pub fn get_utf(context: Term, encoding: SegmentType, flags: BitFlags) -> Option<Term> {
    let context = Context::of(context)?;
    let (value, bits) = utf::decode(context.bytes(), context.position(), context.end(), encoding, flags)?;
    context.advance(bits);
    Some(Term::small(value.into()))
}

/// Executes the commands of one `bs_match`; `store` writes a register. If one of them fails the position is what
/// it was before the first.
pub fn run<H: Allocate + ?Sized>(
    heap: &mut H,
    context: Term,
    commands: &[MatchCommand],
    mut store: impl FnMut(Register, Term),
) -> bool {
    let Some(start) = get_position(context) else { return false };
    for command in commands {
        if !step(heap, context, command, &mut store) {
            set_position(context, start);
            return false;
        }
    }
    true
}

#[inline]
fn step<H: Allocate + ?Sized>(
    heap: &mut H,
    context: Term,
    command: &MatchCommand,
    store: &mut impl FnMut(Register, Term),
) -> bool {
    let remaining = Context::of(context).map_or(0, |context| context.remaining()) as u64;
    let (result, destination) = match *command {
        MatchCommand::EnsureAtLeast { stride, unit } => {
            return remaining >= stride && (remaining - stride).is_multiple_of(unit.max(1).into());
        }
        MatchCommand::EnsureExactly { stride } => return remaining == stride,
        MatchCommand::Skip { stride } => return skip(context, stride as usize),
        MatchCommand::ExactlyEqual { bits, value, .. } => {
            let Some(context) = Context::of(context).filter(|_| bits <= 64.min(remaining)) else { return false };
            let found = bits::read(context.bytes(), context.position(), bits as usize);
            context.advance(bits as usize);
            return found == value;
        }
        MatchCommand::Integer { flags, bits, destination, .. } => {
            (get_integer(heap, context, bits as usize, flags), destination)
        }
        MatchCommand::Binary { bits, destination, .. } => (get_binary(heap, context, bits as usize), destination),
        MatchCommand::GetTail { destination, .. } => (get_tail(heap, context), destination),
    };
    match result {
        Some(term) => {
            store(destination, term);
            true
        }
        None => false,
    }
}

#[cfg(test)]
mod tests;
