//! The part of a cycle for which its process need not stand still: what lives is marked, and copied (phases 2 to 4 of
//! `cycle.rs`). It reads the collected blocks, which nobody changes, and writes memory that nobody else knows yet, so
//! any thread may do it.
//!
//! Nobody changes the blocks but for the position of a match context, a small integer that the process replaces while
//! this reads it: atomically, both.

use std::sync::atomic::{AtomicU64, Ordering};

use atoll_platform::Reservation;
use atoll_term::{Header, Kind, Term, Word};

use super::live_map::{GROUP, LiveMap, Source};
use super::old::Block;
use super::slice::Slice;
use crate::common::verify::{Part, Whose, violation};

/// What it is worth to free a word, in words that are copied for it.
const WORTH: i64 = 7;
/// More blocks than these become one.
const MOST_BLOCKS: usize = 64;

/// Which objects may stay where they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Staying {
    /// None.
    Nothing,
    /// All of them, or none.
    AllOrNothing,
    /// Those of the oldest blocks: no object there refers to one of a younger block.
    Oldest,
}

const P6: &str = "P6 (what is in use is marked in a cycle)";

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Mark,
    Count,
    Sum,
    Copy,
    Done,
}

/// A run of words that have to be looked at.
#[derive(Clone, Copy)]
struct Run {
    at: *mut Word,
    words: usize,
}

/// Where an object of the collected blocks is.
pub(super) enum Whereabouts {
    /// It is dead, and its block will be freed.
    Dead,
    /// Where it was; it may be dead.
    Stays,
    /// Its copy is there.
    Copied(*mut Word),
}

/// How many of the oldest blocks stay, given the words that live in each and its length. Of all ways to copy what lives
/// in some of the youngest ones, the one that gains most.
fn staying(may_stay: Staying, lives: &[usize], words: &[usize]) -> usize {
    let may_stay = if lives.len() > MOST_BLOCKS { Staying::Nothing } else { may_stay };
    let (mut gain, mut best, mut staying) = (0, 0, lives.len());
    for age in (0..lives.len()).rev() {
        gain += (words[age] - lives[age]) as i64 * WORTH - lives[age] as i64;
        if gain > best {
            (best, staying) = (gain, age);
        }
    }
    match may_stay {
        Staying::Nothing => 0,
        Staying::AllOrNothing if gain > 0 => 0,
        Staying::AllOrNothing => lives.len(),
        Staying::Oldest => staying,
    }
}

/// What lives in some blocks, on its way to a new one.
pub(super) struct Evacuation {
    /// Whose generation is collected.
    whose: Whose,
    phase: Phase,
    map: LiveMap,
    /// What is marked and not scanned.
    pending: Vec<Run>,
    /// Which source is summed or copied, and the group or word in it that is next.
    source: usize,
    next: usize,
    /// Words that live in each source, the oldest first.
    lives: Vec<usize>,
    /// Which may stay, and how many of the oldest sources do.
    may_stay: Staying,
    staying: usize,
    /// Words that live in the others.
    moving: usize,
    /// Where they are copied.
    target: Block,
    /// Copied match contexts: from, to.
    contexts: Vec<(*const Word, *mut Word)>,
}

// SAFETY: it owns the new block and the map; the collected blocks stay as they are until the cycle ends, which takes
// the evacuation back first. What it says of the process is for reports.
unsafe impl Send for Evacuation {}

impl Evacuation {
    /// Of these blocks, the oldest first. The caller marks the roots with [`Evacuation::mark_root`].
    pub(super) fn new(whose: Whose, blocks: &[Block], may_stay: Staying) -> Evacuation {
        let runs: Vec<(*mut Word, usize)> = blocks.iter().map(|block| (block.start, block.used())).collect();
        Evacuation {
            whose,
            phase: Phase::Mark,
            map: LiveMap::new(&runs),
            pending: Vec::new(),
            source: 0,
            next: 0,
            lives: vec![0; blocks.len()],
            may_stay,
            staying: 0,
            moving: 0,
            target: Block::NONE,
            contexts: Vec::new(),
        }
    }

