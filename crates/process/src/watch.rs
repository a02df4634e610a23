//! Reports long collections, large heaps and long time slices to the system monitor (`erlang:system_monitor`), and
//! every collection of a traced process to its tracer. While there is no monitor or tracer, each place checks one
//! switch.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use atoll_heap::{Collection, HeapFull, HeapOptions, HeapSizes, architecture};
use atoll_platform::clock;
use atoll_term::{Build, ScratchHeap, Term};
use parking_lot::Mutex;

use crate::microstates::{State, charged};
use crate::process::Own;
use crate::signal;
use crate::system::System;
use crate::tracing::{self, name};

/// What is to be told, and to whom. Zero: that is not asked for.
#[derive(Clone, Copy, Debug)]
pub struct Watch {
    /// Local pid of the system monitor.
    pub pid: Term,
    /// Collections of at least so many milliseconds.
    pub long_collection: usize,
    /// Time slices of at least so many milliseconds.
    pub long_slice: usize,
    /// Heaps of at least so many words after a collection.
    pub large_heap: usize,
    /// Senders that wait for a port. Kept, but never told: no sender waits here.
    pub busy_port: bool,
    /// The same for ports to other nodes.
    pub busy_distribution_port: bool,
}

static ON: AtomicBool = AtomicBool::new(false);
static WATCH: Mutex<Option<Watch>> = Mutex::new(None);

/// The system monitor and its limits; `None` if there is none, or it has ended.
pub fn watch() -> Option<Watch> {
    if !ON.load(Ordering::Relaxed) {
        return None;
    }
    let watch = (*WATCH.lock())?;
    System::get().table.contains(watch.pid).then_some(watch)
}

/// Sets the system monitor and its limits, and returns the old ones.
pub fn set_watch(new: Option<Watch>) -> Option<Watch> {
    let old = watch();
    *WATCH.lock() = new;
    ON.store(new.is_some(), Ordering::Relaxed);
    old
}

/// Collects the heap of a process, and tells of it.
///
/// # Errors
/// As [`Own::collect`].
///
/// # Safety
/// As for [`Own::collect`].
#[inline]
pub unsafe fn collect(pid: Term, own: &mut Own, request: Collection, live: &mut [Term]) -> Result<(), HeapFull> {
    let collected = if own.flags.traced || ON.load(Ordering::Relaxed) {
        // SAFETY: the caller's obligation.
        unsafe { collect_and_tell(pid, own, request, live) }
    } else {
        // SAFETY: the caller's obligation.
        charged(State::Collection, || unsafe { own.collect(request, live) })
    };
    // SAFETY: the caller's obligation; what failed has moved nothing.
    collected.or_else(|full| unsafe { limit_reached(full, pid, own, request, live) })
}

/// Writes to the log that a process has reached its `max_heap_size`: pid, the process, and the figures of
/// `garbage_collection_info` in this heap.
pub type LimitReport = fn(Term, &Own, Term, ScratchHeap);

static LIMIT_REPORT: OnceLock<LimitReport> = OnceLock::new();

/// Installs the function that logs heaps over their limits; only the first call counts.
pub fn report_limits(report: LimitReport) {
    let _ = LIMIT_REPORT.set(report);
}

/// # Safety
/// As for [`Own::collect`].
#[cold]
#[inline(never)]
unsafe fn limit_reached(
    full: HeapFull,
    pid: Term,
    own: &mut Own,
    request: Collection,
    live: &mut [Term],
) -> Result<(), HeapFull> {
    if let Some(report) = LIMIT_REPORT.get().filter(|_| !own.flags.quiet_heap_limit) {
        let mut scratch = ScratchHeap::new();
        let info = information(&mut scratch, &architecture().sizes(&own.mutator), None);
        report(pid, own, info, scratch);
    }
    if !own.flags.heap_limit_spares {
        return Err(full);
    }
    // The limit was only to be reported: do without it this time.
    let options = architecture().options(&own.mutator);
    architecture().set_options(&mut own.mutator, &HeapOptions { maximum_words: 0, ..options });
    // SAFETY: the caller's obligation.
    let result = unsafe { own.collect(request, live) };
    architecture().set_options(&mut own.mutator, &options);
    result
}

