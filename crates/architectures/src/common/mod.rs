//! What the architectures share: memory blocks, sizes, the Cheney copy, messages, the verifier's core.

pub(crate) mod beginnings;
pub(crate) mod blocks;
pub(crate) mod cheney;
pub(crate) mod counted;
pub(crate) mod faults;
pub(crate) mod fibonacci;
pub(crate) mod first_stacks;
pub(crate) mod fragments;
pub(crate) mod message;
pub(crate) mod off_heap;
pub(crate) mod relocate;
pub(crate) mod report;
pub(crate) mod sharing;
pub(crate) mod sizing;
pub(crate) mod small;
pub(crate) mod spares;
pub(crate) mod stack;
pub(crate) mod stored;
pub(crate) mod turns;
pub(crate) mod verify;

use atoll_heap::immovable::Range;
use atoll_term::Term;

/// Sizes in options are kept short, because every process has them; larger ones (32 GB) mean the largest.
pub(crate) fn in_32_bits(words: usize) -> u32 {
    u32::try_from(words).unwrap_or(u32::MAX)
}

/// The bounds of the immovable range, for code that compares with them often.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Immovable {
    start: usize,
    bytes: usize,
}

impl Immovable {
    /// The bounds of this range.
    pub(crate) fn of(range: &Range) -> Immovable {
        let (start, bytes) = range.bounds();
        Immovable { start, bytes }
    }

    /// No range: everything moves, or may go away.
    pub(crate) const NONE: Immovable = Immovable { start: 0, bytes: 0 };

    /// Whether a pointer term leads into the range.
    #[inline(always)]
    pub(crate) fn contains(&self, term: Term) -> bool {
        (term.pointer() as usize).wrapping_sub(self.start) < self.bytes
    }
}
