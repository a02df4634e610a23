//! Another node, and the connection to it.
//!
//! ```text
//!   Idle --begin--> Pending --connected--> Up
//!     ^                |                    |
//!     +----- over -----+------ over --------+
//! ```
//!
//! A connection has a number from the moment on in which it begins to be made, and takes output from then on. Its end
//! is the same whether it was ever up: what was not sent is dropped, and the processes that wait for the node learn of
//! its end.
//!
//! What has come is acted on by one thread at a time, in its order ([`Arrivals`], D4).
//!
//! No lock of a node is held while a port's is taken, or while a signal is delivered.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use atoll_heap::Message;
use atoll_ports::channel::{self, Channel};
use atoll_process::remote::{self, Connection, RemoteReference, RemoteSignal};
use atoll_process::{ReferenceId, Signal, System, sequence, signal};
use atoll_term::atoms::known_atom;
use atoll_term::{Build, ScratchHeap, Term, atoms, this_node};
use parking_lot::Mutex;

pub use crate::handle::Handle;

use crate::arrivals::{Arrival, Arrivals, Receives};
use crate::dispatch;
use crate::flags;
use crate::form::PASS_THROUGH;
use crate::input::{Fault, Input};
use crate::kept::Kept;
use crate::output::{Item, Output};
use crate::signals::{self, Fitted};
use crate::watching::{self, Change};

mod flush;

/// Bytes of the length in front of a packet.
const LENGTH: usize = channel::HEAD;

/// The state of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// There is none.
    Idle,
    /// It is being made.
    Pending,
    /// It can be used.
    Up,
}

/// What brings bytes to the other node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carrier {
    /// Nothing yet.
    None,
    /// A port.
    Port(Term),
    /// A process (local pid) that takes packets and puts those that have come.
    Process(Term),
}

/// What the lock of a node guards.
struct Inside {
    phase: Phase,
    connection: Connection,
    /// Goes into the handle of the connection.
    reference: ReferenceId,
    flags: u64,
    creation: u32,
    carrier: Carrier,
    output: Output,
    /// The port has not written all that it was given.
    port_is_full: bool,
    /// A thread is giving packets to the port.
    is_flushing: bool,
    /// Processes that hear of the end of the connection.
    watched: HashSet<Term>,
    /// How often each process has asked with `monitor_node`.
    monitors: HashMap<Term, u32>,
    /// Processes that wait for output to leave: for their own long message, or if true for that of others too.
    suspended: Vec<(Term, bool)>,
    /// The processes behind monitors by name.
    named: HashMap<RemoteReference, Term>,
    /// The process that may put packets; the carrier if it is none.
    input_handler: Term,
    /// The carrier wants to know when there is a packet.
    wants_notice: bool,
    /// The carrier wants sizes with its packets.
    wants_sizes: bool,
    packets_in: u64,
    packets_out: u64,
}

/// Another node.
pub struct Node {
    /// Its name (atom).
    pub name: Term,
    inside: Mutex<Inside>,
    arrivals: Arrivals,
}

/// What a crash dump says of a node.
pub struct Shown {
    /// Its name.
    pub name: Term,
    /// The port or process (local) that carries the connection, if there is one.
    pub carrier: Option<Term>,
    /// Whether it is not published.
    pub is_hidden: bool,
    /// Its creation.
    pub creation: u32,
    /// Processes that asked with `monitor_node`, as often as they did.
    pub monitors: Vec<Term>,
}

/// What a sender has to know of a connection.
#[derive(Clone, Copy, Debug)]
pub struct Line {
    /// Its number.
    pub connection: Connection,
    /// What the other node can do.
    pub flags: u64,
}

impl Node {
    /// A node without a connection.
    pub fn new(name: Term) -> Node {
        Node {
            name,
            inside: Mutex::new(Inside {
                phase: Phase::Idle,
                connection: 0,
                reference: ReferenceId([0; 3]),
                flags: 0,
                creation: 0,
                carrier: Carrier::None,
                output: Output::default(),
                port_is_full: false,
                is_flushing: false,
                watched: HashSet::new(),
                monitors: HashMap::new(),
                suspended: Vec::new(),
                named: HashMap::new(),
                input_handler: Term::NONE,
                wants_notice: false,
                wants_sizes: false,
                packets_in: 0,
                packets_out: 0,
            }),
            arrivals: Arrivals::default(),
        }
    }

    /// What a crash dump says of it; `None` if its lock is held, perhaps by the thread that asks.
    pub fn show(&self) -> Option<Shown> {
        let inside = self.inside.try_lock()?;
        let carrier = match inside.carrier {
            Carrier::Port(carrier) | Carrier::Process(carrier) if inside.phase == Phase::Up => Some(carrier),
            _ => None,
        };
        let monitors = inside.monitors.iter().flat_map(|(pid, count)| (0..*count).map(|_| *pid)).collect();
        let is_hidden = inside.flags & flags::PUBLISHED == 0;
        Some(Shown { name: self.name, carrier, is_hidden, creation: inside.creation, monitors })
    }

