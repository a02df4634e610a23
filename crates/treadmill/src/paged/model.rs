//! Models of how the parts work together: allocation beside marking, shared scanning, the end of marking, and the
//! handshakes.
//!
//! They are built of the same parts as the collector, with as few objects and threads as can go wrong. What is under
//! the lock of the memory, the lists of free runs and the slots, has no model: only one thread at a time is in it.

use super::blocks::Blocks;
use super::marks::{Head, Marks, Outstanding, Queue};
use super::record::Record;
use crate::sync::{Arc, AtomicU64, Ordering};
use crate::world::{Member, World};
use loom::sync::atomic::AtomicUsize;
use loom::thread::JoinHandle;

fn check(preemptions: usize, model: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = 5_000;
    builder.check(model);
}

/// A page of small objects.
struct Page {
    head: Head,
    blocks: Blocks,
}

impl Page {
    fn new() -> Arc<Page> {
        let page = Page { head: Head::new(), blocks: Blocks::new() };
        page.blocks.format();
        Arc::new(page)
    }

    fn marks(&self) -> Marks<'_> {
        Marks { head: &self.head, groups: &self.blocks.marks[..2] }
    }
}

/// A thread allocates from both ends of a gap while another finds out how long an object is that was published before,
/// or meanwhile.
#[test]
fn an_objects_length_does_not_change_while_others_are_made() {
    check(3, || {
        let page = Page::new();
        page.blocks.place(0, 4, 508);
        let published = Arc::new(AtomicUsize::new(0));
        let (other, news) = (page.clone(), published.clone());
        let thread = loom::thread::spawn(move || {
            for at in [0, news.load(Ordering::Acquire)] {
                let length = other.blocks.end_of(at) - at;
                assert!(other.blocks.is_object(at));
                assert_eq!(length, if at == 0 { 4 } else { 5 });
            }
        });
        // Behind it, then the first part of the gap; between them, at the end of the gap's first part, as a window
        // does.
        page.blocks.place(4, 5, 503);
        published.store(4, Ordering::Release);
        page.blocks.place_pairs(10, 2, 4, 498);
        page.blocks.place_group(60, 3 << 60);
        thread.join().expect("the thread ends");
    });
}

/// A new object is made black on a page of an older colour while another thread greys one that lies there.
#[test]
fn a_black_object_and_a_grey_one_keep_their_marks() {
    check(3, || {
        let (page, queue) = (Page::new(), Arc::new(Queue::new()));
        page.blocks.place(0, 4, 508);
        let (other, others) = (page.clone(), queue.clone());
        let thread = loom::thread::spawn(move || {
            other.marks().claim(7);
            assert!(other.marks().mark(0));
            others.push(0, &other.head);
        });
        page.blocks.place(4, 5, 503);
        page.marks().claim(7);
        assert!(page.marks().mark_and_take(4));
        thread.join().expect("the thread ends");
        assert_eq!(page.marks().next_marked(0), Some((0, false)));
        assert_eq!(page.marks().next_marked(2), Some((4, true)));
        assert_eq!(queue.pop(|_| &page.head), Some(0));
    });
}

/// A large object of three portions, greyed by two threads, which scan it as well: each portion is scanned once, and
/// its mark survives.
#[test]
fn portions_are_scanned_once() {
    const WORDS: usize = 1200;
    struct Shared {
        record: Record,
        queue: Queue,
        outstanding: Outstanding,
        scanned: [AtomicUsize; 3],
    }
    fn grey_and_scan(shared: &Shared) {
        let marks = shared.record.own_marks();
        marks.claim(7);
        if marks.mark(0) {
            shared.record.rewind_portions();
            enqueue(shared);
        }
        while shared.queue.pop(|_| &shared.record.head).is_some() {
            let from = shared.record.take_portion(512);
            if from < WORDS {
                shared.scanned[from / 512].fetch_add(1, Ordering::Relaxed);
                if from + 512 < WORDS {
                    enqueue(shared);
                }
            }
            shared.outstanding.end();
        }
    }
    fn enqueue(shared: &Shared) {
        shared.outstanding.begin();
        if !shared.queue.push(0, &shared.record.head) {
            shared.outstanding.end();
        }
    }
    check(3, || {
        let shared = Arc::new(Shared {
            record: Record::new(),
            queue: Queue::new(),
            outstanding: Outstanding::new(),
            scanned: std::array::from_fn(|_| AtomicUsize::new(0)),
        });
        shared.record.set_large(WORDS, false);
        // As a collection before left it.
        shared.record.own_marks().claim(6);
        shared.record.own_marks().mark(0);
        shared.record.take_portion(2048);
        let other = shared.clone();
        let thread = loom::thread::spawn(move || grey_and_scan(&other));
        grey_and_scan(&shared);
        thread.join().expect("the thread ends");
        assert!(shared.outstanding.is_none() && shared.queue.is_empty());
        assert!(shared.scanned.iter().all(|count| count.load(Ordering::Relaxed) == 1));
        assert!(shared.record.own_marks().is_marked(0));
        assert_eq!((shared.record.object_words(), shared.record.shares_last_page()), (WORDS, false));
    });
}

