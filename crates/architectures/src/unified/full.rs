//! The full marking, which finds what is dead among old objects. It goes on beside cycles that keep marks, as long as
//! it takes, because it has marks of its own.
//!
//! The cycle that begins it looks for all roots, and greys what it finds for itself and for the full marking. What is
//! reachable then is what the full marking will mark: objects do not change. It is also what the cycle itself will
//! find live, and no later cycle frees that, so grey objects stay whole. Lines that are taken from then on
//! (`line::NEW`) are the cycles' business alone; nothing older refers into them. When all is marked, the next sweep
//! takes over the marks of all other lines, and frees what has none.

use std::mem::take;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicUsize, Ordering};

use atoll_heap::immovable::NoAddresses;
use atoll_heap::settings;
use atoll_platform::clock::monotonic;
use atoll_term::{Term, Word};

use super::Unified;
use super::bits::{LineBytes, MarkBits};
use super::cycle::WORDS;
use super::epoch::{Epoch, Phase, is_since};
use super::mark::{Grey, Greys, Marking};
use super::space::{LINE_WORDS, Lines, Space};
use super::threads::local;
use super::work::begins;

/// What a line's byte says of the full marking.
mod line {
    /// A marked object is in it.
    pub(super) const LIVE: u8 = 1;
    /// It was taken after the roots were found.
    pub(super) const NEW: u8 = 2;
}

/// No full marking is on.
const NEVER: u32 = u32::MAX;

/// Beside what is in use, this part of it and [`MORE_LINES`] may become old while a full marking is on.
const PART_MORE: usize = 4;
/// This part of what is in use may be taken while a cycle is on, and one more of what is beyond a medium-sized heap.
const PART_TAKEN: usize = 12;
const PART_TAKEN_OF_LARGE: usize = 4;
const LARGE_LINES: usize = (128 << 20) / (LINE_WORDS * 8);
/// A full marking that others help with has to be late by so many times what is in use beyond a medium-sized heap
/// before processes are kept for it; without help, by half of that.
const LATE_WITH_HELP: usize = 4;
const MORE_LINES: usize = if cfg!(test) { 1 << 8 } else { (16 << 20) / (LINE_WORDS * 8) };
/// Lines that may be taken while a cycle is on, and again while one takes the marks over, before threads that allocate
/// work for it at each buffer, if so many are in use.
pub(super) fn overdraft(occupied: usize) -> usize {
    occupied / PART_TAKEN + occupied.saturating_sub(LARGE_LINES) / PART_TAKEN_OF_LARGE
}

/// Words marked in one step: a thread hears of phases between two of them, and what is old is seldom in the caches.
const STEP: usize = WORDS / 8;
/// Words marked at most for each word allocated: a process that allocates little, and wakes up now and then, is not to
/// be kept for what others do. It is more than is needed where all that is allocated becomes old.
const MARKED_PER_WORD: usize = 16;
/// After so many cycles a full marking has ended, even if nothing becomes old.
const CYCLES: usize = if cfg!(test) { 64 } else { 1024 };

/// The marks of the full marking.
#[derive(Debug)]
pub(super) struct FullMarks {
    bits: MarkBits,
    lines: LineBytes,
    /// The cycle that began it. Lines taken for this cycle or later ones are new.
    since: AtomicU32,
}

impl FullMarks {
    /// For a heap of so many bytes.
    ///
    /// # Errors
    /// The system gives no addresses.
    pub(super) fn new(heap_bytes: usize) -> Result<FullMarks, NoAddresses> {
        let (bits, lines) = (MarkBits::new(heap_bytes)?, LineBytes::new(heap_bytes)?);
        Ok(FullMarks { bits, lines, since: AtomicU32::new(NEVER) })
    }

    /// Lines were taken for a cycle.
    pub(super) fn taken(&self, lines: Lines, cycle: u32) {
        let since = self.since.load(Ordering::Relaxed);
        if since != NEVER && is_since(cycle, since) {
            for line in lines.first..lines.first + lines.count {
                self.lines.of(line).store(line::NEW, Ordering::Relaxed);
            }
        }
    }

