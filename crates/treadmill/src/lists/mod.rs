//! The segregated Treadmill, after Baker (1992), Wilson and Johnstone (1993), and Lim, Pardyak and Bershad (1998), with
//! each of the last one's improvements as a setting.
//!
//! Every block of a size class is in one of the class's four lists: white (free), ecru (allocated, not yet found live),
//! grey (found live, not yet scanned), black (scanned). Phases, all run by the thread that allocates, under the
//! collector's lock:
//!
//! 1. *start*: the other threads stop for a moment; marking is switched on, the runtime's roots are greyed.
//! 2. *some*: at each allocation a bounded number of grey blocks is scanned ([`mark`]).
//! 3. *finish*: the threads' roots are scanned in portions, those of threads that ran since once more with the world
//!    stopped; what they grey is scanned; then each class's ecru list, now all dead, is put behind its white list in
//!    constant time, black becomes ecru, and pages on which nothing was marked are free ([`reclaim`]).
//!
//! Without `incremental` the three run at once, with the world stopped.
//!
//! Invariants, checked by [`verify`]: TM1 a block's links agree with its neighbours'; TM2 the colour of each block in
//! ecru, grey and black is what its list says; TM3 each block lies on a page of its class; TM4 a page called free holds
//! only white blocks; TM5 pages in use never exceed the limit; TM6 outside a collection, grey and black are empty.

mod filling;
pub(crate) mod header;
mod mark;
mod pages;
mod reclaim;
mod verify;

use crate::area::Area;
use crate::config::{Config, Filling, Headers, ListSettings, ListSizes};
use crate::error::{HeapError, OutOfMemory};
use crate::finalizers::Finalizers;
use crate::heap::Context;
use crate::space::PageSpace;
use crate::statistics::{Cause, Times, Usage};
use header::{Access, Info, List, Node};
use pages::Pages;
use std::sync::Arc;
use std::time::Instant;

/// Bytes of a page, as in the paper.
pub(crate) const PAGE_BYTES: usize = 8192;
const PAGE_WORDS: usize = PAGE_BYTES / 8;
/// Bytes that the collector keeps about each page.
const PAGE_META: usize = size_of::<pages::Page>();
const ADDRESS_FACTOR: usize = 32;

/// Colours in headers. Ecru and black swap their values at each collection, so that reclaiming touches no block.
const FREE: u8 = 0;

/// Blocks of one size.
#[derive(Debug)]
struct Class {
    /// Block length in words, header included; 0 for the class of large objects.
    words: usize,
    white: List,
    ecru: List,
    grey: List,
    black: List,
}

/// What is in use for what, in words.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    useful: u64,
    header: u64,
    padding: u64,
}

#[derive(Debug)]
pub(crate) struct Lists {
    settings: ListSettings,
    ratio: u64,
    stress: usize,
    limit_bytes: usize,
    access: Access,
    space: PageSpace,
    pages: Pages,
    classes: Vec<Class>,
    /// Class of each block length in words up to a page.
    class_of: Vec<u8>,
    /// Index of the class of large objects, if there is a big object list.
    large: Option<usize>,
    /// Bit n: class n has grey blocks.
    grey: u64,
    /// The colour of what is found live in this collection; its complement to 3 is the colour of ecru.
    live: u8,
    cycle: u32,
    marking: bool,
    /// How far the portions of finish have come: members scanned.
    finishing: usize,
    debt: u64,
    tally: Tally,
    marked: Tally,
    before: Usage,
    clock: u64,
    objects: u64,
    migrated: u64,
    finalizers: Finalizers,
    gaps: filling::Gaps,
    pub(crate) timing: bool,
    times: Times,
}

