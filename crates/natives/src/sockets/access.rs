//! Reading and setting options.

use std::os::fd::{AsFd, AsRawFd};

use atoll_heap::Stored;
use atoll_platform::sockets::{get_option, set_option};
use atoll_process::{BuiltIn, Caller, Interrupt, Outcome, badarg};
use atoll_term::atoms::{LazyAtom, known_atom};
use atoll_term::{Build, Term, atoms};
use rustix::io::Errno;

use crate::arguments::int;
use crate::results::{done, ok, posix_error};
use crate::sockets::address;
use crate::sockets::open::open_descriptor;
use crate::sockets::options::{Access, Value, find};
use crate::sockets::socket::{closed, invalid, raise_invalid, socket};
use crate::sockets::state::{BUFFER_BYTES, CONTROL_BYTES, Phase, boolean};
use crate::sockets::values;

/// What this file provides.
pub const BUILT_INS: &[BuiltIn] = &[
    BuiltIn::new("prim_socket", "nif_setopt", 5, set),
    BuiltIn::new("prim_socket", "nif_getopt", 3, get),
    BuiltIn::new("prim_socket", "nif_getopt", 4, get_native),
    BuiltIn::new("prim_socket", "nif_getopt", 5, get_of_kind),
];

static BOOLEAN: LazyAtom = LazyAtom::new("boolean");
static DEFAULT: LazyAtom = LazyAtom::new("default");
static INTEGER: LazyAtom = LazyAtom::new("integer");
static INVALID: LazyAtom = LazyAtom::new("invalid");
static NATIVE: LazyAtom = LazyAtom::new("native");
static NOT_OWNER: LazyAtom = LazyAtom::new("not_owner");
static OTP: LazyAtom = LazyAtom::new("otp");
static SOCKET: LazyAtom = LazyAtom::new("socket");

/// The options of level `otp`, as OTP numbers them.
mod own {
    pub const DEBUG: i32 = 1001;
    pub const WRAPS: i32 = 1002;
    pub const OWNER: i32 = 1003;
    pub const BUFFER: i32 = 1004;
    pub const CONTROL: i32 = 1006;
    pub const SENT_CONTROL: i32 = 1007;
    pub const DESCRIPTOR: i32 = 1008;
    pub const META: i32 = 1009;
    pub const REGISTERED: i32 = 1010;
    pub const DOMAIN: i32 = 1999;
}

/// How many bytes a native option may have.
const LONGEST_NATIVE: usize = 1 << 20;

fn level(term: Term) -> Result<i32, Interrupt> {
    if term == SOCKET.get() { Ok(libc::SOL_SOCKET) } else { int(term) }
}

/// `nif_setopt(Socket, Level, Option, Value, IsNative)`
fn set(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let (number, value, native) = (int(arguments[2])?, arguments[3], int(arguments[4])?);
    if arguments[1] == OTP.get() {
        return set_own(caller, arguments[0], number, value);
    }
    let (socket, level) = (socket(&arguments[0])?, level(arguments[1])?);
    let bytes = if native == 0 {
        let Some(option) = find(level, number).filter(|option| option.access != Access::Read) else {
            return invalid(caller, "socket_option");
        };
        values::encode(option.value, value)
    } else {
        native_bytes(value)
    };
    let state = socket.lock();
    let Some(descriptor) = open_descriptor(&state) else { return closed(caller) };
    let Some(bytes) = bytes else {
        if native == 0 {
            return invalid(caller, "value");
        }
        let reason = caller.heap().tuple(&[INVALID.get(), atoms::VALUE]);
        return Ok(caller.heap().tuple(&[atoms::ERROR, reason]));
    };
    let result = set_option(descriptor.as_fd(), level, number, &bytes);
    done(caller, result)
}

