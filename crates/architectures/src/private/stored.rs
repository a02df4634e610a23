//! Terms that belong to no process: a copy when they are stored, and a copy for each reader.

use std::ptr::NonNull;

use atoll_heap::{Fragment, Mutator, each_off_heap};
use atoll_term::{Allocate, Term};

use super::send;
use crate::common::relocate::Move;
use crate::common::{Immovable, message, off_heap};

/// A copy of all of the term: literals too, because their code may be purged while the copy lives.
pub(super) fn store(term: Term) -> NonNull<Fragment> {
    // SAFETY: nothing is marked, because several threads may read literals.
    unsafe { message::by_copy(term, Immovable::NONE, false) }.into_raw()
}

/// A copy on the reader's heap. A whole term is one run of words that moves as it is.
pub(super) fn fetch(reader: &mut Mutator, stored: &Fragment, part: Term) -> Term {
    if part != stored.term() {
        return fetch_part(reader, part);
    }
    let words = stored.used();
    if words == 0 {
        return part;
    }
    let room = reader.allocate(words);
    let moving = Move { from: stored.words(), words, to: room.as_ptr() };
    // SAFETY: the fragment consists of whole objects, and there is room for them; copies of objects with off-heap parts
    // take counts of their own.
    unsafe {
        moving.copy();
        each_off_heap(stored.off_heap(), &mut |object| {
            let offset = object.as_ptr().offset_from_unsigned(stored.words());
            let copy = room.add(offset);
            off_heap::retain(copy);
            reader.adopt(copy);
        });
    }
    // SAFETY: the copy is whole.
    unsafe { Term::from_word(moving.shifted(part.word())) }
}

fn fetch_part(reader: &mut Mutator, part: Term) -> Term {
    // SAFETY: nothing is marked, because several threads may read what is stored.
    let copy = unsafe { message::by_copy(part, Immovable::NONE, false) };
    send::receive(reader, &copy);
    let term = copy.term();
    send::keep_fragment(reader, copy);
    term
}
