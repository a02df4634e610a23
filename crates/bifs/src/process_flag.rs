//! Switches of processes, suspension, and calls that concern the running process.

use atoll_heap::architecture;
use atoll_process::{BuiltIn, Caller, Interrupt, Outcome, Priority, ReferenceId, RequestKind, Signal, System, signal};
use atoll_term::{Term, View, atoms, map};

use crate::exit::take_signals;
use crate::process_info::request;
use crate::process_support::{badarg, badopt, error_with_cause, list_elements, name, system_limit};
use crate::spawn::{HeapLimit, boolean, message_queue_data, size};
use crate::system_info::release_number;

/// What this file provides.
pub const BUILT_INS: &[BuiltIn] = &[
    BuiltIn { module: "erlang", name: "process_flag", arity: 2, function: process_flag },
    BuiltIn { module: "erlang", name: "process_flag", arity: 3, function: process_flag_of },
    BuiltIn { module: "erts_internal", name: "process_flag", arity: 3, function: process_flag_of },
    BuiltIn { module: "erlang", name: "group_leader", arity: 0, function: group_leader },
    BuiltIn { module: "erlang", name: "group_leader", arity: 2, function: set_group_leader },
    BuiltIn { module: "erts_internal", name: "group_leader", arity: 2, function: set_group_leader },
    BuiltIn { module: "erts_internal", name: "group_leader", arity: 3, function: set_group_leader },
    BuiltIn { module: "erlang", name: "hibernate", arity: 3, function: hibernate },
    BuiltIn { module: "erlang", name: "yield", arity: 0, function: yield_ },
    BuiltIn { module: "erlang", name: "bump_reductions", arity: 1, function: bump_reductions },
    BuiltIn { module: "erlang", name: "apply", arity: 2, function: apply_2 },
    BuiltIn { module: "erlang", name: "apply", arity: 3, function: apply_3 },
    BuiltIn { module: "erlang", name: "suspend_process", arity: 1, function: suspend_1 },
    BuiltIn { module: "erlang", name: "suspend_process", arity: 2, function: suspend_2 },
    BuiltIn { module: "erlang", name: "resume_process", arity: 1, function: resume },
    BuiltIn { module: "erlang", name: "garbage_collect", arity: 0, function: garbage_collect },
    BuiltIn { module: "erts_internal", name: "garbage_collect", arity: 1, function: collect_self },
    BuiltIn { module: "erts_internal", name: "request_system_task", arity: 3, function: request_system_task },
    BuiltIn { module: "erts_internal", name: "request_system_task", arity: 4, function: request_system_task_of },
];

