//! `erts_debug:get_internal_state/1`, `set_internal_state/2`, which OTP's test suites use, and what else there is of
//! `erts_debug` that tells of the inside of OTP's emulator.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use atoll_distribution::watching::{Kind as NodeKind, Wish};
use atoll_distribution::{atom_cache, description};
use atoll_operations::{Exception, list};
use atoll_process::{BuiltIn, Caller, Interrupt, Outcome, Process, Stopped, System, badarg, state};
use atoll_term::atoms::known_atom;
use atoll_term::hash::map_hash;
use atoll_term::{Build, Kind, Term, View, atoms};

use crate::ets_info::TABLE_WORDS;
use crate::watching;

/// What this file provides.
pub const BUILT_INS: &[BuiltIn] = &[
    BuiltIn::new("erts_debug", "get_internal_state", 1, get),
    BuiltIn::new("erts_debug", "set_internal_state", 2, set),
    BuiltIn::new("erts_debug", "lcnt_clear", 0, not_counted),
    BuiltIn::new("erts_debug", "lcnt_collect", 0, not_counted),
    BuiltIn::new("erts_debug", "lcnt_control", 1, no_such_control),
    BuiltIn::new("erts_debug", "lcnt_control", 2, no_such_control),
    BuiltIn::new("erts_debug", "interpreter_size", 0, interpreter_size),
    BuiltIn::new("erts_debug", "disassemble", 1, disassemble),
];

/// Most names that are looked for at a time.
const MOST_NAMES: usize = 64;
/// Longest time in milliseconds that `sleep` takes.
const LONGEST_SLEEP: u64 = 10_000;
/// The same of `block`, with which OTP's suites let a node be taken for dead.
const LONGEST_BLOCK: u64 = 120_000;

/// Limits of OTP's emulator on work without a pause, with their usual values. Kept and told, without effect here.
const LIMITS: [(&str, i64); 3] = [("re_loop_limit", 40_000), ("unicode_loop_limit", 40_000), ("binary_loop_limit", 0)];

/// What programs have set.
pub struct InternalState {
    /// Whether they may ask at all.
    available: AtomicBool,
    /// Those of [`LIMITS`].
    limits: [AtomicI64; 3],
}

atoll_platform::part_of_machine!(InternalState);

impl Default for InternalState {
    fn default() -> InternalState {
        let limits = LIMITS.map(|(_, usual)| AtomicI64::new(usual));
        InternalState { available: AtomicBool::new(false), limits }
    }
}

/// Without leave these functions do not exist.
fn check_available() -> Result<(), Interrupt> {
    match part().available.load(Ordering::Relaxed) {
        true => Ok(()),
        false => Err(Exception::error(atoms::UNDEF).into()),
    }
}

fn get(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    check_available()?;
    match atoms::name_if_atom(arguments[0]) {
        "available_internal_state" => Ok(atoms::TRUE),
        "reds_left" => Ok(Term::small(caller.reductions)),
        // Nothing estimates here what counters of several parts may lag behind.
        "DbTable_words" => Ok(caller.heap().tuple(&[Term::small(TABLE_WORDS as i64), Term::small(0)])),
        "flxctr_memory_usage" => Ok(known_atom("notsup")),
        "persistent_term" => Ok(crate::persistent_term::table(caller)),
        "processes" => {
            let pids = System::get().table.pids();
            Ok(caller.heap().list(pids))
        }
        // Descriptors with errors, those in use, and which of these ports and native libraries wait for.
        "check_io_debug" => {
            let (of_ports, of_others) = System::get().ports.get().map_or((0, 0), |ports| ports.watched());
            let counts = [0, of_ports + of_others, of_ports, of_others].map(|count| Term::small(count as i64));
            Ok(caller.heap().tuple(&counts))
        }
        "max_atom_out_cache_index" => Ok(Term::small(atom_cache::PLACES as i64 - 1)),
        "monitoring_nodes" => Ok(monitoring_nodes(caller)),
        // Nothing counts here who refers to a node.
        "node_and_dist_references" => {
            let heap = caller.heap();
            let kinds = ["node_references", "dist_references"].map(|kind| heap.tuple(&[known_atom(kind), Term::NIL]));
            Ok(heap.tuple(&kinds))
        }
        _ => match arguments[0].tuple_elements() {
            Some(&[item, of]) => get_of(caller, arguments, atoms::name_if_atom(item), of),
            _ => Err(badarg()),
        },
    }
}

