//! Figures of the run: `statistics/1`, `memory/0,1`.

use std::sync::atomic::{AtomicI64, Ordering};

use atoll_heap::counters::counters;
use atoll_heap::lanes::{Kind, Level};
use atoll_operations::list;
use atoll_platform::clock;
use atoll_process::{BuiltIn, Caller, Outcome, System, badarg, microstates};
use atoll_term::atoms::known_atom;
use atoll_term::{Build, OffHeapBinary, Term, WORD_BYTES, atoms, map};

use crate::process_items::SLICE;

/// What this file provides.
pub const BUILT_INS: &[BuiltIn] = &[
    BuiltIn::new("erlang", "statistics", 1, statistics),
    BuiltIn::new("erlang", "memory", 0, memory),
    BuiltIn::new("erlang", "memory", 1, memory_of),
];

/// Nanoseconds in a millisecond.
const MILLISECOND: i64 = 1_000_000;

/// When the machine started, and what its programs were told last.
pub struct Told {
    /// Monotonic nanoseconds.
    start: i64,
    wall: AtomicI64,
    run: AtomicI64,
    reductions: AtomicI64,
    exact: AtomicI64,
}

atoll_platform::part_of_machine!(Told);

impl Told {
    /// That of a machine that starts now.
    pub fn now() -> Told {
        let start = clock::now();
        let [wall, run, reductions, exact] = [const { AtomicI64::new(0) }; 4];
        Told { start, wall, run, reductions, exact }
    }
}

/// When the machine started (monotonic nanoseconds).
pub fn start_time() -> i64 {
    part().start
}

/// The value, and how much of it has come since the last call with the same `last`.
fn with_difference(caller: &mut Caller<'_>, value: i64, last: &AtomicI64) -> Term {
    let since = value - last.swap(value, Ordering::Relaxed);
    caller.heap().tuple(&[Term::small(value), Term::small(since)])
}

/// As [`with_difference`], of what never becomes less.
fn with_more(caller: &mut Caller<'_>, value: i64, last: &AtomicI64) -> Term {
    let before = last.fetch_max(value, Ordering::Relaxed);
    let value = value.max(before);
    caller.heap().tuple(&[Term::small(value), Term::small(value - before)])
}

