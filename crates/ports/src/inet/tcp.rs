//! `tcp_inet`: the life of a stream socket. What it receives stands in `tcp_input`, what it sends in `tcp_output`.

use std::collections::VecDeque;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use atoll_process::System;
use atoll_term::atoms::known_atom;
use atoll_term::{Build, Term, atoms};
use rustix::io::Errno;
use rustix::net::{AddressFamily, Shutdown, SocketFlags};

use crate::driver::{Driver, Event, Failure};
use crate::inet::address::{Address, take_integer, take_number};
use crate::inet::options::Active;
use crate::inet::socket::{ACCEPTS, CONNECTED, CONNECTS, LISTENS, Socket, answer_later, error_term, link};
use crate::inet::tcp_input::Input;
use crate::inet::tcp_output::Output;
use crate::inet::{Answer, Refusal, command, encode};
use crate::poller::{self, Timer};
use crate::port::{Port, State};
use crate::table;

/// What a stream socket is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// It is not open, or only that.
    Idle,
    /// A connection is being made.
    Connecting,
    /// It listens.
    Listening,
    /// It is connected.
    Connected,
    /// The other side has closed the connection, or it broke.
    Broken,
}

/// The errors that are still to be reported for a connection that is lost, each once.
#[derive(Clone, Copy, Default)]
pub(super) struct Lost {
    /// To a process that receives.
    pub receiver: Option<Refusal>,
    /// To a process that sends through a socket that is closed.
    pub sender: Option<Refusal>,
    /// The owner has got its message.
    pub told: bool,
}

/// A request that is answered later.
#[derive(Clone, Copy)]
pub(super) struct Request {
    pub caller: Term,
    pub reference: u16,
    pub timer: Option<Timer>,
}

/// What a timer is for; its number is this and the request's reference.
#[derive(Clone, Copy)]
pub(super) enum Purpose {
    Receive = 0,
    Accept = 1,
    Connect = 2,
    Send = 3,
}

impl Request {
    /// Begins one; a time below zero is no limit.
    pub fn begin(port: &Port, state: &State, socket: &mut Socket, time: i32, purpose: Purpose) -> Request {
        let reference = socket.fresh_reference();
        let timer = u64::try_from(time).ok().and_then(|time| {
            let number = (purpose as u32) << 16 | u32::from(reference);
            poller::start_timer(port.id, Duration::from_millis(time), number)
        });
        Request { caller: state.caller, reference, timer }
    }

    /// Forgets its timer.
    pub fn stop_timer(&self) {
        if let Some(timer) = self.timer {
            poller::cancel_timer(timer);
        }
    }

    /// Answers with `{error, Reason}`.
    pub fn refuse(&self, port: &Port, refusal: Refusal) {
        self.stop_timer();
        answer_later(port, self.caller, self.reference, |heap| error_term(heap, refusal));
    }

    /// The bytes that its number is in an answer.
    pub fn number(&self) -> Vec<u8> {
        self.reference.to_be_bytes().to_vec()
    }
}

/// A stream socket.
pub(super) struct Tcp {
    pub socket: Socket,
    pub phase: Phase,
    pub input: Input,
    pub output: Output,
    /// What is said once the connection is lost.
    pub lost: Lost,
    accepting: VecDeque<Request>,
    connecting: Option<Request>,
    waits_for_input: bool,
    waits_for_output: bool,
}

impl Tcp {
    /// One that is not open.
    pub fn new() -> Tcp {
        Tcp::of(Socket::new(), Phase::Idle)
    }

    fn of(socket: Socket, phase: Phase) -> Tcp {
        Tcp {
            socket,
            phase,
            input: Input::default(),
            output: Output::default(),
            lost: Lost::default(),
            accepting: VecDeque::new(),
            connecting: None,
            waits_for_input: false,
            waits_for_output: false,
        }
    }

    /// Whether something is to be read.
    fn wants_input(&self) -> bool {
        match self.phase {
            Phase::Listening => !self.accepting.is_empty(),
            Phase::Connected => {
                !self.input.ended && (self.socket.options.active != Active::Never || self.input.request.is_some())
            }
            _ => false,
        }
    }

    fn wants_output(&self) -> bool {
        self.phase == Phase::Connecting || self.phase == Phase::Connected && self.output.is_pending()
    }

