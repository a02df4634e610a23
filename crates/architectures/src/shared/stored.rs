//! Terms that belong to no process (rows of tables): a fragment with a pointer for each, which is a root. Those whose
//! terms the next minor collection does not concern are kept apart, so that it does not look at them: a table that does
//! not change costs minor collections nothing.
//!
//! A fragment without words has no use for its link and its signal: they are the links of its list. There are several
//! pairs of lists, so that threads seldom meet at a lock. A row that replaces another takes over its place, without the
//! lock, if minor collections visit that.

use std::ptr::{NonNull, null_mut};
use std::sync::{Mutex, MutexGuard};

use atoll_heap::{Fragment, Message};
use atoll_term::Term;

use crate::common::message;
use crate::common::turns::Turns;

const SHARDS: usize = 64;
/// In a fragment's number: it is on the list of those that minor collections do not visit.
const OLD: usize = SHARDS;

struct Lists {
    /// Those that the next minor collection visits.
    young: *mut Fragment,
    /// Others.
    old: *mut Fragment,
}

// SAFETY: a thread reaches the fragments under the lists' lock alone, or owns the one whose term it reads.
unsafe impl Send for Lists {}

/// The roots that stored terms are.
pub(super) struct StoredTerms {
    lists: [Mutex<Lists>; SHARDS],
    turns: Turns,
}

impl std::fmt::Debug for StoredTerms {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("StoredTerms")
    }
}

fn lock(lists: &Mutex<Lists>) -> MutexGuard<'_, Lists> {
    lists.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

fn previous(fragment: *mut Fragment) -> *mut Fragment {
    // SAFETY: callers pass a fragment of a list whose lock they hold.
    unsafe { (*fragment).previous().get() }
}

/// Puts a fragment that is on no list at the head of one.
///
/// # Safety
/// The caller holds the list's lock, and the fragment lives.
unsafe fn link(head: &mut *mut Fragment, fragment: *mut Fragment) {
    // SAFETY: as the caller's.
    unsafe {
        (*fragment).set_next(*head);
        (*fragment).previous().set(null_mut());
        if !(*head).is_null() {
            (**head).previous().set(fragment);
        }
    }
    *head = fragment;
}

impl StoredTerms {
    pub(super) fn new() -> StoredTerms {
        let empty = [const { Mutex::new(Lists { young: null_mut(), old: null_mut() }) }; SHARDS];
        StoredTerms { lists: empty, turns: Turns::new() }
    }

    /// A fragment for a term.
    pub(super) fn hold(term: Term) -> NonNull<Fragment> {
        message::by_reference(term).into_raw()
    }

    /// Puts a fragment on a list. One with an immediate is on none.
    ///
    /// # Safety
    /// [`StoredTerms::hold`] made it, and it was not linked before.
    pub(super) unsafe fn link(&self, stored: NonNull<Fragment>) {
        // SAFETY: the new fragment is the caller's, the lists are locked.
        unsafe {
            if !stored.as_ref().term().is_pointer() {
                return;
            }
            let number = self.turns.take(SHARDS);
            let mut lists = lock(&self.lists[number]);
            stored.as_ref().list_number().set(number);
            link(&mut lists.young, stored.as_ptr());
        }
    }

    /// See [`atoll_heap::Architecture::replace_stored`].
    ///
    /// # Safety
    /// As there.
    pub(super) unsafe fn replace(&self, stored: NonNull<Fragment>, with: NonNull<Fragment>) -> bool {
        // SAFETY: both are the caller's.
        unsafe {
            let (old, new) = (stored.as_ref(), with.as_ref());
            if !old.term().is_pointer() || !new.term().is_pointer() || old.list_number().get() >= OLD {
                return false;
            }
            old.take_term(new);
            Message::from_raw(with).free_empty();
        }
        true
    }

    /// Frees what [`StoredTerms::hold`] made and [`StoredTerms::link`] linked.
    ///
    /// # Safety
    /// Nobody uses it any more.
    pub(super) unsafe fn discard(&self, stored: NonNull<Fragment>) {
        let fragment = stored.as_ptr();
        // SAFETY: the caller gives the fragment up; its neighbours are on the same list, which is locked. One on no
        // list has no neighbours and is no head.
        unsafe {
            let mut lists = lock(&self.lists[(*fragment).list_number().replace(0) % SHARDS]);
            let (before, behind) = (previous(fragment), (*fragment).next());
            if !behind.is_null() {
                (*behind).previous().set(before);
            }
            if !before.is_null() {
                (*before).set_next(behind);
            } else if lists.young == fragment {
                lists.young = behind;
            } else if lists.old == fragment {
                lists.old = behind;
            }
            drop(lists);
            (*fragment).previous().set(null_mut());
            Message::from_raw(stored).free_empty();
        }
    }

    /// Visits the terms that a minor collection concerns, or all. The world is stopped.
    pub(super) fn each(&self, all: bool, visit: &mut dyn FnMut(*mut Term)) {
        for lists in &self.lists {
            let lists = lock(lists);
            for head in [Some(lists.young), all.then_some(lists.old)].into_iter().flatten() {
                let mut next = head;
                // SAFETY: the fragments of a locked list live.
                while let Some(fragment) = unsafe { next.as_ref() } {
                    visit(fragment.term_place());
                    next = fragment.next();
                }
            }
        }
    }

    /// After a collection: sorts the terms anew. `is_young`: whether a minor collection concerns a term. `all`: those
    /// that the last minor collection did not concern may be young now.
    pub(super) fn sort(&self, all: bool, is_young: impl Fn(Term) -> bool) {
        for lists in &self.lists {
            let mut lists = lock(lists);
            let mut young = std::mem::replace(&mut lists.young, null_mut());
            let mut old = if all { std::mem::replace(&mut lists.old, null_mut()) } else { null_mut() };
            for next in [&mut young, &mut old] {
                // SAFETY: the fragments of a locked list live; each is taken off one list before it is put on another.
                while let Some(fragment) = unsafe { next.as_ref() } {
                    *next = fragment.next();
                    let Lists { young, old } = &mut *lists;
                    let (head, age) = if is_young(fragment.term()) { (young, 0) } else { (old, OLD) };
                    // SAFETY: as above.
                    unsafe {
                        let number = fragment.list_number();
                        number.set(number.get() % SHARDS + age);
                        link(head, std::ptr::from_ref(fragment).cast_mut());
                    }
                }
            }
        }
    }
}
