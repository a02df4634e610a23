//! The nursery: what a process has allocated in its last buffers while it showed nothing to others. Nobody but the
//! process refers into it, so the process collects it alone, while all others run: what lives is copied elsewhere, and
//! the buffers are used again from where the nursery began in them. What the process shows to others (`send.rs`) needs
//! no copy; the nursery ends with it, and its objects stay where they are, as they do when a cycle begins or another
//! process gets the buffer. The collector of Doligez and Leroy (1993) has such a heap for each thread, and copies what
//! is shown.
//!
//! Objects outside of the nursery do not refer into it, because they are older or belong to others, and a process is
//! collected where its objects are complete.

use std::ptr::{NonNull, null, null_mut};

use atoll_heap::{
    Mutator, OFF_HEAP_BYTES_AT_LEAST, RootSet, counters, join_off_heap, link_off_heap, next_off_heap, off_heap_bytes,
};
use atoll_term::{Header, Term, Word, release_off_heap_part};

use super::buffer::{BUFFER_LINES, NOWHERE};
use super::space::{FEWEST_LINES, LINE_WORDS, SECTION_LINES};
use super::state::State;
use super::threads::Local;
use super::{Unified, limits};
use crate::common::blocks::words_between;
use crate::common::cheney::{copy_words, scan_word};
use crate::common::report::{Report, clock};

/// Lines of a nursery. More would not fit the second cache; of less, more survives.
const NURSERY_LINES: usize = if cfg!(test) { 128 } else { SECTION_LINES };
const NURSERY_WORDS: usize = NURSERY_LINES * LINE_WORDS;
/// Words of a nursery at most: one buffer more, which a built-in function has taken.
const MOST_WORDS: usize = NURSERY_WORDS + BUFFER_LINES * LINE_WORDS;
/// Buffers of a nursery before its last one, at most: each makes it slower to tell what lies in it.
const MOST_EARLIER: usize = 7;
/// Words of a nursery from which on it is worth a collection.
const WORTH_COLLECTING: usize = NURSERY_WORDS / 8;
/// Words of a stack and other roots up to which a nursery is collected: they are looked at each time.
const MOST_ROOTS: usize = 1 << 14;
/// Lines that are taken at once for what survives.
const SURVIVORS_LINES: usize = 64;
/// Nurseries in a row that are not collected after much of one has survived.
const MOST_SKIPPED: u32 = 15;

/// A part of a nursery in one buffer.
#[derive(Clone, Copy, Debug)]
struct Part {
    /// Its first word, the one behind it, and the one behind its buffer.
    start: *mut Word,
    end: *mut Word,
    limit: *mut Word,
}

impl Part {
    fn words(&self) -> usize {
        words_between(self.start, self.end)
    }

    /// Words that are free in it when nothing lives there.
    fn room(&self) -> usize {
        words_between(self.start, self.limit)
    }

    #[inline(always)]
    fn contains(&self, place: *const Word) -> bool {
        (place as usize).wrapping_sub(self.start as usize) < (self.end as usize).wrapping_sub(self.start as usize)
    }
}

/// Addresses modulo 64 granules, with a bit for each granule in which something lies. Most words that are looked at
/// refer elsewhere, and need no look at each part then.
#[derive(Clone, Copy, Debug)]
struct Granules(u64);

/// Bytes of a granule. A nursery has six to ten of them.
const GRANULE_BYTES: usize = 128 << 10;

impl Granules {
    fn of<'p>(parts: impl Iterator<Item = &'p Part>) -> Granules {
        let all = parts.filter(|part| part.words() > 0).flat_map(|part| {
            (part.start as usize / GRANULE_BYTES)..=((part.end as usize - size_of::<Word>()) / GRANULE_BYTES)
        });
        Granules(all.fold(0, |bits, granule| bits | 1 << (granule % 64)))
    }

    #[inline(always)]
    fn may_contain(self, place: *const Word) -> bool {
        self.0 >> (place as usize / GRANULE_BYTES % 64) & 1 == 1
    }
}

/// What a thread keeps of the nursery in its buffer.
#[derive(Debug)]
pub(super) struct Nursery {
    /// The process whose nursery it is; null: there is none.
    owner: *const Mutator,
    /// Its first word in that buffer. It ends at the heap top of its process.
    from: *mut Word,
    /// The parts of it that lie in earlier buffers.
    earlier: Vec<Part>,
    /// Buffers that nothing lies in, left by a collection, but for short ones.
    spares: Vec<Part>,
    /// Free words for what survives: the first, and the one behind them.
    top: *mut Word,
    limit: *mut Word,
    /// Nurseries that will not be collected, because much of the last one has survived, and as many as that were.
    skips: u32,
    skipped: u32,
}

