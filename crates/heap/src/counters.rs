//! Counters of one machine, which every architecture keeps: collections, pauses, memory and messages.

use std::cell::Cell;
use std::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering};

use atoll_platform::clock::{monotonic, thread_cpu};

use crate::debt;
use crate::lanes::{Kind, Lanes, Level, Outcome};
use crate::part::{settings, statistics};
use crate::records::Records;

/// Counters of one machine. Times in nanoseconds, sizes in words.
#[derive(Debug)]
pub struct Counters {
    /// Collections, the words of heaps, and messages.
    pub lanes: Lanes,
    /// Words live after the last major collection.
    pub live_words: AtomicU64,
    /// Pointers that collections met and that led into an old generation, when timed.
    pub pointers_to_old: AtomicU64,
    /// The same, into a young generation.
    pub pointers_to_young: AtomicU64,
    /// Time spent sending, with finding out sizes and copying, when timed.
    pub send_time: AtomicU64,
    /// Time spent finding out how large messages are, when timed.
    pub size_time: AtomicU64,
    /// Time spent copying messages, when timed.
    pub copy_time: AtomicU64,
    /// Messages by the words copied for them, when timed: none, then up to 1, 2, 4 ...
    pub message_sizes: [AtomicU64; MESSAGE_SIZES],
}

/// Classes of sizes of messages.
pub const MESSAGE_SIZES: usize = 34;

impl Default for Counters {
    fn default() -> Counters {
        Counters {
            lanes: Lanes::default(),
            live_words: AtomicU64::new(0),
            pointers_to_old: AtomicU64::new(0),
            pointers_to_young: AtomicU64::new(0),
            send_time: AtomicU64::new(0),
            size_time: AtomicU64::new(0),
            copy_time: AtomicU64::new(0),
            message_sizes: [const { AtomicU64::new(0) }; MESSAGE_SIZES],
        }
    }
}

/// Counters of a message area, in words where sizes are meant; all zero where there is none.
#[derive(Debug, Default)]
pub struct AreaCounters {
    /// Words built in the area directly.
    pub words_built: AtomicU64,
    /// Allocation sites that were switched to the area, and back.
    pub switched_to_area: AtomicU64,
    /// See `switched_to_area`.
    pub switched_back: AtomicU64,
    /// Sampled objects of sites that build in the area which were sent, and which were not.
    pub samples_sent: AtomicU64,
    /// See `samples_sent`.
    pub samples_kept: AtomicU64,
    /// Words copied into it.
    pub words_copied: AtomicU64,
    /// Terms that were passed because a copy of them was there already.
    pub found: AtomicU64,
    /// Cycles begun.
    pub cycles: AtomicU64,
    /// Words looked at to find its roots, over all cycles.
    pub words_scanned: AtomicU64,
}

/// The figures of one architecture.
#[derive(Debug, Default)]
pub struct Statistics {
    /// Those of every architecture.
    pub counters: Counters,
    /// Those of a message area.
    pub area: AreaCounters,
    pauses: Records<PauseRecord>,
    helps: Records<PauseRecord>,
    /// See [`count_pauses_from_now`].
    counted_from: AtomicI64,
    area_slices: Records<(usize, u64)>,
    /// Threads that have numbers.
    threads: AtomicUsize,
}

/// The counters of this thread's machine.
#[inline]
pub fn counters() -> &'static Counters {
    &statistics().counters
}

/// The counters of its message area.
#[inline]
pub fn area() -> &'static AreaCounters {
    &statistics().area
}

/// One time for which a collection kept mutators waiting, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub struct PauseRecord {
    /// When it was over, by the monotonic clock.
    pub end: i64,
    /// How long it was.
    pub length: u64,
    /// Processor time of its thread in it: less than its length when another thread ran on the thread's processor.
    pub used: u64,
}

thread_local! {
    /// Processor time of this thread when the work that it records next began.
    static WORK_BEGAN: Cell<i64> = const { Cell::new(0) };
}

/// This thread begins to work for a collector, and records that when it ends. Records that follow each other need this
/// once.
#[inline]
pub fn work_begins() {
    if settings().timed {
        WORK_BEGAN.set(thread_cpu());
    }
}

/// What ends now, after so long.
fn work_ends(length: u64) -> PauseRecord {
    let used = thread_cpu();
    let used = (used - WORK_BEGAN.replace(used)).max(0) as u64;
    PauseRecord { end: monotonic(), length, used: used.min(length) }
}

thread_local! {
    /// See [`thread`].
    static THREAD: usize = statistics().threads.fetch_add(1, Ordering::Relaxed);
}

/// This thread's number among those that count.
#[inline(always)]
fn thread() -> usize {
    THREAD.with(|number| *number)
}

/// Pauses from which on whatever waits for the clock should be looked after, in nanoseconds.
const LONG: u64 = 100_000;

thread_local! {
    /// Whether a collector has kept this thread for long since [`take_paused`].
    static PAUSED: Cell<bool> = const { Cell::new(false) };
}

/// Whether a collector has kept this thread for long since the last call, so that timers may be late.
#[inline]
pub fn take_paused() -> bool {
    PAUSED.replace(false)
}

/// Counts one collection. `nanoseconds` is how long mutators stood still.
pub fn record_collection(major: bool, nanoseconds: u64, outcome: Outcome) {
    let kind = if major { Kind::Major } else { Kind::Minor };
    counters().lanes.collected(thread(), kind, nanoseconds, outcome);
    record_pause(nanoseconds);
}