    /// Whether there is no connection.
    pub fn is_idle(&self) -> bool {
        self.inside.lock().phase == Phase::Idle
    }

    /// Phase, number of the connection, whether the other node is published.
    pub fn status(&self) -> (Phase, Connection, bool) {
        let inside = self.inside.lock();
        (inside.phase, inside.connection, inside.flags & flags::PUBLISHED != 0)
    }

    /// The port or process that carries the connection.
    pub fn carrier(&self) -> Carrier {
        self.inside.lock().carrier
    }

    /// The connection, if there is one or it is being made.
    pub fn line(&self) -> Option<Line> {
        let inside = self.inside.lock();
        (inside.phase != Phase::Idle).then_some(Line { connection: inside.connection, flags: inside.flags })
    }

    /// The other node's creation, while there is a connection.
    pub fn creation(&self) -> Option<u32> {
        let inside = self.inside.lock();
        (inside.phase == Phase::Up).then_some(inside.creation)
    }

    /// Begins to make a connection, unless there is one: whether it was begun, and the handle.
    pub fn begin(&self) -> (bool, Handle) {
        self.settle();
        let mut inside = self.inside.lock();
        let is_new = inside.phase == Phase::Idle;
        if is_new {
            inside.phase = Phase::Pending;
            inside.connection = crate::part().next_connection.fetch_add(1, Ordering::Relaxed);
            inside.reference = ReferenceId::fresh();
            inside.flags = flags::SUPPOSED;
            inside.output = Output::default();
            inside.output.fragments = true;
            (inside.packets_in, inside.packets_out) = (0, 0);
        }
        (is_new, Handle { connection: inside.connection, reference: inside.reference })
    }

    /// Whether this is the handle of the present connection.
    pub fn is_handle(&self, handle: Handle) -> bool {
        let inside = self.inside.lock();
        inside.phase != Phase::Idle && inside.connection == handle.connection && inside.reference == handle.reference
    }

    /// The connection is made: `agreed` are the flags of both nodes. Returns its handle; `None` if none was begun, or
    /// the carrier cannot carry it.
    pub fn connected(self: &Arc<Node>, carrier: Carrier, agreed: u64, creation: u32) -> Option<Handle> {
        self.settle();
        let handle = {
            let mut inside = self.inside.lock();
            if inside.phase != Phase::Pending || inside.carrier != Carrier::None {
                return None;
            }
            inside.carrier = carrier;
            Handle { connection: inside.connection, reference: inside.reference }
        };
        if let Carrier::Port(port) = carrier {
            let channel: Arc<dyn Channel> = Arc::new(PortChannel { node: self.clone(), connection: handle.connection });
            if !channel::attach(port, &channel) {
                self.inside.lock().carrier = Carrier::None;
                return None;
            }
        }
        let mut inside = self.inside.lock();
        if inside.connection != handle.connection || inside.phase != Phase::Pending {
            return None;
        }
        inside.phase = Phase::Up;
        inside.flags = agreed;
        inside.creation = creation;
        inside.input_handler = if let Carrier::Process(pid) = carrier { pid } else { Term::NONE };
        let supposed = inside.output.drain();
        inside.output.fragments = agreed & flags::FRAGMENTS != 0;
        let mut refused = Vec::new();
        for item in supposed {
            match signals::fitted(item, agreed) {
                Fitted::Sent(item) => inside.output.push(item),
                Fitted::Refused(reference, asker) => refused.push((reference, asker)),
                Fitted::Dropped => {}
            }
        }
        drop(inside);
        for (reference, asker) in refused {
            signals::refuse(handle.connection, reference, asker);
        }
        Some(handle)
    }

    /// Adds an item to the output of a connection, which is dropped if that is over.
    pub fn push(&self, connection: Connection, item: Item) {
        let mut inside = self.inside.lock();
        if inside.phase != Phase::Idle && inside.connection == connection {
            inside.output.push(item);
        }
    }

    /// Whether more waits to leave than there should, long messages included.
    pub fn is_busy(&self) -> bool {
        self.inside.lock().output.bytes() >= crate::busy_limit()
    }

    /// Whether the process has to wait, because its own message has not left as a whole (D2) or too much waits to
    /// leave. It gets [`Signal::Resume`] then.
    pub fn suspend(&self, pid: Term) -> bool {
        let mut inside = self.inside.lock();
        let is_busy = inside.output.in_the_way() >= crate::busy_limit();
        let must_wait = inside.phase != Phase::Idle && (is_busy || inside.output.holds(pid.word()));
        if must_wait {
            inside.suspended.push((pid, is_busy));
        }
        must_wait
    }

