//! Module `atoll_heap`: the figures of Wilhelmsson's thesis (Appendix C), and its three functions that build messages.
//!
//! Times are `{Minutes, Seconds, Milliseconds, Microseconds}`. Sends and copies are timed only on demand (`--stats`);
//! where a figure is not taken, the function returns `false`.

use std::sync::atomic::{AtomicU64, Ordering};

use atoll_heap::architecture;
use atoll_heap::statistics::{COUNTERS, MESSAGE_SIZES, TIMED};
use atoll_platform::clock;
use atoll_process::{BuiltIn, Caller, Outcome, System};
use atoll_term::{Build, Header, Kind, Term, atoms};

use crate::process_support::{badarg, list_elements};
use crate::statistics::start_time;

/// What this file provides.
pub const BUILT_INS: &[BuiltIn] = &[
    BuiltIn { module: "atoll_heap", name: "system_timer_get", arity: 0, function: system_timer_get },
    BuiltIn { module: "atoll_heap", name: "system_timer_clear", arity: 0, function: system_timer_clear },
    BuiltIn { module: "atoll_heap", name: "gc_timer_get", arity: 0, function: gc_timer_get },
    BuiltIn { module: "atoll_heap", name: "gc_timer_clear", arity: 0, function: gc_timer_clear },
    BuiltIn { module: "atoll_heap", name: "send_timer_get", arity: 0, function: send_timer_get },
    BuiltIn { module: "atoll_heap", name: "send_timer_clear", arity: 0, function: send_timer_clear },
    BuiltIn { module: "atoll_heap", name: "copy_timer_get", arity: 0, function: copy_timer_get },
    BuiltIn { module: "atoll_heap", name: "copy_timer_clear", arity: 0, function: copy_timer_clear },
    BuiltIn { module: "atoll_heap", name: "gc_info", arity: 0, function: gc_info },
    BuiltIn { module: "atoll_heap", name: "clear_gc_info", arity: 0, function: clear_gc_info },
    BuiltIn { module: "atoll_heap", name: "bench_info", arity: 0, function: bench_info },
    BuiltIn { module: "atoll_heap", name: "clear_bench_info", arity: 0, function: clear_bench_info },
    BuiltIn { module: "atoll_heap", name: "message_info", arity: 0, function: message_info },
    BuiltIn { module: "atoll_heap", name: "cons", arity: 2, function: cons },
    BuiltIn { module: "atoll_heap", name: "tuple", arity: 1, function: tuple },
    BuiltIn { module: "atoll_heap", name: "send", arity: 2, function: send },
];

/// A counter as it stood when it was last cleared.
struct Since(AtomicU64);

impl Since {
    const fn start() -> Since {
        Since(AtomicU64::new(0))
    }

    fn clear(&self, now: u64) {
        self.0.store(now, Ordering::Relaxed);
    }

    fn difference(&self, now: u64) -> u64 {
        now.saturating_sub(self.0.load(Ordering::Relaxed))
    }
}

static SYSTEM: Since = Since::start();
static MAJOR_TIME: Since = Since::start();
static MINOR_TIME: Since = Since::start();
static SEND_TIME: Since = Since::start();
static COPY_TIME: Since = Since::start();
static MAJORS: Since = Since::start();
static MINORS: Since = Since::start();
static MAJOR_LIVE: Since = Since::start();
static MINOR_LIVE: Since = Since::start();
static TO_OLD: Since = Since::start();
static TO_YOUNG: Since = Since::start();
static SIZES: [Since; MESSAGE_SIZES] = [const { Since::start() }; MESSAGE_SIZES];
static SPAWNED: Since = Since::start();
static MESSAGES: Since = Since::start();

