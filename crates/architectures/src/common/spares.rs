//! Long blocks of the system's memory, kept for another use for a while after they were given back. Their pages are
//! there, while the system makes each new page on its first touch: half a millisecond for each megabyte, of the threads
//! that collect. A cycle over a large heap gives back what the next one needs, so what is kept is seldom more than what
//! cycles needed before.

use std::ptr::NonNull;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;
use std::time::Duration;

use atoll_heap::{counters, out_of_memory};
use atoll_platform::clock::monotonic;
use atoll_platform::{Reservation, discard_in_portions, threads};
use atoll_term::{WORD_BYTES, Word};

/// How long a block is kept, in nanoseconds: a few times as long as a cycle and the pause after it take.
const KEPT_FOR: i64 = 5_000_000_000;

/// Shortest range that is worth keeping, in bytes.
const SHORTEST: usize = 1 << 20;

static SPARES: Mutex<Spares> = Mutex::new(Spares::new());

/// Tells the thread that gives memory back that there is some.
static CHANGED: Condvar = Condvar::new();

/// A block of at least `least` words, about `wanted` if it is to be a new one. Ends the run when there is no memory.
pub(crate) fn map(least: usize, wanted: usize) -> (*mut Word, usize) {
    let (least, wanted) = (bytes_of(least), bytes_of(wanted));
    let spare = locked().take(least, wanted);
    let memory = spare.or_else(|| Reservation::new(wanted).ok()).or_else(|| {
        // What is kept goes first.
        let kept = locked().expired(i64::MAX);
        drop(kept);
        Reservation::new(wanted).ok()
    });
    let memory = memory.unwrap_or_else(|| out_of_memory(wanted));
    let words = memory.bytes() / WORD_BYTES;
    counters::heap_changed(words as i64);
    (memory.into_raw().as_ptr().cast(), words)
}

/// Gives a block back.
///
/// # Safety
/// The block came from [`map`] with this length, and nobody uses it any more.
pub(crate) unsafe fn unmap(block: *mut Word, words: usize) {
    let Some(start) = NonNull::new(block.cast()) else { return };
    counters::heap_changed(-(words as i64));
    // SAFETY: as the caller's.
    let memory = unsafe { Reservation::from_raw(start, words * WORD_BYTES) };
    keep(memory, monotonic() + KEPT_FOR);
}

/// Has memory that nobody uses given back by another thread, now.
pub(crate) fn discard(memory: Reservation) {
    // A thread costs more than that.
    if memory.bytes() >= SHORTEST {
        keep(memory, 0);
    }
}

fn keep(memory: Reservation, until: i64) {
    let mut spares = locked();
    spares.put(memory, until);
    if !spares.is_watched {
        spares.is_watched = threads::start(Builder::new().name("memory".into()), watch).is_ok();
        if !spares.is_watched {
            drop(spares.expired(i64::MAX));
        }
    }
    CHANGED.notify_one();
}

/// Gives memory back that nobody has wanted for a while, as long as there is any.
fn watch() {
    let mut spares = locked();
    loop {
        let now = monotonic();
        let expired = spares.expired(now);
        if !expired.is_empty() {
            drop(spares);
            expired.into_iter().for_each(give_back);
            spares = locked();
            continue;
        }
        let Some(next) = spares.next() else {
            spares.is_watched = false;
            return;
        };
        let wait = Duration::from_nanos((next - now).max(1) as u64);
        spares = CHANGED.wait_timeout(spares, wait).unwrap_or_else(PoisonError::into_inner).0;
    }
}

/// In portions, for other threads that need memory of the system wait meanwhile.
fn give_back(memory: Reservation) {
    // SAFETY: nobody uses a spare.
    unsafe { discard_in_portions(memory.start(), memory.bytes()) }
}

fn bytes_of(words: usize) -> usize {
    words.checked_mul(WORD_BYTES).unwrap_or_else(|| out_of_memory(usize::MAX))
}

fn locked() -> MutexGuard<'static, Spares> {
    SPARES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The ranges that are kept, each with the time at which it is given back.
