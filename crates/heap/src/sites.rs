//! Allocation sites: instructions that build lists or tuples. An architecture with an area for messages asks the engine
//! which site built an object, and tells it where the objects of a site are to be built from now on.

use std::sync::atomic::{AtomicU32, Ordering};

/// An allocation site, by the address of its instruction in its module's code, which may have copies.
pub type Site = usize;

/// For how long sites are sampled.
#[derive(Default)]
pub struct Sampling(AtomicU32);

impl Sampling {
    /// Sites are sampled for so many time slices from now on.
    pub fn begin(&self, slices: u32) {
        self.0.store(slices, Ordering::Relaxed);
    }

    /// A time slice begins. Returns true for the last of these.
    #[inline(always)]
    pub fn ends_with_slice(&self) -> bool {
        self.0.load(Ordering::Relaxed) > 0 && self.count()
    }

    #[cold]
    fn count(&self) -> bool {
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)) == Ok(1)
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

    /// Until when sites are sampled.
    fn sampling(&self) -> &Sampling;

    /// Whether the site's objects are built in the area, as far as their parts allow it.
    fn is_in_area(&self, site: Site) -> bool;

    /// Whether the message analysis says that none of the site's objects leaves its process. It is asked with
    /// `--verify-heap` only.
    fn never_leaves(&self, site: Site) -> bool;
}
