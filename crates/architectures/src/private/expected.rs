//! Estimates how much heap a process will need, from earlier processes with the same start: the size of the block that
//! replaces its first one of a few words. Two processes have the same start when they call the same function with the
//! same atoms and funs among its arguments (`common/beginnings.rs`).
//!
//! A process that ends without a collection reports how much it used; a process that was collected reports how large
//! its heap had become. The estimate at most doubles at a time, so that one large process among many small ones does
//! not count, and goes down slowly, because the depth of the stack is not known at the end.
//!
//! What is expected is lent: processes that began alike have no more than [`LENT_AT_MOST`] words together because of
//! it. Where a crowd of them waits, the others begin with the least size.

use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use atoll_heap::Mutator;
use atoll_term::Term;

use super::state::State;
use crate::common::beginnings::kind;
use crate::common::blocks::words_between;

/// Number of estimates, a power of two.
const ENTRIES: usize = 512;
/// Largest block that is expected, in words: one that fits a cache of its own.
const LARGEST: usize = 10_946;
/// Words that processes which began alike have at most because it was expected.
const LENT_AT_MOST: usize = 1 << 17;
/// The part of the difference by which an estimate that was too large goes down.
const STEP_DOWN: usize = 16;
/// Free words that are left between heap and stack at the end.
const SPARE: usize = 16;

/// What processes of one kind needed.
#[derive(Debug)]
struct Entry {
    /// Which kind: the upper bits of the hash.
    kind: AtomicU32,
    /// Words of heap and stack.
    words: AtomicU32,
    /// Words lent to processes that run now.
    lent: AtomicUsize,
}

/// What processes needed that began alike.
#[derive(Debug)]
pub(super) struct Expected(Box<[Entry]>);

impl Expected {
    pub(super) fn new() -> Expected {
        let entry = || Entry { kind: AtomicU32::new(0), words: AtomicU32::new(0), lent: AtomicUsize::new(0) };
        Expected((0..ENTRIES).map(|_| entry()).collect())
    }

    /// A new process calls this function with the list `arguments`.
    pub(super) fn begins(&self, mutator: &mut Mutator, function: (Term, Term), arguments: Term) {
        let hash = kind(function, arguments);
        let place = hash as usize % ENTRIES;
        let kind = (hash >> 32) as u32;
        let entry = &self.0[place];
        if entry.kind.load(Ordering::Relaxed) != kind {
            entry.kind.store(kind, Ordering::Relaxed);
            entry.words.store(0, Ordering::Relaxed);
        }
        State::of_mut(mutator).beginning.0 |= place as u16 + 1;
    }

    /// Words of heap and stack that the process is expected to need, if that is more than `least`: lent until its
    /// next collection or its end.
    pub(super) fn lend(&self, mutator: &mut Mutator, least: usize) -> Option<usize> {
        let state = State::of_mut(mutator);
        if state.options().maximum_words != 0 {
            return None;
        }
        let entry = &self.0[state.beginning.place()?];
        let words = entry.words.load(Ordering::Relaxed) as usize;
        if words <= least {
            return None;
        }
        let lent = entry.lent.load(Ordering::Relaxed);
        (lent + words <= LENT_AT_MOST).then_some(words)
    }

    /// The block that the process has now was made because of [`Expected::lend`].
    pub(super) fn lent(&self, mutator: &mut Mutator) {
        let words = State::of(mutator).block_words(mutator);
        let state = State::of_mut(mutator);
        if let Some(place) = state.beginning.place() {
            self.0[place].lent.fetch_add(words, Ordering::Relaxed);
            state.beginning.0 |= LENT;
        }
    }

    /// The block is about to be given back, or to be what a collection makes of it.
    #[inline]
    pub(super) fn collected(&self, mutator: &mut Mutator) {
        self.give_back(mutator);
        State::of_mut(mutator).beginning.0 |= COLLECTED;
    }

    fn give_back(&self, mutator: &mut Mutator) {
        let words = State::of(mutator).block_words(mutator);
        let beginning = &mut State::of_mut(mutator).beginning;
        if beginning.0 & LENT != 0
            && let Some(place) = beginning.place()
        {
            beginning.0 &= !LENT;
            self.0[place].lent.fetch_sub(words, Ordering::Relaxed);
        }
    }

    /// The process has ended; its heap is there still.
    pub(super) fn ended(&self, mutator: &mut Mutator) {
        self.give_back(mutator);
        let state = State::of(mutator);
        let Some(place) = state.beginning.place() else { return };
        let entry = &self.0[place];
        let before = entry.words.load(Ordering::Relaxed) as usize;
        let words = if state.beginning.0 & COLLECTED != 0 {
            let size = state.block_words(mutator) + state.old().map_or(0, |old| old.used());
            before.max(size.min(2 * before.max(state.options().minimum_words)).min(LARGEST))
        } else {
            let used = words_between(mutator.block, mutator.top) + SPARE;
            if used >= before { used.min(LARGEST) } else { before - (before - used).div_ceil(STEP_DOWN) }
        };
        if words != before {
            entry.words.store(words as u32, Ordering::Relaxed);
        }
    }
}

/// What a process keeps of it: one more than the number of its kind's entry, 0 if it is of none, and marks.
#[derive(Clone, Copy)]
pub(super) struct Beginning(u16);

const LENT: u16 = 1 << 15;
const COLLECTED: u16 = 1 << 14;
const OUTGREW_FIRST: u16 = 1 << 13;
const MARKS: u16 = LENT | COLLECTED | OUTGREW_FIRST;
const _: () = assert!(ENTRIES & MARKS as usize == 0);

impl Beginning {
    fn place(self) -> Option<usize> {
        usize::from(self.0 & !MARKS).checked_sub(1)
    }

    /// Whether the process has its first block still.
    pub(super) fn has_first_block(self) -> bool {
        self.0 & (COLLECTED | OUTGREW_FIRST) == 0
    }

    /// The process's block is not its first any more.
    pub(super) fn outgrew_first_block(&mut self) {
        self.0 |= OUTGREW_FIRST;
    }
}
