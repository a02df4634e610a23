//! What the machine is: `system_info/1`, `system_flag/2`, and small questions of OTP's libraries.

use parking_lot::Mutex;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use atoll_distribution::node::Carrier;
use atoll_distribution::{description, nodes};
use atoll_heap::architecture;
use atoll_operations::guards::as_boolean;
use atoll_platform::{clock, environment};
use atoll_process::{BuiltIn, Caller, Outcome, Stopped, System, badarg, microstates};
use atoll_term::atoms::known_atom;
use atoll_term::{Build, Term, atoms};

use crate::allocators;
use crate::arguments::size;
use crate::errors::badopt;
use crate::funs::is_built_in_on_otp;
use crate::heap_settings::{
    BINARY_HEAP_WORDS, HeapLimit, default_heap, default_heap_limit_flags, default_off_heap_messages, heap_limit_map,
    heap_sizes, install_default_heap, set_default_heap_limit_flags,
};
use crate::memory_and_statistics::start_time;
use crate::tail_calls::go_on_in;
use atoll_process::release::{release, release_number};

/// What programs and the command line have set.
pub struct Flags {
    /// The `system_logger`.
    logger: Mutex<Term>,
    /// How many processes OTP asks at once whether they run old code; 0: as many as the machine proposes.
    outstanding_requests: AtomicUsize,
    printable_unicode: AtomicBool,
    warnings_as: OnceLock<&'static str>,
    clock: OnceLock<ClockFlags>,
}

/// How programs are told that the machine's clock works. Its monotonic time never follows changes of the system's time,
/// as on OTP with time correction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockFlags {
    /// `+c`: `time_correction`.
    pub correction: bool,
    /// `+C`: `time_warp_mode`.
    pub warp: Option<&'static str>,
}

atoll_platform::part_of_machine!(Flags);

impl Default for Flags {
    fn default() -> Flags {
        Flags {
            logger: Mutex::new(atoms::LOGGER),
            outstanding_requests: AtomicUsize::new(0),
            printable_unicode: AtomicBool::new(false),
            warnings_as: OnceLock::new(),
            clock: OnceLock::new(),
        }
    }
}

/// What this file provides.
pub const BUILT_INS: &[BuiltIn] = &[
    BuiltIn::new("erlang", "system_info", 1, system_info),
    BuiltIn::new("erlang", "system_flag", 2, system_flag),
    BuiltIn::new("io", "printable_range", 0, printable_range),
    BuiltIn::new("error_logger", "warning_map", 0, warning_map),
];

fn system_info(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let item = arguments[0];
    if item.is_atom() {
        return by_name(caller, atoms::atom_name(item)).ok_or_else(badarg);
    }
    if let Some(&[kind, reference, allocators]) = item.tuple_elements()
        && kind == known_atom("memory_internal")
    {
        return allocators::tell(caller, reference, allocators);
    }
    let Some(&[kind, which]) = item.tuple_elements() else { return Err(badarg()) };
    match (kind, which) {
        (atoms::WORDSIZE, atoms::EXTERNAL) => Ok(Term::small(8)),
        (atoms::WORDSIZE, _) if which == known_atom("internal") => Ok(Term::small(8)),
        _ if kind == known_atom("cpu_topology") && which.is_atom() => match atoms::atom_name(which) {
            "defined" | "detected" | "used" => Ok(atoms::UNDEFINED),
            _ => Err(badarg()),
        },
        _ if kind == known_atom("allocator") => allocators::settings(caller, which),
        _ if kind == known_atom("allocator_sizes") => allocators::sizes(caller, which),
        _ => Err(badarg()),
    }
}

fn by_name(caller: &mut Caller<'_>, item: &str) -> Option<Term> {
    numbers(item).map(|number| caller.heap().integer(number)).or_else(|| words(item)).or_else(|| built(caller, item))
}

