//! Builds the trace messages for calls of traced functions, and for their returns.

use std::sync::atomic::Ordering;

use atoll_code::{Breakpoint, INTERPRETED, TracedFunction, frame_of};
use atoll_ets::match_spec::{Action, Matcher, Object, Tokens};
use atoll_heap::Mutator;
use atoll_operations::{Class, list};
use atoll_process::sequence::Sequence;
use atoll_process::tracing::{self, Tracing};
use atoll_process::{Answer, Caller, Own, tracers};
use atoll_term::atoms::known_atom;
use atoll_term::{Build, Term, Word, atoms, text};

use crate::trace_flags;
use crate::trace_points::{CallTracing, Meta, Pattern, place_of};
use crate::trace_time;

/// Report the return.
const RETURN: u8 = 1;
/// Report the function to which it returns.
const RETURN_TO: u8 = 2;
/// Report exceptions.
const EXCEPTION: u8 = 4;
/// Measure the time.
const TIME: u8 = 8;
/// Report the return, and exceptions, to the meta tracer.
const META_RETURN: u8 = 16;
const META_EXCEPTION: u8 = 32;

/// What a pattern says of a call.
struct Verdict {
    /// What the message ends with; none: there is no message.
    message: Option<Option<Term>>,
    /// Sum of the constants above.
    keep: u8,
}

/// The token of the process with this pid.
struct TokensOf<'s>(Term, &'s mut Sequence);

impl Tokens for TokensOf<'_> {
    fn token(&mut self, heap: &mut Mutator) -> Term {
        self.1.token.as_ref().map_or(Term::NIL, |token| token.term(heap))
    }

    fn set(&mut self, heap: &mut Mutator, item: Term, value: Term) -> bool {
        self.1.set(self.0, heap, item, value).is_some()
    }
}

fn judge(caller: &mut Caller<'_>, pattern: &Pattern, arguments: &[Term], return_to: *const Word) -> Option<Verdict> {
    let pid = caller.process.pid;
    let calling = match frame_of(return_to) {
        Some(frame) => {
            let heap = caller.heap();
            let line = match frame.location {
                Some((file, line)) => {
                    let file = heap.list(file.chars().map(|letter| Term::small(letter as i64)));
                    heap.tuple(&[file, Term::small(line.into())])
                }
                None => atoms::UNDEFINED,
            };
            let function = [frame.module, frame.name, Term::small(frame.arity.into()), line];
            (heap.tuple(&function[..3]), heap.tuple(&function))
        }
        None => (atoms::UNDEFINED, atoms::UNDEFINED),
    };
    judge_in(pid, caller.own, pattern, arguments, calling)
}

/// What a pattern says of what a process does, with these arguments.
fn judge_in(
    pid: Term,
    own: &mut Own,
    pattern: &Pattern,
    arguments: &[Term],
    (calling, calling_line): (Term, Term),
) -> Option<Verdict> {
    let Some(program) = &pattern.0 else { return Some(Verdict { message: Some(None), keep: 0 }) };
    let list = own.mutator.list(arguments.iter().copied());
    let dump = if program.wants_dump() { crate::process_items::stack_shown(own) } else { atoms::UNDEFINED };
    let (matched, actions) = own.with_sequence(|sequence, heap| {
        let mut tokens = TokensOf(pid, sequence);
        let mut matcher =
            Matcher::kept(program, pid).called_from(calling, calling_line).showing(dump).with_tokens(&mut tokens);
        (matcher.run(heap, Object::Own(list)), std::mem::take(&mut matcher.actions))
    });
    matched?;
    let mut verdict = Verdict { message: Some(None), keep: 0 };
    let mut silent = None;
    for (action, argument) in &actions {
        match action {
            Action::Message if *argument == atoms::FALSE => verdict.message = None,
            Action::Message if *argument == atoms::TRUE => verdict.message = Some(None),
            Action::Message => verdict.message = Some(Some(*argument)),
            Action::ReturnTrace => verdict.keep |= RETURN,
            Action::ExceptionTrace => verdict.keep |= RETURN | EXCEPTION,
            Action::Silent => silent = Some(*argument),
            Action::Display => {
                let _ = crate::display::print(&(text::to_string(*argument) + "\n"));
            }
            Action::EnableTrace | Action::DisableTrace | Action::Trace => act_on_flags(pid, own, *action, *argument),
        }
    }
    if let (Some(value), Some(tracing)) = (silent, own.tracing()) {
        let flags = match value {
            atoms::TRUE => tracing.flags | tracing::SILENT,
            atoms::FALSE => tracing.flags & !tracing::SILENT,
            _ => tracing.flags,
        };
        own.set_tracing(Some(Tracing { flags, ..tracing }));
    }
    Some(verdict)
}

