//! Input of a stream socket: cut into packets, and given to the process that asked, or sent to the owner.

use std::cell::Cell;

use atoll_operations::http::{self, Line};
use atoll_operations::packets::{Extent, PacketMode, content, extent, is_ssl2};
use atoll_term::atoms::known_atom;
use atoll_term::{Build, ScratchHeap, Term, atoms};
use rustix::io::Errno;
use rustix::net::RecvFlags;

use crate::channel::{Channel, HEAD};
use crate::inet::address::{take_integer, take_number};
use crate::inet::fault::{RECEIVING, fault};
use crate::inet::options::Active;
use crate::inet::socket::answer_later;
use crate::inet::tcp::{Phase, Purpose, Request, Tcp};
use crate::inet::{Answer, Refusal};
use crate::port::{Port, State};

/// Bytes that one request may ask for.
const MOST: u64 = 0x400_0000;
/// Bytes of a connection to another node that are read at once.
const CARRIED_READ: usize = 1 << 16;
/// Bytes that are read at once while many come.
const BULK_READ: usize = 1 << 18;
/// Longest packet of such a connection. Longer messages come in fragments.
const LONGEST_CARRIED: usize = 1 << 27;
/// How often is read in a row, before others have their turn.
const READS: usize = 16;
/// The same, of a connection to another node.
const CARRIED_READS: usize = 4;

/// What has been received and not been given out.
#[derive(Default)]
pub(super) struct Input {
    pub bytes: Vec<u8>,
    /// Where the system puts what it gives a connection to another node.
    room: Vec<u8>,
    /// Who waits for data, and for how many bytes (0: a packet).
    pub request: Option<(Request, usize)>,
    /// The other side will send no more.
    pub ended: bool,
    /// The next line of HTTP is a header.
    in_headers: bool,
}

/// A packet that was received.
struct Packet {
    mode: PacketMode,
    bytes: Vec<u8>,
}

impl Input {
    /// A packet has gone, which was this line of HTTP. One that is none is skipped; what follows it is what would have.
    fn went_on(&mut self, line: Line) {
        if line != Line::Error {
            self.in_headers = line != Line::EndOfHeaders;
        }
    }

    /// The mode in which the next packet is cut.
    fn mode(&self, mode: PacketMode) -> PacketMode {
        match mode {
            PacketMode::Http { binary } if self.in_headers => PacketMode::HttpHeader { binary },
            other => other,
        }
    }
}

impl Tcp {
    /// `recv`: a request for data.
    pub fn ask(&mut self, port: &Port, state: &mut State, mut data: &[u8]) -> Answer {
        let time = take_integer(&mut data)?;
        let length = take_number(&mut data, 4)?;
        if let Some(refusal) = self.lost.receiver.take() {
            self.lost.sender = None;
            let request = Request::begin(port, state, &mut self.socket, -1, Purpose::Receive);
            request.refuse(port, refusal);
            return Ok(request.number());
        }
        if self.phase != Phase::Connected {
            return Err(Errno::NOTCONN.into());
        }
        if self.socket.options.active != Active::Never || length > MOST {
            return Err(Errno::INVAL.into());
        }
        if self.input.request.is_some() {
            return Err(Errno::ALREADY.into());
        }
        let request = Request::begin(port, state, &mut self.socket, time, Purpose::Receive);
        self.input.request = Some((request, length as usize));
        self.deliver(port, state);
        if self.input.request.is_some() {
            self.receive(port, state);
        }
        if port.is_open() {
            self.wait(port)?;
        }
        Ok(request.number())
    }

