//! Marking, by any number of threads at once.

use super::record::{Kind, Record};
use super::{Local, PAGE_WORDS, Paged};
use crate::runtime::{Runtime, Visitor};
use std::ptr::NonNull;
use std::sync::atomic::Ordering;
use std::time::Instant;

/// Words of a large object scanned at once: at first, and where no references were found among so many before.
const PORTION: usize = 512;
const LONGEST_PORTION: usize = 8192;
/// Words without references are charged as one in so many.
const BARE_PART: u64 = 8;
/// Objects that a thread keeps for itself to scan before it queues pages for all.
const STACK: usize = 128;
/// Objects fetched into the cache ahead of their scanning.
const AHEAD: usize = 8;
/// Objects and references looked at between looks at the clock: each may be a miss of the cache or two.
const BETWEEN_LOOKS: u32 = 64;

/// How much a slice may do.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    /// Words to scan.
    pub(crate) words: u64,
    /// When to stop.
    pub(crate) deadline: Option<Instant>,
}

impl Budget {
    pub(crate) const ALL: Budget = Budget { words: u64::MAX, deadline: None };

    pub(super) fn is_over(&self) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }
}

/// One thread's slice of marking.
struct Slice<'a> {
    paged: &'a Paged,
    runtime: &'a dyn Runtime,
    cycle: u32,
    stack: [usize; STACK],
    height: usize,
    /// Objects off the stack that are being fetched; the oldest is scanned next.
    fetched: [usize; AHEAD],
    oldest: usize,
    fetching: usize,
    /// Words found live, and how many of them the budget is charged with.
    words: u64,
    charged: u64,
    /// Objects and references looked at: what marking costs, where words are what it is paid by.
    looks: u64,
    since_look: u32,
    over: bool,
    budget: Budget,
}

impl Paged {
    /// Greys an object for any thread to scan.
    pub(crate) fn shade(&self, object: usize, cycle: u32) {
        let (page, index) = self.place_of(object);
        let record = self.table.get(page);
        let marks = self.table.marks(record);
        marks.claim(cycle);
        if marks.mark(index) {
            self.grey(page, record, cycle);
        }
    }

    /// Queues the page of an object that the caller has just marked.
    fn grey(&self, page: u32, record: &Record, cycle: u32) {
        if record.kind() == Kind::Large {
            record.rewind_portions();
            self.mark_tail(page, record, cycle);
        }
        self.enqueue(page, record);
    }

    /// Marks what stands for the end of a marked large object on a page that it shares.
    pub(super) fn mark_tail(&self, page: u32, record: &Record, cycle: u32) {
        if record.shares_last_page() {
            let last = page + record.object_words().div_ceil(PAGE_WORDS) as u32 - 1;
            let marks = self.table.marks(self.table.get(last));
            marks.claim(cycle);
            marks.mark_and_take(0);
        }
    }

    /// The write barrier of a thread.
    #[inline]
    pub(crate) fn barrier(&self, local: &Local, object: usize) {
        if local.marking.get() {
            self.shade(object, local.cycle.get());
        }
    }

    pub(super) fn is_marked(&self, object: usize, cycle: u32) -> bool {
        let (page, index) = self.place_of(object);
        let marks = self.table.marks(self.table.get(page));
        marks.is_of(cycle) && marks.is_marked(index)
    }

    fn enqueue(&self, page: u32, record: &Record) {
        self.outstanding.begin();
        if !self.queue.push(page, &record.head) {
            self.outstanding.end();
        }
    }

    /// Whether nothing was queued or being scanned at some moment during the call.
    pub(super) fn is_quiescent(&self) -> bool {
        self.outstanding.is_none()
    }

    /// Empties the queue without scanning.
    pub(super) fn discard_queue(&self) {
        while self.queue.pop(|page| &self.table.get(page).head).is_some() {
            self.outstanding.end();
        }
    }

    /// Scans grey objects; what is charged for it, in words. Any thread may call it at any time.
    pub(crate) fn mark_slice(&self, runtime: &dyn Runtime, budget: Budget) -> u64 {
        let phase = self.phase.load(Ordering::Acquire);
        if phase & 1 == 0 || self.queue.is_empty() {
            return 0;
        }
        self.outstanding.begin();
        // The slice is counted now, so the cycle cannot end; but it may have ended before.
        let (words, charged) = if self.phase.load(Ordering::Acquire) == phase {
            let mut slice = Slice {
                paged: self,
                runtime,
                cycle: phase >> 1,
                stack: [0; STACK],
                height: 0,
                fetched: [0; AHEAD],
                oldest: 0,
                fetching: 0,
                words: 0,
                charged: 0,
                looks: 0,
                since_look: 0,
                over: false,
                budget,
            };
            slice.run();
            self.counters.looks.fetch_add(slice.looks, Ordering::Relaxed);
            (slice.words, slice.charged)
        } else {
            (0, 0)
        };
        self.counters.marked.fetch_add(words, Ordering::Relaxed);
        self.outstanding.end();
        charged
    }
}

