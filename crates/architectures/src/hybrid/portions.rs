//! A large process is scanned for pointers into the area in portions, between which it runs.
//!
//! The first portion takes what may change: the top of the stack, the registers, the dictionary, and whatever is small.
//! What is left are
//!
//! * runs of objects, which are immutable (elements of a new tuple are set before the slice ends in which it was made).
//!   Whatever the process takes out of a run that is not scanned yet stays in the run as well, so the run is scanned
//!   late enough at any time before it goes away. It goes away in a private collection: `hybrid/mod.rs` and
//!   `private/sliced.rs` have the runs finished that one is about to free.
//! * older frames, which the process cannot get at before it returns to them. A stack marker (`stack_cut` of the
//!   architecture) tells when: then the frames below it are scanned, as many as make a portion, and the marker is
//!   placed further down.
//! * messages: what the process looks at before its turn has come passes the barrier (`message_read` of the
//!   architecture).

use std::collections::HashMap;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};

use atoll_heap::{Fragment, Mutator, RootSet};
use atoll_term::{Term, Word};

use super::bounds::{Bounds, STEP};
use crate::private::phases::{each_block, each_old_block};
use crate::private::state::State;

/// Longest run, and part of a stack, that belongs to the first portion, in words.
const SMALL_RUN: usize = 1 << 13;
/// The same in tests and under stress.
const SMALL_RUN_STRESSED: usize = 64;
/// Most messages that belong to the first portion.
const FEW_MESSAGES: usize = 64;
/// The same in tests and under stress.
const FEW_MESSAGES_STRESSED: usize = 2;
/// Words of stack scanned at once when the process returns into what waits.
const STACK_PART: usize = 1 << 14;
/// What reporting a pointer costs, and looking at a message, in words looked at: a miss of the cache.
pub(super) const POINTER_WORDS: usize = 64;

/// Words that one portion still may look at.
#[derive(Clone, Copy, Debug)]
pub(super) struct Budget(usize);

impl Budget {
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

/// The part of a stack that waits to be looked at: so many words at its base. At its upper end stands a marker.
#[derive(Clone, Copy, Debug)]
struct Frames {
    words: usize,
    /// The return address whose place the marker took.
    returns_to: Word,
}

/// What is left of a process.
#[derive(Debug, Default)]
struct Rest {
    runs: Vec<Run>,
    frames: Option<Frames>,
    messages: bool,
}

impl Rest {
    fn is_empty(&self) -> bool {
        self.runs.is_empty() && self.frames.is_none() && !self.messages
    }
}

/// What is left of the processes that are being scanned, by the addresses of their mutators.
#[derive(Debug)]
pub(super) struct Portions {
    /// Portions are small, so that they are met often.
    small: bool,
    rest: Mutex<HashMap<usize, Rest>>,
    /// The address of the engine's code for stack markers; 0 if there is none.
    marker: AtomicU64,
}

impl Portions {
    pub(super) fn new(stressed: bool) -> Portions {
        Portions { small: stressed || cfg!(test), rest: Mutex::default(), marker: AtomicU64::new(0) }
    }

