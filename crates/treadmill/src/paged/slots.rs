//! Slots for the bits of pages with several objects, given to a page when it becomes one and taken back when it is
//! free.
//!
//! Slots lie in *units* of a page of memory each. Units in use are filled up before another is backed; one without a
//! slot in use can be given back to the system. Everything takes constant time.
//!
//! Invariants: SL1 a unit is on the list of the partly used while some but not all of its slots are free, on that of
//! the empty while all are, and on none while none is; SL2 units that are not backed are on the list of those given
//! back, or were never used.

use super::blocks::Blocks;
use crate::area::Area;
use std::sync::Arc;

/// Slots of a unit.
const SLOTS: u32 = 32;
/// Bytes of a unit.
pub(super) const UNIT_BYTES: usize = SLOTS as usize * size_of::<Blocks>();
#[cfg(not(loom))]
const _: () = assert!(UNIT_BYTES == 4096, "a unit is what the system backs");

const ALL: u32 = u32::MAX;

/// The slots of a heap, by number.
#[derive(Debug)]
pub(super) struct Slots {
    area: Arc<Area>,
    /// Of each unit: a bit for each slot that is free; and its neighbours on its list, plus one.
    free: Vec<u32>,
    next: Vec<u32>,
    previous: Vec<u32>,
    /// The first unit of each list, plus one.
    partial: u32,
    empty: u32,
    given_back: u32,
    /// Units from here on were never used.
    fresh: u32,
    backed: usize,
}

/// Bytes of addresses for as many slots.
pub(super) fn reach(slots: usize) -> usize {
    slots.div_ceil(SLOTS as usize) * UNIT_BYTES
}

impl Slots {
    /// As many slots as the area has room for, none of them backed.
    pub(super) fn new(area: Arc<Area>) -> Slots {
        let units = area.range().len() / UNIT_BYTES;
        let zeros = || vec![0; units];
        Slots {
            area,
            free: zeros(),
            next: zeros(),
            previous: zeros(),
            partial: 0,
            empty: 0,
            given_back: 0,
            fresh: 0,
            backed: 0,
        }
    }

    /// Bytes that are backed.
    pub(super) fn bytes(&self) -> usize {
        self.backed * UNIT_BYTES
    }

    /// Backs all units now.
    pub(super) fn back_all(&mut self) {
        while self.grow() {}
        self.area.populate(self.area.base(), self.backed * UNIT_BYTES);
    }

    /// Backs one more unit; false if there is none.
    pub(super) fn grow(&mut self) -> bool {
        let unit = match self.given_back.checked_sub(1) {
            Some(unit) => {
                self.given_back = self.next[unit as usize];
                unit
            }
            None if (self.fresh as usize) < self.free.len() => {
                self.fresh += 1;
                self.fresh - 1
            }
            None => return false,
        };
        self.free[unit as usize] = ALL;
        self.push_empty(unit);
        self.backed += 1;
        true
    }

    /// Gives an empty unit's memory back to the system; false if there is none.
    pub(super) fn shrink(&mut self) -> bool {
        let Some(unit) = self.pop_empty() else { return false };
        // SAFETY: no page has a slot of this unit, so nobody reads or writes there.
        unsafe { self.area.decommit(self.area.base() + unit as usize * UNIT_BYTES, UNIT_BYTES) };
        self.next[unit as usize] = self.given_back;
        self.given_back = unit + 1;
        self.backed -= 1;
        true
    }

    /// A slot among those that are backed.
    pub(super) fn take(&mut self) -> Option<u32> {
        let unit = match self.partial.checked_sub(1) {
            Some(unit) => unit,
            None => {
                let unit = self.pop_empty()?;
                self.link(unit);
                unit
            }
        };
        let free = &mut self.free[unit as usize];
        let slot = unit * SLOTS + free.trailing_zeros();
        *free &= *free - 1;
        if *free == 0 {
            self.unlink(unit);
        }
        Some(slot)
    }

