//! A major collection: both generations into one new young generation (Wilhelmsson §4.4, §3.2.3).

use std::ptr::null_mut;
use std::sync::atomic::Ordering;

use atoll_heap::{link_off_heap, off_heap_bytes};
use atoll_term::{WORD_BYTES, Word};

use super::Shared;
use super::copy::copy;
use super::roots::Roots;
use super::settle::{MAJOR_SHRINK_FACTOR, Outcome, report, settle};
use super::state::Collector;
use crate::common::cheney::{Destination, Policy};
use crate::common::fragments::FragmentRanges;
use crate::common::{blocks, fibonacci, off_heap, stack};

struct Both {
    young: usize,
    young_bytes: usize,
    old: usize,
    old_bytes: usize,
    fragments: FragmentRanges,
}

impl Policy for Both {
    #[inline(always)]
    fn destination(&self, place: *const Word) -> Destination {
        let address = place as usize;
        if address.wrapping_sub(self.young) < self.young_bytes
            || address.wrapping_sub(self.old) < self.old_bytes
            || self.fragments.contains(place)
        {
            Destination::Young
        } else {
            Destination::Stay
        }
    }
}

/// Collects everything in a stopped world. The need is always met.
pub(super) fn collect(shared: &Shared, collector: &mut Collector, need: usize, roots: &mut Roots<'_>, started: i64) {
    let from = collector.young().start();
    let used = blocks::words_between(from, shared.young_top.load(Ordering::Acquire) as *mut Word);
    let old_used = collector.old_used();
    let (fragments, fragment_words) = collector.kept_ranges();
    let before = used + old_used + fragment_words;
    let words = fibonacci::at_least((before + need).max(shared.floor.load(Ordering::Relaxed)));
    let to = collector.other().start();
    collector.other().check_room(2 * before + need);

    let policy = Both {
        young: from as usize,
        young_bytes: used * WORD_BYTES,
        old: collector.old().start() as usize,
        old_bytes: old_used * WORD_BYTES,
        fragments,
    };
    let mut kept = null_mut();
    let mut bytes = 0;
    // SAFETY: the roots hold whole terms, and the range has room; the lists are the heap's own, all their objects lay
    // in the collected generations.
    let top = unsafe {
        let (top, _) = copy(shared, collector, roots, policy, (to, null_mut()), before);
        let mut keep = |object| {
            bytes += off_heap_bytes(object);
            link_off_heap(&mut kept, object);
        };
        off_heap::sweep(collector.young_off_heap, &mut keep);
        off_heap::sweep(collector.old_off_heap, &mut keep);
        collector.free_kept();
        collector.empty_old();
        top
    };
    collector.live_off_heap_bytes = bytes;
    collector.old_off_heap_bytes = 0;
    collector.young_off_heap = kept;
    collector.old_off_heap = null_mut();
    collector.minors = 0;
    shared.majors.fetch_add(1, Ordering::Release);
    let live = blocks::words_between(to, top);
    let outcome = Outcome { top, words, need, used_before: used };
    // SAFETY: everything that lives has been copied.
    unsafe { settle(shared, collector, &outcome, MAJOR_SHRINK_FACTOR, started) };
    report(collector, true, started, before, live);
    roots.stopped.forget_activity();
    // Stacks that were deep once give their memory back.
    roots.stopped.each_movable_stack(&mut |mutator| stack::trim(mutator, 0));
}
