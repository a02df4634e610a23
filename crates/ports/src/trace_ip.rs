//! `trace_ip_drv`: writes trace records to the client that connects to a TCP port. Records that it has not read yet
//! wait in a queue; when that is full, further records are only counted.

use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::fd::AsFd;

use rustix::io::Errno;

use crate::driver::{Driver, Event, Failure, Opened};
use crate::open::Settings;
use crate::part::part;
use crate::port::{Port, State};

/// The driver's name.
pub const NAME: &str = "trace_ip_drv";

/// `port_control`: which TCP port is listened to.
const GET_LISTEN_PORT: u32 = b'p' as u32;

/// Flag: the queue is filled while nobody listens.
const FILL_ALWAYS: u8 = 2;
/// All flags.
const FLAGS: u8 = 3;

/// What waits to be written.
#[derive(Debug, PartialEq, Eq)]
enum Record {
    Term(Vec<u8>),
    /// So many records were dropped.
    Dropped(u32),
}

impl Record {
    fn bytes(&self) -> Vec<u8> {
        match self {
            Record::Term(term) => [&[0], &(term.len() as u32).to_be_bytes()[..], term].concat(),
            Record::Dropped(count) => [&[1], &count.to_be_bytes()[..]].concat(),
        }
    }
}

/// What waits, at most so many records and one that counts what was dropped.
#[derive(Debug, Default)]
struct Queue {
    records: VecDeque<Record>,
    most: usize,
}

impl Queue {
    fn push(&mut self, term: Vec<u8>) {
        let length = self.records.len();
        match self.records.back_mut() {
            Some(Record::Dropped(count)) if length > self.most => *count = count.saturating_add(1),
            _ if length < self.most => self.records.push_back(Record::Term(term)),
            _ => self.records.push_back(Record::Dropped(1)),
        }
    }
}

/// A program that has connected.
struct Client {
    stream: TcpStream,
    /// What is being written, and how much of it was.
    writing: Vec<u8>,
    written: usize,
    waits_for_output: bool,
}

struct TraceIp {
    flags: u8,
    listener: TcpListener,
    number: u16,
    client: Option<Client>,
    queue: Queue,
}

/// TCP port, length of the queue, flags.
fn read_command(command: &str) -> Option<(u16, usize, u8)> {
    let mut words = command.strip_prefix(NAME)?.split_ascii_whitespace();
    let port = words.next()?.parse().ok()?;
    let most = words.next()?.parse().ok()?;
    let flags = words.next()?.parse().ok().filter(|flags| *flags <= FLAGS)?;
    Some((port, most, flags))
}

fn listen(number: u16) -> std::io::Result<(TcpListener, u16)> {
    let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, number))?;
    listener.set_nonblocking(true)?;
    let number = listener.local_addr()?.port();
    Ok((listener, number))
}

/// Listens to the TCP port of the command.
///
/// # Errors
/// `einval`, whatever the reason, as in OTP.
pub fn open(command: &str, _: &Settings) -> Result<Opened, Failure> {
    let refused = Failure::System(Errno::INVAL);
    let (number, most, flags) = read_command(command).ok_or(refused)?;
    let mut in_use = part().trace_ports.lock();
    if in_use.contains(&number) {
        return Err(refused);
    }
    let (listener, number) = listen(number).map_err(|_| refused)?;
    in_use.push(number);
    let queue = Queue { records: VecDeque::new(), most };
    let driver = TraceIp { flags, listener, number, client: None, queue };
    Ok(Opened { driver: Box::new(driver), name: command.to_owned() })
}

/// How writing went.
#[derive(PartialEq)]
enum Written {
    All,
    Part,
    /// The peer is gone.
    Failed,
}

impl Client {
    fn write(&mut self, queue: &mut Queue) -> Written {
        loop {
            if self.written == self.writing.len() {
                let Some(next) = queue.records.pop_front() else { return Written::All };
                (self.writing, self.written) = (next.bytes(), 0);
            }
            match self.stream.write(&self.writing[self.written..]) {
                Ok(0) => return Written::Failed,
                Ok(count) => self.written += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Written::Part,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return Written::Failed,
            }
        }
    }
}

