//! The message area: a heap of the `treadmill` crate behind the literals in the immovable range, so that one comparison
//! tells that an object is not to be moved, and a second one that it lies in the area.
//!
//! Each scheduler has a mutator of the area, in a thread-local. Other threads have none; their messages are copied.

use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::time::Duration;

use atoll_heap::counters::{self, record_area_slice, record_idle_work, record_slice};
use atoll_heap::{Settings, build_window, immovable, settings};
use atoll_platform::addresses::Share;
use atoll_platform::clock::{monotonic, thread_cpu};
use atoll_platform::ending;
use atoll_term::{Header, Term, WORD_BYTES, Word, release_off_heap_part};
use treadmill::raw::{Portion, RawHeap, RawMutator, Runtime, Visitor};
use treadmill::{Config, Pace};

use super::bounds::Bounds;
use super::feedback::Feedback;
use super::roots::Finder;
use super::uses::Uses;
use crate::common::verify::{Part, Whose, broken, violation};
use crate::common::{Immovable, faults};
use crate::not_made::NotMade;

/// Addresses reserved for each byte that the area may have, tried in this order.
const ADDRESS_FACTORS: [usize; 3] = [16, 4, 2];
/// Growth in bytes at which the first cycle begins.
const LEAST_GROWTH: usize = super::roots::LEAST_GROWTH_WORDS * WORD_BYTES;

const A2: &str = "A2 (the area does not point out of immovable memory)";

/// Words from which on it is worth while to open a window.
const LEAST_WINDOW: usize = 6;

/// How long a check of the area's memory waits for the other schedulers to come by, and the least time between two
/// checks, as a multiple of the time that the first one took.
const CHECK_WAITS: Duration = Duration::from_millis(10);
const BETWEEN_CHECKS: i64 = 10;
/// The least time between two of them, in nanoseconds.
const LEAST_BETWEEN_CHECKS: i64 = 1_000_000;

/// A slice of the collector takes this part of the longest pause, because a process that waits for a scheduler may have
/// to wait for several slices.
const SLICES: u32 = 2;

/// The area, and what finds its roots.
pub(super) struct Area {
    heap: RawHeap,
    pub(super) bounds: Bounds,
    pub(super) finder: Arc<Finder>,
    pub(super) feedback: Feedback,
    pub(super) uses: Uses,
    /// The addresses that objects of the area may refer to, as a start and bytes.
    immovable: (usize, usize),
    /// How long a slice of the collector lasts.
    slice: Duration,
    /// Bytes of growth at which cycles begin now.
    least_growth: AtomicUsize,
    /// When its memory is checked next, by the verifier.
    check_at: AtomicI64,
}

/// Work for the area's collector, which is counted when it ends.
pub(super) struct Step {
    started: i64,
    used: Option<i64>,
}

impl Step {
    /// It begins now.
    pub(super) fn begin() -> Step {
        counters::work_begins();
        Step { started: monotonic(), used: settings().timed.then(thread_cpu) }
    }

    /// It has kept a process waiting.
    pub(super) fn end(self) {
        let started = self.started;
        self.end_slice();
        let time = (monotonic() - started).max(0) as u64;
        record_slice(time, time);
    }

    /// It has kept nobody waiting.
    fn end_idle(self) {
        let started = self.started;
        self.end_slice();
        record_idle_work((monotonic() - started).max(0) as u64);
    }

    fn end_slice(self) {
        if let Some(used) = self.used {
            record_area_slice((thread_cpu() - used).max(0) as u64);
        }
    }
}

thread_local! {
    static LOCAL: RefCell<Option<RawMutator>> = const { RefCell::new(None) };
    /// This thread has used its mutator since its last safepoint.
    static IS_USED: Cell<bool> = const { Cell::new(false) };
    /// The epoch of the area in which this thread's mutator owed nothing.
    static SETTLED: Cell<Option<u32>> = const { Cell::new(None) };
}

