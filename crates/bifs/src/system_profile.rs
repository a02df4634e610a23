//! `erlang:system_profile`: sets the process or port that learns when processes, ports and schedulers become active.

use atoll_operations::list;
use atoll_process::profile::{Profile, profile, set_profile};
use atoll_process::{BuiltIn, Caller, Outcome, badarg, tracing};
use atoll_term::atoms::known_atom;
use atoll_term::{Build, Term, atoms};

/// What this file provides.
pub const BUILT_INS: &[BuiltIn] =
    &[BuiltIn::new("erlang", "system_profile", 0, get), BuiltIn::new("erlang", "system_profile", 2, set)];

fn get(caller: &mut Caller<'_>, _: &[Term]) -> Outcome {
    Ok(settings(caller, profile()))
}

/// `system_profile(Profiler | undefined, Options)`
fn set(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let &[profiler, options] = arguments else { return Err(badarg()) };
    let new = match profiler == atoms::UNDEFINED || options == Term::NIL {
        true => None,
        false => Some(read(profiler, options).ok_or_else(badarg)?),
    };
    let old = set_profile(new);
    Ok(settings(caller, old))
}

fn read(pid: Term, options: Term) -> Option<Profile> {
    let mut profile =
        Profile { pid, processes: false, ports: false, schedulers: false, exclusive: false, time: tracing::TIMESTAMP };
    for option in list::elements(options)? {
        match option.is_atom().then(|| atoms::atom_name(option))? {
            "runnable_procs" => profile.processes = true,
            "runnable_ports" => profile.ports = true,
            "scheduler" => profile.schedulers = true,
            "exclusive" => profile.exclusive = true,
            "timestamp" => profile.time = tracing::TIMESTAMP,
            "monotonic_timestamp" => profile.time = tracing::MONOTONIC,
            "strict_monotonic_timestamp" => profile.time = tracing::STRICT_MONOTONIC,
            _ => return None,
        }
    }
    tracing::is_there(pid).then_some(profile)
}

/// `undefined` or `{Profiler, Options}`
fn settings(caller: &mut Caller<'_>, profile: Option<Profile>) -> Term {
    let Some(profile) = profile else { return atoms::UNDEFINED };
    let switches = [
        ("exclusive", profile.exclusive),
        ("scheduler", profile.schedulers),
        ("runnable_procs", profile.processes),
        ("runnable_ports", profile.ports),
    ];
    let options: Vec<Term> = switches.iter().filter(|(_, on)| *on).map(|(key, _)| known_atom(key)).collect();
    let heap = caller.heap();
    let options = heap.list(options);
    heap.tuple(&[profile.pid, options])
}
