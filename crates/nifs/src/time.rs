//! Clocks, unique numbers, and the time slice.

use std::ffi::c_int;

use atoll_platform::clock;
use atoll_process::ReferenceId;
use atoll_process::unique::{LOWEST_UNIQUE, later_than_before, unique_monotonic};
use atoll_term::{Build, Term};

use crate::env::{Env, enter_machine, thread_kind};

/// What is no time.
const NO_TIME: i64 = i64::MIN;
/// Reductions of a time slice.
const SLICE: i64 = 4000;
const POSITIVE: c_int = 1;
const MONOTONIC: c_int = 2;

/// Parts of a second in a unit.
fn parts(unit: c_int) -> Option<i64> {
    match unit {
        0 => Some(1),
        1 => Some(1_000),
        2 => Some(1_000_000),
        3 => Some(1_000_000_000),
        _ => None,
    }
}

fn convert(time: i64, from: i64, to: i64) -> i64 {
    (i128::from(time) * i128::from(to)).div_euclid(i128::from(from)) as i64
}

/// Only the machine's own threads know its time.
fn told(nanoseconds: i64, unit: c_int) -> i64 {
    match parts(unit) {
        Some(parts) if thread_kind() > 0 => convert(nanoseconds, 1_000_000_000, parts),
        _ => NO_TIME,
    }
}

#[unsafe(no_mangle)]
extern "C" fn enif_monotonic_time(unit: c_int) -> i64 {
    told(clock::now(), unit)
}

#[unsafe(no_mangle)]
extern "C" fn enif_time_offset(unit: c_int) -> i64 {
    told(clock::offset(), unit)
}

#[unsafe(no_mangle)]
extern "C" fn enif_convert_time_unit(time: i64, from: c_int, to: c_int) -> i64 {
    match (parts(from), parts(to)) {
        (Some(from), Some(to)) => convert(time, from, to),
        _ => NO_TIME,
    }
}

/// `{MegaSeconds, Seconds, MicroSeconds}`
fn triple(env: &mut Env, microseconds: i64) -> Term {
    let seconds = microseconds / 1_000_000;
    env.tuple(&[seconds / 1_000_000, seconds % 1_000_000, microseconds % 1_000_000].map(Term::small))
}

#[unsafe(no_mangle)]
extern "C" fn enif_now_time(env: &mut Env) -> Term {
    triple(env, later_than_before(atoll_bifs::system_nanoseconds() / 1_000))
}

#[unsafe(no_mangle)]
extern "C" fn enif_cpu_time(env: &mut Env) -> Term {
    triple(env, clock::thread_cpu() / 1_000)
}

#[unsafe(no_mangle)]
extern "C" fn enif_make_unique_integer(env: &mut Env, properties: c_int) -> Term {
    enter_machine();
    let positive = properties & POSITIVE != 0;
    let number = if properties & MONOTONIC != 0 {
        unique_monotonic(positive)
    } else {
        let [low, high, _] = ReferenceId::fresh().0;
        let number = i64::from(low) | i64::from(high) << 18;
        if positive { number } else { LOWEST_UNIQUE + number }
    };
    env.integer(number)
}

#[unsafe(no_mangle)]
extern "C" fn enif_consume_timeslice(env: &mut Env, percent: c_int) -> c_int {
    let percent = i64::from(percent).clamp(1, 100);
    let used = env.used + SLICE * percent / 100;
    let left = env.caller().map(|caller| caller.slice_left());
    // No more than the slice has is charged: the next one begins whole.
    env.used = left.map_or(used, |left| used.min(left));
    left.is_some_and(|left| used >= left).into()
}

#[unsafe(no_mangle)]
extern "C" fn enif_thread_type() -> c_int {
    thread_kind()
}
