//! Figures that every architecture reports: counters of this run, and the settings that tests of collectors need.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use crate::debt;
use crate::records::Records;

/// Counters of the whole run. Times in nanoseconds, sizes in words.
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

/// The counters of this run.
pub static COUNTERS: Counters = Counters {
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
};

/// Counters of a message area, in words where sizes are meant; all zero where there is none.
#[derive(Debug)]
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

/// The counters of this run's message area.
pub static AREA: AreaCounters = AreaCounters {
    words_built: AtomicU64::new(0),
    switched_to_area: AtomicU64::new(0),
    switched_back: AtomicU64::new(0),
    samples_sent: AtomicU64::new(0),
    samples_kept: AtomicU64::new(0),
    words_copied: AtomicU64::new(0),
    found: AtomicU64::new(0),
    cycles: AtomicU64::new(0),
    words_scanned: AtomicU64::new(0),
};

/// Whether sends are timed (`--stats`); reading a clock at every send is not free.
pub static TIMED: AtomicBool = AtomicBool::new(false);
/// `--gc-stress N`: collect at every Nth allocation point; 0 is off.
pub static STRESS: AtomicU32 = AtomicU32::new(0);
/// `--verify-heap`: check heaps after every collection.
pub static VERIFY: AtomicBool = AtomicBool::new(false);
/// `--old-generation mark-sweep`: an architecture with generations does not move what is old, if it can do so.
pub static MARK_SWEEP: AtomicBool = AtomicBool::new(false);

/// `--max-pause`: the longest time in nanoseconds that an incremental collector may keep a scheduler at once.
pub static MAX_PAUSE: AtomicU64 = AtomicU64::new(1_000_000);
/// `--area-limit`: bytes that a message area may have; 0 leaves it to the architecture.
pub static AREA_LIMIT: AtomicUsize = AtomicUsize::new(0);
/// `--build-in-area`: lists and tuples are built in the message area at once, where their parts allow it.
pub static BUILD_IN_AREA: AtomicBool = AtomicBool::new(false);
/// `--trace-gc`: a line on standard error for every collection.
pub static TRACE: AtomicBool = AtomicBool::new(false);

/// One time for which a collection kept mutators waiting, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub struct PauseRecord {
    /// When it was over, by the monotonic clock.
    pub end: i64,
    /// How long it was.
    pub length: u64,
}

static AREA_SLICES: Records<(usize, u64)> = Records::new();
static THREADS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// This thread's number among those that work for a message area.
    static THREAD: usize = THREADS.fetch_add(1, Ordering::Relaxed);
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

static PAUSES: Records<PauseRecord> = Records::new();

/// Counts one collection. `nanoseconds` is how long mutators stood still, `moved` the words that survived.
pub fn record_collection(major: bool, nanoseconds: u64, moved: u64) {
    let (count, time, longest) = if major {
        (&COUNTERS.major_collections, &COUNTERS.major_time, &COUNTERS.longest_major)
    } else {
        (&COUNTERS.minor_collections, &COUNTERS.minor_time, &COUNTERS.longest_minor)
    };
    count.fetch_add(1, Ordering::Relaxed);
    time.fetch_add(nanoseconds, Ordering::Relaxed);
    longest.fetch_max(nanoseconds, Ordering::Relaxed);
    let live = if major { &COUNTERS.major_live_words } else { &COUNTERS.minor_live_words };
    live.fetch_add(moved, Ordering::Relaxed);
    record_pause(nanoseconds);
}

/// Counts a slice of a major collection that is not the last: how long it took, and how long mutators stood still,
/// which is longer when another collection came right before it.
pub fn record_slice(nanoseconds: u64, pause: u64) {
    COUNTERS.major_time.fetch_add(nanoseconds, Ordering::Relaxed);
    COUNTERS.longest_major.fetch_max(pause, Ordering::Relaxed);
    record_pause(nanoseconds);
}

/// Counts a slice of the collector of a message area: processor time of this thread. Called when timed.
pub fn record_area_slice(nanoseconds: u64) {
    AREA_SLICES.push((THREAD.with(|number| *number), nanoseconds));
}

/// The slices of the collector of the message area so far: the number of the thread that did it, and nanoseconds. Kept
/// when timed only.
pub fn area_slices() -> Vec<(usize, u64)> {
    AREA_SLICES.all()
}

fn record_pause(nanoseconds: u64) {
    debt::owe_time(nanoseconds);
    if nanoseconds > LONG {
        PAUSED.set(true);
    }
    if TIMED.load(Ordering::Relaxed) {
        PAUSES.push(PauseRecord { end: atoll_platform::clock::monotonic(), length: nanoseconds });
    }
}

/// The pauses of this run so far. Kept when timed only.
pub fn pauses() -> Vec<PauseRecord> {
    PAUSES.all()
}

/// Heap memory has grown (or shrunk) by this many words.
pub fn heap_changed(words: i64) {
    let now = COUNTERS.heap_words.fetch_add(words as u64, Ordering::Relaxed).wrapping_add(words as u64);
    if words > 0 {
        COUNTERS.highest_heap_words.fetch_max(now, Ordering::Relaxed);
    }
}

/// Words in use have become more (or fewer) by this.
pub fn used_changed(words: i64) {
    let now = COUNTERS.used_words.fetch_add(words as u64, Ordering::Relaxed).wrapping_add(words as u64);
    if words > 0 {
        COUNTERS.highest_used_words.fetch_max(now, Ordering::Relaxed);
    }
}

/// Counts a message by the words copied for it; called when timed.
pub fn record_message(words: usize) {
    let class = words.checked_sub(1).map_or(0, |above| 1 + (usize::BITS - above.leading_zeros()) as usize);
    COUNTERS.message_sizes[class.min(MESSAGE_SIZES - 1)].fetch_add(1, Ordering::Relaxed);
}

/// Counts pointers that a collection met, when timed: into an old generation, and into a young one.
pub fn record_pointers(old: u64, young: u64) {
    COUNTERS.pointers_to_old.fetch_add(old, Ordering::Relaxed);
    COUNTERS.pointers_to_young.fetch_add(young, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_counted_by_size() {
        for words in [0, 1, 2, 3, 4, 5, usize::MAX] {
            record_message(words);
        }
        let counts: Vec<u64> = COUNTERS.message_sizes.iter().map(|count| count.load(Ordering::Relaxed)).collect();
        assert_eq!((&counts[..6], counts[MESSAGE_SIZES - 1]), (&[1, 1, 1, 2, 1, 0][..], 1));
    }
}
