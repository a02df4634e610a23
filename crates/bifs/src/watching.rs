//! Links and monitors of any process as `erts_debug:get_internal_state/1` shows them.

use atoll_process::handle::each_waiting;
use atoll_process::signal::Signal;
use atoll_process::{Caller, Interrupt, Outcome, Own, ReferenceId, Stopped};
use atoll_term::atoms::known_atom;
use atoll_term::{Build, Term, atoms};

/// What `look` finds in a process and the signals that it has not acted on yet, for a built-in function with these
/// arguments; `None` if it does not exist.
fn look_at<R>(
    caller: &mut Caller<'_>,
    arguments: &[Term],
    pid: Term,
    mut look: impl FnMut(&Own, &[Signal]) -> R,
) -> Result<Option<R>, Interrupt> {
    if pid == caller.process.pid {
        return Ok(Some(look(caller.own, &[])));
    }
    let mut found = None;
    Stopped::or_again(caller.own, arguments)?.each(|process, own| {
        if process.pid == pid {
            let mut waiting = Vec::new();
            each_waiting(process, |signal, _| waiting.push(signal.clone()));
            waiting.reverse();
            found = Some(look(own, &waiting));
        }
    });
    Ok(found)
}

fn kind_of(target: Term) -> Term {
    if target.is_local_port() { atoms::PORT } else { atoms::PROCESS }
}

/// `[{erl_link, process | port, Pid, linked, Number}]`, or `undefined`.
pub fn links(caller: &mut Caller<'_>, arguments: &[Term], pid: Term) -> Outcome {
    let links = |own: &Own, waiting: &[Signal]| {
        let mut links = own.rare.as_ref().map(|rare| rare.links.clone()).unwrap_or_default();
        for signal in waiting {
            match signal {
                Signal::Link { from } => drop(links.insert_from_there(*from)),
                Signal::Unlink { from, .. } | Signal::LinkExit { from, .. } => drop(links.remove(*from)),
                _ => {}
            }
        }
        links.as_slice().to_vec()
    };
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

fn watches(own: &Own, waiting: &[Signal]) -> Vec<Watch> {
    let mut all: Vec<Watch> = Vec::new();
    if let Some(rare) = &own.rare {
        all.extend(rare.monitoring.iter().map(|(id, one)| (*id, true, one.target, one.name)));
        all.extend(rare.monitored_by.iter().map(|(id, one)| (*id, false, one.watcher, one.name)));
    }
    for signal in waiting {
        match signal {
            Signal::Monitor { from, reference, name, .. } => all.push((*reference, false, *from, *name)),
            Signal::Demonitor { reference } => all.retain(|(id, is_origin, ..)| *is_origin || id != reference),
            Signal::Down { reference } => all.retain(|(id, is_origin, ..)| !*is_origin || id != reference),
            _ => {}
        }
    }
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
