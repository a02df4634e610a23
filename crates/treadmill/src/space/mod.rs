//! Pages of an [`Area`]: which are free, which are backed by memory, and how they move between addresses.
//!
//! Invariants: SP1 the pages backed by memory or handed out never exceed the limit, but by those that are backed ahead
//! ([`MOST_AHEAD`]); SP2 a page is in exactly one of handed out, pool, runs and fresh. The pool is for spaces without
//! sharing; elsewhere single pages are runs.

mod runs;

pub(crate) use runs::Tags;

use crate::area::Area;
use crate::error::HeapError;
use runs::FreeRuns;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

/// Runs of pages that memory does not back, coalesced, found by best fit in logarithmic time.
#[derive(Debug, Default)]
struct Fresh {
    by_start: BTreeMap<u32, u32>,
    by_length: BTreeSet<(u32, u32)>,
}

impl Fresh {
    fn insert(&mut self, start: u32, length: u32) {
        self.by_start.insert(start, length);
        self.by_length.insert((length, start));
    }

    fn remove(&mut self, start: u32, length: u32) {
        self.by_start.remove(&start);
        self.by_length.remove(&(length, start));
    }

    fn give(&mut self, mut start: u32, mut length: u32) {
        let before = self.by_start.range(..start).next_back();
        if let Some((&left, &left_length)) = before.filter(|(s, l)| **s + **l == start) {
            self.remove(left, left_length);
            start = left;
            length += left_length;
        }
        if let Some(&right_length) = self.by_start.get(&(start + length)) {
            self.remove(start + length, right_length);
            length += right_length;
        }
        self.insert(start, length);
    }

    fn take(&mut self, pages: u32) -> Option<u32> {
        let &(length, start) = self.by_length.range((pages, 0)..).next()?;
        self.remove(start, length);
        if length > pages {
            self.insert(start + pages, length - pages);
        }
        Some(start)
    }
}

/// The unit in which the operating system backs memory.
const OS_PAGE: usize = 4096;
/// Most pages that are backed at once because a heap grows page by page.
const MOST_AHEAD: u32 = 64;

/// A table with an entry for each page of a space, backed only where pages are.
#[derive(Debug)]
pub(crate) struct Metadata {
    area: Arc<Area>,
    entry: usize,
    /// Backed pages whose entries lie, in part or whole, in each unit of the table.
    backed: Vec<u16>,
}

impl Metadata {
    /// A table of zeroed entries of `entry` bytes.
    pub(crate) fn new(area: Arc<Area>, entry: usize) -> Metadata {
        let units = area.range().len().div_ceil(OS_PAGE);
        Metadata { area, entry, backed: vec![0; units] }
    }

    fn units(&self, page: u32) -> std::ops::RangeInclusive<usize> {
        let first = page as usize * self.entry;
        first / OS_PAGE..=(first + self.entry - 1) / OS_PAGE
    }

    /// Backs the entries of so many pages now.
    fn populate(&self, start: u32, pages: u32) {
        let units = *self.units(start).start()..*self.units(start + pages - 1).end() + 1;
        self.area.populate(self.area.base() + units.start * OS_PAGE, units.len() * OS_PAGE);
    }

    fn back(&mut self, page: u32) {
        for unit in self.units(page) {
            self.backed[unit] += 1;
        }
    }

    fn unback(&mut self, page: u32) {
        for unit in self.units(page) {
            self.backed[unit] -= 1;
            if self.backed[unit] == 0 {
                // SAFETY: none of the pages whose entries are here is in use, and an entry of zeros is that of such a
                // page.
                unsafe { self.area.decommit(self.area.base() + unit * OS_PAGE, OS_PAGE) };
            }
        }
    }
}

/// The pages of a heap.
#[derive(Debug)]
pub(crate) struct PageSpace {
    area: Arc<Area>,
    page_bytes: usize,
    limit: u32,
    committed: u32,
    pool: Vec<u32>,
    runs: FreeRuns,
    fresh: Fresh,
    sharing: bool,
    eager: bool,
    /// The pages that were backed last.
    ahead: Range<u32>,
    remapped: u64,
    returned: u64,
    metadata: Option<Metadata>,
}

impl PageSpace {
    /// `sharing`: single pages and runs may serve each other, through remapping; otherwise each keeps what it once had.
    /// `eager`: remapped pages are backed at once.
    pub(crate) fn new(
        area: Arc<Area>,
        page_bytes: usize,
        limit: u32,
        sharing: bool,
        eager: bool,
    ) -> Result<PageSpace, HeapError> {
        let tags = Tags::new((area.range().len() / page_bytes) as u32)?;
        Ok(PageSpace::with_tags(area, page_bytes, limit, sharing, eager, tags))
    }

