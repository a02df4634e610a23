//! Figures of a heap: what is in use for what, how long pauses were, what the collector did.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How the memory of a heap is used at one moment, in bytes.
///
/// `useful + header + padding` is internal to objects; what is missing up to `limit` is external fragmentation and free
/// memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Bytes allocated since the heap was made (the allocation clock), as asked for.
    pub clock: u64,
    /// Asked for and not yet reclaimed.
    pub useful: u64,
    /// Headers and side metadata of the pages in use.
    pub header: u64,
    /// Lost to rounding sizes up.
    pub padding: u64,
    /// Pages in use.
    pub in_use: u64,
    /// The heap's limit.
    pub limit: u64,
}

/// The processor time that the calling thread has used.
pub(crate) fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// What the operating system did to a thread: in a pause, or since the thread began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Disturbances {
    /// The processor was taken away from it.
    pub preempted: u64,
    /// It gave the processor up: it waited for a lock, or yielded.
    pub waited: u64,
    /// It touched memory that had to be backed first.
    pub faults: u64,
    /// Of its processor time, what the kernel charged as its own: faults, calls, and interrupts that it served on the
    /// thread's account. Sampled by the clock's tick, so only right for milliseconds.
    pub kernel: Duration,
}

impl Disturbances {
    /// Those of the calling thread since it began.
    fn now() -> Disturbances {
        // SAFETY: all zero is a valid `rusage`, and the call writes nothing else.
        let usage = unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            libc::getrusage(libc::RUSAGE_THREAD, &mut usage);
            usage
        };
        Disturbances {
            preempted: usage.ru_nivcsw as u64,
            waited: usage.ru_nvcsw as u64,
            faults: (usage.ru_minflt + usage.ru_majflt) as u64,
            kernel: Duration::from_micros((usage.ru_stime.tv_sec * 1_000_000 + usage.ru_stime.tv_usec) as u64),
        }
    }

    fn since(self, before: Disturbances) -> Disturbances {
        Disturbances {
            preempted: self.preempted.saturating_sub(before.preempted),
            waited: self.waited.saturating_sub(before.waited),
            faults: self.faults.saturating_sub(before.faults),
            kernel: self.kernel.saturating_sub(before.kernel),
        }
    }
}

/// What is measured of a pause where the clock on the wall does not suffice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    /// The processor time of the waiting thread in it: less than the pause's length if the operating system ran
    /// something else meanwhile.
    pub processor: Duration,
    /// What the operating system did to it.
    pub disturbances: Disturbances,
}

/// When a pause began.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Start {
    wall: Instant,
    effort: Option<Effort>,
}

impl Start {
    pub(crate) fn wall(&self) -> Instant {
        self.wall
    }
}

/// Why the program had to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Cause {
    /// A whole collection with the program stopped.
    WholeCollection,
    /// The beginning of an incremental collection.
    Start,
    /// An increment of marking.
    Increment,
    /// The end of an incremental collection.
    Finish,
    /// An allocation that found no memory and had to bring a collection to its end.
    Exhausted,
    /// A large object: pages were remapped.
    Remap,
    /// Getting memory without collecting.
    Memory,
}

/// One pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pause {
    /// When it ended, since the heap was made.
    pub at: Duration,
    /// How long it was.
    pub length: Duration,
    /// Its processor time and disturbances, where [`crate::raw::RawHeap::measure_processor_time`] was called.
    pub effort: Option<Effort>,
    /// What it was for.
    pub cause: Cause,
}

impl Pause {
    /// What decides whether a full log keeps it.
    fn weight(&self) -> Duration {
        self.effort.map_or(self.length, |effort| effort.processor)
    }
}

/// One collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Collection {
    /// The heap when it was found necessary.
    pub before: Usage,
    /// The heap when it was over.
    pub after: Usage,
}

