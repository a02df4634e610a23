//! Copying a term into the area: each object becomes an object of its own there, sharing is kept, and nothing of the
//! copy refers to a private heap (A2). What is immovable already stays where it is. No recursion: a term may be a
//! million levels deep.
//!
//! A term that certainly shares nothing inside is copied without marks (`common/sizing.rs`); in others each object of
//! the sender's heap carries its copy's address in its first word until the copy is whole.

use std::cell::RefCell;
use std::ptr::NonNull;

use atoll_term::{Header, Term, Word};
use treadmill::raw::RawMutator;

use super::area::Area;
use super::feedback;
use crate::common::sizing::unshared;
use crate::common::{Immovable, off_heap};

/// Copies of objects that were met before.
trait Met {
    /// The copy, if the object has one; otherwise its first word.
    ///
    /// # Safety
    /// The term points to an object of the sender's heap, whole or marked here.
    unsafe fn find(&self, term: Term) -> Result<Term, Word>;

    /// Notes the copy.
    ///
    /// # Safety
    /// As for `find`; the object has been copied.
    unsafe fn note(&mut self, term: Term, first: Word, copy: *mut Word);
}

/// For terms without sharing: no object is met twice.
struct Never;

impl Met for Never {
    #[inline(always)]
    unsafe fn find(&self, term: Term) -> Result<Term, Word> {
        // SAFETY: the object is whole.
        Err(unsafe { *term.pointer() })
    }

    #[inline(always)]
    unsafe fn note(&mut self, _term: Term, _first: Word, _copy: *mut Word) {}
}

/// Marks in first words: the copy's address, with low bits that no first word has there (00 for a cons, 10 for a boxed
/// object).
struct Marks<'a>(&'a mut Vec<(Term, Word)>);

impl Met for Marks<'_> {
    #[inline(always)]
    unsafe fn find(&self, term: Term) -> Result<Term, Word> {
        // SAFETY: the caller's term points to an object of the sender.
        let first = unsafe { Term::from_word(*term.pointer()) };
        if first.is_header() == term.is_cons() {
            // SAFETY: the first word of what was copied is where the copy lies.
            Ok(unsafe { term.with_pointer(first.pointer()) })
        } else {
            Err(first.word())
        }
    }

    #[inline(always)]
    unsafe fn note(&mut self, term: Term, first: Word, copy: *mut Word) {
        let mark = copy as Word | if term.is_cons() { 0 } else { 0b10 };
        // SAFETY: as above; the first word is remembered.
        unsafe { *term.pointer() = mark };
        self.0.push((term, first));
    }
}

thread_local! {
    static PENDING: RefCell<Vec<*mut Word>> = const { RefCell::new(Vec::new()) };
    static MARKED: RefCell<Vec<(Term, Word)>> = const { RefCell::new(Vec::new()) };
}

/// Entries that a thread's lists keep room for.
const KEPT: usize = 1 << 14;

/// A copy of the term in the area, and its words.
///
/// # Safety
/// The term is whole, a pointer out of the immovable range, and lies on a heap that only this thread reads.
pub(super) unsafe fn copy(area: &Area, mutator: &RawMutator, root: Term, immovable: Immovable) -> (Term, usize) {
    // SAFETY: as the caller says.
    unsafe {
        match area.feedback.is_asking() {
            true => copy_with::<true>(area, mutator, root, immovable),
            false => copy_with::<false>(area, mutator, root, immovable),
        }
    }
}

/// As [`copy`]; with `ASKING` it reports the sampled objects that it copies.
///
/// # Safety
/// As there.
unsafe fn copy_with<const ASKING: bool>(
    area: &Area,
    mutator: &RawMutator,
    root: Term,
    immovable: Immovable,
) -> (Term, usize) {
    let filter = if ASKING { feedback::filter() } else { 0 };
    let mut pending = PENDING.take();
    // SAFETY: the caller vouches for the term.
    let result = unsafe {
        if unshared(root, immovable).is_some() {
            Copy::<_, ASKING> { area, mutator, immovable, met: Never, pending: &mut pending, words: 0, filter }
                .run(root)
        } else {
            let mut marked = MARKED.take();
            let met = Marks(&mut marked);
            let result =
                Copy::<_, ASKING> { area, mutator, immovable, met, pending: &mut pending, words: 0, filter }.run(root);
            for (term, first) in marked.drain(..) {
                *term.pointer() = first;
            }
            marked.shrink_to(KEPT);
            MARKED.set(marked);
            result
        }
    };
    pending.shrink_to(KEPT);
    PENDING.set(pending);
    if ASKING {
        area.feedback.copied(result.1);
    }
    result
}

