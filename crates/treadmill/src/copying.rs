//! `CP`: the mostly-copying collector that the paper compares with (Bartlett, DEC WRL 88/2), by pages and without
//! generations.
//!
//! Threads' roots are ambiguous: a page that one of them points into is promoted whole, in place. Everything else that
//! is reachable is copied into fresh pages, and the old pages are freed. Half of the heap is kept for copying. Unlike
//! the paper's, it does not protect pages to run incrementally: the program is stopped for the whole collection.
//!
//! An object is preceded by one word: its length in words, times two, plus one once it was copied away (its first word
//! is then its new address). Invariants: CP1 the objects of a page follow each other from its first word up to its
//! fill; CP2 outside a collection no object is marked as copied; CP3 pages in use never exceed the limit.

use crate::area::Area;
use crate::config::Config;
use crate::error::{HeapError, OutOfMemory, Violation};
use crate::finalizers::Finalizers;
use crate::heap::Context;
use crate::runtime::{Portion, Visitor};
use crate::space::PageSpace;
use crate::statistics::{Cause, Statistics, Usage};
use std::ptr::NonNull;
use std::sync::Arc;

#[cfg(all(test, not(loom)))]
mod tests;

const PAGE_BYTES: usize = 8192;
const PAGE_WORDS: usize = PAGE_BYTES / 8;
const PAGE_META: usize = size_of::<Page>();
const ADDRESS_FACTOR: usize = 32;

/// What is known of a page; a page inside a run refers to its first.
#[derive(Clone, Copy, Debug, Default)]
struct Page {
    /// The collection that allocated, copied or promoted it; 0 for a free page.
    space: u32,
    /// Words in use.
    fill: u32,
    /// Length of the run in pages, for the first page of one.
    run: u32,
    /// How many pages before this its run begins.
    back: u32,
    /// Words scanned in this collection.
    scanned: u32,
    /// Whether it is in `Copying::unscanned`.
    queued: bool,
}

#[derive(Debug)]
pub(crate) struct Copying {
    stress: usize,
    limit_bytes: usize,
    space: PageSpace,
    table: Vec<Page>,
    in_use: Vec<u32>,
    current: Option<u32>,
    cycle: u32,
    collecting: bool,
    /// Pages of the new space that hold objects not yet scanned.
    unscanned: Vec<u32>,
    header: u64,
    useful: u64,
    clock: u64,
    objects: u64,
    finalizers: Finalizers,
}

impl Copying {
    pub(crate) fn new(config: &Config) -> Result<Copying, HeapError> {
        let limit = config.limit / (PAGE_BYTES + PAGE_META);
        let area = Area::reserve(limit * ADDRESS_FACTOR * PAGE_BYTES, PAGE_BYTES)?;
        Ok(Copying {
            stress: config.stress,
            limit_bytes: config.limit,
            space: PageSpace::new(Arc::new(area), PAGE_BYTES, limit as u32, true, true)?,
            table: Vec::new(),
            in_use: Vec::new(),
            current: None,
            cycle: 1,
            collecting: false,
            unscanned: Vec::new(),
            header: 0,
            useful: 0,
            clock: 0,
            objects: 0,
            finalizers: Finalizers::default(),
        })
    }

    pub(crate) fn area(&self) -> &Area {
        self.space.area()
    }

    fn word(&self, address: usize) -> u64 {
        // SAFETY: only called for words inside objects or their headers on pages in use, under the collector's lock.
        unsafe { self.space.area().pointer(address).read() }
    }

    fn set_word(&mut self, address: usize, value: u64) {
        // SAFETY: as for `word`; nobody else touches headers, or dead objects' first words.
        unsafe { self.space.area().pointer(address).write(value) }
    }

    fn page(&mut self, page: u32) -> &mut Page {
        let index = page as usize;
        if index >= self.table.len() {
            self.table.resize(index + 1, Page::default());
        }
        &mut self.table[index]
    }

    fn first_page(&mut self, address: usize) -> u32 {
        let page = self.space.page_of(address);
        page - self.page(page).back
    }

    pub(crate) fn allocate(&mut self, cx: &Context<'_>, words: usize, finalizable: bool) -> Result<usize, OutOfMemory> {
        let error = OutOfMemory { words, limit: self.limit_bytes };
        let words = words.max(1);
        if words >= self.space.limit() as usize * PAGE_WORDS {
            return Err(error);
        }
        if self.stress > 0 && self.objects.is_multiple_of(self.stress as u64) {
            self.collect(cx, Cause::WholeCollection);
        }
        let half = self.space.limit() / 2;
        let object = match self.place(words, half) {
            Some(object) => object,
            None => {
                self.collect(cx, Cause::WholeCollection);
                self.place(words, half).ok_or(error)?
            }
        };
        self.objects += 1;
        self.clock += words as u64 * 8;
        if finalizable {
            self.finalizers.add(object);
        }
        Ok(object)
    }

