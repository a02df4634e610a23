//! The memory of the heap: sections of 512 KB (Feeley 2001, section 3), divided into lines of 256 bytes. A byte for
//! each line says what is in it, and a bit for each word whether a live object begins there. Nothing is moved. Objects
//! lie in runs of lines; one that is longer than a section lies in several.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, MutexGuard};

use atoll_heap::immovable::NoAddresses;
use atoll_heap::{counters, out_of_memory};
use atoll_platform::addresses::Share;
use atoll_platform::{Reservation, ending, make_pages};
use atoll_term::{Term, WORD_BYTES, Word};

use super::bits::{GROUP, LineBytes, MarkBits, each_bit};
use super::full::FullMarks;
use super::mark::Marking;
use super::sections::{Place, Room, Section, Sections};

/// Words of a line.
pub(super) const LINE_WORDS: usize = 32;
/// Bytes of a line.
const LINE_BYTES: usize = LINE_WORDS * WORD_BYTES;
/// Lines of a section.
pub(super) const SECTION_LINES: usize = (512 << 10) / LINE_BYTES;
/// Words of a section.
pub(super) const SECTION_WORDS: usize = SECTION_LINES * LINE_WORDS;
/// Lines of a buffer at least: to take a buffer costs as much as to fill some lines.
pub(super) const FEWEST_LINES: usize = if cfg!(test) { 4 } else { 8 };
/// Sections of a heap of a fixed size at least, and those that are left before the world is stopped for more.
const FEWEST_SECTIONS: usize = 16;
const RESERVE: usize = 3;

/// Lines whose pages are made at once.
const PAGED_LINES: usize = (64 << 10) / LINE_BYTES;

/// Addresses reserved; halved until the plan of addresses and the system allow them.
const RESERVED_BYTES: usize = if cfg!(miri) { 16 << 20 } else { 128 << 30 };
/// See [`Share::reserve`]: 128 MB at least.
const HALVINGS: usize = if cfg!(miri) { 0 } else { 10 };

/// What the verifier puts into lines that nobody uses: no term, and no address that anything has.
pub(super) const POISON: Word = 0xdead_dead_dead_dead_u64 << 2;

/// What a line's byte says.
pub(super) mod line {
    /// Nothing lives in it.
    pub(in crate::unified) const FREE: u8 = 0;
    /// An object in it was found live, in this cycle or an earlier one.
    pub(in crate::unified) const MARKED: u8 = 1;

    /// It was handed out for allocation while processes ran for this cycle. The next cycle decides about it.
    pub(in crate::unified) fn of_cycle(cycle: u32) -> u8 {
        2 + (cycle & 1) as u8
    }
}

/// Lines in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lines {
    pub(super) first: usize,
    pub(super) count: usize,
}

/// A section that a thread takes lines from.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Owned {
    section: usize,
    /// The line from which on it looks for free ones.
    next: usize,
    /// The line up to which there are pages.
    paged: usize,
}

/// How what is dead is freed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sweep {
    /// The cycle that has marked all that lives.
    pub(super) cycle: u32,
    /// It takes over the marks of the full marking.
    pub(super) takes_over: bool,
    /// No thread takes lines from sections that it owned.
    pub(super) void: bool,
}

/// What a sweep has found in lines of all sections that it came to.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Swept {
    /// Lines with marked objects.
    pub(super) marked: usize,
    /// Lines in use that the next cycle decides about.
    pub(super) new: usize,
    /// Lines freed.
    pub(super) freed: usize,
    /// Lines that cannot be taken, because something is in them or too few are free in a row.
    pub(super) occupied: usize,
}

/// What a sweep has found in the lines of a section.
#[derive(Clone, Copy, Debug)]
struct SweptLines {
    marked: usize,
    new: usize,
    usable: Room,
}

/// The same in a group of lines, with a bit for each.
struct SweptGroup {
    free: u8,
    marked: u8,
    /// Those that were freed by this sweep.
    died: u8,
}

