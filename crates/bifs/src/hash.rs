//! Hashes of terms, and checksums of bytes.

use std::borrow::Cow;

use adler2::Adler32;
use atoll_operations::{Exception, iolist};
use atoll_process::{BuiltIn, Caller, Outcome, badarg};
use atoll_term::{Build, Term, hash};
use md5::digest::common::hazmat::{SerializableState, SerializedState};
use md5::{Digest, Md5};

use crate::charging::{charge_bytes, charge_elements};

/// What this file provides.
pub const BUILT_INS: &[BuiltIn] = &[
    BuiltIn::new("erlang", "phash", 2, phash),
    BuiltIn::new("erlang", "phash2", 1, phash2),
    BuiltIn::new("erlang", "phash2", 2, phash2_range),
    BuiltIn::new("erlang", "md5", 1, md5),
    BuiltIn::new("erlang", "md5_init", 0, md5_init),
    BuiltIn::new("erlang", "md5_update", 2, md5_update),
    BuiltIn::new("erlang", "md5_final", 1, md5_final),
    BuiltIn::new("erlang", "crc32", 1, crc32),
    BuiltIn::new("erlang", "crc32", 2, crc32_from),
    BuiltIn::new("erlang", "crc32_combine", 3, crc32_combine),
    BuiltIn::new("erlang", "adler32", 1, adler32),
    BuiltIn::new("erlang", "adler32", 2, adler32_from),
    BuiltIn::new("erlang", "adler32_combine", 3, adler32_combine),
];

/// Largest range of a hash: 2^32.
const MAX_RANGE: u64 = 1 << 32;

fn range(term: Term) -> Result<u64, Exception> {
    term.to_u64().filter(|range| (1..=MAX_RANGE).contains(range)).ok_or(Exception::badarg())
}

fn phash(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let value = hash::phash(arguments[0], range(arguments[1])?);
    Ok(caller.heap().unsigned(value))
}

/// The portable hash of a term, charged for.
fn hash2(caller: &mut Caller<'_>, term: Term) -> u64 {
    let (hash, steps) = hash::hash2_counted(term);
    charge_elements(caller, steps);
    hash.into()
}

fn phash2(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let hash = hash2(caller, arguments[0]);
    Ok(Term::small((hash & ((1 << hash::PHASH2_BITS) - 1)) as i64))
}

fn phash2_range(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let range = range(arguments[1])?;
    Ok(Term::small((hash2(caller, arguments[0]) % range) as i64))
}

/// The bytes of an I/O list, charged for.
fn bytes<'h>(caller: &mut Caller<'_>, data: &'h Term) -> Result<Cow<'h, [u8]>, Exception> {
    let bytes = iolist::bytes_of(data)?;
    charge_bytes(caller, bytes.len());
    Ok(bytes)
}

fn md5(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let digest = Md5::digest(bytes(caller, &arguments[0])?);
    Ok(caller.heap().binary(&digest))
}

/// The context of an MD5 in the making is a binary that only these functions understand.
fn context(caller: &mut Caller<'_>, state: &Md5) -> Term {
    caller.heap().binary(&state.serialize())
}

fn from_context(context: Term) -> Result<Md5, Exception> {
    let bits = context.bits().filter(|bits| bits.is_binary()).ok_or(Exception::badarg())?;
    let state = SerializedState::<Md5>::try_from(&bits.to_bytes()[..]).map_err(|_| Exception::badarg())?;
    Md5::deserialize(&state).map_err(|_| Exception::badarg())
}

fn md5_init(caller: &mut Caller<'_>, _: &[Term]) -> Outcome {
    Ok(context(caller, &Md5::new()))
}

fn md5_update(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let mut state = from_context(arguments[0])?;
    state.update(bytes(caller, &arguments[1])?);
    Ok(context(caller, &state))
}

fn md5_final(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let digest = from_context(arguments[0])?.finalize();
    Ok(caller.heap().binary(&digest))
}

/// A checksum that the caller gives.
fn checksum(term: Term) -> Result<u32, Exception> {
    term.to_u64().and_then(|sum| u32::try_from(sum).ok()).ok_or(Exception::badarg())
}

fn crc32(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    Ok(Term::small(crc32fast::hash(&bytes(caller, &arguments[0])?).into()))
}

fn crc32_from(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let mut state = crc32fast::Hasher::new_with_initial(checksum(arguments[0])?);
    state.update(&bytes(caller, &arguments[1])?);
    Ok(Term::small(state.finalize().into()))
}

fn crc32_combine(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let [first, second, length] = *arguments else { return Err(badarg()) };
    let (first, second, length) = (checksum(first)?, checksum(second)?, u64::from(checksum(length)?));
    if length == 0 {
        return Ok(Term::small((first ^ second).into()));
    }
    let mut state = crc32fast::Hasher::new_with_initial(first);
    state.combine(&crc32fast::Hasher::new_with_initial_len(second, length));
    Ok(Term::small(state.finalize().into()))
}

fn adler32(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    Ok(Term::small(adler2::adler32_slice(&bytes(caller, &arguments[0])?).into()))
}

/// The sums of Adler-32 are remainders of this prime.
const ADLER_MODULUS: u64 = 65_521;

fn adler32_from(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let sum = checksum(arguments[0])?;
    let data = bytes(caller, &arguments[1])?;
    if arguments[1].is_nil() {
        return Ok(arguments[0]);
    }
    let mut state = Adler32::from_checksum(sum);
    state.write_slice(&data);
    Ok(Term::small(state.checksum().into()))
}

/// The checksum of two runs of bytes after each other, from those of both and the second one's length: the first
/// sum is 1 and all bytes, the second is the total of the first sums after each byte.
fn adler32_combine(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let [first, second, length] = *arguments else { return Err(badarg()) };
    let (first, second, length) = (checksum(first)?, checksum(second)?, u64::from(checksum(length)?));
    if length == 0 {
        return Ok(arguments[0]);
    }
    let halves = |sum: u32| (u64::from(sum & 0xffff), u64::from(sum >> 16));
    let ((low1, high1), (low2, high2)) = (halves(first), halves(second));
    let length = length % ADLER_MODULUS;
    // The second run started from 1; every one of its steps counts the first run's low sum, less that 1, again.
    let low = less_once(less_once(low1 + low2 + ADLER_MODULUS - 1, ADLER_MODULUS), ADLER_MODULUS);
    let high = high1 + high2 + length * low1 % ADLER_MODULUS + ADLER_MODULUS - length;
    let high = less_once(less_once(high, 2 * ADLER_MODULUS), ADLER_MODULUS);
    // Of sums that no bytes have, what is beyond the modulus spills over, as in OTP.
    Ok(Term::small(((high << 16 | low) & u64::from(u32::MAX)) as i64))
}

/// The sum less the subtrahend if it is not below that.
fn less_once(sum: u64, subtrahend: u64) -> u64 {
    if sum >= subtrahend { sum - subtrahend } else { sum }
}