fn native_bytes(value: Term) -> Option<Vec<u8>> {
    match value {
        atoms::TRUE => Some(1i32.to_ne_bytes().to_vec()),
        atoms::FALSE => Some(0i32.to_ne_bytes().to_vec()),
        value => match value.as_small() {
            Some(number) => Some(i32::try_from(number).ok()?.to_ne_bytes().to_vec()),
            None => match value.bits() {
                Some(bits) => bits.is_binary().then(|| bits.to_bytes().into_owned()),
                None => values::text(value),
            },
        },
    }
}

fn truth(value: Term) -> Option<bool> {
    match value {
        atoms::TRUE => Some(true),
        atoms::FALSE => Some(false),
        _ => None,
    }
}

/// A size: a positive number of bytes, or `default`.
fn size(value: Term, default: usize) -> Option<usize> {
    if value == DEFAULT.get() {
        return Some(default);
    }
    usize::try_from(value.as_small()?).ok().filter(|size| *size > 0)
}

/// `Bytes`, `default`, or `{Rounds, Bytes}`.
fn buffer(value: Term) -> Option<(usize, usize)> {
    match value.tuple_elements() {
        Some([rounds, bytes]) => {
            let rounds = usize::try_from(rounds.as_small()?).ok().filter(|rounds| *rounds > 0)?;
            Some((rounds, size(*bytes, BUFFER_BYTES)?))
        }
        Some(_) => None,
        None => Some((0, size(value, BUFFER_BYTES)?)),
    }
}

fn set_own(caller: &mut Caller<'_>, reference: Term, number: i32, value: Term) -> Outcome {
    let socket = socket(&reference)?;
    let mut state = socket.lock();
    if matches!(number, own::DESCRIPTOR | own::DOMAIN) || !(own::DEBUG..=own::REGISTERED).contains(&number) {
        let what = caller.heap().tuple(&[known_atom("otp_socket_option"), Term::small(number.into())]);
        return Err(raise_invalid(caller, what));
    }
    if state.phase != Phase::Open {
        return closed(caller);
    }
    let is_owner = state.owner == Some(caller.process.pid);
    let settings = &mut state.settings;
    let set = match number {
        own::DEBUG => truth(value).map(|value| settings.debug = value),
        own::WRAPS => truth(value).map(|value| settings.wraps = value),
        // A program cannot undo this.
        own::REGISTERED => (value == atoms::TRUE).then(|| socket.register(&mut state)),
        own::BUFFER => buffer(value).map(|(rounds, bytes)| (settings.rounds, settings.buffer) = (rounds, bytes)),
        own::CONTROL => size(value, CONTROL_BYTES).map(|size| settings.control = size),
        own::SENT_CONTROL => size(value, CONTROL_BYTES).map(|size| settings.sent_control = size),
        own::OWNER | own::META if !is_owner => {
            let reason = caller.heap().tuple(&[INVALID.get(), NOT_OWNER.get()]);
            return Ok(caller.heap().tuple(&[atoms::ERROR, reason]));
        }
        own::OWNER => value.is_local_pid().then(|| socket.hand_over(&mut state, value)),
        own::META => {
            let before = state.meta.replace(Stored::new(caller.heap(), value));
            drop(state);
            drop(before);
            return Ok(atoms::OK);
        }
        _ => None,
    };
    match set {
        Some(()) => Ok(atoms::OK),
        None => invalid(caller, "value"),
    }
}

/// `nif_getopt(Socket, Level, Option)`
fn get(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let number = int(arguments[2])?;
    if arguments[1] == OTP.get() {
        return get_own(caller, arguments[0], number);
    }
    let (socket, level) = (socket(&arguments[0])?, level(arguments[1])?);
    let Some(option) = find(level, number).filter(|option| option.access != Access::Set) else {
        return invalid(caller, "socket_option");
    };
    let kind = option.value;
    let is_local = socket.domain == libc::AF_UNIX;
    let state = socket.lock();
    let Some(descriptor) = open_descriptor(&state) else { return closed(caller) };
    let mut room = vec![0; values::room(kind)];
    match get_option(descriptor.as_fd(), level, number, &mut room) {
        Ok(length) => match values::decode(caller.heap(), kind, &room[..length.min(room.len())]) {
            // Local sockets have no protocol.
            Some(value) if is_local && kind == Value::Protocol && value == Term::small(0) => ok(caller, DEFAULT.get()),
            Some(value) => ok(caller, value),
            None => invalid(caller, "socket_option"),
        },
        Err(error) => posix_error(caller, error),
    }
}