fn reductions(caller: &Caller<'_>) -> i64 {
    // Those of the running slice are counted when it ends.
    let now = (SLICE - caller.slice_left()).max(0);
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
    if !arguments[0].is_atom() {
        return Err(badarg());
    }
    let schedule = System::get().schedule();
    let small = |number: usize| Term::small(number as i64);
    let value = match atoms::atom_name(arguments[0]) {
        "wall_clock" => with_difference(caller, (clock::now() - start_time()) / MILLISECOND, &part().wall),
        "runtime" => with_difference(caller, clock::process_cpu() / MILLISECOND, &part().run),
        "reductions" => with_more(caller, reductions(caller), &part().reductions),
        "exact_reductions" => with_more(caller, reductions(caller), &part().exact),
        "context_switches" => caller.heap().tuple(&[small(schedule.context_switches()), Term::small(0)]),
        "garbage_collection" => {
            let [minor, major] = [Kind::Minor, Kind::Major].map(|kind| counters().lanes.collections(kind));
            let (count, words) = (minor.count + major.count, minor.reclaimed_words + major.reclaimed_words);
            let heap = caller.heap();
            let [count, words] = [count, words].map(|number| heap.unsigned(number));
            heap.tuple(&[count, words, Term::small(0)])
        }
        "io" => {
            let carried = System::get().ports.get().map_or([0; 2], |ports| ports.carried());
            let heap = caller.heap();
            let [input, output] = ["input", "output"].map(known_atom);
            let [received, sent] = carried.map(|bytes| heap.unsigned(bytes));
            let pairs = [heap.tuple(&[input, received]), heap.tuple(&[output, sent])];
            heap.tuple(&pairs)
        }
        "run_queue" => small(schedule.queue_lengths().into_iter().sum()),
        "total_run_queue_lengths" | "total_run_queue_lengths_all" => small(schedule.queue_lengths().into_iter().sum()),
        "total_active_tasks" | "total_active_tasks_all" => {
            small(schedule.queue_lengths().into_iter().sum::<usize>() + 1)
        }
        item @ ("run_queue_lengths" | "run_queue_lengths_all" | "active_tasks" | "active_tasks_all") => {
            let mut lengths = schedule.queue_lengths();
            if item.starts_with("active")
                && let Some(own) = lengths.get_mut(schedule.current())
            {
                *own += 1;
            }
            // On OTP those of the threads for long work come last; what waits for them is not counted here.
            lengths.extend(std::iter::repeat_n(0, if item.ends_with("_all") { 2 } else { 1 }));
            caller.heap().list(lengths.into_iter().map(small))
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

/// `[#{type => Type, id => Number, counters => #{State => Nanoseconds}}]`: of schedulers, and of threads for dirty
/// calls of native libraries; what others do is not measured.
fn microstate_accounting(caller: &mut Caller<'_>) -> Term {
    let heap = caller.heap();
    let system = System::get();
    let [processor, _] = system.dirty_threads();
    let first_dirty = system.schedulers.max(1);
    let rows: Vec<Term> = microstates::spent()
        .iter()
        .enumerate()
        .map(|(index, spent)| {
            let counters = microstates::NAMES.iter().zip(spent);
            let counters: Vec<_> = counters.map(|(state, spent)| (known_atom(state), heap.integer(*spent))).collect();
            let counters = map::from_pairs(heap, &counters);
            let (kind, first) = match index {
                _ if index < first_dirty => ("scheduler", 0),
                _ if index < first_dirty + processor => ("dirty_cpu_scheduler", first_dirty),
                _ => ("dirty_io_scheduler", first_dirty + processor),
            };
            let number = Term::small((index - first) as i64 + 1);
            map::from_pairs(
                heap,
                &[
                    (known_atom("counters"), counters),
                    (known_atom("id"), number),
                    (known_atom("type"), known_atom(kind)),
                ],
            )
        })
        .collect();
    heap.list(rows)
}

/// Types of memory, in the order of `memory/0`.
const TYPES: [&str; 9] =
    ["total", "processes", "processes_used", "system", "atom", "atom_used", "binary", "code", "ets"];

/// How many bytes of each type of memory are in use, all from one moment: `system` and `processes` add up to `total`,
/// although other threads allocate meanwhile.
struct InUse {
    processes: i64,
    binary: i64,
    atom: i64,
    code: i64,
    ets: i64,
    total: i64,
}

impl InUse {
    /// Looks now. The tables' bytes are the asker's to say: a crash dump cannot wait for the tables' lock.
    fn now(ets: i64) -> InUse {
        let processes = counters().lanes.level(Level::Heap) as i64 * WORD_BYTES as i64;
        let binary = OffHeapBinary::total_bytes() as i64;
        let atom = atoms::atom_limit_and_count().1 as i64 * 32;
        let code = crate::code::loaded_bytes() as i64;
        let known = processes + binary + atom + code + ets;
        let total = known.max(atoll_platform::resident_bytes() as i64);
        InUse { processes, binary, atom, code, ets, total }
    }

    /// What `memory/0,1` tell.
    fn with_tables() -> InUse {
        let words: usize = atoll_ets::all().iter().map(|table| table.size().1).sum();
        InUse::now((words * WORD_BYTES) as i64)
    }

    /// Bytes of one of the [`TYPES`]; `None`: there is no such type.
    fn of(&self, kind: &str) -> Option<i64> {
        Some(match kind {
            "total" => self.total,
            "processes" | "processes_used" => self.processes,
            "system" => self.total - self.processes,
            "atom" | "atom_used" => self.atom,
            "binary" => self.binary,
            "code" => self.code,
            "ets" => self.ets,
            _ => return None,
        })
    }

    /// Bytes of each type of memory.
    fn by_type(&self) -> impl Iterator<Item = (&'static str, i64)> + use<> {
        TYPES.map(|kind| (kind, self.of(kind).unwrap_or(0))).into_iter()
    }
}

/// OTP's names of areas that this machine has too, with their bytes.
pub(crate) fn areas() -> [(&'static str, i64); 2] {
    let in_use = InUse::now(0);
    [("atom_table", in_use.atom), ("loaded_code", in_use.code)]
}

/// The bytes that would be in each of OTP's allocators that has a counterpart here; they add up to all memory.
pub(crate) fn by_allocator() -> [(&'static str, i64); 5] {
    let in_use = InUse::with_tables();
    let code = in_use.code + in_use.atom;
    let known = in_use.processes + in_use.ets + in_use.binary + code;
    [
        ("std_alloc", in_use.total - known),
        ("ll_alloc", code),
        ("eheap_alloc", in_use.processes),
        ("ets_alloc", in_use.ets),
        ("binary_alloc", in_use.binary),
    ]
}

/// Bytes of each type of memory, for a crash dump: without those of tables.
pub fn memory_by_type() -> impl Iterator<Item = (&'static str, i64)> {
    InUse::now(0).by_type()
}

fn memory(caller: &mut Caller<'_>, _: &[Term]) -> Outcome {
    let in_use = InUse::with_tables();
    let pairs: Vec<Term> =
        in_use.by_type().map(|(kind, bytes)| caller.heap().tuple(&[known_atom(kind), Term::small(bytes)])).collect();
    Ok(caller.heap().list(pairs))
}

fn memory_of(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let in_use = InUse::with_tables();
    let one = |kind: Term| if kind.is_atom() { in_use.of(atoms::atom_name(kind)) } else { None };
    if arguments[0].is_atom() {
        return one(arguments[0]).map(Term::small).ok_or_else(badarg);
    }
    let mut pairs = Vec::new();
    for kind in list::elements_or_badarg(arguments[0])? {
        let bytes = one(kind).ok_or_else(badarg)?;
        pairs.push(caller.heap().tuple(&[kind, Term::small(bytes)]));
    }
    Ok(caller.heap().list(pairs))
}
