//! Allocation sites: instructions that build lists or tuples. An architecture with an area for messages asks the engine
//! which site built an object, and tells it where the objects of a site are to be built from now on.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// An allocation site, by the address of its instruction.
pub type Site = usize;

/// Whether code has to look at each site on its way, because some build in the area or are to tell of objects.
#[derive(Default)]
pub struct SiteChanges {
    always: AtomicBool,
    /// Time slices for which it has to at least.
    slices: AtomicU32,
}

impl SiteChanges {
    /// Whether a process that is about to run has to.
    #[inline(always)]
    pub fn are_there(&self) -> bool {
        self.always.load(Ordering::Relaxed) || self.slices.load(Ordering::Relaxed) > 0 && self.count()
    }

    #[cold]
    fn count(&self) -> bool {
        let less = |left: u32| left.checked_sub(1);
        self.slices.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok()
    }

    /// Some sites build in the area, or always tell of objects; false: none does any more.
    pub fn set_always(&self, always: bool) {
        self.always.store(always, Ordering::Relaxed);
    }

    /// Sites tell of objects for so many time slices.
    pub fn ask_for(&self, slices: u32) {
        self.slices.store(slices, Ordering::Relaxed);
    }
}

/// An engine's allocation sites.
pub trait Sites: Sync {
    /// Each site tells of the next few objects that it builds ([`crate::AllocationSites::built`]), all of which it
    /// builds on the process's heap: those that build there, and, with `all`, the others too.
    fn sample(&self, all: bool);

    /// Where the site's objects are built from now on: in the area, as far as their parts allow it
    /// ([`crate::BuildWindow`]), or on the process's heap.
    fn build_in_area(&self, site: Site, in_area: bool);

    /// Whether sites have changed.
    fn changes(&self) -> &SiteChanges;

    /// Whether the site's objects are built in the area, as far as their parts allow it.
    fn is_in_area(&self, site: Site) -> bool;

    /// Whether the message analysis says that none of the site's objects leaves its process. It is asked with
    /// `--verify-heap` only.
    fn never_leaves(&self, site: Site) -> bool;
}
