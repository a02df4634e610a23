//! What an engine sees of a process's heap.

use std::mem::MaybeUninit;
use std::ptr::NonNull;

use atoll_term::{Allocate, OffHeapBinary, Term, Word};

use crate::architecture::architecture;
use crate::fragment::{Fragment, link_off_heap, off_heap_bytes};

/// Words that an architecture may keep in a mutator for itself.
pub const STATE_WORDS: usize = 7;

/// Bytes of new binaries outside of the heap up to which no collection is asked for because of them.
pub const OFF_HEAP_BYTES_AT_LEAST: usize = 512 << 10;

/// A process's heap and stack. While the process runs, the engine holds `top` and `stack` in registers and writes
/// them back before it calls anything that takes the mutator.
#[repr(C)]
pub struct Mutator {
    /// Next free heap word.
    pub top: *mut Word,
    /// Lowest stack word in use; the stack grows down. It starts with a frame's return address.
    pub stack: *mut Word,
    /// End of the free heap words where stack and heap are apart; null where the stack pointer is the limit.
    pub limit: *mut Word,
    /// Lowest address that the stack may reach where it is apart.
    pub stack_limit: *mut Word,
    /// One above the stack's highest word.
    pub stack_base: *mut Word,
    /// Objects with off-heap parts.
    pub off_heap: *mut Word,
    /// Fragments that belong to this heap until its next collection moves what lives in them. The first is the one
    /// with the most free room.
    pub fragments: *mut Fragment,
    /// Words of memory outside of the heap that its next collection gives back: of those fragments, their heads and
    /// free room included.
    pub fragment_words: usize,
    /// Bytes of binaries outside of the heap that were adopted since the last collection.
    pub off_heap_bytes: usize,
    /// The architecture's own; see the `state` of its folder. All zeros at first. Not plain numbers: moving these would
    /// take the right to use an address away from the pointers among them.
    pub state: [MaybeUninit<usize>; STATE_WORDS],
}

impl Mutator {
    /// A mutator without memory.
    pub const fn empty() -> Mutator {
        Mutator {
            top: std::ptr::null_mut(),
            stack: std::ptr::null_mut(),
            limit: std::ptr::null_mut(),
            stack_limit: std::ptr::null_mut(),
            stack_base: std::ptr::null_mut(),
            off_heap: std::ptr::null_mut(),
            fragments: std::ptr::null_mut(),
            fragment_words: 0,
            off_heap_bytes: 0,
            state: [MaybeUninit::new(0); STATE_WORDS],
        }
    }

    /// End of the free heap words. Where the stack is the limit, one word stays free for a return address.
    #[inline(always)]
    pub fn heap_limit(&self) -> *mut Word {
        if self.limit.is_null() { self.stack.wrapping_sub(1) } else { self.limit }
    }

    /// Free heap words.
    #[inline(always)]
    pub fn free_words(&self) -> usize {
        (self.heap_limit() as usize).saturating_sub(self.top as usize) / atoll_term::WORD_BYTES
    }

    /// Stack words in use.
    #[inline]
    pub fn stack_words(&self) -> usize {
        (self.stack_base as usize - self.stack as usize) / atoll_term::WORD_BYTES
    }

    /// For reading the stack: sees through a stack marker.
    pub fn stack_reader(&self) -> StackReader {
        StackReader(architecture().stack_marker(self))
    }

    /// Whether so little has piled up outside of the heap that [`crate::Architecture::wants_collection`] need not be
    /// asked.
    #[inline(always)]
    pub fn is_calm(&self) -> bool {
        self.fragment_words == 0 && self.off_heap_bytes < OFF_HEAP_BYTES_AT_LEAST
    }

    /// Visits the binaries outside of the heap that it has handles of, once for each handle.
    pub fn each_off_heap_binary(&self, visit: &mut dyn FnMut(&OffHeapBinary)) {
        architecture().each_off_heap(self, &mut |object| {
            // SAFETY: an object on the heap's list is whole.
            unsafe { Term::boxed_at(object.as_ptr()) }.off_heap_binary().into_iter().for_each(&mut *visit);
        });
    }

    /// Hangs a fragment on this heap: behind the first one if that has more free room.
    ///
    /// # Safety
    /// The fragment is on no other list, and its off-heap list has been joined to this heap's or is empty.
    pub unsafe fn own_fragment(&mut self, mut fragment: NonNull<Fragment>) {
        // SAFETY: the caller hands the fragment over; those on the list are this heap's own.
        unsafe {
            let own = fragment.as_mut();
            self.fragment_words += Fragment::HEAD_WORDS + own.capacity();
            match self.fragments.as_mut() {
                Some(first) if first.free_words() > own.free_words() => {
                    own.next = first.next;
                    first.next = fragment.as_ptr();
                }
                _ => {
                    own.next = self.fragments;
                    self.fragments = fragment.as_ptr();
                }
            }
        }
    }
}

/// Reads the words of one process's stack, return addresses as calls have left them. See
/// [`crate::Architecture::stack_marker`].
#[derive(Clone, Copy, Debug)]
pub struct StackReader(Option<(*const Word, Word)>);

impl StackReader {
    /// The word at this place.
    ///
    /// # Safety
    /// It is a word in use of the stack, which has not changed since the reader was made.
    #[inline]
    pub unsafe fn read(&self, place: *const Word) -> Word {
        match self.0 {
            Some((marked, address)) if marked == place => address,
            // SAFETY: the caller's obligation.
            _ => unsafe { *place },
        }
    }
}

impl Allocate for Mutator {
    #[inline]
    fn allocate(&mut self, words: usize) -> NonNull<Word> {
        if self.free_words() >= words {
            let place = self.top;
            self.top = place.wrapping_add(words);
            // SAFETY: a heap with free words has an address.
            return unsafe { NonNull::new_unchecked(place) };
        }
        architecture().allocate_slow(self, words)
    }

    fn adopt(&mut self, object: NonNull<Word>) {
        // SAFETY: the object is new and lies on this heap.
        unsafe {
            self.off_heap_bytes += off_heap_bytes(object);
            link_off_heap(&mut self.off_heap, object);
        }
    }
}
