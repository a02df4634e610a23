//! One thread's way to allocate: a page of its own, whose gaps it fills from front to back.

use super::Paged;
use super::blocks::Blocks;
use super::mark::Budget;
use super::marks::{Marks, PAGE_WORDS};
use super::memory::{Memory, Room, SINGLE_REST};
use super::record::Record;
use crate::error::OutOfMemory;
use crate::heap::Context;
use crate::statistics::Cause;
use std::cell::Cell;
use std::ptr::null;
use std::sync::atomic::Ordering;

/// Up to this many words, an object that does not fit the gap at hand makes the thread move on to the next gap or page.
const SMALL_WORDS: usize = 64;
/// A page is taken for small objects only if it has a gap as long as this, while free pages are left.
const ROOMY: usize = 64;

/// Longer objects are paid for at once.
const PATIENT_WORDS: usize = 16 * PAGE_WORDS;

/// Words that a thread allocates, at most, between looks at whether a collection is due.
const IDLE_WORDS: u64 = 2048;
/// The same while one is on.
const BUSY_WORDS: u64 = 512;

/// The thread's page, gap, and view of the phase.
#[derive(Debug)]
pub(crate) struct Local {
    bump: Cell<usize>,
    end: Cell<usize>,
    /// Where the next gap is looked for: the word at which the gap at hand ended before anything was laid into its end.
    behind: Cell<usize>,
    page: Cell<Option<u32>>,
    record: Cell<*const Record>,
    blocks: Cell<*const Blocks>,
    /// Address of the page.
    base: Cell<usize>,
    pub(super) marking: Cell<bool>,
    pub(super) cycle: Cell<u32>,
    /// Words since the last visit to the slow path: where counting began in the gap.
    counted: Cell<usize>,
    /// What the figures of the heap do not have yet: words that took memory, and those that did not; padding, objects.
    words: Cell<u64>,
    reused: Cell<u64>,
    padding: Cell<u64>,
    objects: Cell<u64>,
    /// Words that this thread has yet to mark.
    pub(super) debt: Cell<u64>,
    /// The newest object of more than [`SMALL_WORDS`] words, while no reference to it was stored; 0 for none. And the
    /// root slots that hold it.
    temporary: Cell<usize>,
    held: Cell<u32>,
    /// The longest gap left behind on the page, and whether the whole page was gone through.
    skipped: Cell<usize>,
    searched: Cell<bool>,
    /// Allocations for which pages were remapped.
    remapped: Cell<u64>,
}

// SAFETY: the pointers lead to the metadata of a page that this thread owns, in memory shared by all threads.
unsafe impl Send for Local {}

impl Local {
    pub(crate) fn new() -> Local {
        Local {
            bump: Cell::new(0),
            end: Cell::new(0),
            behind: Cell::new(0),
            page: Cell::new(None),
            record: Cell::new(null()),
            blocks: Cell::new(null()),
            base: Cell::new(0),
            marking: Cell::new(false),
            cycle: Cell::new(0),
            counted: Cell::new(0),
            words: Cell::new(0),
            reused: Cell::new(0),
            padding: Cell::new(0),
            objects: Cell::new(0),
            debt: Cell::new(0),
            temporary: Cell::new(0),
            held: Cell::new(0),
            skipped: Cell::new(0),
            searched: Cell::new(false),
            remapped: Cell::new(0),
        }
    }

    #[inline]
    pub(crate) fn is_marking(&self) -> bool {
        self.marking.get()
    }

    /// Takes the phase over. An object of before a collection may be gone after it, so none stays a temporary.
    pub(super) fn see(&self, marking: bool, cycle: u32) {
        self.marking.set(marking);
        if self.cycle.replace(cycle) != cycle {
            self.temporary.set(0);
        }
    }

    /// Takes note that a root slot of this thread holds an object.
    #[inline]
    pub(crate) fn hold(&self, object: usize) {
        if self.temporary.get() == object {
            self.held.set(self.held.get() + 1);
        }
    }

    /// Takes note that a root slot of this thread does not hold an object any more.
    #[inline]
    pub(crate) fn let_go(&self, object: usize) {
        if self.temporary.get() == object {
            // Without a temporary, empty slots come here too.
            self.held.set(self.held.get().wrapping_sub(1));
        }
    }

