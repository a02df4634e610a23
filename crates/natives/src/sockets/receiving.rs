//! Receiving.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;

use atoll_platform::endpoints::{self, Arrival};
use atoll_process::{BuiltIn, Caller, Interrupt, Outcome, badarg};
use atoll_term::atoms::{LazyAtom, known_atom};
use atoll_term::{Build, Term, atoms, map};
use parking_lot::MutexGuard;
use rustix::io::Errno;

use crate::arguments::int;
use crate::results::{ok, posix_error};
use crate::sockets::line::Handle;
use crate::sockets::open::open_descriptor;
use crate::sockets::socket::{Socket, Wait, closed, closed_atom, select_atom, socket, wrong_state};
use crate::sockets::state::{Count, Phase, State};
use crate::sockets::{address, control};

/// What this file provides.
pub const BUILT_INS: &[BuiltIn] = &[
    BuiltIn::new("prim_socket", "nif_recv", 4, receive),
    BuiltIn::new("prim_socket", "nif_recvfrom", 4, receive_from),
    BuiltIn::new("prim_socket", "nif_recvmsg", 5, receive_message),
];

static ADDR: LazyAtom = LazyAtom::new("addr");
static CTRL: LazyAtom = LazyAtom::new("ctrl");
static FLAGS: LazyAtom = LazyAtom::new("flags");
static IOV: LazyAtom = LazyAtom::new("iov");
static MORE: LazyAtom = LazyAtom::new("more");
static ZERO: LazyAtom = LazyAtom::new("zero");

/// A receiver whose turn it is.
struct Turn<'h> {
    socket: &'h Arc<Socket>,
    state: MutexGuard<'h, State>,
    reference: Term,
    /// `None`: it does not want to wait at all.
    handle: Option<Handle>,
}

fn turn<'h>(caller: &mut Caller<'_>, reference: &'h Term, handle: Term) -> Result<Turn<'h>, Outcome> {
    let socket = socket(reference).map_err(Err)?;
    let handle = match Handle::of(handle) {
        None if handle != ZERO.get() => return Err(Err(badarg())),
        handle => handle,
    };
    let mut state = socket.lock();
    if state.phase != Phase::Open {
        return Err(closed(caller));
    }
    if state.acceptors.first.is_some() {
        return Err(wrong_state(caller));
    }
    match socket.turn(caller, &mut state, Wait::Read, *reference, handle) {
        Ok(Ok(())) => Ok(Turn { socket, state, reference: *reference, handle }),
        Ok(Err(result)) => Err(Ok(result)),
        Err(interrupt) => Err(Err(interrupt)),
    }
}

impl Turn<'_> {
    fn read<T>(&mut self, read: impl FnOnce(BorrowedFd<'_>) -> Result<T, Errno>) -> Result<T, Errno> {
        self.state.counters.one(Count::ReadTries);
        read(open_descriptor(&self.state).ok_or(Errno::BADF)?.as_fd())
    }

    fn count(&mut self, bytes: usize) {
        self.state.counters.add(Count::ReadBytes, bytes);
    }

    /// A packet is there.
    fn done(&mut self) {
        let state = &mut *self.state;
        state.counters.one(Count::ReadPackets);
        state.counters.largest(Count::ReadLargest, std::mem::take(&mut state.reading));
        self.socket.next(state, Wait::Read);
    }

    fn failed(&mut self, caller: &mut Caller<'_>, error: Errno) -> Outcome {
        self.state.full_buffers = 0;
        if error == Errno::AGAIN || error == Errno::INTR {
            return match self.handle {
                None => Ok(atoms::OK),
                Some(handle) => {
                    self.socket.select(caller, &mut self.state, Wait::Read, self.reference, handle)?;
                    Ok(select_atom())
                }
            };
        }
        self.state.counters.one(Count::ReadFails);
        self.socket.fail(&mut self.state, Wait::Read, known_atom(atoll_platform::errors::name(error)));
        posix_error(caller, error)
    }

    /// The other side has closed the connection.
    fn at_end(&mut self, caller: &mut Caller<'_>) -> Outcome {
        self.state.counters.one(Count::ReadFails);
        self.socket.fail(&mut self.state, Wait::Read, closed_atom());
        closed(caller)
    }

    /// Reads a message of up to `most` bytes and its control messages; the outcome of the call if there is none.
    fn message(
        &mut self,
        caller: &mut Caller<'_>,
        most: usize,
        control: usize,
        flags: i32,
    ) -> Result<Arrival, Outcome> {
        let arrival = match self.read(|descriptor| endpoints::receive_message(descriptor, most, control, flags)) {
            Ok(arrival) => arrival,
            Err(error) => return Err(self.failed(caller, error)),
        };
        if arrival.data.is_empty() && self.socket.kind == libc::SOCK_STREAM {
            return Err(self.at_end(caller));
        }
        self.count(arrival.data.len());
        self.done();
        Ok(arrival)
    }
}

