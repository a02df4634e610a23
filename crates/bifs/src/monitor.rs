//! Monitors and aliases.

use atoll_distribution::Wished;
use atoll_operations::list;
use atoll_process::handle::{demonitor, take_matching};
use atoll_process::remote::{RemotePid, RemoteTarget};
use atoll_process::{
    AliasKind, BuiltIn, Caller, Outcome, OutgoingMonitor, ReferenceId, Signal, System, badarg, signal,
};
use atoll_term::atoms::known_atom;
use atoll_term::{ExternalKind, Term, View, atoms};

use crate::errors::{badopt, error_with_cause};
use crate::monitor_node::is_alive;
use crate::node;
use crate::process_info::take_signals;
use crate::suspended::returning;

/// What this file provides.
pub const BUILT_INS: &[BuiltIn] = &[
    BuiltIn::new("erlang", "monitor", 2, monitor_2),
    BuiltIn::new("erlang", "monitor", 3, monitor_3),
    BuiltIn::new("erlang", "demonitor", 1, demonitor_1),
    BuiltIn::new("erlang", "demonitor", 2, demonitor_2),
    BuiltIn::new("erlang", "alias", 0, alias_0),
    BuiltIn::new("erlang", "alias", 1, alias_1),
    BuiltIn::new("erlang", "unalias", 1, unalias),
];

/// The value of the option `alias` of a monitor.
pub fn alias_kind(kind: Term) -> Option<AliasKind> {
    match kind {
        atoms::EXPLICIT_UNALIAS => Some(AliasKind::Explicit),
        atoms::DEMONITOR => Some(AliasKind::Demonitor),
        atoms::REPLY_DEMONITOR => Some(AliasKind::ReplyDemonitor),
        _ => None,
    }
}

#[derive(Default)]
struct Options {
    alias: Option<AliasKind>,
    tag: Option<Term>,
}

fn read_options(list: Term) -> Option<Options> {
    let mut options = Options::default();
    for option in list::elements(list)? {
        match *option.tuple_elements()? {
            [atoms::ALIAS, kind] => options.alias = Some(alias_kind(kind)?),
            [tag, value] if tag == known_atom("tag") => options.tag = Some(value),
            _ => return None,
        }
    }
    Some(options)
}

fn monitor_2(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    monitor(caller, arguments[0], arguments[1], Options::default())
}

fn monitor_3(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    match read_options(arguments[2]) {
        Some(options) => monitor(caller, arguments[0], arguments[1], options),
        None => Err(badopt(caller)),
    }
}

fn monitor(caller: &mut Caller<'_>, kind: Term, target: Term, options: Options) -> Outcome {
    match kind {
        atoms::PROCESS => monitor_process(caller, target, options),
        atoms::PORT => match *target.tuple_elements().unwrap_or(&[target]) {
            // This machine is no distributed node.
            [port] if port.is_local_port() || port.is_atom() => monitor_port(caller, port, &options),
            [named, atoms::NONODE_NOHOST] if named.is_atom() => monitor_port(caller, named, &options),
            [port] if matches!(port.view(), View::External(port) if port.kind == ExternalKind::Port && port.node == node::this()) =>
            {
                let reference = start(caller, Term::NONE, Term::NONE, &options);
                missing(caller, reference, atoms::PORT, port, atoms::NOPROC);
                Ok(term_of(caller, reference, &options))
            }
            _ => Err(badarg()),
        },
        // The offset never changes: the machine's time does not warp.
        atoms::TIME_OFFSET if target == known_atom("clock_service") => {
            let reference = start(caller, Term::NONE, Term::NONE, &options);
            Ok(term_of(caller, reference, &options))
        }
        _ => Err(error_with_cause(caller, atoms::BADARG, known_atom("badtype"))),
    }
}

fn monitor_port(caller: &mut Caller<'_>, target: Term, options: &Options) -> Outcome {
    let system = System::get();
    let named = if target.is_atom() { target } else { Term::NONE };
    let port = if target.is_atom() { system.whereis(target).unwrap_or(Term::NONE) } else { target };
    let reference = start(caller, port, named, options);
    if port.is_local_port() {
        let from = caller.process.pid;
        let signal = signal::bare(Signal::Monitor { from, reference, name: named, tag: atoms::DOWN });
        system.deliver_or_answer(port, signal);
    } else {
        missing(caller, reference, atoms::PORT, target, atoms::NOPROC);
    }
    Ok(term_of(caller, reference, options))
}

fn monitor_process(caller: &mut Caller<'_>, target: Term, options: Options) -> Outcome {
    let system = System::get();
    let (pid, named) = match target.view() {
        View::Pid(_) => (target, Term::NONE),
        View::Atom(registered) => (system.whereis(registered).unwrap_or(Term::NONE), registered),
        View::Tuple(&[registered, node]) if registered.is_atom() && node.is_atom() => {
            if node != node::this() {
                return elsewhere(caller, target, &options);
            }
            (system.whereis(registered).unwrap_or(Term::NONE), registered)
        }
        View::External(_) if target.is_pid() => return elsewhere(caller, target, &options),
        _ => return Err(badarg()),
    };
    let me = caller.process.pid;
    if pid == me {
        // A monitor of oneself sends nothing: it ends with the process.
        return Ok(term_of(caller, ReferenceId::fresh(), &options));
    }
    let reference = start(caller, pid, named, &options);
    let signal = signal::bare(Signal::Monitor { from: me, reference, name: named, tag: atoms::DOWN });
    system.deliver_or_answer(pid, signal);
    Ok(term_of(caller, reference, &options))
}

