//! Messages made of terms: one fragment of exact size, sharing kept, what is immovable left where it is.

use std::ptr::NonNull;
use std::sync::atomic::Ordering;

use atoll_heap::counters::counters;
use atoll_heap::{Fragment, Message, settings};
use atoll_platform::clock::monotonic;
use atoll_term::{Header, Term, WORD_BYTES, Word};

use super::off_heap::{self, adopt_copy};
use super::relocate::{self, Move};
use super::sizing::{Run, Unshared, unshared};
use super::{Immovable, sharing, small};

/// A fragment that brings a term as it is: an immediate, or a pointer that its receiver may hold.
#[inline]
pub(crate) fn by_reference(term: Term) -> Message {
    let message = Message::new(0);
    // SAFETY: the architecture knows where the term lies, and that it lives as long as the message.
    unsafe { message.set_term(term) };
    message
}

/// As [`move_out`], for a fragment of two to five words without pointers and off-heap parts, as most messages are;
/// whether it is one.
///
/// # Safety
/// The same.
#[inline(always)]
pub(crate) unsafe fn move_out_flat(fragment: &Fragment, to: *mut Word) -> bool {
    let moving = Move { from: fragment.words(), words: fragment.used(), to };
    // SAFETY: as for `move_out`.
    unsafe {
        if !fragment.off_heap().is_null() || !moving.copy_flat() {
            return false;
        }
        fragment.set_term(Term::from_word(moving.shifted(fragment.term().word())));
        fragment.clear();
    }
    true
}

/// Moves what a fragment brings from outside of the heaps to a place in one. `adopt` gets the objects with off-heap
/// parts. The fragment's term lies there then.
///
/// # Safety
/// At the place is room for the fragment's words, and nobody holds a term that points into the fragment.
#[inline]
pub(crate) unsafe fn move_out(fragment: &Fragment, to: *mut Word, adopt: impl FnMut(NonNull<Word>)) {
    let moving = Move { from: fragment.words(), words: fragment.used(), to };
    // SAFETY: a message's fragment consists of whole objects; the rest is the caller's obligation.
    unsafe {
        moving.copy();
        off_heap::each_moved(fragment.off_heap(), &moving, adopt);
        fragment.set_term(Term::from_word(moving.shifted(fragment.term().word())));
        fragment.clear();
    }
}

/// A fragment with a copy of the term. `own`: the term lies in memory that only this thread reads.
///
/// # Safety
/// The term is whole; with `own`, nobody else reads its movable part meanwhile.
#[inline]
pub(crate) unsafe fn by_copy(term: Term, immovable: Immovable, own: bool) -> Message {
    if !term.is_pointer() || immovable.contains(term) {
        return by_reference(term);
    }
    // SAFETY: the caller vouches for the term.
    unsafe {
        match small::copy(term, immovable) {
            Some(fragment) => fragment,
            None => by_measured_copy(term, immovable, own),
        }
    }
}

/// As [`by_copy`], for a pointer out of the immovable range to a term of which [`small::copy`] makes no copy.
///
/// # Safety
/// The same.
#[inline(never)]
pub(crate) unsafe fn by_measured_copy(term: Term, immovable: Immovable, own: bool) -> Message {
    // SAFETY: the caller vouches for the term; the fragment is of the size found.
    unsafe {
        let found = if settings().timed { unshared_timed(term, immovable) } else { unshared(term, immovable) };
        match found {
            Some(found) => match found.runs {
                Some(runs) => copy_runs(term, runs, found.words),
                None => copy_unshared(term, immovable, found.words),
            },
            None => sharing::copy(term, immovable, own),
        }
    }
}

/// As [`unshared`], with its time taken.
///
/// # Safety
/// The same.
#[cold]
unsafe fn unshared_timed(term: Term, immovable: Immovable) -> Option<Unshared> {
    let started = monotonic();
    // SAFETY: the caller's.
    let found = unsafe { unshared(term, immovable) };
    counters().size_time.fetch_add((monotonic() - started).max(0) as u64, Ordering::Relaxed);
    found
}

/// Copies a term that is nothing but these runs, word by word: no object in them is opaque, so each word is a term or
/// a header.
unsafe fn copy_runs(root: Term, runs: [Run; 2], words: usize) -> Message {
    let target = Message::new(words);
    // SAFETY: the new fragment is ours alone and has room for the runs, which are readable.
    unsafe {
        let filled = target.try_allocate(words);
        debug_assert!(filled.is_some());
        let to = target.words();
        let [first, second] = runs.map(|run| (run.end - run.start) / WORD_BYTES);
        debug_assert_eq!(first + second, words);
        let moves = [
            Move { from: runs[0].start as *const Word, words: first, to },
            Move { from: runs[1].start as *const Word, words: second, to: to.add(first) },
        ];
        relocate::copy_plain(&moves);
        let other = moves[1].shifted(root.word());
        target.set_term(Term::from_word(if other == root.word() { moves[0].shifted(other) } else { other }));
    }
    target
}

/// Copies a term of this size without looking for sharing: a Cheney copy that leaves no marks.
unsafe fn copy_unshared(root: Term, immovable: Immovable, words: usize) -> Message {
    let target = Message::new(words);
    // SAFETY: the new fragment is ours alone and has room for the copy; each object of the term is met once.
    unsafe {
        let base = target.words();
        let filled = target.try_allocate(words);
        debug_assert!(filled.is_some());
        let mut off_heap = std::ptr::null_mut();
        let mut top = base;
        let term = copy_object(root, immovable, &mut top, &mut off_heap);
        let mut place = base;
        while place < top {
            let word = Term::from_word(*place);
            if word.is_header() {
                let header = Header::from_word(word.word());
                place = place.add(if header.is_opaque() { header.object_words() } else { 1 });
                continue;
            }
            let copied = (word.pointer() as usize).wrapping_sub(base as usize) < words * WORD_BYTES;
            if word.is_pointer() && !copied && !immovable.contains(word) {
                *place = copy_object(word, immovable, &mut top, &mut off_heap).word();
            }
            place = place.add(1);
        }
        debug_assert_eq!(top, base.add(words));
        target.set_term(term);
        target.replace_off_heap(off_heap);
    }
    target
}

/// Copies one object, or the spine of a list.
#[inline(always)]
unsafe fn copy_object(term: Term, immovable: Immovable, top: &mut *mut Word, off_heap: &mut *mut Word) -> Term {
    // SAFETY: the term is whole, and there is room for its copy.
    unsafe {
        let start = *top;
        let mut place = term.pointer();
        if term.is_cons() {
            loop {
                let tail = Term::from_word(*place.add(1));
                **top = *place;
                let link = top.add(1);
                *top = top.add(2);
                if !tail.is_cons() || immovable.contains(tail) {
                    *link = tail.word();
                    return Term::cons_at(start);
                }
                *link = Term::cons_at(*top).word();
                place = tail.pointer();
            }
        }
        let header = Header::from_word(*place);
        std::ptr::copy_nonoverlapping(place, start, header.object_words());
        if header.has_off_heap_part() {
            adopt_copy(off_heap, NonNull::new_unchecked(start));
        }
        *top = start.add(header.object_words());
        Term::boxed_at(start)
    }
}