    /// Whether the cycles alone know what lives in a line.
    fn is_new(&self, line: usize) -> bool {
        self.lines.of(line).load(Ordering::Relaxed) == line::NEW
    }

    /// Whether all lines of a group hold marked objects, and none is new.
    pub(super) fn all_live(&self, group: usize) -> bool {
        self.lines.are_all(group, line::LIVE)
    }

    /// The marks of a group of lines of which none is new become those of the cycles.
    pub(super) fn copy_group(&self, group: usize, marks: &MarkBits) {
        marks.copy_group(&self.bits, group);
    }

    /// The marks of a line that a cycle has found live, after all has been marked.
    pub(super) fn of_line(&self, line: usize, marks: &MarkBits) -> u32 {
        if self.is_new(line) { marks.of_line(line) } else { self.bits.of_line(line) }
    }

    /// Whether anything lives in a line that a cycle has found live, after all has been marked.
    pub(super) fn is_live(&self, line: usize) -> bool {
        self.lines.of(line).load(Ordering::Relaxed) != 0
    }

    /// Whether an object lives, after all has been marked here and by the cycle.
    fn keeps(&self, index: usize, marks: &MarkBits) -> bool {
        if self.is_new(index / LINE_WORDS) { marks.is_marked(index) } else { self.bits.is_marked(index) }
    }

    /// As [`MarkBits::touch_section`].
    pub(super) fn touch_section(&self, section: usize) {
        self.bits.touch_section(section);
        self.lines.touch_section(section);
    }

    /// Forgets the marks of a section.
    pub(super) fn clear_section(&self, section: usize) {
        self.bits.clear_section(section);
        self.lines.clear_section(section);
    }
}

/// The heap, for the full marking.
struct InFull<'a>(&'a Space);

impl Marking for InFull<'_> {
    #[inline(always)]
    fn space(&self) -> &Space {
        self.0
    }

    #[inline(always)]
    fn mark(&self, index: usize) -> bool {
        self.0.full.bits.mark(index)
    }

    #[inline(always)]
    fn keep_lines(&self, index: usize, words: usize) {
        for line in index / LINE_WORDS..=(index + words - 1) / LINE_WORDS {
            let byte = self.0.full.lines.of(line);
            if byte.load(Ordering::Relaxed) == 0 {
                byte.store(line::LIVE, Ordering::Relaxed);
            }
        }
    }
}

/// Whether a full marking is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum State {
    Off,
    On,
    /// All is marked: the next cycle that sweeps takes the marks over.
    Marked,
}

/// How far the full marking is.
#[derive(Debug)]
pub(super) struct Full {
    state: AtomicU8,
    pub(super) greys: Greys,
    /// Words that were marked, and those that were to be marked by now.
    done: AtomicUsize,
    owed: AtomicUsize,
    /// More has become old than was expected; so much more that rests are short.
    is_late: AtomicBool,
    is_far_behind: AtomicBool,
    /// Schedulers without processes have marked some.
    is_helped: AtomicBool,
}

impl Full {
    pub(super) fn new() -> Full {
        Full {
            state: AtomicU8::new(State::Off as u8),
            greys: Greys::default(),
            done: AtomicUsize::new(0),
            owed: AtomicUsize::new(0),
            is_late: AtomicBool::new(false),
            is_far_behind: AtomicBool::new(false),
            is_helped: AtomicBool::new(false),
        }
    }

    fn is(&self, state: State) -> bool {
        self.state.load(Ordering::Relaxed) == state as u8
    }

    fn set(&self, state: State) {
        self.state.store(state as u8, Ordering::Relaxed);
    }

    /// Whether there is something to mark, as far as is known.
    pub(super) fn is_on(&self) -> bool {
        self.is(State::On)
    }

    /// A scheduler without processes has marked some.
    pub(super) fn note_help(&self) {
        self.is_helped.store(true, Ordering::Relaxed);
    }

    /// Whether more has become old than was expected.
    pub(super) fn is_late(&self) -> bool {
        self.is_on() && self.is_late.load(Ordering::Relaxed)
    }

