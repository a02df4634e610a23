//! Calls of a library's functions: in the time slice of the process, on a thread for dirty calls, and those that a
//! function asks for in its place.
//!
//! A call that is not done at once is a [`Continuation`] in a tuple, with the arguments to go on with and those of the
//! first call behind it. The process goes on, and perhaps waits, in `atoll_nif:go_on/1` with that tuple as argument, so
//! a collector finds and moves all of it like any argument.

use std::mem::ManuallyDrop;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use atoll_code::registry;
use atoll_operations::Exception;
use atoll_process::{
    BuiltIn, Caller, Interrupt, NativeFunction, Outcome, Process, ReferenceId, System, state, tracing,
};
use atoll_term::atoms::known_atom;
use atoll_term::{Build, Export, HeldPart, MagicValue, Term, atoms};
use parking_lot::Mutex;

use crate::abi::NifFn;
use crate::callbacks::with_callbacks;
use crate::check;
use crate::copy::copy;
use crate::dirty::{self, Pool};
use crate::env::{Env, Running, Scheduled, Use, enter_thread, is_scheduler};
use crate::library::{Function, Library};

/// What this file provides.
pub const BUILT_INS: &[BuiltIn] = &[BuiltIn::new("atoll_nif", "go_on", 1, go_on)];

/// Where a dirty call is.
enum Dirty {
    No,
    /// A thread has it, or will. What a process that has ended meanwhile had outside of its heap is still there: the
    /// library may use more than it was given, as where one resource refers to another.
    Running(Vec<HeldPart>),
    /// Its environment, and what it has returned.
    Done(Box<Env>, Term),
}

/// A call that is to be done.
struct Continuation {
    function: &'static Function,
    /// Kept until the call is over: the continuation itself may wait long for a collection.
    library: Mutex<Option<Arc<Library>>>,
    code: NifFn,
    kind: u32,
    /// Arguments in the tuple; those of the first call follow.
    arguments: usize,
    dirty: Mutex<Dirty>,
}

/// What a library's function has come to.
enum Result {
    Value(Term),
    Raised(Term),
    Scheduled(Scheduled),
}

fn result_of(env: &mut Env, value: Term) -> Result {
    if !env.exception.is_none() {
        return Result::Raised(env.exception);
    }
    match env.rare_if_any().and_then(|rare| rare.scheduled.take()) {
        Some(scheduled) => Result::Scheduled(scheduled),
        // A library that returns no term at all would otherwise break whatever looks at it.
        None if value.is_none() => Result::Raised(atoms::BADARG),
        None => Result::Value(value),
    }
}

/// Calls a library's function in the time slice of its process. `plain` gets the term of a call that did nothing but
/// return one, `other` what any other call has come to.
#[inline(always)]
fn run<'c, R>(
    caller: &mut Caller<'c>,
    function: &'static Function,
    code: NifFn,
    arguments: &[Term],
    plain: impl FnOnce(Term) -> R,
    other: impl FnOnce(&mut Caller<'c>, Result) -> R,
) -> R {
    // Where it lies it stays: a copy of what was just written in parts would hold the processor up.
    let mut env = ManuallyDrop::new(Env::of_call(caller, Use::Call, function.library));
    is_scheduler();
    let value = Running::new(&function.native, arguments).note(|| {
        // SAFETY: the library is loaded, and its function gets what it expects. Nothing is collected before it returns.
        let value = unsafe { code(&raw mut *env, arguments.len() as i32, arguments.as_ptr()) };
        check::returned(&mut env, value);
        value
    });
    caller.reductions -= env.used;
    if env.is_plain() && !value.is_none() {
        return plain(value);
    }
    let result = finish(&mut env, value);
    other(caller, result)
}

/// What a call has come to, whose environment ends.
#[cold]
fn finish(env: &mut ManuallyDrop<Env>, value: Term) -> Result {
    let result = result_of(env, value);
    // SAFETY: the call is over, so nobody uses its environment any more.
    unsafe { ManuallyDrop::drop(env) };
    result
}

