//! What a stream socket sends.

use std::collections::VecDeque;
use std::os::fd::{AsFd, OwnedFd};

use atoll_operations::packets::PacketMode;
use atoll_term::atoms::known_atom;
use atoll_term::{Build, Term, atoms};
use rustix::io::Errno;
use rustix::net::{SendFlags, Shutdown};

use crate::inet::address::{take, take_number};
use crate::inet::fault::{SENDING, fault};
use crate::inet::options::Active;
use crate::inet::sender::Sender;
use crate::inet::tcp::{Phase, Purpose, Tcp, is_internet};
use crate::inet::{Answer, Refusal};
use crate::poller::{self, Timer};
use crate::port::{Port, State};

/// Bytes of a file that are sent at once.
const FILE_PIECE: usize = 1 << 20;
/// How many such pieces are sent before others have their turn.
const FILE_PIECES: usize = 8;

/// What has not been sent yet.
#[derive(Default)]
pub(super) struct Output {
    pieces: VecDeque<Vec<u8>>,
    /// Bytes of the first piece that are sent.
    sent: usize,
    bytes: usize,
    file: Option<SendFile>,
    /// The process that gets its answer when less is left to send, and the timer after which it gets an error.
    waiting: Option<(Sender, Option<Timer>)>,
    subscribers: Vec<Term>,
    /// Nothing is sent behind what is here.
    pub shut_when_empty: bool,
}

/// Part of a file that is being sent.
struct SendFile {
    file: OwnedFd,
    offset: u64,
    left: u64,
    sent: u64,
    /// Bytes that are sent before it; others wait for its end.
    ahead: usize,
    caller: Term,
}

impl SendFile {
    /// Tells who sends it how that ended.
    fn tell(&self, port: &Port, end: Result<(), Errno>) {
        port.tell(self.caller, |heap| {
            let status = match end {
                Ok(()) => {
                    let halves = [self.sent & 0xffff_ffff, self.sent >> 32].map(|half| Term::small(half as i64));
                    heap.tuple(&[atoms::OK, halves[0], halves[1]])
                }
                Err(error) => {
                    let reason = known_atom(match error {
                        Errno::PIPE | Errno::CONNRESET => "closed",
                        other => atoll_platform::errors::name(other),
                    });
                    heap.tuple(&[atoms::ERROR, reason])
                }
            };
            heap.tuple(&[known_atom("sendfile"), port.id, status])
        });
    }
}

impl Output {
    /// Whether something waits to be sent.
    pub fn is_pending(&self) -> bool {
        self.bytes > 0 || self.file.is_some()
    }

    /// Bytes that wait to be sent.
    pub fn pending(&self) -> usize {
        self.bytes
    }

    /// Whether a process waits until it is sent.
    pub fn is_awaited(&self) -> bool {
        self.waiting.is_some()
    }

    /// Forgets everything.
    pub fn discard(&mut self) {
        self.pieces.clear();
        (self.sent, self.bytes) = (0, 0);
    }

