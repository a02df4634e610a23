//! Making processes: `spawn` and its family.

use atoll_code::registry;
use atoll_operations::guards::as_boolean;
use atoll_operations::{Exception, list};
use atoll_process::sequence::{self, Mark, Reply, SpawnRequest};
use atoll_process::spawn::{Parent, SpawnMonitor, SpawnOptions};
use atoll_process::{
    AliasKind, BuiltIn, Caller, Flags, Interrupt, Outcome, Priority, ReferenceId, Signal, System, badarg, signal,
};
use atoll_term::atoms::known_atom;
use atoll_term::{Build, Term, atoms};
use std::sync::OnceLock;

use crate::arguments::{message_queue_data, size};
use crate::errors::{badopt, system_limit};
use crate::heap_settings::{
    HeapLimit, default_heap, default_heap_limit_flags, default_off_heap_messages, heap_words_at_least,
};
use crate::monitor::alias_kind;

/// Writes to the log that there are too many processes, if a machine has a log.
#[derive(Default)]
pub struct Reports(OnceLock<TooMany>);

atoll_platform::part_of_machine!(Reports);

/// What this file provides.
pub const BUILT_INS: &[BuiltIn] = &[
    BuiltIn::new("erlang", "spawn", 1, spawn_1),
    BuiltIn::new("erlang", "spawn", 3, spawn_3),
    BuiltIn::new("erlang", "spawn_link", 1, spawn_link_1),
    BuiltIn::new("erlang", "spawn_link", 3, spawn_link_3),
    BuiltIn::new("erlang", "spawn_monitor", 1, spawn_monitor_1),
    BuiltIn::new("erlang", "spawn_monitor", 3, spawn_monitor_3),
    BuiltIn::new("erlang", "spawn_opt", 2, spawn_opt_2),
    BuiltIn::new("erlang", "spawn_opt", 4, spawn_opt_4),
    BuiltIn::new("erts_internal", "spawn_request", 4, spawn_request),
    BuiltIn::new("erts_internal", "spawn_system_process", 3, spawn_system_process),
];

/// Options of a process made without any.
pub fn default_options() -> SpawnOptions {
    let (heap_limit_spares, quiet_heap_limit) = default_heap_limit_flags();
    let mut flags = Flags::default();
    flags.set_heap_limit_spares(heap_limit_spares);
    flags.set_quiet_heap_limit(quiet_heap_limit);
    flags.set_off_heap_messages(default_off_heap_messages());
    SpawnOptions { link: false, monitor: None, priority: Priority::Normal, heap: default_heap(), flags, request: None }
}

/// What a process is to call.
#[derive(Clone, Copy)]
pub struct Work {
    /// Module.
    pub module: Term,
    /// Function.
    pub function: Term,
    /// A proper list.
    pub arguments: Term,
}

/// `apply(Fun, [])`
pub fn fun_work(caller: &mut Caller<'_>, fun: Term) -> Option<Work> {
    if !fun.is_fun() {
        return None;
    }
    let arguments = caller.heap().list([fun, Term::NIL]);
    Some(Work { module: atoms::ERLANG, function: atoms::APPLY, arguments })
}

/// The work in module, function and arguments.
pub fn function_work(arguments: &[Term]) -> Option<Work> {
    let &[module, function, list] = arguments else { return None };
    let valid = module.is_atom() && function.is_atom() && list::elements(list).is_some();
    valid.then_some(Work { module, function, arguments: list })
}

/// Makes a process.
pub fn start(caller: &mut Caller<'_>, work: Option<Work>, options: &SpawnOptions) -> Outcome {
    let Work { module, function, arguments } = work.ok_or_else(badarg)?;
    let arity = list::elements(arguments).map_or(0, |elements| elements.len());
    // A function that cannot exist has no export; the new process finds out.
    let initial = u8::try_from(arity).ok().map(|arity| registry().export(module, function, arity));
    caller.reductions -= 30;
    let parent = Parent::Process(caller.process.pid, caller.own, arguments);
    let made = atoll_process::spawn::spawn(parent, (module, function), initial, options);
    made.map_err(|_| {
        if let Some(report) = part().0.get() {
            let leader = caller.own.leader_term();
            report(caller.process.pid, leader);
        }
        system_limit()
    })
}

/// Writes to the log that there are too many processes: gets the process that wanted another one, and its group leader.
pub type TooMany = fn(Term, Term);

/// Sets who writes to the log that there are too many processes; the first call counts.
pub fn report_too_many(report: TooMany) {
    let _ = part().0.set(report);
}

/// Options of a process that is linked.
pub fn linked(caller: &mut Caller<'_>) -> SpawnOptions {
    SpawnOptions { link: true, request: plain_request(caller, atoms::LINK), ..default_options() }
}