    /// Notes a process that hears of the end of the connection; false if that is over.
    pub fn watch(&self, connection: Connection, pid: Term) -> bool {
        let mut inside = self.inside.lock();
        let lasts = inside.phase != Phase::Idle && inside.connection == connection;
        if lasts {
            inside.watched.insert(pid);
        }
        lasts
    }

    /// The process has ended. Whether a long message of its own has not left as a whole.
    pub fn forget(&self, connection: Connection, pid: Term) -> bool {
        let mut inside = self.inside.lock();
        if inside.connection != connection {
            return false;
        }
        inside.watched.remove(&pid);
        inside.monitors.remove(&pid);
        inside.output.holds(pid.word())
    }

    /// A process asks to be told when the node is down; false if it is.
    pub fn add_monitor(&self, connection: Connection, pid: Term) -> bool {
        let mut inside = self.inside.lock();
        let lasts = inside.phase != Phase::Idle && inside.connection == connection;
        if lasts {
            *inside.monitors.entry(pid).or_default() += 1;
        }
        lasts
    }

    /// A process takes one such wish back.
    pub fn remove_monitor(&self, pid: Term) {
        let mut inside = self.inside.lock();
        if let Some(count) = inside.monitors.get_mut(&pid) {
            *count -= 1;
            if *count == 0 {
                inside.monitors.remove(&pid);
            }
        }
    }

    /// Notes the process that a monitor by name is on.
    pub fn note_named(&self, reference: RemoteReference, pid: Term) {
        self.inside.lock().named.insert(reference, pid);
    }

    /// The process that a monitor by name was on; it is not needed any more.
    pub fn take_named(&self, reference: &RemoteReference) -> Option<Term> {
        self.inside.lock().named.remove(reference)
    }

    /// The next packet, for a process that carries the connection: its bytes, and whether sizes are wanted.
    pub fn take_packet(&self) -> Option<(Vec<u8>, bool)> {
        let mut inside = self.inside.lock();
        let packet = inside.output.take_one()?;
        inside.packets_out += 1;
        let (freed, wants_sizes) = (inside.freed(), inside.wants_sizes);
        drop(inside);
        resume(freed);
        Some((packet, wants_sizes))
    }

    /// The carrier is to be told when there is a packet.
    pub fn ask_notice(&self) {
        self.inside.lock().wants_notice = true;
        self.flush();
    }

    /// Whether sizes are wanted with packets; sets it too.
    pub fn sizes_option(&self, new: Option<bool>) -> bool {
        let mut inside = self.inside.lock();
        let old = inside.wants_sizes;
        inside.wants_sizes = new.unwrap_or(old);
        old
    }

    /// Makes a process the one that may put packets. False: the caller is not the carrier.
    pub fn set_input_handler(&self, caller: Term, pid: Term) -> bool {
        let mut inside = self.inside.lock();
        let may = inside.carrier == Carrier::Process(caller);
        if may {
            inside.input_handler = pid;
        }
        may
    }

    /// Whether a process may put packets.
    pub fn may_put(&self, pid: Term) -> bool {
        self.inside.lock().input_handler == pid
    }

    /// Packets that have come and gone, and bytes that wait.
    pub fn counts(&self) -> (u64, u64, usize) {
        let inside = self.inside.lock();
        (inside.packets_in, inside.packets_out, inside.output.bytes())
    }

    /// A packet that a process puts.
    pub fn put(self: &Arc<Node>, connection: Connection, packet: &[u8]) {
        let framed = [&(packet.len() as u32).to_be_bytes()[..], packet].concat();
        self.arrivals.push(connection, Arrival::Packets(framed));
        self.work();
    }

    /// The connection ends. False: it is over already.
    pub fn end(self: &Arc<Node>, connection: Connection, reason: Kept) -> bool {
        let lasts = self.line().is_some_and(|line| line.connection == connection);
        if lasts {
            self.arrivals.push(connection, Arrival::End(reason));
            self.work();
        }
        lasts
    }

    /// Acts on what has come, unless another thread does.
    pub fn work(&self) {
        self.arrivals.work(self);
        self.flush();
    }

    /// Makes sure that an end that has come has had its effect: processes that were linked to the port know of it
    /// already.
    fn settle(&self) {
        if !self.is_idle() {
            self.arrivals.settle(self);
        }
    }

