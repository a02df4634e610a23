//! The raw interface, for language runtimes: words instead of types, roots by slots or from the runtime, explicit
//! barriers.
//!
//! The rules that its callers keep, and the collectors rely on:
//!
//! * A reference is the address of an object's first word. One that is held across an allocation, [`RawMutator::poll`],
//!   [`RawMutator::collect`] or [`RawMutator::park`] of its thread must be reachable: from a root slot, from a global
//!   root, from an object that is, or from what the [`Runtime`] pushes.
//! * A new object is handed to another thread by way of an object or a global root that its own thread stored it into.
//! * A new object is initialised before its thread's next such call.
//! * Each reference that is stored into an object, initialising stores included, goes through [`RawMutator::barrier`]
//!   (or [`RawMutator::store`]), before or after the store but before the thread's next such call. While nothing is
//!   being marked that is one test.
//! * Objects never move, except by [`crate::Preset::Cp`], which leaves those that a root slot refers to in place.

mod mutator;

pub use mutator::RawMutator;

use crate::area::Area;
use crate::config::Config;
use crate::error::HeapError;
use crate::heap::{Engine, Inner};
use crate::paged::Budget;
pub use crate::runtime::{Portion, Runtime, Visitor};
use crate::statistics::{Collection, Pause, Statistics, Usage};
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// A heap, shared by all who clone it. Its memory is returned when the last clone, mutator and global root is gone.
#[derive(Clone, Debug)]
pub struct RawHeap {
    pub(crate) inner: Arc<Inner>,
}

/// A root slot of a mutator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RootSlot(NonNull<AtomicUsize>);

#[cfg(feature = "evaluation")]
impl RootSlot {
    pub(crate) fn number(self) -> usize {
        self.0.as_ptr().expose_provenance()
    }

    /// The slot of a number; `None` for 0, which no slot has.
    pub(crate) fn from_number(number: usize) -> Option<RootSlot> {
        NonNull::new(std::ptr::with_exposed_provenance_mut(number)).map(RootSlot)
    }
}

/// A root slot of a heap, written by any mutator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GlobalSlot(u32);

impl RawHeap {
    /// Makes a heap for the objects of `runtime`.
    ///
    /// # Errors
    /// [`HeapError`] for contradictory settings, or if the operating system refuses the address range.
    pub fn new(config: &Config, runtime: Box<dyn Runtime>) -> Result<RawHeap, HeapError> {
        Ok(RawHeap { inner: Inner::new(config, runtime, None)? })
    }

    /// As [`RawHeap::new`], for [`crate::Preset::Best`], with all objects in addresses that the caller has reserved: so
    /// that a runtime's other immovable objects can lie beside them, and one comparison tells both.
    ///
    /// # Errors
    /// [`HeapError`] for contradictory settings, or a range too short for the limit.
    ///
    /// # Safety
    /// `start..start + bytes` is zeroed private anonymous memory, `start` is aligned to 4 KiB, and nobody else uses it
    /// while the heap or anything of it lives.
    pub unsafe fn new_in(
        config: &Config,
        runtime: Box<dyn Runtime>,
        start: NonNull<u8>,
        bytes: usize,
    ) -> Result<RawHeap, HeapError> {
        // SAFETY: the caller's obligation.
        let place = unsafe { Area::borrowed(start.as_ptr(), bytes) };
        Ok(RawHeap { inner: Inner::new(config, runtime, Some(place))? })
    }

    /// Changes the bytes of [`crate::Pace::Growth`], from the next look on.
    pub fn set_least_growth(&self, bytes: usize) {
        if let Engine::Paged(paged) = &self.inner.engine {
            paged.set_least_growth(bytes);
        }
    }

    /// Whether a live object begins at an address of this heap: for verifiers. [`crate::Preset::Best`] only, `true` for
    /// others.
    pub fn is_object(&self, address: usize) -> bool {
        match &self.inner.engine {
            Engine::Paged(paged) => self.inner.range.contains(&address) && paged.is_object(address),
            _ => true,
        }
    }

