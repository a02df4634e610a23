//! Phases 3 and 4 of the collections that copy, by one thread or by several.

use std::sync::atomic::Ordering;

use atoll_term::Word;

use super::roots::{Roots, Visit};
use super::state::Collector;
use super::{Shared, parallel};
use crate::common::blocks;
use crate::common::cheney::{Copier, Policy};
use crate::common::counted::{self, Counted};
use crate::common::fragments::FragmentRanges;

/// Phases 3 and 4: copies all that the roots reach, on several threads if there is much; gives the new tops.
///
/// # Safety
/// The world is stopped; the roots hold whole terms; the destinations have twice the room of what may be copied.
pub(super) unsafe fn copy<P: Policy + Sync>(
    shared: &Shared,
    collector: &mut Collector,
    roots: &mut Roots<'_>,
    policy: P,
    destinations: (*mut Word, *mut Word),
    before: usize,
) -> (*mut Word, *mut Word) {
    if counted::is_wanted() {
        let mut ranges = FragmentRanges::default();
        ranges.add_run(collector.old().start(), collector.old_extent());
        // SAFETY: as the caller's.
        return unsafe { copy_by(shared, collector, roots, Counted::new(policy, ranges.sort()), destinations, before) };
    }
    // SAFETY: as the caller's.
    unsafe { copy_by(shared, collector, roots, policy, destinations, before) }
}

unsafe fn copy_by<P: Policy + Sync>(
    shared: &Shared,
    collector: &mut Collector,
    roots: &mut Roots<'_>,
    policy: P,
    destinations: (*mut Word, *mut Word),
    before: usize,
) -> (*mut Word, *mut Word) {
    let (young, old) = destinations;
    let is_large = before > shared.parallel_above.load(Ordering::Relaxed);
    let workers = if is_large { shared.workers.load(Ordering::Relaxed) } else { 1 };
    let mut space = collector.mark_sweep.take();
    if workers > 1 || space.is_some() {
        let runs = space.as_mut().map(|space| &mut space.runs);
        // SAFETY: as the caller's.
        let copied = unsafe { parallel::copy(collector, roots, &policy, destinations, workers, runs) };
        collector.old_allocated += copied.promoted;
        collector.mark_sweep = space;
        return copied.tops;
    }
    let mut serial = Serial { copier: Copier::new(policy, young, old), start: [young, old], scanned: [young, old] };
    roots.each_run(collector, &mut serial);
    serial.follow();
    (serial.copier.young, serial.copier.old)
}

/// The copy by one thread.
struct Serial<P> {
    copier: Copier<P>,
    /// Where the copies begin ...
    start: [*mut Word; 2],
    /// ... and up to where they have been scanned.
    scanned: [*mut Word; 2],
}

impl<P: Policy> Visit for Serial<P> {
    fn run(&mut self, start: *mut Word, words: usize) {
        // SAFETY: the roots hold whole terms, and the destinations have room.
        unsafe { self.copier.visit_run(start, words) }
    }

    fn follow(&mut self) -> [usize; 2] {
        let [young, old] = self.scanned;
        // SAFETY: only this copy writes there.
        unsafe { self.copier.scan(young, old) };
        self.scanned = [self.copier.young, self.copier.old];
        [0, 1].map(|which| blocks::words_between(self.start[which], self.scanned[which]))
    }
}
