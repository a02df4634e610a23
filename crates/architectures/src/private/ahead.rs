//! Pages of memory that is about to become part of an old generation. The system makes a page when it is first touched,
//! which takes a few tenths of a microsecond, and a hundred times as long on a virtual machine whose host has to find
//! the memory: for the process, that is a part of each minor collection. Schedulers without work have it done ahead.
//!
//! A range that is asked for is a hint. The system makes the pages of a range without a change of what is in them, so
//! nothing is lost when a process has been faster, or when its block has been given back meanwhile.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use atoll_heap::counters;
use atoll_platform::clock::monotonic;
use atoll_platform::{Reservation, make_pages};
use atoll_term::WORD_BYTES;

use super::old::Block;

/// Bytes in front of what is used for which there shall be pages, unless the block is small.
const AHEAD: usize = 4 << 20;
/// The largest part of a block for which there are pages in advance.
const PART: usize = 8;
/// Bytes of pages that are made at once.
const PORTION: usize = 1 << 16;
/// Ranges that are kept in mind. Older ones are forgotten: their processes are likely to have been faster.
const MOST: usize = 4;

/// Ranges without pages: first address, and that of the end.
#[derive(Debug, Default)]
pub(super) struct Ahead {
    ranges: Mutex<VecDeque<(usize, usize)>>,
    /// How many there are.
    count: AtomicUsize,
    /// The system cannot do it.
    is_off: AtomicBool,
}

impl Ahead {
    /// Survivors go to this block, which has pages, or will have them, up to an address: asks for more, if there are
    /// few. The address up to which pages have been asked for.
    pub(super) fn reach(&self, block: &Block, made: usize) -> usize {
        let (start, top) = (block.start as usize, block.top as usize);
        let end = start + block.words * WORD_BYTES;
        let most = AHEAD.min((end - start) / PART);
        let made = if (start..=end).contains(&made) { made.max(top) } else { top };
        if most < PORTION || made - top > most / 2 || made == end || self.is_off.load(Ordering::Relaxed) {
            return made;
        }
        let next = end.min(top + most);
        let mut ranges = self.locked();
        if ranges.len() == MOST {
            ranges.pop_front();
        }
        ranges.push_back((made, next));
        self.count.store(ranges.len(), Ordering::Relaxed);
        next
    }

    /// Whether there are pages to be made.
    pub(super) fn is_waiting(&self) -> bool {
        self.count.load(Ordering::Relaxed) > 0
    }

    /// Has a few pages made; false: there are none to be made.
    pub(super) fn work(&self) -> bool {
        let (start, end) = {
            let mut ranges = self.locked();
            let Some((start, end)) = ranges.pop_front() else { return false };
            let portion = end.min((start + PORTION).next_multiple_of(Reservation::granule()));
            if portion < end {
                ranges.push_front((portion, end));
            }
            self.count.store(ranges.len(), Ordering::Relaxed);
            (start, portion)
        };
        counters::work_begins();
        let started = monotonic();
        if make_pages(start, end - start).is_err() {
            self.is_off.store(true, Ordering::Relaxed);
        }
        counters::record_idle_work((monotonic() - started).max(0) as u64);
        true
    }

    fn locked(&self) -> MutexGuard<'_, VecDeque<(usize, usize)>> {
        self.ranges.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ptr::null_mut;

    fn block(words: usize, used: usize) -> Block {
        let start = (1_usize << 30) as *mut u64;
        Block::of(start, start.wrapping_add(used), words)
    }

    #[test]
    fn pages_are_asked_for_a_little_ahead() {
        let ahead = Ahead::default();
        let (words, start) = (8 << 20, 1 << 30);
        let made = ahead.reach(&block(words, 10), 0);
        assert_eq!(made, start + 10 * WORD_BYTES + AHEAD);
        assert_eq!(*ahead.locked(), [(start + 80, made)]);
        assert_eq!(ahead.reach(&block(words, AHEAD / 2 / WORD_BYTES), made), made, "enough are there");
        let more = ahead.reach(&block(words, AHEAD / WORD_BYTES), made);
        assert_eq!(more, start + 2 * AHEAD);
        assert_eq!(ahead.locked().back(), Some(&(made, more)), "each is asked for once");
        assert_eq!(ahead.reach(&block(words, words), made), start + words * WORD_BYTES, "there is an end");
        assert!(ahead.is_waiting());
        (0..10).for_each(|_| assert_eq!(ahead.reach(&block(words, 10), 0), start + 80 + AHEAD));
        assert_eq!(ahead.locked().len(), MOST, "what is old is forgotten");
        let small = Ahead::default();
        small.reach(&block(1000, 10), 0);
        small.reach(&Block::of(null_mut(), null_mut(), 0), made);
        assert!(!small.is_waiting() && !small.work());
    }

    #[test]
    fn pages_are_made_in_portions() {
        crate::tests::enter();
        let memory = Reservation::new(1 << 20).unwrap();
        let start = memory.start().as_ptr().addr();
        let ahead = Ahead::default();
        ahead.locked().push_back((start + 8, start + (1 << 20)));
        ahead.count.store(1, Ordering::Relaxed);
        let mut portions = 0;
        while ahead.work() {
            portions += 1;
        }
        assert_eq!((portions, ahead.is_waiting()), (16, false));
    }
}