/// `process_flag(Flag, Value)`: returns the old value.
fn process_flag(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let &[flag, value] = arguments else { return Err(badarg()) };
    let own = &mut *caller.own;
    match flag {
        atoms::TRAP_EXIT => {
            let value = boolean(value).ok_or_else(badarg)?;
            // What arrived before is still handled by the old setting.
            take_signals(caller)?;
            Ok(Term::boolean(std::mem::replace(&mut caller.own.flags.trap_exit, value)))
        }
        atoms::PRIORITY => {
            let value = Priority::from_atom(value).ok_or_else(badarg)?;
            Ok(caller.process.set_priority(value).atom())
        }
        atoms::SENSITIVE => {
            let value = boolean(value).ok_or_else(badarg)?;
            Ok(Term::boolean(std::mem::replace(&mut own.flags.sensitive, value)))
        }
        atoms::ERROR_HANDLER => {
            if !value.is_atom() {
                return Err(badarg());
            }
            Ok(own.rare().error_handler.replace(value).unwrap_or(name("error_handler")))
        }
        atoms::MESSAGE_QUEUE_DATA => {
            let value = message_queue_data(value).ok_or_else(badarg)?;
            let old = std::mem::replace(&mut own.flags.off_heap_messages, value);
            Ok(if old { atoms::OFF_HEAP } else { atoms::ON_HEAP })
        }
        atoms::MIN_HEAP_SIZE => {
            let mut options = architecture().options(&own.mutator);
            let words = heap_words_at_least(size(value).ok_or_else(badarg)?);
            let old = std::mem::replace(&mut options.minimum_words, words);
            architecture().set_options(&mut own.mutator, &options);
            Ok(Term::small(old as i64))
        }
        atoms::MIN_BIN_VHEAP_SIZE => {
            let words = heap_words_at_least(size(value).ok_or_else(badarg)?);
            let old = own.rare().binary_heap_words.replace(words);
            Ok(Term::small(old.map_or(BINARY_HEAP_WORDS, |words| words as i64)))
        }
        atoms::MAX_HEAP_SIZE => {
            let limit = HeapLimit::read(value).ok_or_else(badarg)?;
            let minimum = architecture().options(&own.mutator).minimum_words;
            if limit.words > 0 && limit.words < minimum {
                return Err(badarg());
            }
            let old = max_heap_size(caller);
            let own = &mut *caller.own;
            limit.set_flags(&mut own.flags);
            let mut options = architecture().options(&own.mutator);
            options.maximum_words = limit.words;
            architecture().set_options(&mut own.mutator, &options);
            Ok(old)
        }
        atoms::FULLSWEEP_AFTER => {
            let mut options = architecture().options(&own.mutator);
            let after = u16::try_from(size(value).ok_or_else(badarg)?).unwrap_or(u16::MAX);
            let old = std::mem::replace(&mut options.full_sweep_after, after);
            architecture().set_options(&mut own.mutator, &options);
            Ok(Term::small(i64::from(old)))
        }
        // Calls are not saved by this machine; `last_calls` is empty.
        atoms::SAVE_CALLS => {
            let Some(count @ 0..=10_000) = value.as_small() else {
                return Err(error_with_cause(caller, atoms::BADARG, atoms::NONE));
            };
            let old = std::mem::replace(&mut own.rare().save_calls, count as u16);
            Ok(Term::small(old.into()))
        }
        _ if flag == name("scheduler") => {
            let number = size(value).ok_or_else(badarg)?;
            if number > System::get().schedulers { Err(badarg()) } else { Ok(Term::small(0)) }
        }
        // Nothing is ever sent to another node, so nobody ever waits for one.
        _ if flag == name("async_dist") => {
            let on = boolean(value).ok_or_else(badarg)?;
            Ok(Term::boolean(std::mem::replace(&mut own.rare().async_dist, on)))
        }
        _ if is_node_watch(flag) => {
            let on = boolean(value).ok_or_else(badarg)?;
            let watches = &mut own.rare().node_watches;
            let next = if on { watches.saturating_add(1) } else { 0 };
            Ok(Term::small(std::mem::replace(watches, next).into()))
        }
        _ => Err(badopt(caller)),
    }
}

/// The size that OTP gives a heap that shall have this many words: at least 233; each size is the sum of the two before
/// it and 1, and from 833,026 on a fifth more than the one before it.
pub fn heap_words_at_least(words: usize) -> usize {
    let (mut size, mut next) = (233_usize, 376_usize);
    while size < words {
        let after = if next >= 833_026 { next.saturating_add(next / 5) } else { size + next + 1 };
        (size, next) = (next, after);
    }
    size
}

/// The sizes that OTP gives heaps, in words, up to what 2^55 bytes need.
pub fn heap_sizes() -> Vec<usize> {
    const MOST: usize = 1 << 52;
    let mut sizes = vec![heap_words_at_least(0)];
    while sizes.last().is_some_and(|last| *last < MOST) {
        let next = sizes.last().map_or(0, |last| last + 1);
        sizes.push(heap_words_at_least(next));
    }
    sizes
}

/// `min_bin_vheap_size` where none was asked for: binaries outside of heaps do not have a heap size of their own here,
/// so what was asked for is told and changes nothing; this is OTP's value.
pub const BINARY_HEAP_WORDS: i64 = atoll_process::watch::BINARY_HEAP_WORDS as i64;

/// `monitor_nodes` and `{monitor_nodes, Options}`: accepted, as nodes never come or go.
fn is_node_watch(flag: Term) -> bool {
    let watch = name("monitor_nodes");
    flag == watch
        || matches!(flag.tuple_elements(), Some(&[tag, options]) if tag == watch && (options.is_map() || options.is_list()))
}

