//! What sockets of all kinds have: the descriptor, options, counters, and the commands that concern these.

use std::os::fd::{AsFd, OwnedFd};

use atoll_platform::endpoints;
use atoll_process::System;
use atoll_term::atoms::known_atom;
use atoll_term::{Build, ScratchHeap, Term, atoms};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};

use crate::inet::address::{Address, INET, INET6, LOCAL, take_integer, take_number};
use crate::inet::options::Options;
use crate::inet::{Answer, Refusal, information};
use crate::poller;
use crate::port::Port;

const STREAM: u8 = 1;
const DATAGRAM: u8 = 2;

/// Bits of the status.
pub const OPEN: u32 = 1;
/// It is connected.
pub const CONNECTED: u32 = 4;
/// It listens.
pub const LISTENS: u32 = 8;

/// It is being connected.
pub const CONNECTS: u32 = 16;
/// A process waits for connections.
pub const ACCEPTS: u32 = 32;

/// Bytes and packets, one way.
#[derive(Clone, Copy, Default)]
pub struct Traffic {
    packets: u64,
    bytes: u64,
    largest: u64,
    average: f64,
    deviation: f64,
}

impl Traffic {
    /// Counts a packet.
    pub fn count(&mut self, bytes: usize) {
        let size = bytes as f64;
        self.packets += 1;
        self.bytes += bytes as u64;
        self.largest = self.largest.max(bytes as u64);
        self.deviation += ((size - self.average).abs() - self.deviation) / self.packets as f64;
        self.average += (size - self.average) / self.packets as f64;
    }
}

/// A socket.
pub struct Socket {
    /// The descriptor, once it is open.
    pub descriptor: Option<OwnedFd>,
    /// Its family.
    pub family: AddressFamily,
    kind: SocketType,
    /// Options that the machine itself acts on.
    pub options: Options,
    /// See [`OPEN`] and the others.
    pub status: u32,
    /// It has an address.
    pub bound: bool,
    /// What was received.
    pub received: Traffic,
    /// What was sent.
    pub sent: Traffic,
    next_reference: u16,
}

impl Socket {
    /// One that is not open.
    pub fn new() -> Socket {
        Socket {
            descriptor: None,
            family: AddressFamily::UNSPEC,
            kind: SocketType::STREAM,
            options: Options::default(),
            status: 0,
            bound: false,
            received: Traffic::default(),
            sent: Traffic::default(),
            next_reference: 0,
        }
    }

    /// The descriptor.
    ///
    /// # Errors
    /// `EINVAL`: it is not open
    pub fn open(&self) -> Result<&OwnedFd, Errno> {
        self.descriptor.as_ref().ok_or(Errno::INVAL)
    }

    /// Whether a close breaks the connection (`{linger, {true, 0}}`).
    pub fn breaks_at_close(&self) -> bool {
        let socket = self.descriptor.as_ref();
        let linger = socket.and_then(|socket| rustix::net::sockopt::socket_linger(socket).ok().flatten());
        linger.is_some_and(|time| time.is_zero())
    }

    /// One that is connected, with the options of the one that listens.
    pub fn accepted(&self, descriptor: OwnedFd) -> Socket {
        Socket {
            descriptor: Some(descriptor),
            family: self.family,
            kind: self.kind,
            options: self.options.accepted(),
            status: OPEN | CONNECTED,
            bound: true,
            ..Socket::new()
        }
    }

    /// The number of the next request that is answered later.
    pub fn fresh_reference(&mut self) -> u16 {
        self.next_reference = self.next_reference.wrapping_add(1);
        self.next_reference
    }

    /// Carries a command out that concerns all sockets; `None` if it is another.
    pub fn control(&mut self, command: u8, data: &[u8], pending: usize) -> Option<Answer> {
        Some(match command {
            1 => self.create(data),
            4 => self.name(true),
            5 => self.name(false),
            6 => self.bind(data),
            8 => self.options.get(self.descriptor.as_ref(), self.family, data),
            11 => Ok(self.statistics(data, pending)),
            12 => Ok(rustix::system::uname().nodename().to_bytes().to_vec()),
            13 => self.adopt(data),
            14 => self.number(),
            15 => Ok(self.kind_bytes()),
            16 => Ok(self.status.to_be_bytes().to_vec()),
            17 => information::service_port(data),
            18 => information::service_name(data),
            21 => information::interfaces(),
            22 => information::interface(data),
            25 => information::addresses(),
            28 => Ok(Vec::new()),
            // All names: sockets that are not SCTP's have one.
            29 => self.name(false),
            30 => self.name(true),
            _ => return None,
        })
    }

    fn kinds(data: &mut &[u8]) -> Result<(AddressFamily, SocketType), Errno> {
        let family = match take_number(data, 1)? as u8 {
            INET => AddressFamily::INET,
            INET6 => AddressFamily::INET6,
            LOCAL => AddressFamily::UNIX,
            _ => return Err(Errno::INVAL),
        };
        let kind = match take_number(data, 1)? as u8 {
            STREAM => SocketType::STREAM,
            DATAGRAM => SocketType::DGRAM,
            _ => return Err(Errno::INVAL),
        };
        Ok((family, kind))
    }