/// The heap's addresses, and what is in them.
#[derive(Debug)]
pub(super) struct Space {
    memory: Reservation,
    lines: LineBytes,
    pub(super) marks: MarkBits,
    pub(super) full: FullMarks,
    start: usize,
    bytes: usize,
    /// `--heap-size`: sections there may be at most, which keep their memory.
    fixed: Option<usize>,
    poisons: bool,
    sections: Mutex<Sections>,
}

impl Space {
    /// Addresses for the heap, of which it uses so many bytes at most if that is said. With `poisons`, lines are filled
    /// when they become free, so that what uses them is seen.
    ///
    /// # Errors
    /// The system gives no addresses.
    pub(super) fn new(poisons: bool, fixed: Option<usize>) -> Result<Space, NoAddresses> {
        let memory = Share::Heap.reserve(RESERVED_BYTES, HALVINGS).map_err(|refused| NoAddresses(refused.bytes))?;
        let bytes = memory.bytes() / (SECTION_WORDS * WORD_BYTES) * (SECTION_WORDS * WORD_BYTES);
        let (lines, marks, full) = (LineBytes::new(bytes)?, MarkBits::new(bytes)?, FullMarks::new(bytes)?);
        let start = memory.start().as_ptr() as usize;
        let sections = Mutex::new(Sections::default());
        let fixed = fixed.map(|bytes| (bytes / (SECTION_WORDS * WORD_BYTES)).max(FEWEST_SECTIONS));
        Ok(Space { memory, lines, marks, full, start, bytes, fixed, poisons, sections })
    }

    /// Lines of a heap of a fixed size.
    pub(super) fn fixed_lines(&self) -> Option<usize> {
        self.fixed.map(|sections| sections * SECTION_LINES)
    }

    /// Whether a heap of a fixed size may have too little room for so many lines, and for what is allocated where
    /// nobody can collect.
    pub(super) fn is_short(&self, lines: usize) -> bool {
        let Some(fixed) = self.fixed else { return false };
        let sections = self.sections();
        let whole = sections.free.len() + fixed.saturating_sub(sections.all.len());
        whole < RESERVE + lines.div_ceil(SECTION_LINES) && sections.partial() + whole <= RESERVE
    }

    fn sections(&self) -> MutexGuard<'_, Sections> {
        self.sections.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Number of the word of the heap that a pointer leads to; `None`: it leads elsewhere.
    #[inline(always)]
    pub(super) fn index(&self, place: *const Word) -> Option<usize> {
        let offset = (place as usize).wrapping_sub(self.start);
        (offset < self.bytes).then_some(offset / WORD_BYTES)
    }

    /// As [`Space::index`], of what a term points to.
    #[inline(always)]
    pub(super) fn index_of(&self, term: Term) -> Option<usize> {
        // Few words have such an address, whatever they are.
        self.index(term.pointer()).filter(|_| term.is_pointer())
    }

    /// The first word of a line.
    #[inline]
    pub(super) fn line_start(&self, line: usize) -> *mut Word {
        self.memory.start().as_ptr().wrapping_add(line * LINE_BYTES).cast()
    }

    /// The byte of a line.
    #[inline(always)]
    pub(super) fn line(&self, line: usize) -> &AtomicU8 {
        self.lines.of(line)
    }

    /// For the verifier: ends the run if the line of a word, which a pointer leads to, is free.
    #[inline(always)]
    pub(super) fn check_in_use(&self, index: usize) {
        if self.poisons && self.line(index / LINE_WORDS).load(Ordering::Relaxed) == line::FREE {
            super::verify::free_line(self.line_start(0).wrapping_add(index));
        }
    }

    /// For the verifier: ends the run if an object that begins in a line which is about to be freed is marked.
    fn check_unmarked(&self, line: usize) {
        self.check_no_marks(line, self.marks.of_line(line));
    }

    fn check_no_marks(&self, line: usize, marks: u32) {
        if marks != 0 {
            super::verify::free_line(self.line_start(line).wrapping_add(marks.trailing_zeros() as usize));
        }
    }