/// Where time went, where [`crate::raw::RawHeap::set_timing`] switched the clocks on; zero otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// Initialising blocks and pages.
    pub init: Duration,
    /// Taking free memory from its list.
    pub getmem: Duration,
    /// Migrating and remapping pages.
    pub migration: Duration,
    /// In the write barrier.
    pub barrier: Duration,
    /// Collecting.
    pub collection: Duration,
}

impl Times {
    /// All of it.
    pub fn total(&self) -> Duration {
        self.init + self.getmem + self.migration + self.barrier + self.collection
    }
}

/// The counters of a heap since it was made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Collections finished.
    pub collections: u64,
    /// Objects allocated.
    pub objects: u64,
    /// Bytes allocated, as asked for.
    pub bytes: u64,
    /// Pages that changed their list.
    pub migrated_pages: u64,
    /// Pages that were remapped.
    pub remapped_pages: u64,
    /// Pages whose memory went back to the operating system because the heap did not need it.
    pub returned_pages: u64,
    /// Objects finalized.
    pub finalized: u64,
    /// The longest pause.
    pub longest_pause: Duration,
    /// The most processor time in a pause, where [`crate::raw::RawHeap::measure_processor_time`] was called; zero
    /// otherwise.
    pub longest_processor: Duration,
    /// The longest pause by the clock on the wall of those in which the thread was not preempted; zero unless measured
    /// as above.
    pub longest_undisturbed: Duration,
    /// Pauses in which the thread was preempted; zero unless measured as above.
    pub preempted_pauses: u64,
    /// The sum of all pauses: what collecting, and getting memory by the slow way, took from the program.
    pub paused: Duration,
    /// Pauses above the bound.
    pub pauses_above_bound: u64,
    /// `histogram[n]` pauses took from 2^n up to 2^(n+1) nanoseconds.
    pub histogram: Vec<u64>,
    /// Where time went.
    pub times: Times,
}

const LOG: usize = 4096;

/// A pause, ordered by what decides whether a full log keeps it, then by when it ended.
#[derive(Debug)]
struct Logged(Pause);

impl Logged {
    fn key(&self) -> (Duration, Duration) {
        (self.0.weight(), self.0.at)
    }
}

