//! Switches of processes, suspension, and calls that concern the running process.

use atoll_distribution::Wished;
use atoll_distribution::watching::{self, Kind, Wish};
use atoll_heap::architecture;
use atoll_operations::guards::as_boolean;
use atoll_operations::list;
use atoll_process::remote::{self, RemotePid, RemoteSignal};
use atoll_process::sequence;
use atoll_process::suspension::{EXITED, Reply};
use atoll_process::{
    BuiltIn, Caller, Interrupt, Outcome, Priority, ReferenceId, RequestKind, Signal, System, badarg, signal,
};
use atoll_term::atoms::known_atom;
use atoll_term::{Build, Term, View, atoms, map};

use crate::arguments::{message_queue_data, size};
use crate::errors::{badopt, error_with_cause, system_limit};
use crate::heap_settings::{BINARY_HEAP_WORDS, HeapLimit, heap_limit_map, heap_words_at_least};
use crate::process_info::{request, take_signals};
use crate::suspended::returning;
use crate::tail_calls::go_on_in;

/// What this file provides.
pub const BUILT_INS: &[BuiltIn] = &[
    BuiltIn::new("erlang", "process_flag", 2, process_flag),
    BuiltIn::new("erlang", "process_flag", 3, process_flag_of),
    BuiltIn::new("erts_internal", "process_flag", 3, process_flag_of),
    BuiltIn::new("erlang", "group_leader", 0, group_leader),
    BuiltIn::new("erlang", "group_leader", 2, set_group_leader),
    BuiltIn::new("erts_internal", "group_leader", 2, set_group_leader),
    BuiltIn::new("erts_internal", "group_leader", 3, set_group_leader),
    BuiltIn::new("erlang", "hibernate", 3, hibernate),
    BuiltIn::new("erlang", "yield", 0, yield_),
    BuiltIn::new("erlang", "bump_reductions", 1, bump_reductions),
    BuiltIn::new("erlang", "apply", 2, apply_2),
    BuiltIn::new("erlang", "apply", 3, apply_3),
    BuiltIn::new("erlang", "suspend_process", 1, suspend_1),
    BuiltIn::new("erlang", "suspend_process", 2, suspend_2),
    BuiltIn::new("erlang", "resume_process", 1, resume),
    BuiltIn::new("erlang", "garbage_collect", 0, garbage_collect),
    BuiltIn::new("erts_internal", "garbage_collect", 1, collect_self),
    BuiltIn::new("erts_internal", "request_system_task", 3, request_system_task),
    BuiltIn::new("erts_internal", "request_system_task", 4, request_system_task_of),
];