impl Nursery {
    pub(super) const fn new() -> Nursery {
        Nursery {
            owner: null(),
            from: NOWHERE,
            earlier: Vec::new(),
            spares: Vec::new(),
            top: NOWHERE,
            limit: NOWHERE,
            skips: 0,
            skipped: 0,
        }
    }

    /// It begins there.
    fn begin(&mut self, owner: *const Mutator, from: *mut Word) {
        self.owner = owner;
        self.from = from;
        self.earlier.clear();
    }

    /// A buffer that was left, with so many free words.
    pub(super) fn take_spare(&mut self, words: usize) -> Option<(*mut Word, *mut Word)> {
        let last = self.spares.pop_if(|spare| spare.room() >= words)?;
        Some((last.start, last.limit))
    }

    /// Its words, up to a heap top.
    fn words(&self, top: *mut Word) -> usize {
        words_between(self.from, top) + self.earlier.iter().map(Part::words).sum::<usize>()
    }

    /// Ends the process's buffer where the nursery has so many words, if that leaves so many free. What was behind is a
    /// spare buffer.
    fn cut(&mut self, mutator: &mut Mutator, most: usize, free: usize) {
        let behind = self.words(mutator.limit).saturating_sub(most).min(mutator.free_words().saturating_sub(free));
        let words = behind / LINE_WORDS * LINE_WORDS;
        if words == 0 {
            return;
        }
        let limit = mutator.limit;
        let start = limit.wrapping_sub(words);
        mutator.limit = start;
        self.add_spare(Part { start, end: start, limit });
    }

    /// Nothing lies in a part any longer.
    fn add_spare(&mut self, part: Part) {
        if part.room() >= FEWEST_LINES * LINE_WORDS {
            self.spares.push(part);
        }
    }

    /// There is none in the thread's buffer any longer.
    pub(super) fn end(&mut self) {
        self.owner = null();
    }

    /// The thread leaves its lines.
    pub(super) fn leave(&mut self) {
        self.end();
        self.spares.clear();
        self.top = NOWHERE;
        self.limit = NOWHERE;
    }

    /// So many words of so many have survived.
    fn has_left(&mut self, survived: usize, words: usize) {
        self.skipped = if survived > words / 2 { (2 * self.skipped + 1).min(MOST_SKIPPED) } else { 0 };
        self.skips = self.skipped;
    }
}

/// A process has shown others something, or something was allocated for it elsewhere: its nursery is one no longer.
#[inline(always)]
pub(super) fn end(mutator: &mut Mutator) {
    State::of_mut(mutator).nursery_of = None;
}

/// Whether the process has the nursery of this thread.
#[inline]
fn is_of(local: &Local, mutator: &Mutator) -> bool {
    let has_one = State::of(mutator).nursery_of.is_some_and(|thread| local.number == Some(thread));
    has_one && local.nursery.owner == std::ptr::from_ref(mutator)
}

/// What becomes of a nursery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    /// There is none, or it is given up.
    Ends,
    /// It may have so many lines more.
    GoesOn(usize),
    /// It is to be collected.
    Full,
    /// Its buffers were too short.
    Scattered,
}

impl Unified {
    /// A process that collects gets room for so many words, out of its nursery if it has one. All of its objects are
    /// complete. What allocates in built-in functions alone, as a loop that builds a map does, is never short of room
    /// here, for these have taken another buffer (`has_extended`): its nursery is looked at all the same.
    pub(super) fn make_room(
        &self,
        mutator: &mut Mutator,
        words: usize,
        has_extended: bool,
        live: &mut [Term],
        roots: &mut dyn RootSet,
    ) {
        let is_short = mutator.free_words() < words;
        let has_binaries = mutator.off_heap_bytes >= OFF_HEAP_BYTES_AT_LEAST;
        let collects_always = has_binaries || self.base.settings.is_stressed();
        if !is_short && !collects_always && !has_extended {
            return;
        }
        match self.next(mutator, words, collects_always) {
            Next::GoesOn(_) | Next::Scattered if !is_short => return,
            Next::GoesOn(lines) => {
                self.extend_nursery(mutator, words, lines);
                return;
            }
            Next::Ends => end(mutator),
            Next::Full if self.is_small(mutator, roots) => {
                // SAFETY: the process is collected with these roots, and nobody else refers into its nursery.
                unsafe { self.collect_nursery(mutator, live, roots) }
            }
            Next::Full => end(mutator),
            Next::Scattered => {
                end(mutator);
                self.take_nursery(mutator);
            }
        }
        if mutator.free_words() < words {
            end(mutator);
            self.refill(mutator, words, BUFFER_LINES);
        }
        if words <= WORTH_COLLECTING && State::of(mutator).running {
            self.with_local(|local| self.resume_nursery(local, mutator, self.is_between_cycles(local)));
        }
    }

