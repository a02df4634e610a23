//! Allocation buffers: runs of free lines. A process borrows its scheduler's buffer while it runs.

use std::ptr::NonNull;
use std::sync::atomic::Ordering;

use atoll_heap::{Mutator, counters};
use atoll_term::Word;

use super::space::{FEWEST_LINES, LINE_WORDS, Lines, SECTION_LINES};
use super::state::State;
use super::threads::Local;
use super::{Unified, limits, nursery};

/// An address that no heap has, for buffers without room: a null limit would mean a stack in the same block.
pub(super) const NOWHERE: *mut Word = NonNull::<Word>::dangling().as_ptr();

/// Lines of a buffer at most, where less is enough: a process works for the collector whenever it takes one.
pub(super) const BUFFER_LINES: usize = if cfg!(test) { 128 } else { 512 };
/// Lines at most of the first buffers that a thread takes after it had nothing to run. Many a thread wakes for a
/// moment, and what it leaves of a buffer when it sleeps is lost until the next sweep.
const FIRST_LINES: [usize; 2] = [16, 128];
/// Lines in a row that are taken out of a section of which a part is in use. More in a row are rare there.
const SPARSE_LINES: usize = 16;
/// Lines that a thread takes before it tells others: it may take few at a time.
const UNTOLD_LINES: usize = if cfg!(test) { 1 } else { 256 };

/// Takes the mutator's buffer away.
#[inline]
pub(super) fn clear(mutator: &mut Mutator) {
    mutator.top = NOWHERE;
    mutator.limit = NOWHERE;
    limits::count_from_here(mutator);
}

/// Whether the mutator has no buffer.
pub(super) fn is_clear(mutator: &Mutator) -> bool {
    mutator.top == NOWHERE && mutator.limit == NOWHERE
}

/// Lends the thread's buffer to the mutator.
#[inline]
pub(super) fn take(local: &mut Local, mutator: &mut Mutator) {
    mutator.top = std::mem::replace(&mut local.top, NOWHERE);
    mutator.limit = std::mem::replace(&mut local.limit, NOWHERE);
    limits::count_from_here(mutator);
}

/// Gives the mutator's buffer back to the thread.
#[inline]
pub(super) fn give_back(local: &mut Local, mutator: &mut Mutator) {
    limits::count(mutator);
    local.top = mutator.top;
    local.limit = mutator.limit;
    clear(mutator);
}

impl Unified {
    /// The thread takes nothing more out of where it takes lines from, and has no buffer.
    pub(super) fn leave_lines(&self, local: &mut Local) {
        local.top = NOWHERE;
        local.limit = NOWHERE;
        local.nursery.leave();
        self.tell_taken(local);
        if let Some(owned) = local.owned.take() {
            self.space.give_section(owned);
        }
    }

    /// Free lines for at least so many words, and more up to `most`. What is allocated in them belongs to the cycle of
    /// which the thread knows.
    pub(super) fn take_lines(&self, local: &mut Local, words: usize, most: usize) -> Lines {
        let least = words.div_ceil(LINE_WORDS).max(1);
        let lines = self.take_lines_now(local, least, most);
        self.has_taken(local, lines);
        lines
    }

    /// As [`Unified::take_lines`], so many out of a section that is free.
    pub(super) fn take_whole(&self, local: &mut Local, count: usize) -> Lines {
        let lines = self.space.take_whole(count, local.cycle);
        self.has_taken(local, lines);
        lines
    }

    fn has_taken(&self, local: &mut Local, lines: Lines) {
        local.untold += lines.count;
        if local.untold >= UNTOLD_LINES {
            self.tell_taken(local);
        }
        local.unpaid += lines.count * LINE_WORDS;
        if self.full.is_on() {
            local.unpaid_to_full += lines.count * LINE_WORDS;
        }
    }

    /// All threads hear what this one has taken.
    fn tell_taken(&self, local: &mut Local) {
        let lines = std::mem::take(&mut local.untold);
        if lines == 0 {
            return;
        }
        self.taken.fetch_add(lines, Ordering::Relaxed);
        // Until a cycle says how much of it lives.
        let words = (lines * LINE_WORDS) as i64;
        self.used.fetch_add(words, Ordering::Relaxed);
        counters::used_changed(words);
    }

    fn take_lines_now(&self, local: &mut Local, least: usize, most: usize) -> Lines {
        if least > SECTION_LINES / 2 {
            return self.space.take_large(least, local.cycle);
        }
        let mut whole = false;
        loop {
            let owned = local.owned.get_or_insert_with(|| self.space.take_section(whole));
            if let Some(lines) =
                self.space.take_lines(owned, least.max(FEWEST_LINES.min(most)), least.max(most), local.cycle)
            {
                return lines;
            }
            if let Some(owned) = local.owned.take() {
                self.space.give_section(owned);
            }
            whole = least > SPARSE_LINES;
        }
    }

    /// Gives a mutator that runs on this thread a buffer with so many free words, of so many lines at most if that is
    /// enough.
    pub(super) fn refill(&self, mutator: &mut Mutator, words: usize, lines: usize) {
        // A process with a small limit is not to pass it far before its heap is looked at.
        let limit = State::of(mutator).maximum_words();
        let most = if limit > 0 { lines.min(limit / (4 * LINE_WORDS)) } else { lines };
        self.with_local(|local| {
            let spare = if limit > 0 { None } else { local.nursery.take_spare(words) };
            let (start, end) = spare.unwrap_or_else(|| {
                let short = FIRST_LINES.get(local.buffers);
                local.buffers += usize::from(short.is_some());
                let lines = self.take_lines(local, words, short.map_or(most, |short| most.min(*short)));
                let start = self.space.line_start(lines.first);
                (start, start.wrapping_add(lines.count * LINE_WORDS))
            });
            if start != mutator.limit {
                limits::count(mutator);
                mutator.top = start;
                limits::count_from_here(mutator);
            }
            mutator.limit = end;
        });
    }

    /// Room for a built-in function, or for a process that does not run.
    #[cold]
    pub(super) fn allocate_more(&self, mutator: &mut Mutator, words: usize) -> NonNull<Word> {
        let place = if State::of(mutator).running {
            // A process that had no buffer has filled none.
            let is_first = is_clear(mutator);
            let has_more = self.refill_nursery(mutator, words) || is_first;
            let place = mutator.top;
            mutator.top = place.wrapping_add(words);
            if !has_more || State::of(mutator).maximum_words() > 0 {
                // The time slice ends soon, and the process collects its nursery, works for the collector or is
                // measured by its limit then.
                mutator.fragment_words += words;
            }
            place
        } else {
            // What is made here may refer to it.
            nursery::end(mutator);
            limits::count_more(mutator, words);
            self.with_local(|local| {
                // It ends where what is not its process's begins.
                local.nursery.end();
                let free = (local.limit as usize).saturating_sub(local.top as usize) / size_of::<Word>();
                if free < words {
                    let lines = self.take_lines(local, words, BUFFER_LINES);
                    local.top = self.space.line_start(lines.first);
                    local.limit = local.top.wrapping_add(lines.count * LINE_WORDS);
                }
                let place = local.top;
                local.top = place.wrapping_add(words);
                place
            })
        };
        NonNull::new(place).unwrap_or(NonNull::dangling())
    }
}
