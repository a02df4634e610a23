//! Allocation sites: instructions that build lists or tuples. An architecture with an area for messages asks the engine
//! which site built an object, and tells it where the objects of a site are to be built from now on.

/// An allocation site, by the address of its instruction in its module's code, which may have copies.
pub type Site = usize;

/// An engine's allocation sites.
pub trait Sites: Sync {
    /// Each site tells of the next few objects that it builds ([`crate::AllocationSites::built`]), all of which it
    /// builds on the process's heap: those that build there, and, with `all`, the others too.
    fn sample(&self, all: bool);

    /// Where the site's objects are built from now on: in the area, as far as their parts allow it
    /// ([`crate::BuildWindow`]), or on the process's heap.
    fn build_in_area(&self, site: Site, in_area: bool);

    /// Whether the site's objects are built in the area, as far as their parts allow it.
    fn is_in_area(&self, site: Site) -> bool;

    /// Whether the message analysis says that none of the site's objects leaves its process. It is asked with
    /// `--verify-heap` only.
    fn never_leaves(&self, site: Site) -> bool;
}