    /// What becomes of a process's nursery, when so many words are needed.
    fn next(&self, mutator: &Mutator, words: usize, always: bool) -> Next {
        if !self.has_nursery(mutator) {
            return Next::Ends;
        }
        self.with_local(|local| {
            let nursery = &mut local.nursery;
            let used = nursery.words(mutator.top);
            if always {
                return Next::Full;
            }
            if words > WORTH_COLLECTING {
                return Next::Ends;
            }
            let has_places = nursery.earlier.len() < MOST_EARLIER;
            if has_places && used + WORTH_COLLECTING <= NURSERY_WORDS {
                return Next::GoesOn((NURSERY_WORDS - used) / LINE_WORDS);
            }
            if used < WORTH_COLLECTING {
                // Neither a small heap nor a process with a limit gets a whole section.
                let is_limited = self.space.fixed_lines().is_some() || State::of(mutator).maximum_words() > 0;
                return if is_limited { Next::Ends } else { Next::Scattered };
            }
            let is_skipped = nursery.skips > 0;
            nursery.skips = nursery.skips.saturating_sub(1);
            if is_skipped { Next::Ends } else { Next::Full }
        })
    }

    /// Whether there are few roots to be looked at.
    fn is_small(&self, mutator: &Mutator, roots: &mut dyn RootSet) -> bool {
        let mut looked_at = mutator.stack_words();
        roots.each_own_slice(&mut |_, terms| looked_at += terms);
        looked_at <= MOST_ROOTS
    }

    /// Whether the process runs and has a nursery, and no cycle has begun: one would have to know all that lives in it.
    pub(crate) fn has_nursery(&self, mutator: &Mutator) -> bool {
        State::of(mutator).running && self.with_local(|local| is_of(local, mutator) && self.is_between_cycles(local))
    }

    fn is_between_cycles(&self, local: &Local) -> bool {
        let epoch = self.epoch();
        epoch.is_idle() && local.heard() == epoch.number()
    }

    /// A buffer for a whole nursery, out of a free section.
    fn take_nursery(&self, mutator: &mut Mutator) {
        limits::count(mutator);
        let lines = self.with_local(|local| self.take_whole(local, NURSERY_LINES));
        mutator.top = self.space.line_start(lines.first);
        mutator.limit = mutator.top.wrapping_add(lines.count * LINE_WORDS);
        limits::count_from_here(mutator);
    }

    /// The process goes on with its nursery, or has a new one from here on, if no cycle is on.
    #[inline]
    pub(super) fn resume_nursery(&self, local: &mut Local, mutator: &mut Mutator, is_idle: bool) {
        if is_of(local, mutator) {
            return;
        }
        if is_idle {
            local.nursery.begin(mutator, mutator.top);
            // Hardly any buffer is so long.
            if words_between(mutator.top, mutator.limit) > NURSERY_WORDS {
                local.nursery.cut(mutator, NURSERY_WORDS, 0);
            }
            State::of_mut(mutator).nursery_of = local.number;
        } else {
            local.nursery.end();
            end(mutator);
        }
    }

    /// A built-in function that cannot collect gets another buffer, with so many free words. The nursery goes on there,
    /// if it has room for all: what is made there may be referred to by what is in it. Returns whether it was not full.
    pub(super) fn refill_nursery(&self, mutator: &mut Mutator, words: usize) -> bool {
        if words > WORTH_COLLECTING {
            end(mutator);
        }
        self.extend_nursery(mutator, words, BUFFER_LINES)
    }

