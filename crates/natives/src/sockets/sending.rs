//! Sending. If data does not fit, the call reports the rest, and its sender waits until there is room again.

use std::borrow::Cow;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use atoll_platform::endpoints;
use atoll_process::{BuiltIn, Caller, Interrupt, Outcome, badarg};
use atoll_term::atoms::{LazyAtom, known_atom};
use atoll_term::{Build, Term, atoms, map};
use parking_lot::MutexGuard;
use rustix::io::Errno;

use crate::arguments::int;
use crate::files::handles;
use crate::results::posix_error;
use crate::sockets::line::Handle;
use crate::sockets::open::open_descriptor;
use crate::sockets::socket::{Socket, Wait, closed, invalid, raise_state, select_atom, socket, wrong_state};
use crate::sockets::state::{Count, Phase, State};
use crate::sockets::{address, control};

/// What this file provides.
pub const BUILT_INS: &[BuiltIn] = &[
    BuiltIn::new("prim_socket", "nif_send", 4, send),
    BuiltIn::new("prim_socket", "nif_sendto", 5, send_to),
    BuiltIn::new("prim_socket", "nif_sendmsg", 5, send_message),
    BuiltIn::new("prim_socket", "nif_sendv", 3, send_parts),
    BuiltIn::new("prim_socket", "nif_sendfile", 1, forget_file),
    BuiltIn::new("prim_socket", "nif_sendfile", 4, continue_file),
    BuiltIn::new("prim_socket", "nif_sendfile", 5, begin_file),
];

static ADDR: LazyAtom = LazyAtom::new("addr");
static CTRL: LazyAtom = LazyAtom::new("ctrl");
static IOV: LazyAtom = LazyAtom::new("iov");

/// Parts that the system takes at once.
pub const MOST_PARTS: usize = 1024;
/// Bytes of a file that are sent at once.
const FILE_BYTES: usize = 8 << 20;

/// A sender whose turn it is.
struct Turn<'h> {
    socket: &'h Arc<Socket>,
    state: MutexGuard<'h, State>,
    reference: Term,
    handle: Handle,
}

/// Lets the caller send, if it may.
///
/// # Errors
/// What to return, or to raise, instead.
fn turn<'h>(caller: &mut Caller<'_>, reference: &'h Term, handle: Term) -> Result<Turn<'h>, Outcome> {
    let socket = socket(reference).map_err(Err)?;
    let handle = Handle::of(handle).ok_or_else(|| Err(badarg()))?;
    let mut state = socket.lock();
    if state.phase != Phase::Open {
        return Err(closed(caller));
    }
    if state.connector.first.is_some() {
        return Err(wrong_state(caller));
    }
    match socket.turn(caller, &mut state, Wait::Write, *reference, Some(handle)) {
        Ok(Ok(())) => Ok(Turn { socket, state, reference: *reference, handle }),
        Ok(Err(result)) => Err(Ok(result)),
        Err(interrupt) => Err(Err(interrupt)),
    }
}

impl Turn<'_> {
    fn wait(&mut self, caller: &mut Caller<'_>) -> Result<(), Interrupt> {
        self.socket.select(caller, &mut self.state, Wait::Write, self.reference, self.handle)?;
        self.state.counters.one(Count::WriteWaits);
        Ok(())
    }

    fn sent(&mut self, bytes: usize) {
        let state = &mut *self.state;
        state.writing += bytes as u64;
        state.counters.one(Count::WritePackets);
        state.counters.add(Count::WriteBytes, bytes);
        state.counters.largest(Count::WriteLargest, std::mem::take(&mut state.writing));
    }

    fn failed(&mut self, caller: &mut Caller<'_>, error: Errno) -> Outcome {
        self.state.counters.one(Count::WriteFails);
        // What was asked for was wrong, which says nothing about what others ask for.
        if error != Errno::INVAL {
            self.socket.fail(&mut self.state, Wait::Write, known_atom(atoll_platform::errors::name(error)));
        }
        posix_error(caller, error)
    }

    /// What came of sending `wanted` bytes; `more`: there are parts behind these.
    fn finish(mut self, caller: &mut Caller<'_>, result: Result<usize, Errno>, wanted: usize, more: bool) -> Outcome {
        self.state.counters.one(Count::WriteTries);
        match result {
            Ok(written) if written == wanted && !more => {
                self.sent(written);
                self.socket.next(&mut self.state, Wait::Write);
                Ok(atoms::OK)
            }
            Ok(written) => {
                let count = Term::small(written as i64);
                if self.socket.kind != libc::SOCK_STREAM {
                    // That packet is sent, as far as it ever will be.
                    self.sent(written);
                    self.socket.next(&mut self.state, Wait::Write);
                    return Ok(caller.heap().tuple(&[atoms::OK, count]));
                }
                self.state.writing += written as u64;
                if written == wanted {
                    let request = self.socket.request(caller, self.reference, self.handle)?;
                    self.state.writers.first = Some(request);
                    return Ok(caller.heap().tuple(&[IOV.get(), count]));
                }
                self.wait(caller)?;
                Ok(caller.heap().tuple(&[select_atom(), count]))
            }
            Err(Errno::AGAIN | Errno::INTR) => {
                self.wait(caller)?;
                Ok(select_atom())
            }
            Err(error) => self.failed(caller, error),
        }
    }
}