/// How a process was asked for with this option alone, if a tracer gets a message about it.
fn plain_request(caller: &mut Caller<'_>, option: Term) -> Option<SpawnRequest> {
    caller.own.token()?;
    let options = caller.heap().list([option]);
    Some(SpawnRequest { options, tag: atoms::SPAWN_REPLY, reference: Term::NONE, replies: Reply::Result })
}

/// Makes a process that is watched: its pid and the monitor's reference.
pub fn start_monitored(caller: &mut Caller<'_>, work: Option<Work>) -> Outcome {
    let reference = ReferenceId::fresh();
    let monitor = Some(SpawnMonitor { reference, tag: atoms::DOWN });
    let request = plain_request(caller, atoms::MONITOR);
    let pid = start(caller, work, &SpawnOptions { monitor, request, ..default_options() })?;
    let heap = caller.heap();
    let reference = reference.term(heap);
    Ok(heap.tuple(&[pid, reference]))
}

fn spawn_1(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let work = fun_work(caller, arguments[0]);
    start(caller, work, &default_options())
}

fn spawn_3(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    start(caller, function_work(arguments), &default_options())
}

fn spawn_link_1(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let work = fun_work(caller, arguments[0]);
    let options = linked(caller);
    start(caller, work, &options)
}

fn spawn_link_3(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let options = linked(caller);
    start(caller, function_work(arguments), &options)
}

fn spawn_monitor_1(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let work = fun_work(caller, arguments[0]);
    start_monitored(caller, work)
}

fn spawn_monitor_3(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    start_monitored(caller, function_work(arguments))
}

/// The options of `spawn_opt` and `spawn_request`.
pub struct Requested {
    /// How the process is made.
    pub spawn: SpawnOptions,
    monitor: bool,
    /// `{tag, Tag}` of the monitor, `NONE` if not given.
    tag: Term,
    alias: Option<AliasKind>,
    /// Whether the caller gets a reply when the process was made, and when it could not be made.
    reply_ok: bool,
    reply_error: bool,
    /// Head of the reply.
    reply_tag: Term,
}

/// Reads one option; `None`: there is no such option.
fn read_option(requested: &mut Requested, option: Term, is_request: bool) -> Option<()> {
    let spawn = &mut requested.spawn;
    if option == atoms::LINK {
        spawn.link = true;
        return Some(());
    }
    if option == atoms::MONITOR {
        requested.monitor = true;
        return Some(());
    }
    let &[key, value] = option.tuple_elements()? else { return None };
    match key {
        atoms::MONITOR => {
            requested.monitor = true;
            for option in list::elements(value)? {
                match *option.tuple_elements()? {
                    [atoms::ALIAS, kind] => requested.alias = Some(alias_kind(kind)?),
                    [tag, value] if tag == known_atom("tag") => requested.tag = value,
                    _ => return None,
                }
            }
        }
        atoms::PRIORITY => spawn.priority = Priority::from_atom(value)?,
        atoms::MESSAGE_QUEUE_DATA => {
            spawn.flags.set_off_heap_messages(message_queue_data(value)?);
        }
        atoms::MIN_HEAP_SIZE => spawn.heap.minimum_words = heap_words_at_least(size(value)?),
        atoms::MIN_BIN_VHEAP_SIZE => drop(size(value)?),
        atoms::MAX_HEAP_SIZE => {
            let limit = HeapLimit::read(value)?;
            spawn.heap.maximum_words = limit.words;
            limit.set_flags(&mut spawn.flags);
        }
        atoms::FULLSWEEP_AFTER => spawn.heap.full_sweep_after = u16::try_from(size(value)?).unwrap_or(u16::MAX),
        atoms::ASYNC_DIST => drop(as_boolean(value)?),
        atoms::REPLY if is_request => {
            (requested.reply_ok, requested.reply_error) = match value {
                atoms::YES => (true, true),
                atoms::NO => (false, false),
                other if other == known_atom("success_only") => (true, false),
                other if other == known_atom("error_only") => (false, true),
                _ => return None,
            }
        }
        other if is_request && other == known_atom("reply_tag") => requested.reply_tag = value,
        other if other == known_atom("scheduler") => {
            let number = size(value)?;
            if number > System::get().schedulers {
                return None;
            }
        }
        _ => return None,
    }
    Some(())
}

fn requested_by_default() -> Requested {
    Requested {
        spawn: default_options(),
        monitor: false,
        tag: Term::NONE,
        alias: None,
        reply_ok: true,
        reply_error: true,
        reply_tag: atoms::SPAWN_REPLY,
    }
}

