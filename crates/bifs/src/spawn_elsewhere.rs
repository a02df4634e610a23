//! `spawn` and its family with a node: here, or on another.

use atoll_distribution::{Request, Wished, request_process};
use atoll_heap::architecture;
use atoll_operations::{Exception, list};
use atoll_process::handle::receive_matching;
use atoll_process::sequence::Mark;
use atoll_process::{
    BuiltIn, Caller, Interrupt, Outcome, OutgoingMonitor, ReferenceId, Signal, System, badarg, signal,
};
use atoll_term::atoms::known_atom;
use atoll_term::{Build, Term, atoms, exactly_equal};

use crate::errors::badopt;
use crate::monitor::alias_kind;
use crate::process_info::take_signals;
use crate::spawn::{Work, default_options, fun_work, function_work, linked, start, start_monitored, start_with};
use crate::suspended::returning_request;
use crate::tail_calls::go_on_in;

/// What this file provides.
pub const BUILT_INS: &[BuiltIn] = &[
    BuiltIn::new("erlang", "spawn", 2, spawn_2),
    BuiltIn::new("erlang", "spawn", 4, spawn_4),
    BuiltIn::new("erlang", "spawn_link", 2, spawn_link_2),
    BuiltIn::new("erlang", "spawn_link", 4, spawn_link_4),
    BuiltIn::new("erlang", "spawn_monitor", 2, spawn_monitor_2),
    BuiltIn::new("erlang", "spawn_monitor", 4, spawn_monitor_4),
    BuiltIn::new("erlang", "spawn_opt", 3, spawn_opt_3),
    BuiltIn::new("erlang", "spawn_opt", 5, spawn_opt_5),
    BuiltIn::new("erts_internal", "dist_spawn_request", 4, dist_spawn_request),
    BuiltIn::new("atoll_internal", "await_spawn", 2, await_spawn),
    BuiltIn::new("erlang", "spawn_request_abandon", 1, spawn_request_abandon),
];

/// What the options say.
struct Options {
    link: bool,
    monitor: bool,
    monitor_tag: Term,
    alias: Option<atoll_process::AliasKind>,
    tells: (bool, bool),
    reply_tag: Term,
    /// Those that the other node reads.
    passed: Vec<Term>,
}

/// Reads options; `None`: there is one whose value is wrong. What is not known here the other node may know.
fn read(options: &[Term], is_request: bool) -> Option<Options> {
    let mut read = Options {
        link: false,
        monitor: false,
        monitor_tag: Term::NONE,
        alias: None,
        tells: (true, true),
        reply_tag: atoms::SPAWN_REPLY,
        passed: Vec::new(),
    };
    for option in options {
        match (*option, option.tuple_elements()) {
            (atoms::LINK, _) => read.link = true,
            (atoms::MONITOR, _) => read.monitor = true,
            (_, Some(&[atoms::MONITOR, value])) => {
                read.monitor = true;
                for option in list::elements(value)? {
                    match *option.tuple_elements()? {
                        [atoms::ALIAS, kind] => read.alias = Some(alias_kind(kind)?),
                        [tag, value] if tag == known_atom("tag") => read.monitor_tag = value,
                        _ => return None,
                    }
                }
            }
            (_, Some(&[atoms::REPLY, value])) if is_request => {
                read.tells = match value {
                    atoms::YES => (true, true),
                    atoms::NO => (false, false),
                    other if other == known_atom("success_only") => (true, false),
                    other if other == known_atom("error_only") => (false, true),
                    _ => return None,
                }
            }
            (_, Some(&[tag, value])) if is_request && tag == known_atom("reply_tag") => read.reply_tag = value,
            _ => read.passed.push(*option),
        }
    }
    if read.link {
        read.passed.push(atoms::LINK);
    }
    if read.monitor {
        read.passed.push(atoms::MONITOR);
    }
    Some(read)
}

