//! A large private heap is scanned for pointers into the area in portions, between which its process runs.
//!
//! The first portion takes what may change: the stack, the registers, the dictionary, the messages, and whatever is small. What is left are
//! runs of objects, which are immutable (elements of a new tuple are set before the slice ends in which it was made). Whatever the process takes out of a run that is not scanned yet stays in the run as well, so the run
//! is scanned late enough at any time before it goes away. It goes away in a private collection: `hybrid/mod.rs` and `private/sliced.rs`
//! have the runs finished that one is about to free.

use std::collections::HashMap;
use std::ptr::NonNull;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard};

use atoll_heap::Mutator;
use atoll_heap::statistics::STRESS;
use atoll_term::Word;

use super::area::Bounds;
use crate::private::collect::{each_block, each_old_block};
use crate::private::state::State;

/// Longest run that belongs to the first portion, in words.
const SMALL_RUN: usize = 1 << 14;
/// The same in tests and under stress.
const SMALL_RUN_STRESSED: usize = 64;
/// What reporting a pointer costs, and looking at a message, in words looked at: a miss of the cache.
pub(super) const POINTER_WORDS: usize = 64;

/// Whether portions shall be small, so that they are met often.
fn is_stressed() -> bool {
    cfg!(test) || STRESS.load(Ordering::Relaxed) > 0
}

/// Words that one portion still may look at.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget(usize);

impl Budget {
    /// As much as takes about a tenth of a millisecond.
    pub(super) fn new() -> Budget {
        Budget(if is_stressed() { 100 } else { 1 << 16 })
    }

    /// No bound.
    pub(super) const ALL: Budget = Budget(usize::MAX);

    pub(super) fn is_spent(self) -> bool {
        self.0 == 0
    }

    pub(super) fn spend(&mut self, words: usize) {
        self.0 = self.0.saturating_sub(words);
    }
}

/// Words of whole objects that wait to be looked at.
#[derive(Clone, Copy, Debug)]
struct Run {
    /// Where the run began, which names it.
    start: usize,
    at: usize,
    end: usize,
    /// Whether it lies in the old generation.
    old: bool,
}

/// The runs of the processes that are being scanned, by the addresses of their mutators.
#[derive(Debug, Default)]
pub(super) struct Portions(Mutex<HashMap<usize, Vec<Run>>>);

impl Portions {
    fn lock(&self) -> MutexGuard<'_, HashMap<usize, Vec<Run>>> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// The runs of a process: small ones are looked at now, others noted. Returns the words looked at, and whether that was all.
    ///
    /// # Safety
    /// Nobody else uses the process meanwhile; its blocks consist of whole objects.
    pub(super) unsafe fn begin(
        &self,
        mutator: &mut Mutator,
        bounds: Bounds,
        shade: &mut dyn FnMut(NonNull<Word>),
    ) -> (usize, bool) {
        let mut old_blocks = Vec::new();
        each_old_block(mutator, &mut |start, _| old_blocks.push(start as usize));
        let small = if is_stressed() { SMALL_RUN_STRESSED } else { SMALL_RUN };
        let (mut words, mut runs) = (0, Vec::new());
        each_block(mutator, &mut |start, used| {
            if used <= small {
                words += used;
                // SAFETY: as the caller's.
                unsafe { bounds.each_in_objects(start, used, shade) };
            } else {
                let start = start as usize;
                let end = start + used * size_of::<Word>();
                runs.push(Run { start, at: start, end, old: old_blocks.contains(&start) });
            }
        });
        let done = runs.is_empty();
        if !done {
            self.lock().insert(address(mutator), runs);
        }
        State::of_mut(mutator).in_portions = !done;
        (words, done)
    }

    /// Looks at what was noted, as far as the budget goes. Returns the words looked at, and whether nothing is left.
    ///
    /// # Safety
    /// As for [`Portions::begin`], which was called in this cycle.
    pub(super) unsafe fn go_on(
        &self,
        mutator: &mut Mutator,
        bounds: Bounds,
        budget: &mut Budget,
        shade: &mut dyn FnMut(NonNull<Word>),
    ) -> (usize, bool) {
        let mut runs = self.lock().remove(&address(mutator)).unwrap_or_default();
        let mut words = 0;
        while let Some(run) = runs.last_mut()
            && !budget.is_spent()
        {
            // SAFETY: the run is there until it was looked at.
            words += unsafe { run.advance(bounds, budget, shade) };
            if run.at >= run.end {
                runs.pop();
            }
        }
        let done = runs.is_empty();
        if !done {
            self.lock().insert(address(mutator), runs);
        }
        State::of_mut(mutator).in_portions = !done;
        (words, done)
    }

    /// Looks at runs to their ends, because they go away: those that `leaves` names by their first address, and by whether they are old.
    ///
    /// # Safety
    /// The runs of this process are still there, and nobody else uses it.
    pub(super) unsafe fn finish(
        &self,
        mutator: usize,
        bounds: Bounds,
        shade: &mut dyn FnMut(NonNull<Word>),
        leaves: impl Fn(usize, bool) -> bool,
    ) {
        let Some(mut runs) = self.lock().remove(&mutator) else { return };
        runs.retain_mut(|run| {
            if !leaves(run.start, run.old) {
                return true;
            }
            // SAFETY: as the caller's.
            unsafe { run.advance(bounds, &mut Budget::ALL.clone(), shade) };
            false
        });
        // An empty list is that of a process whose last portion finds nothing left.
        self.lock().insert(mutator, runs);
    }

    /// Forgets a process, which ends.
    pub(super) fn forget(&self, mutator: &Mutator) {
        self.lock().remove(&address(mutator));
    }
}

impl Run {
    /// # Safety
    /// The rest of the run consists of whole objects.
    unsafe fn advance(&mut self, bounds: Bounds, budget: &mut Budget, shade: &mut dyn FnMut(NonNull<Word>)) -> usize {
        let left = (self.end - self.at) / size_of::<Word>();
        // SAFETY: as the caller's.
        let words = unsafe {
            bounds.each_in_some(self.at as *const Word, left, &mut |object| {
                if let Some(object) = object {
                    shade(object);
                    budget.spend(POINTER_WORDS);
                } else {
                    budget.spend(STEP);
                }
                !budget.is_spent()
            })
        };
        self.at += words * size_of::<Word>();
        words
    }
}

/// Words between looks at the budget.
pub(super) const STEP: usize = 64;

/// What names a process here.
pub(super) fn address(mutator: &Mutator) -> usize {
    std::ptr::from_ref(mutator) as usize
}
