//! I/O lists, and binaries and bitstrings to lists and back.

use atoll_operations::{Exception, bit_part, iolist};
use atoll_process::{BuiltIn, Caller, Outcome, badarg};
use atoll_term::{Build, Term, View};

use crate::charging::charge_bytes;

/// What this file provides.
pub const BUILT_INS: &[BuiltIn] = &[
    BuiltIn::new("erlang", "iolist_to_binary", 1, iolist_to_binary),
    BuiltIn::new("erlang", "iolist_size", 1, iolist_size),
    BuiltIn::new("erlang", "iolist_to_iovec", 1, iolist_to_iovec),
    BuiltIn::new("erlang", "list_to_binary", 1, list_to_binary),
    BuiltIn::new("binary", "list_to_bin", 1, list_to_binary),
    BuiltIn::new("erlang", "list_to_bitstring", 1, list_to_bitstring),
    BuiltIn::new("erlang", "binary_to_list", 1, binary_to_list),
    BuiltIn::new("erlang", "binary_to_list", 3, binary_part_to_list),
    BuiltIn::new("erlang", "bitstring_to_list", 1, bitstring_to_list),
    BuiltIn::new("erlang", "split_binary", 2, split_binary),
];

/// Charges for a result that is a bitstring.
fn charged(caller: &mut Caller<'_>, result: Result<Term, Exception>) -> Outcome {
    let term = result?;
    charge_bytes(caller, term.bits().map_or(0, |bits| bits.byte_length()));
    Ok(term)
}

fn iolist_to_binary(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    if arguments[0].is_binary() {
        return Ok(arguments[0]);
    }
    let result = iolist::iolist_to_binary(caller.heap(), arguments[0]);
    charged(caller, result)
}

fn list_to_binary(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let result = iolist::list_to_binary(caller.heap(), arguments[0]);
    charged(caller, result)
}

fn list_to_bitstring(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let result = iolist::list_to_bitstring(caller.heap(), arguments[0]);
    charged(caller, result)
}

fn iolist_size(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let size = iolist::iolist_size(arguments[0])?;
    charge_bytes(caller, size as usize);
    Ok(caller.heap().unsigned(size))
}

fn binary_to_list(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    charge_bytes(caller, arguments[0].bits().map_or(0, |bits| bits.byte_length()));
    Ok(iolist::binary_to_list(caller.heap(), arguments[0])?)
}

fn binary_part_to_list(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let [binary, start, stop] = *arguments else { return Err(badarg()) };
    if let (Some(start), Some(stop)) = (start.as_small(), stop.as_small()) {
        charge_bytes(caller, usize::try_from(stop.saturating_sub(start)).unwrap_or(0).min(1 << 24));
    }
    Ok(iolist::binary_part_to_list(caller.heap(), binary, start, stop)?)
}

fn bitstring_to_list(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    charge_bytes(caller, arguments[0].bits().map_or(0, |bits| bits.byte_length()));
    Ok(iolist::bitstring_to_list(caller.heap(), arguments[0])?)
}

fn split_binary(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let [binary, position] = *arguments else { return Err(badarg()) };
    let bits = binary.bits().ok_or(Exception::badarg())?;
    let position = position.as_small().and_then(|position| usize::try_from(position).ok()).ok_or(Exception::badarg())?;
    let at = position.checked_mul(8).filter(|at| *at <= bits.length() / 8 * 8).ok_or(Exception::badarg())?;
    let heap = caller.heap();
    let first = bit_part::part(heap, binary, 0, at).ok_or(Exception::badarg())?;
    let second = bit_part::part(heap, binary, at, bits.length() - at).ok_or(Exception::badarg())?;
    Ok(heap.tuple(&[first, second]))
}

/// Bytes from which on a binary is not copied but becomes an element itself.
const SHARED_BINARY: usize = 256;

/// A list of binaries: large ones of the argument as they are, the rest gathered between them. Where exactly OTP cuts
/// is not copied.
fn iolist_to_iovec(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let (mut here, mut outer) = (arguments[0], Vec::new());
    let (mut vector, mut gathered, mut size) = (Vec::new(), Vec::new(), 0);
    if !(here.is_list() || here.is_bitstring()) {
        return Err(badarg());
    }
    loop {
        match here.view() {
            View::Cons(head, tail) if head.is_small() => {
                let byte = head.as_small().and_then(|byte| u8::try_from(byte).ok());
                gathered.push(byte.ok_or(Exception::badarg())?);
                here = tail;
                continue;
            }
            View::Cons(head, tail) if head.is_list() || head.is_bitstring() => {
                outer.push(tail);
                here = head;
                continue;
            }
            View::Nil => {}
            View::Bits(bits) if bits.is_binary() => {
                size += bits.byte_length();
                if bits.byte_length() < SHARED_BINARY {
                    gathered.extend_from_slice(&bits.to_bytes());
                } else {
                    take_gathered(caller, &mut gathered, &mut vector);
                    vector.push(here);
                }
            }
            _ => return Err(badarg()),
        }
        match outer.pop() {
            Some(next) => here = next,
            None => break,
        }
    }
    charge_bytes(caller, size);
    take_gathered(caller, &mut gathered, &mut vector);
    Ok(caller.heap().list(vector))
}

fn take_gathered(caller: &mut Caller<'_>, gathered: &mut Vec<u8>, vector: &mut Vec<Term>) {
    if !gathered.is_empty() {
        vector.push(caller.heap().binary(gathered));
        gathered.clear();
    }
}