/// Asks another node for a process: the request's reference as the program sees it, and whether the caller is
/// suspended.
fn request(caller: &mut Caller<'_>, node: Term, work: Work, options: &Options) -> (Term, bool) {
    let reference = ReferenceId::fresh();
    let me = caller.process.pid;
    let rare = caller.own.rare();
    if options.monitor {
        let monitor = OutgoingMonitor { target: Term::NONE, name: Term::NONE, tag: atoms::DOWN };
        rare.monitoring.insert(reference, monitor);
        if !options.monitor_tag.is_none() {
            rare.tags.insert(reference, options.monitor_tag);
        }
    }
    if let Some(kind) = options.alias {
        rare.aliases.insert(reference, kind);
    }
    if options.reply_tag != atoms::SPAWN_REPLY {
        rare.reply_tags.insert(reference, options.reply_tag);
    }
    let heap = caller.heap();
    let term = match options.alias {
        Some(_) => reference.alias_term(heap, me),
        None => reference.term(heap),
    };
    let passed = heap.list(options.passed.iter().copied());
    let arity = list::elements(work.arguments).map_or(0, |arguments| arguments.len());
    let wished = Request {
        node,
        function: (work.module, work.function),
        arguments: (work.arguments, arity as i64),
        options: passed,
        link: options.link,
        monitor: options.monitor,
        tells: options.tells,
    };
    let result = request_process(me, caller.own, reference, &wished);
    let failure = match result {
        Wished::NoConnection => atoms::NOCONNECTION,
        Wished::NotSupported => known_atom("notsup"),
        _ => Term::NONE,
    };
    if !failure.is_none() {
        let rare = caller.own.rare();
        rare.monitoring.remove(&reference);
        rare.aliases.remove(&reference);
        rare.tags.remove(&reference);
        rare.reply_tags.remove(&reference);
        if options.tells.1 {
            tell(caller, reference, [options.reply_tag, term, atoms::ERROR, failure]);
        }
    }
    (term, result == Wished::Busy)
}

/// Sends the caller the result of a request.
fn tell(caller: &mut Caller<'_>, reference: ReferenceId, message: [Term; 4]) {
    caller.own.rare().spawn_requests.push(reference);
    let heap = caller.heap();
    let message = heap.tuple(&message);
    let fragment = architecture().send(heap, message);
    let reply = signal::attach(fragment, Signal::SpawnReply { reference, mark: Mark::Neutral });
    System::get().deliver_or_answer(caller.process.pid, reply);
}

/// `dist_spawn_request(Node, {Module, Function, Arguments}, Options, spawn_request | spawn_opt)`: the reference, with
/// whether the process is watched for `spawn_opt`.
fn dist_spawn_request(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let &[node, call, options, kind] = arguments else { return Err(badarg()) };
    let is_request = kind == atoms::SPAWN_REQUEST;
    let work = call.tuple_elements().and_then(function_work);
    let (Some(work), Some(given), true) = (work, list::elements(options), node.is_atom()) else {
        return Ok(atoms::BADARG);
    };
    let (reference, watched, is_suspended) = match read(&given, is_request) {
        Some(options) => {
            let (reference, is_suspended) = request(caller, node, work, &options);
            (reference, options.monitor, is_suspended)
        }
        None => {
            let id = ReferenceId::fresh();
            let reference = id.term(caller.heap());
            tell(caller, id, [atoms::SPAWN_REPLY, reference, atoms::ERROR, atoms::BADOPT]);
            (reference, false, false)
        }
    };
    let result = match is_request {
        true => reference,
        false => caller.heap().tuple(&[reference, Term::boolean(watched)]),
    };
    if is_suspended { Err(returning_request(result)) } else { Ok(result) }
}

/// Makes a process on another node, and goes on when it is made.
fn start_elsewhere(caller: &mut Caller<'_>, node: Term, work: Option<Work>, options: Term) -> Outcome {
    let work = work.ok_or_else(badarg)?;
    let given = list::elements(options).ok_or_else(badarg)?;
    let Some(read) = read(&given, false) else { return Err(badopt(caller)) };
    let (reference, _) = request(caller, node, work, &read);
    let watched = Term::boolean(read.monitor);
    let call = caller.heap().tuple(&[node, work.module, work.function, work.arguments, options, watched]);
    // If it is suspended, it does not go on before that is over.
    go_on_in("atoll_internal", "await_spawn", vec![reference, call])
}

