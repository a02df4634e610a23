//! Two of the places where operations change what a term points to: the words of a binary that is being built, and the
//! bytes of fresh bitstrings.
#![allow(unsafe_code)]

use std::mem::MaybeUninit;
use std::ptr::NonNull;

use atoll_term::{Kind, OffHeapBinary, Term, Word};

/// Overwrites word `index` of a scanned object with a small integer. The object must be one that only its owner
/// can see: the sub-binary of a private append.
#[inline]
pub(crate) fn set_small(object: Term, index: usize, value: usize) {
    assert!(object.boxed_kind() == Some(Kind::SubBits) && index < object.header().arity());
    // SAFETY: the object has more than `index` words after its header, and one owner, the process that runs this.
    unsafe { *object.word_pointer(index) = Term::small(value as i64).word() };
}

/// Bytes that may be written: those of fresh heap bits or of the claimed end of a binary outside of the heap.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    first: NonNull<u8>,
    length: usize,
}

impl Room {
    /// No bytes.
    pub(crate) const EMPTY: Room = Room { first: NonNull::dangling(), length: 0 };

    /// The bytes of heap bits that nobody else has seen yet.
    #[inline]
    pub(crate) fn of_fresh_heap_bits(term: Term) -> Room {
        if term.boxed_kind() != Some(Kind::HeapBits) {
            return Room::EMPTY;
        }
        let length = term.bits().map_or(0, |bits| bits.byte_length());
        NonNull::new(term.underlying_bytes().cast_mut()).map_or(Room::EMPTY, |first| Room { first, length })
    }

    /// The bytes of free words, which are zeros then.
    #[inline(always)]
    pub(crate) fn of_free_words(words: &mut [MaybeUninit<Word>]) -> Room {
        words.fill(MaybeUninit::new(0));
        NonNull::new(words.as_mut_ptr().cast()).map_or(Room::EMPTY, |first| Room { first, length: size_of_val(words) })
    }

    /// The first `length` bytes of a binary that was made for this handle, which nobody else has seen yet.
    pub(crate) fn of_fresh_handle(handle: Term, length: usize) -> Room {
        handle.off_heap_binary().map_or(Room::EMPTY, |binary| Room::of_claimed(binary, length))
    }

    /// The first `length` bytes of a binary of which the caller owns those that it is going to write.
    pub(crate) fn of_claimed(binary: &OffHeapBinary, length: usize) -> Room {
        match NonNull::new(binary.data()) {
            Some(first) if length <= binary.capacity() => Room { first, length },
            _ => Room::EMPTY,
        }
    }

    /// The bytes from `from` to `to`; the caller says which of them it owns, and touches no others.
    #[inline]
    pub(crate) fn range(&mut self, from: usize, to: usize) -> &mut [u8] {
        assert!(from <= to && to <= self.length);
        // SAFETY: the room lies inside a live object of at least `length` bytes; `range` is given to their one
        // writer, and readers of the same object look only at bytes below those that the writer owns.
        unsafe { std::slice::from_raw_parts_mut(self.first.as_ptr().add(from), to - from) }
    }
}

/// The object that was built at the beginning of these words.
#[cfg(test)]
pub(crate) fn built_at(words: &mut [MaybeUninit<Word>]) -> Term {
    // SAFETY: tests build a whole object there, and keep the words for as long as they look at it.
    unsafe { Term::boxed_at(words.as_mut_ptr().cast()) }
}
