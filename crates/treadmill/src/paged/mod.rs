//! `best`: pages with side metadata, in which objects of any size lie side by side without headers; marked by any
//! thread while others run.
//!
//! An object has no header: a bitmap for its page says where blocks begin and which are objects, another which are
//! marked ([`blocks`], [`marks`]). Pages that one object fills do without: their record says it all ([`record`]); the
//! bitmaps of the others are in slots that are backed as far as there are such pages ([`slots`]). Objects up to a page
//! fill the gaps of partly filled pages, found by size in constant time ([`memory`]); longer ones have pages of their
//! own, remapped where they must be contiguous. A collection is a *cycle* of phases, each advanced in slices by
//! any thread that allocates or lends itself ([`cycle`]); no thread waits for another:
//!
//! 1. *starting*: marking is switched on; a handshake waits until every thread has noticed. From then on each reference
//!    stored into an object or a root greys its referent, and new objects are black.
//! 2. *roots*: the slots of all threads, the global ones and the runtime's, in portions.
//! 3. *marking* ([`mark`]): grey objects are scanned by any number of threads.
//! 4. *ending*: nothing is grey; changed roots are asked for, then a second handshake shows that no thread was about to
//!    grey something.
//! 5. *finalizing*: the runtime learns of dead finalizable objects.
//! 6. *sweeping*: the lists of pages are put onto the list of unswept ones in constant time; each page is swept by its
//!    bitmaps, a bounded number at each page's worth of allocation. A page without marks is free.
//! 7. *returning*: far more free memory than the next cycle will need goes back to the operating system, a bounded
//!    number of pages at a time.
//!
//! Invariants, checked by [`verify`]: PG1 the blocks of a page follow each other from its first word to its last, each
//! two words at least; PG2 a listed page's gap is the longest that it has; PG3 backed pages and their metadata stay
//! within the limit; PG4 only objects are marked; PG6 a page is on one list at most; PG7 what lives refers to what
//! lives: from the end of *starting* to the end of *ending*, no black object and no root refers to a white object,
//! except through a store that has not yet returned, so that afterwards what was found live, and what was made since,
//! refers to objects that are still there, which is what is checked; PG8 each page with several objects has a slot of
//! its own. And by argument: PG5 a page that is queued outside marking was queued by the barrier of a thread that had
//! not yet noticed the end, and the next *starting* forgets it.

mod blocks;
mod cycle;
mod local;
mod mark;
mod marks;
mod memory;
#[cfg(all(test, loom))]
mod model;
mod record;
mod slots;
mod verify;

pub(crate) use local::Local;
pub(crate) use mark::Budget;

use crate::area::Area;
use crate::config::{Config, Pace};
use crate::error::HeapError;
use crate::finalizers::Finalizers;
use crate::space::{Metadata, PageSpace, Tags};
use crate::statistics::{Statistics, Usage};
use blocks::Blocks;
use cycle::Control;
use marks::{Outstanding, PAGE_WORDS, Queue};
use memory::Memory;
use record::{Kind, Record, Table};
use slots::Slots;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, TryLockError};
use std::time::Duration;

const PAGE_BYTES: usize = PAGE_WORDS * 8;
/// Addresses reserved for each byte of the limit: enough that no fragmentation of addresses keeps a run of free pages
/// from being made.
const ADDRESS_FACTOR: usize = 32;

/// The system's large pages.
const LARGE_PAGE: usize = 2 << 20;

/// Cells shared by all threads, changed at most once a page.
#[derive(Debug, Default)]
struct Counters {
    /// Words of blocks handed to objects.
    allocated: AtomicU64,
    padding: AtomicU64,
    objects: AtomicU64,
    /// Words of blocks in use at the last collection's end, and `allocated` then.
    base: AtomicU64,
    at_flip: AtomicU64,
    /// Words found live in the collection that is on.
    marked: AtomicU64,
    /// Objects and references looked at in the collection that is on, or was last.
    looks: AtomicU64,
    /// Words to be allocated after a collection's end before another is worth its while.
    worthwhile: AtomicU64,
}

