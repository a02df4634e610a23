//! `erl_tracer`: the tracer module that stands behind tracing to a process.

use atoll_heap::architecture;
use atoll_process::{BuiltIn, Caller, Outcome, System};
use atoll_term::atoms::LazyAtom;
use atoll_term::{Build, Term, atoms, map};

/// What this file provides.
pub const BUILT_INS: &[BuiltIn] =
    &[BuiltIn::new("erl_tracer", "enabled", 3, enabled), BuiltIn::new("erl_tracer", "trace", 5, trace)];

static DISCARD: LazyAtom = LazyAtom::new("discard");
static EXTRA: LazyAtom = LazyAtom::new("extra");
static REMOVE: LazyAtom = LazyAtom::new("remove");
static TRACE: LazyAtom = LazyAtom::new("trace");
static TRACE_STATUS: LazyAtom = LazyAtom::new("trace_status");

fn lives(tracer: Term) -> bool {
    tracer.is_local_pid() && System::get().table.contains(tracer)
}

/// `enabled(Tag, Tracer, Tracee)`: whether the tracer still exists, and is another than the tracee.
fn enabled(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let &[tag, tracer, tracee] = arguments else { return Ok(DISCARD.get()) };
    Ok(match lives(tracer) {
        true if tracer == tracee => DISCARD.get(),
        true => TRACE.get(),
        false if tag == TRACE_STATUS.get() => REMOVE.get(),
        false => DISCARD.get(),
    })
}

/// `trace(Tag, Tracer, Tracee, Term, Options)`
fn trace(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let &[tag, tracer, tracee, term, options] = arguments else { return Ok(atoms::OK) };
    if !lives(tracer) {
        return Ok(atoms::OK);
    }
    let mut parts = vec![TRACE.get(), tracee, tag, term];
    if options.is_map() {
        parts.extend(map::get(options, EXTRA.get()));
    }
    let message = caller.heap().tuple(&parts);
    let fragment = architecture().send(caller.heap(), message);
    System::get().deliver_or_answer(tracer, fragment);
    Ok(atoms::OK)
}
