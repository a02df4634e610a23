//! Terms that belong to no process (rows of tables): a fragment with a pointer for each, for collectors that work while
//! processes run. They are roots, on many lists, so that a cycle holds a list's lock for a moment only, and threads
//! seldom meet. What is stored stands first on its list, so that a cycle can visit those alone that are new since the
//! last one.
//!
//! A fragment without words has no use for its link and its signal, which are the links of its list, nor for the number
//! of words in use, which says whether a process may hold the term, nor for the list of objects with off-heap parts:
//! that is the list's number, with the number of its visits before the fragment came.
//!
//! A row that replaces another takes over its place on the list, without the list's lock, unless a visit began since
//! the other came: the next visit may be one of what is new alone. A visit that begins at the same moment belongs to a
//! cycle that the thread knows of, so that the new term was greyed, and is marked when that next visit comes.

use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};

use atoll_heap::{Fragment, Message};
use atoll_term::{Term, Word};

use super::message;
use super::turns::Turns;

/// Lists.
pub(crate) const SHARDS: usize = 1024;

/// How many bits of a fragment's number are the list's.
const SHARD_BITS: u32 = SHARDS.trailing_zeros();

/// A list.
struct List {
    /// Visits that have begun.
    visits: AtomicUsize,
    head: Mutex<Head>,
}

impl List {
    /// What a fragment is to know that comes now.
    fn number(&self, shard: usize) -> usize {
        self.visits.load(Ordering::Relaxed) << SHARD_BITS | shard
    }
}

/// Its fragments.
struct Head {
    first: *mut Fragment,
    /// The next one that [`StoredTerms::each`] visits.
    next: *mut Fragment,
    /// Where the visit that is on began.
    begun: *mut Fragment,
    /// The first one that has been visited.
    old: *mut Fragment,
}

impl Head {
    const EMPTY: Head = Head { first: null_mut(), next: null_mut(), begun: null_mut(), old: null_mut() };
}

// SAFETY: a thread reaches the fragments under the list's lock alone, or owns the one whose term it reads.
unsafe impl Send for Head {}

/// The roots that stored terms are.
pub(crate) struct StoredTerms {
    lists: Box<[List]>,
    turns: Turns,
}

fn lock(list: &List) -> MutexGuard<'_, Head> {
    list.head.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

impl StoredTerms {
    pub(crate) fn new() -> StoredTerms {
        let list = || List { visits: AtomicUsize::new(0), head: Mutex::new(Head::EMPTY) };
        StoredTerms { lists: (0..SHARDS).map(|_| list()).collect(), turns: Turns::new() }
    }

    /// A fragment for a term: an immediate, a literal or a pointer into the area.
    pub(crate) fn hold(term: Term) -> NonNull<Fragment> {
        message::by_reference(term).into_raw()
    }

    /// Puts a fragment on a list. One with an immediate is on none.
    ///
    /// # Safety
    /// [`StoredTerms::hold`] made it, and it was not linked before.
    pub(crate) unsafe fn link(&self, stored: NonNull<Fragment>) {
        let fragment = stored.as_ptr();
        // SAFETY: the new fragment is the caller's, and the list is locked.
        unsafe {
            if !(*fragment).term().is_pointer() {
                return;
            }
            let shard = self.turns.take(SHARDS);
            let list = &self.lists[shard];
            let mut head = lock(list);
            (*fragment).list_number().set(list.number(shard));
            (*fragment).set_next(head.first);
            if !head.first.is_null() {
                (*head.first).previous().set(fragment);
            }
            head.first = fragment;
        }
    }

    /// See [`atoll_heap::Architecture::replace_stored`].
    ///
    /// # Safety
    /// As there.
    pub(crate) unsafe fn replace(&self, stored: NonNull<Fragment>, with: NonNull<Fragment>) -> bool {
        // SAFETY: both are the caller's.
        unsafe {
            let (old, new) = (stored.as_ref(), with.as_ref());
            let number = old.list_number().get();
            let shard = number % SHARDS;
            if !old.term().is_pointer() || !new.term().is_pointer() || number != self.lists[shard].number(shard) {
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
    pub(crate) unsafe fn discard(&self, stored: NonNull<Fragment>) {
        let fragment = stored.as_ptr();
        // SAFETY: the caller gives the fragment up; its neighbours are on the same list, which is locked. One with an
        // immediate is on no list.
        unsafe {
            if (*fragment).term().is_pointer() {
                let mut head = lock(&self.lists[(*fragment).list_number().replace(0) % SHARDS]);
                let (before, behind) = ((*fragment).previous().get(), (*fragment).next());
                let head_of = &mut *head;
                for place in [&mut head_of.next, &mut head_of.begun, &mut head_of.old] {
                    if *place == fragment {
                        *place = behind;
                    }
                }
                if !behind.is_null() {
                    (*behind).previous().set(before);
                }
                if before.is_null() {
                    head.first = behind;
                } else {
                    (*before).set_next(behind);
                }
            }
            (*fragment).previous().set(null_mut());
            Message::from_raw(stored).free_empty();
        }
    }

    /// Visits terms on one list, from its first on or where the last call ended, at most so many; whether that was the
    /// rest. Without `all`, those alone that were stored since such a visit of the list. What is stored meanwhile is
    /// not visited.
    pub(crate) fn each(
        &self,
        shard: usize,
        from_first: bool,
        all: bool,
        most: usize,
        visit: &mut dyn FnMut(Term),
    ) -> bool {
        let list = &self.lists[shard];
        let mut head = lock(list);
        if from_first {
            list.visits.fetch_add(1, Ordering::Relaxed);
            head.next = head.first;
            head.begun = head.first;
        }
        let end = if all { null_mut() } else { head.old };
        for _ in 0..most {
            // SAFETY: the fragments of a locked list live; owners only read their terms meanwhile.
            let Some(fragment) = (unsafe { head.next.as_ref() }).filter(|_| head.next != end) else { break };
            visit(fragment.shared_term());
            head.next = fragment.next();
        }
        let done = head.next == end || head.next.is_null();
        if done {
            head.old = head.begun;
        }
        done
    }

    /// Visits all terms, as runs of one word.
    pub(crate) fn each_word(&self, visit: &mut dyn FnMut(*mut Word, usize)) {
        for list in &self.lists {
            let head = lock(list);
            let mut next = head.first;
            // SAFETY: the fragments of a locked list live; owners only read their terms meanwhile.
            while let Some(fragment) = unsafe { next.as_ref() } {
                visit(fragment.term_place().cast(), 1);
                next = fragment.next();
            }
        }
    }
}
