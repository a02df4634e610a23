//! A major collection of a large old generation in slices, between which its process runs and has minor collections.
//!
//! What makes this simple: terms are immutable, and old objects never point to younger ones. So what an old object
//! refers to when the cycle begins is what it refers to when it ends, and for a while an object and its copy may both
//! be in use.
//!
//! 1. Begin, right after a minor collection: what the roots and the young generation point to is marked. Survivors of
//!    later minor collections go to blocks of their own, the extension, and count as live.
//! 2. Mark: depth first, a bit for each word of a live object.
//! 3. Count and sum: live words of each block, and in front of each group of bits; from here on each live word's new
//!    address is known. The oldest blocks stay as they are, as far as it would take more to copy what lives there than
//!    it gives back: none of their objects refers to one of a younger block. If all stay, as while a program builds
//!    what it keeps, the cycle ends here.
//! 4. Copy: to one new block, in the order of addresses, pointers replaced by new ones.
//! 5. Handles: copies of objects with off-heap parts are listed, dead ones give up their count.
//! 6. Extension: pointers in it are replaced.
//! 7. End, right after a minor collection: pointers in roots, young generation and the rest of the extension are
//!    replaced. Match contexts, whose position changes in place, are copied again. The old blocks are freed.
//!
//! Nothing in the collected blocks is changed, and before the sixth phase nothing points to copies, so until then the
//! cycle can be given up.
//!
//! Phases 2 to 4 (`evacuation.rs`) are work for schedulers that have nothing to run (`helpers.rs`); as long as one is
//! at it, the process does no slices. The others are the process's own.

use std::ptr::{NonNull, null_mut};
use std::sync::{Arc, MutexGuard};

use atoll_heap::{next_off_heap, off_heap_bytes, set_next_off_heap};
use atoll_platform::Reservation;
use atoll_term::{Header, Term, Word, release_off_heap_part};

use super::evacuation::{Evacuation, Whereabouts};
use super::helpers::{Desk, Helpers};
use super::old::Block;
use super::slice::Slice;

/// Words owed that a process leaves to a helper: one that the system keeps from its work for a few milliseconds is
/// waited for. Of what is owed beyond these it does a part itself, the larger the more it is: a helper that is a little
/// too slow costs each stop a little then, rather than a few stops a lot.
const LEFT_TO_HELPERS: usize = 1 << 22;

/// A collection under way.
pub(super) struct Cycle {
    /// When its last slice ended.
    pub(super) left_at: i64,
    /// Words owed that are left to helpers.
    left: usize,
    /// What is collected.
    blocks: Vec<Block>,
    /// Objects with off-heap parts in these blocks.
    off_heap: *mut Word,
    /// Bytes that they keep.
    off_heap_bytes: usize,
    stage: Stage,
}

enum Stage {
    /// Phases 2 to 4.
    Evacuation(Arc<Desk>),
    /// Phases 5 and 6.
    Replacement(Box<Replacement>),
}

/// How much of the time a slice may take, beside what is owed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Share {
    /// What a minor collection has left of as long as the process has run since the last one: what is not done by it
    /// nor by helpers takes memory.
    Whole,
    /// Half of that: what is to be done is little, and nobody helps.
    Rest,
}

/// Pointers to originals give way to pointers to copies.
struct Replacement {
    evacuation: Evacuation,
    /// Whether pointers in the extension are replaced: all objects with off-heap parts are listed.
    is_in_extension: bool,
    /// The last of the cycle's objects with off-heap parts that is known to live.
    last: *mut Word,
    /// They and those in front of it, copied: the list, its last object, and the bytes that they keep.
    copied_off_heap: *mut Word,
    copied_last: *mut Word,
    copied_bytes: usize,
    /// Which block of the extension is updated, and which word in it.
    updated: (usize, usize),
}

/// How far a cycle has come.
pub(super) enum Progress {
    /// There is more to do.
    Goes(Box<Cycle>),
    /// Only the end is missing.
    Copied(Finished),
    /// Nearly all lives, and stays where it is.
    Stays(Stayed),
}

/// What a cycle leaves that has copied nothing: what it was given, and the memory of the map.
pub(super) struct Stayed {
    pub(super) blocks: Vec<Block>,
    pub(super) off_heap: *mut Word,
    pub(super) off_heap_bytes: usize,
    pub(super) live: usize,
    pub(super) map: Reservation,
}

/// A cycle of which only the end is missing.
pub(super) struct Finished {
    blocks: Vec<Block>,
    off_heap: *mut Word,
    replacement: Box<Replacement>,
}

/// What a finished cycle leaves.
pub(super) struct Outcome {
    /// Blocks that stay as they are, the oldest.
    pub(super) stayed: Vec<Block>,
    /// Blocks that are not used any more.
    pub(super) freed: Vec<Block>,
    /// Words that live.
    pub(super) live: usize,
    /// The block with what lived in those that are freed.
    pub(super) target: Block,
    /// List of the objects with off-heap parts there and in what stays, and the last of them.
    pub(super) off_heap: (*mut Word, *mut Word),
    /// Bytes that they keep outside of the heap.
    pub(super) off_heap_bytes: usize,
    /// Memory of the map, which nobody uses any more.
    pub(super) map: Reservation,
}

