//! The slots in which one thread keeps its roots: written by that thread alone, read by any.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

const FIRST: usize = 64;
const CHUNKS: usize = 25;

/// Slots in chunks of doubling length, which never move. A slot holds an object's address, or 0.
#[derive(Debug)]
pub(crate) struct RootTable {
    chunks: [OnceLock<Box<[AtomicUsize]>>; CHUNKS],
    used: AtomicUsize,
    touched: AtomicBool,
}

impl RootTable {
    pub(crate) fn new() -> RootTable {
        RootTable {
            chunks: [const { OnceLock::new() }; CHUNKS],
            used: AtomicUsize::new(0),
            touched: AtomicBool::new(true),
        }
    }

    #[inline]
    fn place(index: usize) -> (usize, usize) {
        let shifted = index + FIRST;
        let chunk = shifted.ilog2() as usize - FIRST.ilog2() as usize;
        (chunk, shifted - (FIRST << chunk))
    }

    /// The slot of an index; `None` past the two billion slots that a table can have.
    #[inline]
    pub(crate) fn slot(&self, index: usize) -> Option<&AtomicUsize> {
        let (chunk, offset) = RootTable::place(index);
        let chunk_slots = self.chunks.get(chunk)?;
        let slots = match chunk_slots.get() {
            Some(slots) => slots,
            None => chunk_slots.get_or_init(|| (0..FIRST << chunk).map(|_| AtomicUsize::new(0)).collect()),
        };
        slots.get(offset)
    }

    /// Writes a slot; only the owning thread does.
    #[inline]
    pub(crate) fn set(&self, index: usize, address: usize) -> bool {
        let Some(slot) = self.slot(index) else {
            return false;
        };
        slot.store(address, Ordering::Release);
        if index >= self.used.load(Ordering::Relaxed) {
            self.used.store(index + 1, Ordering::Release);
        }
        self.touched.store(true, Ordering::Relaxed);
        true
    }

    /// A slot that was never used, from now on among those that are scanned.
    pub(crate) fn claim(&self, index: usize) -> Option<&AtomicUsize> {
        let slot = self.slot(index)?;
        self.used.fetch_max(index + 1, Ordering::AcqRel);
        Some(slot)
    }

    /// Says that a slot was written.
    #[inline]
    pub(crate) fn touch(&self) {
        self.touched.store(true, Ordering::Relaxed);
    }

    #[inline]
    pub(crate) fn get(&self, index: usize) -> usize {
        self.slot(index).map_or(0, |slot| slot.load(Ordering::Acquire))
    }

    /// Slots that were ever used.
    pub(crate) fn len(&self) -> usize {
        self.used.load(Ordering::Acquire)
    }

    /// Whether a slot was written since the last call.
    pub(crate) fn take_touched(&self) -> bool {
        self.touched.swap(false, Ordering::Relaxed)
    }

    /// Hands the addresses in slots `from..to` to `each`.
    pub(crate) fn scan(&self, from: usize, to: usize, mut each: impl FnMut(usize)) {
        for index in from..to.min(self.len()) {
            let address = self.get(index);
            if address != 0 {
                each(address);
            }
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn slots_keep_their_values_while_the_table_grows() {
        let table = RootTable::new();
        (0..10_000).for_each(|i| assert!(table.set(i, 8 * i)));
        assert!((0..10_000).all(|i| table.get(i) == 8 * i));
        let mut sum = 0;
        table.scan(9_998, 20_000, |address| sum += address);
        assert_eq!(sum, 8 * 9_998 + 8 * 9_999);
        assert!(table.take_touched() && !table.take_touched());
    }
}