/// # Safety
/// As for [`Own::collect`].
#[cold]
#[inline(never)]
unsafe fn collect_and_tell(pid: Term, own: &mut Own, request: Collection, live: &mut [Term]) -> Result<(), HeapFull> {
    let before = architecture().sizes(&own.mutator);
    let started = clock::monotonic();
    // SAFETY: the caller's obligation.
    charged(State::Collection, || unsafe { own.collect(request, live) })?;
    let time = milliseconds_since(started);
    let after = architecture().sizes(&own.mutator);
    if let Some(tracing) =
        own.tracing().filter(|tracing| tracing.flags & tracing::GARBAGE_COLLECTION != 0 && tracing.tracer != pid)
    {
        let is_major = after.minor_collections <= before.minor_collections;
        let reclaimed = used(&before).saturating_sub(used(&after));
        let events = if is_major { ["gc_major_start", "gc_major_end"] } else { ["gc_minor_start", "gc_minor_end"] };
        for (event, sizes, words) in [(events[0], before, request.heap_words), (events[1], after, reclaimed)] {
            // No room on the heap may be taken: it was made for something else.
            let mut scratch = ScratchHeap::new();
            let info = information(&mut scratch, &sizes, Some(words));
            if !tracing::tell_apart(pid, &mut scratch, tracing, name(event), &[info]) {
                own.set_tracing(None);
                break;
            }
        }
    }
    let Some(watch) = watch().filter(|watch| watch.pid != pid) else { return Ok(()) };
    if watch.long_collection > 0 && time >= watch.long_collection {
        let mut scratch = ScratchHeap::new();
        let timeout = pair(&mut scratch, "timeout", time);
        let list = sizes_list(&mut scratch, &after, Some(timeout));
        tell(watch, pid, "long_gc", list, scratch);
    }
    if watch.large_heap > 0 && after.young_block + after.old_block >= watch.large_heap {
        let mut scratch = ScratchHeap::new();
        let list = sizes_list(&mut scratch, &after, None);
        tell(watch, pid, "large_heap", list, scratch);
    }
    Ok(())
}

/// Tells of a time slice that began at this time of the monotonic clock, if it was long. `place` gives the function in
/// which the process was, as a term, before the slice (false) and after it.
pub fn slice_ended(pid: Term, started: i64, place: impl Fn(&mut ScratchHeap, bool) -> Term) {
    let time = milliseconds_since(started);
    let Some(watch) = watch().filter(|watch| watch.pid != pid) else { return };
    if watch.long_slice == 0 || time < watch.long_slice {
        return;
    }
    let mut scratch = ScratchHeap::new();
    let timeout = pair(&mut scratch, "timeout", time);
    let places = [("in", false), ("out", true)].map(|(key, after)| {
        let place = place(&mut scratch, after);
        scratch.tuple(&[name(key), place])
    });
    let list = scratch.list([timeout, places[0], places[1]]);
    tell(watch, pid, "long_schedule", list, scratch);
}

/// Whether time slices are to be timed.
#[inline]
pub fn is_timing_slices() -> bool {
    ON.load(Ordering::Relaxed)
}

fn tell(watch: Watch, pid: Term, what: &str, list: Term, mut scratch: ScratchHeap) {
    let message = scratch.tuple(&[name("monitor"), pid, name(what), list]);
    let fragment = architecture().send(None, message);
    if let Err(fragment) = System::get().deliver(watch.pid, fragment) {
        signal::discard(fragment);
    }
}

fn milliseconds_since(started: i64) -> usize {
    ((clock::monotonic() - started).max(0) / 1_000_000) as usize
}

fn used(sizes: &HeapSizes) -> usize {
    sizes.young_used + sizes.old_used + sizes.fragments
}

fn pair(scratch: &mut ScratchHeap, key: &str, value: usize) -> Term {
    scratch.tuple(&[name(key), Term::small(value as i64)])
}

/// What `long_gc` and `large_heap` tell.
fn sizes_list(scratch: &mut ScratchHeap, sizes: &HeapSizes, first: Option<Term>) -> Term {
    let pairs = [
        ("old_heap_block_size", sizes.old_block),
        ("heap_block_size", sizes.young_block),
        ("mbuf_size", sizes.fragments),
        ("stack_size", sizes.stack),
        ("old_heap_size", sizes.old_used),
        ("heap_size", sizes.young_used),
    ];
    let pairs = pairs.map(|(key, value)| pair(scratch, key, value));
    scratch.list(first.into_iter().chain(pairs).collect::<Vec<_>>())
}

/// What events of a collection tell: `words` are asked for at its start, reclaimed at its end.
fn information(scratch: &mut ScratchHeap, sizes: &HeapSizes, words: Option<usize>) -> Term {
    let pairs = [
        ("old_heap_block_size", sizes.old_block),
        ("heap_block_size", sizes.young_block),
        ("mbuf_size", sizes.fragments),
        ("recent_size", 0),
        ("stack_size", sizes.stack),
        ("old_heap_size", sizes.old_used),
        ("heap_size", sizes.young_used),
        ("bin_vheap_size", 0),
        ("bin_vheap_block_size", BINARY_HEAP_WORDS),
        ("bin_old_vheap_size", 0),
        ("bin_old_vheap_block_size", BINARY_HEAP_WORDS),
    ];
    let words = words.map(|words| pair(scratch, "wordsize", words));
    let pairs = pairs.map(|(key, value)| pair(scratch, key, value));
    scratch.list(words.into_iter().chain(pairs).collect::<Vec<_>>())
}

/// What is said of the size of the virtual heap for binaries, which this machine does not have.
pub const BINARY_HEAP_WORDS: usize = 46_422;
