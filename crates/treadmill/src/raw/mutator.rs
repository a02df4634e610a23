//! A thread's access to a heap: allocation, roots, barriers.

use super::{GlobalSlot, RawHeap, RootSlot};
use crate::error::{OutOfMemory, Violation};
use crate::heap::{Engine, Inner};
use crate::paged::Local;
use crate::statistics::Cause;
use crate::world::Member;
use std::cell::{Cell, RefCell};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

impl RawHeap {
    /// The number of what mutators have to hear of; `None` while they are being stopped. A mutator that owed nothing
    /// when this was the same as now, and has not been used since, owes nothing now ([`RawMutator::is_owing`]).
    #[inline]
    pub fn epoch(&self) -> Option<u32> {
        self.inner.world.epoch()
    }

    /// Adds the calling thread. Each thread that touches objects has a mutator of its own.
    pub fn mutator(&self) -> RawMutator {
        let member = self.inner.world.join();
        let local = Local::new();
        if let Engine::Paged(paged) = &self.inner.engine {
            paged.view(&local);
        }
        RawMutator {
            inner: Arc::clone(&self.inner),
            member,
            local,
            free: RefCell::new(Vec::new()),
            unused: Cell::new(0),
        }
    }
}

/// One thread's access to a heap.
///
/// It can be sent to another thread, but not be used by two at once. While it exists and is not parked, its thread must
/// come by now and then: by allocating, or by [`RawMutator::poll`]; others may wait for it when memory is exhausted.
#[derive(Debug)]
pub struct RawMutator {
    pub(crate) inner: Arc<Inner>,
    member: Arc<Member>,
    local: Local,
    /// Slots to be used again.
    free: RefCell<Vec<RootSlot>>,
    unused: Cell<u32>,
}

impl RawMutator {
    /// Allocates an object of `words` words (of 8 bytes; at least one), aligned to 8 bytes. Its content is undefined.
    ///
    /// # Errors
    /// [`OutOfMemory`] if it does not fit into the limit, even after a whole collection.
    ///
    /// # Safety
    /// The rules of this [module](super).
    #[inline]
    pub unsafe fn allocate(&self, words: usize) -> Result<NonNull<u64>, OutOfMemory> {
        match self.local.allocate(words) {
            Some(address) => Ok(self.pointer(address)),
            None => self.allocate_slowly(words, false),
        }
    }

    /// As [`RawMutator::allocate`], for an object that is passed to [`Runtime::finalize`] when it dies.
    ///
    /// # Errors
    /// As [`RawMutator::allocate`].
    ///
    /// # Safety
    /// The rules of this [module](super).
    pub unsafe fn allocate_finalizable(&self, words: usize) -> Result<NonNull<u64>, OutOfMemory> {
        self.allocate_slowly(words, true)
    }

    /// As [`RawMutator::allocate`], but does nothing else: no poll, no work for the collector. So what a runtime builds
    /// out of several objects stays as it is until it is whole, without roots; [`RawMutator::settle`] must follow soon.
    /// Does not collect when memory is exhausted. [`crate::Preset::Best`] only.
    ///
    /// # Errors
    /// [`OutOfMemory`] if no free memory is left below the limit, or the collector is another one.
    ///
    /// # Safety
    /// The rules of this [module](super), but not the first two.
    #[inline]
    pub unsafe fn allocate_quietly(&self, words: usize, finalizable: bool) -> Result<NonNull<u64>, OutOfMemory> {
        match self.local.allocate(words) {
            Some(address) if !finalizable => Ok(self.pointer(address)),
            Some(address) => {
                if let Engine::Paged(paged) = &self.inner.engine {
                    paged.add_finalizable(address);
                }
                Ok(self.pointer(address))
            }
            None => self.allocate_quietly_slow(words, finalizable),
        }
    }

    /// Room for objects of two words (cells of lists) in a row: where the first goes, and how many there are, at least
    /// one. They become objects with [`RawMutator::take_pairs`]. As quiet as [`RawMutator::allocate_quietly`].
    ///
    /// # Errors
    /// As [`RawMutator::allocate_quietly`].
    #[inline]
    pub fn pairs(&self) -> Result<(NonNull<u64>, usize), OutOfMemory> {
        let (mut start, mut count) = self.local.pairs();
        if count == 0 {
            let Engine::Paged(paged) = &self.inner.engine else {
                return Err(OutOfMemory { words: 2, limit: self.inner.limit });
            };
            (start, count) = paged.next_pairs(&self.local)?;
        }
        Ok((self.pointer(start), count))
    }