    fn packets(&self, connection: Connection, input: &mut Input, packets: &[u8]) -> Result<(), Fault> {
        let Some(Line { flags, .. }) = self.line() else { return Ok(()) };
        let mut rest = packets;
        let mut count = 0;
        while let Some((head, behind)) = rest.split_first_chunk::<LENGTH>() {
            let length = u32::from_be_bytes(*head) as usize;
            let (packet, behind) = behind.split_at_checked(length).ok_or(Fault::Malformed)?;
            rest = behind;
            count += 1;
            // A node that has agreed on headers sends them; one that has not cannot.
            if packet.first().is_some_and(|first| (*first == PASS_THROUGH) == (flags & flags::HEADER != 0)) {
                return Err(Fault::Malformed);
            }
            if let Some(received) = input.packet(packet)? {
                dispatch::act(self, Line { connection, flags }, &received)?;
            }
        }
        self.inside.lock().packets_in += count;
        Ok(())
    }

    /// Ends a connection because of what came through it.
    fn fail(&self, connection: Connection, fault: Fault) {
        crate::report::bad_data(self.name, fault);
        let carrier = self.inside.lock().carrier;
        self.over(connection, &Kept::of(atoms::KILLED));
        match carrier {
            Carrier::Port(port) => channel::close(port, atoms::KILLED),
            Carrier::Process(pid) => {
                System::get().deliver_or_answer(pid, atoll_process::handle::kill_signal(pid));
            }
            Carrier::None => {}
        }
    }

    /// The connection is over: all processes that it concerns learn of that.
    fn over(&self, connection: Connection, reason: &Kept) {
        let mut inside = self.inside.lock();
        if inside.phase == Phase::Idle || inside.connection != connection {
            return;
        }
        let was_up = inside.phase == Phase::Up;
        let is_published = inside.flags & flags::PUBLISHED != 0;
        inside.phase = Phase::Idle;
        inside.carrier = Carrier::None;
        inside.output = Output::default();
        (inside.port_is_full, inside.is_flushing) = (false, false);
        (inside.wants_notice, inside.wants_sizes) = (false, false);
        inside.named = HashMap::new();
        inside.input_handler = Term::NONE;
        let watched = std::mem::take(&mut inside.watched);
        let monitors = std::mem::take(&mut inside.monitors);
        let suspended = std::mem::take(&mut inside.suspended);
        drop(inside);
        resume(suspended);
        for pid in watched {
            let lost = RemoteSignal::ConnectionLost { node: self.name, connection };
            drop(System::get().deliver_from_outside(pid, remote::bare(lost)));
        }
        for (pid, count) in monitors {
            (0..count).for_each(|_| tell(pid, |heap| heap.tuple(&[atoms::NODEDOWN, self.name])));
        }
        if was_up && this_node().0 != atoms::NONODE_NOHOST {
            let closed = Kept::of(known_atom("connection_closed"));
            let reason = if matches!(reason, Kept::Immediate(atoms::NORMAL)) { &closed } else { reason };
            watching::tell(Change::Down { reason }, self.name, connection, is_published);
        }
    }
}

impl Receives for Node {
    fn is_present(&self, connection: Connection) -> bool {
        self.line().is_some_and(|line| line.connection == connection)
    }

    fn received(&self, connection: Connection, input: &mut Input, packets: &[u8]) {
        if let Err(fault) = self.packets(connection, input, packets) {
            self.fail(connection, fault);
        }
    }

    fn ended(&self, connection: Connection, reason: &Kept) {
        self.over(connection, reason);
    }
}

impl Inside {
    /// Processes that need not wait any more.
    fn freed(&mut self) -> Vec<(Term, bool)> {
        // Some way below the limit, so that they do not stop again at once.
        let is_free = self.output.in_the_way() < crate::busy_limit().div_ceil(2);
        let Inside { suspended, output, .. } = self;
        suspended.extract_if(.., |(pid, for_all)| (is_free || !*for_all) && !output.holds(pid.word())).collect()
    }
}

fn resume(suspended: Vec<(Term, bool)>) {
    for (pid, _) in suspended {
        drop(System::get().deliver_from_outside(pid, signal::bare(Signal::Resume)));
    }
}

/// Sends a message that is made outside of the heaps.
pub fn tell(pid: Term, message: impl Fn(&mut ScratchHeap) -> Term) {
    drop(System::get().deliver_from_outside(pid, sequence::neutral(Message::compose(message))));
}

/// The side of a connection that its port knows.
struct PortChannel {
    node: Arc<Node>,
    connection: Connection,
}

impl Channel for PortChannel {
    fn received(&self, packets: Vec<u8>) {
        self.node.arrivals.push(self.connection, Arrival::Packets(packets));
    }

    fn ended(&self, reason: Term) {
        self.node.arrivals.push(self.connection, Arrival::End(Kept::of(reason)));
    }

    fn drained(&self) {
        let mut inside = self.node.inside.lock();
        if inside.connection == self.connection {
            inside.port_is_full = false;
        }
    }

    fn work(self: Arc<Self>) {
        self.node.work();
    }
}
