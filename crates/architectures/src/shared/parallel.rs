//! The copy of a large collection, by several threads (after Halstead 1985 and Flood et al. 2001).
//!
//! Each worker copies into local allocation buffers of its own, one in each generation, and scans them as it goes. A
//! full buffer that was not scanned to its end becomes a piece of work, which goes to a common pool when other workers
//! are idle. A worker claims an object by a compare-and-swap on its first word; a worker that loses the race discards
//! its copy. The first word of a forwarded cons holds the address of the copy with low bits 00, because that one word
//! must hold it all; boxed objects are forwarded as in a serial copy. The worker fills the rest of a buffer with an
//! object, so that the generations can be walked.
//!
//! A single thread uses it too, without those exchanges, when promoted objects are to fill free runs: this copy needs
//! no contiguous destination.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard};

use atoll_platform::threads::in_this_machine;
use atoll_term::{Header, Term, WORD_BYTES, Word};

use super::free_runs::{FreeRuns, fill};
use super::roots::{Roots, Visit};
use super::state::Collector;
use crate::common::cheney::{Destination, Policy};

/// Words of a local allocation buffer.
const BUFFER_WORDS: usize = 1024;
/// Objects above this size get memory of their own.
const LARGE_OBJECT: usize = BUFFER_WORDS / 4;
/// Root runs above this size are work for all; smaller ones are visited at once.
const LARGE_RUN: usize = 256;

/// Work: a run of root words or of whole copied objects.
#[derive(Clone, Copy)]
struct Piece {
    start: *mut Word,
    end: *mut Word,
    /// Roots may be code addresses, which must not be taken for headers.
    roots: bool,
}

// SAFETY: a piece belongs to the worker that has taken it out of the pool.
unsafe impl Send for Piece {}

#[derive(Default)]
struct Pool {
    pieces: Vec<Piece>,
    idle: usize,
    done: bool,
}

/// What the workers share.
struct Team<'p, P> {
    policy: &'p P,
    /// Next free addresses of the young and the old destination.
    tops: [AtomicUsize; 2],
    /// Free runs in the old generation, which are used first.
    runs: Option<Mutex<&'p mut FreeRuns>>,
    /// Words taken out of them.
    from_runs: AtomicUsize,
    workers: usize,
    pool: Mutex<Pool>,
    changed: Condvar,
    /// Workers without work.
    hungry: AtomicUsize,
}

impl<P> Team<'_, P> {
    fn lock(&self) -> MutexGuard<'_, Pool> {
        self.pool.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Takes a piece of work; `None`: there is none, and nobody will make any.
    fn take(&self) -> Option<Piece> {
        let mut pool = self.lock();
        if let Some(piece) = pool.pieces.pop() {
            return Some(piece);
        }
        pool.idle += 1;
        self.hungry.fetch_add(1, Ordering::Relaxed);
        if pool.idle == self.workers {
            pool.done = true;
            self.changed.notify_all();
        }
        loop {
            if pool.done {
                return None;
            }
            if let Some(piece) = pool.pieces.pop() {
                pool.idle -= 1;
                self.hungry.fetch_sub(1, Ordering::Relaxed);
                return Some(piece);
            }
            pool = self.changed.wait(pool).unwrap_or_else(|poisoned| poisoned.into_inner());
        }
    }

    fn give(&self, pieces: impl IntoIterator<Item = Piece>) {
        self.lock().pieces.extend(pieces);
        self.changed.notify_all();
    }
}

/// A local allocation buffer: scanned up to `scan`, filled up to `top`.
#[derive(Clone, Copy)]
struct Buffer {
    scan: *mut Word,
    top: *mut Word,
    end: *mut Word,
}

const NO_BUFFER: Buffer = Buffer { scan: std::ptr::null_mut(), top: std::ptr::null_mut(), end: std::ptr::null_mut() };

/// With `ALONE` there is no other.
struct Worker<'t, 'p, P, const ALONE: bool> {
    team: &'t Team<'p, P>,
    buffers: [Buffer; 2],
    pieces: Vec<Piece>,
}

// SAFETY: a worker's buffers and pieces are its own.
unsafe impl<P: Sync> Send for Worker<'_, '_, P, false> {}

impl<P: Policy + Sync, const ALONE: bool> Worker<'_, '_, P, ALONE> {
    fn new<'t, 'p>(team: &'t Team<'p, P>) -> Worker<'t, 'p, P, ALONE> {
        Worker { team, buffers: [NO_BUFFER; 2], pieces: Vec::new() }
    }

