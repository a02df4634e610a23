//! Messages of a few words in one walk: the term is copied, breadth first, to a buffer on the native stack, in which
//! pointers are offsets yet, and from there to a fragment of exact size. What was met before is found in a short list,
//! so sharing is kept.

use std::mem::MaybeUninit;

use atoll_heap::Message;
use atoll_term::{Header, Kind, Term, WORD_BYTES, Word, is_pointer_among};

use super::Immovable;
use super::sizing::extent;

/// Words of the largest copy made here.
const WORDS: usize = 32;
/// Objects of which it consists at most.
const OBJECTS: usize = 8;

struct Small {
    words: [MaybeUninit<Word>; WORDS],
    used: usize,
    /// Bit n: word n is an offset into the copy, with a pointer's tag.
    pointers: u64,
    objects: [MaybeUninit<(*const Word, usize)>; OBJECTS],
    count: usize,
}

impl Small {
    /// The offset in words of an object's copy, which is made if there is none; `None` if it does not fit.
    ///
    /// # Safety
    /// The term is a pointer to a whole object.
    #[inline(always)]
    unsafe fn place(&mut self, term: Term) -> Option<usize> {
        let object = term.pointer();
        for known in &self.objects[..self.count] {
            // SAFETY: the first `count` are initialised.
            let (known, offset) = unsafe { known.assume_init() };
            if known == object {
                return Some(offset);
            }
        }
        // SAFETY: the object is whole.
        let (words, has_off_heap_part) = unsafe {
            let (words, ..) = extent(term);
            (words, !term.is_cons() && Header::from_word(*object).has_off_heap_part())
        };
        if words > WORDS - self.used || self.count == OBJECTS || has_off_heap_part {
            return None;
        }
        let offset = self.used;
        self.objects[self.count].write((object, offset));
        self.count += 1;
        for index in 0..words {
            // SAFETY: the object is whole.
            self.words[offset + index].write(unsafe { *object.add(index) });
        }
        self.used += words;
        Some(offset)
    }

    #[inline(always)]
    fn point(&mut self, slot: usize, term: Term, offset: usize) {
        // SAFETY: the bits are part of a message that is being laid out; nobody follows them before it is.
        self.words[slot].write(unsafe { term.with_pointer(std::ptr::without_provenance(offset * WORD_BYTES)) }.word());
        self.pointers |= 1 << slot;
    }
}

/// Words of the largest object that is copied without a buffer.
const FLAT_WORDS: usize = 8;

/// A copy of a cons or a tuple of up to four elements in which there is no pointer.
///
/// # Safety
/// As for [`copy`].
#[inline(always)]
pub(crate) unsafe fn copy_flat(root: Term) -> Option<Message> {
    // SAFETY: as the caller's; the object has as many words as are said.
    unsafe {
        if root.is_cons() {
            return copy_flat_words::<2>(root);
        }
        let header = Header::from_word(*root.pointer());
        if header.kind() != Kind::Tuple {
            return None;
        }
        match header.arity() {
            1 => copy_flat_words::<2>(root),
            2 => copy_flat_words::<3>(root),
            3 => copy_flat_words::<4>(root),
            4 => copy_flat_words::<5>(root),
            _ => None,
        }
    }
}

/// As [`copy_flat`], for an object of so many words: straight code, which is half of a loop's.
///
/// # Safety
/// The object is one of `WORDS` words, none of which is raw data.
#[inline(always)]
unsafe fn copy_flat_words<const WORDS: usize>(root: Term) -> Option<Message> {
    // SAFETY: the object is whole; the fragment is ours alone, and has room for it.
    unsafe {
        let words = *root.pointer().cast::<[Word; WORDS]>();
        if is_pointer_among(words) {
            return None;
        }
        let target = Message::new(WORDS);
        let start = target.try_allocate(WORDS)?.as_ptr();
        start.cast::<[Word; WORDS]>().write(words);
        target.set_term(root.with_pointer(start));
        Some(target)
    }
}

/// Whether there are pointers in a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refers {
    /// There are none.
    ToNothing,
    /// All of them lead to immovable objects.
    ToImmovable,
}

/// As [`copy`], for a cons or a short tuple that refers to nothing that has to be copied.
///
/// # Safety
/// The same.
#[inline(always)]
pub(crate) unsafe fn copy_alone(root: Term, immovable: Immovable) -> Option<(Message, Refers)> {
    let object = root.pointer();
    // SAFETY: the object is whole.
    unsafe {
        let words = if root.is_cons() {
            2
        } else {
            let header = Header::from_word(*object);
            if header.is_opaque() || header.has_off_heap_part() {
                return None;
            }
            header.object_words()
        };
        if words > FLAT_WORDS {
            return None;
        }
        let mut refers = Refers::ToNothing;
        for word in std::slice::from_raw_parts(object, words) {
            let field = Term::from_word(*word);
            if field.is_pointer() {
                if !immovable.contains(field) {
                    return None;
                }
                refers = Refers::ToImmovable;
            }
        }
        let target = Message::new(words);
        let start = target.try_allocate(words)?.as_ptr();
        for index in 0..words {
            *start.add(index) = *object.add(index);
        }
        target.set_term(root.with_pointer(start));
        Some((target, refers))
    }
}

