//! Figures of the run: `statistics/1`, `memory/0,1`.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicI64, Ordering};

use atoll_heap::statistics::COUNTERS;
use atoll_platform::clock;
use atoll_process::{BuiltIn, Caller, Outcome, System, microstates};
use atoll_term::{Build, OffHeapBinary, Term, WORD_BYTES, atoms, map};

use crate::process_support::{badarg, list_elements, name};

/// What this file provides.
pub const BUILT_INS: &[BuiltIn] = &[
    BuiltIn { module: "erlang", name: "statistics", arity: 1, function: statistics },
    BuiltIn { module: "erlang", name: "memory", arity: 0, function: memory },
    BuiltIn { module: "erlang", name: "memory", arity: 1, function: memory_of },
];

/// Nanoseconds in a millisecond.
const MILLISECOND: i64 = 1_000_000;

/// When the machine started (monotonic nanoseconds): when this was first asked for, which is at boot.
pub fn start_time() -> i64 {
    static START: OnceLock<i64> = OnceLock::new();
    *START.get_or_init(clock::monotonic)
}

/// The value, and how much of it has come since the last call with the same `last`.
fn with_difference(caller: &mut Caller<'_>, value: i64, last: &AtomicI64) -> Term {
    let since = value - last.swap(value, Ordering::Relaxed);
    caller.heap().tuple(&[Term::small(value), Term::small(since)])
}

fn reductions(caller: &Caller<'_>) -> i64 {
    // Those of the running slice are counted when it ends.
    let now = (4_000 - caller.reductions).max(0);
    System::get().reductions.total() as i64 + now
}

/// `[{Scheduler, Active, All}]`: the schedulers, then as many for long work on processors, which this machine has in
/// name only and which never work.
fn wall_time(caller: &mut Caller<'_>, times: &[(i64, i64)]) -> Term {
    let heap = caller.heap();
    let never = times.iter().map(|(_, all)| (0, *all));
    let times: Vec<Term> = (1..)
        .zip(times.iter().copied().chain(never))
        .map(|(scheduler, (active, all))| heap.tuple(&[scheduler, active, all].map(Term::small)))
        .collect();
    heap.list(times)
}

fn statistics(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    static WALL: AtomicI64 = AtomicI64::new(0);
    static RUN: AtomicI64 = AtomicI64::new(0);
    static REDUCTIONS: AtomicI64 = AtomicI64::new(0);
    static EXACT: AtomicI64 = AtomicI64::new(0);
    if !arguments[0].is_atom() {
        return Err(badarg());
    }
    let schedule = System::get().schedule();
    let small = |number: usize| Term::small(number as i64);
    let value = match atoms::atom_name(arguments[0]) {
        "wall_clock" => with_difference(caller, (clock::monotonic() - start_time()) / MILLISECOND, &WALL),
        "runtime" => with_difference(caller, clock::process_cpu() / MILLISECOND, &RUN),
        "reductions" => {
            let now = reductions(caller);
            with_difference(caller, now, &REDUCTIONS)
        }
        "exact_reductions" => {
            let now = reductions(caller);
            with_difference(caller, now, &EXACT)
        }
        "context_switches" => caller.heap().tuple(&[small(schedule.context_switches()), Term::small(0)]),
        "garbage_collection" => {
            let load = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed) as i64;
            let number = load(&COUNTERS.minor_collections) + load(&COUNTERS.major_collections);
            caller.heap().tuple(&[Term::small(number), Term::small(0), Term::small(0)])
        }
        "io" => {
            let heap = caller.heap();
            let input = heap.tuple(&[name("input"), Term::small(0)]);
            let output = heap.tuple(&[name("output"), Term::small(0)]);
            heap.tuple(&[input, output])
        }
        "run_queue" => small(schedule.queue_lengths().into_iter().sum()),
        "total_run_queue_lengths" | "total_run_queue_lengths_all" => small(schedule.queue_lengths().into_iter().sum()),
        "total_active_tasks" | "total_active_tasks_all" => {
            small(schedule.queue_lengths().into_iter().sum::<usize>() + 1)
        }
        "run_queue_lengths" | "run_queue_lengths_all" => {
            let lengths = schedule.queue_lengths();
            caller.heap().list(lengths.into_iter().map(small))
        }
        "active_tasks" | "active_tasks_all" => {
            let mut tasks = schedule.queue_lengths();
            if let Some(own) = tasks.get_mut(schedule.current()) {
                *own += 1;
            }
            caller.heap().list(tasks.into_iter().map(small))
        }
        "scheduler_wall_time" | "scheduler_wall_time_all" => match schedule.wall_time() {
            Some(times) => wall_time(caller, &times),
            None => atoms::UNDEFINED,
        },
        "microstate_accounting" => microstate_accounting(caller),
        _ => return Err(badarg()),
    };
    Ok(value)
}

