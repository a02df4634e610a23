//! What a socket is at the moment.

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicI64, Ordering};

use atoll_heap::Stored;
use atoll_term::atoms::known_atom;
use atoll_term::{Term, atoms};

use crate::sockets::line::Line;

/// How far the end of a socket has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// It is open.
    Open,
    /// It can be used no more, but still has its descriptor.
    Closing,
    /// It has none.
    Closed,
}

/// Bytes to receive if the program gives no number.
pub const BUFFER_BYTES: usize = 8192;
/// Bytes for control messages if the program gives no number.
pub const CONTROL_BYTES: usize = 1024;

/// A count of [`Counters`].
#[derive(Clone, Copy, Debug)]
pub enum Count {
    /// `accept` failed.
    AcceptFails,
    /// A connection was accepted.
    Accepts,
    /// `accept` was tried.
    AcceptTries,
    /// `accept` was tried too early.
    AcceptWaits,
    /// Bytes received.
    ReadBytes,
    /// Receiving failed.
    ReadFails,
    /// Packets received.
    ReadPackets,
    /// Bytes of the largest one.
    ReadLargest,
    /// Receiving was tried.
    ReadTries,
    /// Bytes sent. (What waits to receive is not counted, as in OTP 25: that count stays zero.)
    WriteBytes = 10,
    /// Sending failed.
    WriteFails,
    /// Packets sent.
    WritePackets,
    /// Bytes of the largest one.
    WriteLargest,
    /// Sending was tried.
    WriteTries,
    /// There was no room to send.
    WriteWaits,
}

/// Names of the counts, in their order.
pub const COUNT_NAMES: [&str; 16] = [
    "acc_fails",
    "acc_success",
    "acc_tries",
    "acc_waits",
    "read_byte",
    "read_fails",
    "read_pkg",
    "read_pkg_max",
    "read_tries",
    "read_waits",
    "write_byte",
    "write_fails",
    "write_pkg",
    "write_pkg_max",
    "write_tries",
    "write_waits",
];

/// What a socket has done.
#[derive(Clone, Copy, Default)]
pub struct Counters(pub [u64; 16]);

impl Counters {
    /// Adds to a count.
    pub fn add(&mut self, count: Count, number: usize) {
        self.0[count as usize] = self.0[count as usize].wrapping_add(number as u64);
    }

    /// Adds one.
    pub fn one(&mut self, count: Count) {
        self.add(count, 1);
    }

    /// Notes the size of a packet.
    pub fn largest(&mut self, count: Count, bytes: u64) {
        self.0[count as usize] = self.0[count as usize].max(bytes);
    }
}

/// What programs set, and `accept` hands on.
#[derive(Clone, Copy)]
pub struct Settings {
    /// Bytes received at once.
    pub buffer: usize,
    /// How often a buffer may be filled before what is there is enough; 0: without end.
    pub rounds: usize,
    /// Bytes for control messages that are received.
    pub control: usize,
    /// Bytes for control messages that are sent.
    pub sent_control: usize,
    /// `iow`
    pub wraps: bool,
    /// `debug`
    pub debug: bool,
    /// OTP's process that registers all sockets knows this one.
    pub registered: bool,
}

/// The state.
pub struct State {
    /// Until it is closed.
    pub descriptor: Option<OwnedFd>,
    /// See [`Phase`].
    pub phase: Phase,
    /// Whose end closes the socket.
    pub owner: Option<Term>,
    /// Who closes it.
    pub closer: Option<Term>,
    /// `bind` was done.
    pub bound: bool,
    /// `listen` was done.
    pub listening: bool,
    /// It has been waited for with `accept`.
    pub accepting: bool,
    /// It is connected.
    pub connected: bool,
    /// Input has been waited for.
    pub read_selected: bool,
    /// Output has been waited for.
    pub write_selected: bool,
    /// Who connects.
    pub connector: Line,
    /// Who accepts.
    pub acceptors: Line,
    /// Who receives.
    pub readers: Line,
    /// Who sends.
    pub writers: Line,
    /// What programs set.
    pub settings: Settings,
    /// Full buffers received one after the other.
    pub full_buffers: usize,
    /// Bytes of the packet that is being received.
    pub reading: u64,
    /// Bytes of the packet that is being sent.
    pub writing: u64,
    /// What it has done.
    pub counters: Counters,
    /// `meta`
    pub meta: Option<Stored>,
    /// A file that is being sent.
    pub file: Option<crate::files::handles::Handle>,
}

impl State {
    /// The state of a new socket.
    pub fn new(descriptor: OwnedFd, owner: Term, settings: Settings) -> State {
        State {
            descriptor: Some(descriptor),
            phase: Phase::Open,
            owner: Some(owner),
            closer: None,
            bound: false,
            listening: false,
            accepting: false,
            connected: false,
            read_selected: false,
            write_selected: false,
            connector: Line::default(),
            acceptors: Line::default(),
            readers: Line::default(),
            writers: Line::default(),
            settings,
            full_buffers: 0,
            reading: 0,
            writing: 0,
            counters: Counters::default(),
            meta: None,
            file: None,
        }
    }

    /// The lines.
    pub fn lines(&mut self) -> [&mut Line; 4] {
        [&mut self.connector, &mut self.acceptors, &mut self.readers, &mut self.writers]
    }
}

/// Numbers of sockets that are open: all, then by domain, type and protocol.
pub type Open = [AtomicI64; 11];

fn open() -> &'static Open {
    &crate::sockets::socket::part().open
}

/// Names of these numbers.
const OPEN_NAMES: [&str; 11] = [
    "num_sockets",
    "num_dinet",
    "num_dinet6",
    "num_dlocal",
    "num_tstreams",
    "num_tdgrams",
    "num_tseqpkgs",
    "num_pip",
    "num_psctp",
    "num_ptcp",
    "num_pudp",
];

/// Counts a socket that is opened (1) or closed (-1).
pub fn count_open(domain: i32, kind: i32, protocol: i32, change: i64) {
    let domain = match domain {
        libc::AF_INET => Some(1),
        libc::AF_INET6 => Some(2),
        libc::AF_UNIX => Some(3),
        _ => None,
    };
    let kind = match kind {
        libc::SOCK_STREAM => Some(4),
        libc::SOCK_DGRAM => Some(5),
        libc::SOCK_SEQPACKET => Some(6),
        _ => None,
    };
    let protocol = match protocol {
        libc::IPPROTO_IP => Some(7),
        libc::IPPROTO_SCTP => Some(8),
        libc::IPPROTO_TCP => Some(9),
        libc::IPPROTO_UDP => Some(10),
        _ => None,
    };
    for index in [Some(0), domain, kind, protocol].into_iter().flatten() {
        open()[index].fetch_add(change, Ordering::Relaxed);
    }
}

/// The numbers, with their names.
pub fn open_counts() -> Vec<(Term, Term)> {
    let counts = OPEN_NAMES.iter().zip(open());
    counts.map(|(name, count)| (known_atom(name), Term::small(count.load(Ordering::Relaxed)))).collect()
}

/// The atom of a truth value.
pub fn boolean(value: bool) -> Term {
    if value { atoms::TRUE } else { atoms::FALSE }
}