/// What `enable_trace`, `disable_trace` and `trace` do, whose arguments are a list.
fn act_on_flags(me: Term, own: &mut Own, action: Action, arguments: Term) {
    let arguments = list::elements(arguments).unwrap_or_default();
    let (pid, flags) = match (action, &arguments[..]) {
        (Action::Trace, [pid, flags @ ..]) if flags.len() == 2 => (Some(*pid), flags),
        (Action::EnableTrace | Action::DisableTrace, [pid, flags @ ..]) if flags.len() == 1 => (Some(*pid), flags),
        (_, flags) => (None, flags),
    };
    let (off, on) = match (action, flags) {
        (Action::Trace, [off, on]) => (*off, *on),
        (Action::EnableTrace, [flag]) => (Term::NIL, own.mutator.list([*flag])),
        (Action::DisableTrace, [flag]) => (own.mutator.list([*flag]), Term::NIL),
        _ => return,
    };
    trace_flags::change_flags(me, own, pid, off, on);
}

/// Whether sending or receiving a message is reported: the last part of its trace message, if it has one.
pub fn chosen(pid: Term, own: &mut Own, pattern: &Pattern, arguments: &[Term]) -> Option<Option<Term>> {
    let message = judge_in(pid, own, pattern, arguments, (atoms::UNDEFINED, atoms::UNDEFINED))?.message;
    let is_silent = own.tracing().is_some_and(|tracing| tracing.flags & tracing::SILENT != 0);
    message.filter(|_| pattern.0.is_none() || !is_silent)
}

fn mfa(caller: &mut Caller<'_>, function: &TracedFunction) -> Term {
    caller.heap().tuple(&[function.module, function.name, Term::small(function.arity.into())])
}

fn tell_call(
    caller: &mut Caller<'_>,
    tracing: Tracing,
    function: &TracedFunction,
    arguments: &[Term],
    message: Option<Term>,
) -> bool {
    let heap = caller.heap();
    let last = match tracing.flags & tracing::ARITY {
        0 => heap.list(arguments.iter().copied()),
        _ => Term::small(function.arity.into()),
    };
    let call = heap.tuple(&[function.module, function.name, last]);
    let parts: Vec<Term> = [call].into_iter().chain(message).collect();
    tracing::tell(caller.process.pid, caller.own, tracing, known_atom("call"), &parts)
}

/// A function with a breakpoint is called. What is given back is kept until it returns.
pub fn called(
    caller: &mut Caller<'_>,
    arguments: &[Term],
    point: &Breakpoint,
    return_to: *const Word,
    waiting: u8,
) -> u8 {
    let Some(wanted) = CallTracing::of(point) else { return 0 };
    let interpreted = if wanted.interpreted { INTERPRETED } else { 0 };
    let timed = match &wanted.time {
        Some(times) if reports_calls(caller) => {
            let in_place = waiting & TIME != 0;
            trace_time::enter(caller.process.pid, caller.own, times, in_place);
            if in_place { 0 } else { TIME }
        }
        _ => 0,
    };
    interpreted | timed | report_call(caller, arguments, point, wanted, return_to)
}

/// Whether the process reports calls. If its tracer is gone, the process is traced no more.
fn reports_calls(caller: &mut Caller<'_>) -> bool {
    let Some(tracing) = caller.own.tracing().filter(|tracing| tracing.flags & tracing::CALL != 0) else { return false };
    let is_alive = tracing::is_there(tracing.tracer);
    if !is_alive {
        caller.own.set_tracing(None);
    }
    is_alive
}

/// Counts a call and reports it, as far as that is asked for. Returns what is to be reported when the call ends.
fn report_call(
    caller: &mut Caller<'_>,
    arguments: &[Term],
    point: &Breakpoint,
    wanted: &CallTracing,
    return_to: *const Word,
) -> u8 {
    if let Some(count) = &wanted.count {
        count.add();
    }
    let by_process = report_by_process(caller, arguments, point, wanted, return_to);
    by_process | wanted.meta.as_ref().map_or(0, |meta| report_to_meta(caller, arguments, point, meta, return_to))
}

/// Sends the trace message of a meta tracer. Returns what it is to be told when the call ends.
fn report_to_meta(
    caller: &mut Caller<'_>,
    arguments: &[Term],
    point: &Breakpoint,
    meta: &Meta,
    return_to: *const Word,
) -> u8 {
    let Meta { pattern, tracer, gone } = meta;
    let pid = caller.process.pid;
    if *tracer == pid || caller.own.flags.sensitive() || gone.load(Ordering::Relaxed) {
        return 0;
    }
    match tracers::wants_call(*tracer, pid) {
        Answer::Trace => {}
        Answer::Discard => return 0,
        Answer::Remove => {
            gone.store(true, Ordering::Relaxed);
            return 0;
        }
    }
    let Some(verdict) = judge(caller, pattern, arguments, return_to) else { return 0 };
    if let Some(message) = verdict.message
        && !tell_call(caller, meta_tracing(*tracer), point.function, arguments, message)
    {
        gone.store(true, Ordering::Relaxed);
    }
    let at_return = if verdict.keep & RETURN != 0 { META_RETURN } else { 0 };
    at_return | if verdict.keep & EXCEPTION != 0 { META_EXCEPTION } else { 0 }
}

