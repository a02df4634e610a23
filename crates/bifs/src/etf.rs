//! The external term format.

use atoll_code::Resolver;
use atoll_etf::{
    DecodeError, DecodeOptions, EncodeError, EncodeOptions, Encoded, LOCAL_SEAL, Part, decode, encode, encode_in_parts,
    encode_into, encode_local, encode_up_to, encoded_size,
};
use atoll_operations::Exception;
use atoll_process::{BuiltIn, Caller, Interrupt, Outcome, badarg};
use atoll_term::atoms::LazyAtom;
use atoll_term::{Build, Term, View, atoms, this_node};

use crate::charging::charge_bytes;
use crate::errors::badopt;
use atoll_process::release::release_number;

static LOCAL: LazyAtom = LazyAtom::new("local");

/// What this file provides.
pub const BUILT_INS: &[BuiltIn] = &[
    BuiltIn::new("erlang", "term_to_binary", 1, term_to_binary),
    BuiltIn::new("erlang", "term_to_binary", 2, term_to_binary),
    BuiltIn::new("erlang", "term_to_iovec", 1, term_to_iovec),
    BuiltIn::new("erlang", "term_to_iovec", 2, term_to_iovec),
    BuiltIn::new("erlang", "external_size", 1, external_size),
    BuiltIn::new("erlang", "external_size", 2, external_size),
    BuiltIn::new("erlang", "binary_to_term", 1, binary_to_term),
    BuiltIn::new("erlang", "binary_to_term", 2, binary_to_term),
];

/// Level of `compressed` without a number.
const DEFAULT_LEVEL: u32 = 6;

/// The first release with the option `local`.
const LOCAL_SINCE: u32 = 26;

/// The options of `term_to_binary/2`, and whether `local` is one of them; those of `external_size/2` are fewer.
fn encode_options(arguments: &[Term], only_version: bool) -> Result<(EncodeOptions, bool), Exception> {
    let (mut options, mut local) = (EncodeOptions::default(), false);
    let Some(mut rest) = arguments.get(1).copied() else { return Ok((options, local)) };
    while let View::Cons(option, tail) = rest.view() {
        rest = tail;
        match option.view() {
            View::Atom(_) if option == LOCAL.get() && release_number() >= LOCAL_SINCE => local = true,
            View::Atom(atoms::COMPRESSED) if !only_version => options.compressed = Some(DEFAULT_LEVEL),
            View::Atom(atoms::DETERMINISTIC) if !only_version => options.deterministic = true,
            View::Tuple([atoms::COMPRESSED, level]) if !only_version => {
                options.compressed = Some(number_up_to(*level, 9)?.into());
            }
            View::Tuple([atoms::MINOR_VERSION, version]) => options.minor_version = number_up_to(*version, 2)?,
            _ => return Err(Exception::badarg()),
        }
    }
    if rest.is_nil() { Ok((options, local)) } else { Err(Exception::badarg()) }
}

fn number_up_to(term: Term, limit: u8) -> Result<u8, Exception> {
    let number = term.as_small().and_then(|number| u8::try_from(number).ok());
    number.filter(|number| *number <= limit).ok_or(Exception::badarg())
}

fn encode_failure(error: EncodeError) -> Exception {
    match error {
        EncodeError::TooLarge => Exception::system_limit(),
        EncodeError::NotATerm => Exception::badarg(),
    }
}

/// Bytes from which on a term is encoded where they are to stay, after they have been counted.
const ENCODED_IN_PLACE: usize = 1 << 20;

fn term_to_binary(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let (options, local) = encode_options(arguments, false)?;
    if !local && options.compressed.is_none_or(|level| level == 0) {
        let (term, node) = (arguments[0], this_node());
        let encoded = encode_up_to(term, options, node, ENCODED_IN_PLACE).map_err(encode_failure)?;
        let result = match &encoded {
            Encoded::Bytes(bytes) => caller.heap().binary(bytes),
            Encoded::Longer(length) => {
                caller.heap().filled_binary(*length, |room| encode_into(term, options, node, room))
            }
        };
        charge_bytes(caller, result.bits().map_or(0, |bits| bits.byte_length()));
        return Ok(result);
    }
    let encode = if local { encode_local } else { encode };
    let bytes = encode(arguments[0], options, this_node()).map_err(encode_failure)?;
    charge_bytes(caller, bytes.len());
    Ok(caller.heap().binary(&bytes))
}

/// The bytes as a list of binaries: those of the term that have more than 64 bytes are elements of their own, and not
/// copied. A term whose other bytes are many, or are packed, is one binary.
fn term_to_iovec(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let (options, local) = encode_options(arguments, false)?;
    let is_plain = !local && options.compressed.is_none_or(|level| level == 0);
    let parts = match is_plain {
        true => encode_in_parts(arguments[0], options, this_node(), ENCODED_IN_PLACE).map_err(encode_failure)?,
        false => None,
    };
    let Some(parts) = parts else {
        let binary = term_to_binary(caller, arguments)?;
        return Ok(caller.heap().list([binary]));
    };
    charge_bytes(caller, parts.written());
    let heap = caller.heap();
    let mut elements = Vec::new();
    for part in parts.iter() {
        elements.push(match part {
            Part::Written(bytes) => heap.binary(bytes),
            Part::Binary(binary) => binary,
        });
    }
    Ok(heap.list(elements))
}

fn external_size(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let (options, local) = encode_options(arguments, true)?;
    let seal = if local { 1 + LOCAL_SEAL } else { 0 };
    let size = seal + encoded_size(arguments[0], options, this_node()).map_err(encode_failure)?;
    charge_bytes(caller, size);
    Ok(caller.heap().unsigned(size as u64))
}

/// Whether a list of options has `safe`, and `used`.
fn decode_options(caller: &mut Caller<'_>, list: Term) -> Result<(DecodeOptions, bool), Interrupt> {
    let (mut options, mut used, mut rest) = (DecodeOptions::default(), false, list);
    while let View::Cons(option, tail) = rest.view() {
        rest = tail;
        match option {
            atoms::SAFE => options.safe = true,
            atoms::USED => used = true,
            _ => return Err(badopt(caller)),
        }
    }
    if rest.is_nil() { Ok((options, used)) } else { Err(badopt(caller)) }
}

fn binary_to_term(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let (options, used) = match arguments.get(1) {
        Some(list) => decode_options(caller, *list)?,
        None => Default::default(),
    };
    let bits = arguments[0].bits().filter(|bits| bits.is_binary()).ok_or(Exception::badarg())?;
    let bytes = bits.to_bytes();
    charge_bytes(caller, bytes.len());
    let decoded = decode(&bytes, options, &mut Resolver, caller.heap());
    let (term, length) = decoded.map_err(|error| match error {
        DecodeError::TooManyAtoms => Exception::system_limit().into(),
        DecodeError::Malformed | DecodeError::Unsafe => badarg(),
    })?;
    Ok(if used { caller.heap().tuple(&[term, Term::small(length as i64)]) } else { term })
}