impl Area {
    /// Reserves the range of immovable objects with the area in it.
    ///
    /// # Errors
    /// The system gives no addresses.
    pub(super) fn new(settings: &Settings) -> Result<(Area, Arc<immovable::Range>), NotMade> {
        let limit = settings.area_limit.unwrap_or_else(|| {
            // The area takes twice its limit of addresses at least.
            (atoll_platform::machine_bytes().min(Share::MessageArea.most() / 2)).clamp(64 << 20, 96 << 30)
        });
        let config = Config {
            pause_bound: settings.max_pause / SLICES,
            pace: Pace::Growth { least: LEAST_GROWTH },
            stress: usize::from(settings.is_stressed()),
            ..Config::best(limit)
        };
        let areas = ADDRESS_FACTORS.map(|factor| factor * limit);
        let (range, bytes) = immovable::Range::with_area(settings, &areas)?;
        let start = range.area();
        let bounds = Bounds { start: start.as_ptr() as usize, bytes };
        let finder = Arc::new(Finder::new(bounds, settings.is_stressed()));
        let verified = settings.verify.then(|| Immovable::of(&range));
        let runtime = Terms { bounds, finder: Arc::clone(&finder), verified, _range: Some(Arc::clone(&range)) };
        // SAFETY: the area of the range is for this alone, and the runtime keeps it for as long as the heap lives.
        let heap = unsafe { RawHeap::new_in(&config, Box::new(runtime), start, bytes) }.map_err(NotMade::NoArea)?;
        Ok((Area::of(heap, bounds, finder, range.bounds(), settings), range))
    }

    fn of(heap: RawHeap, bounds: Bounds, finder: Arc<Finder>, immovable: (usize, usize), settings: &Settings) -> Area {
        Area {
            heap,
            bounds,
            finder,
            feedback: Feedback::new(settings),
            uses: Uses::new(settings),
            immovable,
            slice: settings.max_pause / SLICES,
            least_growth: AtomicUsize::new(LEAST_GROWTH),
            check_at: AtomicI64::new(0),
        }
    }

    /// Makes objects of what was built in this thread's window.
    #[inline(always)]
    fn take_window(&self, mutator: &RawMutator) {
        if let Some((objects, first)) = build_window(|window| window.close()) {
            // SAFETY: the window was opened where the mutator said, and closed now, before it is used for anything
            // else; engines write what they take at once.
            let words = unsafe { mutator.take_window(objects, NonNull::new_unchecked(first)) };
            counters::area().words_built.fetch_add(words as u64, Ordering::Relaxed);
            self.feedback.count(0, words);
        }
    }

    /// Hears of phases, and pays, with the window closed.
    #[inline(always)]
    fn hear(&self, mutator: &RawMutator) {
        if mutator.is_owing() {
            self.settle_with(mutator);
        }
    }

    #[cold]
    fn settle_with(&self, mutator: &RawMutator) {
        let growth = self.finder.growth_words() * WORD_BYTES;
        if growth != self.least_growth.load(Ordering::Relaxed) {
            self.least_growth.store(growth, Ordering::Relaxed);
            self.heap.set_least_growth(growth);
        }
        self.take_window(mutator);
        let step = Step::begin();
        mutator.settle();
        step.end();
    }

    /// Checks the area's memory, and each object that was found live (PG1 to PG8, A2), if it is time to. This scheduler
    /// stands at a safepoint and holds nothing that another waits for; where another does not come to one soon, because
    /// it waits for this one perhaps, the check is left out.
    pub(super) fn check_memory(&self) {
        let (now, due) = (monotonic(), self.check_at.load(Ordering::Relaxed));
        if now < due || self.check_at.compare_exchange(due, i64::MAX, Ordering::Relaxed, Ordering::Relaxed).is_err() {
            return;
        }
        let result = self.with(|mutator| {
            if faults::is_wanted("PG2") {
                mutator.break_on_purpose();
            }
            mutator.verify_within(CHECK_WAITS)
        });
        let rest = ((monotonic() - now) * BETWEEN_CHECKS).max(LEAST_BETWEEN_CHECKS);
        self.check_at.store(monotonic() + rest, Ordering::Relaxed);
        if let Some(Some(Err(violation))) = result {
            let treadmill::Violation { invariant, address, found } = violation;
            broken(&format!(
                "atoll: heap invariant {invariant} (the memory of the message area) is broken: {found}, at {address:#x}; {}",
                Whose::Area
            ));
        }
    }