impl Lists {
    pub(crate) fn new(config: &Config, settings: &ListSettings) -> Result<Lists, HeapError> {
        let limit = config.limit / (PAGE_BYTES + PAGE_META);
        let factor = if settings.remapping { ADDRESS_FACTOR } else { 1 };
        let reach = Access::reach(settings.headers).min(u32::MAX as u64 * PAGE_WORDS as u64);
        let pages = (limit * factor).min(reach as usize / PAGE_WORDS).max(limit);
        let area = Area::reserve(pages * PAGE_BYTES, PAGE_BYTES)?;
        let access = Access::new(area.pointer(area.base()), settings.headers);
        let space =
            PageSpace::new(Arc::new(area), PAGE_BYTES, limit as u32, settings.remapping, !settings.lazy_remapping)?;
        let mut sizes = match &settings.sizes {
            ListSizes::PowersOfTwo => {
                (2..=PAGE_WORDS.ilog2()).map(|n| 1 << n).filter(|words| *words > settings.headers.words()).collect()
            }
            ListSizes::Arbitrary(sizes) => sizes.clone(),
        };
        sizes.retain(|words| (settings.headers.words() + 1..PAGE_WORDS).contains(words));
        sizes.push(PAGE_WORDS);
        let mut class_of = vec![0; PAGE_WORDS + 1];
        let mut class = 0;
        for (words, of) in class_of.iter_mut().enumerate() {
            if words > sizes[class] {
                class += 1;
            }
            *of = class as u8;
        }
        let large = settings.page_migration.then_some(sizes.len());
        if large.is_some() {
            sizes.push(0);
        } else {
            let mut words = 2 * PAGE_WORDS;
            while words <= limit * PAGE_WORDS {
                sizes.push(words);
                words *= 2;
            }
        }
        let classes = sizes
            .into_iter()
            .map(|words| Class {
                words,
                white: List::default(),
                ecru: List::default(),
                grey: List::default(),
                black: List::default(),
            })
            .collect();
        Ok(Lists {
            settings: settings.clone(),
            ratio: config.ratio as u64,
            stress: config.stress,
            limit_bytes: config.limit,
            access,
            space,
            pages: Pages::default(),
            classes,
            class_of,
            large,
            grey: 0,
            live: 2,
            cycle: 1,
            marking: false,
            finishing: 0,
            debt: 0,
            tally: Tally::default(),
            marked: Tally::default(),
            before: Usage::default(),
            clock: 0,
            objects: 0,
            migrated: 0,
            finalizers: Finalizers::default(),
            gaps: filling::Gaps::default(),
            timing: false,
            times: Times::default(),
        })
    }

    pub(crate) fn area(&self) -> &Area {
        self.space.area()
    }

    fn header_words(&self) -> usize {
        self.settings.headers.words()
    }

    fn ecru_colour(&self) -> u8 {
        3 - self.live
    }

    fn object(&self, node: Node) -> usize {
        self.space.area().base() + (node as usize - 1 + self.header_words()) * 8
    }

    fn node(&self, object: usize) -> Node {
        ((object - self.space.area().base()) / 8 - self.header_words()) as Node + 1
    }

    fn page_of(&self, node: Node) -> u32 {
        ((node as usize - 1) / PAGE_WORDS) as u32
    }

    /// The class of a block in use.
    fn class_of_node(&self, node: Node) -> usize {
        match self.settings.headers {
            Headers::PackedOne => self.pages.get(self.page_of(node)).class as usize,
            Headers::Full | Headers::PackedTwo => self.access.info(node).class as usize,
        }
    }

    /// The words of a block behind its header.
    fn object_words(&self, node: Node, class: usize) -> usize {
        let block = match self.classes[class].words {
            0 => self.pages.get(self.page_of(node)).run as usize * PAGE_WORDS,
            words => words,
        };
        block - self.header_words()
    }

    /// The class for a block of `total` words; `None` if nothing that large can exist.
    fn class_for(&self, total: usize) -> Option<usize> {
        if total <= PAGE_WORDS {
            return Some(self.class_of[total] as usize);
        }
        match self.large {
            Some(large) => Some(large),
            None => (0..self.classes.len()).find(|class| self.classes[*class].words >= total),
        }
    }

