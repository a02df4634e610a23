//! Copying a term into the area: each object becomes an object of its own there, sharing is kept, and nothing of the
//! copy refers to a private heap (A2). What is immovable already stays where it is. No recursion: a term may be a
//! million levels deep.
//!
//! The beginning of a list, as long as its elements need no copies, is copied in one pass. A rest or another term that
//! certainly shares nothing inside is copied without marks (`common/sizing.rs`); in others each object of the sender's
//! heap carries its copy's address in its first word until the copy is whole.

use std::cell::RefCell;
use std::ptr::NonNull;

use atoll_heap::Mutator;
use atoll_term::{Header, Term, WORD_BYTES, Word};
use treadmill::raw::RawMutator;

use super::area::Area;
use super::feedback;
use crate::common::sizing::{Run, unshared};
use crate::common::{Immovable, off_heap};
use crate::private::keep_helpers_away;

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
/// Cells of a list that are fetched in front of the one that is copied, if they lie in a row.
const AHEAD: usize = 48;
/// Words of the longest object that [`flat`] copies.
const FLAT_WORDS: usize = 16;
/// Bytes of a cell of a list.
const CELL: usize = 2 * WORD_BYTES;

/// A copy of the term in the area, and its words. `tells`: the sites of its objects hear of it.
///
/// # Safety
/// The term is whole, a pointer out of the immovable range, and lies on the heap of `owner`, which this thread runs.
pub(super) unsafe fn copy(
    area: &Area,
    mutator: &RawMutator,
    owner: &Mutator,
    root: Term,
    immovable: Immovable,
    tells: bool,
) -> (Term, usize) {
    // SAFETY: as the caller says.
    unsafe {
        match tells && area.feedback.is_asking() {
            true => copy_with::<true>(area, mutator, owner, root, immovable),
            false => copy_with::<false>(area, mutator, owner, root, immovable),
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
    owner: &Mutator,
    root: Term,
    immovable: Immovable,
) -> (Term, usize) {
    // SAFETY: as the caller says.
    if let Some(result) = unsafe { flat::<ASKING>(area, mutator, root, immovable) } {
        if ASKING {
            area.feedback.copied(result.1);
        }
        return result;
    }
    let mut pending = PENDING.take();
    // SAFETY: the caller vouches for the term. A term has no cycles, so what is behind the first cells of a list does
    // not refer to them: they share nothing with it, and it is a term like any other.
    let result = unsafe {
        let mut plain = Copy::<_, ASKING> { area, mutator, immovable, met: Never, pending: &mut pending, words: 0 };
        match root.is_cons().then(|| plain.plain_cells(root)).flatten() {
            Some(Cells { copy, link, rest }) if !rest.is_pointer() || immovable.contains(rest) => {
                *link = rest.word();
                plain.field(link, rest);
                (copy, plain.words)
            }
            Some(Cells { copy, link, rest }) => {
                let before = plain.words;
                let (rest, words) = copy_any::<ASKING>(area, mutator, owner, rest, immovable, &mut pending);
                *link = rest.word();
                (copy, before + words)
            }
            None => copy_any::<ASKING>(area, mutator, owner, root, immovable, &mut pending),
        }
    };
    pending.shrink_to(KEPT);
    PENDING.set(pending);
    if ASKING {
        area.feedback.copied(result.1);
    }
    result
}

/// As [`copy_with`], for a short object whose elements need no copies, as rows of tables often are; `None` for others.
///
/// # Safety
/// As there.
#[inline(always)]
unsafe fn flat<const ASKING: bool>(
    area: &Area,
    mutator: &RawMutator,
    root: Term,
    immovable: Immovable,
) -> Option<(Term, usize)> {
    if root.is_cons() {
        return None;
    }
    let object = root.pointer();
    // SAFETY: the object is whole, and lies on the heap of a process that this thread runs; the copy has room for as
    // many words.
    unsafe {
        let header = Header::from_word(*object);
        let words = header.object_words();
        if words > FLAT_WORDS || header.is_opaque() || header.has_off_heap_part() {
            return None;
        }
        let fields = (1..words).map(|index| Term::from_word(*object.add(index)));
        if fields.clone().any(|field| field.is_pointer() && !immovable.contains(field)) {
            return None;
        }
        if ASKING && feedback::may_be_known(object as usize) {
            area.feedback.found(object as usize);
        }
        let copy = area.allocate(mutator, words, false).as_ptr();
        for index in 0..words {
            *copy.add(index) = *object.add(index);
        }
        for field in fields.filter(|field| field.is_pointer()) {
            if let Some(part) = area.bounds.object(field) {
                mutator.barrier(part);
            }
        }
        Some((Term::boxed_at(copy), words))
    }
}

/// As [`copy_with`], without a look at the beginning of a list.
///
/// # Safety
/// As there.
unsafe fn copy_any<const ASKING: bool>(
    area: &Area,
    mutator: &RawMutator,
    owner: &Mutator,
    root: Term,
    immovable: Immovable,
    pending: &mut Vec<*mut Word>,
) -> (Term, usize) {
    // SAFETY: the caller vouches for the term.
    unsafe {
        if let Some(unshared) = unshared(root, immovable) {
            // Where the whole term lies is known: its objects need not be looked up one by one.
            if let Some(runs) = unshared.runs.filter(|_| ASKING) {
                area.feedback.found_within(&runs.map(|run| run.start..run.end));
                return Copy::<_, false> { area, mutator, immovable, met: Never, pending, words: 0 }.run(root);
            }
            return Copy::<_, ASKING> { area, mutator, immovable, met: Never, pending, words: 0 }.run(root);
        }
        // Nobody else may read what is marked.
        let _away = keep_helpers_away(owner);
        let mut marked = MARKED.take();
        let met = Marks(&mut marked);
        let result = Copy::<_, ASKING> { area, mutator, immovable, met, pending, words: 0 }.run(root);
        for (term, first) in marked.drain(..) {
            *term.pointer() = first;
        }
        marked.shrink_to(KEPT);
        MARKED.set(marked);
        result
    }
}

/// The first cells of a list.
struct Cells {
    /// Their copies.
    copy: Term,
    /// What is to refer to the copy of the rest.
    link: *mut Word,
    rest: Term,
}

struct Copy<'a, M, const ASKING: bool> {
    area: &'a Area,
    mutator: &'a RawMutator,
    immovable: Immovable,
    met: M,
    /// Words of copies that still hold the originals of what they are to refer to.
    pending: &'a mut Vec<*mut Word>,
    words: usize,
}

impl<M: Met, const ASKING: bool> Copy<'_, M, ASKING> {
    /// An object of the sender is copied.
    #[inline(always)]
    fn came_upon(&self, term: Term) {
        let object = term.pointer() as usize;
        if ASKING && feedback::may_be_known(object) {
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

    /// Copies the first cells of a list, as long as their elements need no copies. `None`: there is no such cell. Cells
    /// are met once each, however they are shared, because a list is a chain.
    unsafe fn plain_cells(&mut self, list: Term) -> Option<Cells> {
        let needs_copy = |term: Term, immovable: &Immovable| term.is_pointer() && !immovable.contains(term);
        // SAFETY: as for `list`. The link that is given back is written by the caller before anything else reads it.
        unsafe {
            let mut head = Term::from_word(*list.pointer());
            if needs_copy(head, &self.immovable) {
                return None;
            }
            let (start, mut count) = self.area.pairs(self.mutator);
            let start = start.as_ptr();
            let (mut cell, mut copy, mut taken) = (list, start, 0);
            let mut run = Run::of_cell(cell);
            let (link, rest) = loop {
                let tail = Term::from_word(*cell.pointer().add(1));
                *copy = head.word();
                taken += 1;
                self.field(copy, head);
                if ASKING && !run.extend_by_cell(cell) {
                    self.came_upon_run(run);
                    run = Run::of_cell(cell);
                }
                let link = copy.add(1);
                if !tail.is_cons() || self.immovable.contains(tail) {
                    break (link, tail);
                }
                let distance = (tail.pointer() as usize).wrapping_sub(cell.pointer() as usize);
                treadmill::prefetch(tail.pointer().wrapping_byte_add(distance.wrapping_mul(AHEAD)).cast());
                head = Term::from_word(*tail.pointer());
                if needs_copy(head, &self.immovable) {
                    break (link, tail);
                }
                copy = copy.add(2);
                if taken == count {
                    self.take(taken);
                    let (place, more) = self.area.pairs(self.mutator);
                    (copy, count, taken) = (place.as_ptr(), more, 0);
                }
                *link = Term::cons_at(copy).word();
                cell = tail;
            };
            *link = Term::NIL.word();
            self.take(taken);
            self.came_upon_run(run);
            Some(Cells { copy: Term::cons_at(start), link, rest })
        }
    }

    /// All cells of a run are copied.
    fn came_upon_run(&self, run: Run) {
        const FEW: usize = 4 * CELL;
        if !ASKING {
            return;
        }
        if run.end - run.start > FEW {
            return self.area.feedback.found_within(std::slice::from_ref(&(run.start..run.end)));
        }
        let may_be_known = |cell: &usize| feedback::may_be_known(*cell);
        (run.start..run.end).step_by(CELL).filter(may_be_known).for_each(|cell| self.area.feedback.found(cell));
    }

    /// # Safety
    /// So many pairs at least were given.
    unsafe fn take(&mut self, pairs: usize) {
        self.words += 2 * pairs;
        // SAFETY: as the caller's; all fields are written before this thread's next safepoint.
        unsafe { self.mutator.take_pairs(pairs) };
    }
}