/// `[#{type => scheduler, id => Number, counters => #{State => Nanoseconds}}]`: of schedulers; what others do is not
/// measured.
fn microstate_accounting(caller: &mut Caller<'_>) -> Term {
    let heap = caller.heap();
    let rows: Vec<Term> = microstates::spent()
        .iter()
        .enumerate()
        .map(|(index, spent)| {
            let counters = microstates::NAMES.iter().zip(spent);
            let counters: Vec<_> = counters.map(|(state, spent)| (name(state), heap.integer(*spent))).collect();
            let counters = map::from_pairs(heap, &counters);
            let number = Term::small(index as i64 + 1);
            map::from_pairs(
                heap,
                &[(name("counters"), counters), (name("id"), number), (name("type"), name("scheduler"))],
            )
        })
        .collect();
    heap.list(rows)
}

/// Types of memory, in the order of `memory/0`.
const TYPES: [&str; 9] =
    ["total", "processes", "processes_used", "system", "atom", "atom_used", "binary", "code", "ets"];

/// Bytes of a type of memory. Tables and code are part of `system` without a figure of their own.
fn bytes(kind: &str) -> Option<i64> {
    let processes = COUNTERS.heap_words.load(Ordering::Relaxed) as i64 * WORD_BYTES as i64;
    let binary = OffHeapBinary::total_bytes() as i64;
    let atom = atoms::atom_limit_and_count().1 as i64 * 32;
    let resident = atoll_platform::resident_bytes() as i64;
    let total = resident.max(processes + binary + atom);
    Some(match kind {
        "total" => total,
        "processes" | "processes_used" => processes,
        "system" => total - processes,
        "atom" | "atom_used" => atom,
        "binary" => binary,
        "code" => crate::code::loaded_bytes() as i64,
        "ets" => 0,
        _ => return None,
    })
}

/// Bytes of each type of memory.
pub fn memory_by_type() -> impl Iterator<Item = (&'static str, i64)> {
    TYPES.into_iter().map(|kind| (kind, bytes(kind).unwrap_or(0)))
}

fn memory(caller: &mut Caller<'_>, _: &[Term]) -> Outcome {
    let pairs: Vec<Term> =
        TYPES.iter().map(|kind| caller.heap().tuple(&[name(kind), Term::small(bytes(kind).unwrap_or(0))])).collect();
    Ok(caller.heap().list(pairs))
}

fn memory_of(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let one = |kind: Term| if kind.is_atom() { bytes(atoms::atom_name(kind)) } else { None };
    if arguments[0].is_atom() {
        return one(arguments[0]).map(Term::small).ok_or_else(badarg);
    }
    let mut pairs = Vec::new();
    for kind in list_elements(arguments[0]).ok_or_else(badarg)? {
        let bytes = one(kind).ok_or_else(badarg)?;
        pairs.push(caller.heap().tuple(&[kind, Term::small(bytes)]));
    }
    Ok(caller.heap().list(pairs))
}
