//! Clocks, unique numbers, and the calendar's conversions.

use atoll_operations::{arithmetic, list};
use atoll_platform::clock;
use atoll_process::unique::{LOWEST_UNIQUE, later_than_before, unique_monotonic};
use atoll_process::{BuiltIn, Caller, Outcome, ReferenceId, badarg};
use atoll_term::{Build, Term, atoms};

/// What this file provides.
pub const BUILT_INS: &[BuiltIn] = &[
    BuiltIn::new("erlang", "monotonic_time", 0, monotonic_time),
    BuiltIn::new("erlang", "monotonic_time", 1, monotonic_time_in),
    BuiltIn::new("erlang", "system_time", 0, system_time),
    BuiltIn::new("erlang", "system_time", 1, system_time_in),
    BuiltIn::new("os", "system_time", 0, os_system_time),
    BuiltIn::new("os", "system_time", 1, os_system_time_in),
    BuiltIn::new("os", "perf_counter", 0, perf_counter),
    BuiltIn::new("erts_internal", "perf_counter_unit", 0, unit),
    BuiltIn::new("erts_internal", "time_unit", 0, unit),
    BuiltIn::new("erlang", "time_offset", 0, time_offset),
    BuiltIn::new("erlang", "time_offset", 1, time_offset_in),
    BuiltIn::new("erlang", "timestamp", 0, timestamp),
    BuiltIn::new("os", "timestamp", 0, os_timestamp),
    BuiltIn::new("erlang", "now", 0, now),
    BuiltIn::new("erlang", "unique_integer", 0, unique_integer),
    BuiltIn::new("erlang", "unique_integer", 1, unique_integer_of),
    BuiltIn::new("erlang", "make_ref", 0, make_ref),
];

/// The unit of the clocks: parts of a second.
const NANOSECONDS: i64 = 1_000_000_000;

/// Parts of a second that a time unit has.
fn parts(unit: Term) -> Option<i64> {
    match unit {
        atoms::SECOND | atoms::SECONDS => Some(1),
        atoms::MILLISECOND | atoms::MILLI_SECONDS => Some(1_000),
        atoms::MICROSECOND | atoms::MICRO_SECONDS => Some(1_000_000),
        atoms::NANOSECOND | atoms::NANO_SECONDS | atoms::NATIVE | atoms::PERF_COUNTER => Some(NANOSECONDS),
        _ => unit.as_small().filter(|parts| *parts > 0),
    }
}

/// Nanoseconds in another unit, rounded down.
fn in_unit(caller: &mut Caller<'_>, nanoseconds: i64, unit: Term) -> Outcome {
    let Some(parts) = parts(unit) else {
        // More parts than a small integer counts.
        if unit.is_integer() && unit.as_big().is_some_and(|big| !big.negative) {
            let heap = caller.heap();
            let time = heap.integer(nanoseconds);
            let product = arithmetic::multiply(heap, time, unit)?;
            return Ok(arithmetic::integer_divide(heap, product, Term::small(NANOSECONDS))?);
        }
        return Err(badarg());
    };
    let value = (i128::from(nanoseconds) * i128::from(parts)).div_euclid(i128::from(NANOSECONDS));
    Ok(caller.heap().bigint(&value.into()))
}

fn monotonic_time(caller: &mut Caller<'_>, _: &[Term]) -> Outcome {
    Ok(caller.heap().integer(clock::now()))
}

fn monotonic_time_in(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    in_unit(caller, clock::now(), arguments[0])
}

/// Erlang system time in nanoseconds.
pub fn system_nanoseconds() -> i64 {
    clock::now() + clock::offset()
}

fn system_time(caller: &mut Caller<'_>, _: &[Term]) -> Outcome {
    Ok(caller.heap().integer(system_nanoseconds()))
}

fn system_time_in(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    in_unit(caller, system_nanoseconds(), arguments[0])
}

fn os_system_time(caller: &mut Caller<'_>, _: &[Term]) -> Outcome {
    Ok(caller.heap().integer(clock::now_since_1970()))
}

fn os_system_time_in(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    in_unit(caller, clock::now_since_1970(), arguments[0])
}

fn perf_counter(caller: &mut Caller<'_>, _: &[Term]) -> Outcome {
    Ok(caller.heap().integer(clock::now()))
}

fn unit(_: &mut Caller<'_>, _: &[Term]) -> Outcome {
    Ok(Term::small(NANOSECONDS))
}

fn time_offset(caller: &mut Caller<'_>, _: &[Term]) -> Outcome {
    Ok(caller.heap().integer(clock::offset()))
}

fn time_offset_in(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    in_unit(caller, clock::offset(), arguments[0])
}

/// `{MegaSeconds, Seconds, MicroSeconds}`
fn triple(caller: &mut Caller<'_>, microseconds: i64) -> Term {
    let seconds = microseconds / 1_000_000;
    let parts = [seconds / 1_000_000, seconds % 1_000_000, microseconds % 1_000_000];
    caller.heap().tuple(&parts.map(Term::small))
}

fn timestamp(caller: &mut Caller<'_>, _: &[Term]) -> Outcome {
    Ok(triple(caller, system_nanoseconds() / 1_000))
}

fn os_timestamp(caller: &mut Caller<'_>, _: &[Term]) -> Outcome {
    Ok(triple(caller, clock::now_since_1970() / 1_000))
}

/// `now/0`: unique, and always later than before.
fn now(caller: &mut Caller<'_>, _: &[Term]) -> Outcome {
    let time = later_than_before(system_nanoseconds() / 1_000);
    Ok(triple(caller, time))
}

fn unique_integer(caller: &mut Caller<'_>, _: &[Term]) -> Outcome {
    unique(caller, false, false)
}

/// `unique_integer([monotonic | positive])`
fn unique_integer_of(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let (mut monotonic, mut positive) = (false, false);
    for option in list::elements_or_badarg(arguments[0])? {
        match option {
            atoms::MONOTONIC => monotonic = true,
            atoms::POSITIVE => positive = true,
            _ => return Err(badarg()),
        }
    }
    unique(caller, monotonic, positive)
}

fn unique(caller: &mut Caller<'_>, monotonic: bool, positive: bool) -> Outcome {
    let number = if monotonic {
        unique_monotonic(positive)
    } else {
        // Unique among each other is enough: numbers of references are, and cost no shared counter.
        let [low, high, _] = ReferenceId::fresh().0;
        let number = i64::from(low) | i64::from(high) << 18;
        if positive { number } else { LOWEST_UNIQUE + number }
    };
    Ok(caller.heap().integer(number))
}

fn make_ref(caller: &mut Caller<'_>, _: &[Term]) -> Outcome {
    Ok(ReferenceId::fresh().term(caller.heap()))
}
