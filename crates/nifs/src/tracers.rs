//! Tracers that are modules (`erl_tracer`): native functions that are asked about events and told of them. Each has a
//! state.
//!
//! An event may come from any thread, and its terms from any memory. So a call has an environment of its own, to which
//! they are copied.

use std::sync::Arc;

use atoll_process::tracing::{self, MONOTONIC, SCHEDULER_ID, STRICT_MONOTONIC, TIMESTAMP};
use atoll_process::{Answer, Event, System, TracerNumber};
use atoll_term::atoms::{atom_name, known_atom, name_if_atom};
use atoll_term::{Term, exactly_equal, map};
use parking_lot::RwLock;

use crate::check;
use crate::env::{Env, Running, Use};
use crate::library::{Function, Library, library_of};

/// A module and a state.
struct Tracer {
    module: Term,
    state: Term,
    /// The state lies here.
    _memory: Env,
}

// SAFETY: nobody uses the environment before the last owner drops it.
unsafe impl Send for Tracer {}
// SAFETY: as above.
unsafe impl Sync for Tracer {}

/// The tracers of a machine. One that was named once stays: a number may be in use where nobody counts.
#[derive(Default)]
pub struct Tracers(RwLock<Vec<Arc<Tracer>>>);

impl Tracers {
    fn of(&self, number: TracerNumber) -> Option<Arc<Tracer>> {
        self.0.read().get(number.0 as usize).cloned()
    }

    /// As [`atoll_process::Libraries::number_tracer`].
    pub fn number(&self, module: Term, state: Term) -> Option<TracerNumber> {
        let is_there = |name, arity| function(module, name, arity).is_some();
        if !is_there("enabled", 3) || !is_there("trace", 5) {
            return None;
        }
        let mut tracers = self.0.write();
        let is_same = |tracer: &Arc<Tracer>| tracer.module == module && exactly_equal(tracer.state, state);
        let index = tracers.iter().position(is_same).unwrap_or_else(|| {
            let mut memory = Env::with_memory(Use::Independent, Term::NONE, std::ptr::null());
            let state = memory.take(state);
            tracers.push(Arc::new(Tracer { module, state, _memory: memory }));
            tracers.len() - 1
        });
        u32::try_from(index).ok().map(TracerNumber)
    }

    /// As [`atoll_process::Libraries::show_tracer`].
    pub fn show(&self, number: TracerNumber, show: &mut dyn FnMut(Term, Term)) {
        if let Some(tracer) = self.of(number).filter(|tracer| function(tracer.module, "trace", 5).is_some()) {
            show(tracer.module, tracer.state);
        }
    }

    /// As [`atoll_process::Libraries::ask_tracer`].
    pub fn ask(&self, number: TracerNumber, event: Term, tracee: Term) -> Answer {
        let Some(tracer) = self.of(number) else { return Answer::Remove };
        let answer = call(&tracer, ("enabled", event, 3), tracee, |env| {
            let state = env.take(tracer.state);
            vec![event, state, tracee]
        });
        match answer.map_or("", name_if_atom) {
            "trace" => Answer::Trace,
            "discard" => Answer::Discard,
            // A function that gives anything else is none of a tracer.
            _ => Answer::Remove,
        }
    }

    /// As [`atoll_process::Libraries::tell_tracer`].
    pub fn tell(&self, number: TracerNumber, event: &Event<'_>) -> bool {
        // It has been asked about calls, and if it wants to hear of one it hears of its end.
        if group_of(event.name) != Some("call") {
            match self.ask(number, event.name, event.asked_about) {
                Answer::Trace => {}
                Answer::Discard => return true,
                Answer::Remove => return false,
            }
        }
        let Some(tracer) = self.of(number) else { return false };
        let told = call(&tracer, ("trace", event.name, 5), event.asked_about, |env| {
            let what = env.take(event.parts.first().copied().unwrap_or(Term::NIL));
            let (state, tracee) = (env.take(tracer.state), env.take(event.tracee));
            vec![event.name, state, tracee, what, options(env, event)]
        });
        told.is_some()
    }
}

