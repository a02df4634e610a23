//! Copying a term with its sharing kept: each object is found once, given its place in the copy, and marked.
//!
//! 1. Find: a queue of objects; each new one gets the next free place (a byte offset) and a mark.
//! 2. Copy: the objects of the queue in their order, each pointer replaced through the mark of what it leads to.
//! 3. Unmark.
//!
//! Terms of the sender's own heap are marked in place, in their first word, which the queue remembers: only the owner
//! reads them. Other terms, which several threads may read, are marked in a table. No recursion: a term may be a
//! million levels deep.

use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::ptr::NonNull;

use atoll_heap::Message;
use atoll_term::{Header, Term, WORD_BYTES, Word};

use super::Immovable;
use super::off_heap::adopt_copy;

/// An object that was found: the term that led there, and its first word.
#[derive(Clone, Copy)]
struct Found {
    term: Term,
    first: Word,
}

trait Marks {
    /// The offset of the object in the copy; if it has none yet, marks it with `offset`, and gives its first word.
    ///
    /// # Safety
    /// The term points to a whole object, or one marked here.
    unsafe fn find(&mut self, term: Term, offset: usize) -> Result<usize, Word>;

    /// Offset of an object that was found.
    ///
    /// # Safety
    /// The object was marked here.
    unsafe fn offset(&self, term: Term) -> usize;

    /// Takes the mark away.
    ///
    /// # Safety
    /// The object was marked here.
    unsafe fn unmark(&self, found: Found);
}

/// Marks in the objects' first words: for a cons the offset, whose low bits are 00 as no head's are; for a boxed
/// object the offset with low bits 10, as no header's are.
struct InPlace;

impl Marks for InPlace {
    #[inline(always)]
    unsafe fn find(&mut self, term: Term, offset: usize) -> Result<usize, Word> {
        let place = term.pointer();
        // SAFETY: the caller's term points to an object of ours.
        unsafe {
            let first = Term::from_word(*place);
            if first.is_header() == term.is_cons() {
                return Ok(first.pointer() as usize);
            }
            *place = offset as Word | if term.is_cons() { 0 } else { 0b10 };
            Err(first.word())
        }
    }

    #[inline(always)]
    unsafe fn offset(&self, term: Term) -> usize {
        // SAFETY: the object is marked.
        unsafe { Term::from_word(*term.pointer()).pointer() as usize }
    }

    #[inline(always)]
    unsafe fn unmark(&self, found: Found) {
        // SAFETY: the first word is given back as it was.
        unsafe { *found.term.pointer() = found.first }
    }
}

#[derive(Default)]
struct AddressHasher(u64);

impl Hasher for AddressHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_usize(usize::from(*byte));
        }
    }

    fn write_usize(&mut self, address: usize) {
        self.0 = (self.0 ^ address as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(26);
    }
}

#[derive(Default)]
struct Table(HashMap<usize, usize, BuildHasherDefault<AddressHasher>>);

impl Marks for Table {
    unsafe fn find(&mut self, term: Term, offset: usize) -> Result<usize, Word> {
        match self.0.entry(term.pointer() as usize) {
            std::collections::hash_map::Entry::Occupied(entry) => Ok(*entry.get()),
            std::collections::hash_map::Entry::Vacant(entry) => {
                entry.insert(offset);
                // SAFETY: the caller's term points to a whole object.
                Err(unsafe { *term.pointer() })
            }
        }
    }

    unsafe fn offset(&self, term: Term) -> usize {
        self.0.get(&(term.pointer() as usize)).copied().unwrap_or(0)
    }

    unsafe fn unmark(&self, _found: Found) {}
}

thread_local! {
    static QUEUE: RefCell<Vec<Found>> = const { RefCell::new(Vec::new()) };
}

/// Entries that a thread's queue keeps room for between sends.
const QUEUE_KEPT: usize = 1 << 14;

/// A fragment of exact size with a copy of the term. `own`: the term lies in memory that only this thread reads.
///
/// # Safety
/// The term is whole and a pointer out of the immovable range; with `own`, nobody else reads it meanwhile.
pub(crate) unsafe fn copy(root: Term, immovable: Immovable, own: bool) -> Message {
    let mut queue = QUEUE.take();
    // SAFETY: the caller vouches for the term.
    let fragment = unsafe {
        if own {
            copy_marked(root, immovable, &mut queue, &mut InPlace)
        } else {
            copy_marked(root, immovable, &mut queue, &mut Table::default())
        }
    };
    queue.clear();
    queue.shrink_to(QUEUE_KEPT);
    QUEUE.set(queue);
    fragment
}