/// A process of another node. Without a name, this one does not know of other nodes' names.
fn elsewhere(caller: &mut Caller<'_>, target: Term, options: &Options) -> Outcome {
    if !target.is_pid() && !is_alive(caller) {
        return Err(badarg());
    }
    let reference = start(caller, Term::NONE, Term::NONE, options);
    let other = match (RemotePid::of(target), target.tuple_elements()) {
        (Some(pid), _) => RemoteTarget::Pid(pid),
        (None, Some(&[name, node])) => RemoteTarget::Name { name, node },
        _ => return Err(badarg()),
    };
    // A pid of this node from an earlier run is of nobody.
    if other.node() == node::this() {
        missing(caller, reference, atoms::PROCESS, target, atoms::NOPROC);
        return Ok(term_of(caller, reference, options));
    }
    let term = term_of(caller, reference, options);
    match atoll_distribution::monitor(caller.process.pid, caller.own, reference, other) {
        Wished::Done => {}
        Wished::Busy => return Err(returning(term)),
        _ => missing(caller, reference, atoms::PROCESS, target, atoms::NOCONNECTION),
    }
    Ok(term)
}

/// Notes a monitor with this process.
fn start(caller: &mut Caller<'_>, target: Term, named: Term, options: &Options) -> ReferenceId {
    let reference = ReferenceId::fresh();
    let rare = caller.own.rare();
    rare.monitoring.insert(reference, OutgoingMonitor { target, name: named, tag: atoms::DOWN });
    if let Some(tag) = options.tag {
        rare.tags.insert(reference, tag);
    }
    reference
}

/// The reference as the program gets it: an alias if it asked for one.
fn term_of(caller: &mut Caller<'_>, reference: ReferenceId, options: &Options) -> Term {
    let me = caller.process.pid;
    match options.alias {
        Some(kind) => {
            caller.own.rare().aliases.insert(reference, kind);
            reference.alias_term(caller.heap(), me)
        }
        None => reference.term(caller.heap()),
    }
}

/// Sends this process the message that what it watches does not exist.
fn missing(caller: &mut Caller<'_>, reference: ReferenceId, kind: Term, target: Term, reason: Term) {
    use atoll_term::Build;
    let pid = caller.process.pid;
    let heap = caller.heap();
    let reference_term = reference.term(heap);
    let object = if target.is_atom() { heap.tuple(&[target, node::this()]) } else { target };
    let message = heap.tuple(&[atoms::DOWN, reference_term, kind, object, reason]);
    let fragment = atoll_heap::architecture().send(heap, message);
    System::get().deliver_or_answer(pid, signal::attach(fragment, Signal::Down { reference }));
}

fn reference_of(term: Term) -> Option<ReferenceId> {
    ReferenceId::of(term)
}

/// Whether a reference is of a monitor that another process made.
fn is_foreign(caller: &Caller<'_>, term: Term) -> bool {
    matches!(term.view(), View::Reference(reference) if reference.alias_of().is_some_and(|pid| pid != caller.process.pid))
}

fn demonitor_1(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    stop(caller, arguments[0])?;
    Ok(atoms::TRUE)
}

fn stop(caller: &mut Caller<'_>, reference: Term) -> Result<bool, atoll_process::Interrupt> {
    if !reference.is_reference() {
        return Err(badarg());
    }
    if is_foreign(caller, reference) {
        return Err(badarg());
    }
    let Some(reference) = reference_of(reference) else { return Ok(false) };
    // There is nothing to end before a process that another node makes is there.
    let remote = caller.own.rare.as_ref().and_then(|rare| rare.remote.as_ref());
    if remote.is_some_and(|remote| remote.spawning.contains_key(&reference)) {
        return Ok(false);
    }
    Ok(demonitor(caller.process.pid, caller.own, reference))
}

fn demonitor_2(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let (mut flush, mut info) = (false, false);
    for option in list::elements_or_badarg(arguments[1])? {
        match option {
            atoms::FLUSH => flush = true,
            atoms::INFO => info = true,
            _ => return Err(badarg()),
        }
    }
    let mut found = stop(caller, arguments[0])?;
    if flush && !found {
        take_signals(caller)?;
        let reference = arguments[0];
        let is_its_message = |message: Term| matches!(message.tuple_elements(), Some([_, own, _, _, _]) if atoll_term::exactly_equal(*own, reference));
        // As documented: with `info`, false means that a message was taken out of the queue.
        if take_matching(caller.own, is_its_message).is_some() {
            found = false;
        }
    }
    Ok(Term::boolean(found || !info))
}

fn alias_0(caller: &mut Caller<'_>, _: &[Term]) -> Outcome {
    new_alias(caller, AliasKind::Explicit)
}

fn alias_1(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let mut kind = AliasKind::Explicit;
    for option in list::elements_or_badarg(arguments[0])? {
        kind = match option {
            atoms::REPLY => AliasKind::Reply,
            atoms::EXPLICIT_UNALIAS => AliasKind::Explicit,
            _ => return Err(badarg()),
        };
    }
    new_alias(caller, kind)
}

fn new_alias(caller: &mut Caller<'_>, kind: AliasKind) -> Outcome {
    let reference = ReferenceId::fresh();
    let me = caller.process.pid;
    caller.own.rare().aliases.insert(reference, kind);
    Ok(reference.alias_term(caller.heap(), me))
}

fn unalias(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    if !arguments[0].is_reference() || is_foreign(caller, arguments[0]) {
        return Err(badarg());
    }
    // A message that was sent before counts as received before.
    take_signals(caller)?;
    let removed = reference_of(arguments[0]).is_some_and(|reference| {
        caller.own.rare.as_mut().is_some_and(|rare| rare.aliases.remove(&reference).is_some())
    });
    Ok(Term::boolean(removed))
}