fn numbers(item: &str) -> Option<i64> {
    let system = System::get();
    let (atom_limit, atom_count) = atoms::atom_limit_and_count();
    let number = match item {
        "process_count" => system.table.count(),
        "process_limit" => system.table.limit(),
        "port_count" => system.ports.get().map_or(0, |ports| ports.count()),
        "port_limit" => system.ports.get().map_or(0, |ports| ports.limit()),
        "ets_limit" => ets_limit(),
        "ets_count" => atoll_ets::all().len(),
        "atom_count" => atom_count,
        "atom_limit" => atom_limit,
        "schedulers"
        | "schedulers_active"
        | "schedulers_online"
        | "schedulers_total"
        | "logical_processors"
        | "logical_processors_available"
        | "logical_processors_online" => system.schedulers,
        "dirty_cpu_schedulers" | "dirty_cpu_schedulers_online" => system.dirty_threads()[0],
        "dirty_io_schedulers" => system.dirty_threads()[1],
        "outstanding_system_requests_limit" => match part().outstanding_requests.load(Ordering::Relaxed) {
            0 => 2 * system.schedulers,
            limit => limit,
        },
        "scheduler_id" => system.schedule().current() + 1,
        "wordsize" => 8,
        "trace_control_word" => atoll_ets::match_spec::control_word() as usize,
        "compat_rel" => release_number() as usize,
        "thread_pool_size" => 1,
        "dist_buf_busy_limit" => atoll_distribution::busy_limit(),
        "delayed_node_table_gc" => 60,
        "ethread_used_tse" => 0,
        "context_reductions" => 4_000,
        "start_time" => return Some(start_time()),
        "end_time" => return Some(i64::MAX),
        _ => return None,
    };
    Some(number as i64)
}

/// What programs are told of how many tables there may be: what they have asked for, if it is more than OTP's number.
fn ets_limit() -> usize {
    const USUAL: usize = 8_192;
    let asked = environment::get("ERL_MAX_ETS_TABLES").and_then(|text| text.to_str()?.parse().ok());
    asked.map_or(USUAL, |asked: usize| asked.max(USUAL))
}

fn words(item: &str) -> Option<Term> {
    let word = match item {
        // Code words name their handlers.
        "beam_jump_table" => return Some(atoms::TRUE),
        "constant_pool_support" | "smp_support" | "threads" | "kernel_poll" | "eager_check_io" => {
            return Some(atoms::TRUE);
        }
        "time_correction" => return Some(Term::boolean(part().clock.get().is_none_or(|clock| clock.correction))),
        "debug_compiled"
        | "dynamic_trace_probes"
        | "port_parallelism"
        | "ets_always_compress"
        | "ets_realloc_moves"
        | "lock_checking"
        | "lock_counting"
        | "break_ignored" => return Some(atoms::FALSE),
        "cpu_topology" | "modified_timing_level" => return Some(atoms::UNDEFINED),
        "multi_scheduling_blockers" | "normal_multi_scheduling_blockers" => return Some(Term::NIL),
        "endian" => {
            if cfg!(target_endian = "big") {
                "big"
            } else {
                "little"
            }
        }
        "heap_type" => architecture().name(),
        "build_type" | "emu_type" => "opt",
        "emu_flavor" => "emu",
        "dynamic_trace" => "none",
        "message_queue_data" if default_off_heap_messages() => "off_heap",
        "message_queue_data" => "on_heap",
        "multi_scheduling" | "tolerant_timeofday" => "enabled",
        "scheduler_bind_type" => "unbound",
        "cpu_quota" => "unknown",
        "time_offset" => "final",
        "time_warp_mode" => part()
            .clock
            .get()
            .and_then(|clock| clock.warp)
            .unwrap_or_else(|| if release_number() >= 26 { "multi_time_warp" } else { "no_time_warp" }),
        "update_cpu_info" => "unchanged",
        "system_logger" => return Some(*part().logger.lock()),
        _ => return None,
    };
    Some(known_atom(word))
}

fn os_version() -> [i64; 3] {
    let text = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let number = |part: &str| part.chars().take_while(char::is_ascii_digit).collect::<String>().parse().unwrap_or(0);
    let mut parts = text.trim().split('.').map(number);
    std::array::from_fn(|_| parts.next().unwrap_or(0))
}

fn heap_option(caller: &mut Caller<'_>, item: &str, value: i64) -> Term {
    caller.heap().tuple(&[known_atom(item), Term::small(value)])
}