/// Calls a function of a library.
pub fn call(caller: &mut Caller<'_>, arguments: &[Term], native: &'static NativeFunction) -> Outcome {
    let function = Function::of(native);
    if !function.is_direct.load(Ordering::Acquire) {
        return call_otherwise(caller, arguments, function);
    }
    let other = |caller: &mut Caller<'_>, result| outcome_of(caller, result, arguments, function);
    run(caller, function, function.code, arguments, Ok, other)
}

#[cold]
fn outcome_of(caller: &mut Caller<'_>, result: Result, arguments: &[Term], function: &'static Function) -> Outcome {
    match result {
        Result::Value(value) => Ok(value),
        Result::Raised(reason) => Err(Exception::error(reason).into()),
        Result::Scheduled(next) => go_on_with(caller, function, next.code, next.kind, &next.arguments, arguments),
    }
}

/// A call that another thread does, or none, or that the machine's end waits for.
#[inline(never)]
fn call_otherwise(caller: &mut Caller<'_>, arguments: &[Term], function: &'static Function) -> Outcome {
    let Some(library) = function.hold() else { return Err(Exception::error(atoms::UNDEF).into()) };
    if function.kind != 0 {
        return go_on_with(caller, function, function.code, function.kind, arguments, arguments);
    }
    let other = |caller: &mut Caller<'_>, result| outcome_of(caller, result, arguments, function);
    library.at_halt.call(|| run(caller, function, function.code, arguments, Ok, other))
}

fn export() -> &'static Export {
    let name = |text| atoms::atom(text).unwrap_or(atoms::UNDEFINED);
    registry().export(name("atoll_nif"), name("go_on"), 1)
}

/// Has the process go on with this call; `first` are the arguments that the function was called with.
fn go_on_with(
    caller: &mut Caller<'_>,
    function: &'static Function,
    code: NifFn,
    kind: u32,
    arguments: &[Term],
    first: &[Term],
) -> Outcome {
    let Some(library) = function.hold() else { return Err(Exception::error(atoms::UNDEF).into()) };
    let continuation = Continuation {
        function,
        library: Mutex::new(Some(library)),
        code,
        kind,
        arguments: arguments.len(),
        dirty: Mutex::new(Dirty::No),
    };
    let value = Arc::new(MagicValue(Box::new(continuation)));
    let heap = caller.heap();
    let mut parts = vec![heap.magic_reference(ReferenceId::fresh().0, value)];
    parts.extend_from_slice(arguments);
    parts.extend_from_slice(first);
    let tuple = heap.tuple(&parts);
    Err(Interrupt::Call(export(), vec![tuple]))
}

/// The dirty call that a process with these registers waits for.
fn waits_for(registers: &[Term]) -> Option<&Continuation> {
    let [argument] = registers else { return None };
    let continuation = argument.tuple_elements()?.first()?.magic::<Continuation>()?;
    (continuation.kind != 0).then_some(continuation)
}

/// The function of the dirty call that a process with these registers waits for.
pub fn carried_out(registers: &[Term]) -> Option<&'static Export> {
    Some(waits_for(registers)?.function.native.export)
}

/// Keeps this until the dirty call is done that a process with these registers has waited for.
pub fn keep(registers: &[Term], parts: Vec<HeldPart>) {
    if let Some(continuation) = waits_for(registers)
        && let Dirty::Running(kept) = &mut *continuation.dirty.lock()
    {
        *kept = parts;
    }
}