    /// Makes objects of the first `count` of what [`RawMutator::pairs`] gave.
    ///
    /// # Safety
    /// They are that many at most, at least one, and the heap was not used in between; for the rest as
    /// [`RawMutator::allocate_quietly`].
    #[inline]
    pub unsafe fn take_pairs(&self, count: usize) {
        self.local.take_pairs(count);
    }

    /// Room for objects of any size, one in front of the other: an address and words, perhaps 0, of one group of 64
    /// words (512 bytes). The first object ends where the room ends, so the cells of a list, which is built from its
    /// end, lie in a row. They become objects with [`RawMutator::take_window`].
    #[inline]
    pub fn window(&self) -> (NonNull<u64>, usize) {
        let (start, words) = self.local.window();
        (if words == 0 { NonNull::dangling() } else { self.pointer(start) }, words)
    }

    /// Makes objects of what was laid into the end of what [`RawMutator::window`] gave. Their words.
    ///
    /// # Safety
    /// `objects` has the bits of the first and of the second word of each object, numbered within the group; each has
    /// at least two words, and ends where the one before it begins; the last begins at `first`; there is at least one;
    /// the heap was not used in between; for the rest as [`RawMutator::allocate_quietly`].
    #[inline]
    pub unsafe fn take_window(&self, objects: u64, first: NonNull<u64>) -> usize {
        self.local.take_window(objects, first.as_ptr() as usize)
    }

    #[cold]
    fn allocate_quietly_slow(&self, words: usize, finalizable: bool) -> Result<NonNull<u64>, OutOfMemory> {
        let Engine::Paged(paged) = &self.inner.engine else {
            return Err(OutOfMemory { words, limit: self.inner.limit });
        };
        let address = paged.allocate_quietly(&self.local, words)?;
        if finalizable {
            paged.add_finalizable(address);
        }
        Ok(self.pointer(address))
    }

    /// Polls, and works for what [`RawMutator::allocate_quietly`] gave, within the pause bound.
    #[inline]
    pub fn settle(&self) {
        if let Engine::Paged(paged) = &self.inner.engine
            && self.is_owing()
        {
            paged.settle(&self.inner.context(Some(&self.member)), &self.local);
        }
    }

    /// Whether [`RawMutator::settle`] has anything to do.
    #[inline]
    pub fn is_owing(&self) -> bool {
        match &self.inner.engine {
            Engine::Paged(paged) => paged.owes(&self.local) || self.inner.world.wants(&self.member),
            _ => false,
        }
    }

    /// From now on nobody waits for this thread, which does not touch the heap until [`RawMutator::unpark`].
    pub fn park_now(&self) {
        if let Engine::Paged(paged) = &self.inner.engine {
            paged.release(&self.local);
        }
        self.inner.world.park(&self.member);
    }

    /// Ends what [`RawMutator::park_now`] began.
    pub fn unpark(&self) {
        self.inner.world.unpark(&self.member);
        if let Engine::Paged(paged) = &self.inner.engine {
            paged.view(&self.local);
        }
    }

    #[inline]
    fn pointer(&self, address: usize) -> NonNull<u64> {
        // SAFETY: an address of the area, which never begins at 0.
        unsafe { NonNull::new_unchecked(self.inner.base.with_addr(address)) }
    }

    #[cold]
    fn allocate_slowly(&self, words: usize, finalizable: bool) -> Result<NonNull<u64>, OutOfMemory> {
        let cx = self.inner.context(Some(&self.member));
        let address = match &self.inner.engine {
            Engine::Lists(lists) => {
                self.inner.world.poll(&self.member);
                self.inner.lock(lists, Some(&self.member)).allocate(&cx, words, finalizable)?
            }
            Engine::Copying(copying) => {
                self.inner.world.poll(&self.member);
                self.inner.lock(copying, Some(&self.member)).allocate(&cx, words, finalizable)?
            }
            Engine::Paged(paged) => {
                let address = paged.allocate(&cx, &self.local, words)?;
                if finalizable {
                    self.local.escapes(address);
                    paged.add_finalizable(address);
                }
                address
            }
        };
        Ok(self.pointer(address))
    }

    /// Tells the collector that a reference to `object` was or will be stored where the collector may already have
    /// looked: greys it while a collection is on. Also the barrier of publication, for runtimes that build objects
    /// before others can see them.
    #[inline]
    pub fn barrier(&self, object: NonNull<u64>) {
        self.local.escapes(object.addr().get());
        if self.is_marking() {
            self.barrier_slowly(object);
        }
    }