fn bytes(term: &Term) -> Result<Cow<'_, [u8]>, Interrupt> {
    Ok(term.bits().filter(|bits| bits.is_binary()).ok_or_else(badarg)?.to_bytes())
}

fn send_bytes(caller: &mut Caller<'_>, arguments: &[Term], flags: i32, handle: Term, to: Option<&[u8]>) -> Outcome {
    let data = bytes(&arguments[1])?;
    let turn = match turn(caller, &arguments[0], handle) {
        Ok(turn) => turn,
        Err(outcome) => return outcome,
    };
    let Some(descriptor) = open_descriptor(&turn.state) else { return closed(caller) };
    let result = endpoints::send(descriptor.as_fd(), &data, flags, to);
    turn.finish(caller, result, data.len(), false)
}

/// `nif_send(Socket, Data, Flags, Handle)`
fn send(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let flags = int(arguments[2])?;
    send_bytes(caller, arguments, flags, arguments[3], None)
}

/// `nif_sendto(Socket, Data, Address, Flags, Handle)`
fn send_to(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let flags = int(arguments[3])?;
    let Some(to) = address::decode(arguments[2]) else { return invalid(caller, "sockaddr") };
    send_bytes(caller, arguments, flags, arguments[4], Some(&to))
}

/// The first parts of a message, and whether there are more.
type Parts<'l> = (Vec<Cow<'l, [u8]>>, bool);

/// The parts of a message; `None` if they are no list of binaries.
fn parts(mut list: &Term) -> Option<Parts<'_>> {
    let (mut parts, mut more) = (Vec::new(), false);
    while list.is_cons() {
        let [head, tail] = list.cons_cell();
        let part = head.bits().filter(|bits| bits.is_binary())?;
        more = parts.len() == MOST_PARTS;
        if !more {
            parts.push(part.to_bytes());
        }
        list = tail;
    }
    list.is_nil().then_some((parts, more))
}

/// The binaries that a message consists of; the outcome of the call if the socket is closed or cannot send them.
fn parts_for<'l>(caller: &mut Caller<'_>, reference: &Term, list: &'l Term) -> Result<Parts<'l>, Outcome> {
    let target = socket(reference).map_err(Err)?;
    if target.lock().phase != Phase::Open {
        return Err(closed(caller));
    }
    match parts(list) {
        Some((parts, more)) if !more || target.kind == libc::SOCK_STREAM => Ok((parts, more)),
        _ => Err(invalid(caller, "iov")),
    }
}

