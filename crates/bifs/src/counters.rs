//! `counters` with `write_concurrency`: each scheduler counts for itself, and a reader adds up. The other kind is an
//! array of `atomics`.

use std::sync::atomic::{AtomicU64, Ordering};

use atoll_operations::Exception;
use atoll_process::{BuiltIn, Caller, Outcome, ReferenceId, System, badarg};
use atoll_term::{Build, Term, atoms, map};

use crate::atomics::{HEAD_BYTES, increment, position, size_argument};
use crate::charging::charge_elements;

/// What this file provides.
pub const BUILT_INS: &[BuiltIn] = &[
    BuiltIn::new("erts_internal", "counters_new", 1, new),
    BuiltIn::new("erts_internal", "counters_get", 2, get),
    BuiltIn::new("erts_internal", "counters_put", 3, put),
    BuiltIn::new("erts_internal", "counters_add", 3, add),
    BuiltIn::new("erts_internal", "counters_info", 1, info),
];

/// Cells of a cache line.
const LINE_CELLS: usize = 8;

/// Cells that are written by one scheduler alone.
#[derive(Default)]
#[repr(align(64))]
struct Line([AtomicU64; LINE_CELLS]);

/// The sum of a counter's cells is its value.
struct Counters {
    size: usize,
    /// First what was put, then one for each scheduler.
    parts: Vec<Box<[Line]>>,
}

impl Counters {
    fn cell(&self, part: usize, index: usize) -> &AtomicU64 {
        &self.parts[part][index / LINE_CELLS].0[index % LINE_CELLS]
    }

    fn sum(&self, parts: std::ops::Range<usize>, index: usize) -> u64 {
        parts.fold(0, |sum: u64, part| sum.wrapping_add(self.cell(part, index).load(Ordering::Relaxed)))
    }
}

fn new(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let size = size_argument(arguments[0])?;
    let part = || (0..size.div_ceil(LINE_CELLS)).map(|_| Line::default()).collect();
    let counters = Counters { size, parts: (0..=System::get().schedulers).map(|_| part()).collect() };
    charge_elements(caller, size * counters.parts.len());
    Ok(ReferenceId::of_known_value(caller.heap(), counters))
}

fn counters(reference: &Term) -> Result<&Counters, Exception> {
    reference.magic().ok_or(Exception::badarg())
}

fn counter(arguments: &[Term]) -> Result<(&Counters, usize), Exception> {
    let counters = counters(&arguments[0])?;
    Ok((counters, position(arguments[1], counters.size)?))
}

fn get(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let (counters, index) = counter(arguments)?;
    let value = counters.sum(0..counters.parts.len(), index);
    Ok(caller.heap().integer(value.cast_signed()))
}

/// What others add meanwhile may be lost or not, as OTP says of it.
fn put(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let (counters, index) = counter(arguments)?;
    let value = arguments[2].to_i64().ok_or_else(badarg)?;
    let added = counters.sum(1..counters.parts.len(), index);
    counters.cell(0, index).store(value.cast_unsigned().wrapping_sub(added), Ordering::Relaxed);
    Ok(atoms::OK)
}

fn add(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let (counters, index) = counter(arguments)?;
    let part = 1 + System::get().schedule().current();
    counters.cell(part, index).fetch_add(increment(arguments[2])?, Ordering::Relaxed);
    Ok(atoms::OK)
}

/// `size` and `memory`.
fn info(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let counters = counters(&arguments[0])?;
    let lines: usize = counters.parts.iter().map(|part| part.len()).sum();
    let memory = HEAD_BYTES + lines * size_of::<Line>();
    let pairs = [(atoms::atom("size")?, counters.size), (atoms::MEMORY, memory)];
    Ok(map::from_pairs(caller.heap(), &pairs.map(|(key, value)| (key, Term::small(value as i64)))))
}
