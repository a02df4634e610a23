//! Terms that belong to no process (rows of tables): a fragment with a pointer for each, for collectors that work while
//! processes run. They are roots, on many lists, so that a cycle holds a list's lock for a moment only, and threads
//! seldom meet. What is stored stands first on its list, so that a cycle can visit those alone that are new since the
//! last one, and passes over lists without any.
//!
//! A fragment without words has no use for its link and its signal, which are the links of its list, nor for the number
//! of words in use, which says whether a process may hold the term, nor for the list of objects with off-heap parts:
//! that is the list's number, with the number of its visits before the fragment came.
//!
//! A row that replaces another takes over its place on the list, without the list's lock, unless a visit began since
//! the other came: the next visit may be one of what is new alone. A visit that begins at the same moment belongs to a
//! cycle that the thread knows of, so that the new term was greyed, and is marked when that next visit comes.

use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};

use atoll_heap::{Fragment, Message};
use atoll_term::{Term, Word};

use super::message;
use super::turns::Turns;

/// Lists.
const SHARDS: usize = 1024;
/// To visit a list takes as long as to visit so many terms.
const LIST_TERMS: usize = 8;

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

/// Where a visit of all lists goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StoredPlace {
    list: usize,
    /// The list's first terms have been visited.
    begun: bool,
}

impl StoredPlace {
    pub(crate) const START: StoredPlace = StoredPlace { list: 0, begun: false };
}

/// Lists on which something is new since their last visit, a bit for each. It changes under the list's lock.
struct News([AtomicU64; SHARDS / NEWS_BITS]);

const NEWS_BITS: usize = u64::BITS as usize;

impl News {
    const fn none() -> News {
        News([const { AtomicU64::new(0) }; SHARDS / NEWS_BITS])
    }

    fn add(&self, list: usize) {
        let (word, bit) = (&self.0[list / NEWS_BITS], 1 << (list % NEWS_BITS));
        if word.load(Ordering::Relaxed) & bit == 0 {
            word.fetch_or(bit, Ordering::Relaxed);
        }
    }

    fn remove(&self, list: usize) {
        self.0[list / NEWS_BITS].fetch_and(!(1 << (list % NEWS_BITS)), Ordering::Relaxed);
    }

    /// The first list with news, from one on.
    fn first(&self, from: usize) -> Option<usize> {
        let mut above = u64::MAX << (from % NEWS_BITS);
        for (number, word) in self.0.iter().enumerate().skip(from / NEWS_BITS) {
            let bits = word.load(Ordering::Relaxed) & std::mem::replace(&mut above, u64::MAX);
            if bits != 0 {
                return Some(number * NEWS_BITS + bits.trailing_zeros() as usize);
            }
        }
        None
    }
}

/// The roots that stored terms are.
pub(crate) struct StoredTerms {
    lists: Box<[List]>,
    news: News,
    turns: Turns,
}

fn lock(list: &List) -> MutexGuard<'_, Head> {
    list.head.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

impl StoredTerms {
    pub(crate) fn new() -> StoredTerms {
        let list = || List { visits: AtomicUsize::new(0), head: Mutex::new(Head::EMPTY) };
        StoredTerms { lists: (0..SHARDS).map(|_| list()).collect(), news: News::none(), turns: Turns::new() }
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
            self.news.add(shard);
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

    /// Visits about so many terms, from a place on; where to go on. Without `all`, those alone that were stored since
    /// the last visit of their list. What is stored meanwhile is not visited.
    pub(crate) fn some(
        &self,
        from: StoredPlace,
        all: bool,
        most: usize,
        visit: &mut dyn FnMut(Term),
    ) -> Option<StoredPlace> {
        let mut place = from;
        let mut left = most;
        while left > 0 {
            if !all && !place.begun {
                // What a thread adds now it has greyed.
                place.list = self.news.first(place.list)?;
            }
            if place.list >= SHARDS {
                return None;
            }
            place.begun = !self.some_of_list(place, all, &mut left, visit);
            if !place.begun {
                place.list += 1;
            }
            left = left.saturating_sub(LIST_TERMS);
        }
        Some(place)
    }

    /// Visits terms on one list, as many as are left of a portion at most; whether that was the rest.
    fn some_of_list(&self, place: StoredPlace, all: bool, left: &mut usize, visit: &mut dyn FnMut(Term)) -> bool {
        let list = &self.lists[place.list];
        let mut head = lock(list);
        if !place.begun {
            list.visits.fetch_add(1, Ordering::Relaxed);
            self.news.remove(place.list);
            head.next = head.first;
            head.begun = head.first;
        }
        let end = if all { null_mut() } else { head.old };
        while *left > 0 {
            // SAFETY: the fragments of a locked list live; owners only read their terms meanwhile.
            let Some(fragment) = (unsafe { head.next.as_ref() }).filter(|_| head.next != end) else { break };
            visit(fragment.shared_term());
            head.next = fragment.next();
            *left -= 1;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_with_news_are_found_in_order() {
        let news = News::none();
        let lists = [0, 63, 64, 700, SHARDS - 1];
        lists.iter().for_each(|list| news.add(*list));
        let found = || std::iter::successors(news.first(0), |last| news.first(last + 1)).collect::<Vec<_>>();
        assert_eq!(found(), lists);
        news.remove(64);
        news.remove(SHARDS - 1);
        assert_eq!(found(), [0, 63, 700]);
        assert_eq!(news.first(701), None);
    }

    #[test]
    fn each_new_term_is_visited_once_and_again_with_all() {
        let stored = StoredTerms::new();
        let words = [0; 8];
        // SAFETY: the address is that of words, which nobody reads.
        let term = |index: usize| unsafe { Term::boxed_at(std::ptr::from_ref(&words[index]).cast_mut().cast()) };
        let visited = |all, most| {
            let mut visited = Vec::new();
            let mut place = Some(StoredPlace::START);
            while let Some(from) = place {
                place = stored.some(from, all, most, &mut |term| visited.push(term));
            }
            visited.len()
        };
        let store = |count| (0..count).map(|index| StoredTerms::hold(term(index % 8))).collect::<Vec<_>>();
        let first = store(3 * SHARDS);
        // SAFETY: they were made just now.
        first.iter().for_each(|one| unsafe { stored.link(*one) });
        assert_eq!([visited(false, 2), visited(false, 2)], [3 * SHARDS, 0]);
        let second = store(5);
        // SAFETY: as above; those of the first that are discarded are not used again.
        unsafe {
            second.iter().for_each(|one| stored.link(*one));
            first.iter().take(7).for_each(|one| stored.discard(*one));
        }
        assert_eq!([visited(false, 1000), visited(false, 1000)], [5, 0]);
        assert_eq!(visited(true, 100), 3 * SHARDS - 2);
        // SAFETY: as above.
        unsafe { first.iter().skip(7).chain(&second).for_each(|one| stored.discard(*one)) };
        assert_eq!([visited(false, 9), visited(true, 9)], [0, 0]);
    }
}