    /// As [`PageSpace::new`], with the tags of free pages somewhere else.
    pub(crate) fn with_tags(
        area: Arc<Area>,
        page_bytes: usize,
        limit: u32,
        sharing: bool,
        eager: bool,
        tags: Tags,
    ) -> PageSpace {
        let pages = (area.range().len() / page_bytes) as u32;
        let mut fresh = Fresh::default();
        fresh.give(0, pages);
        PageSpace {
            area,
            page_bytes,
            limit,
            committed: 0,
            pool: Vec::new(),
            runs: FreeRuns::new(tags),
            fresh,
            sharing,
            eager,
            ahead: 0..0,
            remapped: 0,
            returned: 0,
            metadata: None,
        }
    }

    /// Keeps a table of metadata backed as far as the pages are. For a space of which nothing was handed out yet.
    pub(crate) fn with_metadata(self, metadata: Metadata) -> PageSpace {
        PageSpace { metadata: Some(metadata), ..self }
    }

    /// Backs as many pages as the limit allows, which are free from then on. For a space of which nothing was handed
    /// out yet.
    pub(crate) fn back_all(&mut self) {
        let pages = self.limit;
        if let Some(start) = self.fresh.take(pages) {
            self.commit(start, pages);
            self.area.populate_large(self.address(start), pages as usize * self.page_bytes);
            if let Some(metadata) = &self.metadata {
                metadata.populate(start, pages);
            }
            self.runs.give(start, pages);
        }
    }

    /// Counts fresh pages as backed from now on.
    fn commit(&mut self, start: u32, pages: u32) {
        self.committed += pages;
        if let Some(metadata) = &mut self.metadata {
            (start..start + pages).for_each(|page| metadata.back(page));
        }
    }

    pub(crate) fn area(&self) -> &Area {
        &self.area
    }

    pub(crate) fn limit(&self) -> u32 {
        self.limit
    }

    /// Changes the limit. Where it falls, pages that are free already must make up for it; their memory is given back.
    pub(crate) fn set_limit(&mut self, pages: u32) {
        self.limit = pages;
        self.unback(self.committed.saturating_sub(pages));
    }

    pub(crate) fn remapped(&self) -> u64 {
        self.remapped
    }

    /// Pages that may still be handed out, whatever for.
    pub(crate) fn available(&self) -> u32 {
        self.limit.saturating_sub(self.in_use())
    }

    /// Pages handed out.
    pub(crate) fn in_use(&self) -> u32 {
        self.committed - self.pool.len() as u32 - self.runs.total()
    }

    /// Hands out one page; its old content is undefined.
    pub(crate) fn take_page(&mut self) -> Option<u32> {
        if let Some(page) = self.pool.pop() {
            return Some(page);
        }
        if self.sharing
            && let Some(page) = self.runs.take(1)
        {
            return Some(page);
        }
        if self.committed >= self.limit {
            return None;
        }
        let page = self.fresh.take(1)?;
        self.commit(page, 1);
        self.back_ahead(page);
        Some(page)
    }

    /// Backs a page that was fresh. If it follows those that were backed last, twice as many are backed at once: a heap
    /// that grows has fewer faults then, each of which costs more than the page. Large pages of the system instead made
    /// a copy of 16 MB take twice as long.
    fn back_ahead(&mut self, page: u32) {
        if self.ahead.contains(&page) {
            return;
        }
        let follows = page == self.ahead.end && page > 0;
        let pages = if follows { (2 * self.ahead.len() as u32).min(MOST_AHEAD) } else { 1 };
        let pages = pages.min(self.limit - self.committed + 1).min(self.pages() - page);
        if pages > 1 {
            self.area.populate(self.address(page), pages as usize * self.page_bytes);
        }
        self.ahead = page..page + pages;
    }

    /// The pages that there are addresses for.
    fn pages(&self) -> u32 {
        (self.area.range().len() / self.page_bytes) as u32
    }

    pub(crate) fn give_page(&mut self, page: u32) {
        if self.sharing {
            self.runs.give(page, 1);
        } else {
            self.pool.push(page);
        }
    }

    /// Hands out `pages` contiguous pages; their old content is undefined.
    pub(crate) fn take_run(&mut self, pages: u32) -> Option<u32> {
        if let Some(start) = self.runs.take(pages) {
            return Some(start);
        }
        let over = (self.committed as u64 + pages as u64).saturating_sub(self.limit as u64);
        if over > 0 {
            if !self.sharing || over > self.runs.total() as u64 {
                return None;
            }
            self.unback(over as u32);
        }
        let start = self.fresh.take(pages)?;
        self.commit(start, pages);
        if over > 0 && self.eager {
            let address = self.address(start);
            self.area.populate(address, pages as usize * self.page_bytes);
        }
        Some(start)
    }

    /// Visits all pages that memory backs: first pages, and how many.
    pub(crate) fn each_backed_run(&self, visit: &mut dyn FnMut(u32, u32)) {
        let mut page = 0;
        let end = self.pages();
        for (start, length) in self.fresh.by_start.iter().map(|(start, length)| (*start, *length)).chain([(end, 0)]) {
            if start > page {
                visit(page, start - page);
            }
            page = start + length;
        }
    }