    /// Takes a slot back that no page has any more.
    pub(super) fn give(&mut self, slot: u32) {
        let unit = slot / SLOTS;
        let free = &mut self.free[unit as usize];
        let before = *free;
        *free |= 1 << (slot % SLOTS);
        if before == 0 {
            self.link(unit);
        } else if *free == ALL {
            self.unlink(unit);
            self.push_empty(unit);
        }
    }

    fn push_empty(&mut self, unit: u32) {
        self.next[unit as usize] = self.empty;
        self.empty = unit + 1;
    }

    fn pop_empty(&mut self) -> Option<u32> {
        let unit = self.empty.checked_sub(1)?;
        self.empty = self.next[unit as usize];
        Some(unit)
    }

    /// Puts a unit onto the list of the partly used.
    fn link(&mut self, unit: u32) {
        self.next[unit as usize] = self.partial;
        self.previous[unit as usize] = 0;
        if let Some(other) = self.partial.checked_sub(1) {
            self.previous[other as usize] = unit + 1;
        }
        self.partial = unit + 1;
    }

    /// Takes a unit off the list of the partly used.
    fn unlink(&mut self, unit: u32) {
        let (next, previous) = (self.next[unit as usize], self.previous[unit as usize]);
        if let Some(next) = next.checked_sub(1) {
            self.previous[next as usize] = previous;
        }
        match previous.checked_sub(1) {
            Some(previous) => self.next[previous as usize] = next,
            None => self.partial = next,
        }
    }

    /// Whether a slot is some page's.
    pub(super) fn is_taken(&self, slot: u32) -> bool {
        let unit = slot / SLOTS;
        unit < self.fresh && self.free[unit as usize] >> (slot % SLOTS) & 1 == 0
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn slots(count: usize) -> Slots {
        Slots::new(Arc::new(Area::reserve(reach(count), 4096).expect("reserve")))
    }

    #[test]
    fn only_what_is_backed_is_handed_out() {
        let mut slots = slots(33);
        assert_eq!((slots.take(), slots.bytes()), (None, 0));
        assert!(slots.grow());
        let taken: Vec<u32> = std::iter::from_fn(|| slots.take()).collect();
        assert_eq!(taken, (0..32).collect::<Vec<_>>());
        assert!(!slots.shrink() && slots.grow() && !slots.grow());
        assert_eq!((slots.take(), slots.bytes()), (Some(32), 8192));
        slots.give(32);
        assert!(slots.shrink() && !slots.shrink());
        assert_eq!((slots.take(), slots.bytes()), (None, 4096));
    }

    /// SL1 and SL2, against a set, over random taking, giving, growing and shrinking.
    #[test]
    fn slots_agree_with_a_set() {
        let mut slots = slots(64 * 32);
        let mut taken = Vec::new();
        let mut seed = 5u64;
        let mut random = |limit: usize| {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            (seed >> 8) as usize % limit
        };
        for step in 0..100_000 {
            // Filling and emptying take turns.
            if random(100) < if step / 5000 % 2 == 0 { 60 } else { 35 } {
                match slots.take() {
                    Some(slot) => taken.push(slot),
                    None => {
                        assert_eq!(taken.len() * size_of::<Blocks>(), slots.bytes(), "all that is backed is in use");
                        assert!(slots.grow() || taken.len() == 64 * 32);
                    }
                }
            } else if !taken.is_empty() {
                slots.give(taken.swap_remove(random(taken.len())));
            }
            if random(50) == 0 {
                let units: HashSet<u32> = taken.iter().map(|slot| slot / SLOTS).collect();
                let spare = slots.bytes() / UNIT_BYTES > units.len();
                assert_eq!(slots.shrink(), spare);
            }
            if step % 1000 == 0 {
                assert_eq!(taken.iter().collect::<HashSet<_>>().len(), taken.len(), "no slot is handed out twice");
                assert!(taken.iter().all(|slot| slots.is_taken(*slot)));
            }
        }
    }
}
