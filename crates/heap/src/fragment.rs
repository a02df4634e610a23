//! Fragments: blocks of words outside of any heap, which a heap takes over as a whole. Each has an owner, a
//! [`Message`](crate::Message), or is on a list of a heap.

use std::alloc::{Layout, alloc, dealloc};
use std::cell::Cell;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::body;
use crate::kept;
use atoll_platform::allocator::may_fail;
use atoll_term::{Header, Kind, Term, WORD_BYTES, Word, release_off_heap_part};

/// The head of a fragment; its words follow directly behind. A message in a mailbox is one of these, so that a
/// small message costs a single allocation.
///
/// Others see it by a shared reference alone, because a head is worth nothing without its words: it does not move, and
/// is not exchanged for another.
#[repr(C)]
pub struct Fragment {
    /// Next in whatever list it is on.
    next: Cell<*mut Fragment>,
    /// What a signal that is no plain message has beside its term; null for messages.
    pub(crate) body: Cell<*mut body::Head>,
    /// The term that it brings.
    term: Cell<Term>,
    /// Objects in it with off-heap parts.
    off_heap: Cell<*mut Word>,
    capacity: u32,
    used: Cell<u32>,
}

const HEAD: usize = size_of::<Fragment>();
const _: () = assert!(HEAD.is_multiple_of(WORD_BYTES));

/// Ends the run because the system gives no more memory for heaps.
#[cold]
pub fn out_of_memory(bytes: usize) -> ! {
    atoll_platform::ending::crash_for_want_of_memory("heap", bytes)
}

impl Fragment {
    /// Words of the head.
    pub const HEAD_WORDS: usize = HEAD / WORD_BYTES;

    fn layout(capacity: usize) -> Layout {
        Layout::from_size_align(HEAD + capacity * WORD_BYTES, WORD_BYTES).expect("a fragment within the address space")
    }

    /// A fragment with room for `capacity` words (at most 2^32 - 1).
    #[inline(always)]
    pub(crate) fn new(capacity: usize) -> NonNull<Fragment> {
        let Ok(counted) = u32::try_from(capacity) else { out_of_memory(capacity.saturating_mul(WORD_BYTES)) };
        let block = kept::take(capacity).unwrap_or_else(|| Fragment::block(capacity));
        let head = Fragment {
            next: Cell::new(null_mut()),
            body: Cell::new(null_mut()),
            term: Cell::new(Term::NONE),
            off_heap: Cell::new(null_mut()),
            capacity: counted,
            used: Cell::new(0),
        };
        // SAFETY: the block has room for the head and is ours alone.
        unsafe { block.as_ptr().write(head) };
        block
    }

    #[inline(never)]
    fn block(capacity: usize) -> NonNull<Fragment> {
        let layout = Fragment::layout(capacity);
        // SAFETY: the layout is not empty.
        let block = may_fail(|| unsafe { alloc(layout) });
        // For `Fragment::words`.
        block.expose_provenance();
        NonNull::new(block.cast()).unwrap_or_else(|| out_of_memory(layout.size()))
    }

    /// Short fragments that this thread frees are kept from now on for its next ones, so many of each size. Those that
    /// are kept when the thread ends are lost: for threads that last as long as the machine.
    pub fn keep_on_this_thread(most: u32) {
        kept::set_most(most);
    }

    /// Frees the block without looking at what is in it: for fragments whose contents have moved.
    ///
    /// # Safety
    /// The fragment came from [`Fragment::new`] and nobody uses it or its words any more.
    #[inline]
    pub(crate) unsafe fn free(fragment: NonNull<Fragment>) {
        // SAFETY: the caller gives up the fragment.
        unsafe {
            let capacity = fragment.as_ref().capacity as usize;
            if !kept::keep(fragment, capacity) {
                dealloc(fragment.as_ptr().cast(), Fragment::layout(capacity));
            }
        }
    }

    /// The term that it brings.
    #[inline]
    pub fn term(&self) -> Term {
        self.term.get()
    }

