//! The debt of a process for collections, and for copies of the terms that it sends. It pays in reductions, so that its
//! time slice does not get longer by that work and other processes in the run queue do not wait for it.

use std::cell::Cell;

/// Nanoseconds of a collector's work for a reduction: a slice of nothing else takes a millisecond.
const NANOSECONDS: u64 = 250;
/// Words copied for a reduction.
const WORDS: u64 = 8;

thread_local! {
    static OWED: Cell<u64> = const { Cell::new(0) };
    static FORGIVEN: Cell<bool> = const { Cell::new(false) };
}

/// Nothing is owed on this thread from now on: what processes pay depends on the architecture, and on the time of day.
pub fn forgive() {
    FORGIVEN.set(true);
}

/// A collector has kept this thread for so many nanoseconds.
#[inline]
pub fn owe_time(nanoseconds: u64) {
    OWED.set(OWED.get() + nanoseconds / NANOSECONDS);
}

/// So many words were copied on this thread.
#[inline]
pub fn owe_words(words: usize) {
    OWED.set(OWED.get() + words as u64 / WORDS);
}

/// The reductions owed by what runs on this thread, which are paid now.
#[inline]
pub fn take() -> i64 {
    let owed = OWED.replace(0) as i64;
    if FORGIVEN.get() { 0 } else { owed }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_debt_is_paid_once() {
        owe_time(1_000_000);
        owe_words(80);
        assert_eq!(take(), 4_010);
        assert_eq!(take(), 0);
    }

    #[test]
    fn a_thread_may_owe_nothing() {
        std::thread::spawn(|| {
            forgive();
            owe_words(80);
            assert_eq!(take(), 0);
        });
    }
}
