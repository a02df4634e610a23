//! Making processes: `spawn` and its family.

use std::sync::OnceLock;

use atoll_code::registry;
use atoll_heap::HeapOptions;
use atoll_operations::Exception;
use atoll_process::sequence::{self, Mark, Reply, SpawnRequest};
use atoll_process::spawn::{SpawnMonitor, SpawnOptions};
use atoll_process::{
    AliasKind, BuiltIn, Caller, Flags, Interrupt, Outcome, Priority, ReferenceId, Signal, System, signal,
};
use atoll_term::{Build, Term, atoms};
use parking_lot::RwLock;

use crate::monitor::alias_kind;
use crate::process_support::{badarg, badopt, list_elements, name, system_limit};

/// What this file provides.
pub const BUILT_INS: &[BuiltIn] = &[
    BuiltIn { module: "erlang", name: "spawn", arity: 1, function: spawn_1 },
    BuiltIn { module: "erlang", name: "spawn", arity: 2, function: spawn_2 },
    BuiltIn { module: "erlang", name: "spawn", arity: 3, function: spawn_3 },
    BuiltIn { module: "erlang", name: "spawn", arity: 4, function: spawn_4 },
    BuiltIn { module: "erlang", name: "spawn_link", arity: 1, function: spawn_link_1 },
    BuiltIn { module: "erlang", name: "spawn_link", arity: 2, function: spawn_link_2 },
    BuiltIn { module: "erlang", name: "spawn_link", arity: 3, function: spawn_link_3 },
    BuiltIn { module: "erlang", name: "spawn_link", arity: 4, function: spawn_link_4 },
    BuiltIn { module: "erlang", name: "spawn_monitor", arity: 1, function: spawn_monitor_1 },
    BuiltIn { module: "erlang", name: "spawn_monitor", arity: 2, function: spawn_monitor_2 },
    BuiltIn { module: "erlang", name: "spawn_monitor", arity: 3, function: spawn_monitor_3 },
    BuiltIn { module: "erlang", name: "spawn_monitor", arity: 4, function: spawn_monitor_4 },
    BuiltIn { module: "erlang", name: "spawn_opt", arity: 2, function: spawn_opt_2 },
    BuiltIn { module: "erlang", name: "spawn_opt", arity: 3, function: spawn_opt_3 },
    BuiltIn { module: "erlang", name: "spawn_opt", arity: 4, function: spawn_opt_4 },
    BuiltIn { module: "erlang", name: "spawn_opt", arity: 5, function: spawn_opt_5 },
    BuiltIn { module: "erlang", name: "spawn_request_abandon", arity: 1, function: spawn_request_abandon },
    BuiltIn { module: "erts_internal", name: "spawn_request", arity: 4, function: spawn_request },
    BuiltIn { module: "erts_internal", name: "dist_spawn_request", arity: 4, function: dist_spawn_request },
    BuiltIn { module: "erts_internal", name: "spawn_system_process", arity: 3, function: spawn_system_process },
];

/// Settings that a process gets when its spawn options do not say otherwise.
static DEFAULTS: RwLock<HeapOptions> =
    RwLock::new(HeapOptions { minimum_words: 233, full_sweep_after: 65_535, maximum_words: 0 });
/// What happens when a process reaches the default `max_heap_size`: not killed, not logged.
static DEFAULT_LIMIT_FLAGS: RwLock<(bool, bool)> = RwLock::new((false, false));

/// Settings of the heaps of processes that are made without other options.
pub fn default_heap() -> HeapOptions {
    *DEFAULTS.read()
}

/// Sets the heaps of processes that are made without other options; sizes are in words.
pub fn install_default_heap(options: HeapOptions) {
    *DEFAULTS.write() = options;
}

/// Sets whether reaching the default `max_heap_size` spares a process, and whether it does so without a message.
pub fn set_default_heap_limit_flags(spares: bool, quiet: bool) {
    *DEFAULT_LIMIT_FLAGS.write() = (spares, quiet);
}

/// Whether reaching the default `max_heap_size` spares a process, and whether it does so without a message.
pub fn default_heap_limit_flags() -> (bool, bool) {
    *DEFAULT_LIMIT_FLAGS.read()
}

