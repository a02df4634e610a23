//! `erlang:trace/3` and what belongs to it: which processes send trace messages, about what, and to which tracer.

use atoll_operations::Exception;
use atoll_process::tracers;
use atoll_process::tracing::{self, Tracing};
use atoll_process::{BuiltIn, Caller, Outcome, Own, ReferenceId, System, badarg};
use atoll_term::atoms::known_atom;
use atoll_term::{Build, Term, atoms};

use crate::trace_events;
use crate::trace_flags::{FLAGS, flags_of};
use crate::trace_pattern::{function_info, on_load_info};
use crate::tracers::shown;

/// What this file provides.
pub const BUILT_INS: &[BuiltIn] = &[
    BuiltIn::new("erts_internal", "trace", 3, trace),
    BuiltIn::new("erlang", "trace_info", 2, trace_info),
    BuiltIn::new("erlang", "trace_delivered", 1, trace_delivered),
];

/// Which processes and ports a call of `trace/3` concerns.
struct Scope {
    existing: bool,
    new: bool,
    existing_ports: bool,
    new_ports: bool,
}

fn scope(term: Term) -> Option<Scope> {
    let word = atoms::name_if_atom(term);
    let (when, what) = match word {
        "all" | "existing" | "new" => (word, ""),
        "processes" | "ports" => ("all", word),
        _ => word
            .split_once('_')
            .filter(|(when, what)| matches!(*when, "existing" | "new") && matches!(*what, "processes" | "ports"))?,
    };
    let (existing, new) = (when != "new", when != "existing");
    let (processes, ports) = (what != "ports", what != "processes");
    Some(Scope {
        existing: existing && processes,
        new: new && processes,
        existing_ports: existing && ports,
        new_ports: new && ports,
    })
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
        Some(tracing::reports_anything(flags).then_some(Tracing { flags, tracer }))
    }

    fn apply_to(&self, own: &mut Own) -> bool {
        let Some(changed) = self.apply(own.tracing_asked()) else { return false };
        own.set_tracing(changed);
        true
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
        System::get().tracing.cpu_times.store(on, std::sync::atomic::Ordering::Relaxed);
    }
    let mut change = Change { on, flags, tracer: tracer.unwrap_or(caller.process.pid) };
    if on && (which.is_local_pid() || which.is_local_port()) && !tracers::goes_on(change.tracer, which) {
        change.flags = 0;
    }
    if which.is_local_pid() {
        return trace_one(caller, arguments, &change, which);
    }
    let ports = System::get().ports.get();
    let change_ports = |port| ports.map_or(0, |ports| ports.change_tracing(port, &|old| change.apply(old)));
    if which.is_local_port() {
        return if change_ports(Some(which)) > 0 { Ok(Term::small(1)) } else { Err(badarg()) };
    }
    let scope = scope(which).ok_or_else(badarg)?;
    if scope.new_ports
        && let Some(changed) = change.apply(tracing::of_new_ports())
    {
        tracing::set_of_new_ports(changed);
    }
    if scope.new
        && let Some(changed) = change.apply(tracing::of_new())
    {
        tracing::set_of_new(changed);
    }
    let mut count = 0;
    if scope.existing {
        let mut stopped = tracing::stop(caller.own, arguments)?;
        stopped.each(|_, own| count += i64::from(!own.flags.system() && change.apply_to(own)));
    }
    if scope.existing_ports {
        count += change_ports(None) as i64;
    }
    Ok(Term::small(count))
}

fn trace_one(caller: &mut Caller<'_>, arguments: &[Term], change: &Change, pid: Term) -> Outcome {
    let mut found = false;
    tracing::stop(caller.own, arguments)?.each(|process, own| {
        if process.pid == pid {
            found = change.apply_to(own);
        }
    });
    if found { Ok(Term::small(1)) } else { Err(badarg()) }
}

/// `trace_delivered(Tracee)`: a trace message is in the tracer's inbox as soon as the tracee has sent it, so the answer
/// comes at once.
fn trace_delivered(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let tracee = arguments[0];
    if !(tracee.is_local_pid() || tracee == atoms::ALL) {
        return Err(badarg());
    }
    let pid = caller.process.pid;
    let heap = caller.heap();
    let reference = ReferenceId::fresh().term(heap);
    let message = heap.tuple(&[known_atom("trace_delivered"), tracee, reference]);
    // The machine sends it, not the process.
    tracing::post(pid, heap, message);
    Ok(reference)
}

fn flag_list(caller: &mut Caller<'_>, flags: u32) -> Term {
    let is_alias = |word: &str| matches!(word, "running_procs");
    let set = FLAGS.iter().filter(|(word, flag)| flags & flag != 0 && !is_alias(word));
    let names: Vec<Term> = set.map(|(word, _)| known_atom(word)).collect();
    caller.heap().list(names)
}

/// `trace_info(Pid | new | {M, F, A} | on_load | send | 'receive', Item)`
fn trace_info(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let &[which, item] = arguments else { return Err(badarg()) };
    if let Some(&[module, function, arity]) = which.tuple_elements() {
        return function_info(caller, (module, function, arity), item);
    }
    let word = atoms::name_if_atom(which);
    let found = match word {
        "new" | "new_processes" => tracing::of_new(),
        "new_ports" => tracing::of_new_ports(),
        _ if which.is_local_port() => match System::get().ports.get().and_then(|ports| ports.tracing_of(which)) {
            Some(found) => found,
            None => return Ok(atoms::UNDEFINED),
        },
        "on_load" => return on_load_info(caller, item),
        "send" | "receive" if item == known_atom("match_spec") => {
            let choice = trace_events::shown(caller, word == "send");
            return Ok(caller.heap().tuple(&[item, choice]));
        }
        _ if which.is_local_pid() => {
            let mut found = None;
            tracing::stop(caller.own, arguments)?.each(|process, own| {
                if process.pid == which {
                    found = Some(own.tracing_asked());
                }
            });
            match found {
                Some(found) => found.filter(|tracing| tracers::goes_on(tracing.tracer, which)),
                None => return Ok(atoms::UNDEFINED),
            }
        }
        _ => return Err(badarg()),
    };
    let found = found.filter(|tracing| tracing::is_there(tracing.tracer));
    let value = match atoms::name_if_atom(item) {
        "flags" => flag_list(caller, found.map_or(0, |tracing| tracing.flags)),
        "tracer" => match found {
            Some(tracing) => shown(caller.heap(), tracing.tracer),
            None => Term::NIL,
        },
        _ => return Err(Exception::badarg().into()),
    };
    Ok(caller.heap().tuple(&[item, value]))
}