impl Cycle {
    /// Phase 1: takes over blocks, their objects with off-heap parts and the bytes that these keep, and their
    /// evacuation, for which the roots are marked.
    pub(super) fn begin(
        helpers: &Arc<Helpers>,
        blocks: Vec<Block>,
        (off_heap, off_heap_bytes): (*mut Word, usize),
        evacuation: Evacuation,
        now: i64,
    ) -> Cycle {
        let stage = Stage::Evacuation(Desk::open(helpers, evacuation));
        Cycle { left_at: now, left: 0, blocks, off_heap, off_heap_bytes, stage }
    }

    /// Visits the blocks that are collected, and that of the copies when they are in use.
    pub(super) fn each_block(&self, visit: &mut impl FnMut(&Block)) {
        self.blocks.iter().for_each(&mut *visit);
        if let Stage::Replacement(replacement) = &self.stage
            && replacement.is_in_extension
        {
            visit(replacement.evacuation.target());
        }
    }

    /// Whether objects of the extension may point to copies: then the cycle cannot be given up any more.
    pub(super) fn copies_are_used(&self) -> bool {
        matches!(&self.stage, Stage::Replacement(replacement) if replacement.is_in_extension)
    }

    /// While this lives, helpers read none of the process's objects.
    pub(super) fn keep_helpers_away(&self) -> Option<MutexGuard<'_, Option<Evacuation>>> {
        match &self.stage {
            Stage::Evacuation(desk) => Some(desk.lock()),
            Stage::Replacement(_) => None,
        }
    }

    /// Whether helpers may read the process's objects.
    pub(super) fn has_helpers(&self) -> bool {
        matches!(self.stage, Stage::Evacuation(_))
    }

    /// Objects in these blocks with off-heap parts, those that are known to be dead left out.
    pub(super) fn off_heap(&self) -> *mut Word {
        self.off_heap
    }

    /// Gives the cycle up, whose copies are not in use, or nothing is any more: the blocks, and the objects in them
    /// with off-heap parts.
    pub(super) fn give_up(self) -> (Vec<Block>, *mut Word) {
        let evacuation = match self.stage {
            Stage::Evacuation(desk) => desk.close(),
            Stage::Replacement(replacement) => Some(replacement.evacuation),
        };
        if let Some(evacuation) = evacuation {
            // SAFETY: nobody has pointers to the copies; they own no counts.
            unsafe { evacuation.give_up() }
        }
        (self.blocks, self.off_heap)
    }

    /// Goes on with the cycle, by at least `owed` words together with helpers. `slice` gives the slice for what is left
    /// to this thread. `extension` are the blocks to which survivors went since the begin.
    ///
    /// # Safety
    /// The blocks consist of whole objects.
    pub(super) unsafe fn advance<'a>(
        mut self: Box<Cycle>,
        owed: usize,
        slice: impl FnOnce(usize, Share) -> Slice<'a>,
        extension: &[Block],
    ) -> Progress {
        let mut slice = match &self.stage {
            Stage::Evacuation(desk) => {
                self.left = (self.left + owed).saturating_sub(desk.take_done());
                let behind = self.left.saturating_sub(LEFT_TO_HELPERS);
                let most = owed.saturating_mul(2);
                let mut paid = 0;
                let begin = |in_place_of_helper| {
                    paid = match in_place_of_helper {
                        true => most.saturating_mul(behind.min(LEFT_TO_HELPERS)) / LEFT_TO_HELPERS,
                        // What helpers have not done in time is paid off beside what is owed now.
                        false => most.min(self.left),
                    };
                    slice(paid, Share::Whole)
                };
                let Some((is_done, slice)) = desk.advance(behind > 0, begin) else { return Progress::Goes(self) };
                self.left = self.left.saturating_sub(paid);
                if !is_done {
                    return Progress::Goes(self);
                }
                let Some(evacuation) = desk.close() else { return Progress::Goes(self) };
                if evacuation.stays() {
                    return Progress::Stays(self.stay(evacuation));
                }
                self.stage = Stage::Replacement(Box::new(Replacement::of(evacuation)));
                slice
            }
            Stage::Replacement(_) => slice(owed, Share::Rest),
        };
        let done = match &mut self.stage {
            // SAFETY: as the caller's.
            Stage::Replacement(replacement) => unsafe {
                replacement.advance(&mut self.off_heap, &mut slice, extension)
            },
            Stage::Evacuation(_) => false,
        };
        match self.stage {
            Stage::Replacement(replacement) if done => {
                Progress::Copied(Finished { blocks: self.blocks, off_heap: self.off_heap, replacement })
            }
            _ => Progress::Goes(self),
        }
    }

    fn stay(self, evacuation: Evacuation) -> Stayed {
        let Cycle { blocks, off_heap, off_heap_bytes, .. } = self;
        Stayed { blocks, off_heap, off_heap_bytes, live: evacuation.live(), map: evacuation.end().1 }
    }
}

