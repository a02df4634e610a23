//! The safe interface: heaps of Rust values, with roots as handles.

use crate::config::Config;
use crate::error::{HeapError, OutOfMemory, Violation};
use crate::raw::{GlobalSlot, RawHeap, RawMutator, RootSlot};
use crate::runtime::{Runtime, Visitor};
use crate::statistics::{Collection, Pause, Statistics, Usage};
use crate::trace::{EdgeVisitor, Trace};
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, Range};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// What the first word of each object leads to.
struct TypeInfo {
    /// Words before the value or the first element: 1, or 2 with the length of an array.
    prefix: usize,
    /// Bytes of the value or of an element.
    size: usize,
    trace: unsafe fn(*const u8, &mut EdgeVisitor<'_>),
    drop: Option<unsafe fn(*mut u8)>,
}

/// A type that an object can be: a [`Trace`] type, or a slice of one. Sealed.
pub trait Managed: Send + Sync + 'static + sealed::Sealed {
    /// The value of an object of this type.
    ///
    /// # Safety
    /// `object` is a live object of this type.
    #[doc(hidden)]
    unsafe fn value(object: NonNull<u64>) -> *const Self;
}

mod sealed {
    pub trait Sealed {}
    impl<T: super::Trace> Sealed for T {}
    impl<T: super::Trace> Sealed for [T] {}
}

impl<T: Trace> Managed for T {
    #[inline]
    unsafe fn value(object: NonNull<u64>) -> *const T {
        // SAFETY: the value follows one word of type information.
        unsafe { object.as_ptr().add(1).cast() }
    }
}

impl<T: Trace> Managed for [T] {
    #[inline]
    unsafe fn value(object: NonNull<u64>) -> *const [T] {
        // SAFETY: the elements follow the type information and the length.
        unsafe {
            let length = object.as_ptr().add(1).read() as usize;
            std::ptr::slice_from_raw_parts(object.as_ptr().add(2).cast(), length)
        }
    }
}

struct Info<T>(PhantomData<T>);

impl<T: Trace> Info<T> {
    const FITS: () = assert!(align_of::<T>() <= 8, "objects are aligned to 8 bytes");
    const VALUE: &'static TypeInfo = &Info::<T>::with_prefix(1);
    const ARRAY: &'static TypeInfo = &Info::<T>::with_prefix(2);

    const fn with_prefix(prefix: usize) -> TypeInfo {
        TypeInfo {
            prefix,
            size: size_of::<T>(),
            trace: trace_value::<T>,
            drop: if std::mem::needs_drop::<T>() { Some(drop_value::<T>) } else { None },
        }
    }
}

/// # Safety
/// `value` is a `T` that changes only through shared references.
unsafe fn trace_value<T: Trace>(value: *const u8, edges: &mut EdgeVisitor<'_>) {
    // SAFETY: the caller says so.
    unsafe { (*value.cast::<T>()).trace(edges) }
}

/// # Safety
/// `value` is a `T` that nobody will use again.
unsafe fn drop_value<T>(value: *mut u8) {
    // SAFETY: the caller says so.
    unsafe { value.cast::<T>().drop_in_place() }
}

struct Typed;

impl Typed {
    /// # Safety
    /// `object` is an object of a typed heap.
    unsafe fn info(object: NonNull<u64>) -> (&'static TypeInfo, usize) {
        // SAFETY: the first word of each object is its type information, the second of an array its length.
        unsafe {
            let info = &*(object.as_ptr().read() as *const TypeInfo);
            let count = match info.prefix {
                1 => 1,
                _ => AtomicU64::from_ptr(object.as_ptr().add(1)).load(Ordering::Acquire) as usize,
            };
            (info, count)
        }
    }
}

// SAFETY: each object's edges are reported by its type's `Trace`, an unsafe trait that promises to leave none out. A
// value is described with the portion that its first byte lies in.
unsafe impl Runtime for Typed {
    unsafe fn describe(&self, object: NonNull<u64>, _: usize, portion: Range<usize>, visitor: &mut Visitor<'_>) {
        // SAFETY: the collector passes live objects; values lie behind the prefix, `size` bytes apart.
        unsafe {
            let (info, count) = Typed::info(object);
            let first = object.as_ptr().add(info.prefix).cast::<u8>();
            let to_element = |word: usize| (word.saturating_sub(info.prefix) * 8).div_ceil(info.size.max(1));
            let elements = to_element(portion.start).min(count)..to_element(portion.end).min(count);
            EdgeVisitor::reporting(visitor, |edges| {
                for index in elements {
                    (info.trace)(first.add(index * info.size), edges);
                }
            });
        }
    }

    fn has_roots(&self) -> bool {
        false
    }

