//! Numbers and times that are later than all before them.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use crate::system::System;

/// What a machine has given.
pub struct Given {
    number: AtomicI64,
    microseconds: AtomicI64,
    /// References: see [`crate::ReferenceId::fresh`].
    pub(crate) references: AtomicU64,
}

impl Default for Given {
    fn default() -> Given {
        Given { number: AtomicI64::new(1), microseconds: AtomicI64::new(0), references: AtomicU64::new(1) }
    }
}

/// Lowest unique integer that is not asked to be positive, as in OTP: half of them lie below zero.
pub const LOWEST_UNIQUE: i64 = -576_460_752_303_423_488;

/// A number larger than all that were given before.
pub fn unique_monotonic(positive: bool) -> i64 {
    let number = System::get().given.number.fetch_add(1, Ordering::SeqCst);
    if positive { number } else { LOWEST_UNIQUE + number }
}

/// Microseconds that are later than all that this function gave before.
pub fn later_than_before(microseconds: i64) -> i64 {
    let later = |last: i64| Some(microseconds.max(last + 1));
    let given = &System::get().given.microseconds;
    let last = given.fetch_update(Ordering::Relaxed, Ordering::Relaxed, later).unwrap_or_else(|last| last);
    microseconds.max(last + 1)
}
