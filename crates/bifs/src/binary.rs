//! `binary`, but for searching.

use atoll_operations::{Exception, bit_construct, bit_part, list};
use atoll_process::{BuiltIn, Caller, Outcome, badarg};
use atoll_term::{Build, Kind, Term, atoms};
use num_bigint::{BigInt, Sign};

use crate::charging::charge_bytes;

/// What this file provides.
pub const BUILT_INS: &[BuiltIn] = &[
    BuiltIn::new("binary", "at", 2, at),
    BuiltIn::new("binary", "first", 1, first),
    BuiltIn::new("binary", "last", 1, last),
    BuiltIn::new("binary", "copy", 1, copy),
    BuiltIn::new("binary", "copy", 2, copy),
    BuiltIn::new("binary", "part", 2, part_of_pair),
    BuiltIn::new("binary", "part", 3, part),
    BuiltIn::new("binary", "decode_unsigned", 1, decode_unsigned),
    BuiltIn::new("binary", "decode_unsigned", 2, decode_unsigned),
    BuiltIn::new("binary", "encode_unsigned", 1, encode_unsigned),
    BuiltIn::new("binary", "encode_unsigned", 2, encode_unsigned),
    BuiltIn::new("binary", "longest_common_prefix", 1, longest_common_prefix),
    BuiltIn::new("binary", "longest_common_suffix", 1, longest_common_suffix),
    BuiltIn::new("binary", "referenced_byte_size", 1, referenced_byte_size),
];

/// The bytes of a binary.
fn bytes(term: &Term) -> Result<std::borrow::Cow<'_, [u8]>, Exception> {
    let bits = term.bits().filter(|bits| bits.is_binary()).ok_or(Exception::badarg())?;
    Ok(bits.to_bytes())
}

/// The byte of a binary that `index` chooses by its size.
fn byte(term: Term, index: impl FnOnce(usize) -> Option<usize>) -> Outcome {
    let bits = term.bits().filter(|bits| bits.is_binary()).ok_or(Exception::badarg())?;
    let size = bits.byte_length();
    match index(size).filter(|index| *index < size) {
        Some(index) => Ok(Term::small(bits.byte(index).into())),
        None => Err(badarg()),
    }
}

fn at(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    byte(arguments[0], |_| usize::try_from(arguments[1].as_small()?).ok())
}

fn first(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    byte(arguments[0], |_| Some(0))
}

fn last(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    byte(arguments[0], |size| size.checked_sub(1))
}

fn copy(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    // No copy at all may be one of what is no binary, as in OTP.
    if arguments[0].is_bitstring() && arguments.get(1).is_some_and(|times| times.as_small() == Some(0)) {
        return Ok(caller.heap().binary(&[]));
    }
    let bytes = bytes(&arguments[0])?;
    let times = match arguments.get(1) {
        Some(times) => times.to_u64().and_then(|times| usize::try_from(times).ok()).ok_or(Exception::badarg())?,
        None => 1,
    };
    if times == 1 {
        charge_bytes(caller, bytes.len());
        return Ok(caller.heap().binary(&bytes));
    }
    let size = bytes.len().checked_mul(times).filter(|size| *size <= bit_construct::MAX_BITS / 8);
    let size = size.ok_or(Exception::system_limit())?;
    charge_bytes(caller, size);
    Ok(caller.heap().filled_binary(size, |room| repeat(&bytes, room)))
}

/// Bytes that are copied at once: they stay in a processor's cache.
const REPEATED: usize = 1 << 15;

/// Fills `room`, whose length is a multiple of that of `bytes`, with copies of these.
fn repeat(bytes: &[u8], room: &mut [u8]) {
    if let [byte] = bytes {
        return room.fill(*byte);
    }
    if bytes.is_empty() {
        return;
    }
    let times = room.len().min(REPEATED) / bytes.len();
    let piece = if times > 1 { &bytes.repeat(times)[..] } else { bytes };
    for part in room.chunks_mut(piece.len()) {
        part.copy_from_slice(&piece[..part.len()]);
    }
}

fn part(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    Ok(bit_part::binary_part(caller.heap(), arguments[0], arguments[1], arguments[2])?)
}

fn part_of_pair(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    Ok(bit_part::binary_part_of_pair(caller.heap(), arguments[0], arguments[1])?)
}

/// Whether the bytes of a number come least significant first.
fn is_little(endianness: Option<&Term>) -> Result<bool, Exception> {
    match endianness.copied() {
        None | Some(atoms::BIG) => Ok(false),
        Some(atoms::LITTLE) => Ok(true),
        Some(_) => Err(Exception::badarg()),
    }
}

fn decode_unsigned(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let little = is_little(arguments.get(1))?;
    let bytes = bytes(&arguments[0])?;
    charge_bytes(caller, bytes.len());
    let from_bytes = if little { BigInt::from_bytes_le } else { BigInt::from_bytes_be };
    let value = from_bytes(Sign::Plus, &bytes);
    if value.bits() > atoll_operations::number::MAX_BITS {
        return Err(Exception::system_limit().into());
    }
    Ok(caller.heap().bigint(&value))
}

fn encode_unsigned(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let little = is_little(arguments.get(1))?;
    let value = arguments[0].to_bigint().filter(|value| value.sign() != Sign::Minus).ok_or(Exception::badarg())?;
    let (_, bytes) = if little { value.to_bytes_le() } else { value.to_bytes_be() };
    charge_bytes(caller, bytes.len());
    Ok(caller.heap().binary(&bytes))
}

/// How many bytes a list of binaries has in common, by the function that counts those of two.
fn longest_common(caller: &mut Caller<'_>, list: Term, common: fn(&[u8], &[u8]) -> usize) -> Outcome {
    let mut shared: Option<(std::borrow::Cow<'_, [u8]>, usize)> = None;
    let elements = list::elements_or_badarg(list)?;
    for element in &elements {
        let bytes = bytes(element)?;
        shared = Some(match shared {
            None => {
                let length = bytes.len();
                (bytes, length)
            }
            Some((first, length)) => {
                let length = length.min(common(&first, &bytes));
                (first, length)
            }
        });
        charge_bytes(caller, shared.as_ref().map_or(0, |(_, length)| *length));
    }
    let (_, length) = shared.ok_or(Exception::badarg())?;
    Ok(Term::small(length as i64))
}

fn longest_common_prefix(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    longest_common(caller, arguments[0], |a, b| a.iter().zip(b).take_while(|(a, b)| a == b).count())
}

fn longest_common_suffix(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let common = |a: &[u8], b: &[u8]| a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count();
    longest_common(caller, arguments[0], common)
}

fn referenced_byte_size(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let term = arguments[0];
    let underlying = match term.boxed_kind() {
        Some(Kind::SubBits) => term.boxed_terms()[2],
        _ => term,
    };
    let bits = underlying.bits().ok_or(Exception::badarg())?;
    Ok(Term::small(bits.byte_length() as i64))
}