    unsafe fn finalize(&self, object: NonNull<u64>, _: usize) {
        // SAFETY: the object is dead, and each of its values is dropped once. Their edges are made null first, for what
        // they lead to may be dead too.
        unsafe {
            let (info, count) = Typed::info(object);
            let Some(drop) = info.drop else { return };
            let first = object.as_ptr().add(info.prefix).cast::<u8>();
            for index in 0..count {
                (info.trace)(first.add(index * info.size), &mut EdgeVisitor::clearing());
            }
            for index in 0..count {
                drop(first.add(index * info.size));
            }
        }
    }
}

/// A heap of Rust values, shared by all who clone it.
///
/// Values that need dropping are dropped when their objects have died, and at the latest with the last clone, mutator
/// and global root of the heap.
#[derive(Clone, Debug)]
pub struct Heap {
    raw: RawHeap,
}

impl Heap {
    /// Makes a heap.
    ///
    /// # Errors
    /// [`HeapError`] for contradictory settings, or if the operating system refuses the address range.
    pub fn new(config: &Config) -> Result<Heap, HeapError> {
        Ok(Heap { raw: RawHeap::new(config, Box::new(Typed))? })
    }

    /// Adds the calling thread; each thread that touches objects has a mutator of its own.
    pub fn mutator(&self) -> Mutator {
        let range = self.raw.range();
        Mutator { raw: self.raw.mutator(), start: range.start, bytes: range.len() }
    }

    /// All addresses that objects of this heap can ever have.
    pub fn range(&self) -> Range<usize> {
        self.raw.range()
    }

    /// The limit in bytes.
    pub fn limit(&self) -> usize {
        self.raw.limit()
    }

    /// How the memory is used now.
    pub fn usage(&self) -> Usage {
        self.raw.usage()
    }

    /// The counters since the heap was made.
    pub fn statistics(&self) -> Statistics {
        self.raw.statistics()
    }

    /// The pauses above the bound.
    pub fn pauses(&self) -> Vec<Pause> {
        self.raw.pauses()
    }

    /// The collections in their order.
    pub fn collections(&self) -> Vec<Collection> {
        self.raw.collections()
    }

    /// Measures the processor time of pauses too. See [`RawHeap::measure_processor_time`].
    pub fn measure_processor_time(&self, on: bool) {
        self.raw.measure_processor_time(on);
    }

    /// Lends the calling thread to the collector for a while; whether it did anything. See [`RawHeap::assist`].
    pub fn assist(&self, time: Duration) -> bool {
        self.raw.assist(time)
    }
}

/// One thread's access to a [`Heap`]. See [`RawMutator`] for when it has to come by.
#[derive(Debug)]
pub struct Mutator {
    raw: RawMutator,
    start: usize,
    bytes: usize,
}