    /// Words that live, when all are marked and counted.
    pub(super) fn live(&self) -> usize {
        self.lives.iter().sum()
    }

    /// How many of the oldest blocks stay as they are.
    pub(super) fn staying(&self) -> usize {
        self.staying
    }

    /// Whether it is done without a copy of anything, because nearly all lives.
    pub(super) fn stays(&self) -> bool {
        self.staying > 0 && self.staying == self.lives.len()
    }

    /// Decides which blocks stay, so that the words that are freed are worth those that are copied.
    fn decide(&mut self) {
        let mut words = vec![0; self.lives.len()];
        self.map.sources().iter().for_each(|source| words[source.age] = source.words);
        self.staying = staying(self.may_stay, &self.lives, &words);
    }

    /// Whether all is copied, or stays.
    pub(super) fn is_done(&self) -> bool {
        self.phase == Phase::Done
    }

    /// The block with the copies.
    pub(super) fn target(&self) -> &Block {
        &self.target
    }

    /// Gives the new block back.
    ///
    /// # Safety
    /// Nobody uses the copies, and what they own is owned by the originals.
    pub(super) unsafe fn give_up(self) {
        // SAFETY: as the caller's.
        unsafe { self.target.free() }
    }

    /// After the last pointer has been replaced: match contexts, whose positions may have changed since they were
    /// copied, become what the originals are. Gives the block with the copies, and the memory of the map.
    pub(super) fn end(self) -> (Block, Reservation) {
        for (from, to) in &self.contexts {
            // SAFETY: the context is whole at both places; what changes in it are small integers.
            unsafe {
                for word in 1..Header::from_word(**from).object_words() {
                    if !Term::from_word(*from.add(word)).is_pointer() {
                        *to.add(word) = *from.add(word);
                    }
                }
            }
        }
        (self.target, self.map.into_memory())
    }

    /// What this root word refers to lives.
    ///
    /// # Safety
    /// The word is a term, or a code address; what it refers to in the collected blocks is whole.
    #[inline(always)]
    pub(super) unsafe fn mark_root(&mut self, word: Word) {
        // SAFETY: as the caller's.
        if let Some(run) = unsafe { self.mark(word) } {
            self.pending.push(run);
        }
    }

    /// What the words of a run of whole objects refer to lives.
    ///
    /// # Safety
    /// As for [`Evacuation::mark_root`], for each word of the run that may hold a term.
    pub(super) unsafe fn mark_objects(&mut self, start: *const Word, words: usize) {
        let mut at = 0;
        while at < words {
            // SAFETY: the place is a word in a whole object, not inside an opaque one.
            unsafe {
                let word = *start.add(at);
                let header = Term::from_word(word).is_header() && Header::from_word(word).is_opaque();
                at += if header { Header::from_word(word).object_words() } else { 1 };
                self.mark_root(word);
            }
        }
    }

    /// Marks what a word refers to; gives its fields if it was not marked and has any.
    #[inline(always)]
    unsafe fn mark(&mut self, word: Word) -> Option<Run> {
        // SAFETY: the word's bits alone are looked at.
        let term = unsafe { Term::from_word(word) };
        if !term.is_pointer() {
            return None;
        }
        let at = term.pointer();
        let bit = self.map.bit(at)?;
        if self.map.is_live(bit) {
            return None;
        }
        if term.is_cons() {
            self.map.set(bit, 2);
            return Some(Run { at, words: 2 });
        }
        // SAFETY: a boxed pointer leads to a header.
        let header = Header::from_word(unsafe { *at });
        self.map.set(bit, header.object_words());
        (!header.is_opaque()).then(|| Run { at: at.wrapping_add(1), words: header.arity() })
    }

