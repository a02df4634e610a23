//! Reports long collections, large heaps and long time slices to the system monitor (`erlang:system_monitor`), and
//! every collection of a traced process to its tracer. While there is no monitor or tracer, each place checks one
//! switch.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use atoll_heap::{Collection, HeapFull, HeapOptions, HeapSizes, Message, architecture};
use atoll_platform::clock;
use atoll_term::atoms::known_atom;
use atoll_term::{Build, ScratchHeap, Term};
use parking_lot::Mutex;

use crate::libraries;
use crate::microstates::{State, charged};
use crate::process::Own;
use crate::system::System;
use crate::tracing;

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

/// What a machine knows of its system monitor.
#[derive(Default)]
pub struct Watching {
    on: AtomicBool,
    watch: Mutex<Option<Watch>>,
    limit_report: OnceLock<LimitReport>,
}

impl Watching {
    /// Whether there is a system monitor: time slices are to be timed.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.on.load(Ordering::Relaxed)
    }
}

/// The system monitor and its limits; `None` if there is none, or it has ended.
pub fn watch() -> Option<Watch> {
    let system = System::get();
    if !system.watching.is_on() {
        return None;
    }
    let watch = (*system.watching.watch.lock())?;
    system.table.contains(watch.pid).then_some(watch)
}

/// Sets the system monitor and its limits, and returns the old ones.
pub fn set_watch(new: Option<Watch>) -> Option<Watch> {
    let old = watch();
    let watching = &System::get().watching;
    *watching.watch.lock() = new;
    watching.on.store(new.is_some(), Ordering::Relaxed);
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
    let system = System::get();
    let collected = libraries::around(system, || {
        if own.flags.traced() || system.watching.is_on() {
            // SAFETY: the caller's obligation.
            unsafe { collect_and_tell(pid, own, request, live) }
        } else {
            // SAFETY: the caller's obligation.
            system.microstates.charged(State::Collection, || unsafe { own.collect(request, live) })
        }
    });
    // SAFETY: the caller's obligation; what failed has moved nothing.
    collected.or_else(|full| unsafe { limit_reached(full, pid, own, request, live) })
}

/// Writes to the log that a process has reached its `max_heap_size`: pid, the process, and what makes the figures of
/// `garbage_collection_info`.
pub type LimitReport = fn(Term, &Own, &dyn Fn(&mut ScratchHeap) -> Term);

/// Installs the function that logs heaps over their limits; only the first call counts.
pub fn report_limits(report: LimitReport) {
    let _ = System::get().watching.limit_report.set(report);
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
    if let Some(report) = System::get().watching.limit_report.get().filter(|_| !own.flags.quiet_heap_limit()) {
        let sizes = architecture().sizes(&own.mutator);
        report(pid, own, &|heap| information(heap, &sizes, None));
    }
    if !own.flags.heap_limit_spares() {
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
    if own.mutator.lacks_stack_alone(&request) {
        // Nothing is collected.
        // SAFETY: the caller's obligation.
        return charged(State::Collection, || unsafe { own.collect(request, live) });
    }
    let before = architecture().sizes(&own.mutator);
    let started = clock::monotonic();
    // SAFETY: the caller's obligation.
    charged(State::Collection, || unsafe { own.collect(request, live) })?;
    let time = milliseconds_since(started);
    let after = architecture().sizes(&own.mutator);
    if let Some(tracing) =
        own.tracing().filter(|tracing| tracing.flags & tracing::GARBAGE_COLLECTION != 0 && tracing.tracer != pid)
    {
        let is_major = match (before.minor_collections, after.minor_collections) {
            (Some(before), Some(after)) => after <= before,
            _ => request.major,
        };
        let reclaimed = used(&before).saturating_sub(used(&after));
        let events = if is_major { ["gc_major_start", "gc_major_end"] } else { ["gc_minor_start", "gc_minor_end"] };
        for (event, sizes, words) in [(events[0], before, request.heap_words), (events[1], after, reclaimed)] {
            // No room on the heap may be taken: it was made for something else.
            let information = |heap: &mut ScratchHeap| [information(heap, &sizes, Some(words))];
            if !tracing::tell_apart(pid, tracing, known_atom(event), information) {
                own.set_tracing(None);
                break;
            }
        }
    }
    let Some(watch) = watch().filter(|watch| watch.pid != pid) else { return Ok(()) };
    if watch.long_collection > 0 && time >= watch.long_collection {
        tell(watch, pid, "long_gc", |heap| {
            let timeout = pair(heap, "timeout", time);
            sizes_list(heap, &after, Some(timeout))
        });
    }
    if watch.large_heap > 0 && after.young_block + after.old_block >= watch.large_heap {
        tell(watch, pid, "large_heap", |heap| sizes_list(heap, &after, None));
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
    tell(watch, pid, "long_schedule", |heap| {
        let timeout = pair(heap, "timeout", time);
        let places = [("in", false), ("out", true)].map(|(key, after)| {
            let place = place(heap, after);
            heap.tuple(&[known_atom(key), place])
        });
        heap.list([timeout, places[0], places[1]])
    });
}

fn tell(watch: Watch, pid: Term, what: &str, list: impl Fn(&mut ScratchHeap) -> Term) {
    let message = Message::compose(|heap| {
        let list = list(heap);
        heap.tuple(&[known_atom("monitor"), pid, known_atom(what), list])
    });
    drop(System::get().deliver_from_outside(watch.pid, message));
}

fn milliseconds_since(started: i64) -> usize {
    ((clock::monotonic() - started).max(0) / 1_000_000) as usize
}

fn used(sizes: &HeapSizes) -> usize {
    sizes.young_used + sizes.old_used + sizes.fragments
}

fn pair(scratch: &mut ScratchHeap, key: &str, value: usize) -> Term {
    scratch.tuple(&[known_atom(key), Term::small(value as i64)])
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
