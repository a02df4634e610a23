//! Which of several lists a thread puts something on: for a while the same, so that its lock and its first element stay
//! in the thread's cache, then the next that no other thread has, so that all become about as long.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How often a thread takes the same list.
const IN_A_ROW: u32 = 256;

thread_local! {
    /// The list, and how often it may still be taken.
    static HERE: Cell<(usize, u32)> = const { Cell::new((0, 0)) };
}

/// Whose turn the lists have.
pub(crate) struct Turns(AtomicUsize);

impl Turns {
    pub(crate) const fn new() -> Turns {
        Turns(AtomicUsize::new(0))
    }

    /// One of so many lists, for this thread.
    #[inline]
    pub(crate) fn take(&self, lists: usize) -> usize {
        let (list, left) = HERE.get();
        if left > 0 {
            HERE.set((list, left - 1));
            return list % lists;
        }
        let list = self.0.fetch_add(1, Ordering::Relaxed);
        HERE.set((list, IN_A_ROW - 1));
        list % lists
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_list_has_its_turn_and_threads_have_different_ones() {
        let turns = Turns::new();
        let count = |turns: &Turns| {
            let mut counts = [0; 4];
            (0..IN_A_ROW * 8).for_each(|_| counts[turns.take(4)] += 1);
            counts
        };
        let first = turns.take(4);
        let other = std::thread::scope(|scope| scope.spawn(|| turns.take(4)).join().unwrap());
        assert_ne!(first, other);
        assert!(count(&turns).iter().all(|count| *count >= IN_A_ROW));
    }
}