    /// Goes on; true: all is copied, or stays.
    ///
    /// # Safety
    /// The collected blocks consist of whole objects.
    pub(super) unsafe fn advance(&mut self, slice: &mut Slice<'_>) -> bool {
        loop {
            // SAFETY: as the caller's.
            let (done, next) = unsafe {
                match self.phase {
                    Phase::Mark => (self.scan_pending(slice), Phase::Count),
                    Phase::Count => (self.count(slice), Phase::Sum),
                    Phase::Sum => (self.sum(slice), Phase::Copy),
                    Phase::Copy => (self.copy(slice), Phase::Done),
                    Phase::Done => return true,
                }
            };
            if !done {
                return false;
            }
            self.phase = next;
            (self.source, self.next) = (0, 0);
            if next == Phase::Sum {
                self.decide();
                if self.stays() {
                    self.phase = Phase::Done;
                }
            }
            if next == Phase::Copy {
                let words = self.moving;
                self.target = if words > 0 { Block::new(words, words) } else { Block::NONE };
            }
        }
    }

    /// Phase 2.
    unsafe fn scan_pending(&mut self, slice: &mut Slice<'_>) -> bool {
        while let Some(mut run) = self.pending.pop() {
            while run.words > 0 {
                if slice.is_over() {
                    self.pending.push(run);
                    return false;
                }
                slice.spend(1);
                // SAFETY: the run lies in a whole object.
                let found = unsafe { self.mark(read(run.at)) };
                run.at = run.at.wrapping_add(1);
                run.words -= 1;
                if let Some(fields) = found {
                    if run.words > 0 {
                        self.pending.push(run);
                    }
                    run = fields;
                }
            }
        }
        true
    }

    /// Phase 3: what lives in each source.
    fn count(&mut self, slice: &mut Slice<'_>) -> bool {
        self.each_group(slice, |evacuation, source, group| {
            evacuation.lives[source.age] += evacuation.map.live_in(group);
        })
    }

    /// Phase 3: where what moves is to lie.
    fn sum(&mut self, slice: &mut Slice<'_>) -> bool {
        self.each_group(slice, |evacuation, source, group| {
            if source.age < evacuation.staying {
                evacuation.map.leave_group(group);
            } else {
                evacuation.moving = evacuation.map.count_group(group, evacuation.moving);
            }
        })
    }

    fn each_group(&mut self, slice: &mut Slice<'_>, mut visit: impl FnMut(&mut Self, Source, usize)) -> bool {
        while let Some(source) = self.map.sources().get(self.source).copied() {
            while self.next < source.words.div_ceil(GROUP) {
                if slice.is_over() {
                    return false;
                }
                slice.spend(GROUP / 16);
                visit(self, source, source.group + self.next);
                self.next += 1;
            }
            self.source += 1;
            self.next = 0;
        }
        true
    }

    /// Where an object of the collected blocks is, now that all is copied.
    #[inline(always)]
    pub(super) fn whereabouts(&self, object: *const Word) -> Whereabouts {
        let Some(bit) = self.map.bit(object) else { return Whereabouts::Dead };
        match self.map.words_before(bit) {
            None => Whereabouts::Stays,
            Some(words) if self.map.is_live(bit) => Whereabouts::Copied(self.target.start.wrapping_add(words)),
            Some(_) => Whereabouts::Dead,
        }
    }

    /// The word with the new address of what it refers to.
    #[inline(always)]
    pub(super) fn forward(&self, word: Word) -> Word {
        // SAFETY: the word's bits alone are looked at.
        let term = unsafe { Term::from_word(word) };
        if !term.is_pointer() {
            return word;
        }
        let Some(bit) = self.map.bit(term.pointer()) else { return word };
        if !self.map.is_live(bit) {
            violation(P6, self.whose, Part::Object(term.pointer()), term.pointer(), word);
        }
        let Some(words) = self.map.words_before(bit) else { return word };
        // SAFETY: as above.
        unsafe { term.with_pointer(self.target.start.wrapping_add(words)) }.word()
    }