    fn create(&mut self, mut data: &[u8]) -> Answer {
        if self.descriptor.is_some() {
            return Err(Errno::ALREADY.into());
        }
        let (family, kind) = Socket::kinds(&mut data)?;
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        self.descriptor = Some(socket_with(family, kind, flags, None)?);
        (self.family, self.kind, self.status) = (family, kind, OPEN);
        Ok(Vec::new())
    }

    /// Takes over a socket that a program names by number. If it is another port's, that gets no events any more, and
    /// keeps its descriptor until it is closed.
    ///
    /// # Errors
    /// `EBADF`: it is not open
    pub fn adopt(&mut self, mut data: &[u8]) -> Answer {
        let (family, kind) = Socket::kinds(&mut data)?;
        let number = take_integer(&mut data)?;
        let bound = take_integer(&mut data)? != 0;
        let given = atoll_platform::descriptor::borrow(number).ok_or(Errno::BADF)?;
        if endpoints::own_name(given)?.get(..2) != Some(&family.as_raw().to_ne_bytes()[..]) {
            return Err(Errno::INVAL.into());
        }
        let descriptor = match poller::take_from_ports(number) {
            true => rustix::io::fcntl_dupfd_cloexec(given, 0)?,
            false => atoll_platform::descriptor::adopt(number)?,
        };
        let flags = rustix::fs::fcntl_getfl(&descriptor)?;
        rustix::fs::fcntl_setfl(&descriptor, flags | rustix::fs::OFlags::NONBLOCK)?;
        let peer = rustix::net::getpeername(&descriptor).is_ok_and(|peer| peer.is_some());
        self.descriptor = Some(descriptor);
        (self.family, self.kind) = (family, kind);
        self.status = if peer { OPEN | CONNECTED } else { OPEN };
        self.bound = bound;
        Ok(Vec::new())
    }

    fn bind(&mut self, mut data: &[u8]) -> Answer {
        let address = Address::take(&mut data, self.family)?;
        let socket = self.open()?;
        address.bind(socket)?;
        let bound = rustix::net::getsockname(socket)?;
        self.bound = true;
        Ok(Address::from_system(&bound).map_or(0, |address| address.port()).to_be_bytes().to_vec())
    }

    fn name(&self, of_peer: bool) -> Answer {
        let socket = self.open()?;
        let name = match of_peer {
            true if self.status & CONNECTED == 0 => return Err(Errno::NOTCONN.into()),
            true => endpoints::peer_name(socket.as_fd())?,
            false => endpoints::own_name(socket.as_fd())?,
        };
        let address = Address::from_bytes(&name);
        Ok(address.bytes())
    }

    fn number(&self) -> Answer {
        use std::os::fd::AsRawFd;
        Ok(self.open()?.as_raw_fd().to_be_bytes().to_vec())
    }

    fn kind_bytes(&self) -> Vec<u8> {
        let family = match self.family {
            AddressFamily::INET => INET,
            AddressFamily::INET6 => INET6,
            _ => LOCAL,
        };
        let kind = if self.kind == SocketType::DGRAM { DATAGRAM } else { STREAM };
        [u32::from(family).to_be_bytes(), u32::from(kind).to_be_bytes()].concat()
    }

    fn statistics(&self, items: &[u8], pending: usize) -> Vec<u8> {
        let mut answer = Vec::new();
        for item in items {
            let value = match item {
                1 => self.received.packets,
                2 => self.received.largest,
                3 => self.received.average as u64,
                4 => self.received.deviation as u64,
                5 => self.sent.packets,
                6 => self.sent.largest,
                7 => self.sent.average as u64,
                8 => pending as u64,
                9 => self.received.bytes,
                10 => self.sent.bytes,
                _ => continue,
            };
            answer.push(*item);
            match item {
                9 | 10 => answer.extend_from_slice(&value.to_be_bytes()),
                _ => answer.extend_from_slice(&(value as u32).to_be_bytes()),
            }
        }
        answer
    }

    /// Data as the owner wants it: a list, a binary, or some bytes of a list in front of a binary.
    pub fn data_term(&self, heap: &mut ScratchHeap, bytes: &[u8]) -> Term {
        let small = |byte: &u8| Term::small(i64::from(*byte));
        if !self.options.binary {
            return heap.list(bytes.iter().map(small));
        }
        let (head, rest) = bytes.split_at(self.options.header.min(bytes.len()));
        if head.is_empty() {
            return heap.binary(rest);
        }
        let tail = if rest.is_empty() { Term::NIL } else { heap.binary(rest) };
        heap.list_with_tail(head.iter().map(small), tail)
    }
}

/// `{inet_async, Port, Reference, Status}`
pub fn answer_later(port: &Port, caller: Term, reference: u16, status: impl Fn(&mut ScratchHeap) -> Term) {
    port.tell(caller, |heap| {
        let status = status(heap);
        heap.tuple(&[known_atom("inet_async"), port.id, Term::small(reference.into()), status])
    });
}

/// `{error, Name}`
pub fn error_term(heap: &mut ScratchHeap, refusal: Refusal) -> Term {
    heap.tuple(&[atoms::ERROR, known_atom(refusal.name())])
}

/// Links a process to a port that was made for it.
pub fn link(pid: Term, port: Term) {
    let link = atoll_process::signal::bare(atoll_process::Signal::Link { from: port });
    drop(System::get().deliver_from_outside(pid, link));
}
