//! Messages: fragments on their way, each with one owner.

use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::ptr::NonNull;

use atoll_term::{Allocate, Immediate, ScratchHeap, Term, Word};

use crate::body;
use crate::fragment::{Fragment, link_off_heap, release_off_heap_list};
use crate::part::architecture;

/// A fragment that has an owner. Dropping it frees it, with its body and with what its objects own outside of heaps.
///
/// It cannot be dropped twice, nor used after it was given away:
///
/// ```compile_fail,E0382
/// let message = atoll_heap::Message::new(0);
/// drop(message);
/// drop(message);
/// ```
///
/// A fragment is not copied out of its message, nor exchanged for another:
///
/// ```compile_fail,E0596
/// let (first, second) = (atoll_heap::Message::new(0), atoll_heap::Message::new(9));
/// std::mem::swap::<atoll_heap::Fragment>(&mut *first, &mut *second);
/// ```
#[derive(Debug)]
#[repr(transparent)]
pub struct Message(NonNull<Fragment>);

// SAFETY: nobody else uses the fragment. What is in it is immutable, counts of what lies outside of heaps are atomic,
// and bodies can be sent.
unsafe impl Send for Message {}

/// Makes many messages, each as [`Message::compose`] does.
#[derive(Debug, Default)]
pub struct Composer(ScratchHeap);

impl Composer {
    /// One that has made none.
    pub fn new() -> Composer {
        Composer(ScratchHeap::new())
    }

    /// A message made outside of every heap.
    pub fn message(&mut self, build: impl Fn(&mut ScratchHeap) -> Term) -> Message {
        let term = build(&mut self.0);
        let message = architecture().send_copy(term);
        self.0.clear();
        message
    }
}

impl Message {
    /// A message without a term, with room for `capacity` words (at most 2^32 - 1).
    #[inline(always)]
    pub fn new(capacity: usize) -> Message {
        Message(Fragment::new(capacity))
    }

    /// A message that brings an immediate term.
    #[inline]
    pub fn immediate(term: Immediate) -> Message {
        let message = Message::new(0);
        // SAFETY: an immediate term points nowhere.
        unsafe { message.set_term(term.term()) };
        message
    }

    /// A message made outside of every heap: a copy of the term that `build` makes.
    ///
    /// A term that lies outside of the heaps would be gone when its receiver looks at it, so there is no other way to
    /// send one. What is built does not get out of `build`, which changes nothing that it captures. Not to where terms
    /// are kept:
    ///
    /// ```compile_fail,E0594
    /// use atoll_term::{Build, Term};
    ///
    /// let mut kept = Term::NIL;
    /// atoll_heap::Message::compose(|heap| {
    ///     kept = heap.tuple(&[Term::NIL]);
    ///     kept
    /// });
    /// ```
    ///
    /// Nor to a process that could send it as its own, or store it, because it has no [`Mutator`](crate::Mutator):
    ///
    /// ```compile_fail,E0596
    /// use atoll_heap::{Message, Mutator, architecture};
    /// use atoll_term::{Build, Term};
    ///
    /// fn send(sender: &mut Mutator) {
    ///     Message::compose(|heap| {
    ///         let term = heap.tuple(&[Term::NIL]);
    ///         drop(architecture().send(sender, term));
    ///         term
    ///     });
    /// }
    /// ```
    pub fn compose(build: impl Fn(&mut ScratchHeap) -> Term) -> Message {
        Composer::new().message(build)
    }

    /// Gives the fragment to a list.
    #[inline]
    pub fn into_raw(self) -> NonNull<Fragment> {
        ManuallyDrop::new(self).0
    }

    /// The block of a message without a body and without a list of objects with off-heap parts: its first word and its
    /// length in words, the fragment's head ([`Fragment::HEAD_WORDS`]) included. The caller owns it, and frees it with
    /// the layout of so many words.
    pub fn into_block(self) -> (*mut Word, usize) {
        debug_assert!(!self.has_body() && self.off_heap().is_null());
        let words = Fragment::HEAD_WORDS + self.capacity();
        (self.into_raw().as_ptr().cast(), words)
    }