#[derive(Debug)]
pub(crate) struct Paged {
    area: Arc<Area>,
    /// Backs `table`.
    _metadata: [Arc<Area>; 2],
    table: Table,
    memory: Mutex<Memory>,
    control: Mutex<Control>,
    finalizers: Mutex<Finalizers>,
    queue: Queue,
    /// The number of the collection, times two, plus one while marking is on.
    phase: AtomicU32,
    /// Pages queued and slices begun; and those done with. Equal when nothing is grey.
    outstanding: Outstanding,
    counters: Counters,
    ratio: u64,
    stress: usize,
    limit: usize,
    limit_pages: usize,
    /// Whether temporaries are used again at once.
    temporaries: bool,
    /// Whether a cycle is on, sweeping included.
    busy: AtomicBool,
    /// Bytes of growth at which a collection begins, if growth makes it begin.
    least_growth: Option<AtomicU64>,
    /// The time that one allocation may spend on collecting.
    slice: Duration,
}

impl Paged {
    pub(crate) fn new(config: &Config, has_roots: bool, place: Option<Area>) -> Result<Paged, HeapError> {
        let backed = config.backed && place.is_none();
        let page = PAGE_BYTES + size_of::<Record>();
        // What is backed at once has a slot for each page.
        let fits = |pages: usize| !backed || pages * page + slots::reach(pages) <= config.limit;
        let most = config.limit / if backed { page + size_of::<Blocks>() } else { page };
        let limit = if fits(most) { most } else { most - 1 };
        let pages = place.as_ref().map_or(limit * ADDRESS_FACTOR, |area| area.range().len() / PAGE_BYTES);
        if pages < limit {
            return Err(HeapError::Settings("the range is shorter than the limit"));
        }
        if pages >= 1 << 30 {
            return Err(HeapError::Settings("the limit is too high"));
        }
        let area = Arc::new(match place {
            Some(area) => area,
            None => Area::reserve(pages * PAGE_BYTES, if backed { LARGE_PAGE } else { PAGE_BYTES })?,
        });
        let records = Arc::new(Area::reserve(pages * size_of::<Record>(), PAGE_BYTES)?);
        let bits = Arc::new(Area::reserve(slots::reach(limit), PAGE_BYTES)?);
        let (first, first_slot) = (records.pointer(records.base()).cast(), bits.pointer(bits.base()).cast());
        // SAFETY: fresh anonymous memory is zero, which is a valid `Record`, and valid `Blocks`; it lives in the same
        // struct as the table.
        let table = unsafe { Table::new(first, pages, first_slot, bits.range().len() / size_of::<Blocks>()) };
        // SAFETY: fresh memory is zero; the tags alone write their bits of the flags, and nothing else uses the body of
        // a free page's record.
        let tags = unsafe { Tags::within(Arc::clone(&records), size_of::<Record>(), Record::BODY, Record::STATE) };
        let space = PageSpace::with_tags(Arc::clone(&area), PAGE_BYTES, limit as u32, true, false, tags);
        let mut space = space.with_metadata(Metadata::new(Arc::clone(&records), size_of::<Record>()));
        let mut slots = Slots::new(Arc::clone(&bits));
        if backed {
            space.back_all();
            slots.back_all();
        }
        Ok(Paged {
            area,
            _metadata: [records, bits],
            table,
            memory: Mutex::new(Memory::new(space, table, slots, config.limit, backed)),
            control: Mutex::new(Control::default()),
            finalizers: Mutex::new(Finalizers::default()),
            queue: Queue::new(),
            phase: AtomicU32::new(0),
            outstanding: Outstanding::new(),
            counters: Counters { worthwhile: AtomicU64::new(cycle::LEAST_WORDS), ..Counters::default() },
            ratio: config.ratio as u64,
            stress: config.stress,
            limit: config.limit,
            limit_pages: config.limit / PAGE_BYTES,
            temporaries: config.temporaries && !has_roots,
            busy: AtomicBool::new(false),
            least_growth: match config.pace {
                Pace::Limit => None,
                Pace::Growth { least } => Some(AtomicU64::new(least as u64)),
            },
            slice: config.pause_bound.mul_f64(0.4),
        })
    }

