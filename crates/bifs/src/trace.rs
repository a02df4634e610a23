//! `erlang:trace/3` and what belongs to it: which processes tell what, and to whom.

use atoll_operations::Exception;
use atoll_process::tracing::{self, Tracing};
use atoll_process::{BuiltIn, Caller, Outcome, Own, ReferenceId, Stopped, System};
use atoll_term::{Build, Term, atoms};

use crate::process_support::{Name, badarg, list_elements, name};
use crate::support::row;
use crate::trace_events;
use crate::trace_pattern::{function_info, on_load_info};

/// What this file provides.
pub const BUILT_INS: &[BuiltIn] = &[
    row("erts_internal", "trace", 3, trace),
    row("erlang", "trace_info", 2, trace_info),
    row("erlang", "trace_delivered", 1, trace_delivered),
];

/// Flags by name, in the order in which they are told.
const FLAGS: [(&str, u32); 21] = [
    ("running_procs", tracing::RUNNING),
    ("running_ports", tracing::PORTS),
    ("ports", tracing::PORTS),
    ("scheduler_id", tracing::SCHEDULER_ID),
    ("silent", tracing::SILENT),
    ("return_to", tracing::RETURN_TO),
    ("arity", tracing::ARITY),
    ("garbage_collection", tracing::GARBAGE_COLLECTION),
    ("exiting", tracing::EXITING),
    ("running", tracing::RUNNING),
    ("set_on_first_link", tracing::ON_FIRST_LINK),
    ("set_on_link", tracing::ON_LINK),
    ("set_on_first_spawn", tracing::ON_FIRST_SPAWN),
    ("procs", tracing::PROCS),
    ("call", tracing::CALL),
    ("set_on_spawn", tracing::ON_SPAWN),
    ("receive", tracing::RECEIVE),
    ("send", tracing::SEND),
    ("monotonic_timestamp", tracing::MONOTONIC),
    ("strict_monotonic_timestamp", tracing::STRICT_MONOTONIC),
    ("timestamp", tracing::TIMESTAMP),
];

/// Flags about how something is told that `all` stands for too.
const HOW: u32 = tracing::TIMESTAMP | tracing::MONOTONIC | tracing::STRICT_MONOTONIC | tracing::SCHEDULER_ID;

/// All flags that concern what is told.
const ALL: u32 = tracing::SEND
    | tracing::RECEIVE
    | tracing::PROCS
    | tracing::CALL
    | tracing::SILENT
    | tracing::RETURN_TO
    | tracing::RUNNING
    | tracing::EXITING
    | tracing::GARBAGE_COLLECTION
    | tracing::ARITY
    | tracing::ON_SPAWN
    | tracing::ON_FIRST_SPAWN
    | tracing::ON_LINK
    | tracing::ON_FIRST_LINK
    | tracing::PORTS;

static TRACER: Name = Name::new("tracer");
static CPU_TIMESTAMP: Name = Name::new("cpu_timestamp");

/// Whether this names a process or a port, alive or not.
pub fn is_tracer(term: Term) -> bool {
    term.is_local_pid() || term.is_local_port()
}

/// Whether a module and its state stand for a process or a port: those of OTP's own module do.
pub fn is_tracer_of(module: Term, state: Term) -> bool {
    module == name("erl_tracer") && is_tracer(state)
}

/// Flags of a list, the tracer if one is named (a process or a port), and whether times are to be processor times.
fn flags_of(list: Term) -> Option<(u32, Option<Term>, bool)> {
    let (mut flags, mut tracer, mut cpu) = (0, None, false);
    for flag in list_elements(list)? {
        match flag.tuple_elements() {
            Some(&[key, own]) if key == TRACER.get() && is_tracer(own) => tracer = Some(own),
            Some(&[key, module, own]) if key == TRACER.get() && is_tracer_of(module, own) => tracer = Some(own),
            None if flag == atoms::ALL => flags |= ALL | HOW,
            None if flag == CPU_TIMESTAMP.get() => cpu = true,
            None if flag.is_atom() => {
                let known = FLAGS.iter().find(|(known, _)| *known == atoms::atom_name(flag))?;
                flags |= known.1;
            }
            _ => return None,
        }
    }
    Some((flags, tracer, cpu))
}

/// Which processes a call of `trace/3` concerns.
struct Scope {
    existing: bool,
    new: bool,
}

fn scope(term: Term) -> Option<Scope> {
    let word = if term.is_atom() { atoms::atom_name(term) } else { "" };
    let (existing, new) = match word {
        "all" | "processes" => (true, true),
        "existing" | "existing_processes" => (true, false),
        "new" | "new_processes" => (false, true),
        "ports" | "existing_ports" | "new_ports" => (false, false),
        _ => return None,
    };
    Some(Scope { existing, new })
}

/// A change of what is traced.
struct Change {
    on: bool,
    flags: u32,
    tracer: Term,
}

impl Change {
    /// What tracing becomes; none if another tracer has it already.
    fn apply(&self, old: Option<Tracing>) -> Option<Option<Tracing>> {
        let other = old.is_some_and(|old| old.tracer != self.tracer && tracing::is_there(old.tracer));
        if self.on && other {
            return None;
        }
        let flags = old.map_or(0, |old| old.flags);
        let flags = if self.on { flags | self.flags } else { flags & !self.flags };
        let tracer = if self.on { self.tracer } else { old.map_or(self.tracer, |old| old.tracer) };
        Some(tells(flags).then_some(Tracing { flags, tracer }))
    }

