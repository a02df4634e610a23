//! `atomics`: arrays of 64-bit integers that processes share.

use std::sync::atomic::{AtomicU64, Ordering};

use atoll_operations::Exception;
use atoll_process::{BuiltIn, Caller, Outcome, ReferenceId};
use atoll_term::{Build, Term, atoms, map};

use crate::charging::charge_elements;

/// What this file provides.
pub const BUILT_INS: &[BuiltIn] = &[
    BuiltIn::new("erts_internal", "atomics_new", 2, atomics_new),
    BuiltIn::new("atomics", "get", 2, get),
    BuiltIn::new("atomics", "put", 3, put),
    BuiltIn::new("atomics", "add", 3, add),
    BuiltIn::new("atomics", "add_get", 3, add_get),
    BuiltIn::new("atomics", "exchange", 3, exchange),
    BuiltIn::new("atomics", "compare_exchange", 4, compare_exchange),
    BuiltIn::new("atomics", "info", 1, info),
];

/// An array, as 64 bits whose sign is a matter of view.
struct Array {
    signed: bool,
    cells: Box<[AtomicU64]>,
}

/// Most cells of an array.
const MAX_CELLS: u64 = 1 << 32;
/// Bytes that OTP needs besides the cells.
pub const HEAD_BYTES: usize = 40;
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

/// Reads the number of an array's cells.
///
/// # Errors
/// `badarg` if it is no positive integer, `system_limit` if it is too large.
pub fn size_argument(size: Term) -> Result<usize, Exception> {
    let is_negative = size.as_small().is_none_or(|size| size <= 0) && size.as_big().is_none_or(|big| big.negative);
    if is_negative {
        return Err(Exception::badarg());
    }
    let size = size.to_u64().filter(|size| *size <= MAX_CELLS).ok_or(Exception::system_limit())?;
    Ok(size as usize)
}

fn atomics_new(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let options = arguments[1].as_small().ok_or(Exception::badarg())?;
    let size = size_argument(arguments[0])?;
    charge_elements(caller, size);
    let array = Array { signed: options & SIGNED != 0, cells: (0..size).map(|_| AtomicU64::new(0)).collect() };
    Ok(ReferenceId::of_known_value(caller.heap(), array))
}

fn array(reference: &Term) -> Result<&Array, Exception> {
    reference.magic().ok_or(Exception::badarg())
}

/// The array and the cell that the first two arguments name.
fn cell(arguments: &[Term]) -> Result<(&Array, &AtomicU64), Exception> {
    let array = array(&arguments[0])?;
    Ok((array, &array.cells[position(arguments[1], array.cells.len())?]))
}

/// Reads the number of a cell, which count from 1 to `size`; the result counts from 0.
///
/// # Errors
/// `badarg` if there is no such cell.
pub fn position(index: Term, size: usize) -> Result<usize, Exception> {
    let index = index.as_small().and_then(|index| usize::try_from(index).ok()?.checked_sub(1));
    index.filter(|index| *index < size).ok_or(Exception::badarg())
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
///
/// # Errors
/// `badarg` if it is none.
pub fn increment(term: Term) -> Result<u64, Exception> {
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

fn info(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let array = array(&arguments[0])?;
    let size = array.cells.len();
    let memory = HEAD_BYTES + size * size_of::<AtomicU64>();
    let mut pairs = vec![(atoms::atom("size")?, Term::small(size as i64)), (atoms::MEMORY, Term::small(memory as i64))];
    let (least, most) =
        if array.signed { (i64::MIN.cast_unsigned(), i64::MAX.cast_unsigned()) } else { (u64::MIN, u64::MAX) };
    pairs.push((atoms::MIN, array.term(caller, least)));
    pairs.push((atoms::MAX, array.term(caller, most)));
    Ok(map::from_pairs(caller.heap(), &pairs))
}
