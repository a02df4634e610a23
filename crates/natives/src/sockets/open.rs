//! Opening and closing sockets, and what concerns the whole of one: its names, `listen`, `shutdown`, `cancel`.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::Ordering;

use atoll_platform::sockets::get_integer;
use atoll_platform::{descriptor, endpoints};
use atoll_process::{BuiltIn, Caller, Interrupt, Outcome, badarg};
use atoll_term::atoms::{LazyAtom, known_atom};
use atoll_term::{Build, Term, atoms, map};
use rustix::io::Errno;

use crate::arguments::int;
use crate::dirty;
use crate::results::{done, ok, posix_error};
use crate::sockets::line::{Cancelled, Handle};
use crate::sockets::socket::{Socket, Wait, closed, invalid, part, raise_invalid, socket};
use crate::sockets::state::{BUFFER_BYTES, CONTROL_BYTES, Phase, Settings, State};
use crate::sockets::{address, namespace};

/// What this file provides.
pub const BUILT_INS: &[BuiltIn] = &[
    BuiltIn::new("prim_socket", "nif_open", 2, adopt),
    BuiltIn::new("prim_socket", "nif_open", 4, open),
    BuiltIn::new("prim_socket", "nif_bind", 2, bind),
    BuiltIn::new("prim_socket", "nif_listen", 2, listen),
    BuiltIn::new("prim_socket", "nif_close", 1, close),
    BuiltIn::new("prim_socket", "nif_finalize_close", 1, finalize_close),
    BuiltIn::new("prim_socket", "nif_shutdown", 2, shutdown),
    BuiltIn::new("prim_socket", "nif_sockname", 1, own_name),
    BuiltIn::new("prim_socket", "nif_peername", 1, peer_name),
    BuiltIn::new("prim_socket", "nif_cancel", 3, cancel),
];

static ACCEPT: LazyAtom = LazyAtom::new("accept");
static CONNECT: LazyAtom = LazyAtom::new("connect");
static DEBUG: LazyAtom = LazyAtom::new("debug");
static DOMAIN: LazyAtom = LazyAtom::new("domain");
static DUP: LazyAtom = LazyAtom::new("dup");
static HOW: LazyAtom = LazyAtom::new("how");
static NETNS: LazyAtom = LazyAtom::new("netns");
static NOT_FOUND: LazyAtom = LazyAtom::new("not_found");
static PROTOCOL: LazyAtom = LazyAtom::new("protocol");
static READ: LazyAtom = LazyAtom::new("read");
static READ_WRITE: LazyAtom = LazyAtom::new("read_write");
static SELECT_SENT: LazyAtom = LazyAtom::new("select_sent");
static TYPE: LazyAtom = LazyAtom::new("type");
static USE_REGISTRY_KEY: LazyAtom = LazyAtom::new("use_registry");
static WRITE: LazyAtom = LazyAtom::new("write");

/// A truth value of the options, or another value if they say none.
///
/// # Errors
/// `badarg`: neither `true` nor `false`
fn flag(options: Term, key: &LazyAtom, otherwise: bool) -> Result<bool, Interrupt> {
    match map::get(options, key.get()) {
        None => Ok(otherwise),
        Some(atoms::TRUE) => Ok(true),
        Some(atoms::FALSE) => Ok(false),
        Some(_) => Err(badarg()),
    }
}

fn settings(options: Term) -> Result<Settings, Interrupt> {
    Ok(Settings {
        buffer: BUFFER_BYTES,
        rounds: 0,
        control: CONTROL_BYTES,
        sent_control: CONTROL_BYTES,
        wraps: false,
        debug: flag(options, &DEBUG, false)?,
        registered: flag(options, &USE_REGISTRY_KEY, part().use_registry.load(Ordering::Relaxed))?,
    })
}