    /// Reads what has come, and gives it out.
    pub fn receive(&mut self, port: &Port, state: &mut State) {
        if self.input.ended {
            return self.closed(port, state, None);
        }
        if state.channel.is_some() {
            return self.receive_carried(port, state);
        }
        for _ in 0..READS {
            let wanted = self.input.request.map_or(0, |(_, length)| length.saturating_sub(self.input.bytes.len()));
            let room = self.socket.options.buffer.max(wanted);
            let start = self.input.bytes.len();
            self.input.bytes.resize(start + room, 0);
            let Some(descriptor) = &self.socket.descriptor else { return };
            let mut result = rustix::net::recv(descriptor, &mut self.input.bytes[start..], RecvFlags::empty());
            if matches!(result, Ok((1.., _)))
                && self.input.request.is_none()
                && let Some(error) = fault(state.connected, &RECEIVING)
            {
                result = Err(error);
            }
            let count = result.as_ref().map_or(0, |(count, _)| *count);
            self.input.bytes.truncate(start + count);
            match result {
                Ok(_) if count == 0 => return self.closed(port, state, None),
                Ok(_) => {
                    state.input += count as u64;
                    self.deliver(port, state);
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return,
                Err(Errno::CONNRESET) if !self.socket.options.show_reset => return self.closed(port, state, None),
                Err(error) => return self.closed(port, state, Some(error)),
            }
            let wants_more = self.socket.options.active != Active::Never || self.input.request.is_some();
            if !port.is_open() || self.phase != Phase::Connected || !wants_more {
                return;
            }
        }
    }

    /// Reads what has come for the connection that the port carries. A read that does not fill its room has taken all
    /// there is, so no second one follows; the room is cleared once, not for each read. While much comes, it goes
    /// where it is to stay.
    fn receive_carried(&mut self, port: &Port, state: &mut State) {
        self.input.room.resize(CARRIED_READ, 0);
        let mut room = CARRIED_READ;
        for _ in 0..CARRIED_READS {
            let Some(descriptor) = &self.socket.descriptor else { return };
            let bytes = &mut self.input.bytes;
            let read = if room == CARRIED_READ {
                let read = rustix::net::recv(descriptor, &mut self.input.room[..], RecvFlags::empty());
                read.map(|(count, _)| {
                    bytes.extend_from_slice(&self.input.room[..count]);
                    count
                })
            } else {
                bytes.reserve_exact(room);
                rustix::net::recv(descriptor, rustix::buffer::spare_capacity(bytes), RecvFlags::empty())
                    .map(|(count, _)| count)
            };
            match read {
                Ok(0) => return self.closed(port, state, None),
                Ok(count) => {
                    state.input += count as u64;
                    self.deliver(port, state);
                    let is_open = port.is_open() && self.phase == Phase::Connected;
                    if count < room || !is_open || self.socket.options.active == Active::Never {
                        return;
                    }
                    room = BULK_READ;
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return,
                Err(Errno::CONNRESET) if !self.socket.options.show_reset => return self.closed(port, state, None),
                Err(error) => return self.closed(port, state, Some(error)),
            }
        }
    }

    /// Gives packets out as long as there are some and a process wants them.
    pub fn deliver(&mut self, port: &Port, state: &mut State) {
        if let Some(channel) = state.channel.clone()
            && self.socket.options.packet == PacketMode::Length(HEAD as u8)
        {
            if self.socket.options.active != Active::Never && self.hand_over_packets(&*channel).is_err() {
                self.closed(port, state, Some(Errno::MSGSIZE));
            }
            return;
        }
        loop {
            let wanted = match (&self.input.request, self.socket.options.active) {
                (Some((_, length)), _) => *length,
                (None, Active::Never) => return,
                (None, _) => 0,
            };
            match self.next_packet(wanted) {
                Ok(Some(packet)) => self.give(port, state, &packet),
                Ok(None) => return,
                Err(error) => return self.closed(port, state, Some(error)),
            }
        }
    }

    /// Gives all whole packets to the connection that this port carries.
    fn hand_over_packets(&mut self, channel: &dyn Channel) -> Result<(), Errno> {
        let bytes = &mut self.input.bytes;
        let mut end = 0;
        while let Some(head) = bytes[end..].first_chunk::<HEAD>() {
            let length = u32::from_be_bytes(*head) as usize;
            if length > LONGEST_CARRIED {
                return Err(Errno::MSGSIZE);
            }
            if bytes.len() - end - HEAD < length {
                break;
            }
            self.socket.received.count(length);
            end += HEAD + length;
        }
        if end > 0 {
            let rest = bytes.split_off(end);
            channel.received(std::mem::replace(bytes, rest));
        }
        Ok(())
    }

    /// Takes the next packet out of the bytes; `wanted` is a length, or 0 for a packet of the socket's mode.
    fn next_packet(&mut self, wanted: usize) -> Result<Option<Packet>, Errno> {
        let options = &self.socket.options;
        let mode = self.input.mode(options.packet);
        let length = match (mode, wanted) {
            (PacketMode::Raw, 1..) => wanted,
            _ => match extent(mode, &self.input.bytes, &options.limits()) {
                Ok(Extent::Bytes(length)) => length,
                Ok(Extent::Unknown) => return Ok(None),
                Err(_) => return Err(Errno::MSGSIZE),
            },
        };
        if length > self.input.bytes.len() {
            return Ok(None);
        }
        let rest = self.input.bytes.split_off(length);
        let packet = std::mem::replace(&mut self.input.bytes, rest);
        let bytes = match mode {
            PacketMode::Length(_) | PacketMode::Fcgi => content(mode, &packet).to_vec(),
            _ => packet,
        };
        Ok(Some(Packet { mode, bytes }))
    }

    /// Gives a packet to the process that asked, or sends it to the owner.
    fn give(&mut self, port: &Port, state: &mut State, packet: &Packet) {
        self.socket.received.count(packet.bytes.len());
        // A packet that is no line of HTTP changes nothing.
        let what = Cell::new(Line::Error);
        if let Some((request, _)) = self.input.request.take() {
            request.stop_timer();
            answer_later(port, request.caller, request.reference, |heap| {
                let data = self.term(port, heap, packet, &what);
                heap.tuple(&[atoms::OK, data])
            });
            self.input.went_on(what.get());
            return;
        }
        let was_last = self.socket.options.count_message();
        port.tell(state.connected, |heap| {
            if self.socket.options.deliver_port {
                // These are always lists.
                let data = heap.list(packet.bytes.iter().map(|byte| Term::small(i64::from(*byte))));
                let data = heap.tuple(&[known_atom("data"), data]);
                return heap.tuple(&[port.id, data]);
            }
            let data = self.term(port, heap, packet, &what);
            let tag = match packet.mode {
                // The record names its port itself.
                PacketMode::SslTls => return data,
                PacketMode::Http { .. } | PacketMode::HttpHeader { .. } => "http",
                _ => "tcp",
            };
            heap.tuple(&[known_atom(tag), port.id, data])
        });
        self.input.went_on(what.get());
        if was_last {
            self.tell_passive(port, state);
        }
    }

    /// A packet as a term. A line of HTTP says what it was.
    fn term(&self, port: &Port, heap: &mut ScratchHeap, packet: &Packet, what: &Cell<Line>) -> Term {
        match packet.mode {
            PacketMode::Http { binary } | PacketMode::HttpHeader { binary } => {
                let is_header = matches!(packet.mode, PacketMode::HttpHeader { .. });
                let (line, term) = http::decode(heap, &packet.bytes, is_header, binary);
                what.set(line);
                term
            }
            PacketMode::SslTls => self.record(port, heap, &packet.bytes),
            _ => self.socket.data_term(heap, &packet.bytes),
        }
    }

    /// `{ssl_tls, Port, Type, {Major, Minor}, Data}`
    fn record(&self, port: &Port, heap: &mut ScratchHeap, record: &[u8]) -> Term {
        let small = |byte: u8| Term::small(i64::from(byte));
        let (kind, major, minor, data) = match is_ssl2(record) {
            true => {
                let length = (record.len() as u32 - 3).to_be_bytes();
                (22, record[3], record[4], [&[1], &length[1..], &record[3..]].concat())
            }
            false => (record[0], record[1], record[2], record[5..].to_vec()),
        };
        let version = heap.tuple(&[small(major), small(minor)]);
        let data = self.socket.data_term(heap, &data);
        heap.tuple(&[known_atom("ssl_tls"), port.id, small(kind), version, data])
    }

    /// The connection has ended: the other side has closed it, or it broke.
    pub fn closed(&mut self, port: &Port, state: &mut State, error: Option<Errno>) {
        let options = self.socket.options;
        if options.active == Active::Never && self.input.request.is_none() && error.is_none() {
            // No process is interested yet; one that is will find the end again.
            return;
        }
        self.input.bytes.clear();
        self.input.ended = true;
        self.input.in_headers = false;
        if let Some((request, _)) = self.input.request.take() {
            request.refuse(port, error.map_or(Refusal::Named("closed"), Refusal::System));
        }
        if self.output.is_awaited() {
            self.discard_output(port);
        } else {
            // For when the socket is closed; until then it can be sent through.
            self.lost.sender = Some(Refusal::Named("closed"));
        }
        if options.active != Active::Never {
            self.tell_end(port, state, error);
        } else if options.exit_on_close {
            self.discard_output(port);
            self.close_socket(port);
        }
    }

    /// The connection was lost while no process wanted data; now one may.
    pub fn tell_loss(&mut self, port: &Port, state: &mut State) {
        let is_lost = self.phase == Phase::Broken || self.phase == Phase::Connected && self.input.ended;
        if is_lost && self.socket.options.active != Active::Never {
            let error = match self.lost.receiver {
                Some(Refusal::System(error)) => Some(error),
                _ => None,
            };
            self.tell_end(port, state, error);
        }
    }

    /// Tells the owner, once, that the connection has ended.
    pub fn tell_end(&mut self, port: &Port, state: &mut State, error: Option<Errno>) {
        if !std::mem::replace(&mut self.lost.told, true) {
            if let Some(error) = error {
                let reason = known_atom(atoll_platform::errors::name(error));
                port.tell(state.connected, |heap| heap.tuple(&[known_atom("tcp_error"), port.id, reason]));
            }
            port.tell(state.connected, |heap| heap.tuple(&[known_atom("tcp_closed"), port.id]));
        }
        if self.socket.options.exit_on_close {
            port.leave(state, self);
        }
    }
}