    /// The next free lines of an owned section, from a line on: at least `least`, at most `most`. They are the
    /// caller's, for objects of this cycle.
    pub(super) fn take_lines(&self, owned: &mut Owned, least: usize, most: usize, cycle: u32) -> Option<Lines> {
        let end = (owned.section + 1) * SECTION_LINES;
        let is_free = |line: &usize| self.line(*line).load(Ordering::Acquire) == line::FREE;
        while let Some(first) = (owned.next..end).find(is_free) {
            let count = (first..end.min(first + most)).take_while(is_free).count();
            owned.next = first + count;
            if count >= least {
                let lines = Lines { first, count };
                self.set_cycle(lines, cycle);
                self.make_pages(owned);
                return Some(lines);
            }
        }
        owned.next = end;
        None
    }

    /// Has the system make the pages of what a thread has taken, as many at once as take some microseconds: one by one,
    /// when they are touched, takes longer.
    fn make_pages(&self, owned: &mut Owned) {
        while owned.paged < owned.next {
            // Without such a system they are made when they are touched.
            let _ = make_pages(self.line_start(owned.paged).addr(), PAGED_LINES * LINE_BYTES);
            owned.paged += PAGED_LINES;
        }
    }

    fn set_cycle(&self, lines: Lines, cycle: u32) {
        for line in lines.first..lines.first + lines.count {
            self.line(line).store(line::of_cycle(cycle), Ordering::Release);
        }
        self.full.taken(lines, cycle);
    }

    /// A section for a thread to take lines from. With `whole`, all of its lines are free.
    pub(super) fn take_section(&self, whole: bool) -> Owned {
        let mut sections = self.sections();
        let known = if whole { sections.free.pop_first() } else { sections.take() };
        let section = known.unwrap_or_else(|| self.more(&mut sections, 1));
        let gets_memory = sections.all[section].give_to(Place::Owned);
        drop(sections);
        if gets_memory {
            self.touch_tables(section);
        }
        let next = section * SECTION_LINES;
        Owned { section, next, paged: if gets_memory { next } else { next + SECTION_LINES } }
    }

    /// A section gets memory, and its marks do. Else those who mark would wait for that, a page at a time: of what is
    /// scattered over the heap, as a list of which a cell is built now and then, thousands of pages in a row.
    fn touch_tables(&self, section: usize) {
        self.marks.touch_section(section);
        self.full.touch_section(section);
    }

    /// A thread takes no more lines from a section.
    pub(super) fn give_section(&self, owned: Owned) {
        let mut sections = self.sections();
        let is_free = |line: usize| self.line(line).load(Ordering::Acquire) == line::FREE;
        let has_more = (owned.next..(owned.section + 1) * SECTION_LINES).any(is_free);
        sections.give(owned.section, has_more);
    }

    /// The first lines of a section that is free, for objects of this cycle.
    pub(super) fn take_whole(&self, count: usize, cycle: u32) -> Lines {
        loop {
            let mut owned = self.take_section(true);
            let lines = self.take_lines(&mut owned, count, count, cycle);
            self.give_section(owned);
            if let Some(lines) = lines {
                return lines;
            }
        }
    }

    /// Lines for objects of this cycle that take at least half of a section.
    pub(super) fn take_large(&self, count: usize, cycle: u32) -> Lines {
        let wanted = count.div_ceil(SECTION_LINES);
        let mut sections = self.sections();
        let mut run = 0;
        let mut last = None;
        let found = sections.free.iter().copied().find(|number| {
            run = if last == Some(number.wrapping_sub(1)) { run + 1 } else { 1 };
            last = Some(*number);
            run == wanted
        });
        let first = match found {
            Some(last) => last + 1 - wanted,
            None => self.more(&mut sections, wanted),
        };
        for number in first..first + wanted {
            sections.free.remove(&number);
            sections.all[number].give_to(Place::Full);
        }
        drop(sections);
        (first..first + wanted).for_each(|number| self.touch_tables(number));
        let lines = Lines { first: first * SECTION_LINES, count };
        self.set_cycle(lines, cycle);
        lines
    }

