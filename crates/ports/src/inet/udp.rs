//! `udp_inet`: datagram sockets.

use std::os::fd::AsFd;

use atoll_platform::endpoints::{self, Arrival};
use atoll_term::atoms::known_atom;
use atoll_term::{Build, ScratchHeap, Term, atoms};
use rustix::io::Errno;

use crate::driver::{Driver, Event, Failure};
use crate::inet::address::{Address, take, take_integer, take_number};
use crate::inet::ancillary;
use crate::inet::fault::{DATAGRAM, fault};
use crate::inet::options::Active;
use crate::inet::sender::Sender;
use crate::inet::socket::{CONNECTED, Socket, answer_later};
use crate::inet::tcp::{Purpose, Request};
use crate::inet::{Answer, Refusal, command, encode};
use crate::port::{Port, State};

/// Bytes of a datagram that are read at least.
const BUFFER: usize = 8192;

/// A datagram socket.
pub(super) struct Udp {
    socket: Socket,
    request: Option<Request>,
    waits: bool,
}

impl Udp {
    /// One that is not open.
    pub fn new() -> Udp {
        let mut socket = Socket::new();
        socket.options.datagrams = true;
        Udp { socket, request: None, waits: false }
    }

    fn wants_input(&self) -> bool {
        self.socket.options.active != Active::Never || self.request.is_some()
    }

    fn wait(&mut self, port: &Port) -> Result<(), Errno> {
        let Some(descriptor) = &self.socket.descriptor else { return Ok(()) };
        if self.wants_input() && !self.waits && self.socket.bound {
            self.waits = true;
            port.wait_for(descriptor.as_fd(), Event::Input)?;
        }
        Ok(())
    }

    fn connect(&mut self, port: &Port, state: &State, mut data: &[u8]) -> Answer {
        take_integer(&mut data)?;
        let address = Address::take(&mut data, self.socket.family)?;
        if self.socket.status & CONNECTED != 0 {
            // It is released from the other end first, which may have another way to it.
            let _ = endpoints::connect(self.socket.open()?.as_fd(), &(libc::AF_UNSPEC as u16).to_ne_bytes());
        }
        address.connect(self.socket.open()?)?;
        self.socket.status |= CONNECTED;
        self.socket.bound = true;
        let request = Request::begin(port, state, &mut self.socket, -1, Purpose::Connect);
        answer_later(port, request.caller, request.reference, |_| atoms::OK);
        self.wait(port)?;
        Ok(request.number())
    }

    /// `recvfrom`
    fn ask(&mut self, port: &Port, state: &mut State, mut data: &[u8]) -> Answer {
        let time = take_integer(&mut data)?;
        take_number(&mut data, 4)?;
        self.socket.open()?;
        if self.socket.options.active != Active::Never {
            return Err(Errno::INVAL.into());
        }
        if self.request.is_some() {
            return Err(Errno::ALREADY.into());
        }
        let request = Request::begin(port, state, &mut self.socket, time, Purpose::Receive);
        self.request = Some(request);
        self.receive(port, state);
        self.wait(port)?;
        Ok(request.number())
    }