    #[cold]
    fn barrier_slowly(&self, object: NonNull<u64>) {
        match &self.inner.engine {
            Engine::Paged(paged) => paged.barrier(&self.local, object.addr().get()),
            Engine::Lists(lists) => {
                self.inner.lock(lists, Some(&self.member)).barrier(object.addr().get());
            }
            Engine::Copying(_) => {}
        }
    }

    /// Stores a reference into word `index` of an object, with the barrier.
    ///
    /// # Safety
    /// The rules of this [module](super); `index` is within the object, and `value` an object of this heap.
    #[inline]
    pub unsafe fn store(&self, object: NonNull<u64>, index: usize, value: NonNull<u64>) {
        // SAFETY: the caller says that the word is the object's; atomic, for markers may read it now.
        let word = unsafe { std::sync::atomic::AtomicU64::from_ptr(object.as_ptr().add(index)) };
        word.store(value.addr().get() as u64, Ordering::Release);
        self.barrier(value);
    }

    /// Makes a root of an object; `None` when the two billion slots are used up.
    #[inline]
    pub fn root(&self, object: NonNull<u64>) -> Option<RootSlot> {
        let slot = match self.free.borrow_mut().pop() {
            Some(slot) => slot,
            None => {
                let index = self.unused.get();
                let slot = RootSlot(NonNull::from(self.member.roots.claim(index as usize)?));
                self.unused.set(index + 1);
                slot
            }
        };
        // SAFETY: the slot is this mutator's, and in use from now on.
        unsafe { self.set_root(slot, object) };
        Some(slot)
    }

    /// Makes a root slot refer to another object.
    ///
    /// # Safety
    /// The slot comes from [`RawMutator::root`] of this mutator, and was not given to [`RawMutator::unroot`] since.
    #[inline]
    pub unsafe fn set_root(&self, slot: RootSlot, object: NonNull<u64>) {
        // SAFETY: slots never move, and live as long as the member; only this thread writes them.
        let slot = unsafe { slot.0.as_ref() };
        self.local.let_go(slot.load(Ordering::Relaxed));
        slot.store(object.addr().get(), Ordering::Release);
        self.local.hold(object.addr().get());
        self.member.roots.touch();
        if self.local.is_marking() {
            self.barrier_slowly(object);
        }
    }

    /// The object that a root slot refers to.
    ///
    /// # Safety
    /// As for [`RawMutator::set_root`].
    #[inline]
    pub unsafe fn rooted(&self, slot: RootSlot) -> Option<NonNull<u64>> {
        // SAFETY: slots never move, and live as long as the member.
        match unsafe { slot.0.as_ref() }.load(Ordering::Relaxed) {
            0 => None,
            address => Some(self.pointer(address)),
        }
    }

    /// Ends a root.
    ///
    /// # Safety
    /// As for [`RawMutator::set_root`].
    #[inline]
    pub unsafe fn unroot(&self, slot: RootSlot) {
        // SAFETY: slots never move, and live as long as the member; only this thread writes them.
        let cell = unsafe { slot.0.as_ref() };
        self.local.let_go(cell.load(Ordering::Relaxed));
        cell.store(0, Ordering::Release);
        self.free.borrow_mut().push(slot);
    }

    /// Makes a root that outlives the mutator; `None` when the two billion slots are used up.
    pub fn global_root(&self, object: NonNull<u64>) -> Option<GlobalSlot> {
        let mut free = self.inner.lock(&self.inner.free_globals, Some(&self.member));
        let slot = match free.0.pop() {
            Some(slot) => slot,
            None => {
                let slot = free.1;
                self.inner.globals.slot(slot as usize)?;
                free.1 += 1;
                slot
            }
        };
        self.inner.globals.set(slot as usize, object.addr().get());
        drop(free);
        if let Engine::Paged(paged) = &self.inner.engine {
            // Waiting for the lock may have been a poll.
            paged.view(&self.local);
        }
        self.barrier(object);
        Some(GlobalSlot(slot))
    }

    /// The object of a global root.
    pub fn global(&self, slot: GlobalSlot) -> Option<NonNull<u64>> {
        match self.inner.globals.get(slot.0 as usize) {
            0 => None,
            address => Some(self.pointer(address)),
        }
    }