    /// Sections that were never used: the number of the first.
    fn more(&self, sections: &mut Sections, count: usize) -> usize {
        let first = sections.all.len();
        let end = (first + count) * SECTION_WORDS * WORD_BYTES;
        if let Some(fixed) = self.fixed.filter(|fixed| first + count > *fixed) {
            let bytes = fixed * SECTION_WORDS * WORD_BYTES;
            ending::crash(&format!("atoll: the heap is full: {bytes} bytes (--heap-size)"));
        }
        if end > self.bytes {
            out_of_memory(end);
        }
        sections.all.extend((0..count).map(|_| Section::NEW));
        first
    }

    /// Number of sections that were ever used.
    pub(super) fn extent(&self) -> usize {
        self.sections().all.len()
    }

    /// Number of sections with memory.
    pub(super) fn backed(&self) -> usize {
        self.sections().all.iter().filter(|section| section.backed).count()
    }

    /// Before a collection in a stopped world: forgets all marks. Objects of the heap belong to `cycle` afterwards.
    pub(super) fn forget_marks(&self, cycle: u32) {
        let mut sections = self.sections();
        sections.all.iter_mut().for_each(|section| section.is_young = true);
        for number in 0..sections.all.len() {
            for line in number * SECTION_LINES..(number + 1) * SECTION_LINES {
                let byte = self.line(line);
                if byte.load(Ordering::Relaxed) != line::FREE {
                    byte.store(line::of_cycle(cycle), Ordering::Relaxed);
                }
            }
            self.marks.clear_section(number);
        }
    }

    /// After a cycle has marked all that lives: frees lines of the cycle before, in some sections from `from` on. Where
    /// to go on. One thread at a time does this; others take lines meanwhile, and do not wait for it.
    pub(super) fn sweep(&self, from: usize, most: usize, sweep: Sweep, found: &mut Swept) -> Option<usize> {
        let mut sections = self.sections();
        let mut number = from;
        let mut swept = 0;
        while let Some(section) = sections.all.get(number) {
            if swept == most {
                return Some(number);
            }
            if section.place != Place::Free && (section.is_young || sweep.takes_over) {
                swept += 1;
                let turns = section.turns;
                drop(sections);
                let lines = self.sweep_section(number, sweep, found);
                sections = self.sections();
                self.note(&mut sections, number, lines, turns, sweep.void);
            }
            if sweep.takes_over {
                self.full.clear_section(number);
            }
            let section = &sections.all[number];
            if section.place != Place::Free {
                found.marked += section.marked;
                found.occupied += SECTION_LINES - section.takeable();
            }
            number += 1;
        }
        None
    }

    /// Gives the lines of a section with marked objects, those that the next cycle decides about, and those that are
    /// free as far as enough lie in a row.
    fn sweep_section(&self, number: usize, sweep: Sweep, found: &mut Swept) -> SweptLines {
        let (mut free, mut marked, mut died, mut row) = (0, 0, 0, 0);
        let mut usable = Room::default();
        for group in number * SECTION_LINES / GROUP..(number + 1) * SECTION_LINES / GROUP {
            let lines = self.sweep_group(group, sweep);
            usable.add_group(&mut row, lines.free);
            free += lines.free.count_ones() as usize;
            marked += lines.marked.count_ones() as usize;
            died += lines.died.count_ones() as usize;
        }
        let new = SECTION_LINES - free - marked;
        found.new += new;
        found.freed += died;
        SweptLines { marked, new, usable }
    }

    /// A section was swept. If a thread has taken it meanwhile, what was found is not true any more.
    fn note(&self, sections: &mut Sections, number: usize, lines: SweptLines, turns: usize, void: bool) {
        let section = &mut sections.all[number];
        let is_owned = section.place == Place::Owned;
        section.marked = lines.marked;
        if section.turns == turns {
            section.usable = lines.usable;
            section.is_young = lines.new > 0 || is_owned;
            sections.place(number, void);
        }
    }