    /// Takes note that a reference to an object leaves the roots of this thread.
    #[inline]
    pub(crate) fn escapes(&self, object: usize) {
        if self.temporary.get() == object {
            self.temporary.set(0);
        }
    }

    /// An object of `words` words out of the gap at hand, if it fits.
    #[inline]
    pub(crate) fn allocate(&self, words: usize) -> Option<usize> {
        let start = self.bump.get();
        let left = (self.end.get() - start) / 8;
        if words.max(2) > left {
            return None;
        }
        let index = (start - self.base.get()) / 8;
        let (taken, rest) = Blocks::fit(index, words.max(2), left);
        if taken != words {
            self.padding.set(self.padding.get() + (taken - words) as u64);
        }
        self.bump.set(start + taken * 8);
        self.objects.set(self.objects.get() + 1);
        // SAFETY: a gap is at hand, so `blocks` leads to the metadata of the page that this thread owns.
        let blocks = unsafe { &*self.blocks.get() };
        blocks.place(index, taken, rest);
        if self.marking.get() {
            self.blacken(blocks, index);
        }
        Some(start)
    }

    /// Where objects of two words can lie in a row in the gap at hand, and how many. 0 if none fits.
    #[inline]
    pub(crate) fn pairs(&self) -> (usize, usize) {
        let (start, end) = (self.bump.get(), self.end.get());
        let left = (end - start) / 8;
        let count = match ((start - self.base.get()) / 8 % 2, left) {
            // With an odd beginning they would meet the end of a group of 64 words, and with an odd end a word would be
            // left.
            (0, left) if left % 2 == 0 => left / 2,
            (0, 3) => 1,
            (0, left) => left.saturating_sub(2) / 2,
            (_, left) => usize::from(left >= 2),
        };
        (start, count)
    }

    /// Makes objects of the first `count` pairs of words that [`Local::pairs`] gave.
    #[inline]
    pub(crate) fn take_pairs(&self, count: usize) {
        let start = self.bump.get();
        let index = (start - self.base.get()) / 8;
        let left = (self.end.get() - start) / 8;
        // An only one may be longer, to make the next begin at an even word.
        let wanted = if index % 2 == 1 && left > 2 { 3 } else { 2 };
        let (taken, rest) = if count == 1 { Blocks::fit(index, wanted, left) } else { (2 * count, left - 2 * count) };
        self.padding.set(self.padding.get() + (taken - 2 * count) as u64);
        self.objects.set(self.objects.get() + count as u64);
        self.bump.set(start + taken * 8);
        // SAFETY: a gap is at hand, so `blocks` leads to the metadata of the page that this thread owns.
        let blocks = unsafe { &*self.blocks.get() };
        blocks.place_pairs(index, count, taken, rest);
        if self.marking.get() {
            self.claimed(blocks).mark_pairs(index, count);
        }
    }

    /// The words at the end of the gap at hand in which objects of any size can be laid one in front of the other, all
    /// in one group of 64 words: an address and words. What is left of the gap is at least two words long.
    #[inline]
    pub(crate) fn window(&self) -> (usize, usize) {
        let base = self.base.get();
        let (first, end) = ((self.bump.get() - base) / 8 + 2, (self.end.get() - base) / 8);
        // A group's first word alone is too little; it becomes the end of the object in front of it.
        let end = if end % 64 == 1 { end - 1 } else { end };
        let first = first.max(end.saturating_sub(1) / 64 * 64);
        (base + first * 8, end.saturating_sub(first))
    }

    /// Makes objects of what was laid into the end of [`Local::window`]: the bits of the first and second word of each
    /// within the group, and where the lowest begins. Their words.
    #[inline]
    pub(crate) fn take_window(&self, objects: u64, first: usize) -> usize {
        let index = (first - self.base.get()) / 8;
        let end = self.end.replace(first);
        let words = (end - first) / 8;
        let padding = usize::from((end - self.base.get()) / 8 % 64 == 1);
        self.padding.set(self.padding.get() + padding as u64);
        // As if counting had begun so much earlier: the gap becomes shorter at its end, too.
        self.counted.set(self.counted.get() - words * 8);
        self.objects.set(self.objects.get() + u64::from(objects.count_ones() / 2));
        // SAFETY: a gap is at hand, so `blocks` leads to the metadata of the page that this thread owns.
        let blocks = unsafe { &*self.blocks.get() };
        blocks.place_group(index, objects);
        if self.marking.get() {
            self.claimed(blocks).mark_group(index, objects);
        }
        words
    }

