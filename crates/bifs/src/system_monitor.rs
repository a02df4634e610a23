//! `erlang:system_monitor`: sets the process that gets reports of long collections, large heaps and long time slices.

use atoll_operations::list;
use atoll_process::watch::{Watch, set_watch, watch};
use atoll_process::{BuiltIn, Caller, Outcome, System, badarg};
use atoll_term::atoms::known_atom;
use atoll_term::{Build, Term, atoms};

/// What this file provides.
pub const BUILT_INS: &[BuiltIn] = &[
    BuiltIn::new("erlang", "system_monitor", 0, get),
    BuiltIn::new("erlang", "system_monitor", 1, set_pair),
    BuiltIn::new("erlang", "system_monitor", 2, set),
    BuiltIn::new("erts_internal", "system_monitor", 1, get_of_session),
    BuiltIn::new("erts_internal", "system_monitor", 3, set_of_session),
];

/// Least limit of `large_heap` in words, as in OTP.
const LEAST_LARGE_HEAP: usize = 16_384;

fn get(caller: &mut Caller<'_>, _: &[Term]) -> Outcome {
    Ok(settings(caller, watch()))
}

/// `undefined` or `{Pid, Options}`
fn set_pair(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    match arguments[0].tuple_elements() {
        Some(&[pid, options]) => set(caller, &[pid, options]),
        None if arguments[0] == atoms::UNDEFINED => {
            let old = set_watch(None);
            Ok(settings(caller, old))
        }
        _ => Err(badarg()),
    }
}

fn set(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let new = read(arguments[0], arguments[1]).ok_or_else(badarg)?;
    let nothing = list::elements(arguments[1]).is_some_and(|options| options.is_empty());
    let old = set_watch((!nothing).then_some(new));
    Ok(settings(caller, old))
}

/// `system_monitor(legacy)`: there is one set of settings, that of no session.
fn get_of_session(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    if arguments[0] == known_atom("legacy") { get(caller, &[]) } else { Err(badarg()) }
}

/// `system_monitor(legacy, Pid | undefined, Options)`
fn set_of_session(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let &[session, pid, options] = arguments else { return Err(badarg()) };
    match pid {
        _ if session != known_atom("legacy") => Err(badarg()),
        atoms::UNDEFINED => set_pair(caller, &[atoms::UNDEFINED]),
        _ => set(caller, &[pid, options]),
    }
}

fn read(pid: Term, options: Term) -> Option<Watch> {
    if !pid.is_local_pid() || !System::get().table.contains(pid) {
        return None;
    }
    let mut watch = Watch {
        pid,
        long_collection: 0,
        long_slice: 0,
        large_heap: 0,
        busy_port: false,
        busy_distribution_port: false,
    };
    for option in list::elements(options)? {
        if let Some(&[key, value]) = option.tuple_elements() {
            let value = usize::try_from(value.as_small()?).ok()?;
            match key.is_atom().then(|| atoms::atom_name(key))? {
                "long_gc" => watch.long_collection = value.max(1),
                "long_schedule" => watch.long_slice = value.max(1),
                "large_heap" => watch.large_heap = value.max(LEAST_LARGE_HEAP),
                _ => return None,
            }
        } else {
            match option.is_atom().then(|| atoms::atom_name(option))? {
                "busy_port" => watch.busy_port = true,
                "busy_dist_port" => watch.busy_distribution_port = true,
                _ => return None,
            }
        }
    }
    Some(watch)
}

/// `undefined` or `{Pid, Options}`
fn settings(caller: &mut Caller<'_>, watch: Option<Watch>) -> Term {
    let Some(watch) = watch else { return atoms::UNDEFINED };
    let heap = caller.heap();
    let switches = [("busy_dist_port", watch.busy_distribution_port), ("busy_port", watch.busy_port)];
    let limits =
        [("large_heap", watch.large_heap), ("long_schedule", watch.long_slice), ("long_gc", watch.long_collection)];
    let mut options: Vec<Term> = switches.iter().filter(|(_, on)| *on).map(|(key, _)| known_atom(key)).collect();
    for (key, limit) in limits {
        if limit > 0 {
            options.push(heap.tuple(&[known_atom(key), Term::small(limit as i64)]));
        }
    }
    let options = heap.list(options);
    heap.tuple(&[watch.pid, options])
}