    /// Room for an object, while no more than `limit` pages are in use.
    fn place(&mut self, words: usize, limit: u32) -> Option<usize> {
        let total = words + 1;
        let page = match self.current {
            Some(page) if self.table[page as usize].fill as usize + total <= PAGE_WORDS => page,
            _ => self.take(total, limit)?,
        };
        let fill = self.table[page as usize].fill as usize;
        let header = self.space.address(page) + fill * 8;
        self.page(page).fill += total as u32;
        self.set_word(header, (words as u64) << 1);
        if self.collecting {
            self.queue(page);
        }
        self.header += 8;
        self.useful += words as u64 * 8;
        Some(header + 8)
    }

    fn take(&mut self, total: usize, limit: u32) -> Option<u32> {
        let run = total.div_ceil(PAGE_WORDS) as u32;
        if self.space.in_use() + run > limit {
            return None;
        }
        let page = if run == 1 { self.space.take_page() } else { self.space.take_run(run) }?;
        for back in 0..run {
            *self.page(page + back) = Page { space: self.cycle, run, back, ..Page::default() };
        }
        self.in_use.push(page);
        if run == 1 {
            self.current = Some(page);
        }
        Some(page)
    }

    /// Keeps the page of a root where it is.
    fn promote(&mut self, address: usize) {
        let page = self.first_page(address);
        let cycle = self.cycle;
        let info = self.page(page);
        if info.space != cycle {
            info.space = cycle;
            info.scanned = 0;
            self.queue(page);
        }
    }

    fn queue(&mut self, page: u32) {
        let info = self.page(page);
        if !info.queued {
            info.queued = true;
            self.unscanned.push(page);
        }
    }

    /// Where an object is in the new space.
    fn forward(&mut self, object: usize) -> usize {
        let header = self.word(object - 8);
        if header & 1 == 1 {
            return self.word(object) as usize;
        }
        let page = self.first_page(object);
        if self.page(page).space == self.cycle {
            return object;
        }
        let words = (header >> 1) as usize;
        let Some(copy) = self.place(words, self.space.limit()) else {
            // No room to copy into: the page stays, as if a root pointed into it.
            self.promote(object);
            return object;
        };
        // SAFETY: both are `words` long; the copy is fresh, so they do not overlap.
        unsafe {
            let (from, to) = (self.area().pointer(object), self.area().pointer(copy));
            std::ptr::copy_nonoverlapping(from, to, words);
        }
        self.set_word(object - 8, header | 1);
        self.set_word(object, copy as u64);
        copy
    }

    fn scan(&mut self, cx: &Context<'_>) {
        while let Some(page) = self.unscanned.pop() {
            let base = self.space.address(page);
            while self.table[page as usize].scanned < self.table[page as usize].fill {
                let object = base + self.table[page as usize].scanned as usize * 8 + 8;
                let header = self.word(object - 8);
                let words = (header >> 1) as usize;
                self.page(page).scanned += words as u32 + 1;
                if header & 1 == 0 {
                    self.describe(cx, object, words);
                }
            }
            self.page(page).queued = false;
        }
    }

    fn describe(&mut self, cx: &Context<'_>, object: usize, words: usize) {
        let Some(pointer) = NonNull::new(self.area().pointer(object)) else {
            return;
        };
        let mut sink = |reference: NonNull<u64>| {
            let now = self.forward(reference.addr().get());
            NonNull::new(self.area().pointer(now)).unwrap_or(reference)
        };
        // SAFETY: the object is reachable, or lies on a promoted page and was never reclaimed.
        unsafe {
            cx.runtime.describe(pointer, words, 0..words, &mut Visitor::new(&mut sink));
        }
    }

    /// Collects with the world stopped.
    pub(crate) fn collect(&mut self, cx: &Context<'_>, cause: Cause) {
        let since = cx.log.start();
        let before = self.usage();
        cx.world.stop(cx.me);
        self.cycle = self.cycle.wrapping_add(1).max(1);
        self.current = None;
        self.collecting = true;
        let old = std::mem::take(&mut self.in_use);
        (self.header, self.useful) = (0, 0);
        cx.globals.scan(0, usize::MAX, |object| self.promote(object));
        for member in cx.world.members() {
            member.roots.scan(0, usize::MAX, |object| self.promote(object));
        }
        self.promote_runtime_roots(cx);
        self.scan(cx);
        self.finalize(cx);
        for page in old {
            let Page { space, run, .. } = *self.page(page);
            if space == self.cycle {
                self.clean(page);
                self.in_use.push(page);
                continue;
            }
            for inner in 0..run {
                *self.page(page + inner) = Page::default();
            }
            if run == 1 {
                self.space.give_page(page);
            } else {
                self.space.give_run(page, run);
            }
        }
        self.collecting = false;
        cx.world.resume();
        cx.log.collection(before, self.usage());
        cx.log.pause(since, cause);
    }