    /// Where the term stands, for collectors.
    #[inline]
    pub fn term_place(&self) -> *mut Term {
        self.term.as_ptr()
    }

    /// Replaces the term that it brings.
    ///
    /// # Safety
    /// The term is an immediate, lies in this fragment, or lives at least as long as the fragment does.
    #[inline]
    pub unsafe fn set_term(&self, term: Term) {
        self.term.set(term);
    }

    /// The next one on the list that it is on. Senders may be writing those of fragments that are on no list yet.
    #[inline]
    pub fn next(&self) -> *mut Fragment {
        self.next.get()
    }

    /// Links it to the next one on a list.
    ///
    /// # Safety
    /// The caller owns the list, or the lock of it.
    #[inline]
    pub unsafe fn set_next(&self, next: *mut Fragment) {
        self.next.set(next);
    }

    /// Where the link to the next one stands.
    ///
    /// # Safety
    /// The fragment lives.
    #[inline]
    pub unsafe fn next_place(fragment: NonNull<Fragment>) -> *mut *mut Fragment {
        // SAFETY: as the caller's.
        unsafe { (*fragment.as_ptr()).next.as_ptr() }
    }

    /// A second link, to the one before it: for lists of fragments that no [`Message`](crate::Message) owns, which have
    /// no body.
    ///
    /// # Safety
    /// The fragment has an owner that knows it by its address, and gets no body. The link is null when a message
    /// is made of the fragment again.
    #[inline]
    pub unsafe fn previous(&self) -> &Cell<*mut Fragment> {
        // SAFETY: a pointer is a pointer, and the caller vouches for what this one points to.
        unsafe { &*std::ptr::from_ref(&self.body).cast() }
    }

    /// The number of the list that it is on, where there are several.
    ///
    /// # Safety
    /// The fragment has no words. The number is 0 when a message is made of the fragment again.
    #[inline]
    pub unsafe fn list_number(&self) -> &Cell<usize> {
        debug_assert_eq!(self.capacity, 0);
        // SAFETY: without words there are no objects with off-heap parts; null is 0.
        unsafe { &*std::ptr::from_ref(&self.off_heap).cast() }
    }

    /// Without words of its own, a fragment has no use for their count.
    fn lent(&self) -> &AtomicU32 {
        debug_assert_eq!(self.capacity, 0);
        // SAFETY: a number is a number; this one is used atomically alone in fragments without words, but by owners.
        unsafe { AtomicU32::from_ptr(self.used.as_ptr()) }
    }

    /// From now on a process may hold the term that this fragment, which has no words, brings from elsewhere. Any
    /// number of threads may say so at once.
    #[inline]
    pub fn lend(&self) {
        // Readers that only look do not take the line away from each other.
        if !self.is_lent() {
            self.lent().store(1, Ordering::Relaxed);
        }
    }

    /// Takes over another fragment's term, which has no words either, and whether it is lent. Collectors may read the
    /// term meanwhile.
    ///
    /// # Safety
    /// Nobody else uses the fragments, but collectors [`Fragment::shared_term`].
    #[inline]
    pub unsafe fn take_term(&self, from: &Fragment) {
        self.lent().store(u32::from(from.is_lent()), Ordering::Relaxed);
        // SAFETY: the place is this fragment's, and a term is a word.
        let place = unsafe { AtomicU64::from_ptr(self.term.as_ptr().cast()) };
        // The object is whole for the collector that sees the pointer.
        place.store(from.term().word(), Ordering::Release);
    }

    /// The term, for a collector that reads it while [`Fragment::take_term`] may replace it.
    #[inline]
    pub fn shared_term(&self) -> Term {
        // SAFETY: the place is this fragment's, and a term is a word; whatever is there is a term.
        unsafe { Term::from_word(AtomicU64::from_ptr(self.term.as_ptr().cast()).load(Ordering::Acquire)) }
    }

    /// Whether [`Fragment::lend`] was called.
    #[inline]
    pub fn is_lent(&self) -> bool {
        self.lent().load(Ordering::Relaxed) != 0
    }

