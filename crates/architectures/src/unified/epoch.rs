//! Cycles and their phases, as one number that all threads read.

/// Where a cycle is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u32)]
pub(super) enum Phase {
    /// Threads hear that the barrier is on.
    Prepare,
    /// Roots that belong to no process are found.
    Globals,
    /// Processes are scanned, and those that run allocate for this cycle from then on.
    Scan,
    /// Grey objects are marked until there are none.
    Mark,
    /// What is dead is freed.
    Sweep,
    /// Nothing is to be done before enough has been allocated.
    Idle,
}

const PHASES: [Phase; 6] = [Phase::Prepare, Phase::Globals, Phase::Scan, Phase::Mark, Phase::Sweep, Phase::Idle];
/// Bits of an epoch that are the phase.
const PHASE_BITS: u32 = 3;

/// Cycles are counted up to here, and from 0 again.
const MOST_CYCLES: u32 = u32::MAX >> PHASE_BITS;

/// Whether a cycle is another one or came after it, not too long ago.
pub(super) fn is_since(cycle: u32, other: u32) -> bool {
    (cycle << PHASE_BITS).wrapping_sub(other << PHASE_BITS).cast_signed() >= 0
}

/// A cycle and its phase, as one number that grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Epoch(u32);

impl Epoch {
    /// Before the first cycle.
    pub(super) const START: Epoch = Epoch::new(1, Phase::Idle);

    pub(super) const fn new(cycle: u32, phase: Phase) -> Epoch {
        Epoch(cycle << PHASE_BITS | phase as u32)
    }

    pub(super) fn of(number: u32) -> Epoch {
        Epoch(number)
    }

    pub(super) const fn number(self) -> u32 {
        self.0
    }

    #[inline(always)]
    pub(super) fn cycle(self) -> u32 {
        self.0 >> PHASE_BITS
    }

    #[inline(always)]
    pub(super) fn phase(self) -> Phase {
        PHASES[(self.0 & ((1 << PHASE_BITS) - 1)) as usize]
    }

    /// Whether no cycle is on.
    #[inline(always)]
    pub(super) fn is_idle(self) -> bool {
        self.0 & ((1 << PHASE_BITS) - 1) == Phase::Idle as u32
    }

    /// Whether roots are being found: in the first three phases.
    #[inline(always)]
    pub(super) fn finds_roots(self) -> bool {
        self.0 & ((1 << PHASE_BITS) - 1) <= Phase::Scan as u32
    }

    /// Whether another one came before.
    pub(super) fn is_after(self, other: Epoch) -> bool {
        self.0.wrapping_sub(other.0).cast_signed() > 0
    }

    /// The number of the next cycle.
    pub(super) fn next_cycle(self) -> u32 {
        (self.cycle() + 1) & MOST_CYCLES
    }

    /// The cycle to which belongs what a thread allocates that has heard of this epoch.
    pub(super) fn allocates_for(self) -> u32 {
        if self.phase() >= Phase::Scan { self.cycle() } else { self.cycle().wrapping_sub(1) & MOST_CYCLES }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cycles_are_counted_from_zero_again() {
        let last = Epoch::new(MOST_CYCLES, Phase::Idle);
        let first = Epoch::new(last.next_cycle(), Phase::Prepare);
        assert_eq!((first.cycle(), first.allocates_for()), (0, MOST_CYCLES));
        assert!(first.is_after(last) && !last.is_after(first));
        assert!(is_since(0, MOST_CYCLES) && !is_since(MOST_CYCLES, 0) && is_since(7, 7));
    }
}