unsafe fn copy_marked<M: Marks>(root: Term, immovable: Immovable, queue: &mut Vec<Found>, marks: &mut M) -> Message {
    // SAFETY: the caller vouches for the term.
    let bytes = unsafe { find(root, immovable, queue, marks) };
    let words = bytes / WORD_BYTES;
    let target = Message::new(words);
    let base = target.words();
    // SAFETY: this thread alone has the message, and fills these words below.
    let filled = unsafe { target.try_allocate(words) };
    debug_assert!(filled.is_some());
    let translate = |word: Word| {
        // SAFETY: the word is one of an object of the term, so it is a term.
        let term = unsafe { Term::from_word(word) };
        if !term.is_pointer() || immovable.contains(term) {
            return word;
        }
        // SAFETY: every object that is part of the term was marked with the place of its copy.
        unsafe { term.with_pointer(base.wrapping_byte_add(marks.offset(term))) }.word()
    };
    let mut top = base;
    let mut off_heap = std::ptr::null_mut();
    for found in queue.iter() {
        // SAFETY: the object is whole, and the message has room for the copies of all objects of the queue.
        top = unsafe { copy_object(found, top, &mut off_heap, translate) };
    }
    // SAFETY: the copies are whole, and the list has those with off-heap parts; all objects of the queue were marked.
    unsafe {
        target.replace_off_heap(off_heap);
        target.set_term(root.with_pointer(base.wrapping_byte_add(marks.offset(root))));
        for found in queue.iter() {
            marks.unmark(*found);
        }
    }
    target
}

/// Copies one object to `top`, with its terms translated, and puts a copy with an off-heap part on the list. Returns
/// the end of the copy.
///
/// # Safety
/// The object is whole except for its first word, which `found` has; there is room for its copy.
#[inline(always)]
unsafe fn copy_object(
    found: &Found,
    top: *mut Word,
    off_heap: &mut *mut Word,
    translate: impl Fn(Word) -> Word,
) -> *mut Word {
    let place = found.term.pointer();
    // SAFETY: the caller's obligation.
    unsafe {
        if found.term.is_cons() {
            *top = translate(found.first);
            *top.add(1) = translate(*place.add(1));
            return top.add(2);
        }
        let header = Header::from_word(found.first);
        *top = found.first;
        if header.is_opaque() {
            std::ptr::copy_nonoverlapping(place.add(1), top.add(1), header.arity());
            if header.has_off_heap_part() {
                adopt_copy(off_heap, NonNull::new_unchecked(top));
            }
        } else {
            for index in 1..header.object_words() {
                *top.add(index) = translate(*place.add(index));
            }
        }
        top.add(header.object_words())
    }
}

/// Finds and marks every object; gives the bytes of the copy.
unsafe fn find<M: Marks>(root: Term, immovable: Immovable, queue: &mut Vec<Found>, marks: &mut M) -> usize {
    let mut bytes = 0;
    let mut visit = |queue: &mut Vec<Found>, mut term: Term| {
        while term.is_pointer() && !immovable.contains(term) {
            // SAFETY: the term is part of the whole term.
            unsafe {
                let Err(first) = marks.find(term, bytes) else { return };
                queue.push(Found { term, first });
                if !term.is_cons() {
                    bytes += Header::from_word(first).object_words() * WORD_BYTES;
                    return;
                }
                // The spine of a list in one go.
                bytes += 2 * WORD_BYTES;
                term = Term::from_word(*term.pointer().add(1));
                if !term.is_cons() {
                    return;
                }
            }
        }
    };
    visit(queue, root);
    let mut next = 0;
    while let Some(found) = queue.get(next).copied() {
        next += 1;
        let place = found.term.pointer();
        // SAFETY: the object is whole but for its first word, which the queue holds.
        unsafe {
            if found.term.is_cons() {
                visit(queue, Term::from_word(found.first));
                visit(queue, Term::from_word(*place.add(1)));
                continue;
            }
            let header = Header::from_word(found.first);
            if !header.is_opaque() {
                for index in 1..header.object_words() {
                    visit(queue, Term::from_word(*place.add(index)));
                }
            }
        }
    }
    bytes
}