    /// The first of its objects with off-heap parts.
    #[inline]
    pub fn off_heap(&self) -> *mut Word {
        self.off_heap.get()
    }

    /// Replaces the list of its objects with off-heap parts, which is returned: the caller owns their counts.
    ///
    /// # Safety
    /// The new list consists of whole objects, whose counts the fragment owns from now on.
    #[inline]
    pub unsafe fn replace_off_heap(&self, list: *mut Word) -> *mut Word {
        self.off_heap.replace(list)
    }

    /// First word.
    #[inline]
    pub fn words(&self) -> *mut Word {
        // The words follow the head in the same block. A pointer made of the reference could not write them.
        std::ptr::with_exposed_provenance_mut(std::ptr::from_ref(self).addr() + HEAD)
    }

    /// Whether its words are its term and nothing else, a cons or a tuple: what that refers to lies elsewhere.
    #[inline(always)]
    pub fn is_one_object(&self) -> bool {
        let term = self.term();
        if !term.is_pointer() || term.pointer() != self.words() {
            return false;
        }
        if term.is_cons() {
            return self.used() == 2;
        }
        // SAFETY: the term lies in this fragment, which is whole.
        let header = unsafe { Header::from_word(*term.pointer()) };
        header.kind() == Kind::Tuple && self.used() == header.object_words()
    }

    /// Words in use.
    #[inline]
    pub fn used(&self) -> usize {
        self.used.get() as usize
    }

    /// Words that fit.
    #[inline]
    pub fn capacity(&self) -> usize {
        self.capacity as usize
    }

    /// Words that still fit.
    #[inline]
    pub fn free_words(&self) -> usize {
        self.capacity() - self.used()
    }

    /// [`Fragment::capacity`] of a fragment of which others may be changing the links.
    ///
    /// # Safety
    /// The fragment lives.
    pub unsafe fn capacity_at(fragment: NonNull<Fragment>) -> usize {
        // SAFETY: as the caller's; the capacity never changes.
        unsafe { (*fragment.as_ptr()).capacity as usize }
    }

    /// Forgets the contents, because they have moved elsewhere: no words in use, no off-heap list.
    ///
    /// # Safety
    /// Nobody uses the words any more. A mailbox that the fragment is in hears of it.
    #[inline]
    pub unsafe fn clear(&self) {
        self.used.set(0);
        self.off_heap.set(null_mut());
    }

    /// Room for `words` words if they still fit.
    ///
    /// # Safety
    /// The caller owns the fragment, or the heap that it belongs to, and fills the room before anybody looks at it.
    #[inline]
    pub unsafe fn try_allocate(&self, words: usize) -> Option<NonNull<Word>> {
        if self.free_words() < words {
            return None;
        }
        let place = self.words().wrapping_add(self.used());
        self.used.set(self.used.get() + words as u32);
        NonNull::new(place)
    }
}

/// Where the link of an object with an off-heap part is: its last word. A word as any other of the object, which moves
/// as a number does, so the pointer's right to be used is told apart from it.
///
/// # Safety
/// `object` is the header of such an object.
#[inline]
unsafe fn off_heap_link(object: *mut Word) -> *mut Word {
    // SAFETY: the object is whole.
    unsafe { object.add(atoll_term::Header::from_word(*object).arity()) }
}

/// The next object of the list of objects with off-heap parts that this one is on.
///
/// # Safety
/// `object` is the header of such an object.
#[inline]
pub unsafe fn next_off_heap(object: *mut Word) -> *mut Word {
    // SAFETY: as the caller's.
    std::ptr::with_exposed_provenance_mut(unsafe { *off_heap_link(object) } as usize)
}

/// Lets an object of a list of objects with off-heap parts be followed by another.
///
/// # Safety
/// `object` is the header of such an object, which the caller owns.
#[inline]
pub unsafe fn set_next_off_heap(object: *mut Word, next: *mut Word) {
    // SAFETY: as the caller's.
    unsafe { *off_heap_link(object) = next.expose_provenance() as Word };
}

