//! The mark bits of a page, and the stack of pages that hold grey objects.
//!
//! An object of a small page owns two bits: the one of its first word says *marked*, that of its second *scanned*;
//! objects are at least two words long, and none begins at the last word that a group of bits is for, so that one
//! operation reaches both. Bits count only while the page's colour is the number of the collection; the first thread to
//! mark on a page in a collection clears them. A page with a marked object that no thread has taken up for scanning is
//! *queued*.
//!
//! Invariants, model-checked below: MK1 of all threads that mark one object, exactly one learns that it was the first;
//! MK2 after a thread has marked an object for others to scan, its page is queued, or a thread that will see the mark
//! is taking it off the queue; MK3 each queued page is popped exactly once.

use crate::sync::{AtomicU32, AtomicU64, Ordering, spin_loop, yield_now};

/// Words of a page.
pub(super) const PAGE_WORDS: usize = 512;
/// The bits of the object that begins with the first word of a group.
pub(super) const FIRST_OBJECT: u64 = 3;
const CLEARING: u32 = u32::MAX;
/// Looks at bits that another thread is clearing, before this one yields its processor.
#[cfg(not(loom))]
const SPINS: u32 = 100;
#[cfg(loom)]
const SPINS: u32 = 1;
const NEVER: u32 = u32::MAX - 1;
const QUEUED: u32 = 1 << 31;
const END: u32 = QUEUED - 1;

/// The groups that words `from..to` of a page belong to, with the bits of those words.
#[inline]
pub(super) fn groups(from: usize, to: usize) -> impl Iterator<Item = (usize, u64)> {
    (from / 64..to.div_ceil(64)).map(move |group| {
        let first = from.saturating_sub(group * 64);
        let unused = ((group + 1) * 64).saturating_sub(to);
        (group, u64::MAX >> unused & u64::MAX << first)
    })
}

/// The colour of a page's mark bits, and its link of the queue.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Head {
    colour: AtomicU32,
    link: AtomicU32,
}

impl Head {
    #[cfg(loom)]
    pub(super) fn new() -> Head {
        Head { colour: AtomicU32::new(0), link: AtomicU32::new(0) }
    }

    /// Written only by the one that found the page not queued.
    fn set_link(&self, link: u32) {
        // Another thread's `fetch_or` that saw ours comes before this store. Loom does not know that of stores, but of
        // exchanges.
        #[cfg(loom)]
        self.link.swap(link, Ordering::Relaxed);
        #[cfg(not(loom))]
        self.link.store(link, Ordering::Relaxed);
    }

    /// The page begins anew: what its bits are is of no collection.
    pub(super) fn forget(&self) {
        self.colour.store(NEVER, Ordering::Relaxed);
    }
}

/// The mark bits of a page, by groups of 64 words. A page with one object has one group, of which only the bits of that
/// object are marks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Marks<'a> {
    pub(super) head: &'a Head,
    pub(super) groups: &'a [AtomicU64],
}

