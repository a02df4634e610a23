//! The work for other parts of the machine at the end of a process, in one byte of the process.

use std::sync::atomic::{AtomicU8, Ordering};

/// The bit of [`AtEnd::note_work`]; the others are for sets of timers.
const WORK: u8 = 1;
/// Bits for sets of timers.
const SET_BITS: usize = 7;

/// A thread notes something here after it has done it, and then looks whether the process is in the table still. The
/// end of the process looks here after the process has left the table. So one of them sees the other: sequentially
/// consistent fences stand between.
#[derive(Debug, Default)]
pub struct AtEnd(AtomicU8);

impl AtEnd {
    fn note(&self, bit: u8) {
        if self.0.load(Ordering::SeqCst) & bit == 0 {
            self.0.fetch_or(bit, Ordering::SeqCst);
        }
    }

    /// The process has owned a table, a file, or the like: see [`crate::System::on_exit`].
    pub fn note_work(&self) {
        self.note(WORK);
    }

    /// A timer of this set has a message for the process.
    pub fn note_timer(&self, set: usize) {
        self.note(set_bit(set));
    }

    /// Whether [`AtEnd::note_work`] was called.
    pub fn has_work(&self) -> bool {
        self.0.load(Ordering::SeqCst) & WORK != 0
    }

    /// The sets of timers that have had messages for the process.
    pub fn timers(&self) -> TimerSets {
        TimerSets(self.0.load(Ordering::SeqCst) & !WORK)
    }
}

fn set_bit(set: usize) -> u8 {
    WORK << 1 << (set % SET_BITS)
}

/// Some sets of timers, by their numbers modulo [`SET_BITS`].
#[derive(Clone, Copy, Debug)]
pub struct TimerSets(u8);

impl TimerSets {
    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether this set may be among them; true for others with the same bit.
    pub fn may_contain(self, set: usize) -> bool {
        self.0 & set_bit(set) != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_and_sets_do_not_mix() {
        let end = AtEnd::default();
        assert!(!end.has_work() && end.timers().is_empty());
        for set in 0..SET_BITS {
            assert!(!end.timers().may_contain(set));
            end.note_timer(set + 2 * SET_BITS);
            assert!(end.timers().may_contain(set) && !end.has_work());
        }
        let end = AtEnd::default();
        end.note_work();
        assert!(end.has_work() && end.timers().is_empty());
    }
}
