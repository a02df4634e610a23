//! Numbers and atoms to text and back.

use std::borrow::Cow;

use atoll_operations::float_text::{self, FloatFormat, FloatText};
use atoll_operations::{Exception, integer_text};
use atoll_process::{BuiltIn, Caller, Outcome, badarg};
use atoll_term::atoms::{self, MAX_ATOM_CHARACTERS, atom_name};
use atoll_term::{Build, Term, View};

use crate::charging::charge_bytes;
use crate::texts::{byte_list, text_list};

/// What this file provides.
pub const BUILT_INS: &[BuiltIn] = &[
    BuiltIn::new("erlang", "integer_to_list", 1, integer_to_list),
    BuiltIn::new("erlang", "integer_to_list", 2, integer_to_list),
    BuiltIn::new("erlang", "integer_to_binary", 1, integer_to_binary),
    BuiltIn::new("erlang", "integer_to_binary", 2, integer_to_binary),
    BuiltIn::new("erlang", "list_to_integer", 1, list_to_integer),
    BuiltIn::new("erlang", "list_to_integer", 2, list_to_integer),
    BuiltIn::new("erts_internal", "list_to_integer", 2, list_to_integer_or_reason),
    BuiltIn::new("erlang", "binary_to_integer", 1, binary_to_integer),
    BuiltIn::new("erlang", "binary_to_integer", 2, binary_to_integer),
    BuiltIn::new("erts_internal", "binary_to_integer", 2, binary_to_integer_or_reason),
    BuiltIn::new("string", "list_to_integer", 1, string_to_integer),
    BuiltIn::new("string", "list_to_float", 1, string_to_float),
    BuiltIn::new("erlang", "float_to_list", 1, float_to_list),
    BuiltIn::new("erlang", "float_to_list", 2, float_to_list),
    BuiltIn::new("erlang", "float_to_binary", 1, float_to_binary),
    BuiltIn::new("erlang", "float_to_binary", 2, float_to_binary),
    BuiltIn::new("erlang", "list_to_float", 1, list_to_float),
    BuiltIn::new("erlang", "binary_to_float", 1, binary_to_float),
    BuiltIn::new("erlang", "atom_to_list", 1, atom_to_list),
    BuiltIn::new("erlang", "list_to_atom", 1, list_to_atom),
    BuiltIn::new("erlang", "list_to_existing_atom", 1, list_to_existing_atom),
    BuiltIn::new("erlang", "atom_to_binary", 1, atom_to_binary),
    BuiltIn::new("erlang", "atom_to_binary", 2, atom_to_binary),
    BuiltIn::new("erlang", "binary_to_atom", 1, binary_to_atom),
    BuiltIn::new("erlang", "binary_to_atom", 2, binary_to_atom),
    BuiltIn::new("erlang", "binary_to_existing_atom", 1, binary_to_existing_atom),
    BuiltIn::new("erlang", "binary_to_existing_atom", 2, binary_to_existing_atom),
];

/// The base in the second argument, 10 if there is none.
fn base(arguments: &[Term]) -> Result<u32, Exception> {
    let Some(base) = arguments.get(1) else { return Ok(10) };
    let base = base.as_small().and_then(|base| u32::try_from(base).ok());
    base.filter(|base| integer_text::is_base(*base)).ok_or(Exception::badarg())
}

fn text_of_integer(arguments: &[Term]) -> Result<String, Exception> {
    integer_text::integer_term_text(arguments[0], base(arguments)?).ok_or(Exception::badarg())
}

fn integer_to_list(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    if let [integer] = arguments
        && let Some(value) = integer.as_small()
    {
        let text = integer_text::Decimal::new(value);
        return Ok(caller.heap().list(text.bytes().iter().map(|byte| Term::small((*byte).into()))));
    }
    let text = text_of_integer(arguments)?;
    charge_conversion(caller, text.len());
    Ok(text_list(caller, &text))
}

fn integer_to_binary(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    if let [integer] = arguments
        && let Some(value) = integer.as_small()
    {
        return Ok(caller.heap().binary(integer_text::Decimal::new(value).bytes()));
    }
    let text = text_of_integer(arguments)?;
    charge_bytes(caller, text.len());
    charge_conversion(caller, text.len());
    Ok(caller.heap().binary(text.as_bytes()))
}

/// Most bytes of an integer as text that is looked at; a longer one is above the largest integer in every base.
const MAX_INTEGER_TEXT: usize = 1 << 26;

/// Digits of a large integer from which on each costs more.
const MANY_DIGITS: usize = 1_000;

/// Charges for what an integer of many digits costs beside its length: more than in proportion to that.
fn charge_conversion(caller: &mut Caller<'_>, digits: usize) {
    charge_bytes(caller, digits / MANY_DIGITS * digits);
}

