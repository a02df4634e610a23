//! Counting the pointers that a collection meets, when a run is timed (Wilhelmsson, Appendix C).

use std::sync::atomic::{AtomicU64, Ordering};

use atoll_heap::counters::record_pointers;
use atoll_heap::settings;
use atoll_term::Word;

use super::cheney::{Destination, Policy};
use super::fragments::FragmentRanges;

/// Whether pointers are to be counted.
pub(crate) fn is_wanted() -> bool {
    settings().timed
}

/// A policy that counts what it is asked.
pub(crate) struct Counted<P> {
    policy: P,
    old_ranges: FragmentRanges,
    old: AtomicU64,
    young: AtomicU64,
}

impl<P: Policy> Counted<P> {
    /// Counts pointers into these ranges as old, others that are collected as young.
    pub(crate) fn new(policy: P, old_ranges: FragmentRanges) -> Counted<P> {
        Counted { policy, old_ranges, old: AtomicU64::new(0), young: AtomicU64::new(0) }
    }
}

impl<P: Policy> Policy for Counted<P> {
    fn destination(&self, place: *const Word) -> Destination {
        let destination = self.policy.destination(place);
        if self.old_ranges.contains(place) {
            self.old.fetch_add(1, Ordering::Relaxed);
        } else if destination != Destination::Stay {
            self.young.fetch_add(1, Ordering::Relaxed);
        }
        destination
    }
}

impl<P> Drop for Counted<P> {
    fn drop(&mut self) {
        record_pointers(*self.old.get_mut(), *self.young.get_mut());
    }
}