struct Copy<'a, M, const ASKING: bool> {
    area: &'a Area,
    mutator: &'a RawMutator,
    immovable: Immovable,
    met: M,
    /// Words of copies that still hold the originals of what they are to refer to.
    pending: &'a mut Vec<*mut Word>,
    words: usize,
    /// Objects that allocation sites have told of (`feedback.rs`), if they do.
    filter: u64,
}

impl<M: Met, const ASKING: bool> Copy<'_, M, ASKING> {
    /// An object of the sender is copied.
    #[inline(always)]
    fn came_upon(&self, term: Term) {
        let object = term.pointer() as usize;
        if ASKING && self.filter & feedback::bit(object) != 0 {
            self.area.feedback.found(object);
        }
    }

    unsafe fn run(mut self, root: Term) -> (Term, usize) {
        let mut root = root.word();
        self.pending.push(&raw mut root);
        while let Some(slot) = self.pending.pop() {
            // SAFETY: the slot holds a term of the sender, in a copy or in `root`.
            unsafe { *slot = self.object(Term::from_word(*slot)).word() };
        }
        // SAFETY: the root was replaced by its copy.
        (unsafe { Term::from_word(root) }, self.words)
    }

    /// A field of a copy: what it refers to is to be copied, or is in immovable memory.
    #[inline(always)]
    fn field(&mut self, slot: *mut Word, term: Term) {
        if !term.is_pointer() {
            return;
        }
        if !self.immovable.contains(term) {
            self.pending.push(slot);
        } else if let Some(object) = self.area.bounds.object(term) {
            self.mutator.barrier(object);
        }
    }

    #[inline(always)]
    unsafe fn object(&mut self, term: Term) -> Term {
        // SAFETY: the term is part of the sender's whole term.
        unsafe {
            let first = match self.met.find(term) {
                Ok(copy) => return copy,
                Err(first) => first,
            };
            if term.is_cons() {
                return self.list(term, first);
            }
            self.came_upon(term);
            let header = Header::from_word(first);
            let words = header.object_words();
            let copy = self.area.allocate(self.mutator, words, header.has_off_heap_part()).as_ptr();
            std::ptr::copy_nonoverlapping(term.pointer(), copy, words);
            self.words += words;
            self.met.note(term, first, copy);
            if header.has_off_heap_part() {
                off_heap::retain(NonNull::new_unchecked(copy));
            } else if !header.is_opaque() {
                for index in 1..words {
                    self.field(copy.add(index), Term::from_word(*copy.add(index)));
                }
            }
            Term::boxed_at(copy)
        }
    }

    /// The spine of a list in one go, into as many cells in a row as there are.
    unsafe fn list(&mut self, term: Term, first: Word) -> Term {
        // SAFETY: each cell is an unmarked cons of the sender; what `pairs` gives has room for so many cells, and
        // nothing else is allocated before they are taken.
        unsafe {
            let (start, mut count) = self.area.pairs(self.mutator);
            let start = start.as_ptr();
            let (mut cell, mut head, mut copy, mut taken) = (term, first, start, 0);
            loop {
                let tail = Term::from_word(*cell.pointer().add(1));
                *copy = head;
                taken += 1;
                self.came_upon(cell);
                self.met.note(cell, head, copy);
                self.field(copy, Term::from_word(head));
                let link = copy.add(1);
                let goes_on = tail.is_cons() && !self.immovable.contains(tail);
                let end = if goes_on { self.met.find(tail) } else { Ok(tail) };
                match end {
                    Err(next) => head = next,
                    Ok(end) => {
                        *link = end.word();
                        self.take(taken);
                        if !goes_on {
                            self.field(link, end);
                        }
                        return Term::cons_at(start);
                    }
                }
                copy = copy.add(2);
                if taken == count {
                    self.take(taken);
                    let (place, more) = self.area.pairs(self.mutator);
                    (copy, count, taken) = (place.as_ptr(), more, 0);
                }
                *link = Term::cons_at(copy).word();
                cell = tail;
            }
        }
    }

    /// # Safety
    /// So many pairs at least were given.
    unsafe fn take(&mut self, pairs: usize) {
        self.words += 2 * pairs;
        // SAFETY: as the caller's; all fields are written before this thread's next safepoint.
        unsafe { self.mutator.take_pairs(pairs) };
    }
}