    /// The process gets another buffer, of so many lines at most, for the nursery that it may have. Returns whether it
    /// has one that was not full.
    fn extend_nursery(&self, mutator: &mut Mutator, words: usize, lines: usize) -> bool {
        let (top, limit) = (mutator.top, mutator.limit);
        self.refill(mutator, words, lines);
        let has_moved = mutator.top != top;
        let used = self.with_local(|local| {
            if !is_of(local, mutator) {
                return None;
            }
            let nursery = &mut local.nursery;
            let used = nursery.words(top);
            if has_moved {
                nursery.earlier.push(Part { start: nursery.from, end: top, limit });
                nursery.from = mutator.top;
            }
            nursery.cut(mutator, if used < NURSERY_WORDS { NURSERY_WORDS } else { MOST_WORDS }, words);
            let goes_on = nursery.earlier.len() <= MOST_EARLIER && nursery.words(mutator.limit) <= MOST_WORDS;
            goes_on.then_some(used)
        });
        if used.is_none() {
            end(mutator);
        }
        used.is_some_and(|used| used < NURSERY_WORDS)
    }

    /// Copies what lives in the process's nursery, which is empty then.
    ///
    /// # Safety
    /// The process is collected by this thread: stack, registers and roots are all that refers into its nursery.
    unsafe fn collect_nursery(&self, mutator: &mut Mutator, live: &mut [Term], roots: &mut dyn RootSet) {
        counters::work_begins();
        let started = clock();
        let mut copy = self.with_local(|local| Copy::new(self, &local.nursery, mutator));
        // SAFETY: the roots are whole terms, and what they lead to are whole objects.
        unsafe {
            copy.visit_run(mutator.stack, mutator.stack_words());
            copy.visit_run(live.as_mut_ptr().cast(), live.len());
            roots.each_own_slice(&mut |start, terms| copy.visit_run(start.cast(), terms));
            copy.finish();
            copy.sweep_off_heap(mutator);
        }
        limits::count(mutator);
        let Copy { last, earlier, top, limit, copied, .. } = copy;
        let words = earlier.iter().chain([&last]).map(Part::words).sum();
        for part in earlier.iter().chain([&last]) {
            // SAFETY: nothing refers into the nursery any more.
            unsafe { self.space.poison(part.start, part.words()) };
        }
        mutator.top = last.start;
        limits::count_from_here(mutator);
        self.with_local(|local| {
            earlier.into_iter().for_each(|part| local.nursery.add_spare(part));
            local.nursery.begin(mutator, mutator.top);
            local.nursery.cut(mutator, NURSERY_WORDS, 0);
            local.nursery.top = top;
            local.nursery.limit = limit;
            local.nursery.has_left(copied, words);
        });
        Report {
            architecture: "unified",
            major: false,
            started,
            before: words,
            live: copied,
            young_block: mutator.free_words(),
            old_block: 0,
        }
        .record();
    }
}

/// A copy under way of what lives in a nursery (Cheney 1970), to any number of runs of lines. What is copied leaves its
/// new place behind as in `common/cheney.rs`.
struct Copy<'u> {
    unified: &'u Unified,
    /// Where in memory its parts lie.
    granules: Granules,
    /// The nursery.
    last: Part,
    earlier: Vec<Part>,
    /// Free words for what is copied: the first, and the one behind them.
    top: *mut Word,
    limit: *mut Word,
    /// From there up to `top`, what was copied was not scanned.
    unscanned: *mut Word,
    /// Nor was it in these runs.
    waiting: Vec<(*mut Word, *mut Word)>,
    /// Words copied.
    copied: usize,
}

