//! What the evaluation's programs allocate from: a heap of this crate, or malloc and free.
//!
//! An object is a word with its number of references and its bytes of data, then the references, then the data. The
//! programs keep one rule: a reference is used after an allocation only if it was read again from a root or from an
//! object, for a collector may have moved it.

use crate::config::Config;
use crate::error::{HeapError, OutOfMemory};
use crate::raw::{RawHeap, RawMutator, RootSlot, Runtime, Visitor};
use crate::statistics::Usage;
use std::alloc::{GlobalAlloc, Layout};
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

/// An object, for as long as the rule above says.
pub(crate) type Object = NonNull<u64>;

/// A source of memory with roots, references and data.
pub(crate) trait Memory {
    /// Allocates an object with null references and undefined data.
    fn allocate(&mut self, references: usize, bytes: usize) -> Result<Object, OutOfMemory>;
    /// Says that an object will not be used again; only malloc makes anything of it.
    fn free(&mut self, object: Object);
    fn root(&mut self, object: Object) -> usize;
    fn set_root(&mut self, root: usize, object: Object);
    fn rooted(&self, root: usize) -> Object;
    fn unroot(&mut self, root: usize);
    fn link(&mut self, from: Object, index: usize, to: Option<Object>);

    /// What was allocated so far does not count as the program's.
    fn restart_clock(&mut self) {}

    fn follow(&self, from: Object, index: usize) -> Option<Object> {
        // SAFETY: the programs follow references below the number that they allocated.
        let word = unsafe { AtomicU64::from_ptr(from.as_ptr().add(1 + index)) };
        NonNull::new(word.load(Ordering::Relaxed) as *mut u64)
    }

    /// The data of an object.
    fn data(&mut self, object: Object) -> &mut [u8] {
        // SAFETY: the header says how much there is; the borrow of the memory keeps it where it is.
        unsafe {
            let header = object.as_ptr().read();
            let first = object.as_ptr().add(1 + header as u32 as usize);
            std::slice::from_raw_parts_mut(first.cast(), (header >> 32) as usize)
        }
    }

    fn bytes_of(&self, object: Object) -> usize {
        // SAFETY: the first word is the header.
        unsafe { (object.as_ptr().read() >> 32) as usize }
    }
}

fn words(references: usize, bytes: usize) -> usize {
    1 + references + bytes.div_ceil(8)
}

/// # Safety
/// `object` is a new object of `words(references, bytes)` words.
unsafe fn initialise(object: Object, references: usize, bytes: usize) {
    // SAFETY: the caller's.
    unsafe {
        object.as_ptr().write(references as u64 | (bytes as u64) << 32);
        for index in 1..=references {
            object.as_ptr().add(index).write(0);
        }
    }
}

/// The object model of the programs.
struct Programs;

// SAFETY: reports all references that the header counts.
unsafe impl Runtime for Programs {
    unsafe fn describe(&self, object: Object, _: usize, portion: Range<usize>, visitor: &mut Visitor<'_>) {
        // SAFETY: the collector passes live objects of this model.
        unsafe {
            let references = object.as_ptr().read() as u32 as usize;
            for index in portion.start.max(1)..portion.end.min(1 + references) {
                let word = AtomicU64::from_ptr(object.as_ptr().add(index));
                if let Some(to) = NonNull::new(word.load(Ordering::Acquire) as *mut u64) {
                    let now = visitor.visit(to);
                    if now != to {
                        word.store(now.as_ptr() as u64, Ordering::Relaxed);
                    }
                }
            }
        }
    }

    fn has_roots(&self) -> bool {
        false
    }
}

/// A heap of this crate.
pub(crate) struct Collected {
    pub(crate) heap: RawHeap,
    mutator: RawMutator,
    every: u64,
    next_sample: u64,
    clock: u64,
    pub(crate) samples: Vec<Usage>,
}

impl Collected {
    pub(crate) fn new(config: &Config) -> Result<Collected, HeapError> {
        let heap = RawHeap::new(config, Box::new(Programs))?;
        let mutator = heap.mutator();
        Ok(Collected { heap, mutator, every: 0, next_sample: u64::MAX, clock: 0, samples: Vec::new() })
    }

    /// Takes a sample of the usage every so many bytes of allocation.
    pub(crate) fn sample_every(&mut self, bytes: u64) {
        self.every = bytes.max(1);
        self.next_sample = 0;
    }

    #[cold]
    fn sample(&mut self) {
        self.mutator.publish_counts();
        let usage = self.heap.usage();
        self.samples.push(Usage { clock: self.clock, ..usage });
        self.next_sample = self.clock + self.every;
    }

    #[cfg(test)]
    pub(crate) fn verify(&self) -> Result<(), crate::Violation> {
        self.mutator.verify()
    }
}

#[inline]
fn slot(number: usize) -> RootSlot {
    match RootSlot::from_number(number) {
        Some(slot) => slot,
        None => unreachable!("a program's root has a number"),
    }
}

