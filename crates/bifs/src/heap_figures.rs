//! Module `atoll_heap`: the figures of Wilhelmsson's thesis (Appendix C), and its three functions that build messages.
//!
//! Times are `{Minutes, Seconds, Milliseconds, Microseconds}`. Sends and copies are timed only on demand (`--stats`);
//! where a figure is not taken, the function returns `false`. After `count_pauses_from_now()` the record of `--stats`
//! leaves out the pauses until then.

use std::sync::atomic::{AtomicU64, Ordering};

use atoll_heap::counters::{MESSAGE_SIZES, count_pauses_from_now, counters};
use atoll_heap::lanes::{Kind as Of, Level};
use atoll_heap::{message_builder, settings};
use atoll_operations::list;
use atoll_platform::clock;
use atoll_process::{BuiltIn, Caller, Outcome, System};
use atoll_term::{Build, Header, Kind, Term, atoms};

use crate::memory_and_statistics::start_time;

/// What this file provides.
pub const BUILT_INS: &[BuiltIn] = &[
    BuiltIn::new("atoll_heap", "system_timer_get", 0, system_timer_get),
    BuiltIn::new("atoll_heap", "system_timer_clear", 0, system_timer_clear),
    BuiltIn::new("atoll_heap", "gc_timer_get", 0, gc_timer_get),
    BuiltIn::new("atoll_heap", "gc_timer_clear", 0, gc_timer_clear),
    BuiltIn::new("atoll_heap", "send_timer_get", 0, send_timer_get),
    BuiltIn::new("atoll_heap", "send_timer_clear", 0, send_timer_clear),
    BuiltIn::new("atoll_heap", "copy_timer_get", 0, copy_timer_get),
    BuiltIn::new("atoll_heap", "copy_timer_clear", 0, copy_timer_clear),
    BuiltIn::new("atoll_heap", "gc_info", 0, gc_info),
    BuiltIn::new("atoll_heap", "clear_gc_info", 0, clear_gc_info),
    BuiltIn::new("atoll_heap", "bench_info", 0, bench_info),
    BuiltIn::new("atoll_heap", "clear_bench_info", 0, clear_bench_info),
    BuiltIn::new("atoll_heap", "message_info", 0, message_info),
    BuiltIn::new("atoll_heap", "count_pauses_from_now", 0, |_, _| {
        count_pauses_from_now();
        Ok(atoms::TRUE)
    }),
    BuiltIn::new("atoll_heap", "cons", 2, cons),
    BuiltIn::new("atoll_heap", "tuple", 1, tuple),
    BuiltIn::new("atoll_heap", "send", 2, send),
];

/// A counter as it stood when it was last cleared.
#[derive(Default)]
struct Since(AtomicU64);

impl Since {
    fn clear(&self, now: u64) {
        self.0.store(now, Ordering::Relaxed);
    }

    fn difference(&self, now: u64) -> u64 {
        now.saturating_sub(self.0.load(Ordering::Relaxed))
    }
}

/// Numbers of messages of each class of sizes.
struct Sizes([Since; MESSAGE_SIZES]);

impl Default for Sizes {
    fn default() -> Sizes {
        Sizes([const { Since(AtomicU64::new(0)) }; MESSAGE_SIZES])
    }
}

/// The figures of one machine as they stood when its programs last cleared them.
#[derive(Default)]
pub struct Cleared {
    system: Since,
    major_time: Since,
    minor_time: Since,
    send_time: Since,
    copy_time: Since,
    majors: Since,
    minors: Since,
    major_live: Since,
    minor_live: Since,
    to_old: Since,
    to_young: Since,
    sizes: Sizes,
    spawned: Since,
    messages: Since,
}

atoll_platform::part_of_machine!(Cleared);

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
    (clock::now() - start_time()).max(0) as u64
}

fn system_timer_get(caller: &mut Caller<'_>, _: &[Term]) -> Outcome {
    Ok(time(caller, part().system.difference(running())))
}

fn system_timer_clear(_: &mut Caller<'_>, _: &[Term]) -> Outcome {
    part().system.clear(running());
    Ok(atoms::TRUE)
}

/// `{Major, Minor, LongestMajor, LongestMinor}`, or `false` if the run is not timed.
fn gc_timer_get(caller: &mut Caller<'_>, _: &[Term]) -> Outcome {
    if !settings().timed {
        return Ok(atoms::FALSE);
    }
    let [major, minor] = [Of::Major, Of::Minor].map(|kind| counters().lanes.collections(kind));
    let (majors, minors) = (part().major_time.difference(major.time), part().minor_time.difference(minor.time));
    let times = [majors, minors, major.longest, minor.longest];
    let times = times.map(|nanoseconds| time(caller, nanoseconds));
    Ok(caller.heap().tuple(&times))
}

fn gc_timer_clear(_: &mut Caller<'_>, _: &[Term]) -> Outcome {
    part().major_time.clear(counters().lanes.collections(Of::Major).time);
    part().minor_time.clear(counters().lanes.collections(Of::Minor).time);
    counters().lanes.clear_longest();
    Ok(Term::boolean(settings().timed))
}

