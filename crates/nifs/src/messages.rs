//! Environments of a library's own, processes, ports, and messages to them.

use std::ffi::{c_int, c_void};
use std::sync::atomic::Ordering;

use atoll_heap::Message;
use atoll_operations::iolist;
use atoll_process::{System, sequence, tracing};
use atoll_term::atoms::known_atom;
use atoll_term::{Term, atoms};

use crate::callbacks::with_callbacks;
use crate::check::checked;
use crate::env::{Env, Use, enter_machine};

#[unsafe(no_mangle)]
extern "C" fn enif_alloc_env() -> *mut Env {
    enter_machine();
    Box::into_raw(Box::new(Env::with_memory(Use::Independent, Term::NONE, std::ptr::null())))
}

#[unsafe(no_mangle)]
extern "C" fn enif_free_env(env: *mut Env) {
    if !env.is_null() {
        // SAFETY: the library gives up an environment that it has made.
        with_callbacks(|| drop(unsafe { Box::from_raw(env) }));
    }
}

#[unsafe(no_mangle)]
extern "C" fn enif_clear_env(env: &mut Env) {
    with_callbacks(|| env.clear());
}

#[unsafe(no_mangle)]
extern "C" fn enif_priv_data(env: &mut Env) -> *mut c_void {
    if let Some(rare) = env.rare_if_any().filter(|rare| !rare.private.is_null()) {
        // SAFETY: `load` runs, for which this variable was made.
        return unsafe { *rare.private };
    }
    // SAFETY: a library is kept while a function of it runs.
    unsafe { env.library.as_ref() }.map_or(std::ptr::null_mut(), |library| library.private.load(Ordering::Acquire))
}

/// Stores a pid or port; whether there is one.
fn store(found: Option<Term>, place: &mut Term) -> c_int {
    match found {
        Some(found) => {
            *place = found;
            1
        }
        None => 0,
    }
}

#[unsafe(no_mangle)]
extern "C" fn enif_self<'p>(env: &mut Env, pid: &'p mut Term) -> Option<&'p mut Term> {
    if env.process.is_none() {
        return None;
    }
    *pid = env.process;
    Some(pid)
}

#[unsafe(no_mangle)]
extern "C" fn enif_get_local_pid(_: *mut Env, term: Term, pid: &mut Term) -> c_int {
    store(Some(term).filter(|term| term.is_local_pid()), pid)
}

#[unsafe(no_mangle)]
extern "C" fn enif_get_local_port(_: *mut Env, term: Term, port: &mut Term) -> c_int {
    store(Some(term).filter(|term| term.is_local_port()), port)
}

#[unsafe(no_mangle)]
extern "C" fn enif_set_pid_undefined(pid: &mut Term) {
    *pid = atoms::UNDEFINED;
}

#[unsafe(no_mangle)]
extern "C" fn enif_is_pid_undefined(pid: &Term) -> c_int {
    (*pid == atoms::UNDEFINED).into()
}

fn registered(name: Term) -> Option<Term> {
    if name.is_atom() { System::get().whereis(name) } else { None }
}

#[unsafe(no_mangle)]
extern "C" fn enif_whereis_pid(_: *mut Env, name: Term, pid: &mut Term) -> c_int {
    enter_machine();
    store(registered(name).filter(|found| found.is_local_pid()), pid)
}

#[unsafe(no_mangle)]
extern "C" fn enif_whereis_port(_: *mut Env, name: Term, port: &mut Term) -> c_int {
    enter_machine();
    store(registered(name).filter(|found| found.is_local_port()), port)
}

#[unsafe(no_mangle)]
extern "C" fn enif_is_process_alive(_: *mut Env, pid: &Term) -> c_int {
    enter_machine();
    System::get().table.contains(*pid).into()
}

#[unsafe(no_mangle)]
extern "C" fn enif_is_current_process_alive(env: &mut Env) -> c_int {
    (env.usage == Use::Call || System::get().table.contains(env.process)).into()
}

#[unsafe(no_mangle)]
extern "C" fn enif_is_port_alive(_: *mut Env, port: &Term) -> c_int {
    enter_machine();
    System::get().ports.get().is_some_and(|ports| ports.exists(*port)).into()
}

/// Sends a message of the environment `from`, or of the caller's if there is none. `from` is empty afterwards.
#[unsafe(no_mangle)]
extern "C" fn enif_send(caller: Option<&mut Env>, to: &Term, from: Option<&mut Env>, message: Term) -> c_int {
    enter_machine();
    let system = System::get();
    let (mut caller, mut from) = (caller, from);
    if let Some(env) = from.as_deref_mut().or(caller.as_deref_mut()) {
        checked(env, message, "sent");
    }
    if let Some(caller) = caller {
        // What a process that is gone sends goes nowhere.
        if caller.usage == Use::Dirty && !system.table.contains(caller.process) {
            return 0;
        }
        if from.is_none() {
            if !system.table.contains(*to) {
                return 0;
            }
            let fragment = match caller.caller() {
                Some(caller) if caller.own.flags.traced() => {
                    let pid = caller.process.pid;
                    return atoll_process::send::send(pid, caller.own, *to, message).is_ok().into();
                }
                _ => {
                    told(caller, *to, message);
                    caller.message(message)
                }
            };
            return deliver(*to, fragment);
        }
        if system.table.contains(*to) {
            told(caller, *to, message);
        }
    }
    if !system.table.contains(*to) {
        return 0;
    }
    let Some(from) = from else {
        // Without any environment, the message can only be a word.
        let fragment = atoll_heap::architecture().send_copy(message);
        return deliver(*to, fragment);
    };
    let fragment = from.message(message);
    let sent = deliver(*to, fragment);
    if from.usage == Use::Independent {
        from.clear();
    }
    sent
}

/// A tracer hears of a message from the process that calls, which is about to be sent.
fn told(caller: &mut Env, to: Term, message: Term) {
    if let Some(tracing) = caller.tracing().filter(|tracing| tracing.flags & tracing::SEND != 0) {
        tracing::tell_apart(caller.process, tracing, known_atom("send"), |_| [message, to]);
    }
}

/// Delivers a message; whether the process was there.
pub fn deliver(to: Term, message: Message) -> c_int {
    System::get().deliver_from_outside(to, sequence::neutral(message)).is_ok().into()
}

/// `port_command/2`, of which nobody hears whether it fails. A thread of a library's has no environment that calls.
#[unsafe(no_mangle)]
extern "C" fn enif_port_command(env: Option<&mut Env>, port: &Term, from: Option<&mut Env>, message: Term) -> c_int {
    enter_machine();
    let bytes = iolist::iolist_bytes(message);
    if let Some(from) = from.filter(|from| from.usage == Use::Independent) {
        from.clear();
    }
    let caller = env.map(|env| env.process).filter(|caller| !caller.is_none());
    bytes.is_ok_and(|bytes| atoll_ports::command(*port, caller, bytes)).into()
}
