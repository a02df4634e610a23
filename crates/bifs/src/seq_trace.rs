//! `erlang:seq_trace/2` and what belongs to it: the token of the calling process, and the system tracer.

use atoll_process::sequence::{self, PRINT, Token};
use atoll_process::{BuiltIn, Caller, Outcome, badarg, tracing};
use atoll_term::{Build, ScratchHeap, Term, atoms};

use crate::tracers::{is_tracer, shown, tracer_of};

/// What this file provides.
pub const BUILT_INS: &[BuiltIn] = &[
    BuiltIn::new("erlang", "seq_trace", 2, seq_trace),
    BuiltIn::new("erlang", "seq_trace_info", 1, info),
    BuiltIn::new("erlang", "seq_trace_print", 1, print),
    BuiltIn::new("erlang", "seq_trace_print", 2, print_labelled),
];

/// `seq_trace(Item, Value)`: what the item was before.
fn seq_trace(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let &[item, value] = arguments else { return Err(badarg()) };
    let pid = caller.process.pid;
    caller.own.with_sequence(|sequence, heap| sequence.set(pid, heap, item, value)).ok_or_else(badarg)
}

/// `seq_trace_info(Item)`
fn info(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let item = arguments[0];
    let token = caller.own.token().map(|token| (token.flags, token.last, token.serial));
    let value = if let Some(flag) = sequence::flag(item) {
        Term::boolean(token.is_some_and(|(flags, _, _)| flags & flag != 0))
    } else {
        let word = atoms::name_if_atom(item);
        match (word, token) {
            ("label" | "serial", None) => return Ok(Term::NIL),
            ("label", Some(_)) => caller.own.label_term(),
            ("serial", Some((_, last, serial))) => caller.heap().tuple(&[Term::small(last), Term::small(serial)]),
            _ => return Err(badarg()),
        }
    };
    Ok(caller.heap().tuple(&[item, value]))
}

/// `seq_trace_print(Term)`: whether the process has a token.
fn print(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    if caller.own.token().is_none() {
        return Ok(atoms::FALSE);
    }
    let pid = caller.process.pid;
    sequence::count(pid, caller.own);
    sequence::tell(pid, caller.own, PRINT, Term::NIL, arguments[0]);
    Ok(atoms::TRUE)
}

/// `seq_trace_print(Label, Term)`: whether the process has a token with this label.
fn print_labelled(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let mut scratch = ScratchHeap::new();
    let mut is_label = |token: &Token| atoll_term::exactly_equal(token.label(&mut scratch), arguments[0]);
    match caller.own.token().is_some_and(&mut is_label) {
        true => print(caller, &arguments[1..]),
        false => Ok(atoms::FALSE),
    }
}

/// The system tracer as programs see it.
pub fn tracer(heap: &mut impl Build) -> Term {
    sequence::tracer().map_or(atoms::FALSE, |tracer| shown(heap, tracer))
}

/// Sets the system tracer: a process, a port, a module with a state, or `false`. What it was; `None` if it cannot be.
pub fn set_tracer(heap: &mut impl Build, value: Term) -> Option<Term> {
    let new = match value.tuple_elements() {
        Some(&[module, state]) => Some(tracer_of(module, state)?),
        None if value == atoms::FALSE => None,
        _ => Some(Some(value).filter(|value| is_tracer(*value))?),
    };
    if new.is_some_and(|tracer| !tracing::is_there(tracer)) {
        return None;
    }
    let old = tracer(heap);
    sequence::set_tracer(new);
    Some(old)
}