    /// Sends as much as can be sent now, up to where a file comes.
    fn write(&mut self, descriptor: &OwnedFd) -> Result<(), Errno> {
        while let Some(first) = self.pieces.front() {
            if self.file.as_ref().is_some_and(|file| file.ahead == 0) {
                return Ok(());
            }
            match rustix::net::send(descriptor, &first[self.sent..], SendFlags::NOSIGNAL) {
                Ok(count) => {
                    self.bytes -= count;
                    self.sent += count;
                    self.file.iter_mut().for_each(|file| file.ahead -= count);
                    if self.sent == first.len() {
                        self.sent = 0;
                        self.pieces.pop_front();
                    }
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

impl Tcp {
    /// Sends data, and answers its sender.
    pub fn send(&mut self, port: &Port, state: &mut State, mut data: Vec<u8>) {
        let sender = match Sender::take(state.caller, &mut data) {
            Ok(sender) => sender,
            Err(error) => return Sender::unread(state.caller).reply(port, Err(error.into())),
        };
        if self.phase != Phase::Connected {
            let refusal = self.lost.sender.take().unwrap_or(Errno::NOTCONN.into());
            return sender.reply(port, Err(refusal));
        }
        if let Some(error) = fault(state.caller, &SENDING) {
            return self.send_failed(port, state, error, Some(sender));
        }
        let head = head(self.socket.options.packet, data.len());
        self.socket.sent.count(data.len() + head.len());
        let was_empty = !self.output.is_pending();
        let packet = if head.is_empty() { data } else { [head, data].concat() };
        self.output.bytes += packet.len();
        if !packet.is_empty() {
            self.output.pieces.push_back(packet);
        }
        if was_empty && let Err(error) = self.write_output() {
            return self.send_failed(port, state, error, Some(sender));
        }
        // A sender that finds the queue empty does not wait, however much is left.
        if !was_empty && self.output.bytes >= self.socket.options.high && self.output.waiting.is_none() {
            let timer = self
                .socket
                .options
                .send_timeout()
                .and_then(|time| poller::start_timer(port.id, time, (Purpose::Send as u32) << 16));
            self.output.waiting = Some((sender, timer));
        } else {
            sender.reply(port, Ok(()));
        }
    }

    /// Sends packets of the connection to another node, now or when the descriptor is ready. Nobody is answered.
    pub fn send_packets(&mut self, port: &Port, state: &mut State, packets: Vec<u8>, now: bool) {
        if self.phase != Phase::Connected || packets.is_empty() {
            return;
        }
        self.socket.sent.count(packets.len());
        let was_empty = !self.output.is_pending();
        self.output.bytes += packets.len();
        self.output.pieces.push_back(packets);
        if now
            && was_empty
            && let Err(error) = self.write_output()
        {
            self.send_failed(port, state, error, None);
        }
    }

    fn write_output(&mut self) -> Result<(), Errno> {
        self.socket.descriptor.as_ref().map_or(Ok(()), |descriptor| self.output.write(descriptor))
    }

    /// Goes on sending.
    pub fn send_pending(&mut self, port: &Port, state: &mut State) {
        let mut written = self.write_output();
        if written.is_ok() && self.send_file_on(port) {
            written = self.write_output();
        }
        if let Err(error) = written {
            return self.send_failed(port, state, error, None);
        }
        if self.output.bytes <= self.socket.options.low
            && let Some((sender, timer)) = self.output.waiting.take()
        {
            timer.into_iter().for_each(poller::cancel_timer);
            sender.reply(port, Ok(()));
        }
        if !self.output.is_pending() {
            for subscriber in std::mem::take(&mut self.output.subscribers) {
                port.tell(subscriber, |heap| heap.tuple(&[known_atom("empty_out_q"), port.id]));
            }
            if std::mem::take(&mut self.output.shut_when_empty)
                && let Some(descriptor) = &self.socket.descriptor
            {
                let _ = rustix::net::shutdown(descriptor, Shutdown::Write);
            }
        }
    }

    /// Data could not be sent: the connection is broken.
    fn send_failed(&mut self, port: &Port, state: &mut State, error: Errno, sender: Option<Sender>) {
        let waiting = self.output.waiting.take();
        self.discard_output(port);
        let is_reset = matches!(error, Errno::PIPE | Errno::CONNRESET);
        let refusal = match is_reset && !self.socket.options.show_reset {
            true => Refusal::Named("closed"),
            false => error.into(),
        };
        let senders: Vec<Sender> = sender.into_iter().chain(waiting.map(|(sender, _)| sender)).collect();
        senders.iter().for_each(|sender| sender.reply(port, Err(refusal)));
        if senders.is_empty() {
            self.lost.sender = Some(refusal);
        }
        self.input.bytes.clear();
        self.input.ended = true;
        let shown = (!is_reset || self.socket.options.show_reset).then_some(error);
        if self.socket.options.active != Active::Never {
            if !self.socket.options.exit_on_close {
                self.close_socket(port);
            }
            return self.tell_end(port, state, shown);
        }
        self.close_socket(port);
        match self.input.request.take() {
            Some((request, _)) => request.refuse(port, refusal),
            None => self.lost.receiver = Some(refusal),
        }
    }

    /// Sending has taken too long.
    pub fn send_timed_out(&mut self, port: &Port, state: &mut State) {
        let Some((sender, _)) = self.output.waiting.take() else { return };
        sender.tell(port, |heap| heap.tuple(&[atoms::ERROR, atoms::TIMEOUT]));
        if self.socket.options.send_timeout_close {
            self.discard_output(port);
            port.leave(state, self);
        }
    }

    /// `subscribe`: tells the caller when everything is sent.
    pub fn subscribe(&mut self, state: &State) -> Vec<u8> {
        let pending = self.output.bytes;
        if pending > 0 {
            self.output.subscribers.push(state.caller);
        }
        [&[1], &(pending as u32).to_be_bytes()[..]].concat()
    }

    /// `sendfile`: gets the descriptor as a C program stores it, offset and length.
    pub fn send_file(&mut self, port: &Port, state: &State, mut data: &[u8]) -> Answer {
        let number = i32::from_ne_bytes(take(&mut data, 4)?.try_into().map_err(|_| Errno::INVAL)?);
        let (offset, left) = (take_number(&mut data, 8)?, take_number(&mut data, 8)?);
        if self.phase != Phase::Connected {
            return Err(Errno::NOTCONN.into());
        }
        if self.output.file.is_some() || !is_internet(self.socket.family) {
            return Err(Errno::BUSY.into());
        }
        let file = atoll_platform::descriptor::borrow(number).ok_or(Errno::BADF)?;
        let file = rustix::io::fcntl_dupfd_cloexec(file, 0)?;
        self.output.file =
            Some(SendFile { file, offset, left, sent: 0, ahead: self.output.bytes, caller: state.caller });
        self.send_file_on(port);
        self.wait(port)?;
        Ok(Vec::new())
    }

    /// Drops all output that waits to be sent, and answers the processes that wait for it with an error.
    pub fn discard_output(&mut self, port: &Port) {
        self.output.discard();
        if let Some((sender, timer)) = self.output.waiting.take() {
            timer.into_iter().for_each(poller::cancel_timer);
            sender.reply(port, Err(Refusal::Named("closed")));
        }
        if let Some(sending) = self.output.file.take() {
            sending.tell(port, Err(Errno::PIPE));
        }
    }

    /// Sends more of the file, if it is its turn, and tells the caller at the end. Whether it is not there any more.
    fn send_file_on(&mut self, port: &Port) -> bool {
        let (Some(sending), Some(descriptor)) = (&mut self.output.file, &self.socket.descriptor) else { return true };
        if sending.ahead > 0 {
            return false;
        }
        let mut pieces = 0;
        let end = loop {
            if pieces == FILE_PIECES {
                return false;
            }
            pieces += 1;
            let count = usize::try_from(sending.left).unwrap_or(usize::MAX).min(FILE_PIECE);
            if count == 0 {
                break Ok(());
            }
            match rustix::fs::sendfile(descriptor.as_fd(), &sending.file, Some(&mut sending.offset), count) {
                Ok(0) => break Ok(()),
                Ok(count) => {
                    sending.sent += count as u64;
                    sending.left -= count as u64;
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return false,
                Err(error) => break Err(error),
            }
        };
        if let Some(sending) = self.output.file.take() {
            sending.tell(port, end);
        }
        true
    }
}

/// The length in front of a packet. As in OTP, what does not fit there is cut off.
fn head(mode: PacketMode, length: usize) -> Vec<u8> {
    let PacketMode::Length(count) = mode else { return Vec::new() };
    (length as u64).to_be_bytes()[8 - usize::from(count)..].to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_stand_in_front_of_packets() {
        assert_eq!(head(PacketMode::Raw, 1000), []);
        assert_eq!(head(PacketMode::Length(1), 255), [255]);
        assert_eq!(head(PacketMode::Length(1), 256), [0]);
        assert_eq!(head(PacketMode::Length(4), 258), [0, 0, 1, 2]);
    }
}