    pub(crate) fn give_run(&mut self, start: u32, pages: u32) {
        self.runs.give(start, pages);
    }

    fn unback(&mut self, mut pages: u32) {
        self.remapped += pages as u64;
        while pages > 0 {
            let Some((start, length)) = (match self.pool.pop() {
                Some(page) => Some((page, 1)),
                None => self.runs.take_some(pages),
            }) else {
                return;
            };
            self.unback_run(start, length);
            pages -= length;
        }
    }

    /// Gives the memory behind free pages, which are on no list any more, back to the operating system.
    fn unback_run(&mut self, start: u32, length: u32) {
        let address = self.address(start);
        // SAFETY: the pages are free (SP2), so nothing live is stored in them.
        unsafe {
            self.area.decommit(address, length as usize * self.page_bytes);
        }
        self.forget(start, length);
    }

    /// Counts pages as not backed.
    fn forget(&mut self, start: u32, length: u32) {
        if let Some(metadata) = &mut self.metadata {
            (start..start + length).for_each(|page| metadata.unback(page));
        }
        self.fresh.give(start, length);
        self.committed -= length;
    }

    /// Free pages that memory backs.
    pub(crate) fn idle(&self) -> u32 {
        self.committed - self.in_use()
    }

    /// Takes at most `pages` free pages, whose memory the caller gives back to the operating system: their start, and
    /// how many.
    pub(crate) fn take_back(&mut self, pages: u32) -> Option<(u32, u32)> {
        self.runs.take_of_long(pages)
    }

    /// Takes pages from [`PageSpace::take_back`] that no memory backs any more.
    pub(crate) fn give_unbacked(&mut self, start: u32, length: u32) {
        self.forget(start, length);
        self.returned += length as u64;
    }

    pub(crate) fn returned(&self) -> u64 {
        self.returned
    }

    pub(crate) fn address(&self, page: u32) -> usize {
        self.area.base() + page as usize * self.page_bytes
    }

    pub(crate) fn page_of(&self, address: usize) -> u32 {
        ((address - self.area.base()) / self.page_bytes) as u32
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn space(limit: u32, sharing: bool) -> PageSpace {
        let area = Area::reserve(32 * limit as usize * 4096, 4096).expect("reserve");
        PageSpace::new(Arc::new(area), 4096, limit, sharing, true).expect("tags")
    }

    #[test]
    fn scattered_pages_are_remapped_into_a_run_within_the_limit() {
        let mut space = space(16, true);
        let pages: Vec<u32> = (0..16).map(|_| space.take_page().expect("page")).collect();
        assert_eq!(space.take_page(), None);
        pages.iter().step_by(2).for_each(|page| space.give_page(*page));
        let run = space.take_run(8).expect("eight pages are free");
        assert_eq!((space.in_use(), space.available()), (16, 0));
        assert_eq!(space.remapped(), 8);
        assert!(!pages.iter().skip(1).step_by(2).any(|p| (run..run + 8).contains(p)));
        assert_eq!(space.take_run(1), None);
    }

    #[test]
    fn memory_given_back_is_taken_again_where_needed() {
        let mut space = space(64, true);
        let run = space.take_run(40).expect("room");
        space.give_run(run, 40);
        assert_eq!(space.idle(), 40);
        let (start, length) = space.take_back(30).expect("forty are free");
        assert_eq!((length, space.available()), (30, 34), "neither free nor given back");
        space.give_unbacked(start, length);
        assert_eq!((space.idle(), space.returned(), space.available()), (10, 30, 64));
        assert!(space.take_run(64).is_some());
        assert_eq!((space.in_use(), space.idle()), (64, 0));
    }

    #[test]
    fn a_space_that_grows_page_by_page_is_backed_ahead_up_to_its_limit() {
        let mut space = space(100, true);
        let mut backed = Vec::new();
        for page in 0..100 {
            assert_eq!(space.take_page(), Some(page));
            backed.push(space.ahead.clone());
        }
        backed.dedup();
        assert_eq!(backed, [0..1, 1..3, 3..7, 7..15, 15..31, 31..63, 63..100]);
        assert_eq!(space.take_page(), None);
        // Elsewhere it begins anew.
        space.give_page(50);
        space.unback(1);
        assert_eq!((space.take_page(), space.ahead.clone()), (Some(50), 50..51));
    }

    #[test]
    fn without_sharing_a_page_stays_what_it_was() {
        let mut space = space(4, false);
        let pages: Vec<u32> = (0..4).map(|_| space.take_page().expect("page")).collect();
        pages.iter().for_each(|page| space.give_page(*page));
        assert_eq!(space.take_run(2), None);
    }
}