/// Options of a process made without any.
pub fn default_options() -> SpawnOptions {
    let (heap_limit_spares, quiet_heap_limit) = default_heap_limit_flags();
    SpawnOptions {
        link: false,
        monitor: None,
        priority: Priority::Normal,
        heap: default_heap(),
        flags: Flags { heap_limit_spares, quiet_heap_limit, ..Flags::default() },
        request: None,
    }
}

/// What a process is to call.
#[derive(Clone, Copy)]
struct Work {
    module: Term,
    function: Term,
    arguments: Term,
}

/// `apply(Fun, [])`
fn fun_work(caller: &mut Caller<'_>, fun: Term) -> Option<Work> {
    if !fun.is_fun() {
        return None;
    }
    let arguments = caller.heap().list([fun, Term::NIL]);
    Some(Work { module: atoms::ERLANG, function: atoms::APPLY, arguments })
}

fn function_work(arguments: &[Term]) -> Option<Work> {
    let &[module, function, list] = arguments else { return None };
    let valid = module.is_atom() && function.is_atom() && list_elements(list).is_some();
    valid.then_some(Work { module, function, arguments: list })
}

/// Where a process is to be made: `None` is no node's name. Other nodes are not connected, so a process made there
/// ends at once with `noconnection`.
fn on_node(caller: &mut Caller<'_>, node: Term, work: Option<Work>) -> Option<Work> {
    let work = work?;
    if !node.is_atom() {
        return None;
    }
    if node == crate::node::this() {
        return Some(work);
    }
    let arguments = caller.heap().list([atoms::NOCONNECTION]);
    Some(Work { module: atoms::ERLANG, function: atoms::EXIT, arguments })
}

fn start(caller: &mut Caller<'_>, work: Option<Work>, options: &SpawnOptions) -> Outcome {
    let Work { module, function, arguments } = work.ok_or_else(badarg)?;
    let arity = list_elements(arguments).map_or(0, |elements| elements.len());
    // A function that cannot exist has no export; the new process finds out.
    let initial = u8::try_from(arity).ok().map(|arity| registry().export(module, function, arity));
    caller.reductions -= 30;
    let parent = Some((caller.process.pid, &mut *caller.own));
    let made = atoll_process::spawn::spawn(parent, (module, function), arguments, initial, options);
    made.map_err(|_| {
        if let Some(report) = REPORT.get() {
            report(caller.process.pid, caller.own.group_leader);
        }
        system_limit()
    })
}

/// Writes to the log that there are too many processes: gets the process that wanted another one, and its group leader.
pub type TooMany = fn(Term, Term);

static REPORT: OnceLock<TooMany> = OnceLock::new();

/// Sets who writes to the log that there are too many processes; the first call counts.
pub fn report_too_many(report: TooMany) {
    let _ = REPORT.set(report);
}

fn linked(caller: &mut Caller<'_>) -> SpawnOptions {
    SpawnOptions { link: true, request: plain_request(caller, atoms::LINK), ..default_options() }
}

/// How a process was asked for with this option alone, if a tracer gets a message about it.
fn plain_request(caller: &mut Caller<'_>, option: Term) -> Option<SpawnRequest> {
    caller.own.token()?;
    let options = caller.heap().list([option]);
    Some(SpawnRequest { options, tag: atoms::SPAWN_REPLY, reference: Term::NONE, replies: Reply::Result })
}