fn load(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

/// `{Minutes, Seconds, Milliseconds, Microseconds}`
fn time(caller: &mut Caller<'_>, nanoseconds: u64) -> Term {
    let microseconds = nanoseconds / 1_000;
    let parts =
        [microseconds / 60_000_000, microseconds / 1_000_000 % 60, microseconds / 1_000 % 1_000, microseconds % 1_000];
    caller.heap().tuple(&parts.map(|part| Term::small(part as i64)))
}

fn numbers(caller: &mut Caller<'_>, numbers: &[u64]) -> Outcome {
    let terms: Vec<Term> = numbers.iter().map(|number| caller.heap().unsigned(*number)).collect();
    Ok(caller.heap().tuple(&terms))
}

fn running() -> u64 {
    (clock::monotonic() - start_time()).max(0) as u64
}

fn system_timer_get(caller: &mut Caller<'_>, _: &[Term]) -> Outcome {
    Ok(time(caller, SYSTEM.difference(running())))
}

fn system_timer_clear(_: &mut Caller<'_>, _: &[Term]) -> Outcome {
    SYSTEM.clear(running());
    Ok(atoms::TRUE)
}

/// `{Major, Minor, LongestMajor, LongestMinor}`, or `false` if the run is not timed.
fn gc_timer_get(caller: &mut Caller<'_>, _: &[Term]) -> Outcome {
    if !TIMED.load(Ordering::Relaxed) {
        return Ok(atoms::FALSE);
    }
    let times = [
        MAJOR_TIME.difference(load(&COUNTERS.major_time)),
        MINOR_TIME.difference(load(&COUNTERS.minor_time)),
        load(&COUNTERS.longest_major),
        load(&COUNTERS.longest_minor),
    ];
    let times = times.map(|nanoseconds| time(caller, nanoseconds));
    Ok(caller.heap().tuple(&times))
}

fn gc_timer_clear(_: &mut Caller<'_>, _: &[Term]) -> Outcome {
    MAJOR_TIME.clear(load(&COUNTERS.major_time));
    MINOR_TIME.clear(load(&COUNTERS.minor_time));
    COUNTERS.longest_major.store(0, Ordering::Relaxed);
    COUNTERS.longest_minor.store(0, Ordering::Relaxed);
    Ok(Term::boolean(TIMED.load(Ordering::Relaxed)))
}

/// A time that is taken only when the run is timed.
fn when_timed(caller: &mut Caller<'_>, nanoseconds: u64) -> Outcome {
    if TIMED.load(Ordering::Relaxed) { Ok(time(caller, nanoseconds)) } else { Ok(atoms::FALSE) }
}

fn clear_when_timed(since: &Since, counter: &AtomicU64) -> Outcome {
    since.clear(load(counter));
    Ok(Term::boolean(TIMED.load(Ordering::Relaxed)))
}

fn send_timer_get(caller: &mut Caller<'_>, _: &[Term]) -> Outcome {
    when_timed(caller, SEND_TIME.difference(load(&COUNTERS.send_time)))
}

fn send_timer_clear(_: &mut Caller<'_>, _: &[Term]) -> Outcome {
    clear_when_timed(&SEND_TIME, &COUNTERS.send_time)
}

fn copy_timer_get(caller: &mut Caller<'_>, _: &[Term]) -> Outcome {
    when_timed(caller, COPY_TIME.difference(load(&COUNTERS.copy_time)))
}

fn copy_timer_clear(_: &mut Caller<'_>, _: &[Term]) -> Outcome {
    clear_when_timed(&COPY_TIME, &COUNTERS.copy_time)
}

/// `{MajorCollections, MinorCollections, LiveInMajor, LiveInMinor, PointersToOld, PointersToYoung}`: live words are
/// summed over the collections of each kind; pointers are those that the collections met, counted only when the run is
/// timed.
fn gc_info(caller: &mut Caller<'_>, _: &[Term]) -> Outcome {
    numbers(
        caller,
        &[
            MAJORS.difference(load(&COUNTERS.major_collections)),
            MINORS.difference(load(&COUNTERS.minor_collections)),
            MAJOR_LIVE.difference(load(&COUNTERS.major_live_words)),
            MINOR_LIVE.difference(load(&COUNTERS.minor_live_words)),
            TO_OLD.difference(load(&COUNTERS.pointers_to_old)),
            TO_YOUNG.difference(load(&COUNTERS.pointers_to_young)),
        ],
    )
}

fn clear_gc_info(_: &mut Caller<'_>, _: &[Term]) -> Outcome {
    MAJORS.clear(load(&COUNTERS.major_collections));
    MINORS.clear(load(&COUNTERS.minor_collections));
    MAJOR_LIVE.clear(load(&COUNTERS.major_live_words));
    MINOR_LIVE.clear(load(&COUNTERS.minor_live_words));
    TO_OLD.clear(load(&COUNTERS.pointers_to_old));
    TO_YOUNG.clear(load(&COUNTERS.pointers_to_young));
    Ok(atoms::TRUE)
}

/// `{LiveProcesses, SpawnedProcesses, MessagesSent, CurrentHeap, CurrentAllocated, HighestHeap, HighestAllocated}`,
/// heaps in words: in use is what each process had after its last collection, and at the highest before one.
fn bench_info(caller: &mut Caller<'_>, _: &[Term]) -> Outcome {
    let table = &System::get().table;
    let spawned = SPAWNED.difference(table.spawned() as u64);
    let messages = MESSAGES.difference(load(&COUNTERS.messages));
    let (used, allocated) = (load(&COUNTERS.used_words), load(&COUNTERS.heap_words));
    let highest = (load(&COUNTERS.highest_used_words), load(&COUNTERS.highest_heap_words));
    numbers(caller, &[table.count() as u64, spawned, messages, used, allocated, highest.0, highest.1])
}

fn clear_bench_info(_: &mut Caller<'_>, _: &[Term]) -> Outcome {
    SPAWNED.clear(System::get().table.spawned() as u64);
    MESSAGES.clear(load(&COUNTERS.messages));
    COUNTERS.highest_heap_words.store(load(&COUNTERS.heap_words), Ordering::Relaxed);
    COUNTERS.highest_used_words.store(load(&COUNTERS.used_words), Ordering::Relaxed);
    for (since, now) in SIZES.iter().zip(&COUNTERS.message_sizes) {
        since.clear(load(now));
    }
    Ok(atoms::TRUE)
}

/// Prints a diagram of the sizes of messages, in words copied, since the start or `clear_bench_info/0`; `false` if the
/// run is not timed.
fn message_info(_: &mut Caller<'_>, _: &[Term]) -> Outcome {
    if !TIMED.load(Ordering::Relaxed) {
        return Ok(atoms::FALSE);
    }
    let counts: Vec<u64> =
        SIZES.iter().zip(&COUNTERS.message_sizes).map(|(since, now)| since.difference(load(now))).collect();
    let most = counts.iter().copied().max().unwrap_or(0).max(1);
    let last = counts.iter().rposition(|count| *count > 0).unwrap_or(0);
    let mut text = String::from("words copied      messages\n");
    for (class, count) in counts[..=last].iter().enumerate() {
        let largest = if class == 0 { 0 } else { 1_u64 << (class - 1) };
        let bar = "*".repeat((count * 50).div_ceil(most) as usize);
        text += &format!("up to {largest:>10} {count:>10} {bar}\n");
    }
    crate::display::print(&text)
}

/// `cons(Head, Tail)`: a list that is going to be sent.
fn cons(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let built = architecture().build_message(None, &arguments[..2]);
    Ok(built.unwrap_or_else(|| caller.heap().cons(arguments[0], arguments[1])))
}

/// `tuple(List)`: a tuple that is going to be sent.
fn tuple(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let elements = list_elements(arguments[0]).ok_or_else(badarg)?;
    let header = Header::new(Kind::Tuple, elements.len());
    let built = architecture().build_message(Some(header), &elements);
    Ok(built.unwrap_or_else(|| caller.heap().tuple(&elements)))
}

/// `send(Destination, Message)`
fn send(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    atoll_process::send::send(caller.process.pid, caller.own, arguments[0], arguments[1])?;
    Ok(arguments[1])
}
