//! `unicode`.

use atoll_code::registry;
use atoll_operations::unicode::{self, Converted, Encoding};
use atoll_process::{BuiltIn, Caller, Interrupt, Outcome, badarg};
use atoll_term::{Term, atoms};

use crate::charging::charge_bytes;

/// What this file provides.
pub const BUILT_INS: &[BuiltIn] = &[
    BuiltIn::new("unicode", "bin_is_7bit", 1, bin_is_7bit),
    BuiltIn::new("unicode", "characters_to_binary", 2, characters_to_binary),
    BuiltIn::new("unicode", "characters_to_list", 2, characters_to_list),
];

fn bin_is_7bit(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    charge_bytes(caller, arguments[0].bits().map_or(0, |bits| bits.byte_length()));
    Ok(Term::boolean(unicode::bin_is_7bit(arguments[0])))
}

/// The encoding that an argument names, if the machine knows it.
fn encoding(term: Term) -> Option<Encoding> {
    match term {
        atoms::LATIN1 => Some(Encoding::Latin1),
        atoms::UTF8 | atoms::UNICODE => Some(Encoding::Utf8),
        _ => None,
    }
}

/// Leaves the other encodings to the Erlang code of this name.
fn in_erlang(name: &str, arguments: &[Term]) -> Interrupt {
    match (atoms::atom("unicode"), atoms::atom(name)) {
        (Ok(module), Ok(name)) => Interrupt::Call(registry().export(module, name, 2), arguments.to_vec()),
        _ => badarg(),
    }
}

fn charge(caller: &mut Caller<'_>, converted: &Converted) {
    let (Converted::All(text) | Converted::Error(text, _) | Converted::Incomplete(text, _)) = converted;
    charge_bytes(caller, text.len());
}

fn characters_to_binary(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let Some(encoding) = encoding(arguments[1]) else {
        return Err(in_erlang("characters_to_binary_int", arguments));
    };
    // What needs no conversion is its own result.
    if let Some(bytes) = arguments[0].bits().filter(|bits| bits.is_binary()).map(|bits| bits.to_bytes()) {
        let is_same = match encoding {
            Encoding::Latin1 => bytes.is_ascii(),
            Encoding::Utf8 => std::str::from_utf8(&bytes).is_ok(),
        };
        charge_bytes(caller, bytes.len());
        if is_same {
            return Ok(arguments[0]);
        }
    }
    let converted = unicode::convert(unicode::only_binary(arguments[0]), encoding, caller.heap())?;
    charge(caller, &converted);
    Ok(converted.to_binary(caller.heap())?)
}

fn characters_to_list(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let Some(encoding) = encoding(arguments[1]) else {
        return Err(in_erlang("characters_to_list_int", arguments));
    };
    // What needs no conversion is its own result here, too.
    if let Some(length) = unicode::length_of_characters(arguments[0], encoding) {
        charge_bytes(caller, length);
        return Ok(arguments[0]);
    }
    let converted = unicode::convert(arguments[0], encoding, caller.heap())?;
    charge(caller, &converted);
    Ok(converted.to_list(caller.heap())?)
}