/// A time that is taken only when the run is timed.
fn when_timed(caller: &mut Caller<'_>, nanoseconds: u64) -> Outcome {
    if settings().timed { Ok(time(caller, nanoseconds)) } else { Ok(atoms::FALSE) }
}

fn clear_when_timed(since: &Since, counter: &AtomicU64) -> Outcome {
    since.clear(load(counter));
    Ok(Term::boolean(settings().timed))
}

fn send_timer_get(caller: &mut Caller<'_>, _: &[Term]) -> Outcome {
    when_timed(caller, part().send_time.difference(load(&counters().send_time)))
}

fn send_timer_clear(_: &mut Caller<'_>, _: &[Term]) -> Outcome {
    clear_when_timed(&part().send_time, &counters().send_time)
}

fn copy_timer_get(caller: &mut Caller<'_>, _: &[Term]) -> Outcome {
    when_timed(caller, part().copy_time.difference(load(&counters().copy_time)))
}

fn copy_timer_clear(_: &mut Caller<'_>, _: &[Term]) -> Outcome {
    clear_when_timed(&part().copy_time, &counters().copy_time)
}

/// `{MajorCollections, MinorCollections, LiveInMajor, LiveInMinor, PointersToOld, PointersToYoung}`: live words are
/// summed over the collections of each kind; pointers are those that the collections met, counted only when the run is
/// timed.
fn gc_info(caller: &mut Caller<'_>, _: &[Term]) -> Outcome {
    let [major, minor] = [Of::Major, Of::Minor].map(|kind| counters().lanes.collections(kind));
    numbers(
        caller,
        &[
            part().majors.difference(major.count),
            part().minors.difference(minor.count),
            part().major_live.difference(major.live_words),
            part().minor_live.difference(minor.live_words),
            part().to_old.difference(load(&counters().pointers_to_old)),
            part().to_young.difference(load(&counters().pointers_to_young)),
        ],
    )
}

fn clear_gc_info(_: &mut Caller<'_>, _: &[Term]) -> Outcome {
    let [major, minor] = [Of::Major, Of::Minor].map(|kind| counters().lanes.collections(kind));
    part().majors.clear(major.count);
    part().minors.clear(minor.count);
    part().major_live.clear(major.live_words);
    part().minor_live.clear(minor.live_words);
    part().to_old.clear(load(&counters().pointers_to_old));
    part().to_young.clear(load(&counters().pointers_to_young));
    Ok(atoms::TRUE)
}

/// `{LiveProcesses, SpawnedProcesses, MessagesSent, CurrentHeap, CurrentAllocated, HighestHeap, HighestAllocated}`,
/// heaps in words: in use is what each process had after its last collection, and at the highest before one.
fn bench_info(caller: &mut Caller<'_>, _: &[Term]) -> Outcome {
    let table = &System::get().table;
    let spawned = part().spawned.difference(table.spawned() as u64);
    let messages = part().messages.difference(counters().lanes.messages().0);
    let lanes = &counters().lanes;
    let [used, allocated] = [Level::Used, Level::Heap].map(|level| lanes.level(level));
    let highest = [Level::Used, Level::Heap].map(|level| lanes.highest(level));
    numbers(caller, &[table.count() as u64, spawned, messages, used, allocated, highest[0], highest[1]])
}

fn clear_bench_info(_: &mut Caller<'_>, _: &[Term]) -> Outcome {
    part().spawned.clear(System::get().table.spawned() as u64);
    part().messages.clear(counters().lanes.messages().0);
    counters().lanes.clear_highest(Level::Heap);
    counters().lanes.clear_highest(Level::Used);
    for (since, now) in part().sizes.0.iter().zip(&counters().message_sizes) {
        since.clear(load(now));
    }
    Ok(atoms::TRUE)
}

/// Prints a diagram of the sizes of messages, in words copied, since the start or `clear_bench_info/0`; `false` if the
/// run is not timed.
fn message_info(_: &mut Caller<'_>, _: &[Term]) -> Outcome {
    if !settings().timed {
        return Ok(atoms::FALSE);
    }
    let counts: Vec<u64> =
        part().sizes.0.iter().zip(&counters().message_sizes).map(|(since, now)| since.difference(load(now))).collect();
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
    let built = message_builder().and_then(|builder| builder.build_message(None, &arguments[..2]));
    Ok(built.unwrap_or_else(|| caller.heap().cons(arguments[0], arguments[1])))
}

/// `tuple(List)`: a tuple that is going to be sent.
fn tuple(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let elements = list::elements_or_badarg(arguments[0])?;
    let header = Header::new(Kind::Tuple, elements.len());
    let built = message_builder().and_then(|builder| builder.build_message(Some(header), &elements));
    Ok(built.unwrap_or_else(|| caller.heap().tuple(&elements)))
}

/// `send(Destination, Message)`
fn send(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    atoll_process::send::send(caller.process.pid, caller.own, arguments[0], arguments[1])?;
    Ok(arguments[1])
}