    pub(crate) fn area(&self) -> &Area {
        &self.area
    }

    #[inline]
    fn place_of(&self, object: usize) -> (u32, usize) {
        let offset = object - self.area.base();
        ((offset / PAGE_BYTES) as u32, offset % PAGE_BYTES / 8)
    }

    fn address(&self, page: u32, index: usize) -> usize {
        self.area.base() + page as usize * PAGE_BYTES + index * 8
    }

    /// The words of an object's block.
    pub(crate) fn words_of(&self, object: usize) -> usize {
        let (page, index) = self.place_of(object);
        self.table.words(self.table.get(page), index)
    }

    pub(crate) fn set_least_growth(&self, bytes: usize) {
        if let Some(least) = &self.least_growth {
            least.store(bytes as u64, Ordering::Relaxed);
        }
    }

    /// Whether an object begins at an address of the area.
    pub(crate) fn is_object(&self, address: usize) -> bool {
        let (page, index) = self.place_of(address);
        let record = self.table.get(page);
        match record.kind() {
            Kind::None => false,
            Kind::Single | Kind::Large => index == 0,
            Kind::Small if index + 1 >= PAGE_WORDS => false,
            Kind::Small => self.table.blocks(record).begins_object(index),
        }
    }

    /// Visits the memory behind all pages that are handed out, and behind free ones: first words, words.
    pub(crate) fn each_backed_run(&self, visit: &mut dyn FnMut(*mut u64, usize)) {
        self.memory().space.each_backed_run(&mut |page, pages| {
            visit(self.area.pointer(self.address(page, 0)), pages as usize * PAGE_WORDS);
        });
    }

    pub(crate) fn usage(&self) -> Usage {
        let memory = self.memory();
        let counters = &self.counters;
        let allocated = counters.allocated.load(Ordering::Relaxed);
        let padding = counters.padding.load(Ordering::Relaxed);
        let used = counters.base.load(Ordering::Relaxed) + allocated - counters.at_flip.load(Ordering::Relaxed);
        let lost = used * padding / allocated.max(1);
        let pages = memory.space.in_use() as u64;
        let metadata = memory.metadata() as u64;
        Usage {
            clock: (allocated - padding) * 8,
            useful: (used - lost) * 8,
            header: metadata,
            padding: (lost + memory.large_padding) * 8,
            in_use: pages * PAGE_BYTES as u64 + metadata,
            limit: self.limit as u64,
        }
    }

    pub(crate) fn fill_statistics(&self, statistics: &mut Statistics) {
        let counters = &self.counters;
        statistics.objects = counters.objects.load(Ordering::Relaxed);
        statistics.bytes = (counters.allocated.load(Ordering::Relaxed) - counters.padding.load(Ordering::Relaxed)) * 8;
        let memory = self.memory();
        statistics.remapped_pages = memory.space.remapped();
        statistics.returned_pages = memory.space.returned();
        drop(memory);
        statistics.finalized = self.lock_finalizers().finalized();
    }

    fn memory(&self) -> std::sync::MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// The memory, unless another thread has it, which may be off its processor.
    fn try_memory(&self) -> Option<std::sync::MutexGuard<'_, Memory>> {
        match self.memory.try_lock() {
            Ok(guard) => Some(guard),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    fn lock_finalizers(&self) -> std::sync::MutexGuard<'_, Finalizers> {
        self.finalizers.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}