    /// Marks a new object of the page at hand. Away from the path that most allocations take, which is the shorter for
    /// it.
    #[cold]
    fn blacken(&self, blocks: &Blocks, index: usize) {
        self.claimed(blocks).mark_and_take(index);
    }

    /// The mark bits of the page at hand, whose bits are `blocks`.
    #[inline]
    fn claimed<'a>(&'a self, blocks: &'a Blocks) -> Marks<'a> {
        // SAFETY: there is a page, so `record` leads to the metadata of the page that this thread owns.
        let head = unsafe { &(*self.record.get()).head };
        let marks = Marks { head, groups: &blocks.marks };
        marks.claim(self.cycle.get());
        marks
    }

    /// Takes note of what was allocated in the gap at hand.
    #[inline]
    fn gather(&self) {
        let words = ((self.bump.get() - self.counted.get()) / 8) as u64;
        self.counted.set(self.bump.get());
        self.words.set(self.words.get() + words);
        self.debt.set(self.debt.get() + words);
    }

    /// Moves on to the next gap of at least `words` words on the page, at or behind word `from`; remembers the longest
    /// of those left behind.
    fn advance(&self, from: usize, words: usize) -> bool {
        if self.page.get().is_none() {
            return false;
        }
        // SAFETY: there is a page, so `blocks` leads to its metadata.
        let blocks = unsafe { &*self.blocks.get() };
        let mut at = from;
        while at < PAGE_WORDS {
            let end = blocks.end_of(at);
            if !blocks.is_object(at) {
                if end - at >= words {
                    self.bump.set(self.base.get() + at * 8);
                    self.counted.set(self.bump.get());
                    self.end.set(self.base.get() + end * 8);
                    self.behind.set(end);
                    return true;
                }
                self.skip(end - at);
            }
            at = end;
        }
        self.searched.set(true);
        false
    }

    /// Leaves a gap of the page behind.
    fn skip(&self, words: usize) {
        self.skipped.set(self.skipped.get().max(words));
    }
}

impl Blocks {
    /// The longest gap of a small page, in words.
    pub(super) fn longest_gap(&self) -> usize {
        let (mut at, mut longest) = (0, 0);
        while at < PAGE_WORDS {
            let end = self.end_of(at);
            if !self.is_object(at) {
                longest = longest.max(end - at);
            }
            at = end;
        }
        longest
    }

    /// The first gap of at least `words` words, its length, and that of the longest of the others.
    fn gap_for(&self, words: usize) -> Option<(usize, usize, usize)> {
        let (mut at, mut found, mut others) = (0, None, 0);
        while at < PAGE_WORDS {
            let end = self.end_of(at);
            if !self.is_object(at) {
                match found {
                    None if end - at >= words => found = Some((at, end - at)),
                    _ => others = others.max(end - at),
                }
            }
            at = end;
        }
        found.map(|(index, gap)| (index, gap, others))
    }
}

impl Paged {
    /// Allocates what [`Local::allocate`] could not; pays a slice of the collection for it.
    #[cold]
    pub(crate) fn allocate(&self, cx: &Context<'_>, local: &Local, words: usize) -> Result<usize, OutOfMemory> {
        let error = OutOfMemory { words, limit: self.limit };
        if words.div_ceil(PAGE_WORDS) > self.limit_pages {
            return Err(error);
        }
        local.gather();
        if let Some(object) = self.reuse(local, words) {
            return Ok(object);
        }
        // A look now and then suffices; that keeps this path short for objects that always take it.
        let busy = self.busy.load(Ordering::Relaxed);
        let patience = if busy { BUSY_WORDS } else { IDLE_WORDS };
        if self.stress == 0 && words <= PATIENT_WORDS && !cx.me.is_some_and(|me| cx.world.wants(me)) {
            let patient = local.debt.get() < patience;
            if !patient {
                self.count(local);
                if busy || self.may_be_due() {
                    return self.allocate_and_pay(cx, local, words).ok_or(error);
                }
                local.debt.set(0);
            }
            if let Some(object) = self.try_allocate(local, words) {
                return Ok(object);
            }
        }
        self.allocate_and_pay(cx, local, words).ok_or(error)
    }

