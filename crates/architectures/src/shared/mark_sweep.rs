//! A major collection with an old generation that is not moved (an option; Wilhelmsson §4.4 names it). A minor one with
//! all roots goes before it; then:
//!
//! 1. Mark: what the roots and the young generation reach of the old one, a bit for each object beside the heap.
//! 2. Handles that are not marked give up what they have outside of the heap.
//! 3. Sweep: what is between marked objects becomes free runs, which minor collections fill; large ones give their
//!    pages back.
//!
//! It runs on one thread, while the world is stopped.

use std::collections::HashSet;
use std::ptr::null_mut;
use std::sync::atomic::Ordering;

use atoll_heap::{each_off_heap, link_off_heap, next_off_heap, off_heap_bytes, out_of_memory};
use atoll_platform::Reservation;
use atoll_term::{Header, Term, WORD_BYTES, Word, release_off_heap_part};

use super::Shared;
use super::free_runs::FreeRuns;
use super::limits::Charge;
use super::roots::{Roots, Visit};
use super::settle::report;
use super::state::{Collector, Range};
use crate::common::blocks::words_between;
use crate::common::{fibonacci, stack};

/// Least words of the old generation before the next major collection.
const SMALLEST: usize = 10_946;
/// Free words whose pages are given back.
const GIVEN_BACK: usize = 32 << 10;
/// Words whose memory is kept where the generation ends.
const KEPT_AT_END: usize = 1 << 20;

/// What is kept of an old generation that is not moved.
#[derive(Debug)]
pub(super) struct MarkSweep {
    pub(super) runs: FreeRuns,
    /// A bit for each word of the old generation's range.
    bits: Reservation,
}

impl MarkSweep {
    /// For this range; ends the run when there are no addresses.
    pub(super) fn new(old: Range) -> MarkSweep {
        let bytes = (old.end() - old.start() as usize) / (8 * WORD_BYTES);
        let bits = Reservation::new(bytes).unwrap_or_else(|_| out_of_memory(bytes));
        MarkSweep { runs: FreeRuns::default(), bits }
    }

    fn bits(&mut self, words: usize) -> &mut [u64] {
        // SAFETY: the reservation is zero or was written as bits, and is long enough for the whole range.
        unsafe { std::slice::from_raw_parts_mut(self.bits.start().as_ptr().cast(), words.div_ceil(64)) }
    }
}

/// Phase 1.
struct Mark<'b> {
    old: usize,
    old_bytes: usize,
    bits: &'b mut [u64],
    young: usize,
    young_bytes: usize,
    /// Young objects that were met, where it matters from whom what is old is reached.
    met: Option<HashSet<usize>>,
    /// Marked objects whose contents were not looked at.
    pending: Vec<Term>,
    /// Words of marked objects.
    words: usize,
}

impl Mark<'_> {
    fn is_marked(&self, object: *const Word) -> bool {
        let index = (object as usize - self.old) / WORD_BYTES;
        self.bits[index / 64] >> (index % 64) & 1 != 0
    }

    /// Marks what a word refers to, if it is old.
    ///
    /// # Safety
    /// The word is a term (or a code address) of the heap; what it refers to is whole.
    #[inline]
    unsafe fn visit(&mut self, word: Word) {
        // SAFETY: the word's bits alone are looked at.
        let term = unsafe { Term::from_word(word) };
        if !term.is_pointer() {
            return;
        }
        let offset = (term.pointer() as usize).wrapping_sub(self.old);
        if offset >= self.old_bytes {
            let place = term.pointer() as usize;
            if let Some(met) = &mut self.met
                && place.wrapping_sub(self.young) < self.young_bytes
                && met.insert(place)
            {
                self.pending.push(term);
            }
            return;
        }
        let index = offset / WORD_BYTES;
        let (word, bit) = (&mut self.bits[index / 64], 1 << (index % 64));
        if *word & bit == 0 {
            *word |= bit;
            self.pending.push(term);
        }
    }

    /// Marks what a run of whole objects, or of root words, refers to.
    ///
    /// # Safety
    /// As for [`Mark::visit`].
    unsafe fn visit_objects(&mut self, start: *const Word, words: usize) {
        let mut index = 0;
        while index < words {
            // SAFETY: the index is inside the run.
            let word = unsafe { *start.add(index) };
            // SAFETY: the word's bits alone are looked at.
            if unsafe { Term::from_word(word) }.is_header() && Header::from_word(word).is_opaque() {
                index += Header::from_word(word).object_words();
                continue;
            }
            // SAFETY: as the caller's.
            unsafe { self.visit(word) };
            index += 1;
        }
    }

    unsafe fn drain(&mut self) {
        while let Some(term) = self.pending.pop() {
            let object = term.pointer();
            let is_old = (object as usize).wrapping_sub(self.old) < self.old_bytes;
            // SAFETY: a marked object is whole.
            unsafe {
                if term.is_cons() {
                    self.words += if is_old { 2 } else { 0 };
                    self.visit(*object);
                    // The tail last, so that it comes next: a list takes one entry, however long.
                    self.visit(*object.add(1));
                    continue;
                }
                let header = Header::from_word(*object);
                self.words += if is_old { header.object_words() } else { 0 };
                if !header.is_opaque() {
                    for index in 1..header.object_words() {
                        self.visit(*object.add(index));
                    }
                }
            }
        }
    }
}

