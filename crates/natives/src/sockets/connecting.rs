//! `connect` and `accept`.

use std::os::fd::AsFd;

use atoll_platform::endpoints;
use atoll_platform::sockets::get_integer;
use atoll_process::{BuiltIn, Caller, Outcome, badarg};
use atoll_term::atoms::known_atom;
use atoll_term::{Term, atoms};
use rustix::io::Errno;

use crate::results::{done, ok, posix_error};
use crate::sockets::address;
use crate::sockets::line::Handle;
use crate::sockets::open::open_descriptor;
use crate::sockets::socket::{Socket, Wait, closed, invalid, raise_state, select_atom, socket, wrong_state};
use crate::sockets::state::{Count, Phase, State};

/// What this file provides.
pub const BUILT_INS: &[BuiltIn] = &[
    BuiltIn::new("prim_socket", "nif_connect", 1, finish),
    BuiltIn::new("prim_socket", "nif_connect", 3, connect),
    BuiltIn::new("prim_socket", "nif_accept", 2, accept),
];

/// `nif_connect(Socket, Handle, Address)`. When a process that is connecting calls it again, it gets the result.
fn connect(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let socket = socket(&arguments[0])?;
    let handle = Handle::of(arguments[1]).ok_or_else(badarg)?;
    let Some(address) = address::decode(arguments[2]) else { return invalid(caller, "sockaddr") };
    let mut state = socket.lock();
    let Some(descriptor) = open_descriptor(&state) else { return closed(caller) };
    if state.connector.first.is_some() {
        drop(state);
        return finish(caller, arguments);
    }
    if state.writers.first.is_some() {
        return wrong_state(caller);
    }
    match endpoints::connect(descriptor.as_fd(), &address) {
        Ok(()) => {
            state.connected = true;
            Ok(atoms::OK)
        }
        Err(Errno::INPROGRESS | Errno::INTR) => {
            socket.select(caller, &mut state, Wait::Connect, arguments[0], handle)?;
            Ok(select_atom())
        }
        Err(error) => posix_error(caller, error),
    }
}

/// `nif_connect(Socket)`: the result of connecting.
fn finish(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let socket = socket(&arguments[0])?;
    let mut state = socket.lock();
    if state.phase != Phase::Open {
        return closed(caller);
    }
    if state.connector.first.as_ref().is_none_or(|first| first.pid != caller.process.pid) {
        return Err(raise_state(caller));
    }
    socket.next(&mut state, Wait::Connect);
    let Some(descriptor) = open_descriptor(&state) else { return closed(caller) };
    let result = match get_integer(descriptor.as_fd(), libc::SOL_SOCKET, libc::SO_ERROR) {
        Ok(0) => Ok(()),
        Ok(error) => Err(Errno::from_raw_os_error(error)),
        Err(error) => Err(error),
    };
    state.connected |= result.is_ok();
    done(caller, result)
}

/// `nif_accept(Socket, Handle)`
fn accept(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let socket = socket(&arguments[0])?;
    let handle = Handle::of(arguments[1]).ok_or_else(badarg)?;
    let mut state = socket.lock();
    if state.phase != Phase::Open {
        return closed(caller);
    }
    if state.readers.first.is_some() {
        return wrong_state(caller);
    }
    let waited = state.acceptors.first.is_some();
    if let Err(result) = socket.turn(caller, &mut state, Wait::Accept, arguments[0], Some(handle))? {
        return Ok(result);
    }
    let Some(descriptor) = open_descriptor(&state) else { return closed(caller) };
    let accepted = endpoints::accept(descriptor.as_fd());
    state.counters.one(Count::AcceptTries);
    match accepted {
        Ok(descriptor) => {
            state.counters.one(Count::Accepts);
            socket.next(&mut state, Wait::Accept);
            state.connected = true;
            let accepted = State::new(descriptor, caller.process.pid, state.settings);
            drop(state);
            let reference = Socket::create(caller, [socket.domain, socket.kind, socket.protocol], None, accepted);
            ok(caller, reference)
        }
        Err(Errno::AGAIN) => {
            if waited {
                state.counters.one(Count::AcceptWaits);
            }
            socket.select(caller, &mut state, Wait::Accept, arguments[0], handle)?;
            state.accepting = true;
            Ok(select_atom())
        }
        Err(error) => {
            state.counters.one(Count::AcceptFails);
            socket.fail(&mut state, Wait::Accept, known_atom(atoll_platform::errors::name(error)));
            posix_error(caller, error)
        }
    }
}
