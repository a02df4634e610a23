//! Short fragments that were freed by this thread, to be used again while they are in its cache.

use std::cell::Cell;
use std::ptr::{NonNull, null_mut};

use crate::Fragment;

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

/// See [`Fragment::keep_on_this_thread`].
pub(crate) fn set_most(most: u32) {
    KEPT.with(|kept| kept.most.set(most));
}

#[inline]
pub(crate) fn take(capacity: usize) -> Option<NonNull<Fragment>> {
    if capacity >= SIZES {
        return None;
    }
    KEPT.with(|kept| {
        let first = NonNull::new(kept.first[capacity].get())?;
        // SAFETY: a kept fragment has no other user, and its head is whole.
        kept.first[capacity].set(unsafe { first.as_ref() }.next());
        kept.count[capacity].set(kept.count[capacity].get() - 1);
        Some(first)
    })
}

/// Whether the fragment is kept, instead of freed.
///
/// # Safety
/// It has this capacity, and the caller gives it up.
#[inline]
pub(crate) unsafe fn keep(fragment: NonNull<Fragment>, capacity: usize) -> bool {
    if capacity >= SIZES {
        return false;
    }
    KEPT.with(|kept| {
        let count = kept.count[capacity].get();
        if count >= kept.most.get() {
            return false;
        }
        // SAFETY: the caller gives it up.
        unsafe { fragment.as_ref().set_next(kept.first[capacity].get()) };
        kept.first[capacity].set(fragment.as_ptr());
        kept.count[capacity].set(count + 1);
        true
    })
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
            set_most(0);
            Fragment::free(first);
            Fragment::free(second);
        }
    }
}