fn built(caller: &mut Caller<'_>, item: &str) -> Option<Term> {
    let defaults = default_heap();
    let (spares, quiet) = default_heap_limit_flags();
    let threads = System::get().schedulers as i64;
    let value = match item {
        "otp_release" => caller.heap().string(&release().otp),
        "version" => caller.heap().string(&release().runtime),
        "machine" => caller.heap().string("BEAM"),
        "nif_version" => caller.heap().string("2.16"),
        "taints" => {
            let modules = System::get().libraries.get().map(|libraries| libraries.modules());
            caller.heap().list(modules.unwrap_or_default())
        }
        "driver_version" => caller.heap().string("3.3"),
        "system_architecture" => caller.heap().string(&architecture_text()),
        "system_version" => {
            let (otp, runtime) = (&release().otp, &release().runtime);
            let version = env!("CARGO_PKG_VERSION");
            let heap = architecture().name();
            let text = format!(
                "Atoll {version} [Erlang/OTP {otp}] [erts-{runtime}] [64-bit] [smp:{threads}:{threads}] [heap:{heap}]\n"
            );
            caller.heap().string(&text)
        }
        "heap_sizes" => {
            let sizes = heap_sizes();
            caller.heap().list(sizes.into_iter().map(|words| Term::small(words as i64)))
        }
        "snifs" => {
            let mut names = atoll_code::registry().built_in_names();
            names.retain(|(module, name, arity)| is_built_in_on_otp(*module, *name, *arity));
            let heap = caller.heap();
            let rows: Vec<Term> = names
                .into_iter()
                .map(|(module, name, arity)| heap.tuple(&[module, name, Term::small(arity.into())]))
                .collect();
            heap.list(rows)
        }
        "os_type" => caller.heap().tuple(&[known_atom("unix"), known_atom("linux")]),
        "os_version" => caller.heap().tuple(&os_version().map(Term::small)),
        "c_compiler_used" => {
            let version = caller.heap().tuple(&[0, 0, 0].map(Term::small));
            caller.heap().tuple(&[known_atom("rustc"), version])
        }
        "ethread_info" => {
            let kinds = ["64-bit native atomics", "32-bit native atomics", "Double word native atomics"];
            let names = kinds.map(|kind| (kind, if kind.starts_with("Double") { "no" } else { "rustc" }));
            let items = names.map(|(item, with)| {
                let row = [caller.heap().string(item), caller.heap().string(with), Term::NIL];
                caller.heap().tuple(&row)
            });
            caller.heap().list(items)
        }
        "check_io" => {
            let (of_ports, of_others) = System::get().ports.get().map_or((0, 0), |ports| ports.watched());
            let watched = (of_ports + of_others) as i64;
            let item = |caller: &mut Caller<'_>, key: &str, value| caller.heap().tuple(&[known_atom(key), value]);
            let pairs = [
                ("name", known_atom("erts_poll")),
                ("primary", known_atom("epoll")),
                ("kernel_poll", known_atom("epoll")),
                ("memory_size", Term::small(0)),
                ("total_poll_set_size", Term::small(watched)),
                ("lazy_updates", atoms::FALSE),
                ("pending_updates", Term::small(0)),
                ("batch_updates", atoms::FALSE),
                ("concurrent_updates", atoms::TRUE),
                ("fallback", atoms::FALSE),
                ("max_fds", Term::small(maximum_descriptors())),
                ("active_fds", Term::small(0)),
                // Idle schedulers poll, one at a time.
                ("poll_threads", Term::small(1)),
            ];
            let pairs: Vec<Term> = pairs.iter().map(|(key, value)| item(caller, key, *value)).collect();
            let set = caller.heap().list(pairs);
            caller.heap().list([set])
        }
        "all_schedulers_state" => {
            let [processor, other] = System::get().dirty_threads().map(|count| count as i64);
            let rows = [("normal", threads), ("dirty_cpu", processor), ("dirty_io", other)].map(|(kind, count)| {
                let count = Term::small(count);
                caller.heap().tuple(&[known_atom(kind), count, count, count])
            });
            caller.heap().list(rows)
        }
        "schedulers_state" => caller.heap().tuple(&[threads; 3].map(Term::small)),
        "scheduler_bindings" => {
            let unbound = vec![known_atom("unbound"); threads as usize];
            caller.heap().tuple(&unbound)
        }
        "min_heap_size" => heap_option(caller, item, defaults.minimum_words as i64),
        "min_bin_vheap_size" => heap_option(caller, item, BINARY_HEAP_WORDS),
        "fullsweep_after" => heap_option(caller, item, defaults.full_sweep_after.into()),
        "max_heap_size" => heap_limit_map(caller.heap(), defaults.maximum_words, spares, quiet),
        "sequential_tracer" => {
            let tracer = crate::seq_trace::tracer(caller.heap());
            caller.heap().tuple(&[known_atom(item), tracer])
        }
        "garbage_collection" => {
            let limit = heap_limit_map(caller.heap(), defaults.maximum_words, spares, quiet);
            let pairs = [
                caller.heap().tuple(&[atoms::MAX_HEAP_SIZE, limit]),
                heap_option(caller, "min_bin_vheap_size", BINARY_HEAP_WORDS),
                heap_option(caller, "min_heap_size", defaults.minimum_words as i64),
                heap_option(caller, "fullsweep_after", defaults.full_sweep_after.into()),
            ];
            caller.heap().list(pairs)
        }
        "os_monotonic_time_source" => clock_source(caller, "CLOCK_MONOTONIC", clock::now()),
        "os_system_time_source" => clock_source(caller, "CLOCK_REALTIME", clock::now_since_1970()),
        "dist_ctrl" => {
            let mut rows = Vec::new();
            for node in nodes::all() {
                if let Carrier::Port(carrier) | Carrier::Process(carrier) = node.carrier() {
                    rows.push(caller.heap().tuple(&[node.name, carrier]));
                }
            }
            caller.heap().list(rows)
        }
        "creation" => Term::small(atoll_term::this_node().1.into()),
        "info" | "loaded" | "procs" | "dist" => {
            let text = report(caller, item);
            caller.heap().binary(text.as_bytes())
        }
        "compile_info" => {
            let pairs = ["ldflags", "cflags", "config_h"].map(|key| caller.heap().tuple(&[known_atom(key), Term::NIL]));
            caller.heap().list(pairs)
        }
        "emu_args" => {
            let arguments: Vec<Term> = std::env::args().map(|argument| caller.heap().string(&argument)).collect();
            caller.heap().list(arguments)
        }
        "allocator" => {
            let heap = caller.heap();
            heap.tuple(&[atoms::UNDEFINED, Term::NIL, Term::NIL, Term::NIL])
        }
        "alloc_util_allocators" => allocators::names(caller.heap()),
        "allocated_areas" => {
            let areas = crate::memory_and_statistics::areas();
            let areas = areas.map(|(area, bytes)| caller.heap().tuple(&[known_atom(area), Term::small(bytes)]));
            caller.heap().list(areas)
        }
        _ => return None,
    };
    Some(value)
}

