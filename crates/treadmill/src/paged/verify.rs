//! The invariants of [`super`], checked one by one.

use super::marks::PAGE_WORDS;
use super::record::{Kind, Record};
use super::{PAGE_BYTES, Paged};
use crate::error::Violation;
use crate::heap::Context;
use std::collections::HashSet;
use std::sync::atomic::Ordering;

impl Paged {
    /// Stops the other threads, and checks.
    pub(crate) fn verify_stopped(&self, cx: &Context<'_>) -> Result<(), Violation> {
        // The control's lock keeps two threads from stopping the world at once.
        let control = self.park_for_control(cx);
        cx.world.stop(cx.me);
        let result = self.verify();
        cx.world.resume();
        drop(control);
        result
    }

    /// Checks PG1 to PG6, and PG8. The other threads must be stopped.
    fn verify(&self) -> Result<(), Violation> {
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
        Ok(())
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