    /// Whether a live object begins at this place of the area.
    pub(super) fn is_object(&self, place: *const Word) -> bool {
        self.heap.is_object(place as usize)
    }

    /// Visits all memory that objects of the area may lie in: first words, words.
    pub(super) fn each_backed_run(&self, visit: &mut dyn FnMut(*mut Word, usize)) {
        self.heap.each_backed_run(visit);
    }

    /// Calls `use_it` with this thread's mutator; `None` on threads that are no schedulers.
    #[inline]
    pub(super) fn with<R>(&self, use_it: impl FnOnce(&RawMutator) -> R) -> Option<R> {
        LOCAL.with_borrow(|local| {
            local.as_ref().map(|mutator| {
                IS_USED.set(true);
                self.take_window(mutator);
                use_it(mutator)
            })
        })
    }

    /// Nobody builds in the area any more before something opens a window again.
    #[inline]
    pub(super) fn close_window(&self) {
        if build_window(|window| window.is_used()) {
            self.with(|_| ());
        }
    }

    /// Opens this thread's window where the next object would go, if there is room for several small ones. While a
    /// collection is on, what is built there may refer to what lies in the same window, which is black already:
    /// everything else has to pass the barrier.
    pub(super) fn open_window(&self, mutator: &RawMutator) {
        let (start, words) = mutator.window();
        let start = start.as_ptr();
        let words = if words < LEAST_WINDOW { 0 } else { words };
        let own = (start as usize, words * WORD_BYTES);
        let admitted = if mutator.is_marking() { own } else { self.immovable };
        build_window(|window| window.open(start, words, admitted));
    }

    /// As [`Area::with`], with a mutator for the moment on threads that are no schedulers.
    pub(super) fn with_any<R>(&self, use_it: impl Fn(&RawMutator) -> R) -> R {
        self.with(&use_it).unwrap_or_else(|| use_it(&self.heap.mutator()))
    }

    /// This scheduler stands at a safepoint: it hears what the collector has to say, and pays for what it allocated.
    #[inline]
    pub(super) fn settle(&self) {
        // Mostly there is nothing to do, and to look at the mutator would cost more than this.
        let settled = SETTLED.get();
        if IS_USED.get() || settled.is_none() || settled != self.heap.epoch() {
            self.settle_now();
        }
    }

    #[cold]
    #[inline(never)]
    fn settle_now(&self) {
        let epoch = self.heap.epoch();
        IS_USED.set(false);
        LOCAL.with_borrow_mut(|local| {
            let mutator = local.get_or_insert_with(|| self.heap.mutator());
            self.hear(mutator);
            SETTLED.set(epoch.filter(|_| !mutator.is_owing()));
        });
    }

    /// As [`Area::settle`]; nothing on threads that are no schedulers, and on those that have not used the area since:
    /// what they would hear of waits until their time slice ends.
    #[inline]
    pub(super) fn settle_here(&self) {
        if IS_USED.replace(false) {
            LOCAL.with_borrow(|local| local.iter().for_each(|mutator| self.hear(mutator)));
        }
    }

    /// Whether barriers may have something to do.
    #[inline]
    pub(super) fn is_marking(&self) -> bool {
        self.heap.is_marking()
    }

    /// Works for the collector while there is nothing else to do. Returns whether there was anything.
    pub(super) fn assist(&self) -> bool {
        if !self.heap.is_collecting() {
            return false;
        }
        self.settle();
        let step = Step::begin();
        let worked = self.heap.assist(self.slice);
        step.end_idle();
        worked
    }

    /// Nobody may wait for this thread until [`Area::unpark`].
    pub(super) fn park(&self) {
        self.with(RawMutator::park_now);
    }

    /// Ends what [`Area::park`] began.
    pub(super) fn unpark(&self) {
        self.with(RawMutator::unpark);
    }

