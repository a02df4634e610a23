//! The copy of a large collection, by several threads (after Halstead 1985 and Flood et al. 2001).
//!
//! Each worker copies into local allocation buffers of its own, one in each generation, and scans them behind itself.
//! A full buffer that was not scanned to its end becomes a piece of work, which goes to a common pool when others
//! have none. An object is claimed by a compare-and-swap on its first word; who loses takes the copy back. A forwarded
//! cons holds the address of its copy in its first word, with low bits 00, because one word must say it all; boxed
//! objects are forwarded as in a serial copy. What is left of a buffer is filled with an object, so that the
//! generations can be walked.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard};

use atoll_term::{Header, Kind, Term, WORD_BYTES, Word};

use super::collect::{Roots, Visit};
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

struct Worker<'t, 'p, P> {
    team: &'t Team<'p, P>,
    buffers: [Buffer; 2],
    pieces: Vec<Piece>,
}

// SAFETY: a worker's buffers and pieces are its own.
unsafe impl<P: Sync> Send for Worker<'_, '_, P> {}

/// Makes an object of unused words.
unsafe fn fill(start: *mut Word, end: *mut Word) {
    let words = (end as usize - start as usize) / WORD_BYTES;
    let header = match words {
        0 => return,
        1 => Header::new(Kind::Tuple, 0),
        _ => Header::new(Kind::HeapBits, words - 1),
    };
    // SAFETY: the caller's words, at least one.
    unsafe { *start = header.word() }
}

impl<P: Policy + Sync> Worker<'_, '_, P> {
    fn new<'t, 'p>(team: &'t Team<'p, P>) -> Worker<'t, 'p, P> {
        Worker { team, buffers: [NO_BUFFER; 2], pieces: Vec::new() }
    }

    fn carve(&self, which: usize, words: usize) -> *mut Word {
        self.team.tops[which].fetch_add(words * WORD_BYTES, Ordering::Relaxed) as *mut Word
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
            return self.carve(which, words);
        }
        // SAFETY: the buffer is this worker's.
        unsafe { self.retire(which) };
        let start = self.carve(which, BUFFER_WORDS);
        let top = start.wrapping_add(words);
        self.buffers[which] = Buffer { scan: start, top, end: start.wrapping_add(BUFFER_WORDS) };
        start
    }

    /// Gives a buffer up: what was not scanned is work, the rest is filled.
    unsafe fn retire(&mut self, which: usize) {
        let buffer = std::mem::replace(&mut self.buffers[which], NO_BUFFER);
        if buffer.scan < buffer.top {
            self.pieces.push(Piece { start: buffer.scan, end: buffer.top, roots: false });
        }
        // SAFETY: the unused words are this worker's.
        unsafe { fill(buffer.top, buffer.end) }
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

    unsafe fn copy_boxed(&mut self, object: *mut Word, which: usize) -> Word {
        // SAFETY: the object is whole but for its first word, which is a header or the forwarding; a copy is published
        // by the exchange, after it was filled.
        unsafe {
            let first_word = AtomicU64::from_ptr(object);
            let first = first_word.load(Ordering::Acquire);
            if !Term::from_word(first).is_header() {
                return first;
            }
            let words = Header::from_word(first).object_words();
            let place = self.allocate(which, words);
            *place = first;
            std::ptr::copy_nonoverlapping(object.add(1), place.add(1), words - 1);
            let moved = Term::boxed_at(place).word();
            match first_word.compare_exchange(first, moved, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => {
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
                let first_word = AtomicU64::from_ptr(cell);
                let first = first_word.load(Ordering::Acquire);
                if Term::from_word(first).is_header() {
                    *link = Term::cons_at(first as *const Word).word();
                    break;
                }
                let tail = Term::from_word(*cell.add(1));
                let place = self.allocate(which, 2);
                *place = first;
                *place.add(1) = tail.word();
                let exchanged = first_word.compare_exchange(first, place as Word, Ordering::AcqRel, Ordering::Acquire);
                if let Err(other) = exchanged {
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
            // SAFETY: the buffers are this worker's, and a piece is whose who has taken it.
            unsafe {
                while self.buffers.iter().any(|buffer| buffer.scan < buffer.top) {
                    self.scan_buffers();
                }
                if team && self.pieces.len() > 1 && self.team.hungry.load(Ordering::Relaxed) > 0 {
                    let half = self.pieces.len() / 2;
                    self.team.give(self.pieces.drain(..half));
                }
                let given = || if team { self.team.take() } else { None };
                let Some(piece) = self.pieces.pop().or_else(given) else { break };
                let mut at = piece.start;
                while at < piece.end {
                    let next = if piece.roots { at.add(1) } else { Self::next(at) };
                    self.visit(at);
                    at = next;
                }
            }
        }
    }

    /// Words that were copied to either generation while no other worker had begun.
    fn copied(&self, start: [*mut Word; 2]) -> [usize; 2] {
        [0, 1].map(|which| {
            let Buffer { top, end, .. } = self.buffers[which];
            let bytes = self.team.tops[which].load(Ordering::Relaxed) - start[which] as usize;
            (bytes - (end as usize - top as usize)) / WORD_BYTES
        })
    }
}

/// The worker that finds the roots, before the others begin.
struct Leader<'t, 'p, P> {
    worker: Worker<'t, 'p, P>,
    start: [*mut Word; 2],
}

impl<P: Policy + Sync> Visit for Leader<'_, '_, P> {
    fn run(&mut self, start: *mut Word, words: usize) {
        if words > LARGE_RUN {
            // Stacks and dictionaries stay where they are while the world is stopped.
            for from in (0..words).step_by(LARGE_RUN) {
                let end = start.wrapping_add(words.min(from + LARGE_RUN));
                let part = Piece { start: start.wrapping_add(from), end, roots: true };
                self.worker.pieces.push(part);
            }
            return;
        }
        for index in 0..words {
            // SAFETY: the roots hold whole terms.
            unsafe { self.worker.visit(start.add(index)) }
        }
    }

    fn follow(&mut self) -> [usize; 2] {
        // SAFETY: no other worker has begun.
        unsafe { self.worker.work(false) };
        self.worker.copied(self.start)
    }
}

/// Copies all that the roots reach, with `workers` threads, this one among them; gives the new tops.
///
/// # Safety
/// The world is stopped; the roots hold whole terms; the destinations have room for half as much again as may be copied, and
/// for a buffer more for each worker.
pub(super) unsafe fn copy<P: Policy + Sync>(
    collector: &mut Collector,
    roots: &mut Roots<'_>,
    policy: &P,
    young: *mut Word,
    old: *mut Word,
    workers: usize,
) -> (*mut Word, *mut Word) {
    let team = Team {
        policy,
        tops: [AtomicUsize::new(young as usize), AtomicUsize::new(old as usize)],
        workers,
        pool: Mutex::default(),
        changed: Condvar::new(),
        hungry: AtomicUsize::new(0),
    };
    let mut leader = Leader { worker: Worker::new(&team), start: [young, old] };
    roots.each_run(collector, &mut leader);
    let mut leader = leader.worker;
    team.give(leader.pieces.drain(..));
    std::thread::scope(|scope| {
        for _ in 1..workers {
            // SAFETY: as the caller's.
            scope.spawn(|| unsafe { Worker::new(&team).run() });
        }
        // SAFETY: as the caller's.
        unsafe { leader.run() };
    });
    let [young, old] = team.tops.map(|top| top.into_inner() as *mut Word);
    (young, old)
}