    /// Visits the memory that backs objects, in runs: first words, words. Free pages are among it, and what is on them
    /// has no meaning. [`crate::Preset::Best`] only; others have no such runs.
    pub fn each_backed_run(&self, visit: &mut dyn FnMut(*mut u64, usize)) {
        if let Engine::Paged(paged) = &self.inner.engine {
            paged.each_backed_run(visit);
        }
    }

    /// All addresses that objects of this heap can ever have: one contiguous range, so that "is it in this heap" is a
    /// compare.
    pub fn range(&self) -> Range<usize> {
        self.inner.range.clone()
    }

    /// The limit in bytes.
    pub fn limit(&self) -> usize {
        self.inner.limit
    }

    /// Whether a collection is on, its sweeping included: whether [`RawHeap::assist`] may have something to do.
    pub fn is_collecting(&self) -> bool {
        match &self.inner.engine {
            Engine::Paged(paged) => paged.is_busy(),
            _ => false,
        }
    }

    /// Whether a collection is marking. While it says no, barriers need not be called: one of a thread that has not yet
    /// noticed the end greys for nothing.
    #[inline]
    pub fn is_marking(&self) -> bool {
        match &self.inner.engine {
            Engine::Paged(paged) => paged.is_marking(),
            _ => self.inner.marking.load(Ordering::Acquire),
        }
    }

    /// How the memory is used now.
    pub fn usage(&self) -> Usage {
        match &self.inner.engine {
            Engine::Lists(lists) => self.inner.lock(lists, None).usage(),
            Engine::Copying(copying) => self.inner.lock(copying, None).usage(),
            Engine::Paged(paged) => paged.usage(),
        }
    }

    /// The counters since the heap was made.
    pub fn statistics(&self) -> Statistics {
        let mut statistics = Statistics::default();
        self.inner.log.fill(&mut statistics);
        match &self.inner.engine {
            Engine::Lists(lists) => self.inner.lock(lists, None).fill_statistics(&mut statistics),
            Engine::Copying(copying) => {
                self.inner.lock(copying, None).fill_statistics(&mut statistics);
            }
            Engine::Paged(paged) => paged.fill_statistics(&mut statistics),
        }
        statistics
    }

    /// The pauses above the bound, in the order in which they ended: the 4,096 longest.
    pub fn pauses(&self) -> Vec<Pause> {
        self.inner.log.pauses()
    }

    /// The collections in their order: the first 4,096.
    pub fn collections(&self) -> Vec<Collection> {
        self.inner.log.collections()
    }

    /// Switches on (or off) the clocks behind [`Statistics::times`], which cost about 50 ns per allocation. List
    /// collectors only.
    pub fn set_timing(&self, on: bool) {
        if let Engine::Lists(lists) = &self.inner.engine {
            self.inner.lock(lists, None).timing = on;
        }
    }

    /// Measures the processor time of pauses too, and what the operating system did to the thread in them (about 0.6 us
    /// per visit to the collector), for machines that are busy with other things.
    pub fn measure_processor_time(&self, on: bool) {
        self.inner.log.measure_processor_time(on);
    }

    /// Lends the calling thread, which needs no mutator, to the collector for a while: it marks, sweeps, or does
    /// nothing if nothing is to be done.
    ///
    /// Returns whether it did anything. Only [`crate::Preset::Best`] takes such help.
    pub fn assist(&self, time: Duration) -> bool {
        let Engine::Paged(paged) = &self.inner.engine else {
            return false;
        };
        let budget = Budget { deadline: Some(Instant::now() + time), ..Budget::ALL };
        let cx = self.inner.context(None);
        paged.is_busy() && paged.work(&cx, None, budget) > 0
    }

    /// Ends a global root. The slot must not be used again.
    pub fn drop_global(&self, slot: GlobalSlot) {
        let mut free = self.inner.free_globals.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        self.inner.globals.set(slot.0 as usize, 0);
        free.0.push(slot.0);
    }
}