impl<'u> Copy<'u> {
    /// A copy of a process's nursery.
    fn new(unified: &'u Unified, nursery: &Nursery, mutator: &Mutator) -> Copy<'u> {
        let Nursery { from: start, top, limit, .. } = *nursery;
        let last = Part { start, end: mutator.top, limit: mutator.limit };
        let earlier = nursery.earlier.clone();
        let granules = Granules::of(earlier.iter().chain([&last]));
        Copy { unified, granules, last, earlier, top, limit, unscanned: top, waiting: Vec::new(), copied: 0 }
    }

    #[inline(always)]
    fn contains(&self, place: *const Word) -> bool {
        self.granules.may_contain(place) && self.is_in_part(place)
    }

    #[inline]
    fn is_in_part(&self, place: *const Word) -> bool {
        self.last.contains(place) || self.earlier.iter().any(|part| part.contains(place))
    }

    /// Copies what a word refers to, if it lies in the nursery, and redirects the word.
    ///
    /// # Safety
    /// The word is a term (or a code address) whose object, if it lies there, is whole or was copied.
    #[inline(always)]
    unsafe fn visit(&mut self, slot: *mut Word) {
        // SAFETY: the caller vouches for the slot.
        unsafe {
            let term = Term::from_word(*slot);
            if term.is_pointer() && self.contains(term.pointer()) {
                *slot = self.copy(term).word();
            }
        }
    }

    /// Visits a run of words.
    ///
    /// # Safety
    /// As [`Copy::visit`] for each of them.
    unsafe fn visit_run(&mut self, start: *mut Word, words: usize) {
        for index in 0..words {
            // SAFETY: the caller vouches for the run.
            unsafe { self.visit(start.add(index)) }
        }
    }

    /// Scans what was copied until nothing is left to copy.
    ///
    /// # Safety
    /// What was copied are whole objects.
    unsafe fn finish(&mut self) {
        loop {
            let (mut place, end) = match self.waiting.pop() {
                Some(run) => run,
                None if self.unscanned == self.top => return,
                None => (std::mem::replace(&mut self.unscanned, self.top), self.top),
            };
            while place < end {
                // SAFETY: the place is the first word of a copied object, or one behind it that is a term.
                place = unsafe { scan_word(place, |slot| self.visit(slot)) };
            }
        }
    }

    #[inline(always)]
    unsafe fn copy(&mut self, term: Term) -> Term {
        // SAFETY: the object is whole or was copied, and `room` gives room for it.
        unsafe {
            let object = term.pointer();
            let first = Term::from_word(*object);
            if term.is_cons() {
                return if first.is_none() { Term::from_word(*object.add(1)) } else { self.copy_list(object) };
            }
            if !first.is_header() {
                return first;
            }
            let words = Header::from_word(first.word()).object_words();
            let to = self.room(words);
            copy_words(object, to, words);
            let moved = Term::boxed_at(to);
            *object = moved.word();
            moved
        }
    }

    /// The spine of a list is copied in one go, so that lists lie in a row.
    unsafe fn copy_list(&mut self, mut cell: *mut Word) -> Term {
        // SAFETY: each cell is a whole cons of the nursery, and `room` gives room for it.
        unsafe {
            let mut to = self.room(2);
            let moved = Term::cons_at(to);
            loop {
                let tail = Term::from_word(*cell.add(1));
                *to = *cell;
                *cell = Term::NONE.word();
                *cell.add(1) = Term::cons_at(to).word();
                let link = to.add(1);
                if !tail.is_cons() || !self.contains(tail.pointer()) {
                    *link = tail.word();
                    return moved;
                }
                cell = tail.pointer();
                if *cell == Term::NONE.word() {
                    *link = *cell.add(1);
                    return moved;
                }
                to = self.room(2);
                *link = Term::cons_at(to).word();
            }
        }
    }

    /// Room for an object.
    #[inline(always)]
    fn room(&mut self, words: usize) -> *mut Word {
        if words_between(self.top, self.limit) < words {
            self.take_more(words);
        }
        let place = self.top;
        self.top = place.wrapping_add(words);
        self.copied += words;
        place
    }

    #[cold]
    fn take_more(&mut self, words: usize) {
        if self.unscanned != self.top {
            self.waiting.push((self.unscanned, self.top));
        }
        let unified = self.unified;
        let lines = unified.with_local(|local| unified.take_lines(local, words, SURVIVORS_LINES));
        self.top = unified.space.line_start(lines.first);
        self.limit = self.top.wrapping_add(lines.count * LINE_WORDS);
        self.unscanned = self.top;
    }

    /// Of the process's objects with parts outside of the heap, the newest lay in the nursery: lists their copies, and
    /// releases the parts of those that are dead.
    ///
    /// # Safety
    /// All that lives was copied. The process's list consists of whole objects, or of such that were copied.
    unsafe fn sweep_off_heap(&self, mutator: &mut Mutator) {
        let mut list = mutator.off_heap;
        let mut kept = null_mut();
        while let Some(object) = NonNull::new(list).filter(|object| self.contains(object.as_ptr())) {
            // SAFETY: an object that was not copied is itself whole, and dead; a copy is whole, and on no list.
            unsafe {
                let first = Term::from_word(*object.as_ptr());
                if first.is_header() {
                    list = next_off_heap(object.as_ptr());
                    mutator.off_heap_bytes = mutator.off_heap_bytes.saturating_sub(off_heap_bytes(object));
                    release_off_heap_part(object);
                } else {
                    let copy = first.pointer();
                    list = next_off_heap(copy);
                    link_off_heap(&mut kept, NonNull::new_unchecked(copy));
                }
            }
        }
        mutator.off_heap = list;
        // SAFETY: both lists consist of whole objects.
        unsafe { join_off_heap(&mut mutator.off_heap, kept) };
    }
}