struct Spares {
    ranges: Vec<(Reservation, i64)>,
    /// Whether a thread gives them back.
    is_watched: bool,
}

impl Spares {
    const fn new() -> Spares {
        Spares { ranges: Vec::new(), is_watched: false }
    }

    fn put(&mut self, memory: Reservation, until: i64) {
        self.ranges.push((memory, until));
    }

    /// The shortest range of at least `wanted` bytes, cut to these; else the longest of at least `least`. If there is
    /// none, as many bytes as a new one takes are given back as soon as can be: the memory in use does not grow.
    fn take(&mut self, least: usize, wanted: usize) -> Option<Reservation> {
        let wanted = wanted.next_multiple_of(Reservation::granule());
        self.ranges.sort_by_key(|(memory, _)| memory.bytes());
        let index = self.ranges.partition_point(|(memory, _)| memory.bytes() < wanted);
        if index < self.ranges.len() {
            let (mut memory, until) = self.ranges.remove(index);
            if memory.bytes() - wanted >= SHORTEST {
                self.put(memory.split_off(wanted), until);
            }
            return Some(memory);
        }
        if self.ranges.last().is_some_and(|(memory, _)| memory.bytes() >= least) {
            return self.ranges.pop().map(|(memory, _)| memory);
        }
        let mut bytes = wanted;
        for (memory, until) in self.ranges.iter_mut().rev() {
            if bytes == 0 {
                break;
            }
            *until = 0;
            bytes = bytes.saturating_sub(memory.bytes());
        }
        if bytes < wanted {
            CHANGED.notify_one();
        }
        None
    }

    /// Takes out what need not be kept any longer.
    fn expired(&mut self, now: i64) -> Vec<Reservation> {
        self.ranges.extract_if(.., |(_, until)| *until <= now).map(|(memory, _)| memory).collect()
    }

    /// When the next range is given back.
    fn next(&self) -> Option<i64> {
        self.ranges.iter().map(|(_, until)| *until).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lengths(spares: &Spares) -> Vec<usize> {
        spares.ranges.iter().map(|(memory, _)| memory.bytes() >> 20).collect()
    }

    fn with(megabytes: &[usize]) -> Spares {
        let mut spares = Spares::new();
        for (index, megabytes) in megabytes.iter().enumerate() {
            spares.put(Reservation::new(megabytes << 20).unwrap(), index as i64 + 1);
        }
        spares
    }

    #[test]
    fn a_block_is_cut_from_the_shortest_range_that_is_long_enough() {
        let mut spares = with(&[9, 3, 6]);
        let block = spares.take(2 << 20, 4 << 20).unwrap();
        assert_eq!(block.bytes(), 4 << 20);
        assert_eq!(lengths(&spares), [3, 9, 2]);
        // SAFETY: both parts are this test's, and nobody reads them afterwards.
        unsafe {
            block.start().as_ptr().add(block.bytes() - 1).write(1);
            let rest = &spares.ranges[2].0;
            rest.start().as_ptr().add(rest.bytes() - 1).write(1);
        }
    }

    #[test]
    fn a_range_that_is_a_little_too_short_will_do() {
        let mut spares = with(&[3, 6]);
        assert_eq!(spares.take(5 << 20, 8 << 20).map(|block| block.bytes()), Some(6 << 20));
        assert_eq!(lengths(&spares), [3]);
    }

    /// A new block of 8 MB takes the place of ranges of 3 and 6 MB; that of 1 MB may stay.
    #[test]
    fn what_is_of_no_use_makes_way_for_a_new_block() {
        let mut spares = with(&[1, 3, 6]);
        assert!(spares.take(7 << 20, 8 << 20).is_none());
        assert_eq!(spares.next(), Some(0));
        assert_eq!(spares.expired(0).len(), 2);
        assert_eq!((lengths(&spares), spares.next()), (vec![1], Some(1)));
        assert_eq!(spares.expired(1).len(), 1);
        assert_eq!(spares.next(), None);
    }
}