impl TraceIp {
    /// Writes what waits, as far as that goes at once.
    fn write(&mut self, port: &Port) -> Result<(), Errno> {
        let Some(client) = &mut self.client else { return Ok(()) };
        match client.write(&mut self.queue) {
            Written::Failed => self.forget_client(port),
            Written::Part if !client.waits_for_output => {
                client.waits_for_output = true;
                port.wait_for(client.stream.as_fd(), Event::Output)?;
            }
            Written::All if client.waits_for_output => {
                client.waits_for_output = false;
                port.stop_waiting(client.stream.as_fd(), Event::Output);
            }
            Written::Part | Written::All => {}
        }
        Ok(())
    }

    fn forget_client(&mut self, port: &Port) {
        let Some(client) = self.client.take() else { return };
        port.stop_waiting(client.stream.as_fd(), Event::Input);
        if client.waits_for_output {
            port.stop_waiting(client.stream.as_fd(), Event::Output);
        }
        if self.flags & FILL_ALWAYS == 0 {
            self.queue.records.clear();
        }
    }

    /// Accepts a connection; there can be only one at a time.
    fn accept(&mut self, port: &Port) -> Result<(), Errno> {
        let Ok((stream, _)) = self.listener.accept() else { return Ok(()) };
        if self.client.is_some() || stream.set_nonblocking(true).is_err() {
            return Ok(());
        }
        port.wait_for(stream.as_fd(), Event::Input)?;
        self.client = Some(Client { stream, writing: Vec::new(), written: 0, waits_for_output: false });
        self.write(port)
    }

    /// A client says nothing, but may close.
    fn read(&mut self, port: &Port) {
        let Some(client) = &mut self.client else { return };
        let mut bytes = [0; 128];
        let is_gone = match client.stream.read(&mut bytes) {
            Ok(count) => count == 0,
            Err(error) => !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted),
        };
        if is_gone {
            self.forget_client(port);
        }
    }
}

impl Driver for TraceIp {
    fn start(&mut self, port: &Port, _: &mut State) -> Result<(), Failure> {
        Ok(port.wait_for(self.listener.as_fd(), Event::Input)?)
    }

    fn output(&mut self, port: &Port, _: &mut State, data: Vec<u8>) -> Result<(), Errno> {
        if self.client.is_some() || self.flags & FILL_ALWAYS != 0 {
            self.queue.push(data);
        }
        self.write(port)
    }

    fn ready(&mut self, port: &Port, _: &mut State, event: Event) -> Result<(), Errno> {
        match event {
            Event::Output => self.write(port),
            Event::Input => {
                self.read(port);
                self.accept(port)
            }
            Event::Error => Ok(()),
        }
    }

    fn control(&mut self, _: &Port, _: &mut State, operation: u32, _: &[u8]) -> Result<Vec<u8>, Failure> {
        let [high, low] = self.number.to_be_bytes();
        if operation == GET_LISTEN_PORT { Ok(vec![0, high, low]) } else { Err(Failure::BadArgument) }
    }

    fn answers_in_binaries(&self) -> bool {
        true
    }

    fn library(&self) -> Option<&'static str> {
        Some(NAME)
    }

    fn stop(&mut self, port: &Port, _: &mut State) {
        self.forget_client(port);
        part().trace_ports.lock().retain(|number| *number != self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_queue_counts_what_it_drops() {
        let mut queue = Queue { records: VecDeque::new(), most: 2 };
        (1..=5).for_each(|byte| queue.push(vec![byte]));
        let expected = [Record::Term(vec![1]), Record::Term(vec![2]), Record::Dropped(3)];
        assert_eq!(queue.records, expected);
        assert_eq!(expected[2].bytes(), [1, 0, 0, 0, 3]);
        queue.records.pop_front();
        queue.records.pop_front();
        queue.push(vec![6]);
        queue.push(vec![7]);
        assert_eq!(queue.records, [Record::Dropped(3), Record::Term(vec![6]), Record::Dropped(1)]);
    }

    #[test]
    fn commands_are_three_numbers() {
        assert_eq!(read_command("trace_ip_drv 4711 200 2"), Some((4711, 200, 2)));
        for wrong in
            ["trace_ip_drv", "trace_ip_drv 1 2", "trace_ip_drv 1 2 4", "trace_ip_drv -1 2 0", "trace_ip_drv 1 x 0"]
        {
            assert_eq!(read_command(wrong), None, "{wrong}");
        }
    }
}