/// `nif_open(Domain, Type, Protocol, Options)`
fn open(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let (protocol, options) = (int(arguments[2])?, arguments[3]);
    if !options.is_map() {
        return Err(badarg());
    }
    let Some(domain) = address::domain(arguments[0]) else { return invalid(caller, "domain") };
    let Some(kind) = address::kind(arguments[1]) else { return invalid(caller, "type") };
    let settings = settings(options)?;
    let opened = match map::get(options, NETNS.get()) {
        None => endpoints::open(domain, kind, protocol),
        Some(path) => {
            let path = path.bits().filter(|bits| bits.is_binary()).ok_or_else(badarg)?;
            namespace::within(&path.to_bytes(), move || endpoints::open(domain, kind, protocol))
        }
    };
    match opened {
        Ok(descriptor) => {
            // Which protocol the system has chosen.
            let chosen = get_integer(descriptor.as_fd(), libc::SOL_SOCKET, libc::SO_PROTOCOL);
            let kinds = [domain, kind, chosen.unwrap_or(protocol)];
            let state = State::new(descriptor, caller.process.pid, settings);
            let reference = Socket::create(caller, kinds, None, state);
            ok(caller, reference)
        }
        Err(error) => posix_error(caller, error),
    }
}

/// `nif_open(Descriptor, Options)`
fn adopt(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let (number, options) = (int(arguments[0])?, arguments[1]);
    if !options.is_map() {
        return Err(badarg());
    }
    let settings = settings(options)?;
    let duplicate = map::get(options, DUP.get()) != Some(atoms::FALSE);
    let Some(given) = descriptor::borrow(number) else { return invalid(caller, "domain") };
    // What the system does not tell the program has to.
    let ask = |option: i32, key: &LazyAtom, read: fn(Term) -> Option<i32>| {
        let told = get_integer(given, libc::SOL_SOCKET, option).ok();
        told.or_else(|| map::get(options, key.get()).and_then(read))
    };
    let Some(domain) = ask(libc::SO_DOMAIN, &DOMAIN, address::domain) else { return invalid(caller, "domain") };
    let Some(kind) = ask(libc::SO_TYPE, &TYPE, address::kind) else { return invalid(caller, "type") };
    let protocol = ask(libc::SO_PROTOCOL, &PROTOCOL, |term| int(term).ok()).unwrap_or(0);
    let adopted = (|| {
        let own = if duplicate { rustix::io::fcntl_dupfd_cloexec(given, 0)? } else { descriptor::adopt(number)? };
        let flags = rustix::fs::fcntl_getfl(&own)?;
        rustix::fs::fcntl_setfl(&own, flags | rustix::fs::OFlags::NONBLOCK)?;
        Ok(own)
    })();
    match adopted {
        Ok(own) => {
            let mut state = State::new(own, caller.process.pid, settings);
            state.connected =
                state.descriptor.as_ref().is_some_and(|descriptor| endpoints::peer_name(descriptor.as_fd()).is_ok());
            let reference = Socket::create(caller, [domain, kind, protocol], Some(number), state);
            ok(caller, reference)
        }
        Err(error) => posix_error(caller, error),
    }
}

fn bind(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let socket = socket(&arguments[0])?;
    let Some(address) = address::decode(arguments[1]) else { return invalid(caller, "sockaddr") };
    let mut state = socket.lock();
    let Some(descriptor) = open_descriptor(&state) else { return closed(caller) };
    let result = endpoints::bind(descriptor.as_fd(), &address);
    state.bound |= result.is_ok();
    done(caller, result)
}

/// The descriptor, if the socket is open.
pub fn open_descriptor(state: &State) -> Option<&OwnedFd> {
    state.descriptor.as_ref().filter(|_| state.phase == Phase::Open)
}

fn listen(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let (socket, backlog) = (socket(&arguments[0])?, int(arguments[1])?);
    let mut state = socket.lock();
    let Some(descriptor) = open_descriptor(&state) else { return closed(caller) };
    let result = rustix::net::listen(descriptor, backlog);
    state.listening |= result.is_ok();
    done(caller, result)
}