/// A fragment with a copy of the term, if the copy is small, of few objects, and none of them has an off-heap part.
///
/// # Safety
/// The term is a pointer to a whole object out of the immovable range.
pub(crate) unsafe fn copy(root: Term, immovable: Immovable) -> Option<Message> {
    // SAFETY: as the caller's.
    unsafe {
        let alone = copy_alone(root, immovable).map(|(copy, _)| copy);
        alone.or_else(|| copy_of_several(root, immovable))
    }
}

/// As [`copy`], for a term of which [`copy_alone`] has made no copy.
///
/// # Safety
/// The same.
#[inline]
pub(crate) unsafe fn copy_of_several(root: Term, immovable: Immovable) -> Option<Message> {
    // SAFETY: as the caller's.
    unsafe { if has_long_list(root, immovable) { None } else { copy_in_buffer(root, immovable) } }
}

/// Whether a term, or an element of a short tuple, is a list of so many cells that the copy would be given up.
///
/// # Safety
/// As for [`copy`].
#[inline]
unsafe fn has_long_list(root: Term, immovable: Immovable) -> bool {
    // SAFETY: parts of a whole term are whole.
    unsafe {
        let is_long = |mut list: Term| {
            for _ in 0..=OBJECTS {
                if !list.is_cons() || immovable.contains(list) {
                    return false;
                }
                list = Term::from_word(*list.pointer().add(1));
            }
            true
        };
        if root.is_cons() {
            return is_long(root);
        }
        let header = Header::from_word(*root.pointer());
        let looks = header.kind() == Kind::Tuple && header.arity() < FLAT_WORDS;
        looks && (1..=header.arity()).any(|index| is_long(Term::from_word(*root.pointer().add(index))))
    }
}

/// As [`copy`], by way of the native stack.
///
/// # Safety
/// The same.
unsafe fn copy_in_buffer(root: Term, immovable: Immovable) -> Option<Message> {
    let mut small = Small {
        words: [const { MaybeUninit::uninit() }; WORDS],
        used: 0,
        pointers: 0,
        objects: [const { MaybeUninit::uninit() }; OBJECTS],
        count: 0,
    };
    // SAFETY: parts of a whole term are whole; the first `used` words of the buffer are initialised, and begin with
    // objects one after the other, so what is looked at is a term or a header.
    unsafe {
        small.place(root)?;
        let mut at = 0;
        while at < small.used {
            let word = Term::from_word(small.words[at].assume_init());
            if word.is_pointer() {
                if !immovable.contains(word) {
                    let offset = small.place(word)?;
                    small.point(at, word, offset);
                }
            } else if word.is_header() && Header::from_word(word.word()).is_opaque() {
                at += Header::from_word(word.word()).object_words();
                continue;
            }
            at += 1;
        }
        let target = Message::new(small.used);
        let start = target.try_allocate(small.used)?.as_ptr();
        std::ptr::copy_nonoverlapping(small.words.as_ptr().cast::<Word>(), start, small.used);
        let mut pointers = small.pointers;
        while pointers != 0 {
            *start.add(pointers.trailing_zeros() as usize) += start as Word;
            pointers &= pointers - 1;
        }
        target.set_term(root.with_pointer(start));
        Some(target)
    }
}

#[cfg(test)]
mod tests {
    use atoll_term::{Build, ScratchHeap};

    use super::*;

    fn copied(term: Term) -> Option<Message> {
        // SAFETY: the terms of the tests are whole, on a heap of their own.
        unsafe { copy(term, Immovable::NONE) }
    }

    #[test]
    fn what_is_met_twice_is_copied_once() {
        let mut heap = ScratchHeap::new();
        let part = heap.tuple(&[Term::small(1), Term::NIL]);
        let list = heap.list([part, part]);
        let message = copied(list).unwrap();
        let copy = message.term();
        assert_eq!(message.used(), 3 + 4);
        assert_eq!(copy.head(), copy.tail().head());
        assert_ne!(copy.head(), part);
        assert_eq!(copy.head().tuple_elements().unwrap(), [Term::small(1), Term::NIL]);
        assert!(copy.tail().tail().is_nil());
    }

    #[test]
    fn large_terms_and_those_of_many_objects_are_left_to_others() {
        let mut heap = ScratchHeap::new();
        let whole = heap.tuple(&[Term::NIL; WORDS - 1]);
        assert_eq!(copied(whole).map(|message| message.used()), Some(WORDS));
        let longer = heap.tuple(&[Term::NIL; WORDS]);
        assert!(copied(longer).is_none());
        let list = heap.list((0..OBJECTS as i64).map(Term::small));
        assert_eq!(copied(list).map(|message| message.used()), Some(2 * OBJECTS));
        let longer = heap.cons(Term::NIL, list);
        assert!(copied(longer).is_none());
    }
}
