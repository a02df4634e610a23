//! A major collection of a large old generation in slices, between which its process runs and has minor collections.
//!
//! What makes this simple: terms are immutable, and old objects never point to younger ones. So what an old object
//! refers to when the cycle begins is what it refers to when it ends, and for a while an object and its copy may both
//! be in use.
//!
//! 1. Begin, right after a minor collection: what the roots and the young generation point to is marked. Survivors of
//!    later minor collections go to blocks of their own, the extension, and count as live.
//! 2. Mark: depth first, a bit for each word of a live object.
//! 3. Sum: live words in front of each group of bits; from here on each live word's new address is known.
//! 4. Copy: to one new block, in the order of addresses, pointers replaced by new ones.
//! 5. Handles: copies of objects with off-heap parts are listed, dead ones give up their count.
//! 6. Extension: pointers in it are replaced.
//! 7. End, right after a minor collection: pointers in roots, young generation and the rest of the extension are
//!    replaced. Match contexts, whose position changes in place, are copied again. The old blocks are freed.
//!
//! Nothing in the collected blocks is changed, and before the sixth phase nothing points to copies, so until then the
//! cycle can be given up.

use std::ptr::{NonNull, null_mut};

use atoll_heap::{next_off_heap, off_heap_bytes, set_next_off_heap};
use atoll_platform::Reservation;
use atoll_platform::clock::monotonic;
use atoll_term::{Header, Kind, Term, Word, release_off_heap_part};

use super::live_map::{GROUP, LiveMap};
use super::old::Block;
use crate::common::verify::{Part, Whose, violation};

const P6: &str = "P6 (what is in use is marked in a cycle)";

/// Words up to which a new block has room for as much again as lives in it; for half as much from twice these on.
const ROOM: usize = 1 << 22;

/// How much of a cycle is done at once: at least what is owed, and then until the time is over.
pub(super) struct Slice {
    until: i64,
    owed: usize,
    step: usize,
    left: isize,
}

impl Slice {
    /// A slice up to this time, or longer for at least `owed` words; the clock is read every `step` words.
    pub(super) fn new(until: i64, owed: usize, step: usize) -> Slice {
        Slice { until, owed, step, left: step as isize }
    }

    #[inline(always)]
    fn spend(&mut self, words: usize) {
        self.left -= words as isize;
    }

    #[inline(always)]
    fn is_over(&mut self) -> bool {
        self.left <= 0 && self.look()
    }

    #[cold]
    fn look(&mut self) -> bool {
        let spent = self.step + self.left.unsigned_abs();
        if self.owed == 0 && monotonic() >= self.until {
            return true;
        }
        self.owed = self.owed.saturating_sub(spent);
        self.left = self.step as isize;
        false
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Mark,
    Sum,
    Copy,
    Handles,
    Extension,
}

/// A run of words that have to be looked at.
#[derive(Clone, Copy)]
struct Run {
    at: *mut Word,
    words: usize,
}

/// A collection under way.
pub(super) struct Cycle {
    /// When its last slice ended.
    pub(super) left_at: i64,
    /// Whose generation is collected.
    whose: Whose,
    phase: Phase,
    blocks: Vec<Block>,
    map: LiveMap,
    /// What is marked and not scanned.
    pending: Vec<Run>,
    /// Which source is summed or copied, and the group or word in it that is next.
    source: usize,
    next: usize,
    /// Words that live.
    live: usize,
    /// Where they are copied.
    target: Block,
    /// Least words of room in that block for what survives later.
    slack: usize,
    /// Copied match contexts: from, to.
    contexts: Vec<(*const Word, *mut Word)>,
    /// Objects with off-heap parts in the collected blocks; the part up to `last` lives and is copied.
    off_heap: *mut Word,
    last: *mut Word,
    /// The same, copied.
    copied_off_heap: *mut Word,
    copied_last: *mut Word,
    copied_bytes: usize,
    /// Which block of the extension is updated, and which word in it.
    extension: (usize, usize),
}

/// What a finished cycle leaves.
pub(super) struct Outcome {
    /// Blocks that are not used any more.
    pub(super) freed: Vec<Block>,
    /// The block with what lives.
    pub(super) target: Block,
    /// List of its objects with off-heap parts, and the last of them.
    pub(super) off_heap: (*mut Word, *mut Word),
    /// Bytes that they keep outside of the heap.
    pub(super) off_heap_bytes: usize,
    /// Memory of the map, which nobody uses any more.
    pub(super) map: Reservation,
}

impl Cycle {
    /// Phase 1: takes over blocks and their objects with off-heap parts. The caller marks the roots with
    /// [`Cycle::mark_root`]. The new block will have room for at least `slack` words beside what lives.
    pub(super) fn begin(whose: Whose, blocks: Vec<Block>, off_heap: *mut Word, slack: usize) -> Cycle {
        let runs: Vec<(*mut Word, usize)> = blocks.iter().map(|block| (block.start, block.used())).collect();
        Cycle {
            left_at: 0,
            whose,
            phase: Phase::Mark,
            map: LiveMap::new(&runs),
            blocks,
            pending: Vec::new(),
            source: 0,
            next: 0,
            live: 0,
            target: Block::NONE,
            slack,
            contexts: Vec::new(),
            off_heap,
            last: null_mut(),
            copied_off_heap: null_mut(),
            copied_last: null_mut(),
            copied_bytes: 0,
            extension: (0, 0),
        }
    }