/// Sends the trace message of a process that is traced itself. Returns what is to be reported when the call ends.
fn report_by_process(
    caller: &mut Caller<'_>,
    arguments: &[Term],
    point: &Breakpoint,
    wanted: &CallTracing,
    return_to: *const Word,
) -> u8 {
    let pid = caller.process.pid;
    let tracing = caller.own.tracing().filter(|tracing| tracing.flags & tracing::CALL != 0 && tracing.tracer != pid);
    let (Some(pattern), Some(Tracing { tracer, flags })) = (&wanted.calls, tracing) else { return 0 };
    match tracers::wants_call(tracer, pid) {
        Answer::Trace => {}
        Answer::Discard => return 0,
        Answer::Remove => {
            caller.own.set_tracing(None);
            return 0;
        }
    }
    let Some(verdict) = judge(caller, pattern, arguments, return_to) else { return 0 };
    // The match specification may have changed whether calls are reported. To whom, it changes from the next one on.
    let tracing = Tracing { tracer, flags: caller.own.tracing().map_or(flags, |now| now.flags) };
    if tracing.flags & tracing::SILENT != 0 {
        return 0;
    }
    let Some(message) = verdict.message else { return verdict.keep };
    if !tell_call(caller, tracing, point.function, arguments, message) {
        caller.own.set_tracing(None);
        return 0;
    }
    let to = if tracing.flags & tracing::RETURN_TO != 0 && !wanted.global { RETURN_TO } else { 0 };
    verdict.keep | to
}

fn meta_tracing(tracer: Term) -> Tracing {
    Tracing { flags: tracing::CALL | tracing::TIMESTAMP, tracer }
}

/// How calls of a function are reported to its meta tracer now.
fn meta_tracer(function: &TracedFunction) -> Option<Tracing> {
    let place = place_of(function.module, function.name, function.arity)?;
    CallTracing::of(&atoll_code::breakpoint_at(place)?)?.meta.as_ref().map(|meta| meta_tracing(meta.tracer))
}

fn tracing_of_calls(caller: &Caller<'_>) -> Option<Tracing> {
    let flags = tracing::CALL | tracing::SILENT;
    caller.own.tracing().filter(|tracing| tracing.flags & flags == tracing::CALL)
}

/// An exception has left a function, and is handled where it would have returned to.
pub fn caught(caller: &mut Caller<'_>, keep: u8, to: *const Word) {
    if keep & RETURN_TO != 0
        && let Some(tracing) = tracing_of_calls(caller)
    {
        tell_return_to(caller, tracing, to);
    }
}

fn tell_return_to(caller: &mut Caller<'_>, tracing: Tracing, to: *const Word) {
    if tracing.flags & tracing::RETURN_TO != 0 {
        let place = match frame_of(to) {
            Some(frame) => caller.heap().tuple(&[frame.module, frame.name, Term::small(frame.arity.into())]),
            None => atoms::UNDEFINED,
        };
        tracing::tell(caller.process.pid, caller.own, tracing, known_atom("return_to"), &[place]);
    }
}

/// A traced function returns.
pub fn returned(caller: &mut Caller<'_>, function: &'static TracedFunction, keep: u8, value: Term, to: *const Word) {
    if keep & TIME != 0 {
        trace_time::leave(caller.own);
    }
    let pid = caller.process.pid;
    if keep & META_RETURN != 0
        && let Some(tracing) = meta_tracer(function)
    {
        let function = mfa(caller, function);
        tracing::tell(pid, caller.own, tracing, known_atom("return_from"), &[function, value]);
    }
    let Some(tracing) = tracing_of_calls(caller) else { return };
    if keep & RETURN != 0 {
        let function = mfa(caller, function);
        tracing::tell(pid, caller.own, tracing, known_atom("return_from"), &[function, value]);
    }
    if keep & RETURN_TO != 0 && !to.is_null() {
        tell_return_to(caller, tracing, to);
    }
}

/// An exception leaves a traced function.
pub fn raised(caller: &mut Caller<'_>, function: &'static TracedFunction, keep: u8, class: Class, reason: Term) {
    if keep & TIME != 0 {
        trace_time::leave(caller.own);
    }
    if keep & META_EXCEPTION != 0
        && let Some(tracing) = meta_tracer(function)
    {
        let function = mfa(caller, function);
        let exception = caller.heap().tuple(&[class.atom(), reason]);
        tracing::tell(caller.process.pid, caller.own, tracing, known_atom("exception_from"), &[function, exception]);
    }
    let Some(tracing) = tracing_of_calls(caller) else { return };
    if keep & EXCEPTION != 0 {
        let function = mfa(caller, function);
        let exception = caller.heap().tuple(&[class.atom(), reason]);
        tracing::tell(caller.process.pid, caller.own, tracing, known_atom("exception_from"), &[function, exception]);
    }
}
