//! `erts_debug:get_internal_state/1`, `set_internal_state/2`, which OTP's test suites use, and what else there is of
//! `erts_debug` that tells of the inside of OTP's emulator.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use atoll_operations::{Exception, list};
use atoll_process::{BuiltIn, Caller, Interrupt, Outcome, Process, Stopped, System, state};
use atoll_term::hash::map_hash;
use atoll_term::{Build, Kind, Term, View, atoms};

use crate::ets_info::TABLE_WORDS;
use crate::process_support::{badarg, name};
use crate::support::{atom, row};
use crate::watching;

/// What this file provides.
pub const BUILT_INS: &[BuiltIn] = &[
    row("erts_debug", "get_internal_state", 1, get),
    row("erts_debug", "set_internal_state", 2, set),
    row("erts_debug", "lcnt_clear", 0, not_counted),
    row("erts_debug", "lcnt_collect", 0, not_counted),
    row("erts_debug", "lcnt_control", 1, no_such_control),
    row("erts_debug", "lcnt_control", 2, no_such_control),
    row("erts_debug", "interpreter_size", 0, interpreter_size),
    row("erts_debug", "disassemble", 1, disassemble),
];

/// Whether programs may ask at all.
static AVAILABLE: AtomicBool = AtomicBool::new(false);
/// Most names that are looked for at a time.
const MOST_NAMES: usize = 64;
/// Longest time in milliseconds that `sleep` takes.
const LONGEST_SLEEP: u64 = 10_000;

/// A limit of OTP's emulator on work without a pause. Kept and told, without effect here.
struct Limit {
    name: &'static str,
    usual: i64,
    value: AtomicI64,
}

impl Limit {
    const fn new(name: &'static str, usual: i64) -> Limit {
        Limit { name, usual, value: AtomicI64::new(usual) }
    }
}

static LIMITS: [Limit; 3] =
    [Limit::new("re_loop_limit", 40_000), Limit::new("unicode_loop_limit", 40_000), Limit::new("binary_loop_limit", 0)];

/// Without leave these functions do not exist.
fn check_available() -> Result<(), Interrupt> {
    match AVAILABLE.load(Ordering::Relaxed) {
        true => Ok(()),
        false => Err(Exception::error(atoms::UNDEF).into()),
    }
}

fn word_of(term: Term) -> &'static str {
    if term.is_atom() { atoms::atom_name(term) } else { "" }
}

fn get(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    check_available()?;
    match word_of(arguments[0]) {
        "available_internal_state" => Ok(atoms::TRUE),
        "reds_left" => Ok(Term::small(caller.reductions)),
        // Nothing estimates here what counters of several parts may lag behind.
        "DbTable_words" => Ok(caller.heap().tuple(&[Term::small(TABLE_WORDS as i64), Term::small(0)])),
        "flxctr_memory_usage" => Ok(name("notsup")),
        "persistent_term" => Ok(crate::persistent_term::table(caller)),
        "processes" => {
            let pids = System::get().table.pids();
            Ok(caller.heap().list(pids))
        }
        _ => match arguments[0].tuple_elements() {
            Some(&[item, of]) => get_of(caller, word_of(item), of),
            _ => Err(badarg()),
        },
    }
}

/// `get_internal_state({Item, Of})`
fn get_of(caller: &mut Caller<'_>, item: &str, of: Term) -> Outcome {
    match item {
        "internal_hash" => Ok(Term::small(map_hash(of).into())),
        "binary_info" => binary_info(caller, of),
        "link_list" => watching::links(caller, of),
        "monitor_list" => watching::monitors(caller, of),
        "process_status" if of.is_local_pid() => {
            let state = System::get().table.with(of, Process::state);
            Ok(match state {
                None => atoms::UNDEFINED,
                Some(state::IDLE) => atoms::WAITING,
                Some(state::QUEUED) => atoms::RUNNABLE,
                Some(state::ENDED) => atoms::EXITING,
                Some(_) => atoms::RUNNING,
            })
        }
        _ => Err(badarg()),
    }
}

/// What OTP says of a binary whose last byte may be followed by others in its place.
const WRITABLE: i64 = 3;

/// `heap_binary`, or `{refc_binary, Size, {binary, BytesOfTheBlock}, Flags}` of one that lies outside of heaps.
fn binary_info(caller: &mut Caller<'_>, term: Term) -> Outcome {
    let View::Bits(bits) = term.view() else { return Err(badarg()) };
    let handle = match term.boxed_kind() {
        Some(Kind::SubBits) => term.boxed_terms().get(2).copied().unwrap_or(term),
        _ => term,
    };
    if handle.boxed_kind() != Some(Kind::BinaryHandle) {
        return Ok(name("heap_binary"));
    }
    let Some(block) = handle.off_heap_binary() else { return Err(badarg()) };
    let (size, capacity) = (bits.length().div_ceil(8), block.capacity());
    let flags = if capacity > block.used() { WRITABLE } else { 0 };
    let heap = caller.heap();
    let of_block = heap.tuple(&[name("binary"), Term::small(capacity as i64)]);
    Ok(heap.tuple(&[name("refc_binary"), Term::small(size as i64), of_block, Term::small(flags)]))
}

