//! `atomics` and `counters`: arrays of 64-bit integers that processes share.
//!
//! Counters for much concurrency have one array too, where OTP has one for each scheduler.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use atoll_operations::Exception;
use atoll_process::{BuiltIn, Caller, Outcome, ReferenceId};
use atoll_term::{Build, MagicValue, Term, atoms, map};

use crate::support::{atom, badarg, charge_elements, row};

/// What this file provides.
pub const BUILT_INS: &[BuiltIn] = &[
    row("erts_internal", "atomics_new", 2, atomics_new),
    row("atomics", "get", 2, get),
    row("atomics", "put", 3, put),
    row("atomics", "add", 3, add),
    row("atomics", "add_get", 3, add_get),
    row("atomics", "exchange", 3, exchange),
    row("atomics", "compare_exchange", 4, compare_exchange),
    row("atomics", "info", 1, info),
    row("erts_internal", "counters_new", 1, counters_new),
    row("erts_internal", "counters_get", 2, get),
    row("erts_internal", "counters_put", 3, put),
    row("erts_internal", "counters_add", 3, add),
    row("erts_internal", "counters_info", 1, counters_info),
];

/// An array, as 64 bits whose sign is a matter of view.
struct Array {
    signed: bool,
    cells: Box<[AtomicU64]>,
}

/// Most cells of an array.
const MAX_CELLS: u64 = 1 << 32;
/// Bytes that OTP needs besides the cells.
const HEAD_BYTES: usize = 40;
/// The bit of the second argument that asks for a sign.
const SIGNED: i64 = 1;

impl Array {
    /// The bits of a value to be stored.
    fn bits(&self, value: Term) -> Result<u64, Exception> {
        let bits = if self.signed { value.to_i64().map(i64::cast_unsigned) } else { value.to_u64() };
        bits.ok_or(Exception::badarg())
    }

    fn term(&self, caller: &mut Caller<'_>, bits: u64) -> Term {
        if self.signed { caller.heap().integer(bits.cast_signed()) } else { caller.heap().unsigned(bits) }
    }
}

fn new(caller: &mut Caller<'_>, size: Term, signed: bool) -> Outcome {
    let is_negative = size.as_small().is_none_or(|size| size <= 0) && size.as_big().is_none_or(|big| big.negative);
    if is_negative {
        return Err(badarg());
    }
    let size = size.to_u64().filter(|size| *size <= MAX_CELLS).ok_or(Exception::system_limit())?;
    charge_elements(caller, size as usize);
    let array = Array { signed, cells: (0..size).map(|_| AtomicU64::new(0)).collect() };
    let value = Arc::new(MagicValue(Box::new(array)));
    Ok(caller.heap().magic_reference(ReferenceId::fresh().0, value))
}

fn atomics_new(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let options = arguments[1].as_small().ok_or(Exception::badarg())?;
    new(caller, arguments[0], options & SIGNED != 0)
}

fn counters_new(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    new(caller, arguments[0], true)
}

fn array<'h>(reference: Term) -> Result<&'h Array, Exception> {
    reference.magic_value().and_then(|value| value.0.downcast_ref::<Array>()).ok_or(Exception::badarg())
}

/// The array and the cell that the first two arguments name.
fn cell<'h>(arguments: &[Term]) -> Result<(&'h Array, &'h AtomicU64), Exception> {
    let array = array(arguments[0])?;
    let index = arguments[1].as_small().and_then(|index| usize::try_from(index).ok());
    let cell = index.and_then(|index| array.cells.get(index.checked_sub(1)?)).ok_or(Exception::badarg())?;
    Ok((array, cell))
}

fn get(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let (array, cell) = cell(arguments)?;
    Ok(array.term(caller, cell.load(Ordering::SeqCst)))
}

fn put(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let (array, cell) = cell(arguments)?;
    cell.store(array.bits(arguments[2])?, Ordering::SeqCst);
    Ok(atoms::OK)
}

/// What is added may be any integer that fits 64 bits, with or without sign.
fn increment(term: Term) -> Result<u64, Exception> {
    term.to_i64().map(i64::cast_unsigned).or_else(|| term.to_u64()).ok_or(Exception::badarg())
}

fn add(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let (_, cell) = cell(arguments)?;
    cell.fetch_add(increment(arguments[2])?, Ordering::SeqCst);
    Ok(atoms::OK)
}

fn add_get(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let (array, cell) = cell(arguments)?;
    let increment = increment(arguments[2])?;
    let sum = cell.fetch_add(increment, Ordering::SeqCst).wrapping_add(increment);
    Ok(array.term(caller, sum))
}

fn exchange(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let (array, cell) = cell(arguments)?;
    let old = cell.swap(array.bits(arguments[2])?, Ordering::SeqCst);
    Ok(array.term(caller, old))
}

fn compare_exchange(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let (array, cell) = cell(arguments)?;
    let (expected, desired) = (array.bits(arguments[2])?, array.bits(arguments[3])?);
    match cell.compare_exchange(expected, desired, Ordering::SeqCst, Ordering::SeqCst) {
        Ok(_) => Ok(atoms::OK),
        Err(actual) => Ok(array.term(caller, actual)),
    }
}

/// `size` and `memory`, as pairs of a map.
fn sizes(array: &Array) -> Result<Vec<(Term, Term)>, Exception> {
    let size = array.cells.len();
    let memory = HEAD_BYTES + size * size_of::<AtomicU64>();
    Ok(vec![(atom("size")?, Term::small(size as i64)), (atoms::MEMORY, Term::small(memory as i64))])
}

fn info(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let array = array(arguments[0])?;
    let mut pairs = sizes(array)?;
    let (least, most) =
        if array.signed { (i64::MIN.cast_unsigned(), i64::MAX.cast_unsigned()) } else { (u64::MIN, u64::MAX) };
    pairs.push((atoms::MIN, array.term(caller, least)));
    pairs.push((atoms::MAX, array.term(caller, most)));
    Ok(map::from_pairs(caller.heap(), &pairs))
}

fn counters_info(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let pairs = sizes(array(arguments[0])?)?;
    Ok(map::from_pairs(caller.heap(), &pairs))
}