    fn apply_to(&self, own: &mut Own) -> bool {
        let Some(changed) = self.apply(own.tracing_asked()) else { return false };
        own.set_tracing(changed);
        true
    }
}

/// Whether a process with these flags has anything to tell.
fn tells(flags: u32) -> bool {
    flags & (ALL & !(tracing::ARITY | tracing::SILENT | tracing::RETURN_TO)) != 0
}

/// What a match specification does with flags: those of `off` are cleared, those of `on` set, which may name a tracer.
/// It concerns this process, or the one of this pid or name, which gets the tracer of this process if none is named;
/// without one it is traced no more. Flags that there are not change nothing.
pub fn change_flags(me: Term, own: &mut Own, pid: Option<Term>, off: Term, on: Term) {
    let (Some((off, ..)), Some((on, tracer, _))) = (flags_of(off), flags_of(on)) else { return };
    let mine = own.tracing_asked().map(|tracing| tracing.tracer);
    let pid = pid.map(|pid| if pid.is_atom() { System::get().whereis(pid).unwrap_or(Term::NONE) } else { pid });
    let change = |own: &mut Own| {
        let old = own.tracing_asked();
        let Some(tracer) = tracer.or(mine) else { return own.set_tracing(None) };
        let flags = old.map_or(0, |old| old.flags) & !off | on;
        own.set_tracing(tells(flags).then_some(Tracing { flags, tracer }));
    };
    match pid {
        Some(pid) if pid != me => Stopped::by(Some(own)).each(|process, own| {
            if process.pid == pid {
                change(own);
            }
        }),
        _ => change(own),
    }
}

/// `trace(PidsOrWhich, On, Flags)`: how many processes it concerns.
fn trace(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let &[which, how, list] = arguments else { return Err(badarg()) };
    let on = match how {
        atoms::TRUE => true,
        atoms::FALSE => false,
        _ => return Err(badarg()),
    };
    let (flags, tracer, cpu) = flags_of(list).ok_or_else(badarg)?;
    if cpu && which != atoms::ALL {
        return Err(badarg());
    }
    if cpu {
        tracing::CPU_TIMES.store(on, std::sync::atomic::Ordering::Relaxed);
    }
    let change = Change { on, flags, tracer: tracer.unwrap_or(caller.process.pid) };
    if which.is_local_pid() {
        return trace_one(caller, &change, which);
    }
    let scope = scope(which).ok_or_else(badarg)?;
    if scope.new
        && let Some(changed) = change.apply(tracing::of_new())
    {
        tracing::set_of_new(changed);
    }
    let mut count = 0;
    if scope.existing {
        Stopped::by(Some(caller.own)).each(|_, own| count += i64::from(!own.flags.system && change.apply_to(own)));
    }
    Ok(Term::small(count))
}

fn trace_one(caller: &mut Caller<'_>, change: &Change, pid: Term) -> Outcome {
    let mut found = false;
    Stopped::by(Some(caller.own)).each(|process, own| {
        if process.pid == pid {
            found = change.apply_to(own);
        }
    });
    if found { Ok(Term::small(1)) } else { Err(badarg()) }
}

/// `trace_delivered(Tracee)`: what was told is in the tracer's inbox as soon as it is told, so the answer is there at
/// once.
fn trace_delivered(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let tracee = arguments[0];
    if !(tracee.is_local_pid() || tracee == atoms::ALL) {
        return Err(badarg());
    }
    let pid = caller.process.pid;
    let heap = caller.heap();
    let reference = ReferenceId::fresh().term(heap);
    let message = heap.tuple(&[name("trace_delivered"), tracee, reference]);
    // The machine sends it, not the process.
    tracing::post(pid, Some(heap), message);
    Ok(reference)
}

fn flag_list(caller: &mut Caller<'_>, flags: u32) -> Term {
    let is_alias = |word: &str| matches!(word, "running_procs" | "running_ports");
    let set = FLAGS.iter().filter(|(word, flag)| flags & flag != 0 && !is_alias(word));
    let names: Vec<Term> = set.map(|(word, _)| name(word)).collect();
    caller.heap().list(names)
}

/// `trace_info(Pid | new | {M, F, A} | on_load | send | 'receive', Item)`
fn trace_info(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let &[which, item] = arguments else { return Err(badarg()) };
    if let Some(&[module, function, arity]) = which.tuple_elements() {
        return function_info(caller, (module, function, arity), item);
    }
    let word = if which.is_atom() { atoms::atom_name(which) } else { "" };
    let found = match word {
        "new" | "new_processes" => tracing::of_new(),
        "new_ports" => None,
        "on_load" => return on_load_info(caller, item),
        "send" | "receive" if item == name("match_spec") => {
            let choice = trace_events::shown(caller, word == "send");
            return Ok(caller.heap().tuple(&[item, choice]));
        }
        _ if which.is_local_pid() => {
            let mut found = None;
            Stopped::by(Some(caller.own)).each(|process, own| {
                if process.pid == which {
                    found = Some(own.tracing_asked());
                }
            });
            match found {
                Some(found) => found,
                None => return Ok(atoms::UNDEFINED),
            }
        }
        _ => return Err(badarg()),
    };
    let value = match if item.is_atom() { atoms::atom_name(item) } else { "" } {
        "flags" => flag_list(caller, found.map_or(0, |tracing| tracing.flags)),
        "tracer" => match found {
            Some(tracing) if tracing::is_there(tracing.tracer) => tracing.tracer,
            _ => Term::NIL,
        },
        _ => return Err(Exception::badarg().into()),
    };
    Ok(caller.heap().tuple(&[item, value]))
}
