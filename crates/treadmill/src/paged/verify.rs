//! The invariants of [`super`], checked one by one.

use super::marks::PAGE_WORDS;
use super::record::{Kind, Record};
use super::{PAGE_BYTES, Paged};
use crate::error::Violation;
use crate::heap::Context;
use crate::runtime::{Runtime, Visitor};
use crate::world::World;
use std::collections::HashSet;
use std::ptr::NonNull;
use std::sync::TryLockError;
use std::sync::atomic::Ordering;
use std::time::Duration;

#[cfg(all(test, not(loom)))]
mod tests;

/// The world goes on when this is dropped, also when a runtime's callback panics.
struct Stopped<'a>(&'a World);

impl Drop for Stopped<'_> {
    fn drop(&mut self) {
        self.0.resume();
    }
}

impl Paged {
    /// Stops the other threads, and checks.
    pub(crate) fn verify_stopped(&self, cx: &Context<'_>) -> Result<(), Violation> {
        // The control's lock keeps two threads from stopping the world at once.
        let _control = self.park_for_control(cx);
        cx.world.stop(cx.me);
        let _stopped = Stopped(cx.world);
        self.verify(cx.runtime)
    }

    /// As [`Paged::verify_stopped`], unless another thread is working on the cycle, or does not stop within this time.
    pub(crate) fn verify_within(&self, cx: &Context<'_>, limit: Duration) -> Option<Result<(), Violation>> {
        let _control = match self.control.try_lock() {
            Err(TryLockError::WouldBlock) => return None,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Ok(control) => control,
        };
        if !cx.world.stop_within(cx.me, limit) {
            return None;
        }
        let _stopped = Stopped(cx.world);
        Some(self.verify(cx.runtime))
    }

    /// Breaks PG2; false if no page has a gap. For tests of what becomes of a whole program then.
    #[cfg(debug_assertions)]
    pub(crate) fn break_a_gap(&self) -> bool {
        let page = self.memory().partial().first().copied();
        page.inspect(|page| self.table.get(*page).set_gap(1)).is_some()
    }

    /// Checks all but PG5. The other threads must be stopped.
    fn verify(&self, runtime: &dyn Runtime) -> Result<(), Violation> {
        let memory = self.memory();
        let (mut seen, mut slots) = (HashSet::new(), HashSet::new());
        let partial = memory.partial();
        let full = memory.full.pages(self.table);
        let large = memory.large.pages(self.table);
        let unswept = memory.unswept.pages(self.table);
        for page in partial.iter().chain(&full).chain(&large).chain(&unswept) {
            if !seen.insert(*page) {
                return self.broken("PG6", *page, 0, "on two lists".into());
            }
            if self.table.get(*page).kind() == Kind::None {
                return self.broken("PG6", *page, 0, "a free page on a list".into());
            }
            let record = self.table.get(*page);
            if record.kind() == Kind::Small && !(memory.slots.is_taken(record.slot()) && slots.insert(record.slot())) {
                return self.broken("PG8", *page, 0, format!("slot {}", record.slot()));
            }
        }
        for page in partial.iter().chain(&full) {
            let record = self.table.get(*page);
            let longest = self.check_blocks(*page)?;
            if record.gap() != longest {
                return self.broken("PG2", *page, 0, format!("{} is not {longest}", record.gap()));
            }
        }
        for page in &unswept {
            if self.table.get(*page).kind() == Kind::Small {
                self.check_blocks(*page)?;
            }
        }
        let pages = (memory.space.in_use() + memory.space.idle()) as usize;
        let used = pages * (PAGE_BYTES + size_of::<Record>()) + memory.slots.bytes();
        if memory.space.in_use() > memory.space.limit() || used > self.limit {
            return self.broken("PG3", 0, 0, format!("{used} bytes"));
        }
        self.check_references(runtime, partial.iter().chain(&full).chain(&large).chain(&unswept))
    }

    /// PG7, of what the last collection found live, or the present one has as yet. What died on a page at the hands of
    /// a thread is not swept, and may refer to what was.
    fn check_references<'a>(
        &self,
        runtime: &dyn Runtime,
        pages: impl Iterator<Item = &'a u32> + Clone,
    ) -> Result<(), Violation> {
        // The end of a large object looks like an object where others share its last page.
        let shared = pages.clone().filter_map(|page| {
            let record = self.table.get(*page);
            let shares = record.kind() == Kind::Large && record.shares_last_page();
            shares.then(|| page + record.object_words().div_ceil(PAGE_WORDS) as u32 - 1)
        });
        let tails: HashSet<u32> = shared.collect();
        let cycle = self.phase.load(Ordering::Acquire) >> 1;
        for page in pages {
            let marks = self.table.marks(self.table.get(*page));
            let mut from = if tails.contains(page) { 2 } else { 0 };
            while marks.is_of(cycle)
                && let Some((index, _)) = marks.next_marked(from)
            {
                self.check_object(runtime, *page, index)?;
                from = index + 2;
            }
        }
        Ok(())
    }

    fn check_object(&self, runtime: &dyn Runtime, page: u32, index: usize) -> Result<(), Violation> {
        let address = self.address(page, index);
        let Some(object) = NonNull::new(self.area.pointer(address)) else { return Ok(()) };
        let words = self.words_of(address);
        let mut dangling = None;
        let mut sink = |reference: NonNull<u64>| {
            let target = reference.addr().get();
            if !(self.area.range().contains(&target) && self.is_object(target)) {
                dangling.get_or_insert(target);
            }
            reference
        };
        // SAFETY: the object lives, and its thread has come by since it was made, so it is whole.
        unsafe { runtime.describe(object, words, 0..words, &mut Visitor::new(&mut sink)) };
        match dangling {
            Some(target) => self.broken("PG7", page, index, format!("refers to {target:#x}, where no object is")),
            None => Ok(()),
        }
    }

    fn check_blocks(&self, page: u32) -> Result<usize, Violation> {
        let record = self.table.get(page);
        let (blocks, marks) = (self.table.blocks(record), self.table.marks(record));
        let (mut at, mut longest, mut objects) = (0, 0, HashSet::new());
        while at < PAGE_WORDS {
            if !blocks.is_start(at) {
                self.broken("PG1", page, at, "no block begins".into())?;
            }
            let end = blocks.end_of(at);
            if end < at + 2 {
                self.broken("PG1", page, at, "a block of one word".into())?;
            }
            if blocks.is_object(at) {
                objects.insert(at);
            } else {
                longest = longest.max(end - at);
            }
            at = end;
        }
        let cycle = self.phase.load(Ordering::Acquire) >> 1;
        let mut from = 0;
        while marks.is_of(cycle)
            && let Some((index, _)) = marks.next_marked(from)
        {
            if !objects.contains(&index) {
                self.broken("PG4", page, index, "marked".into())?;
            }
            from = index + 2;
        }
        Ok(longest)
    }

    fn broken(&self, invariant: &'static str, page: u32, index: usize, found: String) -> Result<(), Violation> {
        Err(Violation { invariant, address: self.address(page, index), found })
    }
}