    /// An object, without a poll, without work.
    pub(crate) fn allocate_quietly(&self, local: &Local, words: usize) -> Result<usize, OutOfMemory> {
        local.gather();
        let fits = words.div_ceil(PAGE_WORDS) <= self.limit_pages;
        let object = fits.then(|| self.try_allocate(local, words)).flatten();
        // Unlike others, such an object may lie about without a root while more are allocated.
        local.temporary.set(0);
        object.ok_or(OutOfMemory { words, limit: self.limit })
    }

    /// Whether the thread has allocated so much since it last paid that it should now.
    #[inline]
    pub(crate) fn owes(&self, local: &Local) -> bool {
        local.debt.get() >= IDLE_WORDS || self.stress > 0
    }

    /// Polls, and works off what the thread owes.
    pub(crate) fn settle(&self, cx: &Context<'_>, local: &Local) {
        let since = cx.log.start();
        self.count(local);
        self.poll(cx, local);
        let cause = self.pay(cx, local, since.wall());
        cx.log.pause(since, cause);
    }

    /// The block of the newest medium or large object, if that object is dead: no reference to it was ever stored, and
    /// no root holds it.
    fn reuse(&self, local: &Local, words: usize) -> Option<usize> {
        let object = local.temporary.get();
        if object == 0 || words <= SMALL_WORDS || local.held.get() > 0 || local.marking.get() {
            return None;
        }
        let block = self.words_of(object);
        if block < words || block - words > words / 8 {
            return None;
        }
        local.objects.set(local.objects.get() + 1);
        local.debt.set(local.debt.get() + words as u64 / 8);
        local.reused.set(local.reused.get() + words as u64);
        Some(object)
    }

    fn allocate_and_pay(&self, cx: &Context<'_>, local: &Local, words: usize) -> Option<usize> {
        let since = cx.log.start();
        self.count(local);
        self.poll(cx, local);
        let mut cause = self.pay(cx, local, since.wall());
        if self.stress > 0 {
            // Each visit here is a page's worth of allocation: far more often than without stress, and in every phase.
            self.work(cx, Some(local), Budget { words: 64 * self.stress as u64, deadline: None });
        }
        let remapped = local.remapped.get();
        let object = match self.try_allocate(local, words) {
            Some(object) => {
                if local.remapped.get() != remapped {
                    cause = Cause::Remap;
                }
                Some(object)
            }
            None => {
                cause = Cause::Exhausted;
                self.allocate_at_last(cx, local, words)
            }
        };
        cx.log.pause(since, cause);
        object
    }

    fn try_allocate(&self, local: &Local, words: usize) -> Option<usize> {
        let taken = words.max(2);
        if taken > PAGE_WORDS {
            return self.allocate_large(local, words);
        }
        if taken > SMALL_WORDS {
            return self.allocate_medium(local, words);
        }
        self.next_gap(local, taken)?;
        local.allocate(words)
    }

    /// Leaves the gap at hand for one of at least `words` words.
    fn next_gap(&self, local: &Local, words: usize) -> Option<()> {
        let from = local.behind.get();
        local.gather();
        local.skip((local.end.get() - local.bump.get()) / 8);
        // Nothing is left of the gap at hand, for a release to look at.
        local.bump.set(local.end.get());
        local.counted.set(local.end.get());
        if local.advance(from, words) {
            return Some(());
        }
        let mut memory = self.memory();
        self.give_page(local, &mut memory);
        let page = memory.take(words, ROOMY)?;
        drop(memory);
        local.page.set(Some(page));
        let record = self.table.get(page);
        local.record.set(record);
        local.blocks.set(self.table.blocks(record));
        local.base.set(self.address(page, 0));
        local.debt.set(local.debt.get() + PAGE_WORDS as u64 / 4);
        local.skipped.set(0);
        local.searched.set(false);
        local.advance(0, words).then_some(())
    }

    /// As [`Local::pairs`] in the next gap with room for one, without a poll, without work.
    #[cold]
    pub(crate) fn next_pairs(&self, local: &Local) -> Result<(usize, usize), OutOfMemory> {
        self.next_gap(local, 2).ok_or(OutOfMemory { words: 2, limit: self.limit })?;
        Ok(local.pairs())
    }