impl Marks<'_> {
    /// Sees to it that the bits are of this collection.
    #[inline]
    pub(super) fn claim(&self, cycle: u32) {
        if self.head.colour.load(Ordering::Acquire) != cycle {
            self.claim_slowly(cycle);
        }
    }

    #[cold]
    fn claim_slowly(&self, cycle: u32) {
        let mut spins = 0;
        loop {
            let colour = self.head.colour.load(Ordering::Acquire);
            if colour == cycle {
                return;
            }
            if colour == CLEARING
                || self.head.colour.compare_exchange(colour, CLEARING, Ordering::AcqRel, Ordering::Relaxed).is_err()
            {
                // It takes others a few stores; unless they are off their processor, which they may have for themselves
                // then.
                spins += 1;
                if spins < SPINS {
                    spin_loop()
                } else {
                    yield_now()
                }
                continue;
            }
            if let [own] = self.groups {
                own.fetch_and(!FIRST_OBJECT, Ordering::Relaxed);
            } else {
                self.groups.iter().for_each(|bits| bits.store(0, Ordering::Relaxed));
            }
            self.head.colour.store(cycle, Ordering::Release);
            return;
        }
    }

    /// Whether anything on the page was marked in this collection.
    #[inline]
    pub(super) fn is_of(&self, cycle: u32) -> bool {
        self.head.colour.load(Ordering::Acquire) == cycle
    }

    /// Whether the object at word `index` is marked; the bits must be of this collection.
    #[inline]
    pub(super) fn is_marked(&self, index: usize) -> bool {
        self.groups[index / 64].load(Ordering::Relaxed) >> (index % 64) & 1 == 1
    }

    /// Marks the object at word `index`; whether this call was the one that did.
    #[inline]
    pub(super) fn mark(&self, index: usize) -> bool {
        let bit = 1 << (index % 64);
        let bits = &self.groups[index / 64];
        bits.load(Ordering::Relaxed) & bit == 0 && bits.fetch_or(bit, Ordering::AcqRel) & bit == 0
    }

    /// Takes the scanning of a marked object upon the caller; false if another thread has.
    #[inline]
    pub(super) fn take_scan(&self, index: usize) -> bool {
        let bit = 2 << (index % 64);
        self.groups[index / 64].fetch_or(bit, Ordering::AcqRel) & bit == 0
    }

    /// Marks the object at word `index` and takes its scanning upon the caller; false if another thread has or had it.
    #[inline]
    pub(super) fn mark_and_take(&self, index: usize) -> bool {
        if self.is_marked(index) {
            return false;
        }
        let bits = 3 << (index % 64);
        // What counts is the scanned bit: the thread that sets it scans, also what another thread has just marked for
        // others.
        self.groups[index / 64].fetch_or(bits, Ordering::AcqRel) >> (index % 64) & 2 == 0
    }

    /// As [`Marks::mark_and_take`] for `count` objects of two words in a row; how many of them nobody had marked.
    #[inline]
    pub(super) fn mark_pairs(&self, index: usize, count: usize) -> usize {
        let mut marked = 0;
        for (group, mask) in groups(index, index + 2 * count) {
            let before = self.groups[group].fetch_or(mask, Ordering::AcqRel);
            // Each object has two bits, of which the second says that it was taken.
            let seconds =
                if index.is_multiple_of(2) { mask & 0xaaaa_aaaa_aaaa_aaaa } else { mask & 0x5555_5555_5555_5555 };
            marked += (!before & seconds).count_ones() as usize;
        }
        marked
    }

    /// Marks new objects of the group that word `index` is in: the bits of the first two words of each.
    #[inline]
    pub(super) fn mark_group(&self, index: usize, objects: u64) {
        self.groups[index / 64].fetch_or(objects, Ordering::AcqRel);
    }

    /// How many objects of two words, at most `most`, follow word `index` in a row without one that is marked.
    #[inline]
    pub(super) fn unmarked_pairs(&self, index: usize, most: usize) -> usize {
        let end = index + 2 * most;
        for (group, mask) in groups(index, end) {
            let marked = self.groups[group].load(Ordering::Relaxed) & mask;
            if marked != 0 {
                return (group * 64 + marked.trailing_zeros() as usize - index) / 2;
            }
        }
        most
    }

    /// Gives a scan taken upon oneself back; the page must be queued afterwards.
    pub(super) fn give_scan_back(&self, index: usize) {
        let bit = 2 << (index % 64);
        self.groups[index / 64].fetch_and(!bit, Ordering::AcqRel);
    }

    /// The first marked object at or behind word `from`, and whether it is scanned.
    pub(super) fn next_marked(&self, from: usize) -> Option<(usize, bool)> {
        if let [own] = self.groups {
            let bits = own.load(Ordering::Acquire);
            return (from == 0 && bits & 1 == 1).then_some((0, bits & 2 == 2));
        }
        let mut group = from / 64;
        let mut bits = self.groups.get(group)?.load(Ordering::Acquire) >> (from % 64) << (from % 64);
        while bits == 0 {
            group += 1;
            bits = self.groups.get(group)?.load(Ordering::Acquire);
        }
        let bit = bits.trailing_zeros() as usize;
        Some((group * 64 + bit, bits >> bit & 2 == 2))
    }
}

/// The stack of queued pages, through links in their marks. The upper half of the head counts changes, against a page
/// that was popped and pushed again while another thread looked.
#[derive(Debug)]
pub(super) struct Queue {
    head: AtomicU64,
}

impl Queue {
    pub(super) fn new() -> Queue {
        Queue { head: AtomicU64::new(END as u64) }
    }

    /// Queues a page unless it is; whether this call did.
    pub(super) fn push(&self, page: u32, of: &Head) -> bool {
        if of.link.fetch_or(QUEUED, Ordering::AcqRel) & QUEUED != 0 {
            return false;
        }
        let mut head = self.head.load(Ordering::Relaxed);
        loop {
            of.set_link(QUEUED | head as u32);
            let new = ((head >> 32).wrapping_add(1) << 32) | page as u64;
            match self.head.compare_exchange_weak(head, new, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(other) => head = other,
            }
        }
    }

    /// Takes a page off the queue; what was marked on it before it was last queued is visible to the caller.
    pub(super) fn pop<'a>(&self, heads: impl Fn(u32) -> &'a Head) -> Option<u32> {
        let mut head = self.head.load(Ordering::Acquire);
        loop {
            let page = head as u32;
            if page == END {
                return None;
            }
            let next = heads(page).link.load(Ordering::Relaxed) & !QUEUED;
            let new = ((head >> 32).wrapping_add(1) << 32) | next as u64;
            match self.head.compare_exchange_weak(head, new, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => {
                    heads(page).link.swap(0, Ordering::AcqRel);
                    return Some(page);
                }
                Err(other) => head = other,
            }
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.head.load(Ordering::Acquire) as u32 == END
    }
}

/// How much marking was begun and how much is done: pages queued, and slices of scanning.
#[derive(Debug)]
pub(super) struct Outstanding {
    begun: AtomicU64,
    done: AtomicU64,
}