/// `await_spawn(Reference, {Node, Module, Function, Arguments, Options, Watched})`
fn await_spawn(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let &[reference, call] = arguments else { return Err(badarg()) };
    if !caller.process.inbox.is_empty() {
        take_signals(caller)?;
    }
    let is_reply = |message: Term| match message.tuple_elements() {
        Some(&[atoms::SPAWN_REPLY, own, _, _]) => exactly_equal(own, reference),
        _ => false,
    };
    let reply = receive_matching(caller.process.pid, caller.own, is_reply);
    let Some(reply) = reply else { return Err(Interrupt::Wait(arguments.to_vec())) };
    let (Some(&[_, _, result, value]), Some(call)) = (reply.tuple_elements(), call.tuple_elements()) else {
        return Err(badarg());
    };
    let &[node, module, function, applied, options, watched] = call else { return Err(badarg()) };
    if result == atoms::OK {
        let reference = arguments[0];
        return Ok(if watched == atoms::TRUE { caller.heap().tuple(&[value, reference]) } else { value });
    }
    match value {
        atoms::BADOPT => Err(badopt(caller)),
        // A process that ends with that reason stands in for the one that cannot be made.
        reason if reason == atoms::NOCONNECTION || reason == known_atom("notsup") => {
            let heap = caller.heap();
            let arguments = heap.list([node, module, function, applied, options, reason]);
            let work = [known_atom("erts_internal"), known_atom("crasher"), arguments];
            start_with(caller, function_work(&work), options)
        }
        reason => Err(Exception::error(reason).into()),
    }
}

/// `spawn_request_abandon(Reference)`: whether the reply had not come.
fn spawn_request_abandon(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    if !arguments[0].is_reference() {
        return Err(badarg());
    }
    let Some(reference) = ReferenceId::of(arguments[0]) else { return Ok(atoms::FALSE) };
    // Processes of this node are made at once, so it is always too late for these.
    let remote = caller.own.rare.as_mut().and_then(|rare| rare.remote.as_mut());
    let Some(request) = remote.and_then(|remote| remote.spawning.get_mut(&reference)) else { return Ok(atoms::FALSE) };
    let was_wanted = !std::mem::replace(&mut request.abandoned, true);
    if let Some(rare) = caller.own.rare.as_mut() {
        rare.monitoring.remove(&reference);
        rare.aliases.remove(&reference);
    }
    Ok(Term::boolean(was_wanted))
}

/// Whether a process is to be made on another node.
fn is_elsewhere(node: Term) -> Result<bool, Interrupt> {
    if node.is_atom() { Ok(node != crate::node::this()) } else { Err(badarg()) }
}

fn spawn_2(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let work = fun_work(caller, arguments[1]);
    if is_elsewhere(arguments[0])? {
        return start_elsewhere(caller, arguments[0], work, Term::NIL);
    }
    start(caller, work, &default_options())
}

fn spawn_4(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let work = function_work(&arguments[1..4]);
    if is_elsewhere(arguments[0])? {
        return start_elsewhere(caller, arguments[0], work, Term::NIL);
    }
    start(caller, work, &default_options())
}

fn spawn_link_2(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let work = fun_work(caller, arguments[1]);
    if is_elsewhere(arguments[0])? {
        let options = caller.heap().list([atoms::LINK]);
        return start_elsewhere(caller, arguments[0], work, options);
    }
    let options = linked(caller);
    start(caller, work, &options)
}

fn spawn_link_4(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let work = function_work(&arguments[1..4]);
    if is_elsewhere(arguments[0])? {
        let options = caller.heap().list([atoms::LINK]);
        return start_elsewhere(caller, arguments[0], work, options);
    }
    let options = linked(caller);
    start(caller, work, &options)
}

fn spawn_monitor_2(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let work = fun_work(caller, arguments[1]);
    if is_elsewhere(arguments[0])? {
        let options = caller.heap().list([atoms::MONITOR]);
        return start_elsewhere(caller, arguments[0], work, options);
    }
    start_monitored(caller, work)
}

fn spawn_monitor_4(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let work = function_work(&arguments[1..4]);
    if is_elsewhere(arguments[0])? {
        let options = caller.heap().list([atoms::MONITOR]);
        return start_elsewhere(caller, arguments[0], work, options);
    }
    start_monitored(caller, work)
}

fn spawn_opt_3(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let work = fun_work(caller, arguments[1]);
    if is_elsewhere(arguments[0])? {
        return start_elsewhere(caller, arguments[0], work, arguments[2]);
    }
    start_with(caller, work, arguments[2])
}

fn spawn_opt_5(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let work = function_work(&arguments[1..4]);
    if is_elsewhere(arguments[0])? {
        return start_elsewhere(caller, arguments[0], work, arguments[4]);
    }
    start_with(caller, work, arguments[4])
}
