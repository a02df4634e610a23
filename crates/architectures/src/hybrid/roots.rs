//! Finds the roots of the message area piece by piece while all processes run:
//!
//! 1. messages that timers keep, some at a time;
//! 2. stored terms (rows of tables), a list at a time;
//! 3. processes: a waiting process is held for the moment of its scan, by the thread that works for the collector; a
//!    running one is scanned by its own scheduler at the beginning of its next time slice. Large ones are scanned in
//!    portions (`portions.rs`).
//!
//! Processes come after rows, because a process that is not scanned yet may take a pointer out of a row and be the only
//! one that has it when the row is deleted. Terms stored or sent meanwhile pass the barrier (`send.rs`). A process that
//! begins after step 3 has begun need not be scanned, since its arguments passed the barrier; an older one must be.

use std::ptr::NonNull;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};

use atoll_heap::counters::area;
use atoll_heap::{Claim, Fragment, KeptPlace, Mutator, RootSet, world};
use atoll_term::{Term, WORD_BYTES, Word};
use treadmill::raw::Portion;

use super::bounds::Bounds;
use super::copies::Copies;
use super::portions::{Budget, POINTER_WORDS, Portions, look_at_message};
use crate::common::stored::{StoredPlace, StoredTerms};
use crate::private::state::State;

/// Growth of the area in words at which a cycle begins, at least.
pub(super) const LEAST_GROWTH_WORDS: usize = if cfg!(test) { 1 << 12 } else { (16 << 20) / WORD_BYTES };
/// Words of roots scanned for each word of growth at which a cycle begins.
const SCANNED_PER_WORD: usize = 2;
/// Places of the process table looked at in one portion.
const PLACES: usize = 64;
/// Processes that ran before, tried again in one portion.
const LATE: usize = 64;
/// Stored terms, and timers, looked at in one portion.
const ROWS: usize = if cfg!(test) { 2 } else { 512 };

/// Where a cycle's search for roots is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Kept(KeptPlace),
    Stored(StoredPlace),
    Process(usize),
    Late,
}

#[derive(Debug)]
struct Walk {
    place: Place,
    /// Processes that were running when their turn came.
    late: Vec<Term>,
}

/// Finds the roots, cycle by cycle.
pub(super) struct Finder {
    bounds: Bounds,
    /// Which cycle this is, modulo 256: processes carry the number of the one in which they were scanned.
    cycle: AtomicU8,
    /// Whether processes are being scanned in this cycle, or have been.
    scans_processes: AtomicBool,
    walk: Mutex<Walk>,
    pub(super) stored: StoredTerms,
    pub(super) copies: Copies,
    pub(super) portions: Portions,
    scanned_words: AtomicUsize,
    growth_words: AtomicUsize,
}

impl Finder {
    pub(super) fn new(bounds: Bounds, stressed: bool) -> Finder {
        Finder {
            bounds,
            cycle: AtomicU8::new(0),
            scans_processes: true.into(),
            walk: Mutex::new(Walk { place: Place::Late, late: Vec::new() }),
            stored: StoredTerms::new(),
            copies: Copies::new(),
            portions: Portions::new(stressed),
            scanned_words: AtomicUsize::new(0),
            growth_words: AtomicUsize::new(LEAST_GROWTH_WORDS),
        }
    }

    /// Growth in words at which the next cycle should begin: so much that finding the roots costs little by comparison.
    pub(super) fn growth_words(&self) -> usize {
        self.growth_words.load(Ordering::Relaxed)
    }

    fn walk(&self) -> std::sync::MutexGuard<'_, Walk> {
        self.walk.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// A cycle begins; every thread knows.
    pub(super) fn begin(&self) {
        let scanned = self.scanned_words.swap(0, Ordering::Relaxed);
        let figures = area();
        figures.cycles.fetch_add(1, Ordering::Relaxed);
        figures.words_scanned.fetch_add(scanned as u64, Ordering::Relaxed);
        self.growth_words.store(LEAST_GROWTH_WORDS.max(scanned / SCANNED_PER_WORD), Ordering::Relaxed);
        let mut walk = self.walk();
        self.scans_processes.store(false, Ordering::Release);
        self.cycle.fetch_add(1, Ordering::AcqRel);
        walk.place = Place::Kept(KeptPlace::START);
        walk.late.clear();
    }

    /// Which cycle is on, or was the last, modulo 256.
    pub(super) fn cycle(&self) -> u8 {
        self.cycle.load(Ordering::Relaxed)
    }

    /// The mark of a process that begins now.
    pub(super) fn first_mark(&self) -> u8 {
        let cycle = self.cycle.load(Ordering::Acquire);
        if self.scans_processes.load(Ordering::Acquire) { cycle } else { cycle.wrapping_sub(1) }
    }

    /// Whether a process has to be scanned before it runs on.
    #[inline]
    pub(super) fn wants(&self, mutator: &Mutator) -> bool {
        State::of(mutator).area_cycle.load(Ordering::Relaxed) != self.cycle.load(Ordering::Acquire)
            && self.scans_processes.load(Ordering::Acquire)
    }

    /// Steps 1 to 3, a portion of one.
    pub(super) fn push(&self, shade: &mut dyn FnMut(NonNull<Word>)) -> Portion {
        let mut walk = self.walk();
        match walk.place {
            Place::Kept(from) => {
                let next = world().each_kept_message(from, ROWS, &mut |message| {
                    self.scan_fragment(message, shade);
                });
                walk.place = next.map_or(Place::Stored(StoredPlace::START), Place::Kept);
            }
            Place::Stored(from) => {
                let next = self.stored.some(from, true, ROWS, &mut |term| {
                    if let Some(object) = self.bounds.object(term) {
                        shade(object);
                    }
                });
                walk.place = next.map_or(Place::Process(0), Place::Stored);
                if next.is_none() {
                    self.scans_processes.store(true, Ordering::Release);
                }
            }
            Place::Process(from) => {
                let Walk { place, late } = &mut *walk;
                let next = self.scan_some(from, shade, late);
                *place = next.map_or(Place::Late, Place::Process);
            }
            Place::Late => return if walk.late.is_empty() { Portion::Done } else { Portion::Waiting },
        }
        Portion::More
    }

