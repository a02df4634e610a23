//! Short fragments that were freed by this thread, to be used again while they are in its cache.

use std::cell::Cell;
use std::marker::PhantomData;
use std::ptr::{NonNull, null_mut};

use crate::{Fragment, Message};

/// Capacities in words of which some are kept.
const SIZES: usize = 9;

struct Kept {
    /// Linked by `next`.
    first: [Cell<*mut Fragment>; SIZES],
    count: [Cell<u32>; SIZES],
    most: Cell<u32>,
}

thread_local! {
    static KEPT: Kept = const {
        Kept { first: [const { Cell::new(null_mut()) }; SIZES], count: [const { Cell::new(0) }; SIZES], most: Cell::new(0) }
    };
}

/// Calls `use_it` with this thread's, in place: `LocalKey::with` is written in place for the shortest functions alone.
#[inline(always)]
fn with_kept<R>(use_it: impl FnOnce(&Kept) -> R) -> R {
    let kept = KEPT.with(std::ptr::from_ref);
    // SAFETY: the memory is there until the thread ends, and has no destructor.
    use_it(unsafe { &*kept })
}

/// See [`Fragment::keep_on_this_thread`].
pub(crate) fn set_most(most: u32) {
    with_kept(|kept| kept.most.set(most));
}

#[inline(always)]
pub(crate) fn take(capacity: usize) -> Option<NonNull<Fragment>> {
    if capacity >= SIZES {
        return None;
    }
    with_kept(|kept| {
        let first = NonNull::new(kept.first[capacity].get())?;
        // SAFETY: a kept fragment has no other user, and its head is whole.
        kept.first[capacity].set(unsafe { first.as_ref() }.next());
        kept.count[capacity].set(kept.count[capacity].get() - 1);
        Some(first)
    })
}

/// Room for one more fragment of this capacity among those that this thread keeps.
#[derive(Debug)]
pub struct RoomToKeep {
    capacity: usize,
    /// It is this thread's.
    here: PhantomData<*const ()>,
}

impl RoomToKeep {
    /// Room for a fragment of this capacity, if there is some.
    #[inline(always)]
    pub fn of(capacity: usize) -> Option<RoomToKeep> {
        let is_there = capacity < SIZES && with_kept(|kept| kept.count[capacity].get() < kept.most.get());
        is_there.then_some(RoomToKeep { capacity, here: PhantomData })
    }

    /// As [`Message::free_empty`], without a call, for a message of this capacity.
    ///
    /// # Panics
    /// The message is one of those that are never kept.
    #[inline(always)]
    pub fn keep(self, message: Message) {
        debug_assert!(!message.has_body() && message.off_heap().is_null());
        debug_assert_eq!(message.capacity(), self.capacity);
        let capacity = message.capacity();
        assert!(capacity < SIZES);
        // SAFETY: the message has this capacity, and is given up.
        unsafe { put(message.into_raw(), capacity) };
    }
}

/// # Safety
/// The fragment has this capacity, of which some are kept, and the caller gives it up.
#[inline(always)]
unsafe fn put(fragment: NonNull<Fragment>, capacity: usize) {
    with_kept(|kept| {
        // SAFETY: the caller gives it up.
        unsafe { fragment.as_ref().set_next(kept.first[capacity].get()) };
        kept.first[capacity].set(fragment.as_ptr());
        kept.count[capacity].set(kept.count[capacity].get() + 1);
    });
}

/// Whether the fragment is kept, instead of freed.
///
/// # Safety
/// It has this capacity, and the caller gives it up.
#[inline]
pub(crate) unsafe fn keep(fragment: NonNull<Fragment>, capacity: usize) -> bool {
    let room = RoomToKeep::of(capacity).is_some();
    if room {
        // SAFETY: as the caller's.
        unsafe { put(fragment, capacity) };
    }
    room
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fragment_freed_last_is_used_first_and_long_ones_are_not_kept() {
        let (first, second) = (Fragment::new(3), Fragment::new(3));
        // SAFETY: the fragments are new, and used by nobody else.
        unsafe {
            assert!(!keep(first, 3), "threads keep nothing unless they ask for it");
            set_most(1);
            assert!(keep(first, 3));
            assert!(!keep(second, 3), "one was asked for");
            assert!(!keep(second, SIZES));
            assert_eq!(take(3), Some(first));
            assert_eq!(take(3), None);
            RoomToKeep::of(3).unwrap().keep(Message::from_raw(first));
            assert!(RoomToKeep::of(3).is_none() && RoomToKeep::of(SIZES).is_none());
            assert_eq!(take(3), Some(first));
            set_most(0);
            Fragment::free(first);
            Fragment::free(second);
        }
    }
}