    /// Visits the blocks that are collected, and that of the copies when they are in use.
    pub(super) fn each_block(&self, visit: &mut impl FnMut(&Block)) {
        self.blocks.iter().for_each(&mut *visit);
        if self.copies_are_used() {
            visit(&self.target);
        }
    }

    /// Whether objects of the extension may point to copies: then the cycle cannot be given up any more.
    pub(super) fn copies_are_used(&self) -> bool {
        self.phase == Phase::Extension
    }

    /// Objects in these blocks with off-heap parts, those that are known to be dead left out.
    pub(super) fn off_heap(&self) -> *mut Word {
        self.off_heap
    }

    /// Gives the cycle up, whose copies are not in use, or nothing is any more: the blocks, and the objects in them
    /// with off-heap parts.
    pub(super) fn give_up(self) -> (Vec<Block>, *mut Word) {
        // SAFETY: nobody has pointers to the copies; they own no counts.
        unsafe { self.target.free() };
        (self.blocks, self.off_heap)
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
    /// As for [`Cycle::mark_root`], for each word of the run that may hold a term.
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

    /// Goes on with the cycle; true: only the end is missing. `extension` are the blocks to which survivors went since
    /// the begin.
    ///
    /// # Safety
    /// The blocks consist of whole objects.
    pub(super) unsafe fn advance(&mut self, slice: &mut Slice, extension: &[Block]) -> bool {
        loop {
            // SAFETY: as the caller's.
            let (done, next) = unsafe {
                match self.phase {
                    Phase::Mark => (self.scan_pending(slice), Phase::Sum),
                    Phase::Sum => (self.sum(slice), Phase::Copy),
                    Phase::Copy => (self.copy(slice), Phase::Handles),
                    Phase::Handles => (self.handles(slice), Phase::Extension),
                    Phase::Extension => return self.extension(slice, extension),
                }
            };
            if !done {
                return false;
            }
            self.phase = next;
            (self.source, self.next) = (0, 0);
            if next == Phase::Copy {
                self.target = Block::new(self.live + (self.live / 2).max(self.live.min(ROOM)).max(self.slack));
            }
        }
    }

    /// Phase 2.
    unsafe fn scan_pending(&mut self, slice: &mut Slice) -> bool {
        while let Some(mut run) = self.pending.pop() {
            while run.words > 0 {
                if slice.is_over() {
                    self.pending.push(run);
                    return false;
                }
                slice.spend(1);
                // SAFETY: the run lies in a whole object.
                let found = unsafe { self.mark(*run.at) };
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

    /// Phase 3.
    fn sum(&mut self, slice: &mut Slice) -> bool {
        while let Some(source) = self.map.sources().get(self.source).copied() {
            while self.next < source.words.div_ceil(GROUP) {
                if slice.is_over() {
                    return false;
                }
                slice.spend(GROUP / 16);
                self.live = self.map.count_group(source.group + self.next, self.live);
                self.next += 1;
            }
            self.source += 1;
            self.next = 0;
        }
        true
    }

    /// The word with the new address of what it refers to.
    #[inline(always)]
    fn forward(&self, word: Word) -> Word {
        // SAFETY: the word's bits alone are looked at.
        let term = unsafe { Term::from_word(word) };
        if !term.is_pointer() {
            return word;
        }
        let Some(bit) = self.map.bit(term.pointer()) else { return word };
        if !self.map.is_live(bit) {
            violation(P6, self.whose, Part::Object(term.pointer()), term.pointer(), word);
        }
        // SAFETY: as above.
        unsafe { term.with_pointer(self.target.start.wrapping_add(self.map.words_before(bit))) }.word()
    }

    /// Phase 4.
    unsafe fn copy(&mut self, slice: &mut Slice) -> bool {
        while let Some(source) = self.map.sources().get(self.source).copied() {
            while self.next < source.words {
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
        debug_assert_eq!(self.target.used(), self.live);
        true
    }

    /// Copies a word, or an opaque object; gives the words copied.
    #[inline(always)]
    unsafe fn copy_word(&mut self, from: *const Word) -> usize {
        let to = self.target.top;
        // SAFETY: as the caller's.
        unsafe {
            let word = *from;
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

    /// Phase 5.
    unsafe fn handles(&mut self, slice: &mut Slice) -> bool {
        loop {
            // SAFETY: the list is this cycle's, and its objects are whole.
            unsafe {
                let next = if self.last.is_null() { self.off_heap } else { next_off_heap(self.last) };
                let Some(object) = NonNull::new(next) else { return true };
                if slice.is_over() {
                    return false;
                }
                slice.spend(16);
                let copy = match self.map.bit(object.as_ptr()) {
                    Some(bit) if self.map.is_live(bit) => self.target.start.wrapping_add(self.map.words_before(bit)),
                    _ => {
                        let behind = next_off_heap(object.as_ptr());
                        match self.last.is_null() {
                            true => self.off_heap = behind,
                            false => set_next_off_heap(self.last, behind),
                        }
                        release_off_heap_part(object);
                        continue;
                    }
                };
                self.last = object.as_ptr();
                self.copied_bytes += off_heap_bytes(object);
                set_next_off_heap(copy, self.copied_off_heap);
                self.copied_off_heap = copy;
                if self.copied_last.is_null() {
                    self.copied_last = copy;
                }
            }
        }
    }

    /// Phase 6: true when the extension as it is now has been updated.
    unsafe fn extension(&mut self, slice: &mut Slice, extension: &[Block]) -> bool {
        while let Some(block) = extension.get(self.extension.0) {
            while self.extension.1 < block.used() {
                if slice.is_over() {
                    return false;
                }
                slice.spend(1);
                // SAFETY: the place is a word in a whole object, not inside an opaque one.
                self.extension.1 += unsafe { self.update_word(block.start.add(self.extension.1)) };
            }
            if self.extension.0 + 1 == extension.len() {
                return true;
            }
            self.extension = (self.extension.0 + 1, 0);
        }
        true
    }

    /// Replaces a pointer; gives the words up to the next that may hold one.
    #[inline(always)]
    unsafe fn update_word(&self, place: *mut Word) -> usize {
        // SAFETY: as the caller's.
        unsafe {
            let word = *place;
            if Term::from_word(word).is_header() {
                let header = Header::from_word(word);
                return if header.is_opaque() { header.object_words() } else { 1 };
            }
            *place = self.forward(word);
        }
        1
    }

    /// Phase 7, for the young generation: replaces pointers in a run of whole objects.
    ///
    /// # Safety
    /// [`Cycle::advance`] has said that only the end is missing.
    pub(super) unsafe fn update_objects(&self, start: *mut Word, words: usize) {
        let mut at = 0;
        while at < words {
            // SAFETY: the caller's run.
            at += unsafe { self.update_word(start.add(at)) };
        }
    }

    /// Phase 7, for roots.
    ///
    /// # Safety
    /// As for [`Cycle::update_objects`]; the run consists of terms or code addresses.
    pub(super) unsafe fn update_run(&self, start: *mut Word, words: usize) {
        for index in 0..words {
            // SAFETY: the caller's run.
            unsafe { *start.add(index) = self.forward(*start.add(index)) }
        }
    }

    /// Phase 7: after the last pointer has been replaced.
    pub(super) fn end(self) -> Outcome {
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
        Outcome {
            freed: self.blocks,
            target: self.target,
            off_heap: (self.copied_off_heap, self.copied_last),
            off_heap_bytes: self.copied_bytes,
            map: self.map.into_memory(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::common::verify::expected::{cons_to, sees};
    use atoll_heap::Mutator;

    /// A root that nothing has marked is a root that was forgotten.
    #[test]
    fn what_was_not_marked_is_not_forwarded() {
        crate::tests::enter();
        let mutator = Mutator::empty();
        let mut block = Block::new(2);
        // SAFETY: the block has room for two words.
        unsafe {
            *block.top = Term::NIL.word();
            *block.top.add(1) = Term::NIL.word();
        }
        block.top = block.top.wrapping_add(2);
        let mut root = cons_to(block.start).word();
        let cycle = Cycle::begin(Whose::Process(&raw const mutator), vec![block], null_mut(), 0);
        // SAFETY: the root is a term.
        let report = sees("P6", || unsafe { cycle.update_run(&raw mut root, 1) });
        assert!(report.contains("in the cons at"), "{report}");
        for block in cycle.give_up().0 {
            // SAFETY: nobody uses it any more.
            unsafe { block.free() }
        }
    }
}