/// How many files and sockets may be open.
fn maximum_descriptors() -> i64 {
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(1024)
}

fn architecture_text() -> String {
    format!("{}-pc-linux-gnu", std::env::consts::ARCH)
}

fn clock_source(caller: &mut Caller<'_>, clock: &str, time: i64) -> Term {
    let time = caller.heap().integer(time);
    let pairs = [
        ("function", known_atom("clock_gettime")),
        ("clock_id", known_atom(clock)),
        ("resolution", Term::small(1_000_000_000)),
        ("used_resolution", Term::small(1_000_000_000)),
        ("extended", known_atom("no")),
        ("parallel", known_atom("yes")),
        ("time", time),
    ];
    let heap = caller.heap();
    let terms: Vec<Term> = pairs.iter().map(|(key, value)| heap.tuple(&[known_atom(key), *value])).collect();
    heap.list(terms)
}

/// The texts that crash dumps are made of.
fn report(caller: &mut Caller<'_>, item: &str) -> String {
    match item {
        "loaded" => {
            let modules = atoll_code::loaded_modules();
            let names: Vec<&str> = modules.iter().map(|module| atoms::atom_name(*module)).collect();
            format!("Current code: {}\n{}\n", crate::code::loaded_bytes(), names.join("\n"))
        }
        "procs" => {
            let pids = System::get().table.pids();
            pids.iter().map(|pid| format!("=proc:{}\n", atoll_term::text::to_string(*pid))).collect()
        }
        "dist" => description::text(|visit| {
            description::each_waiting(visit);
            visit(caller.process.pid, caller.own);
        }),
        _ => format!("=memory\ntotal: {}\n", atoll_platform::resident_bytes()),
    }
}

