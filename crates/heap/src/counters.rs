//! Counters of one machine, which every architecture keeps: collections, pauses, memory and messages.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crate::debt;
use crate::part::{settings, statistics};
use crate::records::Records;

/// Counters of one machine. Times in nanoseconds, sizes in words.
#[derive(Debug)]
pub struct Counters {
    /// Minor collections.
    pub minor_collections: AtomicU64,
    /// Major collections.
    pub major_collections: AtomicU64,
    /// Time of minor collections.
    pub minor_time: AtomicU64,
    /// Time of major collections.
    pub major_time: AtomicU64,
    /// Longest minor collection.
    pub longest_minor: AtomicU64,
    /// Longest major collection.
    pub longest_major: AtomicU64,
    /// Words that survived minor collections, summed.
    pub minor_live_words: AtomicU64,
    /// Words that survived major collections, summed.
    pub major_live_words: AtomicU64,
    /// Words live after the last major collection.
    pub live_words: AtomicU64,
    /// Heap words allocated now, over all processes.
    pub heap_words: AtomicU64,
    /// The highest that `heap_words` was.
    pub highest_heap_words: AtomicU64,
    /// Heap words in use now, over all processes: as each process's last collection left them.
    pub used_words: AtomicU64,
    /// The highest that `used_words` was, each time with what a process had used before its collection.
    pub highest_used_words: AtomicU64,
    /// Pointers that collections met and that led into an old generation, when timed.
    pub pointers_to_old: AtomicU64,
    /// The same, into a young generation.
    pub pointers_to_young: AtomicU64,
    /// Messages sent.
    pub messages: AtomicU64,
    /// Words copied for messages.
    pub words_copied: AtomicU64,
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
            minor_collections: AtomicU64::new(0),
            major_collections: AtomicU64::new(0),
            minor_time: AtomicU64::new(0),
            major_time: AtomicU64::new(0),
            longest_minor: AtomicU64::new(0),
            longest_major: AtomicU64::new(0),
            minor_live_words: AtomicU64::new(0),
            major_live_words: AtomicU64::new(0),
            live_words: AtomicU64::new(0),
            heap_words: AtomicU64::new(0),
            highest_heap_words: AtomicU64::new(0),
            used_words: AtomicU64::new(0),
            highest_used_words: AtomicU64::new(0),
            pointers_to_old: AtomicU64::new(0),
            pointers_to_young: AtomicU64::new(0),
            messages: AtomicU64::new(0),
            words_copied: AtomicU64::new(0),
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
    area_slices: Records<(usize, u64)>,
    /// Threads that have numbers among those that work for the message area.
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
}

thread_local! {
    /// This thread's number among those that work for a message area.
    static THREAD: usize = statistics().threads.fetch_add(1, Ordering::Relaxed);
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

/// Counts one collection. `nanoseconds` is how long mutators stood still, `moved` the words that survived.
pub fn record_collection(major: bool, nanoseconds: u64, moved: u64) {
    let counters = counters();
    let (count, time, longest) = if major {
        (&counters.major_collections, &counters.major_time, &counters.longest_major)
    } else {
        (&counters.minor_collections, &counters.minor_time, &counters.longest_minor)
    };
    count.fetch_add(1, Ordering::Relaxed);
    time.fetch_add(nanoseconds, Ordering::Relaxed);
    longest.fetch_max(nanoseconds, Ordering::Relaxed);
    let live = if major { &counters.major_live_words } else { &counters.minor_live_words };
    live.fetch_add(moved, Ordering::Relaxed);
    record_pause(nanoseconds);
}

/// Counts a slice of a major collection that is not the last: how long it took, and how long mutators stood still,
/// which is longer when another collection came right before it.
pub fn record_slice(nanoseconds: u64, pause: u64) {
    let counters = counters();
    counters.major_time.fetch_add(nanoseconds, Ordering::Relaxed);
    counters.longest_major.fetch_max(pause, Ordering::Relaxed);
    record_pause(nanoseconds);
}

/// Counts a slice of the collector of a message area: processor time of this thread. Called when timed.
pub fn record_area_slice(nanoseconds: u64) {
    statistics().area_slices.push((THREAD.with(|number| *number), nanoseconds));
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
        statistics().pauses.push(PauseRecord { end: atoll_platform::clock::monotonic(), length: nanoseconds });
    }
}

/// The pauses so far. Kept when timed only.
pub fn pauses() -> Vec<PauseRecord> {
    statistics().pauses.all()
}

/// Heap memory has grown (or shrunk) by this many words.
#[inline(always)]
pub fn heap_changed(words: i64) {
    counters().heap_changed(words);
}

/// Words in use have become more (or fewer) by this.
#[inline(always)]
pub fn used_changed(words: i64) {
    counters().used_changed(words);
}

/// Counts a message by the words copied for it; called when timed.
pub fn record_message(words: usize) {
    counters().record_message(words);
}

impl Counters {
    /// Heap memory has grown (or shrunk) by this many words.
    #[inline(always)]
    pub fn heap_changed(&self, words: i64) {
        let now = self.heap_words.fetch_add(words as u64, Ordering::Relaxed).wrapping_add(words as u64);
        if words > 0 {
            self.highest_heap_words.fetch_max(now, Ordering::Relaxed);
        }
    }

    #[inline(always)]
    fn used_changed(&self, words: i64) {
        let now = self.used_words.fetch_add(words as u64, Ordering::Relaxed).wrapping_add(words as u64);
        if words > 0 {
            self.highest_used_words.fetch_max(now, Ordering::Relaxed);
        }
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
    fn the_highest_is_what_was_there_at_once() {
        let counters = Counters::default();
        for words in [100, -30, 20, -90] {
            counters.heap_changed(words);
            counters.used_changed(2 * words);
        }
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        assert_eq!([&counters.heap_words, &counters.highest_heap_words].map(read), [0, 100]);
        assert_eq!([&counters.used_words, &counters.highest_used_words].map(read), [0, 200]);
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
