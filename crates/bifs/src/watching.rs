//! Links and monitors of any process as `erts_debug:get_internal_state/1` shows them.

use atoll_process::{Caller, Interrupt, Outcome, Own, ReferenceId, Stopped};
use atoll_term::atoms::known_atom;
use atoll_term::{Build, Term, atoms};

/// What `look` finds in a process, for a built-in function with these arguments; `None` if it does not exist.
fn look_at<R>(
    caller: &mut Caller<'_>,
    arguments: &[Term],
    pid: Term,
    mut look: impl FnMut(&Own) -> R,
) -> Result<Option<R>, Interrupt> {
    if pid == caller.process.pid {
        return Ok(Some(look(caller.own)));
    }
    let mut found = None;
    Stopped::or_again(caller.own, arguments)?.each(|process, own| {
        if process.pid == pid {
            found = Some(look(own));
        }
    });
    Ok(found)
}

fn kind_of(target: Term) -> Term {
    if target.is_local_port() { atoms::PORT } else { atoms::PROCESS }
}

/// `[{erl_link, process | port, Pid, linked, Number}]`, or `undefined`.
pub fn links(caller: &mut Caller<'_>, arguments: &[Term], pid: Term) -> Outcome {
    let links = |own: &Own| own.rare.as_ref().map(|rare| rare.links.as_slice().to_vec()).unwrap_or_default();
    let Some(links) = look_at(caller, arguments, pid, links)? else { return Ok(atoms::UNDEFINED) };
    let heap = caller.heap();
    let mut rows = Vec::with_capacity(links.len());
    for (number, other) in links.into_iter().enumerate() {
        let row = [known_atom("erl_link"), kind_of(other), other, known_atom("linked"), Term::small(number as i64)];
        rows.push(heap.tuple(&row));
    }
    Ok(heap.list(rows))
}

/// One monitor: its reference, whether this process made it, the other process, and the name that is watched.
type Watch = (ReferenceId, bool, Term, Term);

fn watches(own: &Own) -> Vec<Watch> {
    let Some(rare) = &own.rare else { return Vec::new() };
    let origins = rare.monitoring.iter().map(|(id, one)| (*id, true, one.target, one.name));
    let targets = rare.monitored_by.iter().map(|(id, one)| (*id, false, one.watcher, one.name));
    let mut all: Vec<Watch> = origins.chain(targets).collect();
    all.sort_by_key(|(id, is_origin, ..)| (*id, !is_origin));
    all
}

/// `[{erl_monitor, process | port, origin | target, Reference, Pid, Name | []}]`, or `undefined`.
pub fn monitors(caller: &mut Caller<'_>, arguments: &[Term], pid: Term) -> Outcome {
    let Some(watches) = look_at(caller, arguments, pid, watches)? else { return Ok(atoms::UNDEFINED) };
    let heap = caller.heap();
    let mut rows = Vec::with_capacity(watches.len());
    for (id, is_origin, other, named) in watches {
        let direction = known_atom(if is_origin { "origin" } else { "target" });
        let reference = id.term(heap);
        let other_or_nil = if other.is_none() { Term::NIL } else { other };
        let named = if named.is_none() { Term::NIL } else { named };
        rows.push(heap.tuple(&[
            known_atom("erl_monitor"),
            kind_of(other_or_nil),
            direction,
            reference,
            other_or_nil,
            named,
        ]));
    }
    Ok(heap.list(rows))
}