    fn scan_some(&self, from: usize, shade: &mut dyn FnMut(NonNull<Word>), late: &mut Vec<Term>) -> Option<usize> {
        let cycle = self.cycle.load(Ordering::Relaxed);
        let wanted = |mutator: *const Mutator| State::area_cycle_at(mutator) != cycle;
        let mut budget = self.portions.budget();
        let mut visit = |mutator: &mut Mutator, roots: &mut dyn RootSet| self.scan(mutator, roots, &mut budget, shade);
        world().claim_each(from, PLACES, &wanted, &mut visit, &mut |pid| late.push(pid))
    }

    /// The processes that ran when their turn came, or have large heaps.
    pub(super) fn push_late(&self, shade: &mut dyn FnMut(NonNull<Word>)) -> Portion {
        let cycle = self.cycle.load(Ordering::Relaxed);
        let wanted = |mutator: *const Mutator| State::area_cycle_at(mutator) != cycle;
        let mut walk = self.walk();
        let mut budget = self.portions.budget();
        for _ in 0..LATE.min(walk.late.len()) {
            let Some(pid) = walk.late.pop() else { break };
            let mut visited = false;
            let mut visit = |mutator: &mut Mutator, roots: &mut dyn RootSet| {
                visited = true;
                self.scan(mutator, roots, &mut budget, shade);
            };
            if world().claim(pid, &wanted, &mut visit) == Claim::Busy {
                walk.late.push(pid);
                return if visited { Portion::More } else { Portion::Waiting };
            }
            if budget.is_spent() {
                break;
            }
        }
        if walk.late.is_empty() { Portion::Done } else { Portion::More }
    }

    /// Before a process runs: as [`Finder::scan`], a portion.
    pub(super) fn scan_own(
        &self,
        mutator: &mut Mutator,
        roots: &mut dyn RootSet,
        shade: &mut dyn FnMut(NonNull<Word>),
    ) {
        self.scan(mutator, roots, &mut self.portions.budget(), shade);
    }

    /// Reports what a process refers to in the area, as far as the budget goes. Nobody else uses the process meanwhile.
    fn scan(
        &self,
        mutator: &mut Mutator,
        roots: &mut dyn RootSet,
        budget: &mut Budget,
        shade: &mut dyn FnMut(NonNull<Word>),
    ) {
        if budget.is_spent() {
            return;
        }
        // SAFETY: the process does not run: its stack, blocks and messages are whole, and ours for now.
        let (words, done) = unsafe {
            if State::of(mutator).in_portions() {
                self.portions.go_on(mutator, roots, self.bounds, budget, shade)
            } else {
                let mut looked_up = 0;
                let mut shade = |object| {
                    looked_up += 1;
                    shade(object);
                };
                let words = self.scan_changing(mutator, roots, &mut shade);
                let (more, messages, done) = self.portions.begin(mutator, roots, self.bounds, &mut shade);
                budget.spend(words + more + (looked_up + messages) * POINTER_WORDS);
                (words + more, done)
            }
        };
        self.scanned_words.fetch_add(words, Ordering::Relaxed);
        if done {
            State::of(mutator).area_cycle.store(self.cycle.load(Ordering::Relaxed), Ordering::Release);
        }
    }

    /// What can change anywhere: registers, dictionary, copies. Gives the words looked at.
    ///
    /// # Safety
    /// Nobody else uses the process meanwhile.
    unsafe fn scan_changing(
        &self,
        mutator: &Mutator,
        roots: &mut dyn RootSet,
        shade: &mut dyn FnMut(NonNull<Word>),
    ) -> usize {
        let mut words = 0;
        roots.each_own_slice(&mut |start, terms| {
            words += terms;
            // SAFETY: as the caller's.
            unsafe { self.bounds.each_in_run(start.cast(), terms, shade) };
        });
        if State::of(mutator).has_copies() {
            self.copies.each(mutator, |copy| {
                if let Some(object) = self.bounds.object(copy) {
                    shade(object);
                }
            });
        }
        words
    }

    /// Parts of a private heap are about to be freed: those blocks of it that `leaves` accepts, by their first word and
    /// whether they are old.
    ///
    /// # Safety
    /// They are still there, and this thread has the process.
    pub(super) unsafe fn finish(
        &self,
        mutator: usize,
        shade: &mut dyn FnMut(NonNull<Word>),
        leaves: impl Fn(usize, bool) -> bool,
    ) {
        // SAFETY: as the caller's.
        unsafe { self.portions.finish(mutator, self.bounds, shade, leaves) }
    }

    /// Reports what a message refers to in the area; gives its words.
    pub(super) fn scan_fragment(&self, message: &Fragment, shade: &mut dyn FnMut(NonNull<Word>)) -> usize {
        look_at_message(self.bounds, message, shade)
    }

    /// The process returned to its stack marker, or past it.
    ///
    /// # Safety
    /// This thread has the process.
    pub(super) unsafe fn scan_cut(&self, mutator: &Mutator, shade: &mut dyn FnMut(NonNull<Word>)) {
        // SAFETY: as the caller's.
        let words = unsafe { self.portions.cut(mutator, self.bounds, shade) };
        self.scanned_words.fetch_add(words, Ordering::Relaxed);
    }
}