/// The integer of text, `system_limit` if it is too large.
fn integer_of(caller: &mut Caller<'_>, text: &[u8], base: u32) -> Result<Term, Exception> {
    charge_bytes(caller, text.len());
    charge_conversion(caller, text.len());
    let value = integer_text::integer_from_text(text, base).ok_or(Exception::badarg())?;
    if let integer_text::Integer::Large(value) = &value
        && value.bits() > atoll_operations::number::MAX_BITS
    {
        return Err(Exception::system_limit());
    }
    Ok(value.to_term(caller.heap()))
}

fn bytes_of_list(list: Term) -> Result<Vec<u8>, Exception> {
    byte_list(list, MAX_INTEGER_TEXT).ok_or(Exception::badarg())
}

fn bytes_of_binary(binary: &Term) -> Result<Cow<'_, [u8]>, Exception> {
    let bits = binary.bits().filter(|bits| bits.is_binary()).ok_or(Exception::badarg())?;
    Ok(bits.to_bytes())
}

fn list_to_integer(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let (base, text) = (base(arguments)?, bytes_of_list(arguments[0])?);
    Ok(integer_of(caller, &text, base)?)
}

fn binary_to_integer(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let base = base(arguments)?;
    // Most are short.
    if base == 10
        && let Some(value) = arguments[0].aligned_binary().and_then(integer_text::short_integer)
    {
        return Ok(caller.heap().integer(value));
    }
    let text = bytes_of_binary(&arguments[0])?;
    Ok(integer_of(caller, &text, base)?)
}

/// The atom by which OTP 27's Erlang code learns why there is no integer.
fn reason_of(exception: Exception) -> Outcome {
    Ok(if exception.reason == atoms::SYSTEM_LIMIT { atoms::atom("big")? } else { atoms::BADARG })
}

fn binary_to_integer_or_reason(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let read = || Ok((base(arguments)?, bytes_of_binary(&arguments[0])?));
    read().and_then(|(base, text)| integer_of(caller, &text, base)).or_else(reason_of)
}

fn list_to_integer_or_reason(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let (list, base) = (arguments[0], base(arguments));
    if !list.is_list() {
        return Ok(atoms::atom("not_a_list")?);
    }
    let base = match base {
        Ok(base) => base,
        Err(exception) => return reason_of(exception),
    };
    let text = prefix(list, |byte| byte.is_ascii_alphanumeric() || b"+-".contains(&byte));
    let Some((_, length)) = integer_text::integer_prefix(&text, base) else { return Ok(atoms::atom("no_integer")?) };
    match integer_of(caller, &text[..length], base) {
        Ok(value) => number_and_rest(caller, value, list, length),
        Err(exception) => reason_of(exception),
    }
}

/// The longest start of a list that consists of such bytes.
fn prefix(list: Term, belongs: impl Fn(u8) -> bool) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = list;
    while rest.is_cons()
        && let Some(byte) = rest.head().as_small().and_then(|byte| u8::try_from(byte).ok())
        && belongs(byte)
    {
        bytes.push(byte);
        rest = rest.tail();
    }
    bytes
}

/// The longest start of a list that may be part of a decimal number.
fn number_prefix(list: Term) -> Vec<u8> {
    prefix(list, |byte| byte.is_ascii_digit() || b"+-.,eE".contains(&byte))
}

fn error_pair(caller: &mut Caller<'_>, reason: &str) -> Outcome {
    let reason = atoms::atom(reason)?;
    Ok(caller.heap().tuple(&[atoms::ERROR, reason]))
}

/// `{Number, Rest}` after so many characters of a list.
fn number_and_rest(caller: &mut Caller<'_>, number: Term, list: Term, length: usize) -> Outcome {
    charge_bytes(caller, length);
    let mut rest = list;
    for _ in 0..length {
        rest = rest.tail();
    }
    Ok(caller.heap().tuple(&[number, rest]))
}

fn string_to_integer(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let list = arguments[0];
    if !list.is_list() {
        return error_pair(caller, "not_a_list");
    }
    match integer_text::integer_prefix(&number_prefix(list), 10) {
        Some((value, length)) => {
            let value = value.to_term(caller.heap());
            number_and_rest(caller, value, list, length)
        }
        None => error_pair(caller, "no_integer"),
    }
}

fn string_to_float(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let list = arguments[0];
    if !list.is_list() {
        return error_pair(caller, "not_a_list");
    }
    match float_text::float_prefix(&number_prefix(list)) {
        Some((value, length)) => {
            let value = caller.heap().float(value);
            number_and_rest(caller, value, list, length)
        }
        None => error_pair(caller, "no_float"),
    }
}

/// The format that a list of options asks for; of several, the last one counts.
fn float_format(options: Term) -> Option<FloatFormat> {
    let (mut format, mut compact, mut rest) = (FloatFormat::DEFAULT, false, options);
    while let View::Cons(option, tail) = rest.view() {
        rest = tail;
        match option.view() {
            View::Atom(atoms::COMPACT) => compact = true,
            View::Atom(atoms::SHORT) => format = FloatFormat::Short,
            View::Tuple([name, digits]) => {
                let digits = u32::try_from(digits.as_small()?).ok()?;
                if *name == atoms::DECIMALS && digits <= float_text::MAX_DECIMALS {
                    format = FloatFormat::Decimals { digits, compact: false };
                } else if *name == atoms::SCIENTIFIC && digits <= float_text::MAX_SCIENTIFIC_DIGITS {
                    format = FloatFormat::Scientific(digits);
                } else {
                    return None;
                }
            }
            _ => return None,
        }
    }
    if let FloatFormat::Decimals { digits, .. } = format {
        format = FloatFormat::Decimals { digits, compact };
    }
    rest.is_nil().then_some(format)
}