/// Counts a collection for which no mutator stood still; its slices were counted before.
pub fn record_cycle(major: bool, outcome: Outcome) {
    counters().lanes.collected(thread(), if major { Kind::Major } else { Kind::Minor }, 0, outcome);
}

/// Counts a slice of a major collection that is not the last: how long it took, and how long mutators stood still,
/// which is longer when another collection came right before it.
pub fn record_slice(nanoseconds: u64, pause: u64) {
    counters().lanes.collected_slice(thread(), nanoseconds, pause);
    record_pause(nanoseconds);
}

/// Counts what another thread than the process's did for a major collection, for which no mutator stood still.
pub fn record_help(nanoseconds: u64) {
    counters().lanes.collected_slice(thread(), nanoseconds, 0);
    record_idle_work(nanoseconds);
}

/// Counts what a scheduler without processes did at once for a collector, which counts the time elsewhere.
pub fn record_idle_work(nanoseconds: u64) {
    if settings().timed {
        statistics().helps.push(work_ends(nanoseconds));
    }
}

/// Counts a slice of the collector of a message area: processor time of this thread. Called when timed.
pub fn record_area_slice(nanoseconds: u64) {
    statistics().area_slices.push((thread(), nanoseconds));
}

/// The slices of the collector of the message area so far: the number of the thread that did it, and nanoseconds. Kept
/// when timed only.
pub fn area_slices() -> Vec<(usize, u64)> {
    statistics().area_slices.all()
}

/// What a pause is to this thread.
fn note_pause(nanoseconds: u64) {
    debt::owe_time(nanoseconds);
    if nanoseconds > LONG {
        PAUSED.set(true);
    }
}

fn record_pause(nanoseconds: u64) {
    note_pause(nanoseconds);
    if settings().timed {
        statistics().pauses.push(work_ends(nanoseconds));
    }
}

/// The pauses so far that ended after [`pauses_count_from`]. Kept when timed only.
pub fn pauses() -> Vec<PauseRecord> {
    counted(&statistics().pauses)
}

/// The same of what schedulers without processes did for a collector, for which nobody waited.
pub fn helps() -> Vec<PauseRecord> {
    counted(&statistics().helps)
}

fn counted(records: &Records<PauseRecord>) -> Vec<PauseRecord> {
    let from = pauses_count_from();
    let mut records = records.all();
    records.retain(|record| record.end >= from);
    records
}

/// Leaves out the pauses until now: a program calls for it when it has built the data that it is to be measured with.
pub fn count_pauses_from_now() {
    statistics().counted_from.store(monotonic(), Ordering::Relaxed);
}

/// The time of the last [`count_pauses_from_now`] by the monotonic clock, or the least one.
pub fn pauses_count_from() -> i64 {
    match statistics().counted_from.load(Ordering::Relaxed) {
        0 => i64::MIN,
        time => time,
    }
}

/// Heap memory has grown (or shrunk) by this many words.
#[inline(always)]
pub fn heap_changed(words: i64) {
    counters().lanes.change(thread(), Level::Heap, words);
}

/// Words in use have become more (or fewer) by this.
#[inline(always)]
pub fn used_changed(words: i64) {
    counters().lanes.change(thread(), Level::Used, words);
}

/// Counts a message by the words copied for it; called when timed.
pub fn record_message(words: usize) {
    counters().record_message(words);
}

impl Counters {
    /// Heap memory has grown by this many words, on a thread that has no machine yet.
    pub fn heap_begins(&self, words: usize) {
        self.lanes.change(usize::MAX, Level::Heap, words as i64);
    }

    /// This thread has sent messages, for which so many words were copied.
    #[inline]
    pub fn sent(&self, messages: u64, words_copied: u64) {
        self.lanes.sent(thread(), messages, words_copied);
    }

    fn record_message(&self, words: usize) {
        let class = words.checked_sub(1).map_or(0, |above| 1 + (usize::BITS - above.leading_zeros()) as usize);
        self.message_sizes[class.min(MESSAGE_SIZES - 1)].fetch_add(1, Ordering::Relaxed);
    }
}

/// Counts pointers that a collection met, when timed: into an old generation, and into a young one.
pub fn record_pointers(old: u64, young: u64) {
    let counters = counters();
    counters.pointers_to_old.fetch_add(old, Ordering::Relaxed);
    counters.pointers_to_young.fetch_add(young, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_counted_by_size() {
        let counters = Counters::default();
        for words in [0, 1, 2, 3, 4, 5, usize::MAX] {
            counters.record_message(words);
        }
        let counts: Vec<u64> = counters.message_sizes.iter().map(|count| count.load(Ordering::Relaxed)).collect();
        assert_eq!((&counts[..6], counts[MESSAGE_SIZES - 1]), (&[1, 1, 1, 2, 1, 0][..], 1));
    }

    #[test]
    fn a_long_pause_is_noticed_once() {
        assert!(!take_paused());
        note_pause(LONG);
        assert!(!take_paused());
        note_pause(LONG + 1);
        note_pause(1);
        assert_eq!([take_paused(), take_paused()], [true, false]);
        assert_eq!(debt::take(), 2 * LONG as i64 / 250);
    }
}