fn read_options(options: Term, is_request: bool) -> Option<Requested> {
    let mut requested = requested_by_default();
    for option in list::elements(options)? {
        read_option(&mut requested, option, is_request)?;
    }
    let heap = requested.spawn.heap;
    (heap.maximum_words == 0 || heap.maximum_words >= heap.minimum_words).then_some(requested)
}

/// Settings of a process that another node asks for, without links and monitors; `None`: there is no such option.
pub fn spawn_options(options: &[Term]) -> Option<SpawnOptions> {
    let mut requested = read_options(Term::NIL, false)?;
    options.iter().try_for_each(|option| read_option(&mut requested, *option, false))?;
    Some(requested.spawn)
}

/// Makes a process with a list of options.
pub fn start_with(caller: &mut Caller<'_>, work: Option<Work>, options: Term) -> Outcome {
    let Some(mut requested) = read_options(options, false) else {
        return Err(if work.is_some() { badopt(caller) } else { badarg() });
    };
    let tag = requested.reply_tag;
    requested.spawn.request = Some(SpawnRequest { options, tag, reference: Term::NONE, replies: Reply::Result });
    let reference = ReferenceId::fresh();
    let (pid, reference) = start_requested(caller, work, &requested, reference)?;
    Ok(if requested.monitor { caller.heap().tuple(&[pid, reference]) } else { pid })
}

/// Makes the process with its monitor and alias; returns its pid, and the reference as the program sees it.
fn start_requested(
    caller: &mut Caller<'_>,
    work: Option<Work>,
    requested: &Requested,
    reference: ReferenceId,
) -> Result<(Term, Term), Interrupt> {
    let mut spawn = requested.spawn;
    if requested.monitor {
        spawn.monitor = Some(SpawnMonitor { reference, tag: atoms::DOWN });
    }
    let pid = start(caller, work, &spawn)?;
    let me = caller.process.pid;
    if requested.monitor && !requested.tag.is_none() {
        caller.own.rare().tags.insert(reference, requested.tag);
    }
    let term = match requested.alias {
        Some(kind) => {
            caller.own.rare().aliases.insert(reference, kind);
            reference.alias_term(caller.heap(), me)
        }
        None => reference.term(caller.heap()),
    };
    Ok((pid, term))
}

fn spawn_opt_2(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let work = fun_work(caller, arguments[0]);
    start_with(caller, work, arguments[1])
}

fn spawn_opt_4(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    start_with(caller, function_work(&arguments[..3]), arguments[3])
}

/// `spawn_request(Module, Function, Arguments, Options)`: the result comes as a message. Returns the request's
/// reference, or `badarg` instead of raising it.
fn spawn_request(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let Some(work) = function_work(&arguments[..3]) else { return Ok(atoms::BADARG) };
    let reference = ReferenceId::fresh();
    let Some(mut requested) = read_options(arguments[3], true) else {
        let Some(options) = list::elements(arguments[3]) else { return Ok(atoms::BADARG) };
        // How the caller is told does not depend on where the bad option stands.
        let mut good = requested_by_default();
        for option in options {
            let _ = read_option(&mut good, option, true);
        }
        let request = reference.term(caller.heap());
        if good.reply_error {
            tell(caller, reference, [good.reply_tag, request, atoms::ERROR, atoms::BADOPT], Mark::Neutral);
        }
        return Ok(request);
    };
    requested.spawn.request = Some(SpawnRequest {
        options: arguments[3],
        tag: requested.reply_tag,
        reference: reference.term(caller.heap()),
        replies: if requested.reply_ok { Reply::Message } else { Reply::Nothing },
    });
    let (result, value, request, told) = match start_requested(caller, Some(work), &requested, reference) {
        Ok((pid, term)) => (atoms::OK, pid, term, requested.reply_ok),
        Err(Interrupt::Raise(Exception { reason, .. })) => {
            (atoms::ERROR, reason, reference.term(caller.heap()), requested.reply_error)
        }
        Err(other) => return Err(other),
    };
    if told {
        let mark = if result == atoms::OK { sequence::reply_of(caller.own, value) } else { Mark::Neutral };
        tell(caller, reference, [requested.reply_tag, request, result, value], mark);
    }
    Ok(request)
}

/// Sends the caller the result of a request.
fn tell(caller: &mut Caller<'_>, reference: ReferenceId, message: [Term; 4], mark: Mark) {
    caller.own.rare().spawn_requests.push(reference);
    let heap = caller.heap();
    let message = heap.tuple(&message);
    let fragment = atoll_heap::architecture().send(heap, message);
    let reply = signal::attach(fragment, Signal::SpawnReply { reference, mark });
    System::get().deliver_or_answer(caller.process.pid, reply);
}

/// `erts_internal:spawn_system_process(Module, Function, Arguments)`
fn spawn_system_process(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let mut options = default_options();
    options.flags.set_system(true);
    start(caller, function_work(arguments), &options)
}
