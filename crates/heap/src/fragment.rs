//! Fragments: linked blocks of words outside of any heap, which a heap takes over as a whole.

use std::alloc::{Layout, alloc, dealloc};
use std::ptr::NonNull;

use crate::kept;
use atoll_platform::allocator::may_fail;
use atoll_term::{Allocate, Term, WORD_BYTES, Word, release_off_heap_part};

/// The head of a fragment; its words follow directly behind. A message in a mailbox is one of these, so that a
/// small message costs a single allocation.
#[repr(C)]
pub struct Fragment {
    /// Next in whatever list it is on.
    pub next: *mut Fragment,
    /// Body of a signal that is no plain message (owned by the process crate); null for messages.
    pub signal: *mut u8,
    /// The term that it brings.
    pub term: Term,
    /// Objects in it with off-heap parts.
    pub off_heap: *mut Word,
    capacity: u32,
    used: u32,
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
    #[inline]
    pub fn new(capacity: usize) -> NonNull<Fragment> {
        let Ok(counted) = u32::try_from(capacity) else { out_of_memory(capacity.saturating_mul(WORD_BYTES)) };
        let block = kept::take(capacity).unwrap_or_else(|| Fragment::block(capacity));
        let head = Fragment {
            next: std::ptr::null_mut(),
            signal: std::ptr::null_mut(),
            term: Term::NONE,
            off_heap: std::ptr::null_mut(),
            capacity: counted,
            used: 0,
        };
        // SAFETY: the block has room for the head and is ours alone.
        unsafe { block.as_ptr().write(head) };
        block
    }

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
    pub unsafe fn free(fragment: NonNull<Fragment>) {
        // SAFETY: the caller gives up the fragment.
        unsafe {
            let capacity = fragment.as_ref().capacity as usize;
            if !kept::keep(fragment, capacity) {
                dealloc(fragment.as_ptr().cast(), Fragment::layout(capacity));
            }
        }
    }

    /// Frees the block and what its objects own outside of heaps: for fragments that were never received.
    ///
    /// # Safety
    /// As [`Fragment::free`]; the off-heap list is still the fragment's own.
    pub unsafe fn discard(fragment: NonNull<Fragment>) {
        // SAFETY: the list is the fragment's, its objects are whole.
        unsafe {
            release_off_heap_list(fragment.as_ref().off_heap);
            Fragment::free(fragment);
        }
    }

    /// First word.
    #[inline]
    pub fn words(&self) -> *mut Word {
        // The words follow the head in the same block. A pointer made of the reference could not write them.
        std::ptr::with_exposed_provenance_mut(std::ptr::from_ref(self).addr() + HEAD)
    }

    /// Words in use.
    #[inline]
    pub fn used(&self) -> usize {
        self.used as usize
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
    #[inline]
    pub fn clear(&mut self) {
        self.used = 0;
        self.off_heap = std::ptr::null_mut();
    }

    /// Room for `words` words if they still fit.
    #[inline]
    pub fn try_allocate(&mut self, words: usize) -> Option<NonNull<Word>> {
        if self.free_words() < words {
            return None;
        }
        let place = self.words().wrapping_add(self.used());
        self.used += words as u32;
        NonNull::new(place)
    }
}

/// A fragment as a heap, for building what it shall bring; it was made large enough.
impl Allocate for Fragment {
    fn allocate(&mut self, words: usize) -> NonNull<Word> {
        self.try_allocate(words).expect("a fragment that was sized for its contents")
    }

    fn adopt(&mut self, object: NonNull<Word>) {
        // SAFETY: the object lies in this fragment; its last word is the link.
        unsafe { link_off_heap(&mut self.off_heap, object) }
    }
}

/// Where the link of an object with an off-heap part is: its last word.
///
/// # Safety
/// `object` is the header of such an object.
#[inline]
pub unsafe fn off_heap_link(object: *mut Word) -> *mut *mut Word {
    // SAFETY: the object is whole.
    unsafe { object.add(atoll_term::Header::from_word(*object).arity()).cast() }
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
    unsafe { *off_heap_link(object.as_ptr()) = *list };
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
            tail = *off_heap_link(object.as_ptr());
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
            list = *off_heap_link(object.as_ptr());
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
        list = unsafe { *off_heap_link(object.as_ptr()) };
        visit(object);
    }
}