    /// Allocates in the area, without a safepoint.
    #[inline]
    pub(super) fn allocate(&self, mutator: &RawMutator, words: usize, has_off_heap_part: bool) -> NonNull<Word> {
        // SAFETY: the caller initialises the object before this thread's next safepoint, and what it stores passes the
        // barrier.
        match unsafe { mutator.allocate_quietly(words, has_off_heap_part) } {
            Ok(object) => object,
            Err(_) => self.is_full(),
        }
    }
}

impl Area {
    /// Room for cells of lists in a row, as `RawMutator::pairs` gives it.
    #[inline]
    pub(super) fn pairs(&self, mutator: &RawMutator) -> (NonNull<Word>, usize) {
        mutator.pairs().unwrap_or_else(|_| self.is_full())
    }

    /// Ends the run, as for want of memory.
    #[cold]
    fn is_full(&self) -> ! {
        let limit = self.heap.limit();
        ending::crash(&format!("atoll: the message area is full: {limit} bytes (--area-limit)"))
    }
}

/// What the collector has to know of terms.
struct Terms {
    bounds: Bounds,
    finder: Arc<Finder>,
    /// What else objects may refer to, if that is verified.
    verified: Option<Immovable>,
    /// The memory of the area.
    _range: Option<Arc<immovable::Range>>,
}

impl Terms {
    /// Reports what one word of an object refers to.
    #[inline(always)]
    fn field(&self, place: *const Word, term: Term, visitor: &mut Visitor<'_>) {
        match self.bounds.object(term) {
            Some(reference) => {
                visitor.visit(reference);
            }
            None => self.check_field(place, term),
        }
    }
}

impl Terms {
    /// A2: called for each field of an object of the area that does not refer to the area.
    #[inline]
    fn check_field(&self, place: *const Word, term: Term) {
        if let Some(immovable) = &self.verified
            && term.is_pointer()
            && !immovable.contains(term)
        {
            violation(A2, Whose::Area, Part::Heap, place, term.word());
        }
    }
}

// SAFETY: `describe` reports each pointer into the area that the object holds in this portion, by the object's own
// header.
unsafe impl Runtime for Terms {
    unsafe fn describe(&self, object: NonNull<u64>, _words: usize, portion: Range<usize>, visitor: &mut Visitor<'_>) {
        let place = object.as_ptr();
        // SAFETY: the object was published whole; it is immutable.
        unsafe {
            let first = Term::from_word(*place);
            let fields = if first.is_header() {
                let header = Header::from_word(first.word());
                if header.is_opaque() { 0..0 } else { 1..header.object_words() }
            } else {
                0..2
            };
            for index in fields.start.max(portion.start)..fields.end.min(portion.end) {
                self.field(place.add(index), Term::from_word(*place.add(index)), visitor);
            }
        }
    }

    unsafe fn describe_row(&self, object: NonNull<u64>, words: usize, most: usize, visitor: &mut Visitor<'_>) -> usize {
        let mut cell = object.as_ptr();
        // SAFETY: the objects were published whole; they are immutable, and what a tail refers to is a cell.
        unsafe {
            if most == 1 || Term::from_word(*cell).is_header() {
                self.describe(object, words, 0..words, visitor);
                return 1;
            }
            for count in 1.. {
                let (head, tail) = (Term::from_word(*cell), Term::from_word(*cell.add(1)));
                self.field(cell, head, visitor);
                cell = cell.add(2);
                if count == most || tail != Term::cons_at(cell) {
                    self.field(cell.sub(1), tail, visitor);
                    return count;
                }
            }
        }
        1
    }

    unsafe fn finalize(&self, object: NonNull<u64>, _words: usize) {
        // SAFETY: only objects with off-heap parts are finalizable, and this one is dead.
        unsafe { release_off_heap_part(object) }
    }

    fn begin_roots(&self) {
        self.finder.begin();
    }

    fn push_roots(&self, _slots: usize, visitor: &mut Visitor<'_>) -> Portion {
        self.finder.push(&mut |object| {
            visitor.visit(object);
        })
    }

    fn push_changed_roots(&self, _slots: usize, visitor: &mut Visitor<'_>) -> Portion {
        self.finder.push_late(&mut |object| {
            visitor.visit(object);
        })
    }
}

#[cfg(test)]
mod tests;