impl Replacement {
    fn of(evacuation: Evacuation) -> Replacement {
        Replacement {
            evacuation,
            is_in_extension: false,
            last: null_mut(),
            copied_off_heap: null_mut(),
            copied_last: null_mut(),
            copied_bytes: 0,
            updated: (0, 0),
        }
    }

    /// Goes on; true: only the end is missing.
    ///
    /// # Safety
    /// The blocks and the list consist of whole objects.
    unsafe fn advance(&mut self, off_heap: &mut *mut Word, slice: &mut Slice<'_>, extension: &[Block]) -> bool {
        // SAFETY: as the caller's.
        unsafe {
            self.is_in_extension = self.is_in_extension || self.handles(off_heap, slice);
            self.is_in_extension && self.extension(slice, extension)
        }
    }

    /// Phase 5.
    unsafe fn handles(&mut self, off_heap: &mut *mut Word, slice: &mut Slice<'_>) -> bool {
        loop {
            // SAFETY: the list is this cycle's, and its objects are whole.
            unsafe {
                let next = if self.last.is_null() { *off_heap } else { next_off_heap(self.last) };
                let Some(object) = NonNull::new(next) else { return true };
                if slice.is_over() {
                    return false;
                }
                slice.spend(16);
                let whereabouts = self.evacuation.whereabouts(object.as_ptr());
                if let Whereabouts::Dead = whereabouts {
                    let behind = next_off_heap(object.as_ptr());
                    match self.last.is_null() {
                        true => *off_heap = behind,
                        false => set_next_off_heap(self.last, behind),
                    }
                    release_off_heap_part(object);
                    continue;
                }
                self.last = object.as_ptr();
                self.copied_bytes += off_heap_bytes(object);
                let Whereabouts::Copied(copy) = whereabouts else { continue };
                set_next_off_heap(copy, self.copied_off_heap);
                self.copied_off_heap = copy;
                if self.copied_last.is_null() {
                    self.copied_last = copy;
                }
            }
        }
    }

    /// Phase 6: true when the extension as it is now has been updated.
    unsafe fn extension(&mut self, slice: &mut Slice<'_>, extension: &[Block]) -> bool {
        while let Some(block) = extension.get(self.updated.0) {
            while self.updated.1 < block.used() {
                if slice.is_over() {
                    return false;
                }
                slice.spend(1);
                // SAFETY: the place is a word in a whole object, not inside an opaque one.
                self.updated.1 += unsafe { self.update_word(block.start.add(self.updated.1)) };
            }
            if self.updated.0 + 1 == extension.len() {
                return true;
            }
            self.updated = (self.updated.0 + 1, 0);
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
            let new = self.evacuation.forward(word);
            // Most pointers lead elsewhere: what is not written stays clean in the caches.
            if new != word {
                *place = new;
            }
        }
        1
    }
}

impl Finished {
    /// Phase 7, for the young generation: replaces pointers in a run of whole objects.
    ///
    /// # Safety
    /// As for [`Finished::update_run`], for each word of the run that may hold a term.
    pub(super) unsafe fn update_objects(&self, start: *mut Word, words: usize) {
        let mut at = 0;
        while at < words {
            // SAFETY: the caller's run.
            at += unsafe { self.replacement.update_word(start.add(at)) };
        }
    }

    /// Phase 7, for roots.
    ///
    /// # Safety
    /// The run consists of terms or code addresses; what they refer to in the collected blocks was marked.
    pub(super) unsafe fn update_run(&self, start: *mut Word, words: usize) {
        for index in 0..words {
            // SAFETY: the caller's run.
            unsafe { *start.add(index) = self.replacement.evacuation.forward(*start.add(index)) }
        }
    }

    /// Whether an object of the collected blocks stays where it is.
    pub(super) fn stays(&self, object: *const Word) -> bool {
        matches!(self.replacement.evacuation.whereabouts(object), Whereabouts::Stays)
    }

    /// Phase 7: after the last pointer has been replaced.
    pub(super) fn end(self) -> Outcome {
        let (staying, live) = (self.replacement.evacuation.staying(), self.replacement.evacuation.live());
        let (mut first, mut last) = (self.replacement.copied_off_heap, self.replacement.copied_last);
        // Few, if anything stays.
        let mut next = if staying > 0 { self.off_heap } else { null_mut() };
        while let Some(object) = NonNull::new(next) {
            // SAFETY: the list is this cycle's, of whole objects. Those of blocks that are freed are not used any more.
            unsafe {
                next = next_off_heap(object.as_ptr());
                if self.stays(object.as_ptr()) {
                    set_next_off_heap(object.as_ptr(), first);
                    first = object.as_ptr();
                    last = if last.is_null() { first } else { last };
                }
            }
        }
        let Finished { mut blocks, replacement, .. } = self;
        let off_heap_bytes = replacement.copied_bytes;
        let (target, map) = replacement.evacuation.end();
        let freed = blocks.split_off(staying);
        Outcome { stayed: blocks, freed, live, target, off_heap: (first, last), off_heap_bytes, map }
    }
}