fn close(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let socket = socket(&arguments[0])?;
    let mut state = socket.lock();
    if state.phase != Phase::Open {
        return closed(caller);
    }
    socket.begin_close(&mut state, Some(caller.process.pid));
    Ok(atoms::OK)
}

/// Whether closing may take long: there is data that it waits for.
fn lingers(descriptor: &OwnedFd) -> bool {
    let mut room = [0; 8];
    let got = atoll_platform::sockets::get_option(descriptor.as_fd(), libc::SOL_SOCKET, libc::SO_LINGER, &mut room);
    got.is_ok() && room[..4] != [0; 4] && room[4..] != [0; 4]
}

fn finalize_close(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    if dirty::result::<()>(caller, arguments)?.is_some() {
        return Ok(atoms::OK);
    }
    let socket = socket(&arguments[0])?;
    let mut state = socket.lock();
    let Some(descriptor) = socket.end_close(&mut state) else { return closed(caller) };
    drop(state);
    if lingers(&descriptor) {
        if let Ok(flags) = rustix::fs::fcntl_getfl(&descriptor) {
            let _ = rustix::fs::fcntl_setfl(&descriptor, flags - rustix::fs::OFlags::NONBLOCK);
        }
        return Err(dirty::start(caller, arguments, move || drop(descriptor)));
    }
    Ok(atoms::OK)
}

fn shutdown(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let socket = socket(&arguments[0])?;
    let how = match arguments[1] {
        how if how == READ.get() => rustix::net::Shutdown::Read,
        how if how == WRITE.get() => rustix::net::Shutdown::Write,
        how if how == READ_WRITE.get() => rustix::net::Shutdown::Both,
        other => {
            let what = caller.heap().tuple(&[HOW.get(), other]);
            return Err(raise_invalid(caller, what));
        }
    };
    let state = socket.lock();
    let Some(descriptor) = open_descriptor(&state) else { return closed(caller) };
    let result = rustix::net::shutdown(descriptor, how);
    done(caller, result)
}

fn name_by(
    caller: &mut Caller<'_>,
    arguments: &[Term],
    name: fn(std::os::fd::BorrowedFd<'_>) -> Result<Vec<u8>, Errno>,
) -> Outcome {
    let socket = socket(&arguments[0])?;
    let state = socket.lock();
    let Some(descriptor) = open_descriptor(&state) else { return closed(caller) };
    match name(descriptor.as_fd()) {
        Ok(bytes) => {
            let address = address::encode(caller.heap(), &bytes);
            ok(caller, address)
        }
        Err(error) => posix_error(caller, error),
    }
}

fn own_name(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    name_by(caller, arguments, endpoints::own_name)
}

fn peer_name(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    name_by(caller, arguments, endpoints::peer_name)
}

/// Operations that read, and those that write.
const READING: [&str; 3] = ["recv", "recvfrom", "recvmsg"];
const WRITING: [&str; 4] = ["send", "sendto", "sendmsg", "sendfile"];

/// `nif_cancel(Socket, Operation, Handle)`
fn cancel(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let socket = socket(&arguments[0])?;
    let handle = Handle::of(arguments[2]).ok_or_else(badarg)?;
    let is_one_of = |names: &[&str]| names.iter().any(|name| known_atom(name) == arguments[1]);
    let wait = match arguments[1] {
        operation if operation == CONNECT.get() => Wait::Connect,
        operation if operation == ACCEPT.get() => Wait::Accept,
        _ if is_one_of(&READING) => Wait::Read,
        _ if is_one_of(&WRITING) => Wait::Write,
        _ => return Err(badarg()),
    };
    let mut state = socket.lock();
    if state.phase != Phase::Open {
        return closed(caller);
    }
    match wait.line(&mut state).cancel(caller.process.pid, handle) {
        Cancelled::NotFound => Ok(NOT_FOUND.get()),
        Cancelled::Queued => Ok(atoms::OK),
        Cancelled::First(told) => {
            socket.next(&mut state, wait);
            Ok(if told { SELECT_SENT.get() } else { atoms::OK })
        }
    }
}