/// What follows the first part of an event, and how it is to be told.
fn options(env: &mut Env, event: &Event<'_>) -> Term {
    let mut options = map::empty(env);
    let rest = event.parts.get(1..).unwrap_or_default();
    // These have one part; what follows is what a match specification gave.
    let is_judged = matches!(atom_name(event.name), "call" | "receive");
    let names: &[&str] = if is_judged { &["match_spec_result"] } else { &["extra", "match_spec_result"] };
    for (name, part) in names.iter().zip(rest) {
        let part = env.take(*part);
        options = map::put(env, options, known_atom(name), part);
    }
    let times = [(TIMESTAMP, "timestamp"), (STRICT_MONOTONIC, "strict_monotonic"), (MONOTONIC, "monotonic")];
    if let Some((_, name)) = times.iter().find(|(flag, _)| event.flags & flag != 0) {
        let is_of_processor = *name == "timestamp" && tracing::counts_processor_time();
        let kind = known_atom(if is_of_processor { "cpu_timestamp" } else { name });
        options = map::put(env, options, known_atom("timestamp"), kind);
    }
    if event.flags & SCHEDULER_ID != 0 {
        let scheduler = Term::small(System::get().schedule().current() as i64 + 1);
        options = map::put(env, options, known_atom("scheduler_id"), scheduler);
    }
    options
}

/// The function of a module's library.
fn function(module: Term, name: &str, arity: u8) -> Option<(&'static Function, Arc<Library>)> {
    let code = atoll_code::module(module)?.current?;
    let library = code.library.lock().clone()?;
    let functions = library_of(&*library)?.functions.lock();
    let is_it = |function: &&&Function| {
        let export = function.native.export;
        export.arity == arity && atom_name(export.name) == name
    };
    let function = *functions.iter().find(is_it)?;
    Some((function, function.hold()?))
}

/// Which group of events an event belongs to: a library may have functions for a group.
fn group_of(event: Term) -> Option<&'static str> {
    Some(match atom_name(event) {
        "call" | "return_from" | "return_to" | "exception_from" => "call",
        "send" | "send_to_non_existing_process" => "send",
        "receive" => "receive",
        "spawn" | "spawned" | "exit" | "link" | "unlink" | "getting_linked" | "getting_unlinked" | "register"
        | "unregister" => "procs",
        "open" | "closed" => "ports",
        "in" | "out" | "in_exiting" | "out_exiting" | "out_exited" => "running_procs",
        "gc_minor_start" | "gc_minor_end" | "gc_major_start" | "gc_major_end" => "garbage_collection",
        _ => return None,
    })
}

/// Calls a function of a tracer, or that for the event's group if there is one. A term that has parts is gone with the
/// call.
fn call(
    tracer: &Tracer,
    (name, event, arity): (&str, Term, u8),
    tracee: Term,
    arguments: impl FnOnce(&mut Env) -> Vec<Term>,
) -> Option<Term> {
    let of_group = group_of(event).and_then(|group| function(tracer.module, &format!("{name}_{group}"), arity));
    let (function, library) = of_group.or_else(|| function(tracer.module, name, arity))?;
    let mut env = Env::with_memory(Use::Callback, tracee, Arc::as_ptr(&library));
    let arguments = arguments(&mut env);
    let value = library.at_halt.call(|| {
        Running::new(&function.native, &arguments).note(|| {
            // SAFETY: the library is held, and its function gets what it expects, in memory of the environment's own.
            let value = unsafe { (function.code)(&raw mut env, arguments.len() as i32, arguments.as_ptr()) };
            check::returned(&mut env, value);
            value
        })
    });
    Some(if env.exception.is_none() && value.is_immediate() { value } else { Term::NONE })
}