fn size(term: Term) -> Result<usize, Interrupt> {
    term.to_i64().and_then(|size| usize::try_from(size).ok()).ok_or_else(badarg)
}

/// `nif_recv(Socket, Length, Flags, Handle)`
fn receive(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let (wanted, flags) = (size(arguments[1])?, int(arguments[2])?);
    let mut turn = match turn(caller, &arguments[0], arguments[3]) {
        Ok(turn) => turn,
        Err(outcome) => return outcome,
    };
    let most = if wanted == 0 { turn.state.settings.buffer } else { wanted };
    let data = match turn.read(|descriptor| endpoints::receive(descriptor, most, flags)) {
        Ok(data) => data,
        Err(error) => return turn.failed(caller, error),
    };
    let is_stream = turn.socket.kind == libc::SOCK_STREAM;
    if data.is_empty() && is_stream {
        return turn.at_end(caller);
    }
    turn.count(data.len());
    turn.state.reading += data.len() as u64;
    let bytes = caller.heap().binary(&data);
    let rounds = turn.state.settings.rounds;
    if data.len() == most && wanted == 0 && rounds > 0 && turn.handle.is_some() {
        // There may be more.
        turn.state.full_buffers += 1;
        if turn.state.full_buffers < rounds {
            return Ok(caller.heap().tuple(&[MORE.get(), bytes]));
        }
    }
    turn.state.full_buffers = 0;
    match turn.handle {
        Some(handle) if data.len() < wanted && is_stream => {
            turn.socket.select(caller, &mut turn.state, Wait::Read, arguments[0], handle)?;
            Ok(caller.heap().tuple(&[select_atom(), bytes]))
        }
        _ => {
            turn.done();
            ok(caller, bytes)
        }
    }
}

/// `nif_recvfrom(Socket, Length, Flags, Handle)`
fn receive_from(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let (wanted, flags) = (size(arguments[1])?, int(arguments[2])?);
    let mut turn = match turn(caller, &arguments[0], arguments[3]) {
        Ok(turn) => turn,
        Err(outcome) => return outcome,
    };
    let most = if wanted == 0 { turn.state.settings.buffer } else { wanted };
    let arrival = match turn.message(caller, most, 0, flags) {
        Ok(arrival) => arrival,
        Err(outcome) => return outcome,
    };
    let heap = caller.heap();
    let from = address::encode(heap, &arrival.from);
    let data = heap.binary(&arrival.data);
    let pair = heap.tuple(&[from, data]);
    ok(caller, pair)
}

/// `nif_recvmsg(Socket, Length, ControlLength, Flags, Handle)`
fn receive_message(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let (wanted, wanted_control, flags) = (size(arguments[1])?, size(arguments[2])?, int(arguments[3])?);
    let mut turn = match turn(caller, &arguments[0], arguments[4]) {
        Ok(turn) => turn,
        Err(outcome) => return outcome,
    };
    let settings = turn.state.settings;
    let most = if wanted == 0 { settings.buffer } else { wanted };
    let control = if wanted_control == 0 { settings.control } else { wanted_control };
    let arrival = match turn.message(caller, most, control, flags) {
        Ok(arrival) => arrival,
        Err(outcome) => return outcome,
    };
    let heap = caller.heap();
    let data = heap.binary(&arrival.data);
    let iov = heap.list([data]);
    let control = control::decode(heap, &arrival.control);
    let flags = control::flags(heap, arrival.flags);
    let mut pairs = vec![(FLAGS.get(), flags), (IOV.get(), iov), (CTRL.get(), control)];
    if !arrival.from.is_empty() {
        pairs.push((ADDR.get(), address::encode(heap, &arrival.from)));
    }
    let message = map::from_pairs(heap, &pairs);
    ok(caller, message)
}