/// Sends the parts of a message if it is the caller's turn; `handle` names the request.
fn send_in_turn(
    caller: &mut Caller<'_>,
    (reference, handle): (&Term, Term),
    (parts, more): Parts<'_>,
    send: impl FnOnce(BorrowedFd<'_>, &[&[u8]]) -> Result<usize, Errno>,
) -> Outcome {
    let turn = match turn(caller, reference, handle) {
        Ok(turn) => turn,
        Err(outcome) => return outcome,
    };
    let Some(descriptor) = open_descriptor(&turn.state) else { return closed(caller) };
    let slices: Vec<&[u8]> = parts.iter().map(|part| &**part).collect();
    let wanted = slices.iter().map(|slice| slice.len()).sum();
    let result = send(descriptor.as_fd(), &slices);
    turn.finish(caller, result, wanted, more)
}

/// `nif_sendmsg(Socket, Message, Flags, Handle, Parts)`
fn send_message(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let (message, flags) = (arguments[1], int(arguments[2])?);
    if !message.is_map() {
        return Err(badarg());
    }
    let parts = match parts_for(caller, &arguments[0], &arguments[4]) {
        Ok(parts) => parts,
        Err(outcome) => return outcome,
    };
    let to = match map::get(message, ADDR.get()).map(address::decode) {
        Some(None) => return invalid(caller, "addr"),
        Some(Some(to)) => Some(to),
        None => None,
    };
    let control = match map::get(message, CTRL.get()).map(control::encode) {
        Some(None) => return invalid(caller, "ctrl"),
        Some(Some(control)) => control,
        None => Vec::new(),
    };
    send_in_turn(caller, (&arguments[0], arguments[3]), parts, |descriptor, slices| {
        endpoints::send_message(descriptor, slices, &control, flags, to.as_deref())
    })
}

/// `nif_sendv(Socket, Parts, Handle)`
fn send_parts(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let parts = match parts_for(caller, &arguments[0], &arguments[1]) {
        Ok(parts) => parts,
        Err(outcome) => return outcome,
    };
    send_in_turn(caller, (&arguments[0], arguments[2]), parts, |descriptor, slices| {
        endpoints::send_message(descriptor, slices, &[], 0, None)
    })
}

/// `nif_sendfile(Socket, Handle, Offset, Count, File)`: `{ok, Sent}`, `{select, Sent}`, or `select`.
fn begin_file(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let file = match handles::handle(arguments[4])? {
        Ok(file) => file,
        Err(error) => return posix_error(caller, error),
    };
    send_file(caller, arguments, Some(file))
}

/// `nif_sendfile(Socket, Handle, Offset, Count)`: goes on with the same file.
fn continue_file(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    send_file(caller, arguments, None)
}

fn send_file(caller: &mut Caller<'_>, arguments: &[Term], file: Option<handles::Handle>) -> Outcome {
    let offset = arguments[2].to_i64().and_then(|offset| u64::try_from(offset).ok()).ok_or_else(badarg)?;
    let wanted = arguments[3].to_i64().and_then(|count| usize::try_from(count).ok()).ok_or_else(badarg)?;
    let mut turn = match turn(caller, &arguments[0], arguments[1]) {
        Ok(turn) => turn,
        Err(outcome) => return outcome,
    };
    let Some(file) = file.or_else(|| turn.state.file.clone()) else { return Err(raise_state(caller)) };
    let Some(descriptor) = open_descriptor(&turn.state) else { return closed(caller) };
    let (mut place, mut sent) = (offset, 0);
    let result = loop {
        let chunk = if wanted == 0 { FILE_BYTES } else { FILE_BYTES.min(wanted - sent) };
        match rustix::fs::sendfile(descriptor, &file.descriptor, Some(&mut place), chunk) {
            Ok(0) => break Ok(()),
            Ok(count) => {
                sent += count;
                if sent == wanted {
                    break Ok(());
                }
            }
            Err(error) => break Err(error),
        }
    };
    turn.state.counters.one(Count::WriteTries);
    let count = Term::small(sent as i64);
    match result {
        Ok(()) => {
            turn.sent(sent);
            turn.state.file = None;
            turn.socket.next(&mut turn.state, Wait::Write);
            Ok(caller.heap().tuple(&[atoms::OK, count]))
        }
        Err(Errno::AGAIN | Errno::INTR) => {
            turn.state.file = Some(file);
            turn.state.writing += sent as u64;
            turn.state.counters.add(Count::WriteBytes, sent);
            turn.wait(caller)?;
            Ok(caller.heap().tuple(&[select_atom(), count]))
        }
        Err(error) => {
            turn.state.file = None;
            turn.failed(caller, error)
        }
    }
}

/// `nif_sendfile(Socket)`: closes a file whose sending was broken off.
fn forget_file(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let file = socket(&arguments[0])?.lock().file.take();
    drop(file);
    Ok(atoms::OK)
}