/// The value of `max_heap_size` of the running process.
pub fn max_heap_size(caller: &mut Caller<'_>) -> Term {
    let words = architecture().options(&caller.own.mutator).maximum_words;
    let flags = caller.own.flags;
    heap_limit_map(caller.heap(), words, flags.heap_limit_spares, flags.quiet_heap_limit)
}

/// The first release in which binaries outside of heaps can count.
const COUNTS_BINARIES: u32 = 27;

/// `#{size, kill, error_logger}`
pub fn heap_limit_map(heap: &mut atoll_heap::Mutator, words: usize, spares: bool, quiet: bool) -> Term {
    let mut pairs = vec![
        (atoms::SIZE, Term::small(words as i64)),
        (atoms::KILL, Term::boolean(!spares)),
        (atoms::ERROR_LOGGER, Term::boolean(!quiet)),
    ];
    // Binaries outside of heaps never count here.
    if release_number() >= COUNTS_BINARIES {
        pairs.push((name("include_shared_binaries"), Term::boolean(false)));
    }
    map::from_pairs(heap, &pairs)
}

/// `process_flag(Pid, save_calls, N)`
fn process_flag_of(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let &[pid, flag, value] = arguments else { return Err(badarg()) };
    let count = matches!(value.as_small(), Some(0..=10_000));
    if flag != atoms::SAVE_CALLS || !count || !pid.is_local_pid() || !System::get().table.contains(pid) {
        return Err(badarg());
    }
    if pid == caller.process.pid { process_flag(caller, &[flag, value]) } else { Ok(Term::small(0)) }
}

fn group_leader(caller: &mut Caller<'_>, _: &[Term]) -> Outcome {
    Ok(caller.own.group_leader)
}

/// `group_leader(Leader, Pid)`
fn set_group_leader(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let (leader, pid) = (arguments[0], arguments[1]);
    if !leader.is_pid() || !pid.is_local_pid() {
        return Err(badarg());
    }
    if pid == caller.process.pid {
        caller.own.group_leader = leader;
        return Ok(atoms::TRUE);
    }
    if !System::get().table.contains(pid) {
        return Err(badarg());
    }
    System::get().deliver_or_answer(pid, signal::bare(Signal::GroupLeader { leader }));
    // It is done when this returns.
    Err(request(caller, pid, RequestKind::IsAlive, Term::NIL, ("atoll_internal", "await_living")))
}

fn hibernate(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let &[module, function, list] = arguments else { return Err(badarg()) };
    let length = list_elements(list).ok_or_else(badarg)?.len();
    if !module.is_atom() || !function.is_atom() {
        return Err(badarg());
    }
    if length > MOST_KEPT {
        return Err(system_limit());
    }
    Err(Interrupt::Hibernate(module, function, list))
}

fn yield_(_: &mut Caller<'_>, _: &[Term]) -> Outcome {
    Err(Interrupt::Yield(atoms::TRUE))
}

fn bump_reductions(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let Some(count @ 0..) = arguments[0].as_small() else { return Err(badarg()) };
    caller.reductions -= count.min(4_000);
    Ok(atoms::TRUE)
}

/// Arguments that `apply/2`, `apply/3` and `hibernate/3` take. A function has at most 255.
const MOST_OF_FUN: usize = 1_022;
const MOST_OF_FUNCTION: usize = 1_023;
const MOST_KEPT: usize = 1_024;

fn apply_2(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let list = list_elements(arguments[1]).ok_or_else(badarg)?;
    if list.len() > MOST_OF_FUN {
        return Err(system_limit());
    }
    Err(Interrupt::CallFun(arguments[0], list))
}

fn apply_3(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let &[module, function, list] = arguments else { return Err(badarg()) };
    let elements = list_elements(list).ok_or_else(badarg)?;
    if !module.is_atom() || !function.is_atom() {
        return Err(badarg());
    }
    if elements.len() > MOST_OF_FUNCTION {
        return Err(system_limit());
    }
    match u8::try_from(elements.len()) {
        Ok(arity) => Err(Interrupt::Call(atoll_code::registry().export(module, function, arity), elements)),
        Err(_) => Err(Interrupt::CallUndefined(module, function, list)),
    }
}