impl Memory for Collected {
    #[inline]
    fn allocate(&mut self, references: usize, bytes: usize) -> Result<Object, OutOfMemory> {
        let words = words(references, bytes);
        self.clock += words as u64 * 8;
        if self.clock >= self.next_sample {
            self.sample();
        }
        // SAFETY: initialised at once; the programs keep the rule about roots.
        unsafe {
            let object = self.mutator.allocate(words)?;
            initialise(object, references, bytes);
            Ok(object)
        }
    }

    #[inline]
    fn free(&mut self, _: Object) {}

    #[inline]
    fn root(&mut self, object: Object) -> usize {
        match self.mutator.root(object) {
            Some(slot) => slot.number(),
            None => unreachable!("the programs have a few thousand roots"),
        }
    }

    #[inline]
    fn set_root(&mut self, root: usize, object: Object) {
        // SAFETY: the programs' roots are numbers from `root`, not used after `unroot`.
        unsafe { self.mutator.set_root(slot(root), object) };
    }

    #[inline]
    fn rooted(&self, root: usize) -> Object {
        // SAFETY: as above.
        match unsafe { self.mutator.rooted(slot(root)) } {
            Some(object) => object,
            None => unreachable!("a program's root refers to an object"),
        }
    }

    #[inline]
    fn unroot(&mut self, root: usize) {
        // SAFETY: as above.
        unsafe { self.mutator.unroot(slot(root)) };
    }

    #[inline]
    fn link(&mut self, from: Object, index: usize, to: Option<Object>) {
        // SAFETY: the programs link within the number of references that they allocated.
        unsafe {
            match to {
                Some(to) => self.mutator.store(from, 1 + index, to),
                None => AtomicU64::from_ptr(from.as_ptr().add(1 + index)).store(0, Ordering::Release),
            }
        }
    }
}

/// malloc and free, of a maintained allocator.
pub(crate) struct Malloc<'a, A> {
    allocator: &'a A,
    roots: Vec<Option<Object>>,
    free_roots: Vec<usize>,
    /// Objects not yet freed, and bytes allocated.
    pub(crate) live: u64,
    pub(crate) clock: u64,
}

impl<'a, A> Malloc<'a, A> {
    pub(crate) fn new(allocator: &'a A) -> Malloc<'a, A> {
        Malloc { allocator, roots: Vec::new(), free_roots: Vec::new(), live: 0, clock: 0 }
    }
}

impl<A: GlobalAlloc> Memory for Malloc<'_, A> {
    #[inline]
    fn allocate(&mut self, references: usize, bytes: usize) -> Result<Object, OutOfMemory> {
        let words = words(references, bytes);
        let error = OutOfMemory { words, limit: usize::MAX };
        let layout = Layout::array::<u64>(words).map_err(|_| error)?;
        self.live += 1;
        self.clock += layout.size() as u64;
        // SAFETY: the layout is not empty; the object is initialised at once.
        unsafe {
            let object = NonNull::new(self.allocator.alloc(layout).cast()).ok_or(error)?;
            initialise(object, references, bytes);
            Ok(object)
        }
    }

    #[inline]
    fn free(&mut self, object: Object) {
        // SAFETY: the programs free each object at most once, and use it no more; the layout is that of its allocation.
        unsafe {
            let header = object.as_ptr().read();
            let words = words(header as u32 as usize, (header >> 32) as usize);
            let layout = Layout::from_size_align_unchecked(words * 8, 8);
            self.live -= 1;
            self.allocator.dealloc(object.as_ptr().cast(), layout);
        }
    }

    #[inline]
    fn root(&mut self, object: Object) -> usize {
        match self.free_roots.pop() {
            Some(index) => {
                self.roots[index] = Some(object);
                index
            }
            None => {
                self.roots.push(Some(object));
                self.roots.len() - 1
            }
        }
    }

    #[inline]
    fn set_root(&mut self, root: usize, object: Object) {
        self.roots[root] = Some(object);
    }

    #[inline]
    fn rooted(&self, root: usize) -> Object {
        match self.roots[root] {
            Some(object) => object,
            None => unreachable!("a program's root refers to an object"),
        }
    }

    #[inline]
    fn unroot(&mut self, root: usize) {
        self.roots[root] = None;
        self.free_roots.push(root);
    }

    fn restart_clock(&mut self) {
        self.clock = 0;
    }

    #[inline]
    fn link(&mut self, from: Object, index: usize, to: Option<Object>) {
        let address = to.map_or(0, |to| to.as_ptr() as u64);
        // SAFETY: the programs link within the number of references that they allocated.
        unsafe { AtomicU64::from_ptr(from.as_ptr().add(1 + index)).store(address, Ordering::Relaxed) };
    }
}

/// The number of references of an object.
pub(crate) fn references_of(object: Object) -> usize {
    // SAFETY: the first word of each object is its header.
    unsafe { object.as_ptr().read() as u32 as usize }
}