    /// Allocates an object of `words` words; returns its address.
    pub(crate) fn allocate(&mut self, cx: &Context<'_>, words: usize, finalizable: bool) -> Result<usize, OutOfMemory> {
        let error = OutOfMemory { words, limit: self.limit_bytes };
        let total = words.max(1).checked_add(self.header_words()).ok_or(error)?;
        if total > self.space.limit() as usize * PAGE_WORDS {
            return Err(error);
        }
        let class = self.class_for(total).ok_or(error)?;
        if self.stress > 0 && self.objects.is_multiple_of(self.stress as u64) {
            self.stress_step(cx);
        } else if self.settings.incremental {
            self.increment(cx, total);
        }
        let node = match self.take(class, total) {
            Some(node) => node,
            None => self.take_after_collecting(cx, class, total).ok_or(error)?,
        };
        let block = match self.classes[class].words {
            0 => total.div_ceil(PAGE_WORDS) * PAGE_WORDS,
            block => block,
        };
        let init = self.clock_start();
        let padding = (block - total) as u64;
        let colour = if self.marking { self.live } else { self.ecru_colour() };
        let info = Info {
            class: class as u8,
            colour,
            length: if block <= PAGE_WORDS { self.access.info(node).length } else { 0 },
            padding: padding as u32,
        };
        self.access.set_info(node, info);
        let access = self.access;
        let lists = &mut self.classes[class];
        let list = if self.marking { &mut lists.black } else { &mut lists.ecru };
        list.push(access, node);
        self.pages.touch(self.page_of(node), self.cycle);
        let tally = Tally { useful: (total - self.header_words()) as u64, header: self.header_words() as u64, padding };
        add(&mut self.tally, tally);
        if self.marking {
            add(&mut self.marked, tally);
        }
        self.clock += tally.useful * 8;
        self.objects += 1;
        let object = self.object(node);
        if finalizable {
            self.finalizers.add(object);
        }
        self.clock_stop(init, |times| &mut times.init);
        Ok(object)
    }

    fn stress_step(&mut self, cx: &Context<'_>) {
        if self.settings.incremental {
            if !self.marking {
                self.start(cx);
            }
            self.increment(cx, 64);
        } else {
            self.collect(cx, Cause::WholeCollection);
        }
    }

    fn take_after_collecting(&mut self, cx: &Context<'_>, class: usize, total: usize) -> Option<Node> {
        let since = cx.log.start();
        let mut node = None;
        if self.marking {
            self.finish(cx);
            node = self.take(class, total);
            cx.log.pause(since, Cause::Exhausted);
        }
        if node.is_none() {
            self.collect(cx, Cause::WholeCollection);
            node = self.take(class, total);
        }
        if node.is_none() && self.settings.filling != Filling::Off {
            node = self.fill(class);
        }
        node
    }

    /// A free block of the class, from wherever the settings allow, without collecting.
    fn take(&mut self, class: usize, total: usize) -> Option<Node> {
        if Some(class) == self.large {
            return self.take_large(class, total);
        }
        let getmem = self.clock_start();
        let access = self.access;
        let mut node = self.classes[class].white.pop(access);
        if node.is_none() && self.settings.filling == Filling::Eager {
            node = self.fill(class);
        }
        self.clock_stop(getmem, |times| &mut times.getmem);
        if node.is_none() {
            let migration = self.clock_start();
            if self.refill(class) {
                node = self.classes[class].white.pop(access);
            }
            self.clock_stop(migration, |times| &mut times.migration);
        }
        if node.is_none() && self.settings.filling == Filling::Lazy {
            node = self.fill(class);
        }
        if let Some(node) = node {
            self.pages.not_free(self.page_of(node));
        }
        node
    }

    fn clock_start(&self) -> Option<Instant> {
        self.timing.then(Instant::now)
    }

    fn clock_stop(&mut self, since: Option<Instant>, which: impl Fn(&mut Times) -> &mut std::time::Duration) {
        if let Some(since) = since {
            *which(&mut self.times) += since.elapsed();
        }
    }

    /// The write barrier: greys the referent.
    pub(crate) fn barrier(&mut self, object: usize) {
        let barrier = self.clock_start();
        if self.marking {
            self.mark(object);
        }
        self.clock_stop(barrier, |times| &mut times.barrier);
    }

    pub(crate) fn usage(&self) -> Usage {
        let pages = self.space.in_use() as u64;
        Usage {
            clock: self.clock,
            useful: self.tally.useful * 8,
            header: self.tally.header * 8 + pages * PAGE_META as u64,
            padding: self.tally.padding * 8,
            in_use: pages * (PAGE_BYTES + PAGE_META) as u64 - self.pages.free_count() as u64 * PAGE_BYTES as u64,
            limit: self.limit_bytes as u64,
        }
    }

    pub(crate) fn fill_statistics(&self, statistics: &mut crate::Statistics) {
        statistics.objects = self.objects;
        statistics.bytes = self.clock;
        statistics.migrated_pages = self.migrated;
        statistics.remapped_pages = self.space.remapped();
        statistics.finalized = self.finalizers.finalized();
        statistics.times = self.times;
    }
}

fn add(to: &mut Tally, what: Tally) {
    to.useful += what.useful;
    to.header += what.header;
    to.padding += what.padding;
}