fn set(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let &[what, value] = arguments else { return Err(badarg()) };
    let what = word_of(what);
    if what == "available_internal_state" {
        let now = match value {
            atoms::TRUE => true,
            atoms::FALSE => false,
            _ => return Err(badarg()),
        };
        return Ok(Term::boolean(AVAILABLE.swap(now, Ordering::Relaxed)));
    }
    check_available()?;
    match (what, word_of(value)) {
        ("reds_left", _) => {
            caller.reductions = value.as_small().filter(|left| (0..=4000).contains(left)).ok_or_else(badarg)?;
            Ok(atoms::TRUE)
        }
        // What is allocated next leads to a collection.
        ("fill_heap", _) => {
            let pairs = caller.heap().free_words() / 2;
            caller.heap().list((0..pairs).map(|_| Term::small(0)));
            Ok(atoms::TRUE)
        }
        // A list outside of the part of the heap where allocation goes on.
        ("mbuf", _) => {
            let elements = list::elements(value).ok_or_else(badarg)?;
            let pairs = caller.heap().free_words() / 2;
            caller.heap().list((0..pairs).map(|_| Term::small(0)));
            Ok(caller.heap().list(elements))
        }
        // Tables are worked on in one go, and ordered ones are not split.
        ("ets_force_trap", _) => Ok(name("notsup")),
        ("ets_force_split" | "ets_debug_random_split_join", _) => Ok(atoms::OK),
        ("colliding_names", _) => colliding_names(caller, value),
        // What is allocated next leads to a collection.
        ("force_gc", _) if value == caller.process.pid => {
            let pairs = caller.heap().free_words() / 2;
            caller.heap().list((0..pairs).map(|_| Term::small(0)));
            Ok(atoms::TRUE)
        }
        ("force_gc", _) if value.is_local_pid() => Ok(Term::boolean(System::get().table.contains(value))),
        // All schedulers stand still for so many milliseconds.
        ("block", _) => {
            let milliseconds = value.as_small().and_then(|time| u64::try_from(time).ok()).ok_or_else(badarg)?;
            let _stopped = Stopped::by(Some(caller.own));
            std::thread::sleep(Duration::from_millis(milliseconds.min(LONGEST_SLEEP)));
            Ok(atoms::TRUE)
        }
        // Of a number that large, what markers are numbered with.
        ("process_uniq_counter", _) => {
            let bytes = match value.view() {
                View::Small(number) => number as u64,
                View::Big(big) => big.limbs.first().copied().unwrap_or(0),
                _ => return Err(badarg()),
            };
            caller.own.mailbox.number_markers_from(bytes);
            Ok(atoms::OK)
        }
        // Every inbox takes signals of any number of senders at a time.
        ("proc_sig_buffers", "true") => Ok(atoms::TRUE),
        // What is freed here is freed at once.
        ("wait", "deallocations" | "timer_cancellations" | "aux_work" | "thread_progress") => Ok(atoms::OK),
        ("sleep", _) => {
            let milliseconds = value.as_small().and_then(|time| u64::try_from(time).ok()).ok_or_else(badarg)?;
            std::thread::sleep(Duration::from_millis(milliseconds.min(LONGEST_SLEEP)));
            Ok(atoms::TRUE)
        }
        _ => {
            let limit = LIMITS.iter().find(|limit| limit.name == what).ok_or_else(badarg)?;
            let new = if value == name("default") { Some(limit.usual) } else { value.as_small() };
            let new = new.filter(|new| *new >= 0).ok_or_else(badarg)?;
            Ok(Term::small(limit.value.swap(new, Ordering::Relaxed)))
        }
    }
}

/// `{Name, Count}`: names of tables that have a lock in common, the given one first.
fn colliding_names(caller: &mut Caller<'_>, argument: Term) -> Outcome {
    let Some(&[first, count]) = argument.tuple_elements() else { return Err(badarg()) };
    let count = count.as_small().and_then(|count| usize::try_from(count).ok()).filter(|count| *count <= MOST_NAMES);
    let (true, Some(count)) = (first.is_atom(), count) else { return Err(badarg()) };
    let mut names = vec![first];
    for number in 0.. {
        if names.len() >= count {
            break;
        }
        let other = atom(&format!("{}{number}", atoms::atom_name(first)))?;
        if atoll_ets::names_collide(first, other) {
            names.push(other);
        }
    }
    Ok(caller.heap().list(names))
}

/// Locks are not counted.
fn not_counted(_: &mut Caller<'_>, _: &[Term]) -> Outcome {
    Ok(atoms::ERROR)
}

/// As in an emulator that does not count locks.
fn no_such_control(_: &mut Caller<'_>, _: &[Term]) -> Outcome {
    Err(badarg())
}

/// As in an emulator whose code is not interpreted by one function.
fn interpreter_size(_: &mut Caller<'_>, _: &[Term]) -> Outcome {
    Ok(Term::small(0))
}

/// Loaded code is not shown; `atoll disasm` shows that of files.
fn disassemble(_: &mut Caller<'_>, _: &[Term]) -> Outcome {
    Ok(atoms::FALSE)
}