impl Visit for Mark<'_> {
    fn run(&mut self, start: *mut Word, words: usize) {
        for index in 0..words {
            // SAFETY: the roots hold whole terms.
            unsafe { self.visit(*start.add(index)) }
        }
    }

    fn follow(&mut self) -> [usize; 2] {
        // SAFETY: the heap is whole.
        unsafe { self.drain() };
        [0, self.words]
    }
}

/// Collects the old generation, after a minor collection in the same stopped world.
pub(super) fn collect(shared: &Shared, collector: &mut Collector, roots: &mut Roots<'_>, started: i64) {
    let Some(mut space) = collector.mark_sweep.take() else { return };
    let (young, old) = (collector.young().start(), collector.old().start());
    let young_words = words_between(young, collector.mark);
    let before = young_words + collector.old_used();
    let extent = words_between(old, collector.old_top);
    let bits = space.bits(extent);
    bits.fill(0);
    let charges = roots.charge != Charge::Nothing;
    let mut mark = Mark {
        old: old as usize,
        old_bytes: extent * WORD_BYTES,
        bits,
        young: young as usize,
        young_bytes: young_words * WORD_BYTES,
        met: charges.then(HashSet::new),
        pending: Vec::new(),
        words: 0,
    };
    (roots.all, roots.is_check) = (true, true);
    roots.charge = if charges { Charge::Old } else { Charge::Nothing };
    roots.each_run(collector, &mut mark);
    // SAFETY: the young generation consists of whole objects after a minor collection; the list is the heap's own.
    unsafe {
        mark.visit_objects(young, young_words);
        mark.drain();
        release_unmarked(collector, &mark);
    }
    let live = mark.words;
    // SAFETY: no process reaches what is not marked.
    unsafe { sweep(collector, &mut space, extent) };
    collector.mark_sweep = Some(space);
    collector.old_allocated = live;
    collector.old_words = fibonacci::at_least((2 * live).max(SMALLEST));
    collector.minors = 0;
    collector.report_size();
    shared.majors.fetch_add(1, Ordering::Release);
    report(collector, true, started, before, young_words + live);
    roots.stopped.forget_activity();
    // Stacks that were deep once give their memory back.
    roots.stopped.each_movable_stack(&mut |mutator| stack::trim(mutator, 0));
}

/// Phase 2.
unsafe fn release_unmarked(collector: &mut Collector, mark: &Mark<'_>) {
    let mut list = std::mem::replace(&mut collector.old_off_heap, null_mut());
    collector.old_off_heap_bytes = 0;
    // SAFETY: the list consists of whole objects of the old generation; the dead give up their part once.
    unsafe {
        while let Some(object) = std::ptr::NonNull::new(list) {
            list = next_off_heap(object.as_ptr());
            if mark.is_marked(object.as_ptr()) {
                collector.old_off_heap_bytes += off_heap_bytes(object);
                link_off_heap(&mut collector.old_off_heap, object);
            } else {
                release_off_heap_part(object);
            }
        }
        let mut bytes = collector.old_off_heap_bytes;
        each_off_heap(collector.young_off_heap, &mut |object| bytes += off_heap_bytes(object));
        collector.live_off_heap_bytes = bytes;
    }
    collector.old_off_heap_bytes = 0;
}

/// Phase 3: what is not marked becomes free runs; the generation ends behind the last marked object.
unsafe fn sweep(collector: &mut Collector, space: &mut MarkSweep, extent: usize) {
    let old = collector.old().start();
    let mut runs = FreeRuns::default();
    let mut behind = 0;
    for (group, bits) in space.bits(extent).iter().enumerate() {
        let mut bits = *bits;
        while bits != 0 {
            let index = group * 64 + bits.trailing_zeros() as usize;
            bits &= bits - 1;
            // SAFETY: a marked object is whole; nobody uses what lies between two.
            unsafe {
                if index > behind {
                    runs.give(old.add(behind), old.add(index));
                    if index - behind > GIVEN_BACK {
                        collector.give_back_old(behind + 1, index - behind - 1);
                    }
                }
                let word = Term::from_word(*old.add(index));
                behind = index + if word.is_header() { Header::from_word(word.word()).object_words() } else { 2 };
            }
        }
    }
    runs.turn();
    space.runs = runs;
    collector.old_top = old.wrapping_add(behind);
    let kept = behind + KEPT_AT_END;
    if extent > kept {
        // SAFETY: there is no object behind the last marked one.
        unsafe { collector.give_back_old(kept, extent - kept) };
    }
}