impl Slice<'_> {
    fn run(&mut self) {
        let paged = self.paged;
        let heads = |page| &paged.table.get(page).head;
        while !self.is_over() {
            let Some(page) = paged.queue.pop(heads) else {
                return;
            };
            let record = paged.table.get(page);
            match record.kind() {
                Kind::Large => self.scan_portion(page, record),
                _ => self.scan_page(page, record),
            }
            paged.outstanding.end();
        }
    }

    fn is_over(&mut self) -> bool {
        self.since_look += 1;
        if self.charged >= self.budget.words {
            self.over = true;
        } else if self.since_look >= BETWEEN_LOOKS {
            self.since_look = 0;
            self.over |= self.budget.is_over();
        }
        self.over
    }

    fn scan_portion(&mut self, page: u32, record: &Record) {
        let words = record.object_words();
        let mut portion = PORTION;
        loop {
            let from = record.take_portion(portion);
            if from >= words {
                return;
            }
            let to = (from + portion).min(words);
            let looks = self.looks;
            self.scan(self.paged.address(page, 0), words, from..to);
            if to == words {
                break;
            }
            // Data without references passes quickly; what leads elsewhere is left for others to share.
            if self.looks > looks + 1 || portion == LONGEST_PORTION {
                self.paged.enqueue(page, record);
                break;
            }
            portion *= 2;
        }
        self.since_look += BETWEEN_LOOKS / 4;
        self.scan_stack();
    }

    fn scan_page(&mut self, page: u32, record: &Record) {
        let paged = self.paged;
        let marks = paged.table.marks(record);
        let mut at = 0;
        while let Some((index, scanned)) = marks.next_marked(at) {
            at = index + 2;
            if scanned || !marks.take_scan(index) {
                continue;
            }
            self.scan_row(page, index, record);
            if !self.scan_stack() {
                self.paged.enqueue(page, record);
                return;
            }
        }
    }

    /// Scans what this thread keeps for itself; gives the rest to all and says false when the slice is over.
    fn scan_stack(&mut self) -> bool {
        loop {
            if self.is_over() {
                self.give_stack_back();
                return false;
            }
            let Some(object) = self.next_object() else {
                return true;
            };
            let (page, index) = self.paged.place_of(object);
            self.scan_row(page, index, self.paged.table.get(page));
        }
    }

    /// Scans an object of a small page, and those that hang on it in a row, which are marked together.
    fn scan_row(&mut self, page: u32, index: usize, record: &Record) {
        let table = self.paged.table;
        let kind = record.kind();
        let (words, marks) = (table.words_of(record, kind, index), table.marks_of(record, kind));
        let most = if words == 2 { 1 + marks.unmarked_pairs(index + 2, (PAGE_WORDS - index) / 2 - 1) } else { 1 };
        let object = self.paged.address(page, index);
        let mut described = 1;
        let looks = self.look(object, |runtime, pointer, visitor| {
            // SAFETY: the object is marked, so it was reached from roots through references that the runtime reported;
            // the row does not leave the page.
            described = unsafe { runtime.describe_row(pointer, words, most, visitor) };
        });
        let behind = if described > 1 { marks.mark_pairs(index + 2, described - 1) } else { 0 };
        self.looks += described as u64 - 1;
        self.charge((words + 2 * behind) as u64, looks <= 1);
    }

    /// The object to scan next: one whose content has had time to arrive.
    #[inline]
    fn next_object(&mut self) -> Option<usize> {
        while self.fetching < AHEAD
            && let Some(height) = self.height.checked_sub(1)
        {
            self.height = height;
            let object = self.stack[height];
            self.paged.area.prefetch(object);
            self.fetched[(self.oldest + self.fetching) % AHEAD] = object;
            self.fetching += 1;
        }
        self.fetching = self.fetching.checked_sub(1)?;
        let object = self.fetched[self.oldest];
        self.oldest = (self.oldest + 1) % AHEAD;
        Some(object)
    }

    fn give_stack_back(&mut self) {
        let fetched = (0..self.fetching).map(|at| self.fetched[(self.oldest + at) % AHEAD]);
        for object in fetched.chain(self.stack[..self.height].iter().copied()) {
            let (page, index) = self.paged.place_of(object);
            let record = self.paged.table.get(page);
            self.paged.table.marks(record).give_scan_back(index);
            self.paged.enqueue(page, record);
        }
        self.height = 0;
        self.fetching = 0;
    }

    fn scan(&mut self, object: usize, words: usize, portion: std::ops::Range<usize>) {
        let length = portion.len() as u64;
        let looks = self.look(object, |runtime, pointer, visitor| {
            // SAFETY: as in `scan_row`.
            unsafe { runtime.describe(pointer, words, portion, visitor) };
        });
        self.charge(length, looks == 0);
    }

    fn charge(&mut self, words: u64, bare: bool) {
        self.words += words;
        // Data without references takes little time.
        self.charged += if bare { words.div_ceil(BARE_PART) } else { words };
    }

    /// Has an object described, and marks what it refers to; the number of references.
    #[inline]
    fn look(&mut self, object: usize, describe: impl FnOnce(&dyn Runtime, NonNull<u64>, &mut Visitor<'_>)) -> u64 {
        let Some(pointer) = NonNull::new(self.paged.area.pointer(object)) else {
            return 0;
        };
        let (paged, cycle, runtime) = (self.paged, self.cycle, self.runtime);
        let (stack, height) = (&mut self.stack, &mut self.height);
        let mut references = 0;
        let mut sink = |reference: NonNull<u64>| {
            references += 1;
            let child = reference.addr().get();
            // The object and its page's metadata come from memory at the same time.
            paged.area.prefetch(child);
            let (page, index) = paged.place_of(child);
            let record = paged.table.get(page);
            let kind = record.kind();
            let marks = paged.table.marks_of(record, kind);
            marks.claim(cycle);
            if *height < STACK && kind != Kind::Large {
                if marks.mark_and_take(index) {
                    stack[*height] = child;
                    *height += 1;
                }
            } else if marks.mark(index) {
                paged.grey(page, record, cycle);
            }
            reference
        };
        describe(runtime, pointer, &mut Visitor::new(&mut sink));
        self.looks += 1 + references;
        self.since_look += references as u32;
        references
    }
}