    /// Reads datagrams as long as a process wants them.
    fn receive(&mut self, port: &Port, state: &mut State) {
        for _ in 0..self.socket.options.read_packets {
            let Some(descriptor) = &self.socket.descriptor else { return };
            if !self.wants_input() {
                return;
            }
            let options = &self.socket.options;
            let control = if options.ancillary == 0 { 0 } else { ancillary::ROOM };
            match endpoints::receive_message(descriptor.as_fd(), options.buffer.max(BUFFER), control, 0) {
                Ok(arrival) => {
                    state.received(arrival.data.len());
                    self.socket.received.count(arrival.data.len());
                    self.give(port, state, &Address::from_bytes(&arrival.from), &arrival);
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return,
                Err(error) => return self.failed(port, state, error),
            }
        }
    }

    fn give(&mut self, port: &Port, state: &State, from: &Address, arrival: &Arrival) {
        let asked = self.socket.options.ancillary != 0;
        if let Some(request) = self.request.take() {
            request.stop_timer();
            answer_later(port, request.caller, request.reference, |heap| {
                let data = self.socket.data_term(heap, &arrival.data);
                let address = from.bytes();
                let list = heap.list_with_tail(address.iter().map(|byte| Term::small(i64::from(*byte))), data);
                let content = match asked {
                    true => {
                        let beside = ancillary::decode(heap, &arrival.control);
                        heap.tuple(&[list, beside])
                    }
                    false => list,
                };
                heap.tuple(&[atoms::OK, content])
            });
            return;
        }
        let was_last = self.socket.options.count_message();
        port.tell(state.connected, |heap| {
            let data = self.socket.data_term(heap, &arrival.data);
            if self.socket.options.deliver_port {
                let address = from.bytes();
                let list = heap.list_with_tail(address.iter().map(|byte| Term::small(i64::from(*byte))), data);
                let data = heap.tuple(&[known_atom("data"), list]);
                return heap.tuple(&[port.id, data]);
            }
            let [ip, number] = from.terms(heap);
            if asked {
                let beside = ancillary::decode(heap, &arrival.control);
                return heap.tuple(&[known_atom("udp"), port.id, ip, number, beside, data]);
            }
            heap.tuple(&[known_atom("udp"), port.id, ip, number, data])
        });
        if was_last {
            tell_passive(port, state);
        }
    }

    /// What was sent before could not be delivered, or the like.
    fn failed(&mut self, port: &Port, state: &State, error: Errno) {
        match self.request.take() {
            Some(request) => request.refuse(port, error.into()),
            None => {
                let reason = known_atom(atoll_platform::errors::name(error));
                port.tell(state.connected, |heap| heap.tuple(&[known_atom("udp_error"), port.id, reason]));
            }
        }
    }

    /// Sends a datagram: its bytes come behind the address and what is to go with it.
    fn send(&mut self, mut data: &[u8]) -> Result<(), Refusal> {
        let address = Address::take(&mut data, self.socket.family)?;
        let length = take_number(&mut data, 4)? as usize;
        let control = ancillary::encode(take(&mut data, length)?)?;
        let socket = self.socket.open()?.as_fd();
        let to = (self.socket.status & CONNECTED == 0).then(|| address.system_bytes());
        endpoints::send_message(socket, &[data], &control, 0, to.as_deref())?;
        self.socket.sent.count(data.len());
        self.socket.bound = true;
        Ok(())
    }

    fn set_options(&mut self, port: &Port, state: &mut State, data: &[u8]) -> Answer {
        let socket = &mut self.socket;
        let change = socket.options.set(socket.descriptor.as_ref(), socket.family, data)?;
        if change.exhausted {
            tell_passive(port, state);
        }
        self.wait(port)?;
        Ok(Vec::new())
    }
}

/// `{udp_passive, Port}`
fn tell_passive(port: &Port, state: &State) {
    port.tell(state.connected, |heap: &mut ScratchHeap| heap.tuple(&[known_atom("udp_passive"), port.id]));
}

impl Driver for Udp {
    fn start(&mut self, _: &Port, _: &mut State) -> Result<(), Failure> {
        Ok(())
    }

    fn output(&mut self, port: &Port, state: &mut State, mut data: Vec<u8>) -> Result<(), Errno> {
        match Sender::take(state.caller, &mut data) {
            Ok(sender) => {
                let refused = fault(state.caller, &DATAGRAM).map(|error| Err(error.into()));
                sender.reply(port, refused.unwrap_or_else(|| self.send(&data)));
            }
            Err(error) => Sender::unread(state.caller).reply(port, Err(error.into())),
        }
        self.wait(port)
    }

    fn ready(&mut self, port: &Port, state: &mut State, _: Event) -> Result<(), Errno> {
        self.receive(port, state);
        if self.waits
            && !self.wants_input()
            && let Some(descriptor) = &self.socket.descriptor
        {
            self.waits = false;
            port.stop_waiting(descriptor.as_fd(), Event::Input);
        }
        Ok(())
    }

    fn timeout(&mut self, port: &Port, _: &mut State, number: u32) -> Result<(), Errno> {
        if let Some(late) = self.request.take_if(|request| request.reference == number as u16) {
            answer_later(port, late.caller, late.reference, |heap| heap.tuple(&[atoms::ERROR, atoms::TIMEOUT]));
        }
        Ok(())
    }

    fn control(&mut self, port: &Port, state: &mut State, operation: u32, data: &[u8]) -> Result<Vec<u8>, Failure> {
        let number = command(operation)?;
        let answer = match number {
            3 => self.connect(port, state, data),
            7 => self.set_options(port, state, data),
            24 => Ok(vec![1, 0, 0, 0, 0]),
            60 => self.ask(port, state, data),
            _ => {
                let answer = self.socket.control(number, data, 0).ok_or(Failure::BadArgument)?;
                self.wait(port).map_err(Failure::System)?;
                answer
            }
        };
        Ok(encode(answer))
    }

    fn stop(&mut self, port: &Port, _: &mut State) {
        if let Some(request) = self.request.take() {
            request.refuse(port, Refusal::Named("closed"));
        }
        self.socket.descriptor = None;
    }
}