    /// As much as takes about a tenth of a millisecond.
    pub(super) fn budget(&self) -> Budget {
        Budget(if self.small { 100 } else { 1 << 16 })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<usize, Rest>> {
        self.rest.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    pub(super) fn use_marker(&self, code: Word) {
        self.marker.store(code, Ordering::Relaxed);
    }

    /// Where a process's stack marker stands, and the return address whose place it took.
    pub(super) fn marker_of(&self, mutator: &Mutator) -> Option<(*const Word, Word)> {
        let frames = self.lock().get(&address(mutator))?.frames?;
        Some((place(mutator, frames.words).cast_const(), frames.returns_to))
    }

    /// Whether a process has returned to its stack marker, or past it.
    pub(super) fn is_cut(&self, mutator: &Mutator) -> bool {
        let frames = self.lock().get(&address(mutator)).and_then(|rest| rest.frames);
        frames.is_some_and(|frames| frames.words > mutator.stack_words())
    }

    /// The process has left frames, its marker among them: looks at the next ones. Returns the words looked at.
    ///
    /// # Safety
    /// Nobody else uses the process meanwhile.
    pub(super) unsafe fn cut(&self, mutator: &Mutator, bounds: Bounds, shade: &mut dyn FnMut(NonNull<Word>)) -> usize {
        let part = if self.small { SMALL_RUN_STRESSED } else { STACK_PART };
        // SAFETY: as the caller's.
        let (words, frames) = unsafe { self.look_at_stack(mutator, mutator.stack_words(), part, bounds, shade) };
        if let Some(rest) = self.lock().get_mut(&address(mutator)) {
            rest.frames = frames;
        }
        words
    }

    /// Looks at the upper end of the `words` words at the base of a stack, at least `part` of them, up to a return
    /// address. The words looked at, and the rest, below a marker that stands there now.
    ///
    /// # Safety
    /// Nobody else uses the process meanwhile, and no marker stands on this part of its stack.
    unsafe fn look_at_stack(
        &self,
        mutator: &Mutator,
        words: usize,
        part: usize,
        bounds: Bounds,
        shade: &mut dyn FnMut(NonNull<Word>),
    ) -> (usize, Option<Frames>) {
        let marker = self.marker.load(Ordering::Relaxed);
        let mut frames = None;
        let mut left = if marker == 0 || words <= 2 * part { 0 } else { words - part };
        while left > 0 {
            let place = place(mutator, left);
            // SAFETY: the word lies on the stack.
            let word = unsafe { Term::from_word(*place) };
            if word.is_header() && !word.is_none() {
                frames = Some(Frames { words: left, returns_to: word.word() });
                // SAFETY: as above.
                unsafe { *place = marker };
                break;
            }
            left -= 1;
        }
        // SAFETY: as the caller's.
        unsafe { bounds.each_in_run(place(mutator, words), words - left, shade) };
        (words - left, frames)
    }

    /// The first portion of a process, but for the roots that are no messages: what is small is looked at now, the rest
    /// is noted. Returns the words and messages looked at, and whether that was all.
    ///
    /// # Safety
    /// Nobody else uses the process meanwhile; its blocks consist of whole objects.
    pub(super) unsafe fn begin(
        &self,
        mutator: &mut Mutator,
        roots: &mut dyn RootSet,
        bounds: Bounds,
        shade: &mut dyn FnMut(NonNull<Word>),
    ) -> (usize, usize, bool) {
        let (small, few) =
            if self.small { (SMALL_RUN_STRESSED, FEW_MESSAGES_STRESSED) } else { (SMALL_RUN, FEW_MESSAGES) };
        // SAFETY: as the caller's; there is no marker yet.
        let (mut words, frames) = unsafe { self.look_at_stack(mutator, mutator.stack_words(), small, bounds, shade) };
        let mut messages = 0;
        let mut look = |message: &Fragment| {
            messages += 1;
            words += look_at_message(bounds, message, shade);
        };
        let has_many = roots.messages() > few;
        if has_many {
            roots.begin_messages(&mut look);
        } else {
            roots.each_message(&mut look);
        }
        let mut old_blocks = Vec::new();
        each_old_block(mutator, &mut |start, _| old_blocks.push(start as usize));
        let mut runs = Vec::new();
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
        let rest = Rest { runs, frames, messages: has_many };
        (words, messages, self.put(mutator, rest))
    }

    /// Notes what is left of a process; whether nothing is.
    fn put(&self, mutator: &mut Mutator, rest: Rest) -> bool {
        let done = rest.is_empty();
        if !done {
            self.lock().insert(address(mutator), rest);
        }
        State::of_mut(mutator).set_in_portions(!done);
        done
    }

    /// Looks at what was noted, as far as the budget goes. Returns the words looked at, and whether nothing is left.
    ///
    /// # Safety
    /// As for [`Portions::begin`], which was called in this cycle.
    pub(super) unsafe fn go_on(
        &self,
        mutator: &mut Mutator,
        roots: &mut dyn RootSet,
        bounds: Bounds,
        budget: &mut Budget,
        shade: &mut dyn FnMut(NonNull<Word>),
    ) -> (usize, bool) {
        let mut rest = self.lock().remove(&address(mutator)).unwrap_or_default();
        let mut words = 0;
        while let Some(frames) = rest.frames
            && !budget.is_spent()
        {
            let mut charged = 0;
            let mut shade = |object| {
                charged += POINTER_WORDS;
                shade(object);
            };
            let part = budget.0.clamp(1, if self.small { SMALL_RUN_STRESSED } else { SMALL_RUN });
            // SAFETY: the marker stands where it was placed, since the process has not returned to it.
            unsafe {
                *place(mutator, frames.words) = frames.returns_to;
                let looked_at;
                (looked_at, rest.frames) = self.look_at_stack(mutator, frames.words, part, bounds, &mut shade);
                words += looked_at;
                budget.spend(looked_at + charged);
            }
        }
        if rest.messages && !budget.is_spent() {
            rest.messages = !roots.some_messages(&mut |message| {
                let looked_at = look_at_message(bounds, message, shade);
                words += looked_at;
                budget.spend(looked_at + POINTER_WORDS);
                !budget.is_spent()
            });
        }
        let runs = &mut rest.runs;
        while let Some(run) = runs.last_mut()
            && !budget.is_spent()
        {
            // SAFETY: the run is there until it was looked at.
            words += unsafe { run.advance(bounds, budget, shade) };
            if run.at >= run.end {
                runs.pop();
            }
        }
        (words, self.put(mutator, rest))
    }

    /// Looks at runs to their ends, because they go away: those that `leaves` names by their first address, and by
    /// whether they are old.
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
        let Some(mut rest) = self.lock().remove(&mutator) else { return };
        rest.runs.retain_mut(|run| {
            if !leaves(run.start, run.old) {
                return true;
            }
            // SAFETY: as the caller's.
            unsafe { run.advance(bounds, &mut Budget::ALL.clone(), shade) };
            false
        });
        // Even if nothing is left, which the process's last portion finds out.
        self.lock().insert(mutator, rest);
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

/// The place on a stack that has so many words from there to the base.
fn place(mutator: &Mutator, words: usize) -> *mut Word {
    mutator.stack_base.wrapping_sub(words)
}

/// Reports what a message refers to in the area; gives its words.
pub(super) fn look_at_message(bounds: Bounds, message: &Fragment, shade: &mut dyn FnMut(NonNull<Word>)) -> usize {
    if let Some(object) = bounds.object(message.term()) {
        shade(object);
    }
    let used = message.used();
    // SAFETY: a message's fragment consists of whole objects.
    unsafe { bounds.each_in_objects(message.words(), used, shade) };
    used
}

/// What names a process here.
pub(super) fn address(mutator: &Mutator) -> usize {
    std::ptr::from_ref(mutator) as usize
}