impl PartialEq for Logged {
    fn eq(&self, other: &Logged) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Logged {}

impl PartialOrd for Logged {
    fn partial_cmp(&self, other: &Logged) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Logged {
    fn cmp(&self, other: &Logged) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

#[derive(Debug)]
struct Inner {
    /// The shortest is found first, for a full log to lose it.
    pauses: BinaryHeap<Reverse<Logged>>,
    collections: Vec<Collection>,
    finished: u64,
}

/// What is counted of all pauses, without a lock: a thread that has just paused must not wait for another. Times are in
/// nanoseconds.
#[derive(Debug)]
struct Counts {
    longest: AtomicU64,
    longest_processor: AtomicU64,
    longest_undisturbed: AtomicU64,
    preempted: AtomicU64,
    paused: AtomicU64,
    above: AtomicU64,
    histogram: [AtomicU64; 40],
}

impl Counts {
    fn new() -> Counts {
        let zero = || AtomicU64::new(0);
        Counts {
            longest: zero(),
            longest_processor: zero(),
            longest_undisturbed: zero(),
            preempted: zero(),
            paused: zero(),
            above: zero(),
            histogram: std::array::from_fn(|_| zero()),
        }
    }

    fn add(&self, length: Duration, effort: Option<Effort>) {
        let nanos = |time: Duration| time.as_nanos() as u64;
        let bucket = nanos(length).max(1).ilog2() as usize;
        self.histogram[bucket.min(39)].fetch_add(1, Ordering::Relaxed);
        self.longest.fetch_max(nanos(length), Ordering::Relaxed);
        let spent = effort.map_or(length, |effort| effort.processor);
        self.paused.fetch_add(nanos(spent), Ordering::Relaxed);
        if let Some(effort) = effort {
            self.longest_processor.fetch_max(nanos(effort.processor), Ordering::Relaxed);
            if effort.disturbances.preempted > 0 {
                self.preempted.fetch_add(1, Ordering::Relaxed);
            } else {
                self.longest_undisturbed.fetch_max(nanos(length), Ordering::Relaxed);
            }
        }
    }
}

/// The log of pauses and collections. Keeps the longest pauses and the first collections, a few thousand each; counts
/// all.
#[derive(Debug)]
pub(crate) struct Log {
    born: Instant,
    bound: Duration,
    processor: AtomicBool,
    counts: Counts,
    inner: Mutex<Inner>,
}

impl Log {
    pub(crate) fn new(bound: Duration) -> Log {
        Log {
            born: Instant::now(),
            bound,
            processor: AtomicBool::new(false),
            counts: Counts::new(),
            inner: Mutex::new(Inner {
                // All of it now: growing it would lengthen a pause.
                pauses: BinaryHeap::with_capacity(LOG),
                collections: Vec::new(),
                finished: 0,
            }),
        }
    }

    pub(crate) fn measure_processor_time(&self, on: bool) {
        self.processor.store(on, Ordering::Relaxed);
    }

    pub(crate) fn start(&self) -> Start {
        let measured = self.processor.load(Ordering::Relaxed);
        // A thread may be preempted at the end of each of these calls: the disturbances are counted around the clock's
        // reading, the processor's time within.
        let disturbances = measured.then(Disturbances::now);
        let wall = Instant::now();
        let effort = disturbances.map(|disturbances| Effort { disturbances, processor: processor_time() });
        Start { wall, effort }
    }

    pub(crate) fn pause(&self, since: Start, cause: Cause) {
        let processor = since.effort.map(|before| processor_time().saturating_sub(before.processor));
        let length = since.wall.elapsed();
        let effort = since.effort.zip(processor).map(|(before, processor)| Effort {
            processor,
            disturbances: Disturbances::now().since(before.disturbances),
        });
        self.counts.add(length, effort);
        if length > self.bound {
            self.counts.above.fetch_add(1, Ordering::Relaxed);
            let mut inner = self.lock();
            let pause = Pause { at: self.born.elapsed(), length, effort, cause };
            if inner.pauses.len() < LOG {
                inner.pauses.push(Reverse(Logged(pause)));
            } else if let Some(mut shortest) = inner.pauses.peek_mut()
                && shortest.0.0.weight() < pause.weight()
            {
                *shortest = Reverse(Logged(pause));
            }
        }
    }

    pub(crate) fn collection(&self, before: Usage, after: Usage) {
        let mut inner = self.lock();
        inner.finished += 1;
        if inner.collections.len() < LOG {
            inner.collections.push(Collection { before, after });
        }
    }

    pub(crate) fn pauses(&self) -> Vec<Pause> {
        let mut pauses: Vec<Pause> = self.lock().pauses.iter().map(|logged| logged.0.0).collect();
        pauses.sort_by_key(|pause| pause.at);
        pauses
    }

    pub(crate) fn collections(&self) -> Vec<Collection> {
        self.lock().collections.clone()
    }

    pub(crate) fn fill(&self, statistics: &mut Statistics) {
        let inner = self.lock();
        statistics.collections = inner.finished;
        drop(inner);
        let counts = &self.counts;
        let count = |cell: &AtomicU64| cell.load(Ordering::Relaxed);
        let time = |cell: &AtomicU64| Duration::from_nanos(count(cell));
        statistics.longest_pause = time(&counts.longest);
        statistics.longest_processor = time(&counts.longest_processor);
        statistics.longest_undisturbed = time(&counts.longest_undisturbed);
        statistics.preempted_pauses = count(&counts.preempted);
        statistics.paused = time(&counts.paused);
        statistics.pauses_above_bound = count(&counts.above);
        statistics.histogram = counts.histogram.iter().map(count).collect();
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}