fn go_on(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let parts = arguments[0].tuple_elements().unwrap_or_default();
    let value = parts.first().and_then(|first| first.magic_value());
    let Some(continuation) = value.and_then(|value| value.0.downcast_ref::<Continuation>()) else {
        return Err(Exception::badarg().into());
    };
    let Some(library) = continuation.library.lock().clone() else { return Err(Exception::badarg().into()) };
    let function = continuation.function;
    let (own, first) = parts[1..].split_at(continuation.arguments);
    let result = if continuation.kind == 0 {
        library.at_halt.call(|| run(caller, function, continuation.code, own, Result::Value, |_, result| result))
    } else {
        let mut state = continuation.dirty.lock();
        match std::mem::replace(&mut *state, Dirty::Running(Vec::new())) {
            Dirty::No => {
                drop(state);
                start(caller, parts[0], continuation, library, own);
                return Err(Interrupt::Wait(arguments.to_vec()));
            }
            Dirty::Running(_) => return Err(Interrupt::Wait(arguments.to_vec())),
            Dirty::Done(mut env, value) => {
                let heap = caller.heap();
                let result = match result_of(&mut env, value) {
                    Result::Value(value) => Result::Value(copy(value, heap)),
                    Result::Raised(reason) => Result::Raised(copy(reason, heap)),
                    Result::Scheduled(Scheduled { code, kind, arguments }) => {
                        let arguments = arguments.into_iter().map(|argument| copy(argument, heap)).collect();
                        Result::Scheduled(Scheduled { code, kind, arguments })
                    }
                };
                caller.reductions -= env.used;
                result
            }
        }
    };
    with_callbacks(|| drop((library, continuation.library.lock().take())));
    match result {
        Result::Value(value) => Ok(value),
        Result::Raised(reason) => {
            Err(Interrupt::RaiseIn(Exception::error(reason), function.native.export, first.to_vec()))
        }
        Result::Scheduled(next) => go_on_with(caller, function, next.code, next.kind, &next.arguments, first),
    }
}

/// Gives a call to a thread for dirty calls. Its arguments are copied: the process may be collected meanwhile, or end.
fn start(
    caller: &mut Caller<'_>,
    reference: Term,
    continuation: &Continuation,
    library: Arc<Library>,
    arguments: &[Term],
) {
    let pid = caller.process.pid;
    let mut env = Box::new(Env::with_memory(Use::Dirty, pid, Arc::as_ptr(&library)));
    let tracing = caller.own.tracing();
    if tracing.is_some() {
        env.rare().tracing = tracing;
    }
    let arguments: Vec<Term> = arguments.iter().map(|argument| env.take(*argument)).collect();
    let Some(value) = atoll_process::inspect::magic_value(reference) else { return };
    let (pool, kind) = if continuation.kind == 1 { (Pool::Processor, 2) } else { (Pool::InputOutput, 3) };
    let (code, function) = (continuation.code, continuation.function);
    let from = std::thread::current().id();
    dirty::start(
        pool,
        Box::new(move || {
            let _kind = enter_thread(kind);
            let system = System::get();
            let scheduled = |event| {
                if let Some(tracing) = tracing.filter(|tracing| tracing.flags & tracing::RUNNING != 0) {
                    let Export { module, name, arity, .. } = *function.native.export;
                    tracing::tell_apart(pid, tracing, known_atom(event), |heap| {
                        [heap.tuple(&[module, name, Term::small(arity.into())])]
                    });
                }
            };
            if tracing.is_some() && std::thread::current().id() != from {
                // A tracer hears first that the process has stopped running elsewhere.
                let is_running = |process: &Process| matches!(process.state(), state::RUNNING | state::RUNNING_PENDING);
                while system.table.with(pid, is_running) == Some(true) {
                    std::thread::yield_now();
                }
            }
            scheduled("in");
            let mut running = Running::new(&function.native, &arguments);
            let call = || {
                // SAFETY: the continuation keeps the library, and its function gets what it expects. The terms lie in
                // the environment's own memory.
                let value = unsafe { code(&raw mut *env, arguments.len() as i32, arguments.as_ptr()) };
                check::returned(&mut env, value);
                value
            };
            let result = library.at_halt.call(|| running.note(call));
            if system.table.contains(pid) {
                scheduled("out");
            }
            if let Some(continuation) = value.0.downcast_ref::<Continuation>() {
                let before = std::mem::replace(&mut *continuation.dirty.lock(), Dirty::Done(env, result));
                with_callbacks(|| drop(before));
            }
            drop(value);
            system.table.with(pid, |process| {
                if let Some(queued) = process.wake() {
                    system.make_runnable(queued);
                }
            });
        }),
    );
}
