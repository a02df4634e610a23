//! Lists of objects with off-heap parts, before and after objects move.

use std::ptr::NonNull;
use std::sync::Arc;

use atoll_heap::{link_off_heap, next_off_heap};
use atoll_term::{Header, Kind, MagicValue, OffHeapBinary, Term, WORD_BYTES, Word, release_off_heap_part};

use super::relocate::Move;

/// After a copy: hands the objects of a list that were copied to `kept`, and releases the others.
///
/// # Safety
/// All objects of the list lay in the collected space, which is still there; copied ones are forwarded.
pub(crate) unsafe fn sweep(mut list: *mut Word, mut kept: impl FnMut(NonNull<Word>)) {
    while let Some(object) = NonNull::new(list) {
        // SAFETY: a forwarded object's copy is whole; one that is not forwarded is itself whole, and dead.
        unsafe {
            let first = Term::from_word(*object.as_ptr());
            if first.is_header() {
                list = next_off_heap(object.as_ptr());
                release_off_heap_part(object);
            } else {
                let copy = first.pointer();
                list = next_off_heap(copy);
                kept(NonNull::new_unchecked(copy));
            }
        }
    }
}

/// Hands the objects of a list to `moved`, at their new places, after the run of words they lay in has moved.
///
/// # Safety
/// The objects lay in the run; at its new place are their copies.
pub(crate) unsafe fn each_moved(mut list: *mut Word, moving: &Move, mut moved: impl FnMut(NonNull<Word>)) {
    while !list.is_null() {
        let offset = (list as usize).wrapping_sub(moving.from as usize);
        debug_assert!(offset < moving.words * WORD_BYTES);
        // SAFETY: the object is whole at its new place, which is not null.
        unsafe {
            let place = moving.to.byte_add(offset);
            list = next_off_heap(place);
            moved(NonNull::new_unchecked(place));
        }
    }
}

/// Takes one more count of what a fresh copy of an object with an off-heap part refers to.
///
/// # Safety
/// `object` is a whole copy of such an object that lives.
pub(crate) unsafe fn retain(object: NonNull<Word>) {
    // SAFETY: the original owns a count, so what it refers to lives.
    unsafe {
        match Header::from_word(*object.as_ptr()).kind() {
            Kind::BinaryHandle => {
                if let Some(binary) = (*object.as_ptr().add(1) as *const OffHeapBinary).as_ref() {
                    binary.retain();
                }
            }
            _ => Arc::increment_strong_count(*object.as_ptr().add(3) as *const MagicValue),
        }
    }
}

/// Takes one more count of what a fresh copy of an object with an off-heap part refers to, and lists the copy.
///
/// # Safety
/// `object` is a whole copy of such an object that lives.
pub(crate) unsafe fn adopt_copy(list: &mut *mut Word, object: NonNull<Word>) {
    // SAFETY: as the caller's; a fresh copy is on no list.
    unsafe {
        retain(object);
        link_off_heap(list, object);
    }
}