fn start_monitored(caller: &mut Caller<'_>, work: Option<Work>) -> Outcome {
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

fn spawn_2(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let work = fun_work(caller, arguments[1]);
    let work = on_node(caller, arguments[0], work);
    start(caller, work, &default_options())
}

fn spawn_3(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    start(caller, function_work(arguments), &default_options())
}

fn spawn_4(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let work = on_node(caller, arguments[0], function_work(&arguments[1..]));
    start(caller, work, &default_options())
}

fn spawn_link_1(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let work = fun_work(caller, arguments[0]);
    let options = linked(caller);
    start(caller, work, &options)
}

fn spawn_link_2(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let work = fun_work(caller, arguments[1]);
    let work = on_node(caller, arguments[0], work);
    let options = linked(caller);
    start(caller, work, &options)
}

fn spawn_link_3(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let options = linked(caller);
    start(caller, function_work(arguments), &options)
}

fn spawn_link_4(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let work = on_node(caller, arguments[0], function_work(&arguments[1..]));
    let options = linked(caller);
    start(caller, work, &options)
}

fn spawn_monitor_1(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let work = fun_work(caller, arguments[0]);
    start_monitored(caller, work)
}

fn spawn_monitor_2(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let work = fun_work(caller, arguments[1]);
    let work = on_node(caller, arguments[0], work);
    start_monitored(caller, work)
}

fn spawn_monitor_3(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    start_monitored(caller, function_work(arguments))
}

fn spawn_monitor_4(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let work = on_node(caller, arguments[0], function_work(&arguments[1..]));
    start_monitored(caller, work)
}

/// The options of `spawn_opt` and `spawn_request`.
pub struct Requested {
    /// How the process is made.
    pub spawn: SpawnOptions,
    monitor: bool,
    /// `{tag, Tag}` of the monitor, `NONE` if not given.
    tag: Term,
    alias: Option<AliasKind>,
    /// Which results are told.
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
            for option in list_elements(value)? {
                match *option.tuple_elements()? {
                    [atoms::ALIAS, kind] => requested.alias = Some(alias_kind(kind)?),
                    [tag, value] if tag == name("tag") => requested.tag = value,
                    _ => return None,
                }
            }
        }
        atoms::PRIORITY => spawn.priority = Priority::from_atom(value)?,
        atoms::MESSAGE_QUEUE_DATA => spawn.flags.off_heap_messages = message_queue_data(value)?,
        atoms::MIN_HEAP_SIZE => spawn.heap.minimum_words = crate::process_flag::heap_words_at_least(size(value)?),
        atoms::MIN_BIN_VHEAP_SIZE => drop(size(value)?),
        atoms::MAX_HEAP_SIZE => {
            let limit = HeapLimit::read(value)?;
            spawn.heap.maximum_words = limit.words;
            limit.set_flags(&mut spawn.flags);
        }
        atoms::FULLSWEEP_AFTER => spawn.heap.full_sweep_after = u16::try_from(size(value)?).unwrap_or(u16::MAX),
        atoms::ASYNC_DIST => drop(boolean(value)?),
        atoms::REPLY if is_request => {
            (requested.reply_ok, requested.reply_error) = match value {
                atoms::YES => (true, true),
                atoms::NO => (false, false),
                other if other == name("success_only") => (true, false),
                other if other == name("error_only") => (false, true),
                _ => return None,
            }
        }
        other if is_request && other == name("reply_tag") => requested.reply_tag = value,
        other if other == name("scheduler") => {
            let number = size(value)?;
            if number > System::get().schedulers {
                return None;
            }
        }
        _ => return None,
    }
    Some(())
}

/// `true` or `false`.
pub fn boolean(term: Term) -> Option<bool> {
    match term {
        atoms::TRUE => Some(true),
        atoms::FALSE => Some(false),
        _ => None,
    }
}

/// A size that is not negative.
pub fn size(term: Term) -> Option<usize> {
    usize::try_from(term.as_small()?).ok()
}

/// Whether messages are kept off the heap.
pub fn message_queue_data(value: Term) -> Option<bool> {
    match value {
        atoms::OFF_HEAP => Some(true),
        atoms::ON_HEAP => Some(false),
        _ => None,
    }
}

/// The value of `max_heap_size`.
#[derive(Clone, Copy)]
pub struct HeapLimit {
    /// In words, 0 is none.
    pub words: usize,
    /// Whether the process is killed, `None`: as before.
    pub kill: Option<bool>,
    /// Whether a message is logged, `None`: as before.
    pub log: Option<bool>,
}

impl HeapLimit {
    /// Reads a size or a map `#{size => Words, kill => Bool, error_logger => Bool}`.
    pub fn read(value: Term) -> Option<HeapLimit> {
        if !value.is_map() {
            return Some(HeapLimit { words: size(value)?, kill: None, log: None });
        }
        let field = |key: Term| atoll_term::map::get(value, key);
        let words = size(field(atoms::SIZE)?)?;
        let switch = |key: Term| field(key).map_or(Some(None), |value| boolean(value).map(Some));
        Some(HeapLimit { words, kill: switch(atoms::KILL)?, log: switch(atoms::ERROR_LOGGER)? })
    }

