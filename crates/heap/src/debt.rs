//! What a process owes for work that was done for it beside its own: collections, and copies of what it sends. It is
//! paid in reductions, so that a time slice ends about when it would without that work, and whoever waits for the
//! scheduler does not wait for it as well.

use std::cell::Cell;

/// Nanoseconds of a collector's work for a reduction: a slice of nothing else takes a millisecond.
const NANOSECONDS: u64 = 250;
/// Words copied for a reduction.
const WORDS: u64 = 8;

thread_local! {
    static OWED: Cell<u64> = const { Cell::new(0) };
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
    OWED.replace(0) as i64
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
}