fn suspend_1(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    suspend(caller, arguments[0], Term::NIL)
}

fn suspend_2(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    suspend(caller, arguments[0], arguments[1])
}

/// `suspend_process(Pid, Options)`: waits until the process has stopped unless it is told not to.
fn suspend(caller: &mut Caller<'_>, pid: Term, options: Term) -> Outcome {
    let (mut unless_suspending, mut wait) = (false, true);
    let Some(options) = list_elements(options) else { return Err(badarg()) };
    for option in options {
        match option {
            _ if option == name("unless_suspending") => unless_suspending = true,
            _ if option == name("asynchronous") => wait = false,
            _ => return Err(badarg()),
        }
    }
    let me = caller.process.pid;
    if !pid.is_local_pid() || pid == me || !System::get().table.contains(pid) {
        return Err(badarg());
    }
    let suspending = &mut caller.own.rare().suspending;
    let count = suspending.iter().filter(|other| **other == pid).count();
    if unless_suspending && count > 0 {
        return Ok(atoms::FALSE);
    }
    suspending.push(pid);
    if !wait {
        System::get().deliver_or_answer(pid, signal::bare(Signal::Suspend { from: me, reply: None }));
        return Ok(atoms::TRUE);
    }
    let reference = ReferenceId::fresh();
    System::get().deliver_or_answer(pid, signal::bare(Signal::Suspend { from: me, reply: Some(reference) }));
    let reference = reference.term(caller.heap());
    crate::process_support::go_on_in("atoll_internal", "await_suspended", vec![reference])
}

fn resume(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let pid = arguments[0];
    if !pid.is_local_pid() {
        return Err(badarg());
    }
    let suspending = &mut caller.own.rare().suspending;
    let position = suspending.iter().position(|other| *other == pid).ok_or_else(badarg)?;
    suspending.swap_remove(position);
    System::get().deliver_or_answer(pid, signal::bare(Signal::Resume));
    Ok(atoms::TRUE)
}

fn garbage_collect(_: &mut Caller<'_>, _: &[Term]) -> Outcome {
    Err(Interrupt::Collect(true, atoms::TRUE))
}

/// `erts_internal:garbage_collect(major | minor)`
fn collect_self(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    match arguments[0] {
        atoms::MAJOR => Err(Interrupt::Collect(true, atoms::TRUE)),
        atoms::MINOR => Err(Interrupt::Collect(false, atoms::TRUE)),
        _ => Err(badarg()),
    }
}

/// `request_system_task(Pid, Priority, {Type, Id, …})`
fn request_system_task(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    system_task(caller, caller.process.pid, arguments[0], arguments[2])
}

/// `request_system_task(Requester, Pid, Priority, {Type, Id, …})`
fn request_system_task_of(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    system_task(caller, arguments[0], arguments[1], arguments[3])
}

/// Asks a process for a collection or a look at its code; the answer is the message `{Type, Id, Result}`.
fn system_task(caller: &mut Caller<'_>, requester: Term, pid: Term, task: Term) -> Outcome {
    if !matches!(pid.view(), View::Pid(_)) || !requester.is_local_pid() {
        return Err(badarg());
    }
    let kind = match task.tuple_elements() {
        Some(&[atoms::GARBAGE_COLLECT, _, atoms::MAJOR | atoms::MINOR]) => RequestKind::GarbageCollect,
        Some(&[atoms::CHECK_PROCESS_CODE, _, module]) if module.is_atom() => RequestKind::CheckProcessCode,
        _ => return Err(badarg()),
    };
    let heap = caller.heap();
    let fragment = architecture().send(Some(heap), task);
    let body = Signal::Request { from: requester, reference: ReferenceId::fresh(), kind };
    System::get().deliver_or_answer(pid, signal::attach(fragment, body));
    Ok(atoms::OK)
}