/// `system_flag(Flag, Value)`: returns the old value. What this machine does not have keeps its one setting.
fn system_flag(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let &[flag, value] = arguments else { return Err(badarg()) };
    if !flag.is_atom() {
        return Err(badarg());
    }
    let mut defaults = default_heap();
    let item = atoms::atom_name(flag);
    let old = match item {
        "fullsweep_after" => {
            let new = u16::try_from(size(value).ok_or_else(badarg)?).unwrap_or(u16::MAX);
            let old = std::mem::replace(&mut defaults.full_sweep_after, new);
            Term::small(old.into())
        }
        "min_heap_size" => {
            let old = std::mem::replace(&mut defaults.minimum_words, size(value).ok_or_else(badarg)?);
            Term::small(old as i64)
        }
        "min_bin_vheap_size" => {
            size(value).ok_or_else(badarg)?;
            Term::small(BINARY_HEAP_WORDS)
        }
        "max_heap_size" => {
            let limit = HeapLimit::read(value).ok_or_else(badarg)?;
            if limit.words > 0 && limit.words < defaults.minimum_words {
                return Err(badarg());
            }
            let (spares, quiet) = default_heap_limit_flags();
            let old = heap_limit_map(caller.heap(), defaults.maximum_words, spares, quiet);
            defaults.maximum_words = limit.words;
            let spares = limit.kill.map_or(spares, |kill| !kill);
            set_default_heap_limit_flags(spares, limit.log.map_or(quiet, |log| !log));
            old
        }
        "system_logger" => {
            if !value.is_local_pid() && value != atoms::LOGGER && value != atoms::UNDEFINED {
                return Err(badarg());
            }
            return Ok(std::mem::replace(&mut *part().logger.lock(), value));
        }
        "backtrace_depth" => {
            let depth = size(value).ok_or_else(badarg)?;
            Term::small(atoll_code::set_backtrace_depth(depth) as i64)
        }
        "schedulers_online" | "dirty_cpu_schedulers_online" => {
            let schedulers = System::get().schedulers;
            if !matches!(size(value), Some(1..) if size(value) <= Some(schedulers)) {
                return Err(badarg());
            }
            Term::small(schedulers as i64)
        }
        "outstanding_system_requests_limit" => {
            let limit = size(value).filter(|limit| (1..1 << 27).contains(limit)).ok_or_else(badarg)?;
            let old = part().outstanding_requests.swap(limit, Ordering::Relaxed);
            Term::small(if old == 0 { 2 * System::get().schedulers } else { old } as i64)
        }
        "multi_scheduling" => known_atom("enabled"),
        "scheduler_wall_time" => {
            let on = as_boolean(value).ok_or_else(badarg)?;
            // OTP's kernel counts the processes that have asked for it.
            if System::get().whereis(known_atom("kernel_refc")).is_some() {
                return go_on_in("erts_internal", "system_flag_scheduler_wall_time", vec![value]);
            }
            Term::boolean(System::get().schedule().measure_wall_time(on))
        }
        "microstate_accounting" => {
            if value == known_atom("reset") {
                microstates::reset();
                return Ok(Term::boolean(microstates::is_on()));
            }
            Term::boolean(microstates::switch(as_boolean(value).ok_or_else(badarg)?))
        }
        "scheduler_bind_type" => known_atom("unbound"),
        "cpu_topology" => atoms::UNDEFINED,
        "time_offset" => known_atom("final"),
        "trace_control_word" => {
            let word = value.as_small().and_then(|word| u32::try_from(word).ok()).ok_or_else(badarg)?;
            Term::small(atoll_ets::match_spec::set_control_word(word).into())
        }
        "sequential_tracer" => return crate::seq_trace::set_tracer(caller.heap(), value).ok_or_else(badarg),
        "reset_seq_trace" => {
            as_boolean(value).ok_or_else(badarg)?;
            atoll_process::sequence::reset(&mut Stopped::or_again(caller.own, arguments)?);
            return Ok(atoms::TRUE);
        }
        _ => return Err(badopt(caller)),
    };
    install_default_heap(defaults);
    Ok(old)
}

/// Says how the machine's clock works (`+c`, `+C`); the first call counts.
pub fn set_clock_flags(flags: ClockFlags) {
    let _ = part().clock.set(flags);
}

/// Sets whether all printable characters of Unicode count as text, not those of Latin-1 alone (`+pc unicode`).
pub fn set_printable_unicode(unicode: bool) {
    part().printable_unicode.store(unicode, Ordering::Relaxed);
}

/// Where the machine's own log events go (local pid): `system_flag(system_logger, _)` says it. When a process that was
/// to get them has ended, the next one goes to OTP's logger again.
pub fn system_logger() -> Option<Term> {
    let system = System::get();
    let mut logger = part().logger.lock();
    if logger.is_local_pid() && !system.table.contains(*logger) {
        *logger = atoms::LOGGER;
    }
    match *logger {
        atoms::UNDEFINED => None,
        atoms::LOGGER => system.whereis(atoms::LOGGER),
        pid => Some(pid),
    }
}

/// Sets what `error_logger` makes of warnings (`+We`): `warning`, `error` or `info`; the first call counts.
pub fn set_warning_map(kind: &'static str) {
    let _ = part().warnings_as.set(kind);
}

fn printable_range(_: &mut Caller<'_>, _: &[Term]) -> Outcome {
    Ok(if part().printable_unicode.load(Ordering::Relaxed) { atoms::UNICODE } else { atoms::LATIN1 })
}

fn warning_map(_: &mut Caller<'_>, _: &[Term]) -> Outcome {
    Ok(known_atom(part().warnings_as.get().unwrap_or(&"warning")))
}