    /// Claims an object: `moved` takes the place of its first word, if that is `first` still; else what is there.
    #[inline(always)]
    unsafe fn claim(object: *mut Word, first: Word, moved: Word) -> Result<(), Word> {
        if ALONE {
            // SAFETY: the object is whole, and nobody else looks at it.
            unsafe { *object = moved };
            return Ok(());
        }
        // SAFETY: all workers reach first words of collected objects as atomic ones.
        let word = unsafe { AtomicU64::from_ptr(object) };
        word.compare_exchange(first, moved, Ordering::AcqRel, Ordering::Acquire).map(drop)
    }

    fn carve(&self, which: usize, least: usize, most: usize) -> (*mut Word, usize) {
        if which == 1
            && let Some(runs) = &self.team.runs
        {
            let mut runs = runs.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            if let Some((start, words)) = runs.take(least, most) {
                self.team.from_runs.fetch_add(words, Ordering::Relaxed);
                return (start, words);
            }
        }
        (self.team.tops[which].fetch_add(most * WORD_BYTES, Ordering::Relaxed) as *mut Word, most)
    }

    /// Room for an object; large ones lie outside of the buffer.
    #[inline(always)]
    unsafe fn allocate(&mut self, which: usize, words: usize) -> *mut Word {
        let buffer = &mut self.buffers[which];
        let place = buffer.top;
        if (buffer.end as usize).wrapping_sub(place as usize) >= words * WORD_BYTES {
            buffer.top = place.wrapping_add(words);
            return place;
        }
        // SAFETY: the buffer is this worker's.
        unsafe { self.allocate_slow(which, words) }
    }

    #[cold]
    unsafe fn allocate_slow(&mut self, which: usize, words: usize) -> *mut Word {
        if words > LARGE_OBJECT {
            let (start, got) = self.carve(which, words, words);
            // SAFETY: the words were just carved for this worker.
            unsafe { fill(start.add(words), start.add(got)) };
            return start;
        }
        // SAFETY: the buffer is this worker's.
        unsafe { self.retire(which) };
        let (start, got) = self.carve(which, words, BUFFER_WORDS);
        let top = start.wrapping_add(words);
        self.buffers[which] = Buffer { scan: start, top, end: start.wrapping_add(got) };
        start
    }

    /// Gives a buffer up: what was not scanned is work, the rest is given back, or filled.
    unsafe fn retire(&mut self, which: usize) {
        let buffer = std::mem::replace(&mut self.buffers[which], NO_BUFFER);
        if buffer.scan < buffer.top {
            self.pieces.push(Piece { start: buffer.scan, end: buffer.top, roots: false });
        }
        let (unused, end) = (buffer.top as usize, buffer.end as usize);
        let is_last = self.team.tops[which].compare_exchange(end, unused, Ordering::Relaxed, Ordering::Relaxed).is_ok();
        // SAFETY: the unused words are this worker's.
        unsafe {
            match &self.team.runs {
                _ if is_last => {}
                Some(runs) if which == 1 => {
                    let mut runs = runs.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
                    let before = runs.words();
                    runs.give(buffer.top, buffer.end);
                    // They may have been on top of what was there before: one counter for all that runs lose.
                    self.team.from_runs.fetch_sub(runs.words() - before, Ordering::Relaxed);
                }
                _ => fill(buffer.top, buffer.end),
            }
        }
    }

    /// Takes back an object that another worker has copied first.
    unsafe fn take_back(&mut self, which: usize, place: *mut Word, words: usize) {
        let buffer = &mut self.buffers[which];
        if buffer.top == place.wrapping_add(words) && words <= LARGE_OBJECT {
            buffer.top = place;
        } else {
            // SAFETY: the words were just carved for this worker.
            unsafe { fill(place, place.add(words)) }
        }
    }

    /// As [`crate::common::cheney::Copier::visit`].
    #[inline(always)]
    unsafe fn visit(&mut self, slot: *mut Word) {
        // SAFETY: the caller vouches for the slot.
        unsafe {
            let term = Term::from_word(*slot);
            if !term.is_pointer() {
                return;
            }
            let destination = self.team.policy.destination(term.pointer());
            let which = match destination {
                Destination::Stay => return,
                Destination::Young => 0,
                Destination::Old => 1,
            };
            *slot = if term.is_cons() {
                self.copy_list(term.pointer(), destination, which)
            } else {
                self.copy_boxed(term.pointer(), which)
            };
        }
    }

