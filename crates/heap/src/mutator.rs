//! What an engine sees of a process's heap.

use std::mem::MaybeUninit;
use std::ptr::NonNull;

use atoll_term::{Allocate, HeldPart, OffHeapBinary, Term, Word};

use crate::architecture::Collection;
use crate::capabilities::stack_markers;
use crate::fragment::{Fragment, link_off_heap, off_heap_bytes};
use crate::message::Message;
use crate::part::architecture;

/// Words that an architecture may keep in a mutator for itself.
pub const STATE_WORDS: usize = 6;

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
    /// Lowest word of the block that the stack is in: what the stack may reach where it is apart, and the first heap
    /// word where both share the block.
    pub block: *mut Word,
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
            block: std::ptr::null_mut(),
            stack_base: std::ptr::null_mut(),
            off_heap: std::ptr::null_mut(),
            fragments: std::ptr::null_mut(),
            fragment_words: 0,
            off_heap_bytes: 0,
            state: [MaybeUninit::new(0); STATE_WORDS],
        }
    }

    /// Forgets its memory, which has been given back. The architecture's words stay as they are: a collector may be
    /// looking at some of them on another thread, by atomic operations.
    pub fn forget_memory(&mut self) {
        let Mutator {
            top,
            stack,
            limit,
            block,
            stack_base,
            off_heap,
            fragments,
            fragment_words,
            off_heap_bytes,
            state: _,
        } = self;
        for pointer in [top, stack, limit, block, stack_base, off_heap] {
            *pointer = std::ptr::null_mut();
        }
        *fragments = std::ptr::null_mut();
        (*fragment_words, *off_heap_bytes) = (0, 0);
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

    /// Whether a request asks for room on a stack that lies apart from its heap, and for nothing else that is not
    /// there.
    pub fn lacks_stack_alone(&self, request: &Collection) -> bool {
        let free = (self.stack as usize).saturating_sub(self.block as usize) / atoll_term::WORD_BYTES;
        let needs_heap = request.major || request.hibernate || request.heap_words > self.free_words();
        !self.limit.is_null() && request.stack_words > free && !needs_heap && self.is_calm()
    }

    /// Stack words in use.
    #[inline]
    pub fn stack_words(&self) -> usize {
        (self.stack_base as usize - self.stack as usize) / atoll_term::WORD_BYTES
    }

    /// For reading the stack: sees through a stack marker.
    pub fn stack_reader(&self) -> StackReader {
        StackReader(stack_markers().and_then(|markers| markers.marker(self)))
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

    /// Counts of all that this heap has outside of it.
    pub fn held_parts(&self) -> Vec<HeldPart> {
        let mut parts = Vec::new();
        architecture().each_off_heap(self, &mut |object| {
            // SAFETY: an object on the heap's list is whole.
            parts.extend(HeldPart::of(unsafe { Term::boxed_at(object.as_ptr()) }));
        });
        parts
    }

    /// Room for so many words in the roomiest of its fragments, if there is some.
    #[inline]
    pub fn allocate_in_fragment(&mut self, words: usize) -> Option<NonNull<Word>> {
        // SAFETY: the fragments are this heap's own; the caller fills the room, as for `allocate`.
        unsafe { self.fragments.as_ref()?.try_allocate(words) }
    }

    #[inline(never)]
    fn allocate_beside(&mut self, words: usize) -> NonNull<Word> {
        self.allocate_in_fragment(words).unwrap_or_else(|| architecture().allocate_slow(self, words))
    }

    /// Hangs a fragment on this heap: behind the first one if that has more free room.
    ///
    /// # Safety
    /// Its off-heap list has been joined to this heap's or is empty.
    pub unsafe fn own_fragment(&mut self, message: Message) {
        self.fragment_words += Fragment::HEAD_WORDS + message.capacity();
        let fragment = message.into_raw();
        // SAFETY: the fragment was the message's; those on the list are this heap's own.
        unsafe {
            let own = fragment.as_ref();
            match self.fragments.as_ref() {
                Some(first) if first.free_words() > own.free_words() => {
                    own.set_next(first.next());
                    first.set_next(fragment.as_ptr());
                }
                _ => {
                    own.set_next(self.fragments);
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
        self.allocate_beside(words)
    }

    fn adopt(&mut self, object: NonNull<Word>) {
        // SAFETY: the object is new and lies on this heap.
        unsafe {
            self.off_heap_bytes += off_heap_bytes(object);
            link_off_heap(&mut self.off_heap, object);
        }
    }
}

#[cfg(test)]
mod tests {
    use atoll_term::{Build, OffHeapBinary, Term};

    use super::*;
    use crate::fragment::each_off_heap;

    /// A mutator with heap and stack in one block.
    fn mutator(block: &mut [Word]) -> Mutator {
        let mut mutator = Mutator::empty();
        mutator.top = block.as_mut_ptr();
        mutator.stack_base = mutator.top.wrapping_add(block.len());
        mutator.stack = mutator.stack_base;
        mutator
    }

    #[test]
    fn heap_and_stack_share_a_block_but_for_a_return_address() {
        let mut block = [0; 20];
        let mut mutator = mutator(&mut block);
        assert_eq!((mutator.free_words(), mutator.stack_words()), (19, 0));
        mutator.stack = mutator.stack.wrapping_sub(4);
        assert_eq!((mutator.free_words(), mutator.stack_words()), (15, 4));
        let place = mutator.allocate(15).as_ptr();
        assert_eq!((place, mutator.free_words()), (mutator.top.wrapping_sub(15), 0));
        // Apart, the heap goes to its own limit.
        mutator.limit = mutator.top.wrapping_add(1);
        assert_eq!(mutator.free_words(), 1);
    }

    #[test]
    fn what_piles_up_outside_is_noticed() {
        let mut mutator = Mutator::empty();
        assert!(mutator.is_calm());
        mutator.off_heap_bytes = OFF_HEAP_BYTES_AT_LEAST - 1;
        assert!(mutator.is_calm());
        mutator.off_heap_bytes += 1;
        assert!(!mutator.is_calm());
        mutator.off_heap_bytes = 0;
        mutator.fragment_words = 1;
        assert!(!mutator.is_calm());
    }

    #[test]
    fn handles_are_listed_and_their_bytes_counted() {
        let mut block = [0; 40];
        let mut mutator = mutator(&mut block);
        let mut handles = Vec::new();
        for bytes in [100, 300] {
            handles.push(mutator.binary_handle(OffHeapBinary::from_bytes(&vec![7; bytes], bytes)));
        }
        assert_eq!(mutator.off_heap_bytes, 400);
        let mut listed: Vec<Term> = Vec::new();
        // SAFETY: the objects lie in the block.
        unsafe { each_off_heap(mutator.off_heap, &mut |object| listed.push(Term::boxed_at(object.as_ptr()))) };
        assert_eq!(listed, [handles[1], handles[0]], "the last one comes first");
        // SAFETY: nobody uses them any more.
        unsafe { crate::release_off_heap_list(mutator.off_heap) };
    }

    #[test]
    fn the_fragment_with_most_room_stands_first() {
        let mut mutator = Mutator::empty();
        let mut words = 0;
        for message in [4, 9, 6].map(Message::new) {
            words += Fragment::HEAD_WORDS + message.capacity();
            // SAFETY: the message is new, and has no list.
            unsafe { mutator.own_fragment(message) };
        }
        assert_eq!(mutator.fragment_words, words);
        let mut order = Vec::new();
        let mut at = mutator.fragments;
        while let Some(fragment) = NonNull::new(at) {
            // SAFETY: the fragment is on the list, and taken off it once.
            let message = unsafe { Message::from_raw(fragment) };
            at = message.next();
            order.push(message.capacity());
        }
        assert_eq!(order, [9, 6, 4]);
    }

    #[test]
    fn a_request_for_a_stack_apart_is_told_from_others() {
        let mut stack = [0; 10];
        let mut heap = [0; 10];
        let mut mutator = Mutator::empty();
        mutator.block = stack.as_mut_ptr();
        mutator.stack = mutator.block.wrapping_add(4);
        mutator.top = heap.as_mut_ptr();
        mutator.limit = mutator.top.wrapping_add(10);
        let frame = Collection { stack_words: 5, heap_words: 10, ..Collection::default() };
        assert!(mutator.lacks_stack_alone(&frame));
        assert!(!mutator.lacks_stack_alone(&Collection { stack_words: 4, ..frame }));
        assert!(!mutator.lacks_stack_alone(&Collection { heap_words: 11, ..frame }));
        assert!(!mutator.lacks_stack_alone(&Collection { major: true, ..frame }));
        assert!(!mutator.lacks_stack_alone(&Collection { hibernate: true, ..frame }));
        mutator.fragment_words = 1;
        assert!(!mutator.lacks_stack_alone(&frame));
        let united = Mutator { limit: std::ptr::null_mut(), fragment_words: 0, ..mutator };
        assert!(!united.lacks_stack_alone(&frame));
    }
}