impl Outstanding {
    pub(super) fn new() -> Outstanding {
        Outstanding { begun: AtomicU64::new(0), done: AtomicU64::new(0) }
    }

    /// Counts something before it is begun, so that it never looks done.
    pub(super) fn begin(&self) {
        self.begun.fetch_add(1, Ordering::AcqRel);
    }

    pub(super) fn end(&self) {
        self.done.fetch_add(1, Ordering::AcqRel);
    }

    /// Whether there was a moment during the call at which all that was begun was done.
    pub(super) fn is_none(&self) -> bool {
        // In this order: what was begun after the first look only makes the second larger.
        let done = self.done.load(Ordering::Acquire);
        self.begun.load(Ordering::Acquire) == done
    }

    /// How much was ever begun.
    pub(super) fn begun(&self) -> u64 {
        self.begun.load(Ordering::Acquire)
    }
}

#[cfg(all(test, loom))]
mod model {
    use super::*;
    use crate::sync::Arc;
    use loom::sync::atomic::AtomicUsize;

    struct Shared {
        pages: [(Head, [AtomicU64; 2]); 2],
        queue: Queue,
        told: AtomicUsize,
        scanned: AtomicUsize,
    }

    impl Shared {
        fn new() -> Arc<Shared> {
            Arc::new(Shared {
                pages: std::array::from_fn(|_| (Head::new(), std::array::from_fn(|_| AtomicU64::new(0)))),
                queue: Queue::new(),
                told: AtomicUsize::new(0),
                scanned: AtomicUsize::new(0),
            })
        }

        fn marks(&self, page: u32) -> Marks<'_> {
            let (head, groups) = &self.pages[page as usize];
            Marks { head, groups }
        }

        fn shade(&self, page: u32, index: usize) {
            let marks = self.marks(page);
            marks.claim(7);
            if marks.mark(index) {
                self.told.fetch_add(1, Ordering::Relaxed);
                self.queue.push(page, marks.head);
            }
        }

        fn scan(&self) {
            while let Some(page) = self.queue.pop(|page| &self.pages[page as usize].0) {
                let marks = self.marks(page);
                let mut at = 0;
                while let Some((index, scanned)) = marks.next_marked(at) {
                    if !scanned && marks.take_scan(index) {
                        self.scanned.fetch_add(1, Ordering::Relaxed);
                    }
                    at = index + 2;
                }
            }
        }
    }

    /// MK1: two threads mark the same object on a page of an older colour.
    #[test]
    fn one_of_two_marks_wins() {
        loom::model(|| {
            let shared = Shared::new();
            let other = shared.clone();
            let thread = loom::thread::spawn(move || other.shade(0, 4));
            shared.shade(0, 4);
            thread.join().expect("the thread ends");
            shared.scan();
            assert_eq!(shared.told.load(Ordering::Relaxed), 1);
            assert_eq!(shared.scanned.load(Ordering::Relaxed), 1);
        });
    }

    /// MK2, MK3: a thread marks while another scans; in the end everything marked was scanned once.
    #[test]
    fn nothing_marked_stays_unscanned() {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(|| {
            let shared = Shared::new();
            shared.shade(0, 0);
            let other = shared.clone();
            let thread = loom::thread::spawn(move || {
                other.shade(0, 2);
                other.shade(1, 0);
            });
            shared.scan();
            thread.join().expect("the thread ends");
            shared.scan();
            assert!(shared.queue.is_empty());
            assert_eq!(shared.told.load(Ordering::Relaxed), 3);
            assert_eq!(shared.scanned.load(Ordering::Relaxed), 3);
        });
    }

    /// A row is marked at once while another thread marks one of its objects for others to scan: one of the two scans
    /// it.
    #[test]
    fn a_row_and_one_of_its_objects_are_scanned() {
        loom::model(|| {
            let shared = Shared::new();
            shared.marks(0).claim(7);
            let other = shared.clone();
            let thread = loom::thread::spawn(move || other.shade(0, 62));
            let marked = shared.marks(0).mark_pairs(60, 4);
            shared.scanned.fetch_add(marked, Ordering::Relaxed);
            thread.join().expect("the thread ends");
            shared.scan();
            assert!(shared.queue.is_empty());
            assert_eq!(shared.scanned.load(Ordering::Relaxed), 4);
            assert_eq!(shared.marks(0).unmarked_pairs(0, 50), 30);
        });
    }

    /// MK3 with two scanners.
    #[test]
    fn two_scanners_share_the_work() {
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        model.check(|| {
            let shared = Shared::new();
            shared.shade(0, 0);
            shared.shade(1, 0);
            let other = shared.clone();
            let thread = loom::thread::spawn(move || other.scan());
            shared.scan();
            thread.join().expect("the thread ends");
            assert!(shared.queue.is_empty());
            assert_eq!(shared.scanned.load(Ordering::Relaxed), 2);
        });
    }
}
