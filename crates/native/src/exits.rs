//! How often native code left to the first engine, and why.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::ways::Reason;

/// Exits at one place for which code is made anew.
pub const OFTEN: u64 = 200;
/// Exits at another place of a function whose code is made anew, for which this place is made for all types as well.
const SOME: u64 = 10;

/// How often code left, by its reasons.
#[derive(Clone, Copy, Debug, Default)]
pub struct ExitCounts {
    /// For lack of room on the heap or on the stack.
    pub room: u64,
    /// Because it was made for small integers and met something else.
    pub operands: u64,
    /// For an instruction that the first engine carries out.
    pub lent: u64,
    /// Otherwise, as where something raises.
    pub other: u64,
}

/// The exits of one function.
pub struct Exits {
    /// For each instruction: how often code left in front of it.
    pub counts: Box<[AtomicU64]>,
    reasons: Box<[Reason]>,
    /// The instructions that may meet other operands than code is made for. All of these are gone through often.
    operands: Box<[usize]>,
}

impl Exits {
    /// None yet, of instructions with these reasons to leave.
    pub fn new(reasons: impl Iterator<Item = Reason>) -> Exits {
        let reasons: Box<[Reason]> = reasons.collect();
        let operands = reasons.iter().enumerate().filter(|(_, reason)| **reason == Reason::Operands);
        let operands = operands.map(|(index, _)| index).collect();
        Exits { counts: reasons.iter().map(|_| AtomicU64::new(0)).collect(), reasons, operands }
    }

    /// The instructions, counted from the first, that ought to be made for all types.
    pub fn often(&self) -> Vec<usize> {
        let left = |least: u64| {
            let left = move |index: &usize| self.counts[*index].load(Ordering::Relaxed) >= least;
            self.operands.iter().copied().filter(left)
        };
        if left(OFTEN).next().is_some() { left(SOME).collect() } else { Vec::new() }
    }

    /// Adds what was counted.
    pub fn add_to(&self, sums: &mut ExitCounts) {
        for (count, reason) in self.counts.iter().zip(&self.reasons) {
            let sum = match reason {
                Reason::Room => &mut sums.room,
                Reason::Operands => &mut sums.operands,
                Reason::Lent => &mut sums.lent,
                Reason::Other => &mut sums.other,
            };
            *sum += count.load(Ordering::Relaxed);
        }
    }

    /// Adds what was counted, and begins again.
    pub fn take(&self, sums: &mut ExitCounts) {
        self.add_to(sums);
        self.counts.iter().for_each(|count| count.store(0, Ordering::Relaxed));
    }
}