/// Bytes that an object with an off-heap part keeps outside of the heap: those of a handle's binary.
///
/// # Safety
/// `object` is the header of such an object.
#[inline]
pub unsafe fn off_heap_bytes(object: NonNull<Word>) -> usize {
    // SAFETY: the caller vouches for the object.
    unsafe { Term::boxed_at(object.as_ptr()) }.off_heap_binary().map_or(0, atoll_term::OffHeapBinary::capacity)
}

/// Puts an object on a list of objects with off-heap parts.
///
/// # Safety
/// `object` is the header of such an object that is on no list.
pub unsafe fn link_off_heap(list: &mut *mut Word, object: NonNull<Word>) {
    // SAFETY: the caller vouches for the object.
    unsafe { set_next_off_heap(object.as_ptr(), *list) };
    *list = object.as_ptr();
}

/// Joins `tail` to the end of `list`; cost: the length of `tail`.
///
/// # Safety
/// Both are lists of whole objects.
pub unsafe fn join_off_heap(list: &mut *mut Word, mut tail: *mut Word) {
    while let Some(object) = NonNull::new(tail) {
        // SAFETY: the caller vouches for the lists.
        unsafe {
            tail = next_off_heap(object.as_ptr());
            link_off_heap(list, object);
        }
    }
}

/// Gives back what the objects of a list own.
///
/// # Safety
/// The list's objects are whole and not used any more.
pub unsafe fn release_off_heap_list(mut list: *mut Word) {
    while let Some(object) = NonNull::new(list) {
        // SAFETY: the caller vouches for the list.
        unsafe {
            list = next_off_heap(object.as_ptr());
            release_off_heap_part(object);
        }
    }
}

/// Visits the objects of a list of objects with off-heap parts.
///
/// # Safety
/// The list's objects are whole.
pub unsafe fn each_off_heap(mut list: *mut Word, visit: &mut dyn FnMut(NonNull<Word>)) {
    while let Some(object) = NonNull::new(list) {
        // SAFETY: the caller vouches for the list.
        list = unsafe { next_off_heap(object.as_ptr()) };
        visit(object);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_lie_behind_the_head_and_are_given_out_once() {
        assert_eq!(Fragment::HEAD_WORDS * WORD_BYTES, size_of::<Fragment>());
        assert_eq!(Fragment::layout(5), Layout::from_size_align(HEAD + 40, 8).unwrap());
        let fragment = Fragment::new(5);
        // SAFETY: the fragment is this test's own.
        unsafe {
            let own = fragment.as_ref();
            assert_eq!((own.capacity(), own.used(), own.free_words()), (5, 0, 5));
            assert_eq!(own.words().addr(), fragment.as_ptr().addr() + size_of::<Fragment>());
            let first = own.try_allocate(2).unwrap().as_ptr();
            first.write(1);
            let second = own.try_allocate(3).unwrap().as_ptr();
            second.add(2).write(3);
            assert_eq!((first, second), (own.words(), own.words().add(2)));
            assert_eq!((own.used(), own.free_words(), own.try_allocate(1)), (5, 0, None));
            assert_eq!(own.try_allocate(0).map(NonNull::as_ptr), Some(own.words().add(5)));
            own.clear();
            assert_eq!((own.used(), Fragment::capacity_at(fragment)), (0, 5));
            assert!(own.try_allocate(6).is_none());
            Fragment::free(fragment);
        }
    }

    #[test]
    fn a_thread_keeps_what_it_has_freed_if_it_is_told_to() {
        std::thread::spawn(|| {
            Fragment::keep_on_this_thread(1);
            let fragment = Fragment::new(3);
            // SAFETY: nobody uses it any more.
            unsafe { Fragment::free(fragment) };
            let again = Fragment::new(3);
            assert_eq!(again, fragment);
            // SAFETY: as above.
            unsafe { Fragment::free(again) };
        })
        .join()
        .unwrap();
    }
}
