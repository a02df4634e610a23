//! Terms that belong to no process (rows of tables): a fragment with a pointer into the area for each. They are roots of the
//! area, on many lists, so that a cycle holds a list's lock for a moment only, and threads seldom meet.
//!
//! A fragment without words has no use for its link and its signal: they are the links of its list.

use std::ptr::{NonNull, null_mut};
use std::sync::{Mutex, MutexGuard};

use atoll_heap::Fragment;
use atoll_term::Term;

use crate::common::message;

/// Lists.
pub(super) const SHARDS: usize = 1024;

/// The first fragment of a list.
struct Head(*mut Fragment);

// SAFETY: the fragments are reached under the list's lock alone, or by the one owner of each, who reads its term.
unsafe impl Send for Head {}

/// The roots that stored terms are.
pub(super) struct StoredTerms(Box<[Mutex<Head>]>);

fn lock(list: &Mutex<Head>) -> MutexGuard<'_, Head> {
    list.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

impl StoredTerms {
    pub(super) fn new() -> StoredTerms {
        StoredTerms((0..SHARDS).map(|_| Mutex::new(Head(null_mut()))).collect())
    }

    fn list(&self, fragment: *const Fragment) -> MutexGuard<'_, Head> {
        let mixed = (fragment as usize >> 4).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        lock(&self.0[mixed >> 48 & (SHARDS - 1)])
    }

    /// Keeps a term: an immediate, a literal or a pointer into the area.
    pub(super) fn store(&self, term: Term) -> NonNull<Fragment> {
        let stored = message::by_reference(term);
        if term.is_pointer() {
            let fragment = stored.as_ptr();
            let mut head = self.list(fragment);
            // SAFETY: the new fragment is ours, and the list is locked.
            unsafe {
                (*fragment).next = head.0;
                if !head.0.is_null() {
                    (*head.0).signal = fragment.cast();
                }
            }
            head.0 = fragment;
        }
        stored
    }

    /// Frees what [`StoredTerms::store`] made.
    ///
    /// # Safety
    /// Nobody uses it any more.
    pub(super) unsafe fn discard(&self, stored: NonNull<Fragment>) {
        let fragment = stored.as_ptr();
        // SAFETY: the caller gives the fragment up; its neighbours are on the same list, which is locked. One with an immediate
        // is on no list.
        unsafe {
            if (*fragment).term.is_pointer() {
                let mut head = self.list(fragment);
                let (before, behind) = ((*fragment).signal.cast::<Fragment>(), (*fragment).next);
                if !behind.is_null() {
                    (*behind).signal = before.cast();
                }
                if before.is_null() {
                    head.0 = behind;
                } else {
                    (*before).next = behind;
                }
            }
            Fragment::free(stored);
        }
    }

    /// Visits the terms on one list.
    pub(super) fn each(&self, shard: usize, visit: &mut dyn FnMut(Term)) {
        let head = lock(&self.0[shard]);
        let mut next = head.0;
        // SAFETY: the fragments of a locked list live; owners only read their terms meanwhile.
        while let Some(fragment) = unsafe { next.as_ref() } {
            visit(fragment.term);
            next = fragment.next;
        }
    }
}