    /// Waits for what is wanted now. What is not wanted any more is found out when it comes.
    pub fn wait(&mut self, port: &Port) -> Result<(), Errno> {
        let Some(descriptor) = &self.socket.descriptor else { return Ok(()) };
        if self.wants_input() && !self.waits_for_input {
            self.waits_for_input = true;
            port.wait_for(descriptor.as_fd(), Event::Input)?;
        }
        if self.wants_output() != self.waits_for_output {
            self.waits_for_output = !self.waits_for_output;
            match self.waits_for_output {
                true => port.wait_for(descriptor.as_fd(), Event::Output)?,
                false => port.stop_waiting(descriptor.as_fd(), Event::Output),
            }
        }
        Ok(())
    }

    /// Lets go of the descriptor, without the end of the port.
    pub fn close_socket(&mut self, port: &Port) {
        if let Some(descriptor) = self.socket.descriptor.take() {
            port.stop_waiting(descriptor.as_fd(), Event::Input);
            port.stop_waiting(descriptor.as_fd(), Event::Output);
        }
        (self.waits_for_input, self.waits_for_output) = (false, false);
        self.socket.status = 0;
        self.phase = Phase::Broken;
    }

    fn connect(&mut self, port: &Port, state: &State, mut data: &[u8]) -> Answer {
        let time = take_integer(&mut data)?;
        let address = Address::take(&mut data, self.socket.family)?;
        let socket = self.socket.open()?;
        match self.phase {
            Phase::Idle => {}
            Phase::Connecting => return Err(Errno::INPROGRESS.into()),
            _ => return Err(Errno::ISCONN.into()),
        }
        let result = address.connect(socket);
        match result {
            Ok(()) => {
                let request = Request::begin(port, state, &mut self.socket, -1, Purpose::Connect);
                self.connected();
                answer_later(port, request.caller, request.reference, |_| atoms::OK);
                self.wait(port)?;
                Ok(request.number())
            }
            Err(Errno::INPROGRESS) => {
                let request = Request::begin(port, state, &mut self.socket, time, Purpose::Connect);
                self.phase = Phase::Connecting;
                self.connecting = Some(request);
                self.wait(port)?;
                Ok(request.number())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The socket's status, with what is going on.
    fn status(&mut self) -> u32 {
        self.forget_dead();
        let accepting = if self.accepting.is_empty() { 0 } else { ACCEPTS };
        let connecting = if self.phase == Phase::Connecting { CONNECTS } else { 0 };
        self.socket.status | accepting | connecting
    }

    /// Forgets requests for connections of processes that have ended.
    fn forget_dead(&mut self) {
        self.accepting.retain(|request| {
            let lives = System::get().table.contains(request.caller);
            if !lives {
                request.stop_timer();
            }
            lives
        });
    }

    fn connected(&mut self) {
        self.phase = Phase::Connected;
        self.socket.status |= CONNECTED;
    }

    /// The connection that was being made is there, or could not be made.
    fn finish_connecting(&mut self, port: &Port) -> Result<(), Errno> {
        let Some(request) = self.connecting.take() else { return Ok(()) };
        request.stop_timer();
        match rustix::net::sockopt::socket_error(self.socket.open()?)? {
            Ok(()) => {
                self.connected();
                answer_later(port, request.caller, request.reference, |_| atoms::OK);
            }
            Err(error) => {
                self.phase = Phase::Idle;
                request.refuse(port, error.into());
            }
        }
        Ok(())
    }

    fn listen(&mut self, mut data: &[u8]) -> Answer {
        let backlog = take_number(&mut data, 2)?;
        rustix::net::listen(self.socket.open()?, backlog as i32)?;
        self.phase = Phase::Listening;
        self.socket.status |= LISTENS;
        Ok(Vec::new())
    }

    fn accept(&mut self, port: &Port, state: &State, mut data: &[u8]) -> Answer {
        let time = take_integer(&mut data)?;
        if self.phase != Phase::Listening {
            return Err(Errno::INVAL.into());
        }
        let present = if self.accepting.is_empty() { self.accept_now()? } else { None };
        match present {
            Some(descriptor) => {
                let request = Request::begin(port, state, &mut self.socket, -1, Purpose::Accept);
                self.hand_over(port, request, descriptor);
                Ok(request.number())
            }
            None => {
                let request = Request::begin(port, state, &mut self.socket, time, Purpose::Accept);
                self.accepting.push_back(request);
                self.wait(port)?;
                Ok(request.number())
            }
        }
    }

    /// A connection that waits to be accepted.
    fn accept_now(&self) -> Result<Option<OwnedFd>, Errno> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        loop {
            match rustix::net::accept_with(self.socket.open()?, flags) {
                Ok(descriptor) => return Ok(Some(descriptor)),
                Err(Errno::AGAIN) => return Ok(None),
                // It was given up meanwhile.
                Err(Errno::INTR | Errno::CONNABORTED) => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Makes a port of a connection, for the process that asked for one.
    fn hand_over(&self, port: &Port, request: Request, descriptor: OwnedFd) {
        request.stop_timer();
        let Some(id) = table::reserve() else { return request.refuse(port, Refusal::Named("system_limit")) };
        let accepted = Tcp::of(self.socket.accepted(descriptor), Phase::Connected);
        let settings = port.settings.clone();
        table::insert(Port::new(id, port.name.clone(), settings, request.caller, Box::new(accepted)));
        link(request.caller, id);
        answer_later(port, request.caller, request.reference, |heap| heap.tuple(&[atoms::OK, id]));
    }

    fn accept_waiting(&mut self, port: &Port) {
        self.forget_dead();
        while let Some(request) = self.accepting.front().copied() {
            match self.accept_now() {
                Ok(Some(descriptor)) => self.hand_over(port, request, descriptor),
                Ok(None) => return,
                Err(error) => request.refuse(port, error.into()),
            }
            self.accepting.pop_front();
        }
    }

    /// Takes over a socket that a program names by number.
    fn adopt(&mut self, data: &[u8]) -> Answer {
        let answer = self.socket.adopt(data)?;
        if self.socket.status & CONNECTED != 0 {
            self.phase = Phase::Connected;
        }
        Ok(answer)
    }

    fn shutdown(&mut self, mut data: &[u8]) -> Answer {
        let how = take_number(&mut data, 1)?;
        if self.phase != Phase::Connected {
            return Err(Errno::NOTCONN.into());
        }
        if how > 0 && self.output.is_pending() {
            self.output.shut_when_empty = true;
            if how == 2 {
                rustix::net::shutdown(self.socket.open()?, Shutdown::Read)?;
            }
            return Ok(Vec::new());
        }
        let sides = [Shutdown::Read, Shutdown::Write, Shutdown::Both];
        let side = sides.into_iter().nth(how as usize).ok_or(Errno::INVAL)?;
        rustix::net::shutdown(self.socket.open()?, side)?;
        Ok(Vec::new())
    }

    fn set_options(&mut self, port: &Port, state: &mut State, data: &[u8]) -> Answer {
        let socket = &mut self.socket;
        let before = socket.options.active;
        let change = socket.options.set(socket.descriptor.as_ref(), socket.family, data)?;
        if change.exhausted {
            self.tell_passive(port, state);
        }
        if change.active {
            self.tell_loss(port, state);
            self.deliver(port, state);
            let wants_one = before == Active::Never && self.socket.options.active == Active::Once;
            // What is there already, be it the end, comes before anything that is sent to the owner from now on.
            if port.is_open() && wants_one && self.phase == Phase::Connected {
                self.receive(port, state);
            }
            if port.is_open() {
                self.wait(port)?;
            }
        }
        Ok(Vec::new())
    }

    /// `{tcp_passive, Port}`
    pub fn tell_passive(&self, port: &Port, state: &State) {
        port.tell(state.connected, |heap| heap.tuple(&[known_atom("tcp_passive"), port.id]));
    }
}

impl Driver for Tcp {
    fn start(&mut self, port: &Port, _: &mut State) -> Result<(), Failure> {
        Ok(self.wait(port)?)
    }

    fn output(&mut self, port: &Port, state: &mut State, data: Vec<u8>) -> Result<(), Errno> {
        self.send(port, state, data);
        if port.is_open() { self.wait(port) } else { Ok(()) }
    }

    fn ready(&mut self, port: &Port, state: &mut State, event: Event) -> Result<(), Errno> {
        let was_wanted = event == Event::Output || self.wants_input();
        match (self.phase, event) {
            (Phase::Connecting, Event::Output) => self.finish_connecting(port)?,
            (Phase::Connected, Event::Output) => self.send_pending(port, state),
            (Phase::Listening, Event::Input) => self.accept_waiting(port),
            (Phase::Connected, Event::Input) if self.wants_input() => self.receive(port, state),
            _ => {}
        }
        if !port.is_open() {
            return Ok(());
        }
        // What comes in order is asked for before it comes: a wish that is only over for the moment stays.
        if !was_wanted
            && self.waits_for_input
            && let Some(descriptor) = &self.socket.descriptor
        {
            self.waits_for_input = false;
            port.stop_waiting(descriptor.as_fd(), Event::Input);
        }
        self.wait(port)
    }

    fn timeout(&mut self, port: &Port, state: &mut State, number: u32) -> Result<(), Errno> {
        let reference = number as u16;
        let is_it = |request: &Request| request.reference == reference;
        let late = match number >> 16 {
            0 => self.input.request.take_if(|(request, _)| is_it(request)).map(|(request, _)| request),
            1 => {
                let place = self.accepting.iter().position(is_it);
                place.and_then(|place| self.accepting.remove(place))
            }
            2 => self.connecting.take_if(|request| is_it(request)),
            _ => {
                self.send_timed_out(port, state);
                None
            }
        };
        if let Some(late) = late {
            if self.phase == Phase::Connecting {
                self.close_socket(port);
            }
            answer_later(port, late.caller, late.reference, |heap| heap.tuple(&[atoms::ERROR, atoms::TIMEOUT]));
        }
        Ok(())
    }

    fn control(&mut self, port: &Port, state: &mut State, operation: u32, data: &[u8]) -> Result<Vec<u8>, Failure> {
        let number = command(operation)?;
        let answer = match number {
            3 => self.connect(port, state, data),
            7 => self.set_options(port, state, data),
            13 => self.adopt(data),
            16 => Ok(self.status().to_be_bytes().to_vec()),
            24 => Ok(self.subscribe(state)),
            26 => self.accept(port, state, data),
            27 => self.listen(data),
            42 => self.ask(port, state, data),
            43 => {
                self.input.bytes.splice(..0, data.iter().copied());
                Ok(Vec::new())
            }
            44 => self.shutdown(data),
            45 => self.send_file(port, state, data),
            _ => self.socket.control(number, data, self.output.pending()).ok_or(Failure::BadArgument)?,
        };
        Ok(encode(answer))
    }

    fn carries(&self) -> bool {
        self.phase == Phase::Connected
    }

    fn carry(&mut self, port: &Port, state: &mut State, packets: Vec<u8>, now: bool) -> Result<(), Errno> {
        self.send_packets(port, state, packets, now);
        if port.is_open() { self.wait(port) } else { Ok(()) }
    }

    fn pending(&self) -> usize {
        self.output.pending()
    }

    /// As on OTP, what a peer has not made room for is given up.
    fn is_awaited_at_end(&self) -> bool {
        false
    }

    /// A process that asked for a connection to be broken at the close does not want anything sent.
    fn closing(&mut self, port: &Port, _: &mut State) {
        if self.socket.breaks_at_close() {
            self.discard_output(port);
        }
    }

    fn can_be_forced(&self) -> bool {
        true
    }

    /// As long as one waits, others do. How long it waits is bounded by `send_timeout`, that of others is not.
    fn is_busy(&self) -> bool {
        self.output.is_awaited()
    }

    fn is_free_again(&self) -> bool {
        !self.output.is_awaited()
    }

    fn stop(&mut self, port: &Port, _: &mut State) {
        for request in self.accepting.drain(..).chain(self.connecting.take()) {
            request.refuse(port, Refusal::Named("closed"));
        }
        if let Some((request, _)) = self.input.request.take() {
            request.refuse(port, Refusal::Named("closed"));
        }
        self.discard_output(port);
        self.socket.descriptor = None;
    }
}

/// Whether sockets of this family are streams of the internet, which have options of TCP.
pub(super) fn is_internet(family: AddressFamily) -> bool {
    matches!(family, AddressFamily::INET | AddressFamily::INET6)
}