    /// Sets what reaching the limit does.
    pub fn set_flags(self, flags: &mut Flags) {
        flags.heap_limit_spares = self.kill.map_or(flags.heap_limit_spares, |kill| !kill);
        flags.quiet_heap_limit = self.log.map_or(flags.quiet_heap_limit, |log| !log);
    }
}

fn read_options(options: Term, is_request: bool) -> Option<Requested> {
    let mut requested = Requested {
        spawn: default_options(),
        monitor: false,
        tag: Term::NONE,
        alias: None,
        reply_ok: true,
        reply_error: true,
        reply_tag: atoms::SPAWN_REPLY,
    };
    for option in list_elements(options)? {
        read_option(&mut requested, option, is_request)?;
    }
    let heap = requested.spawn.heap;
    (heap.maximum_words == 0 || heap.maximum_words >= heap.minimum_words).then_some(requested)
}

fn start_with(caller: &mut Caller<'_>, work: Option<Work>, options: Term) -> Outcome {
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
        caller.own.rare().tags.push((reference, requested.tag));
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

fn spawn_opt_3(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let work = fun_work(caller, arguments[1]);
    let work = on_node(caller, arguments[0], work);
    start_with(caller, work, arguments[2])
}

fn spawn_opt_4(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    start_with(caller, function_work(&arguments[..3]), arguments[3])
}

fn spawn_opt_5(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let work = on_node(caller, arguments[0], function_work(&arguments[1..4]));
    start_with(caller, work, arguments[4])
}

/// `spawn_request(Module, Function, Arguments, Options)`: the result comes as a message. Returns the request's
/// reference, or `badarg` instead of raising it.
fn spawn_request(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let Some(work) = function_work(&arguments[..3]) else { return Ok(atoms::BADARG) };
    let reference = ReferenceId::fresh();
    let Some(mut requested) = read_options(arguments[3], true) else {
        if list_elements(arguments[3]).is_none() {
            return Ok(atoms::BADARG);
        }
        let request = reference.term(caller.heap());
        tell(caller, reference, [atoms::SPAWN_REPLY, request, atoms::ERROR, atoms::BADOPT], Mark::Neutral);
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

/// `dist_spawn_request(Node, {Module, Function, Arguments} | Fun, Options, Kind)`: no other node can be reached.
fn dist_spawn_request(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let &[node, _, options, kind] = arguments else { return Err(badarg()) };
    if !node.is_atom() || list_elements(options).is_none() {
        return Ok(atoms::BADARG);
    }
    let reference = ReferenceId::fresh();
    let request = reference.term(caller.heap());
    let (reply_tag, told) = match read_options(options, true) {
        Some(requested) => (requested.reply_tag, requested.reply_error),
        None if kind == atoms::SPAWN_REQUEST => {
            tell(caller, reference, [atoms::SPAWN_REPLY, request, atoms::ERROR, atoms::BADOPT], Mark::Neutral);
            return Ok(request);
        }
        None => return Ok(atoms::BADOPT),
    };
    if told {
        tell(caller, reference, [reply_tag, request, atoms::ERROR, atoms::NOCONNECTION], Mark::Neutral);
    }
    Ok(request)
}

/// Sends the caller the result of a request.
fn tell(caller: &mut Caller<'_>, reference: ReferenceId, message: [Term; 4], mark: Mark) {
    caller.own.rare().spawn_requests.push(reference);
    let heap = caller.heap();
    let message = heap.tuple(&message);
    let fragment = atoll_heap::architecture().send(Some(heap), message);
    let reply = signal::attach(fragment, Signal::SpawnReply { reference, mark });
    System::get().deliver_or_answer(caller.process.pid, reply);
}

/// `spawn_request_abandon(Reference)`: whether the process will not be made.
fn spawn_request_abandon(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    // Processes are made at once, so a process that abandons a request is always too late.
    if ReferenceId::of(arguments[0]).is_some() { Ok(atoms::FALSE) } else { Err(badarg()) }
}

/// `erts_internal:spawn_system_process(Module, Function, Arguments)`
fn spawn_system_process(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let mut options = default_options();
    options.flags.system = true;
    start(caller, function_work(arguments), &options)
}