    /// Visits root words.
    unsafe fn visit_run(&mut self, start: *mut Word, end: *mut Word) {
        let mut at = start;
        while at < end {
            // SAFETY: the caller vouches for the words; most are no pointers.
            unsafe {
                if Term::from_word(*at).is_pointer() {
                    self.visit(at);
                }
                at = at.add(1);
            }
        }
    }

    unsafe fn copy_boxed(&mut self, object: *mut Word, which: usize) -> Word {
        // SAFETY: the object is whole but for its first word, which is a header or the forwarding; a copy is published
        // by the exchange, after it was filled.
        unsafe {
            let first = AtomicU64::from_ptr(object).load(Ordering::Acquire);
            if !Term::from_word(first).is_header() {
                return first;
            }
            let words = Header::from_word(first).object_words();
            let place = self.allocate(which, words);
            *place = first;
            std::ptr::copy_nonoverlapping(object.add(1), place.add(1), words - 1);
            let moved = Term::boxed_at(place).word();
            match Self::claim(object, first, moved) {
                Ok(()) => {
                    if words > LARGE_OBJECT {
                        self.pieces.push(Piece { start: place, end: place.add(words), roots: false });
                    }
                    moved
                }
                Err(other) => {
                    self.take_back(which, place, words);
                    other
                }
            }
        }
    }

    /// Copies the spine of a list; gives the new term. Each cell's link is written when the next is copied;
    /// until this returns, no other worker can see the cells' copies as work.
    unsafe fn copy_list(&mut self, mut cell: *mut Word, destination: Destination, which: usize) -> Word {
        let mut result = 0;
        let mut link: *mut Word = &raw mut result;
        // SAFETY: as in `copy_boxed`, for each cell.
        unsafe {
            loop {
                let first = AtomicU64::from_ptr(cell).load(Ordering::Acquire);
                if Term::from_word(first).is_header() {
                    *link = Term::cons_at(first as *const Word).word();
                    break;
                }
                let tail = Term::from_word(*cell.add(1));
                let place = self.allocate(which, 2);
                *place = first;
                *place.add(1) = tail.word();
                if let Err(other) = Self::claim(cell, first, place as Word) {
                    self.take_back(which, place, 2);
                    *link = Term::cons_at(other as *const Word).word();
                    break;
                }
                *link = Term::cons_at(place).word();
                if !tail.is_cons() || self.team.policy.destination(tail.pointer()) != destination {
                    break;
                }
                link = place.add(1);
                cell = tail.pointer();
            }
        }
        result
    }

    /// The place to scan after this one.
    #[inline(always)]
    unsafe fn next(at: *mut Word) -> *mut Word {
        // SAFETY: the caller passes a word of a copied object.
        unsafe {
            let word = Term::from_word(*at);
            if word.is_header() && Header::from_word(word.word()).is_opaque() {
                return at.add(Header::from_word(word.word()).object_words());
            }
            at.add(1)
        }
    }

    /// Scans this worker's buffers until nothing in them is left.
    unsafe fn scan_buffers(&mut self) {
        for which in [0, 1, 0] {
            while self.buffers[which].scan < self.buffers[which].top {
                let at = self.buffers[which].scan;
                // SAFETY: the word was copied by this worker and not scanned.
                unsafe {
                    self.buffers[which].scan = Self::next(at);
                    self.visit(at);
                }
            }
        }
    }

    /// Works until no worker has anything to do.
    unsafe fn run(&mut self) {
        // SAFETY: the buffers are this worker's, and scanned at the end.
        unsafe {
            self.work(true);
            self.retire(0);
            self.retire(1);
        }
    }

    /// Works until there is nothing to do, for any worker or (without `team`) for this one.
    unsafe fn work(&mut self, team: bool) {
        loop {
            // SAFETY: the buffers are this worker's, and a piece belongs to the worker that took it.
            unsafe {
                while self.buffers.iter().any(|buffer| buffer.scan < buffer.top) {
                    self.scan_buffers();
                }
                if team && self.pieces.len() > 1 && self.team.hungry.load(Ordering::Relaxed) > 0 {
                    let half = self.pieces.len() / 2;
                    self.team.give(self.pieces.drain(..half));
                }
                let given = || if team && !ALONE { self.team.take() } else { None };
                let Some(piece) = self.pieces.pop().or_else(given) else { break };
                if piece.roots {
                    self.visit_run(piece.start, piece.end);
                    continue;
                }
                let mut at = piece.start;
                while at < piece.end {
                    let next = Self::next(at);
                    self.visit(at);
                    at = next;
                }
            }
        }
    }