/// `get_internal_state({Item, Of})`
fn get_of(caller: &mut Caller<'_>, arguments: &[Term], item: &str, of: Term) -> Outcome {
    match item {
        "dist_ctrl" if of.is_atom() => Ok(description::carrier(of).unwrap_or(atoms::UNDEFINED)),
        "atom_out_cache_index" if of.is_atom() => Ok(Term::small(atom_cache::place_of(of) as i64)),
        "internal_hash" => Ok(Term::small(map_hash(of).into())),
        "binary_info" => binary_info(caller, of),
        "link_list" => watching::links(caller, arguments, of),
        "monitor_list" => watching::monitors(caller, arguments, of),
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

/// `[{Pid, Options}]` of the processes that get messages about nodes, each as often as it gets them.
fn monitoring_nodes(caller: &mut Caller<'_>) -> Term {
    let heap = caller.heap();
    let mut list = Term::NIL;
    for (pid, wish) in description::watchers() {
        let options = options_of(heap, wish);
        let entry = heap.tuple(&[pid, options]);
        list = heap.cons(entry, list);
    }
    list
}

fn options_of(heap: &mut impl Build, wish: Wish) -> Term {
    let mut options = Vec::new();
    if wish.tells_reason {
        options.push(known_atom("nodedown_reason"));
    }
    if wish.tells_connection {
        options.push(known_atom("connection_id"));
    }
    if wish.tells_kind {
        let kind = match wish.kind {
            NodeKind::Visible => atoms::VISIBLE,
            NodeKind::Hidden => atoms::HIDDEN,
            NodeKind::All => known_atom("all"),
        };
        options.push(heap.tuple(&[known_atom("node_type"), kind]));
    }
    heap.list(options)
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
        return Ok(known_atom("heap_binary"));
    }
    let Some(block) = handle.off_heap_binary() else { return Err(badarg()) };
    let (size, capacity) = (bits.length().div_ceil(8), block.capacity());
    let flags = if capacity > block.used() { WRITABLE } else { 0 };
    let heap = caller.heap();
    let of_block = heap.tuple(&[known_atom("binary"), Term::small(capacity as i64)]);
    Ok(heap.tuple(&[known_atom("refc_binary"), Term::small(size as i64), of_block, Term::small(flags)]))
}

fn set(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let &[what, value] = arguments else { return Err(badarg()) };
    let what = atoms::name_if_atom(what);
    if what == "available_internal_state" {
        let now = match value {
            atoms::TRUE => true,
            atoms::FALSE => false,
            _ => return Err(badarg()),
        };
        return Ok(Term::boolean(part().available.swap(now, Ordering::Relaxed)));
    }
    check_available()?;
    match (what, atoms::name_if_atom(value)) {
        ("reds_left", _) => {
            let left = value.as_small().filter(|left| (0..=4000).contains(left)).ok_or_else(badarg)?;
            // No slice gets longer by this: what is left at its end tells what was used.
            caller.reductions = caller.reductions.min(left);
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
            let elements = list::elements_or_badarg(value)?;
            let pairs = caller.heap().free_words() / 2;
            caller.heap().list((0..pairs).map(|_| Term::small(0)));
            Ok(caller.heap().list(elements))
        }
        // Tables are worked on in one go, and ordered ones are not split.
        ("ets_force_trap", _) => Ok(known_atom("notsup")),
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
            let _stopped = Stopped::or_again(caller.own, arguments)?;
            std::thread::sleep(Duration::from_millis(milliseconds.min(LONGEST_BLOCK)));
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
        // Resources of processes that have ended are found by a collection, which is about to begin anyway.
        ("wait", "aux_work") if System::get().libraries.get().is_some_and(|libraries| libraries.search_is_due()) => {
            Err(Interrupt::Collect(true, atoms::OK))
        }
        // What is freed here is freed at once.
        ("wait", "deallocations" | "timer_cancellations" | "aux_work" | "thread_progress") => Ok(atoms::OK),
        ("sleep", _) => {
            let milliseconds = value.as_small().and_then(|time| u64::try_from(time).ok()).ok_or_else(badarg)?;
            std::thread::sleep(Duration::from_millis(milliseconds.min(LONGEST_SLEEP)));
            Ok(atoms::TRUE)
        }
        _ => {
            let limits = LIMITS.iter().zip(&part().limits);
            let ((_, usual), limit) = limits.into_iter().find(|((name, _), _)| *name == what).ok_or_else(badarg)?;
            let new = if value == known_atom("default") { Some(*usual) } else { value.as_small() };
            let new = new.filter(|new| *new >= 0).ok_or_else(badarg)?;
            Ok(Term::small(limit.swap(new, Ordering::Relaxed)))
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
        let other = atoms::atom(&format!("{}{number}", atoms::atom_name(first)))?;
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