    /// Takes a fragment back from a list.
    ///
    /// # Safety
    /// It came from [`Message::into_raw`], and is on no list any more. Nobody else makes a message of it.
    #[inline]
    pub unsafe fn from_raw(fragment: NonNull<Fragment>) -> Message {
        Message(fragment)
    }

    /// Frees a message whose contents have moved, or that never had any: it has no body and no objects with off-heap
    /// parts. They would be lost otherwise.
    #[inline]
    pub fn free_empty(self) {
        debug_assert!(!self.has_body() && self.off_heap().is_null());
        let fragment = self.into_raw();
        // SAFETY: the fragment was this value's own.
        unsafe { Fragment::free(fragment) };
    }
}

impl Deref for Message {
    type Target = Fragment;

    #[inline]
    fn deref(&self) -> &Fragment {
        // SAFETY: the fragment is this value's own.
        unsafe { self.0.as_ref() }
    }
}

impl Drop for Message {
    #[inline]
    fn drop(&mut self) {
        let (body, off_heap) = (self.body.get(), self.off_heap());
        // SAFETY: body, list and fragment are this value's own; the list's objects are whole.
        unsafe {
            if let Some(body) = NonNull::new(body) {
                body::free(body);
            }
            if !off_heap.is_null() {
                release_off_heap_list(off_heap);
            }
            Fragment::free(self.0);
        }
    }
}

/// A message as a heap, for building what it shall bring; it was made large enough.
impl Allocate for Message {
    fn allocate(&mut self, words: usize) -> NonNull<Word> {
        // SAFETY: the message is borrowed, and who allocates fills the room.
        unsafe { self.try_allocate(words) }.expect("a fragment that was sized for its contents")
    }

    fn adopt(&mut self, object: NonNull<Word>) {
        let mut list = self.off_heap();
        // SAFETY: the object lies in this fragment; its last word is the link.
        unsafe {
            link_off_heap(&mut list, object);
            self.replace_off_heap(list);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use atoll_term::{Build, OffHeapBinary};

    use super::*;

    /// A message with a body and two binaries, of each of which this test keeps a count.
    fn full(body: &Arc<()>) -> (Message, [NonNull<OffHeapBinary>; 2]) {
        let mut message = Message::new(6);
        let binaries = [5, 500].map(|length| OffHeapBinary::from_bytes(&vec![1; length], length));
        for binary in binaries {
            // SAFETY: this test has the only count of it.
            unsafe { binary.as_ref() }.retain();
            message.binary_handle(binary);
        }
        message.attach(Arc::clone(body));
        (message, binaries)
    }

    fn owners(binaries: [NonNull<OffHeapBinary>; 2]) -> [usize; 2] {
        // SAFETY: the test has a count of each.
        binaries.map(|binary| unsafe { binary.as_ref() }.owners())
    }

    #[test]
    fn a_message_frees_what_it_owns_when_it_is_dropped_and_nothing_when_it_is_given_away() {
        // A thread that keeps a fragment shows which one was freed.
        Fragment::keep_on_this_thread(1);
        let body = Arc::new(());
        let (message, binaries) = full(&body);
        assert_eq!((owners(binaries), Arc::strong_count(&body)), ([2, 2], 2));

        let fragment = message.into_raw();
        assert_eq!((owners(binaries), Arc::strong_count(&body)), ([2, 2], 2));
        let other = Message::new(6);
        assert_ne!(other.0, fragment, "it is still in use");
        // SAFETY: the fragment was given away above, to nobody else.
        let message = unsafe { Message::from_raw(fragment) };
        assert_eq!((owners(binaries), Arc::strong_count(&body)), ([2, 2], 2));

        drop(message);
        assert_eq!((owners(binaries), Arc::strong_count(&body)), ([1, 1], 1));
        let again = Message::new(6);
        assert_eq!(again.0, fragment, "it was freed");
        assert!(again.off_heap().is_null() && !again.has_body());

        again.free_empty();
        assert_eq!(Message::new(6).0, fragment, "it was freed");
        Fragment::keep_on_this_thread(0);
        drop(other);
        for binary in binaries {
            // SAFETY: the last count is this test's own.
            unsafe { OffHeapBinary::release(binary) };
        }
    }
}
