//! Trace flags: their names, lists of them, and how match specifications change them.

use atoll_operations::list;
use atoll_process::tracing::{self, FlagChange};
use atoll_process::{Own, System};
use atoll_term::atoms::LazyAtom;
use atoll_term::{Immediate, Term, atoms};

use crate::tracers::{is_tracer, tracer_of};

/// Flags by name, in the order in which `trace_info` lists them.
pub const FLAGS: [(&str, u32); 21] = [
    ("running_procs", tracing::RUNNING),
    ("running_ports", tracing::RUNNING_PORTS),
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

/// Flags for the form of trace messages that `all` stands for too.
const HOW: u32 = tracing::TIMESTAMP | tracing::MONOTONIC | tracing::STRICT_MONOTONIC | tracing::SCHEDULER_ID;

/// All flags that choose the events that are reported.
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
    | tracing::PORTS
    | tracing::RUNNING_PORTS;

static TRACER: LazyAtom = LazyAtom::new("tracer");
static CPU_TIMESTAMP: LazyAtom = LazyAtom::new("cpu_timestamp");

/// Flags of a list, the tracer if one is named, and whether times are to be processor times.
pub fn flags_of(list: Term) -> Option<(u32, Option<Term>, bool)> {
    let (mut flags, mut tracer, mut cpu) = (0, None, false);
    for flag in list::elements(list)? {
        match flag.tuple_elements() {
            Some(&[key, own]) if key == TRACER.get() && is_tracer(own) => tracer = Some(own),
            Some(&[key, module, state]) if key == TRACER.get() => tracer = Some(tracer_of(module, state)?),
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

/// What a match specification does with flags: those of `off` are cleared, those of `on` set, which may name a tracer.
/// It concerns this process, or the one of this pid or name, which gets the tracer of this process if none is named;
/// without one it is traced no more. Flags that there are not change nothing.
pub fn change_flags(me: Term, own: &mut Own, pid: Option<Term>, off: Term, on: Term) {
    let (Some((off, ..)), Some((on, tracer, _))) = (flags_of(off), flags_of(on)) else { return };
    tracing::make_own_late_changes(me, own);
    let mine = own.tracing_asked().map(|tracing| tracing.tracer);
    let pid = pid.map(|pid| if pid.is_atom() { System::get().whereis(pid).unwrap_or(Term::NONE) } else { pid });
    let change = FlagChange { off, on, tracer: tracer.or(mine).and_then(Immediate::of) };
    match pid {
        Some(pid) if pid != me && !pid.is_local_pid() => {}
        Some(pid) if pid != me => tracing::change_flags_of(pid, own, change),
        _ => change.apply(own),
    }
}