    /// Sweeps a group of lines.
    #[inline]
    fn sweep_group(&self, group: usize, sweep: Sweep) -> SweptGroup {
        let bytes = self.lines.group(group);
        let mut died = bytes.that_say(line::of_cycle(sweep.cycle.wrapping_sub(1)));
        let mut marked = bytes.that_say(line::MARKED);
        if sweep.takes_over && marked != 0 {
            if marked == u8::MAX && !self.poisons && self.full.all_live(group) {
                self.full.copy_group(group, &self.marks);
            } else {
                let dead = each_bit(marked).filter(|bit| !self.take_over(group * GROUP + bit));
                let dead = dead.fold(0, |dead, bit| dead | 1 << bit);
                marked &= !dead;
                died |= dead;
            }
        }
        if died == u8::MAX && !self.poisons {
            self.lines.set_group(group, line::FREE, Ordering::Release);
        } else {
            each_bit(died).for_each(|bit| self.free_line(group * GROUP + bit));
        }
        SweptGroup { free: bytes.that_say(line::FREE) | died, marked, died }
    }

    /// For the verifier: nothing lives in a run of words.
    ///
    /// # Safety
    /// The caller alone uses them.
    pub(super) unsafe fn poison(&self, start: *mut Word, words: usize) {
        if self.poisons {
            // SAFETY: the caller's obligation.
            unsafe { std::slice::from_raw_parts_mut(start, words).fill(POISON) };
        }
    }

    fn free_line(&self, line: usize) {
        if self.poisons {
            self.check_unmarked(line);
            // SAFETY: nothing lives in the line, and nobody takes it before its byte says so.
            unsafe { std::slice::from_raw_parts_mut(self.line_start(line), LINE_WORDS).fill(POISON) };
        }
        self.line(line).store(line::FREE, Ordering::Release);
    }

    /// The marks of a line that the cycle has found live become those of the full marking. Whether anything lives in
    /// it.
    fn take_over(&self, line: usize) -> bool {
        let marks = self.full.of_line(line, &self.marks);
        if self.poisons {
            self.check_no_marks(line, marks & !self.marks.of_line(line));
        }
        self.marks.set_line(line, marks);
        self.full.is_live(line)
    }

    /// Gives the memory of free sections back, of `most` at most, until `keep` of them have some: those with the lowest
    /// addresses, which are taken first.
    pub(super) fn give_back(&self, keep: usize, most: usize) {
        if self.fixed.is_some() {
            return;
        }
        let sections = self.sections();
        let backed: Vec<usize> = sections.free.iter().copied().filter(|number| sections.all[*number].backed).collect();
        drop(sections);
        for number in backed.into_iter().skip(keep).take(most) {
            // Nobody takes the section meanwhile, nor waits for the system.
            if !self.sections().free.remove(&number) {
                continue;
            }
            let bytes = SECTION_WORDS * WORD_BYTES;
            // SAFETY: nothing lives in a free section, and nobody finds it.
            unsafe { self.memory.discard(number * bytes, bytes) };
            let mut sections = self.sections();
            sections.all[number].backed = false;
            sections.free.insert(number);
            counters::heap_changed(-(SECTION_WORDS as i64));
        }
    }

    /// Visits runs of lines in use: first words, words.
    pub(super) fn each_run(&self, visit: &mut dyn FnMut(*mut Word, usize)) {
        let end = self.extent() * SECTION_LINES;
        let in_use = |line: &usize| self.line(*line).load(Ordering::Acquire) != line::FREE;
        let mut at = 0;
        while let Some(first) = (at..end).find(|line| in_use(line)) {
            let count = (first..end).take_while(in_use).count();
            visit(self.line_start(first), count * LINE_WORDS);
            at = first + count;
        }
    }
}

impl Marking for Space {
    #[inline(always)]
    fn space(&self) -> &Space {
        self
    }

    #[inline(always)]
    fn mark(&self, index: usize) -> bool {
        self.marks.mark(index)
    }

    #[inline(always)]
    fn keep_lines(&self, index: usize, words: usize) {
        for line in index / LINE_WORDS..=(index + words - 1) / LINE_WORDS {
            let byte = self.line(line);
            if byte.load(Ordering::Relaxed) != line::MARKED {
                byte.store(line::MARKED, Ordering::Relaxed);
            }
        }
    }
}

#[cfg(test)]
mod tests;