    /// Whether a cycle is wanted that takes the marks over.
    pub(super) fn is_marked(&self) -> bool {
        self.is(State::Marked)
    }

    /// Whether another one may begin.
    pub(super) fn is_off(&self) -> bool {
        self.is(State::Off)
    }
}

/// What the thread that drives cycles knows of the full marking that is on.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pace {
    /// Lines that could not be taken when it began.
    occupied: usize,
    /// Lines that may be taken away meanwhile.
    more: usize,
    /// Cycles since.
    cycles: usize,
}

impl Pace {
    /// Lines that could not be taken when the full marking began.
    pub(super) fn occupied(self) -> usize {
        self.occupied
    }
}

impl Unified {
    /// The cycle that is about to begin begins a full marking too.
    pub(super) fn begin_full(&self, cycle: u32, occupied: usize) -> Pace {
        self.full.done.store(0, Ordering::Relaxed);
        self.full.owed.store(0, Ordering::Relaxed);
        self.full.is_late.store(false, Ordering::Relaxed);
        self.full.is_far_behind.store(false, Ordering::Relaxed);
        self.full.is_helped.store(false, Ordering::Relaxed);
        self.full.set(State::On);
        self.space.full.since.store(cycle, Ordering::Relaxed);
        let left = self.space.fixed_lines().map_or(usize::MAX, |lines| lines.saturating_sub(occupied) / 4);
        Pace { occupied, more: left.min(occupied / PART_MORE + MORE_LINES).max(1), cycles: 0 }
    }

    /// A cycle has ended while a full marking is on, and so many lines cannot be taken: says what is to be marked by
    /// now.
    pub(super) fn keep_pace(&self, pace: &mut Pace, occupied: usize) {
        pace.cycles += 1;
        let all = pace.occupied * LINE_WORDS;
        let for_growth = all as u128 * occupied.saturating_sub(pace.occupied) as u128 / pace.more as u128;
        let owed = (all * pace.cycles / CYCLES).max(usize::try_from(for_growth).unwrap_or(usize::MAX));
        self.full.owed.fetch_max(owed, Ordering::Relaxed);
        let late = pace.occupied + 2 * pace.more;
        self.full.is_late.store(occupied > late, Ordering::Relaxed);
        let large = pace.occupied.saturating_sub(LARGE_LINES);
        // Those who help go on meanwhile.
        let is_helped = self.full.is_helped.load(Ordering::Relaxed);
        let far_behind = late + if is_helped { LATE_WITH_HELP * large } else { large / 2 };
        self.full.is_far_behind.store(occupied > far_behind, Ordering::Relaxed);
    }

    /// Marks some; the words. `None`: there is nothing to do, but for what other threads do.
    pub(super) fn step_full(&self) -> Option<usize> {
        if !self.full.is_on() {
            return None;
        }
        let Ok(_at_work) = self.at_work.try_read() else { return None };
        // SAFETY: what is grey are whole objects, which are not freed before the marks are taken over.
        let words = unsafe { self.full.greys.mark(&InFull(&self.space), STEP) };
        self.full.done.fetch_add(words, Ordering::Relaxed);
        if words > 0 {
            return Some(words);
        }
        // Nobody begins or ends one meanwhile.
        if let Ok(_driver) = self.driver.try_lock()
            && self.full.is_on()
            && self.epoch().is_after(Epoch::new(self.space.full.since.load(Ordering::Relaxed), Phase::Mark))
        {
            self.see_whether_all_is_marked();
        }
        None
    }

    /// Words that the full marking that is on has marked.
    #[cfg(test)]
    pub(crate) fn marked_in_full(&self) -> Option<usize> {
        self.full.is_on().then(|| self.full.done.load(Ordering::Relaxed))
    }

    /// Has everything owed to the full marking at once, and nothing for what this thread has taken. Whether one is on.
    #[cfg(test)]
    pub(crate) fn fall_behind(&self) -> bool {
        self.full.owed.store(usize::MAX, Ordering::Relaxed);
        self.full.is_far_behind.store(false, Ordering::Relaxed);
        local(&self.threads, |local| local.unpaid_to_full = 0);
        self.full.is_on()
    }