/// While a thread scans a chain of two pages, a thread that asks finds work outstanding until both are scanned.
#[test]
fn marking_does_not_look_done_before_it_is() {
    struct Shared {
        heads: [Head; 2],
        queue: Queue,
        outstanding: Outstanding,
        scanned: AtomicUsize,
    }
    impl Shared {
        fn enqueue(&self, page: u32) {
            self.outstanding.begin();
            if !self.queue.push(page, &self.heads[page as usize]) {
                self.outstanding.end();
            }
        }

        fn slice(&self) {
            self.outstanding.begin();
            while let Some(page) = self.queue.pop(|page| &self.heads[page as usize]) {
                self.scanned.fetch_add(1, Ordering::Relaxed);
                if page == 0 {
                    self.enqueue(1);
                }
                self.outstanding.end();
            }
            self.outstanding.end();
        }
    }
    check(3, || {
        let shared = Arc::new(Shared {
            heads: [Head::new(), Head::new()],
            queue: Queue::new(),
            outstanding: Outstanding::new(),
            scanned: AtomicUsize::new(0),
        });
        shared.enqueue(0);
        let other = shared.clone();
        let thread = loom::thread::spawn(move || other.slice());
        for _ in 0..2 {
            if shared.outstanding.is_none() {
                assert_eq!(shared.scanned.load(Ordering::Relaxed), 2);
            }
        }
        shared.slice();
        thread.join().expect("the thread ends");
        assert!(shared.outstanding.is_none());
        assert_eq!(shared.scanned.load(Ordering::Relaxed), 2);
    });
}

/// A heap of one object with one field, one root slot, and an object that moves from the field to the slot.
struct Small {
    world: World,
    phase: AtomicU64,
    page: Page,
    queue: Queue,
    outstanding: Outstanding,
    field: AtomicUsize,
    root: AtomicUsize,
}

const HOLDER: usize = 0;
const MOVED: usize = 4;

impl Small {
    fn shade(&self, index: usize) {
        let marks = self.page.marks();
        marks.claim(7);
        if marks.mark(index) {
            self.outstanding.begin();
            if !self.queue.push(0, &self.page.head) {
                self.outstanding.end();
            }
        }
    }

    /// The mutator: takes the only reference to an object out of a field into a root, polling where it may.
    fn moves(&self, member: &Arc<Member>) {
        let poll = || {
            self.world.poll(member);
            self.phase.load(Ordering::Acquire) == 1
        };
        let marking = poll();
        let moved = self.field.load(Ordering::Acquire);
        self.root.store(moved, Ordering::Release);
        if marking {
            self.shade(moved);
        }
        self.field.store(0, Ordering::Release);
        poll();
        self.world.park(member);
    }

    /// Waits until all have come by in this epoch: for the mutator's end, if it did not come by in the meantime.
    fn wait(&self, epoch: u32, mutator: &mut Option<JoinHandle<()>>) {
        for _ in 0..2 {
            if self.world.all_seen(epoch) {
                return;
            }
            loom::thread::yield_now();
        }
        if let Some(thread) = mutator.take() {
            thread.join().expect("the thread ends");
        }
        assert!(self.world.all_seen(epoch));
    }

    /// The collector: starting, roots, marking, ending.
    fn collects(&self, mutator: &mut Option<JoinHandle<()>>) {
        self.phase.store(1, Ordering::Release);
        self.wait(self.world.advance(), mutator);
        self.shade(HOLDER);
        match self.root.load(Ordering::Acquire) {
            0 => {}
            object => self.shade(object),
        }
        loop {
            while self.queue.pop(|_| &self.page.head).is_some() {
                let mut at = 0;
                while let Some((index, scanned)) = self.page.marks().next_marked(at) {
                    at = index + 2;
                    if !scanned && self.page.marks().take_scan(index) && index == HOLDER {
                        match self.field.load(Ordering::Acquire) {
                            0 => {}
                            child => self.shade(child),
                        }
                    }
                }
                self.outstanding.end();
            }
            let begun = self.outstanding.begun();
            self.wait(self.world.advance(), mutator);
            if self.outstanding.is_none() && self.outstanding.begun() == begun {
                return;
            }
        }
    }
}

/// PG7: an object that moves from what is not scanned yet to a root that was scanned is marked when marking ends.
#[test]
fn what_moves_into_a_root_is_found() {
    check(2, || {
        let small = Arc::new(Small {
            world: World::new(),
            phase: AtomicU64::new(0),
            page: Page { head: Head::new(), blocks: Blocks::new() },
            queue: Queue::new(),
            outstanding: Outstanding::new(),
            field: AtomicUsize::new(MOVED),
            root: AtomicUsize::new(0),
        });
        let member = small.world.join();
        let other = small.clone();
        let mut mutator = Some(loom::thread::spawn(move || other.moves(&member)));
        small.collects(&mut mutator);
        if let Some(thread) = mutator {
            thread.join().expect("the thread ends");
        }
        assert!(small.page.marks().is_of(7) && small.page.marks().is_marked(MOVED));
    });
}
