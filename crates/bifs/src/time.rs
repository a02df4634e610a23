//! Clocks, unique numbers, and the calendar's conversions.

use std::sync::OnceLock;

use atoll_operations::arithmetic;
use atoll_platform::clock;
use atoll_process::tracing::{LOWEST_UNIQUE, later_than_before, unique_monotonic};
use atoll_process::{BuiltIn, Caller, Outcome, ReferenceId};
use atoll_term::{Build, Term, atoms};

use crate::process_support::{badarg, list_elements};

/// What this file provides.
pub const BUILT_INS: &[BuiltIn] = &[
    BuiltIn { module: "erlang", name: "monotonic_time", arity: 0, function: monotonic_time },
    BuiltIn { module: "erlang", name: "monotonic_time", arity: 1, function: monotonic_time_in },
    BuiltIn { module: "erlang", name: "system_time", arity: 0, function: system_time },
    BuiltIn { module: "erlang", name: "system_time", arity: 1, function: system_time_in },
    BuiltIn { module: "os", name: "system_time", arity: 0, function: os_system_time },
    BuiltIn { module: "os", name: "system_time", arity: 1, function: os_system_time_in },
    BuiltIn { module: "os", name: "perf_counter", arity: 0, function: perf_counter },
    BuiltIn { module: "erts_internal", name: "perf_counter_unit", arity: 0, function: unit },
    BuiltIn { module: "erts_internal", name: "time_unit", arity: 0, function: unit },
    BuiltIn { module: "erlang", name: "time_offset", arity: 0, function: time_offset },
    BuiltIn { module: "erlang", name: "time_offset", arity: 1, function: time_offset_in },
    BuiltIn { module: "erlang", name: "timestamp", arity: 0, function: timestamp },
    BuiltIn { module: "os", name: "timestamp", arity: 0, function: os_timestamp },
    BuiltIn { module: "erlang", name: "now", arity: 0, function: now },
    BuiltIn { module: "erlang", name: "unique_integer", arity: 0, function: unique_integer },
    BuiltIn { module: "erlang", name: "unique_integer", arity: 1, function: unique_integer_of },
    BuiltIn { module: "erlang", name: "make_ref", arity: 0, function: make_ref },
];

/// The unit of the clocks: parts of a second.
const NANOSECONDS: i64 = 1_000_000_000;

/// System time minus monotonic time, fixed when the machine starts: time does not warp.
pub fn offset() -> i64 {
    static OFFSET: OnceLock<i64> = OnceLock::new();
    *OFFSET.get_or_init(|| clock::system() - clock::monotonic())
}

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
    Ok(caller.heap().integer(clock::monotonic()))
}

fn monotonic_time_in(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    in_unit(caller, clock::monotonic(), arguments[0])
}

/// Erlang system time in nanoseconds.
pub fn system_nanoseconds() -> i64 {
    clock::monotonic() + offset()
}

fn system_time(caller: &mut Caller<'_>, _: &[Term]) -> Outcome {
    Ok(caller.heap().integer(system_nanoseconds()))
}

fn system_time_in(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    in_unit(caller, system_nanoseconds(), arguments[0])
}

fn os_system_time(caller: &mut Caller<'_>, _: &[Term]) -> Outcome {
    Ok(caller.heap().integer(clock::system()))
}

fn os_system_time_in(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    in_unit(caller, clock::system(), arguments[0])
}

fn perf_counter(caller: &mut Caller<'_>, _: &[Term]) -> Outcome {
    Ok(caller.heap().integer(clock::monotonic()))
}

fn unit(_: &mut Caller<'_>, _: &[Term]) -> Outcome {
    Ok(Term::small(NANOSECONDS))
}

fn time_offset(caller: &mut Caller<'_>, _: &[Term]) -> Outcome {
    Ok(caller.heap().integer(offset()))
}

fn time_offset_in(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    in_unit(caller, offset(), arguments[0])
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
    Ok(triple(caller, clock::system() / 1_000))
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
    for option in list_elements(arguments[0]).ok_or_else(badarg)? {
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