    /// All roots have been found: whether nothing is grey any more.
    fn see_whether_all_is_marked(&self) {
        if self.full.is_on() && self.full.greys.is_done() {
            self.full.set(State::Marked);
        }
    }

    /// A thread that allocates marks what is to be marked by now, but for no longer than a thread may be kept, and no
    /// more than two fifths of its time, or four ninths if the full marking is far behind.
    pub(super) fn pay_full(&self) {
        let full = &self.full;
        let owes = || full.is_on() && full.done.load(Ordering::Relaxed) < full.owed.load(Ordering::Relaxed);
        if !owes() {
            return;
        }
        let started = begins();
        let is_far_behind = full.is_far_behind.load(Ordering::Relaxed);
        let words = local(&self.threads, |local| match local.rests_until {
            _ if is_far_behind => {
                let works = self.works_behind(started, local.rests_behind_until, &mut local.unpaid_to_full);
                if works { usize::MAX } else { 0 }
            }
            until if started < until => 0,
            _ => take(&mut local.unpaid_to_full) * MARKED_PER_WORD,
        });
        if words == 0 {
            return;
        }
        let most = settings().max_pause.as_nanos() as i64 / 4;
        let mut done = 0;
        while done < words && owes() && monotonic() - started < most {
            let Some(step) = self.step_full() else { break };
            done += step;
        }
        local(&self.threads, |local| local.paid_full = true);
        self.rest(started, 0);
    }

    /// All that the cycle finds live is marked, and the caller drives it: whether its sweep takes over the marks of the
    /// full marking. No lines are new any more then.
    pub(super) fn takes_over_full(&self) -> bool {
        self.see_whether_all_is_marked();
        let takes_over = self.full.is_marked();
        if takes_over {
            self.space.full.since.store(NEVER, Ordering::Relaxed);
        }
        takes_over
    }

    /// The marks have been taken over.
    pub(super) fn end_full(&self) {
        self.full.set(State::Off);
    }

    /// A stopped world gives the full marking up, while nobody works for it.
    pub(super) fn give_up_full(&self) {
        if !self.full.is_off() {
            self.full.greys.clear();
            self.space.full.since.store(NEVER, Ordering::Relaxed);
            (0..self.space.extent()).for_each(|section| self.space.full.clear_section(section));
            self.full.set(State::Off);
        }
    }
}

impl Space {
    /// Whether an object is live, after all has been marked; `taken_over`: for the full marking as well.
    pub(super) fn is_live(&self, index: usize, taken_over: bool) -> bool {
        if taken_over { self.full.keeps(index, &self.marks) } else { self.marks.is_marked(index) }
    }
}

/// Grey objects of the cycle and, if it begins a full marking, of that.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) cycle: Grey,
    full: Option<Grey>,
}

impl Found {
    /// `full`: of a full marking too.
    pub(super) fn new(full: bool) -> Found {
        Found { cycle: Grey::default(), full: full.then(Grey::default) }
    }

    #[inline(always)]
    pub(super) fn shade(&mut self, space: &Space, term: Term) {
        self.cycle.shade(space, term);
        if let Some(full) = &mut self.full {
            full.shade(&InFull(space), term);
        }
    }

    /// As [`Found::shade`] for each word of a run.
    ///
    /// # Safety
    /// The run is readable.
    pub(super) unsafe fn shade_run(&mut self, space: &Space, start: *const Word, words: usize) {
        // SAFETY: the caller vouches for the run.
        unsafe {
            self.cycle.shade_run(space, start, words);
            if let Some(full) = &mut self.full {
                full.shade_run(&InFull(space), start, words);
            }
        }
    }

    /// Puts what is grey where all threads find it.
    pub(super) fn give(&mut self, greys: &Greys, full_greys: &Greys) {
        greys.give(&mut self.cycle);
        if let Some(full) = &mut self.full {
            full_greys.give(full);
        }
    }
}
