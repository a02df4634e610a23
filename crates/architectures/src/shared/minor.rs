//! A minor collection: the young generation of all processes (Wilhelmsson §4.4, and §3.2.2 for the generations).

use std::ptr::null_mut;
use std::sync::atomic::Ordering;

use atoll_heap::{link_off_heap, off_heap_bytes};
use atoll_term::{WORD_BYTES, Word};

use super::Shared;
use super::copy::copy;
use super::roots::Roots;
use super::settle::{Outcome, report, settle};
use super::state::Collector;
use crate::common::cheney::{Destination, Policy};
use crate::common::fragments::FragmentRanges;
use crate::common::{blocks, fibonacci, off_heap};

/// Shrinks to the series' next size above this times what is needed.
const SHRINK_FACTOR: usize = 3;

struct Young {
    start: usize,
    mature_bytes: usize,
    used_bytes: usize,
    fragments: FragmentRanges,
}

impl Policy for Young {
    #[inline(always)]
    fn destination(&self, place: *const Word) -> Destination {
        let offset = (place as usize).wrapping_sub(self.start);
        if offset >= self.used_bytes {
            if self.fragments.contains(place) { Destination::Young } else { Destination::Stay }
        } else if offset < self.mature_bytes {
            Destination::Old
        } else {
            Destination::Young
        }
    }
}

/// Collects the young generation in a stopped world. False: that did not make enough room.
pub(super) fn collect(
    shared: &Shared,
    collector: &mut Collector,
    need: usize,
    roots: &mut Roots<'_>,
    started: i64,
) -> bool {
    let from = collector.young().start();
    let used = blocks::words_between(from, shared.young_top.load(Ordering::Acquire) as *mut Word);
    let mature = blocks::words_between(from, collector.mark);
    let floor = shared.floor.load(Ordering::Relaxed);
    let (fragments, fragment_words) = collector.kept_ranges();
    let before = used + fragment_words;
    let mut words = collector.young_words.max(floor);
    if collector.grow || need > words / 4 {
        words = (words + 1).max(before + need);
    }
    let words = fibonacci::at_least(words);
    if mature > 0 && collector.old_words == 0 {
        collector.old_words = fibonacci::at_least(mature + used);
    }
    let extent = collector.old_extent();
    collector.old().check_room(collector.old_words.max(extent) + 2 * mature);
    let to = collector.other().start();
    collector.other().check_room(2 * before + need);

    let old_start = collector.old_top;
    let old_before = collector.old_used();
    let policy =
        Young { start: from as usize, mature_bytes: mature * WORD_BYTES, used_bytes: used * WORD_BYTES, fragments };
    let mut young_list = null_mut();
    let mut old_list = collector.old_off_heap;
    // SAFETY: the roots hold whole terms, and the ranges have room; the list is the heap's own, all its objects lay in
    // the young generation.
    let (young_top, old_top) = unsafe {
        let tops = copy(shared, collector, roots, policy, (to, old_start), before);
        let old = collector.old().start() as usize..tops.1 as usize;
        off_heap::sweep(collector.young_off_heap, |object| {
            let is_old = old.contains(&(object.as_ptr() as usize));
            collector.old_off_heap_bytes += if is_old { off_heap_bytes(object) } else { 0 };
            link_off_heap(if is_old { &mut old_list } else { &mut young_list }, object);
        });
        collector.free_kept();
        tops
    };
    collector.young_off_heap = young_list;
    collector.old_off_heap = old_list;
    collector.old_top = old_top;
    collector.minors += 1;
    let live = blocks::words_between(to, young_top);
    let outcome = Outcome { top: young_top, words, need, used_before: used };
    // SAFETY: everything that lives has been copied.
    unsafe { settle(shared, collector, &outcome, SHRINK_FACTOR, started) };
    report(collector, false, started, before, live + collector.old_used() - old_before);
    // Where what is old is not moved, a major collection would not make more room for what is young.
    live + need <= words || collector.mark_sweep.is_some()
}