    /// Gives the thread's page back to all.
    pub(crate) fn release(&self, local: &Local) {
        self.count(local);
        if local.page.get().is_some() {
            self.give_page(local, &mut self.memory());
        }
    }

    /// Puts the thread's page, if it has one, where it belongs.
    fn give_page(&self, local: &Local, memory: &mut Memory) {
        if let Some(page) = local.page.take() {
            let longest = || self.table.blocks(self.table.get(page)).longest_gap();
            let gap = if local.searched.get() { local.skipped.get() } else { longest() };
            memory.give(page, gap);
        }
        local.bump.set(0);
        local.end.set(0);
        local.behind.set(0);
        local.base.set(0);
        local.counted.set(0);
    }

    fn allocate_medium(&self, local: &Local, words: usize) -> Option<usize> {
        let mut memory = self.memory();
        let room = match PAGE_WORDS - words {
            rest if rest <= SINGLE_REST => memory.take_single(words)?,
            _ => Room::Gap(memory.take(words, 0)?),
        };
        let (page, index, taken) = match room {
            Room::Single(page) => {
                self.blacken(local, page, 0);
                (page, 0, words)
            }
            Room::Gap(page) => {
                let blocks = self.table.blocks(self.table.get(page));
                let (index, gap, others) = blocks.gap_for(words)?;
                let (taken, rest) = Blocks::fit(index, words, gap);
                local.padding.set(local.padding.get() + (taken - words) as u64);
                blocks.place(index, taken, rest);
                self.blacken(local, page, index);
                memory.give(page, rest.max(others));
                (page, index, taken)
            }
        };
        drop(memory);
        let object = self.address(page, index);
        self.area.prefetch_block(object, words * 8);
        self.count_block(local, taken);
        Some(self.note(local, object))
    }

    /// Marks a new object while marking is on; the collector need not scan it.
    fn blacken(&self, local: &Local, page: u32, index: usize) {
        if local.marking.get() {
            let marks = self.table.marks(self.table.get(page));
            marks.claim(local.cycle.get());
            marks.mark_and_take(index);
        }
    }

    fn allocate_large(&self, local: &Local, words: usize) -> Option<usize> {
        let mut memory = self.memory();
        let before = memory.space.remapped();
        let page = memory.take_large(words)?;
        let remapped = memory.space.remapped() != before;
        self.blacken(local, page, 0);
        if local.marking.get() {
            self.mark_tail(page, self.table.get(page), local.cycle.get());
        }
        drop(memory);
        if remapped {
            local.remapped.set(local.remapped.get() + 1);
        }
        let object = self.address(page, 0);
        self.area.prefetch_block(object, words * 8);
        self.count_block(local, words);
        Some(self.note(local, object))
    }

    /// Remembers a new object, which nothing refers to yet.
    fn note(&self, local: &Local, object: usize) -> usize {
        local.temporary.set(if self.temporaries { object } else { 0 });
        local.held.set(0);
        object
    }

    fn count_block(&self, local: &Local, words: usize) {
        local.objects.set(local.objects.get() + 1);
        local.debt.set(local.debt.get() + words as u64);
        local.words.set(local.words.get() + words as u64);
    }

    /// Adds what the thread allocated to the figures of the heap.
    pub(crate) fn count(&self, local: &Local) {
        local.gather();
        let counters = &self.counters;
        let reused = local.reused.take();
        for (cell, more) in [
            // Both, for no memory was used.
            (&counters.allocated, local.words.take() + reused),
            (&counters.at_flip, reused),
            (&counters.padding, local.padding.take()),
            (&counters.objects, local.objects.take()),
        ] {
            if more > 0 {
                cell.fetch_add(more, Ordering::Relaxed);
            }
        }
    }

    /// Brings a collection to its end, then another, until the object fits.
    fn allocate_at_last(&self, cx: &Context<'_>, local: &Local, words: usize) -> Option<usize> {
        // The first round ends what is going on, or collects; the second finds what died while the first marked.
        for _ in 0..2 {
            self.release(local);
            let object = self.complete_until(cx, local, || self.try_allocate(local, words));
            if let Some(object) = object.or_else(|| self.try_allocate(local, words)) {
                return Some(object);
            }
        }
        None
    }

    /// Registers a finalizable object.
    pub(crate) fn add_finalizable(&self, object: usize) {
        self.lock_finalizers().add(object);
    }
}