    /// Comes by: lets a stopping thread go on, and takes note of the collector's phase.
    #[inline]
    pub fn poll(&self) {
        if !self.inner.world.wants(&self.member) {
            return;
        }
        match &self.inner.engine {
            Engine::Paged(paged) => paged.poll(&self.inner.context(Some(&self.member)), &self.local),
            _ => {
                self.inner.world.poll(&self.member);
            }
        }
    }

    /// Whether a collection is being made, so that barriers do something.
    #[inline]
    pub fn is_marking(&self) -> bool {
        self.local.is_marking() || self.inner.marking.load(Ordering::Acquire)
    }

    /// Collects now and waits for it: ends the collection that is on, and makes a whole one.
    ///
    /// Waits until all other mutators have polled or are parked.
    pub fn collect(&self) {
        let cx = self.inner.context(Some(&self.member));
        match &self.inner.engine {
            Engine::Lists(lists) => {
                self.inner.world.poll(&self.member);
                self.inner.lock(lists, Some(&self.member)).collect(&cx, Cause::WholeCollection);
            }
            Engine::Copying(copying) => {
                self.inner.world.poll(&self.member);
                self.inner.lock(copying, Some(&self.member)).collect(&cx, Cause::WholeCollection);
            }
            Engine::Paged(paged) => {
                let since = cx.log.start();
                paged.release(&self.local);
                paged.poll(&cx, &self.local);
                if paged.is_collecting(&cx) {
                    paged.complete(&cx, &self.local);
                }
                paged.complete(&cx, &self.local);
                cx.log.pause(since, Cause::WholeCollection);
            }
        }
    }

    /// Runs something long that does not touch the heap, while nobody waits for this thread.
    pub fn park<R>(&mut self, what: impl FnOnce() -> R) -> R {
        self.inner.world.park(&self.member);
        let result = what();
        self.inner.world.unpark(&self.member);
        if let Engine::Paged(paged) = &self.inner.engine {
            paged.view(&self.local);
        }
        result
    }

    /// Stops the other mutators and checks the invariants of the collector.
    ///
    /// # Errors
    /// The first [`Violation`] found.
    pub fn verify(&self) -> Result<(), Violation> {
        let world = &self.inner.world;
        let me = Some(&*self.member);
        world.poll(&self.member);
        match &self.inner.engine {
            Engine::Lists(lists) => {
                let lists = self.inner.lock(lists, me);
                world.stop(me);
                let result = lists.verify();
                world.resume();
                result
            }
            Engine::Copying(copying) => {
                let copying = self.inner.lock(copying, me);
                world.stop(me);
                let result = copying.verify();
                world.resume();
                result
            }
            Engine::Paged(paged) => {
                let result = paged.verify_stopped(&self.inner.context(me));
                paged.view(&self.local);
                result
            }
        }
    }

    /// As [`RawMutator::verify`], unless another thread works for the collector, or does not come by within `limit`: so
    /// nobody waits for long, and threads that wait for each other elsewhere may call this. [`crate::Preset::Best`]
    /// only; `None` where nothing was checked.
    pub fn verify_within(&self, limit: Duration) -> Option<Result<(), Violation>> {
        let Engine::Paged(paged) = &self.inner.engine else { return None };
        self.inner.world.poll(&self.member);
        let result = paged.verify_within(&self.inner.context(Some(&self.member)), limit);
        paged.view(&self.local);
        result
    }

    /// Breaks what the verifier checks, if there is anything to break, so that tests see what becomes of a program
    /// then. Does nothing in builds without debug assertions.
    #[doc(hidden)]
    pub fn break_on_purpose(&self) {
        #[cfg(debug_assertions)]
        if let Engine::Paged(paged) = &self.inner.engine {
            paged.release(&self.local);
            paged.break_a_gap();
        }
    }

    /// The heap.
    pub fn heap(&self) -> RawHeap {
        RawHeap { inner: Arc::clone(&self.inner) }
    }

    /// Brings [`RawHeap::usage`] and [`RawHeap::statistics`] up to date with what this mutator allocated from the page
    /// at its hands.
    pub fn publish_counts(&self) {
        if let Engine::Paged(paged) = &self.inner.engine {
            paged.count(&self.local);
        }
    }
}

// SAFETY: the slots in `free` belong to the member, which the mutator keeps alive; everything else is `Send`.
unsafe impl Send for RawMutator {}

impl Drop for RawMutator {
    fn drop(&mut self) {
        if let Engine::Paged(paged) = &self.inner.engine {
            paged.release(&self.local);
        }
        self.inner.world.leave(&self.member);
    }
}