    fn promote_runtime_roots(&mut self, cx: &Context<'_>) {
        let mut sink = |reference: NonNull<u64>| {
            self.promote(reference.addr().get());
            reference
        };
        let mut visitor = Visitor::new(&mut sink);
        cx.runtime.begin_roots();
        while cx.runtime.push_roots(usize::MAX, &mut visitor) == Portion::More {}
        while cx.runtime.push_changed_roots(usize::MAX, &mut visitor) == Portion::More {}
    }

    /// Takes the copied-away marks off a promoted page (CP2), leaving those objects as garbage, and counts the others.
    fn clean(&mut self, page: u32) {
        let base = self.space.address(page);
        let mut at = 0;
        while at < self.table[page as usize].fill {
            let header = self.word(base + at as usize * 8);
            if header & 1 == 1 {
                // Garbage that may be scanned when its page is promoted again: it must hold nothing stale.
                let first = base + at as usize * 8 + 8;
                let copy = self.word(first) as usize;
                // SAFETY: the copy and its dead original have the same length and do not overlap.
                unsafe {
                    let (from, to) = (self.area().pointer(copy), self.area().pointer(first));
                    std::ptr::copy_nonoverlapping(from, to, (header >> 1) as usize);
                }
                self.set_word(base + at as usize * 8, header & !1);
            }
            self.header += 8;
            self.useful += (header >> 1) * 8;
            at += (header >> 1) as u32 + 1;
        }
    }

    fn finalize(&mut self, cx: &Context<'_>) {
        let mut finalizers = std::mem::take(&mut self.finalizers);
        finalizers.rewind();
        finalizers.step(usize::MAX, |object| {
            let header = self.word(object - 8);
            if header & 1 == 1 {
                return Some(self.word(object) as usize);
            }
            let page = self.first_page(object);
            if self.page(page).space == self.cycle {
                return Some(object);
            }
            self.finalize_one(cx, object);
            None
        });
        self.finalizers = finalizers;
    }

    fn finalize_one(&self, cx: &Context<'_>, object: usize) {
        let words = (self.word(object - 8) >> 1) as usize;
        if let Some(pointer) = NonNull::new(self.area().pointer(object)) {
            // SAFETY: the object is dead and its page not yet given to anybody else.
            unsafe { cx.runtime.finalize(pointer, words) };
        }
    }

    /// Finalizes everything: the heap ends.
    pub(crate) fn finalize_all(&mut self, cx: &Context<'_>) {
        for object in self.finalizers.take_all() {
            self.finalize_one(cx, object);
        }
    }

    pub(crate) fn usage(&self) -> Usage {
        let pages = self.space.in_use() as u64;
        Usage {
            clock: self.clock,
            useful: self.useful,
            header: self.header + pages * PAGE_META as u64,
            padding: 0,
            in_use: pages * (PAGE_BYTES + PAGE_META) as u64,
            limit: self.limit_bytes as u64,
        }
    }

    pub(crate) fn fill_statistics(&self, statistics: &mut Statistics) {
        statistics.objects = self.objects;
        statistics.bytes = self.clock;
        statistics.remapped_pages = self.space.remapped();
        statistics.finalized = self.finalizers.finalized();
    }

    /// Checks CP1 to CP3. The world must be stopped.
    pub(crate) fn verify(&self) -> Result<(), Violation> {
        let broken = |invariant, address, found: String| Err(Violation { invariant, address, found });
        for page in &self.in_use {
            let (info, base) = (self.table[*page as usize], self.space.address(*page));
            let mut at = 0;
            while at < info.fill {
                let header = self.word(base + at as usize * 8);
                if header & 1 == 1 {
                    return broken("CP2", base + at as usize * 8, "copied away".into());
                }
                at += (header >> 1) as u32 + 1;
            }
            if at != info.fill {
                return broken("CP1", base, format!("{at} words of {}", info.fill));
            }
        }
        if self.space.in_use() > self.space.limit() {
            return broken("CP3", 0, format!("{} pages", self.space.in_use()));
        }
        Ok(())
    }
}