    /// Words that were copied to either generation while no other worker had begun.
    fn copied(&self, start: [*mut Word; 2]) -> [usize; 2] {
        let bumped = [0, 1].map(|which| {
            let Buffer { top, end, .. } = self.buffers[which];
            let bytes = self.team.tops[which].load(Ordering::Relaxed) - start[which] as usize;
            (bytes as isize - (end as isize - top as isize)) / WORD_BYTES as isize
        });
        let [young, old] = bumped;
        [young as usize, (old + self.team.from_runs.load(Ordering::Relaxed) as isize) as usize]
    }
}

/// The worker that finds the roots, before the others begin.
struct Leader<'t, 'p, P, const ALONE: bool> {
    worker: Worker<'t, 'p, P, ALONE>,
    start: [*mut Word; 2],
}

impl<P: Policy + Sync, const ALONE: bool> Visit for Leader<'_, '_, P, ALONE> {
    fn run(&mut self, start: *mut Word, words: usize) {
        if words > LARGE_RUN && !ALONE {
            // Stacks and dictionaries stay where they are while the world is stopped.
            for from in (0..words).step_by(LARGE_RUN) {
                let end = start.wrapping_add(words.min(from + LARGE_RUN));
                let part = Piece { start: start.wrapping_add(from), end, roots: true };
                self.worker.pieces.push(part);
            }
            return;
        }
        // SAFETY: the roots hold whole terms.
        unsafe { self.worker.visit_run(start, start.add(words)) }
    }

    fn follow(&mut self) -> [usize; 2] {
        // SAFETY: no other worker has begun.
        unsafe { self.worker.work(false) };
        self.worker.copied(self.start)
    }
}

/// What a copy has made of its destinations.
pub(super) struct Copied {
    /// The new tops of the young and the old destination.
    pub(super) tops: (*mut Word, *mut Word),
    /// Words that have become old, with those that were lost.
    pub(super) promoted: usize,
}

/// Copies all that the roots reach, with `workers` threads, this one among them. What becomes old goes to `runs` first.
///
/// # Safety
/// The world is stopped; the roots hold whole terms; the destinations have room for half as much again as may be
/// copied, and for a buffer more for each worker.
pub(super) unsafe fn copy<P: Policy + Sync>(
    collector: &mut Collector,
    roots: &mut Roots<'_>,
    policy: &P,
    (young, old): (*mut Word, *mut Word),
    workers: usize,
    runs: Option<&mut FreeRuns>,
) -> Copied {
    let team = Team {
        policy,
        tops: [AtomicUsize::new(young as usize), AtomicUsize::new(old as usize)],
        runs: runs.map(Mutex::new),
        from_runs: AtomicUsize::new(0),
        workers,
        pool: Mutex::default(),
        changed: Condvar::new(),
        hungry: AtomicUsize::new(0),
    };
    if workers == 1 {
        let mut leader = Leader { worker: Worker::<P, true>::new(&team), start: [young, old] };
        roots.each_run(collector, &mut leader);
        // SAFETY: as the caller's.
        unsafe { leader.worker.run() };
    } else {
        let mut leader = Leader { worker: Worker::<P, false>::new(&team), start: [young, old] };
        roots.each_run(collector, &mut leader);
        let mut leader = leader.worker;
        team.give(leader.pieces.drain(..));
        std::thread::scope(|scope| {
            for _ in 1..workers {
                // SAFETY: as the caller's.
                scope.spawn(in_this_machine(|| unsafe { Worker::<P, false>::new(&team).run() }));
            }
            // SAFETY: as the caller's.
            unsafe { leader.run() };
        });
    }
    let from_runs = team.from_runs.into_inner();
    let [new_young, new_old] = team.tops.map(|top| top.into_inner() as *mut Word);
    let promoted = from_runs.wrapping_add_signed((new_old as isize - old as isize) / WORD_BYTES as isize);
    Copied { tops: (new_young, new_old), promoted }
}
