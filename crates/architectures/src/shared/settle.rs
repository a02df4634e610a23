//! Phase 6: the size of the young generation after a collection.

use std::sync::atomic::Ordering;

use atoll_platform::clock::monotonic;
use atoll_term::Word;

use super::Shared;
use super::state::{Collector, Range};
use crate::common::report::Report;
use crate::common::{blocks, fibonacci};

/// A major collection shrinks to the series' next size above this times what is needed.
pub(super) const MAJOR_SHRINK_FACTOR: usize = 2;
/// Words up to which the young generation does not shrink in a minor collection, unless it is larger than the old.
const SMALL: usize = 8_000;
/// The young generation grows while collections take more than this part of the time ...
const TIME_TO_GROW: i64 = 8;
/// ... does not shrink while they take more than this part ...
const TIME_TO_SHRINK: i64 = 32;
/// ... and does not grow for that reason beyond this size.
const LARGEST_FOR_TIME: usize = 1 << 20;

/// Where so little time, in nanoseconds, has passed since the last collection, the next one is expected as soon.
const SOON: i64 = 200_000_000;

/// What a collection leaves in the young generation.
pub(super) struct Outcome {
    /// Next free word.
    pub(super) top: *mut Word,
    /// Size before phase 6.
    pub(super) words: usize,
    /// Free words that were asked for.
    pub(super) need: usize,
    /// Words in use before.
    pub(super) used_before: usize,
}

/// Phase 6: the other range becomes the young generation, with the size that the rules give. `factor`: when it
/// shrinks, then to the series' next size above this times what is needed.
///
/// # Safety
/// Everything that lives has left the range in use.
pub(super) unsafe fn settle(
    shared: &Shared,
    collector: &mut Collector,
    outcome: &Outcome,
    factor: usize,
    started: i64,
) {
    let between = (started - collector.ended).max(0);
    // SAFETY: as the caller's.
    unsafe { collector.flip(outcome.used_before, between < SOON) };
    let range: Range = collector.young();
    let needed = blocks::words_between(range.start(), outcome.top) + outcome.need;
    let pause = monotonic() - started;
    let is_minor = factor != MAJOR_SHRINK_FACTOR;
    let slow = is_minor && pause * TIME_TO_GROW > between && outcome.words < LARGEST_FOR_TIME;
    let mut words = outcome.words.max(needed);
    collector.grow = needed * 4 > words * 3 || slow;
    let large = !is_minor || words > SMALL || words > collector.old_words;
    if needed * 4 < words && large && !(is_minor && pause * TIME_TO_SHRINK > between) {
        words = words.min(fibonacci::at_least((factor * needed).max(shared.floor.load(Ordering::Relaxed))));
    }
    range.check_room(words);
    collector.young_words = words;
    collector.mark = outcome.top;
    collector.report_size();
    shared.young_top.store(outcome.top as usize, Ordering::Release);
    shared.young_limit.store(range.start().wrapping_add(words) as usize, Ordering::Release);
    shared.young_end.store(range.end(), Ordering::Release);
}

/// Counts a collection and prints its line if asked.
pub(super) fn report(collector: &Collector, is_major: bool, started: i64, before: usize, live: usize) {
    Report {
        architecture: "shared",
        major: is_major,
        started,
        before,
        live,
        young_block: collector.young_words,
        old_block: collector.old_words,
    }
    .record();
}