    /// Phase 4.
    unsafe fn copy(&mut self, slice: &mut Slice<'_>) -> bool {
        while let Some(source) = self.map.sources().get(self.source).copied() {
            while source.age >= self.staying && self.next < source.words {
                if slice.is_over() {
                    return false;
                }
                let rest = self.map.group(source.group + self.next / GROUP) >> (self.next % GROUP);
                if rest == 0 {
                    self.next = (self.next / GROUP + 1) * GROUP;
                    slice.spend(4);
                    continue;
                }
                self.next += rest.trailing_zeros() as usize;
                let end = self.next + (rest >> rest.trailing_zeros()).trailing_ones() as usize;
                slice.spend(end - self.next);
                while self.next < end {
                    let from = (source.start as *const Word).wrapping_add(self.next);
                    // SAFETY: the word is one of a live object, not inside an opaque one; the target has room for all.
                    self.next += unsafe { self.copy_word(from) };
                }
            }
            self.source += 1;
            self.next = 0;
        }
        debug_assert_eq!(self.target.used(), self.moving);
        true
    }

    /// Copies a word, or an opaque object; gives the words copied.
    #[inline(always)]
    unsafe fn copy_word(&mut self, from: *const Word) -> usize {
        let to = self.target.top;
        // SAFETY: as the caller's.
        unsafe {
            let word = read(from);
            let mut words = 1;
            if Term::from_word(word).is_header() {
                let header = Header::from_word(word);
                if header.is_opaque() {
                    words = header.object_words();
                    std::ptr::copy_nonoverlapping(from, to, words);
                } else {
                    *to = word;
                    if header.kind() == Kind::MatchContext {
                        self.contexts.push((from, to));
                    }
                }
            } else {
                *to = self.forward(word);
            }
            self.target.top = to.wrapping_add(words);
            words
        }
    }
}

/// A word of the collected blocks: see above.
///
/// # Safety
/// The place is a word of an object there.
#[inline(always)]
unsafe fn read(place: *const Word) -> Word {
    // SAFETY: as the caller's; words are aligned.
    unsafe { AtomicU64::from_ptr(place.cast_mut()) }.load(Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::common::verify::expected::{cons_to, sees};
    use atoll_heap::Mutator;

    #[test]
    fn what_is_freed_is_worth_what_is_copied() {
        let of = |may_stay, lives: &[usize], words: &[usize]| staying(may_stay, lives, words);
        let [old, rest] = [(500, 500), (0, 60)];
        for (lives, words, expected) in [
            (vec![old.0, rest.0], vec![old.1, rest.1], 1),
            (vec![old.0, 1, rest.0, 50], vec![old.1, 1, rest.1, 50], 2),
            (vec![rest.0, old.0], vec![rest.1, old.1], 2),
            (vec![rest.0, old.0, rest.0], vec![rest.1, old.1, rest.1], 2),
            (vec![80, 80], vec![100, 100], 0),
            (vec![90, 90], vec![100, 100], 2),
            (vec![0], vec![0], 1),
        ] {
            assert_eq!(of(Staying::Oldest, &lives, &words), expected, "{lives:?} of {words:?}");
            assert_eq!(of(Staying::Nothing, &lives, &words), 0);
        }
        assert_eq!(of(Staying::AllOrNothing, &[500, 0], &[500, 60]), 2);
        assert_eq!(of(Staying::AllOrNothing, &[500, 0], &[500, 80]), 0);
        assert_eq!(of(Staying::Oldest, &[10; MOST_BLOCKS + 1], &[10; MOST_BLOCKS + 1]), 0);
    }

    /// A root that nothing has marked is a root that was forgotten.
    #[test]
    fn what_was_not_marked_is_not_forwarded() {
        crate::tests::enter();
        let mutator = Mutator::empty();
        let mut block = Block::new(2, 2);
        // SAFETY: the block has room for two words.
        unsafe {
            *block.top = Term::NIL.word();
            *block.top.add(1) = Term::NIL.word();
        }
        block.top = block.top.wrapping_add(2);
        let mut root = cons_to(block.start).word();
        let evacuation = Evacuation::new(Whose::Process(&raw const mutator), &[block], Staying::Nothing);
        let report = sees("P6", || root = evacuation.forward(root));
        assert!(report.contains("in the cons at"), "{report}");
        // SAFETY: nobody uses the blocks any more.
        unsafe {
            evacuation.give_up();
            block.free();
        }
    }
}
