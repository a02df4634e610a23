//! `ports/0`, `port_info/1,2`.

use atoll_operations::Exception;
use atoll_process::{BuiltIn, Caller, Outcome, System};
use atoll_term::atoms::known_atom;
use atoll_term::{Build, Term, atoms};

use crate::driver::Driver;
use crate::port::{Port, State};
use crate::table::{all, find_or_name};

/// What this file provides.
pub const BUILT_INS: &[BuiltIn] = &[
    BuiltIn::new("erlang", "ports", 0, ports),
    BuiltIn::new("erts_internal", "port_info", 1, port_info),
    BuiltIn::new("erts_internal", "port_info", 2, port_info_item),
];

/// What `port_info/1` shows.
const USUAL: [&str; 7] = ["name", "links", "id", "connected", "input", "output", "os_pid"];

fn ports(caller: &mut Caller<'_>, _: &[Term]) -> Outcome {
    Ok(caller.heap().list(all()))
}

fn registered_name(port: &Port) -> Option<Term> {
    System::get().names.name_of(port.id)
}

/// An item's value: `Err(())` if there is no such item, `None` if the port has nothing to say.
fn item(
    heap: &mut atoll_heap::Mutator,
    (port, state, driver): (&Port, &State, &dyn Driver),
    item: &str,
) -> Result<Option<Term>, ()> {
    let list = |heap: &mut atoll_heap::Mutator, terms: Vec<Term>| heap.list(terms);
    Ok(Some(match item {
        "name" => heap.string(&port.name),
        "links" => list(heap, state.links.clone()),
        "id" => Term::small(port.id.immediate_data() as i64 * 8),
        "connected" => state.connected,
        "input" => heap.unsigned(state.input),
        "output" => heap.unsigned(state.output),
        "os_pid" => driver.os_pid().map_or(atoms::UNDEFINED, |pid| Term::small(pid.into())),
        "registered_name" => return Ok(registered_name(port)),
        "monitors" => {
            let monitored = driver.monitors(port);
            let pairs = monitored.into_iter().map(|pid| heap.tuple(&[atoms::PROCESS, pid])).collect();
            list(heap, pairs)
        }
        "monitored_by" => list(heap, state.monitors.iter().map(|monitor| monitor.watcher).collect()),
        "queue_size" => heap.unsigned(driver.pending() as u64),
        "memory" => Term::small(size_of::<Port>() as i64),
        "locking" => known_atom("port_level"),
        "parallelism" => atoms::FALSE,
        _ => return Err(()),
    }))
}

fn port_info(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    if !arguments[0].is_atom() && !arguments[0].is_port() {
        return Ok(atoms::BADARG);
    }
    let Some(port) = find_or_name(arguments[0]) else { return Ok(atoms::UNDEFINED) };
    let heap = caller.heap();
    let list = port.with(|port, state, driver| {
        let mut pairs = Vec::new();
        for key in ["registered_name"].into_iter().chain(USUAL) {
            if let Ok(Some(value)) = item(heap, (port, state, driver), key) {
                pairs.push(heap.tuple(&[known_atom(key), value]));
            }
        }
        heap.list(pairs)
    });
    Ok(list.unwrap_or(atoms::UNDEFINED))
}

fn port_info_item(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let &[target, key] = arguments else { return Err(Exception::badarg().into()) };
    if !(target.is_atom() || target.is_port()) || !key.is_atom() {
        return Ok(atoms::BADARG);
    }
    let Some(port) = find_or_name(target) else { return Ok(atoms::UNDEFINED) };
    let heap = caller.heap();
    let found = port.with(|port, state, driver| match item(heap, (port, state, driver), atoms::atom_name(key)) {
        Ok(Some(value)) => heap.tuple(&[key, value]),
        Ok(None) => Term::NIL,
        Err(()) => atoms::BADARG,
    });
    Ok(found.unwrap_or(atoms::UNDEFINED))
}