impl Mutator {
    /// Puts a value into the heap.
    ///
    /// # Errors
    /// [`OutOfMemory`] if it does not fit into the limit, even after a whole collection; the value is dropped.
    #[inline]
    pub fn allocate<T: Trace>(&self, value: T) -> Result<Root<'_, T>, OutOfMemory> {
        let () = Info::<T>::FITS;
        let words = 1 + size_of::<T>().div_ceil(8);
        // SAFETY: initialised at once, and rooted before the next poll.
        unsafe {
            let object = self.allocate_words(words, std::mem::needs_drop::<T>())?;
            object.as_ptr().write(std::ptr::from_ref(Info::<T>::VALUE).expose_provenance() as u64);
            object.as_ptr().add(1).cast::<T>().write(value);
            self.root_of(object).ok_or(self.out_of_memory(words))
        }
    }

    /// Puts an array of `length` values into the heap, made one by one by `make`, which gets their index.
    ///
    /// # Errors
    /// As [`Mutator::allocate`].
    pub fn allocate_array<T: Trace>(
        &self,
        length: usize,
        mut make: impl FnMut(usize) -> T,
    ) -> Result<Root<'_, [T]>, OutOfMemory> {
        let () = Info::<T>::FITS;
        let too_much = self.out_of_memory(usize::MAX);
        let bytes = length.checked_mul(size_of::<T>()).ok_or(too_much)?;
        let words = bytes.div_ceil(8).checked_add(2).ok_or(too_much)?;
        // SAFETY: rooted with no elements before `make` can poll; the length follows what is initialised.
        unsafe {
            let object = self.allocate_words(words, std::mem::needs_drop::<T>())?;
            object.as_ptr().write(std::ptr::from_ref(Info::<T>::ARRAY).expose_provenance() as u64);
            object.as_ptr().add(1).write(0);
            let root: Root<'_, [T]> = self.root_of(object).ok_or(self.out_of_memory(words))?;
            let elements = object.as_ptr().add(2).cast::<T>();
            for index in 0..length {
                elements.add(index).write(make(index));
                AtomicU64::from_ptr(object.as_ptr().add(1)).store(index as u64 + 1, Ordering::Release);
            }
            Ok(root)
        }
    }

    /// # Safety
    /// As for [`RawMutator::allocate`].
    #[inline]
    unsafe fn allocate_words(&self, words: usize, finalizable: bool) -> Result<NonNull<u64>, OutOfMemory> {
        // SAFETY: the caller's.
        unsafe { if finalizable { self.raw.allocate_finalizable(words) } else { self.raw.allocate(words) } }
    }

    fn out_of_memory(&self, words: usize) -> OutOfMemory {
        OutOfMemory { words, limit: self.raw.heap().limit() }
    }

    /// # Safety
    /// `object` is a live object of this heap if its address is in the range, and of type `T`.
    #[inline]
    pub(crate) unsafe fn root_of<T: ?Sized + Managed>(&self, object: NonNull<u64>) -> Option<Root<'_, T>> {
        if !self.contains(object.addr().get()) {
            return None;
        }
        let slot = self.raw.root(object)?;
        Some(Root { mutator: self, slot, object, what: PhantomData })
    }

    #[inline]
    pub(crate) fn contains(&self, address: usize) -> bool {
        address.wrapping_sub(self.start) < self.bytes
    }

    #[inline]
    pub(crate) fn barrier(&self, object: NonNull<u64>) {
        self.raw.barrier(object);
    }

    /// Comes by: lets the collector know that this thread is alive. Allocating does so too.
    #[inline]
    pub fn poll(&self) {
        self.raw.poll();
    }

    /// Collects now and waits for it. See [`RawMutator::collect`].
    pub fn collect(&self) {
        self.raw.collect();
    }

    /// Runs something long that does not touch the heap, while nobody waits for this thread.
    pub fn park<R>(&mut self, what: impl FnOnce() -> R) -> R {
        self.raw.park(what)
    }

    /// Stops the other mutators and checks the invariants of the collector.
    ///
    /// # Errors
    /// The first [`Violation`] found.
    pub fn verify(&self) -> Result<(), Violation> {
        self.raw.verify()
    }

    /// Makes a root that any thread can hold; `None` when the heap's two billion slots are used up.
    pub fn global<T: ?Sized + Managed>(&self, root: &Root<'_, T>) -> Option<Global<T>> {
        if !self.contains(root.object.addr().get()) {
            return None;
        }
        let slot = self.raw.global_root(root.object)?;
        Some(Global { heap: self.raw.heap(), slot, what: PhantomData })
    }

    /// The heap.
    pub fn heap(&self) -> Heap {
        Heap { raw: self.raw.heap() }
    }
}

/// A handle that keeps an object alive, and where it is, for the thread that has it. Dereferences to the object's
/// value.
pub struct Root<'m, T: ?Sized + Managed> {
    mutator: &'m Mutator,
    slot: RootSlot,
    object: NonNull<u64>,
    what: PhantomData<*const T>,
}

impl<T: ?Sized + Managed> Root<'_, T> {
    pub(crate) fn object(&self) -> NonNull<u64> {
        self.object
    }

    /// Whether both lead to the same object.
    pub fn same(&self, other: &Root<'_, T>) -> bool {
        self.object == other.object
    }

    /// Makes this handle lead to what another leads to.
    #[inline]
    pub fn replace(&mut self, by: &Root<'_, T>) {
        if self.mutator.contains(by.object.addr().get()) {
            // SAFETY: the slot is this root's, until it is dropped.
            unsafe { self.mutator.raw.set_root(self.slot, by.object) };
            self.object = by.object;
        }
    }
}

impl<T: ?Sized + Managed> Deref for Root<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the root keeps the object alive, and no collector moves what a root slot refers to.
        unsafe { &*T::value(self.object) }
    }
}

impl<T: ?Sized + Managed> Drop for Root<'_, T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the slot is this root's, which ends here.
        unsafe { self.mutator.raw.unroot(self.slot) };
    }
}

impl<T: ?Sized + Managed + fmt::Debug> fmt::Debug for Root<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// A handle that keeps an object alive and belongs to no thread.
pub struct Global<T: ?Sized + Managed> {
    heap: RawHeap,
    slot: GlobalSlot,
    what: PhantomData<fn() -> Box<T>>,
}

impl<T: ?Sized + Managed> fmt::Debug for Global<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Global").field("slot", &self.slot).finish_non_exhaustive()
    }
}

impl<T: ?Sized + Managed> Global<T> {
    /// A root of the calling thread for the same object; `None` for a mutator of another heap.
    pub fn local<'m>(&self, mutator: &'m Mutator) -> Option<Root<'m, T>> {
        let object = mutator.raw.global(self.slot).filter(|_| self.heap.range().start == mutator.start)?;
        // SAFETY: the global slot refers to a live object of type `T` of this heap.
        unsafe { mutator.root_of(object) }
    }
}

impl<T: ?Sized + Managed> Drop for Global<T> {
    fn drop(&mut self) {
        self.heap.drop_global(self.slot);
    }
}