/// `nif_getopt(Socket, Level, Option, native, As)`, `nif_getopt(Socket, Level, Option, value, Input)`: an option that
/// needs a value to be read is one of SCTP.
fn get_of_kind(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let &[socket, level, option, kind, wanted] = arguments else { return Err(badarg()) };
    match kind {
        kind if kind == NATIVE.get() => get_native(caller, &[socket, level, option, wanted]),
        atoms::VALUE => invalid(caller, "socket_option"),
        _ => Err(badarg()),
    }
}

fn get_own(caller: &mut Caller<'_>, reference: Term, number: i32) -> Outcome {
    let socket = socket(&reference)?;
    let state = socket.lock();
    let settings = state.settings;
    if number == own::REGISTERED {
        return ok(caller, boolean(settings.registered));
    }
    let Some(descriptor) = open_descriptor(&state) else { return closed(caller) };
    let bytes = |size: usize| Term::small(size as i64);
    let value = match number {
        own::DEBUG => boolean(settings.debug),
        own::WRAPS => boolean(settings.wraps),
        own::OWNER => state.owner.unwrap_or(atoms::UNDEFINED),
        own::BUFFER if settings.rounds > 0 => caller.heap().tuple(&[bytes(settings.rounds), bytes(settings.buffer)]),
        own::BUFFER => bytes(settings.buffer),
        own::CONTROL => bytes(settings.control),
        own::SENT_CONTROL => bytes(settings.sent_control),
        own::DESCRIPTOR => Term::small(descriptor.as_raw_fd().into()),
        own::META => state.meta.as_ref().map_or(atoms::UNDEFINED, |meta| meta.fetch(caller.heap())),
        own::DOMAIN => address::domain_term(socket.domain),
        _ => return invalid(caller, "socket_option"),
    };
    ok(caller, value)
}

/// `nif_getopt(Socket, Level, Option, integer | boolean | Bytes | Binary)`
fn get_native(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let (socket, level, number, wanted) =
        (socket(&arguments[0])?, level(arguments[1])?, int(arguments[2])?, arguments[3]);
    let state = socket.lock();
    let Some(descriptor) = open_descriptor(&state) else { return closed(caller) };
    let is_number = wanted == INTEGER.get() || wanted == BOOLEAN.get();
    let mut room = match (wanted.as_small(), wanted.bits().filter(|bits| bits.is_binary())) {
        _ if is_number => vec![0; 4],
        (Some(size), _) => match usize::try_from(size).ok().filter(|size| *size <= LONGEST_NATIVE) {
            Some(0) => return posix_error(caller, Errno::FAULT),
            Some(size) => vec![0; size],
            None => return posix_error(caller, Errno::INVAL),
        },
        (None, Some(bits)) => bits.to_bytes().into_owned(),
        (None, None) => return invalid(caller, "value"),
    };
    match get_option(descriptor.as_fd(), level, number, &mut room) {
        Ok(length) => {
            let bytes = &room[..length.min(room.len())];
            let integer = match bytes {
                [byte] => i32::from(*byte),
                bytes => bytes.try_into().map_or(0, i32::from_ne_bytes),
            };
            let value = if wanted == INTEGER.get() {
                Term::small(integer.into())
            } else if wanted == BOOLEAN.get() {
                boolean(integer != 0)
            } else {
                caller.heap().binary(bytes)
            };
            ok(caller, value)
        }
        Err(error) => posix_error(caller, error),
    }
}