fn text_of_float(arguments: &[Term], text: &mut FloatText) -> Result<(), Exception> {
    let format = match arguments.get(1) {
        Some(options) => float_format(*options),
        None => Some(FloatFormat::DEFAULT),
    };
    let value = arguments[0].as_float().ok_or(Exception::badarg())?;
    let format = format.ok_or(Exception::badarg())?;
    float_text::float_text(text, value, format).map_err(|_| Exception::badarg())
}

fn float_to_list(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let mut text = FloatText::new();
    text_of_float(arguments, &mut text)?;
    Ok(text_list(caller, &text))
}

fn float_to_binary(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let mut text = FloatText::new();
    text_of_float(arguments, &mut text)?;
    Ok(caller.heap().binary(text.as_bytes()))
}

fn float_of(caller: &mut Caller<'_>, text: &[u8]) -> Outcome {
    charge_bytes(caller, text.len());
    let value = float_text::float_from_text(text).ok_or(Exception::badarg())?;
    Ok(caller.heap().float(value))
}

fn list_to_float(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    float_of(caller, &bytes_of_list(arguments[0])?)
}

fn binary_to_float(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    float_of(caller, &bytes_of_binary(&arguments[0])?)
}

fn atom_to_list(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    if !arguments[0].is_atom() {
        return Err(badarg());
    }
    Ok(caller.heap().string(atom_name(arguments[0])))
}

/// The name in a list of code points.
///
/// # Errors
/// `badarg`; `system_limit`: more than 255 characters
fn name_of_list(list: Term) -> Result<String, Exception> {
    let (mut name, mut rest, mut length) = (String::new(), list, 0);
    while rest.is_cons() {
        if length == MAX_ATOM_CHARACTERS {
            return Err(Exception::system_limit());
        }
        let code = rest.head().as_small().and_then(|code| u32::try_from(code).ok());
        let character = code.and_then(char::from_u32).ok_or(Exception::badarg())?;
        name.push(character);
        length += 1;
        rest = rest.tail();
    }
    if !rest.is_nil() {
        return Err(Exception::badarg());
    }
    Ok(name)
}

fn list_to_atom(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    Ok(atoms::atom(&name_of_list(arguments[0])?)?)
}

/// An atom that exists.
///
/// # Errors
/// `badarg`: there is none of this name
fn existing(name: Result<String, Exception>) -> Outcome {
    Ok(name.ok().and_then(|name| atoms::existing_atom(&name)).ok_or(Exception::badarg())?)
}

fn list_to_existing_atom(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    existing(name_of_list(arguments[0]))
}

/// Whether the encoding in the second argument is Latin-1; it is UTF-8 if there is none.
///
/// # Errors
/// `badarg`
fn is_latin1(arguments: &[Term]) -> Result<bool, Exception> {
    match arguments.get(1) {
        Some(encoding) if *encoding == atoms::LATIN1 => Ok(true),
        None => Ok(false),
        Some(encoding) if *encoding == atoms::UTF8 || *encoding == atoms::UNICODE => Ok(false),
        Some(_) => Err(Exception::badarg()),
    }
}

fn atom_to_binary(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    if !arguments[0].is_atom() {
        return Err(badarg());
    }
    let name = atom_name(arguments[0]);
    if !is_latin1(arguments)? {
        return Ok(caller.heap().binary(name.as_bytes()));
    }
    let bytes: Option<Vec<u8>> = name.chars().map(|character| u8::try_from(u32::from(character)).ok()).collect();
    Ok(caller.heap().binary(&bytes.ok_or(Exception::badarg())?))
}

fn name_of_binary(arguments: &[Term]) -> Result<String, Exception> {
    let bytes = bytes_of_binary(&arguments[0])?;
    if is_latin1(arguments)? {
        return if bytes.len() > MAX_ATOM_CHARACTERS {
            Err(Exception::system_limit())
        } else {
            Ok(bytes.iter().copied().map(char::from).collect())
        };
    }
    let (text, is_whole) = match str::from_utf8(&bytes) {
        Ok(text) => (text, true),
        Err(error) => (str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default(), false),
    };
    if text.chars().count() > MAX_ATOM_CHARACTERS || bytes.len() > 4 * MAX_ATOM_CHARACTERS {
        return Err(Exception::system_limit());
    }
    if is_whole { Ok(text.to_owned()) } else { Err(Exception::badarg()) }
}

fn binary_to_atom(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let name = name_of_binary(arguments)?;
    Ok(atoms::atom(&name)?)
}

fn binary_to_existing_atom(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    existing(name_of_binary(arguments))
}
