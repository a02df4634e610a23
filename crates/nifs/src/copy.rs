//! A copy of a term with all its parts, literals too, which shares inside what the term shares. It needs nothing of the
//! architecture, so its memory can be any.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::ptr::NonNull;
use std::sync::Arc;

use atoll_term::{Allocate, Header, Kind, MagicValue, OffHeapBinary, Term, Word};

/// Objects are told apart by their addresses, whose bits are mixed once.
#[derive(Default)]
struct AddressHasher(u64);

impl Hasher for AddressHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u64(&mut self, word: u64) {
        let mixed = (self.0 ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ (mixed >> 32);
    }
}

/// Words of copies that are still those of the original.
struct Part {
    first: *mut Word,
    count: usize,
}

struct Copying<'h, H: Allocate + ?Sized> {
    heap: &'h mut H,
    copies: HashMap<Word, Term, BuildHasherDefault<AddressHasher>>,
    parts: Vec<Part>,
}

/// A copy of `term` on `heap`.
pub fn copy<H: Allocate + ?Sized>(term: Term, heap: &mut H) -> Term {
    if term.is_immediate() {
        return term;
    }
    let mut copying = Copying { heap, copies: HashMap::default(), parts: Vec::new() };
    let copied = copying.object(term);
    while let Some(part) = copying.parts.pop() {
        for index in 0..part.count {
            // SAFETY: the words are those of a copy, of which none has been looked at; they are terms.
            unsafe {
                let place = part.first.add(index);
                let word = Term::from_word(*place);
                if word.is_pointer() {
                    *place = copying.object(word).word();
                }
            }
        }
    }
    copied
}

impl<H: Allocate + ?Sized> Copying<'_, H> {
    /// The copy of an object, whose parts are still those of the original.
    fn object(&mut self, term: Term) -> Term {
        if let Some(copied) = self.copies.get(&term.word()) {
            return *copied;
        }
        let (from, is_cons) = (term.pointer(), term.is_cons());
        // SAFETY: the term is whole: two words, or a header and as many words as it says. The new object has the same
        // words, and counts of its own of what it holds outside of heaps.
        let copied = unsafe {
            let header = Header::from_word(*from);
            let words = if is_cons { 2 } else { header.object_words() };
            let room = self.heap.allocate(words);
            std::ptr::copy_nonoverlapping(from, room.as_ptr(), words);
            if is_cons {
                self.parts.push(Part { first: room.as_ptr(), count: 2 });
            } else if header.has_off_heap_part() {
                retain(room);
                self.heap.adopt(room);
            } else if !header.is_opaque() {
                self.parts.push(Part { first: room.as_ptr().add(1), count: header.arity() });
            }
            term.with_pointer(room.as_ptr())
        };
        self.copies.insert(term.word(), copied);
        copied
    }
}

/// Takes a count of what an object holds outside of heaps.
///
/// # Safety
/// It is the header of a whole object with such a part.
unsafe fn retain(object: NonNull<Word>) {
    // SAFETY: the caller's obligation; the words are those of the object's kind.
    unsafe {
        match Header::from_word(*object.as_ptr()).kind() {
            Kind::BinaryHandle => (*(*object.as_ptr().add(1) as *const OffHeapBinary)).retain(),
            _ => Arc::increment_strong_count(*object.as_ptr().add(3) as *const MagicValue),
        }
    }
}

#[cfg(test)]
mod tests {
    use atoll_term::{Build, ScratchHeap, exactly_equal};

    use super::*;

    #[test]
    fn a_copy_is_equal_shares_what_was_shared_and_outlives_the_original() {
        let mut to = ScratchHeap::new();
        let copied = {
            let mut from = ScratchHeap::new();
            let shared = from.tuple(&[Term::small(1), Term::small(2)]);
            let mut term = shared;
            for _ in 0..60 {
                term = from.cons(term, term);
            }
            let binary = from.binary(&[7; 100]);
            let part = from.part_of_bits(binary, 8, 80);
            let big = from.unsigned(u64::MAX);
            let all = from.tuple(&[term, part, big, binary]);
            let copied = copy(all, &mut to);
            assert_eq!(copied.tuple_elements().map(<[Term]>::len), Some(4));
            let elements = copied.tuple_elements().expect("a tuple");
            assert_eq!(elements[0].head(), elements[0].tail(), "what is shared is copied once");
            assert!(exactly_equal(elements[1], part) && exactly_equal(elements[2], big));
            assert_eq!(binary.off_heap_binary().map(OffHeapBinary::owners), Some(2));
            copied
        };
        let elements = copied.tuple_elements().expect("a tuple");
        assert_eq!(elements[3].off_heap_binary().map(OffHeapBinary::owners), Some(1));
        assert_eq!(elements[3].bits().map(|bits| bits.byte(99)), Some(7));
    }
}