/// `process_flag(Flag, Value)`: returns the old value.
fn process_flag(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let &[flag, value] = arguments else { return Err(badarg()) };
    let own = &mut *caller.own;
    match flag {
        atoms::TRAP_EXIT => {
            let value = as_boolean(value).ok_or_else(badarg)?;
            // What arrived before is still handled by the old setting.
            take_signals(caller)?;
            Ok(Term::boolean(caller.own.flags.set_trap_exit(value)))
        }
        atoms::PRIORITY => {
            let value = Priority::from_atom(value).ok_or_else(badarg)?;
            Ok(caller.process.set_priority(value).atom())
        }
        atoms::SENSITIVE => {
            let value = as_boolean(value).ok_or_else(badarg)?;
            Ok(Term::boolean(own.flags.set_sensitive(value)))
        }
        atoms::ERROR_HANDLER => {
            if !value.is_atom() {
                return Err(badarg());
            }
            Ok(own.rare().error_handler.replace(value).unwrap_or(known_atom("error_handler")))
        }
        atoms::MESSAGE_QUEUE_DATA => {
            let value = message_queue_data(value).ok_or_else(badarg)?;
            let old = own.flags.set_off_heap_messages(value);
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
        _ if flag == known_atom("scheduler") => {
            let number = size(value).ok_or_else(badarg)?;
            if number > System::get().schedulers { Err(badarg()) } else { Ok(Term::small(0)) }
        }
        _ if flag == known_atom("async_dist") => {
            let on = as_boolean(value).ok_or_else(badarg)?;
            Ok(Term::boolean(std::mem::replace(&mut own.rare().async_dist, on)))
        }
        _ if is_node_watch(flag) => {
            let on = as_boolean(value).ok_or_else(badarg)?;
            let wish = node_wish(flag).ok_or_else(badarg)?;
            caller.process.at_end.note_work();
            Ok(Term::small(watching::set(caller.process.pid, wish, on).into()))
        }
        _ => Err(badopt(caller)),
    }
}

/// What the flag `monitor_nodes` or `{monitor_nodes, Options}` asks for.
fn node_wish(flag: Term) -> Option<Wish> {
    let Some(&[_, options]) = flag.tuple_elements() else { return Some(Wish::PLAIN) };
    let mut wish = Wish { information: Some(options.is_list()), ..Wish::PLAIN };
    let mut set = |key: Term, value: Term| {
        match atoms::atom_name(key) {
            "list" => wish.information = Some(as_boolean(value)?),
            "connection_id" => wish.tells_connection = as_boolean(value)?,
            "nodedown_reason" => wish.tells_reason = as_boolean(value)?,
            "node_type" => {
                wish.tells_kind = true;
                wish.kind = match value {
                    atoms::VISIBLE => Kind::Visible,
                    atoms::HIDDEN => Kind::Hidden,
                    other if other == known_atom("all") => Kind::All,
                    _ => return None,
                };
            }
            _ => return None,
        }
        Some(())
    };
    if let Some(options) = list::elements(options) {
        for option in options {
            match option.tuple_elements() {
                Some(&[key, value]) if key.is_atom() => set(key, value)?,
                _ if option.is_atom() => set(option, atoms::TRUE)?,
                _ => return None,
            }
        }
        return Some(wish);
    }
    for (key, value) in map::MapIter::new(&options) {
        if !key.is_atom() {
            return None;
        }
        set(key, value)?;
    }
    Some(wish)
}

/// `monitor_nodes` and `{monitor_nodes, Options}`
fn is_node_watch(flag: Term) -> bool {
    let watch = known_atom("monitor_nodes");
    flag == watch
        || matches!(flag.tuple_elements(), Some(&[tag, options]) if tag == watch && (options.is_map() || options.is_list()))
}

/// The value of `max_heap_size` of the running process.
pub fn max_heap_size(caller: &mut Caller<'_>) -> Term {
    let words = architecture().options(&caller.own.mutator).maximum_words;
    let flags = caller.own.flags;
    heap_limit_map(caller.heap(), words, flags.heap_limit_spares(), flags.quiet_heap_limit())
}

/// `process_flag(Pid, save_calls, N)`
fn process_flag_of(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let &[pid, flag, value] = arguments else { return Err(badarg()) };
    let count = matches!(value.as_small(), Some(0..=10_000));
    if flag != atoms::SAVE_CALLS || !count || !pid.is_local_pid() || !System::get().table.contains(pid) {
        return Err(badarg());
    }
    if pid == caller.process.pid {
        return process_flag(caller, &[flag, value]);
    }
    // One that has been sent a signal may be about to end of it.
    if System::get().table.with(pid, atoll_process::Process::has_signals) == Some(true) {
        return Err(request(caller, pid, RequestKind::IsAlive, Term::NIL, ("atoll_internal", "await_none_saved")));
    }
    Ok(Term::small(0))
}

fn group_leader(caller: &mut Caller<'_>, _: &[Term]) -> Outcome {
    Ok(caller.own.leader_term())
}

/// `group_leader(Leader, Pid)`
fn set_group_leader(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let (leader, pid) = (arguments[0], arguments[1]);
    if let Some(other) = RemotePid::of(pid).filter(|pid| leader.is_pid() && pid.node != crate::node::this()) {
        return match atoll_distribution::group_leader(caller.process.pid, caller.own, leader, other) {
            Wished::Busy => Err(returning(atoms::TRUE)),
            _ => Ok(atoms::TRUE),
        };
    }
    if !leader.is_pid() || !pid.is_local_pid() {
        return Err(badarg());
    }
    if pid == caller.process.pid {
        caller.own.set_leader(leader);
        return Ok(atoms::TRUE);
    }
    if !System::get().table.contains(pid) {
        return Err(badarg());
    }
    let signal = match RemotePid::of(leader) {
        Some(leader) => remote::bare(RemoteSignal::GroupLeader { leader }),
        None => signal::bare(Signal::GroupLeader { leader }),
    };
    System::get().deliver_or_answer(pid, signal);
    // It is done when this returns.
    Err(request(caller, pid, RequestKind::IsAlive, Term::NIL, ("atoll_internal", "await_living")))
}

fn hibernate(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let &[module, function, list] = arguments else { return Err(badarg()) };
    let length = list::elements_or_badarg(list)?.len();
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
    let list = list::elements_or_badarg(arguments[1])?;
    if list.len() > MOST_OF_FUN {
        return Err(system_limit());
    }
    Err(Interrupt::CallFun(arguments[0], list))
}

fn apply_3(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let &[module, function, list] = arguments else { return Err(badarg()) };
    let elements = list::elements_or_badarg(list)?;
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

/// `suspend_process(Pid, Options)`: waits until the process has stopped, except with `asynchronous`. With
/// `{asynchronous, Tag}` the message `{Tag, suspended}` says so, or `{Tag, exited}`, or `{Tag, badarg}` if there is no
/// such process.
fn suspend(caller: &mut Caller<'_>, pid: Term, options: Term) -> Outcome {
    let (mut unless_suspending, mut wait, mut tag) = (false, true, None);
    let Some(options) = list::elements(options) else { return Err(badarg()) };
    for option in options {
        match option.tuple_elements() {
            Some(&[name, own]) if name == known_atom("asynchronous") => (wait, tag) = (false, Some(own)),
            _ if option == known_atom("unless_suspending") => unless_suspending = true,
            _ if option == known_atom("asynchronous") => wait = false,
            _ => return Err(badarg()),
        }
    }
    let (me, system) = (caller.process.pid, System::get());
    if !pid.is_local_pid() || pid == me {
        return Err(badarg());
    }
    if !system.table.contains(pid) {
        tag.into_iter().for_each(|tag| send_tagged(caller, me, tag, atoms::BADARG, None));
        return if wait { Err(badarg()) } else { Ok(atoms::TRUE) };
    }
    let suspending = &mut caller.own.rare().suspending;
    if unless_suspending && suspending.contains(&pid) {
        tag.into_iter().for_each(|tag| send_tagged(caller, me, tag, atoms::SUSPENDED, None));
        return Ok(atoms::FALSE);
    }
    suspending.push(pid);
    let suspend = |reply| Signal::Suspend { from: me, reply };
    if let Some(tag) = tag {
        send_tagged(caller, pid, tag, EXITED.get(), Some(suspend(Reply::Tagged)));
        return Ok(atoms::TRUE);
    }
    if !wait {
        system.deliver_or_answer(pid, signal::bare(suspend(Reply::None)));
        return Ok(atoms::TRUE);
    }
    let reference = ReferenceId::fresh();
    system.deliver_or_answer(pid, signal::bare(suspend(Reply::Reference(reference))));
    let reference = reference.term(caller.heap());
    go_on_in("atoll_internal", "await_suspended", vec![reference])
}

/// Sends `{Tag, What}`, as a message or with a signal.
fn send_tagged(caller: &mut Caller<'_>, to: Term, tag: Term, what: Term, with: Option<Signal>) {
    let pair = caller.heap().tuple(&[tag, what]);
    let message = architecture().send(caller.heap(), pair);
    let message = match with {
        Some(signal) => signal::attach(message, signal),
        None => sequence::neutral(message),
    };
    System::get().deliver_or_answer(to, message);
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
        Some(&[name, _]) if name == known_atom("system_task_test") => RequestKind::Nothing,
        _ => return Err(badarg()),
    };
    let heap = caller.heap();
    let fragment = architecture().send(heap, task);
    let body = Signal::Request { from: requester, reference: ReferenceId::fresh(), kind };
    System::get().deliver_or_answer(pid, signal::attach(fragment, body));
    Ok(atoms::OK)
}
