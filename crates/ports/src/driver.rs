//! What a driver does for its port, and which drivers there are.

use std::any::Any;
use std::ffi::OsString;
use std::sync::Arc;

use atoll_term::Term;
use atoll_term::atoms::known_atom;
use rustix::io::Errno;

use crate::external::External;
use crate::open::Settings;
use crate::port::{Port, State};
use crate::{fd, inet, library, program, ram_file, terminal, trace_file, trace_ip};

/// What a file descriptor that a driver waits for is ready for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// Something can be read, or the end was reached.
    Input,
    /// Something can be written.
    Output,
    /// It is broken, or its other end is closed. Ports do not wait for this alone.
    Error,
}

/// Why a driver cannot do what it is asked.
#[derive(Clone, Copy, Debug)]
pub enum Failure {
    /// The command is not one of this driver's, or its data make no sense.
    BadArgument,
    /// The operating system refused.
    System(Errno),
    /// There are as many ports as there can be.
    TooMany,
}

impl From<Errno> for Failure {
    fn from(error: Errno) -> Failure {
        Failure::System(error)
    }
}

/// Bytes waiting to be written above which a port is busy, and those at which it is not any more.
const BUSY: usize = 8192;
const FREE_AGAIN: usize = 4096;

/// The work of one port. All calls come with the port's lock held; `state` is what the lock guards, the driver aside.
pub trait Driver: Send {
    /// The port is in the table: from now on file descriptors can be waited for.
    ///
    /// # Errors
    /// The port ends with the error as its reason.
    fn start(&mut self, port: &Port, state: &mut State) -> Result<(), Failure>;

    /// Data that the owner wants written.
    ///
    /// # Errors
    /// The port ends with the error as its reason.
    fn output(&mut self, port: &Port, state: &mut State, data: Vec<u8>) -> Result<(), Errno>;

    /// A file descriptor that was asked for with [`Port::wait_for`] is ready.
    ///
    /// # Errors
    /// The port ends with the error as its reason.
    fn ready(&mut self, port: &Port, state: &mut State, event: Event) -> Result<(), Errno>;

    /// A timer of [`crate::poller::start_timer`] with this number is due.
    ///
    /// # Errors
    /// The port ends with the error as its reason.
    fn timeout(&mut self, port: &Port, state: &mut State, number: u32) -> Result<(), Errno> {
        let _ = (port, state, number);
        Ok(())
    }

    /// `port_control`: returns the answer's bytes.
    ///
    /// # Errors
    /// The caller gets `badarg`.
    fn control(&mut self, port: &Port, state: &mut State, operation: u32, data: &[u8]) -> Result<Vec<u8>, Failure> {
        let _ = (port, state, operation, data);
        Err(Failure::BadArgument)
    }

    /// Whether [`Driver::control`]'s answers are binaries rather than lists.
    fn answers_in_binaries(&self) -> bool {
        false
    }

    /// `port_call`: gets a term in the external format, and returns one.
    ///
    /// # Errors
    /// The caller gets `badarg`.
    fn call(&mut self, port: &Port, state: &mut State, operation: u32, term: &[u8]) -> Result<Vec<u8>, Failure> {
        let _ = (port, state, operation, term);
        Err(Failure::BadArgument)
    }

    /// Something that the driver itself has asked to be told, by [`Port::with`], from outside of its calls.
    fn told(&mut self, port: &Port, state: &mut State, what: Box<dyn Any + Send>) {
        let _ = (port, state, what);
    }

    /// Whether it can carry the connection to another node: see [`crate::channel`].
    fn carries(&self) -> bool {
        false
    }

    /// Writes packets of the connection that it carries: what can be written now, or all of it when its descriptor is
    /// found ready.
    ///
    /// # Errors
    /// The port ends with the error as its reason.
    fn carry(&mut self, port: &Port, state: &mut State, packets: Vec<u8>, now: bool) -> Result<(), Errno> {
        let _ = (port, state, packets, now);
        Err(Errno::NOTSUP)
    }

    /// Bytes that are not written yet.
    fn pending(&self) -> usize {
        0
    }

    /// Whether the machine's end waits until nothing is pending. A peer that does not read must not keep it.
    fn is_awaited_at_end(&self) -> bool {
        true
    }

    /// The port is to be closed, when what is [`Driver::pending`] is written.
    fn closing(&mut self, _: &Port, _: &mut State) {}

    /// Whether more is waiting to be written than there should be: a process that writes has to wait.
    fn is_busy(&self) -> bool {
        self.pending() > BUSY
    }

    /// Whether `port_command` with `force` may write although it is busy.
    fn can_be_forced(&self) -> bool {
        false
    }

    /// Whether those who wait may write again.
    fn is_free_again(&self) -> bool {
        self.pending() <= FREE_AGAIN
    }

    /// Process of the operating system that the port speaks to.
    fn os_pid(&self) -> Option<u32> {
        None
    }

    /// Whether the owner's commands are data to be written (`Port ! {Owner, {command, Data}}`).
    fn takes_output(&self) -> bool {
        true
    }

    /// The name by which the driver has to be loaded before ports of it are opened, if it has to be.
    fn library(&self) -> Option<&'static str> {
        None
    }

    /// The processes that the port monitors.
    fn monitors(&self, port: &Port) -> Vec<Term> {
        let _ = port;
        Vec::new()
    }

    /// What other threads may use without the port's lock; asked once, before the port starts.
    fn shared(&self) -> Option<Arc<dyn Any + Send + Sync>> {
        None
    }

    /// The machine ends: what is kept back to be written together with more is written now.
    fn at_end(&mut self) {}

    /// Whether the port is opened only when the driver says so, by [`Port::opened`]. Asked once it has started.
    fn opens_later(&self) -> bool {
        false
    }

    /// The port closes: give everything back.
    fn stop(&mut self, port: &Port, state: &mut State);

    /// Others have been told of the port's end. Nothing of this driver is called afterwards.
    fn ended(&mut self, port: &Port, state: &mut State) {
        let _ = (port, state);
    }
}

/// First argument of `open_port/2`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PortName {
    /// `{spawn, Command}`
    Spawn(OsString),
    /// `{spawn_driver, Command}`
    SpawnDriver(OsString),
    /// `{spawn_executable, File}`
    SpawnExecutable(OsString),
    /// `{fd, In, Out}`
    Descriptors(i32, i32),
    /// A name alone.
    File(OsString),
}

/// A driver that was just opened, and the name of its port.
pub struct Opened {
    /// The driver.
    pub driver: Box<dyn Driver>,
    /// What `port_info(Port, name)` shows.
    pub name: String,
}

/// Opens a linked-in driver: gets the command behind `spawn_driver`.
pub type Open = fn(command: &str, settings: &Settings) -> Result<Opened, Failure>;

/// Drivers that are opened by name.
const BY_NAME: &[(&str, Open)] = &[
    ("tcp_inet", inet::open_tcp),
    ("udp_inet", inet::open_udp),
    (terminal::NAME, terminal::open),
    (ram_file::NAME, ram_file::open),
    (trace_file::NAME, trace_file::open),
    (trace_ip::NAME, trace_ip::open),
];

/// The driver whose name is the first word of a command, unless it has to be loaded first.
fn named(command: &OsString) -> Option<(Open, &str)> {
    let command = command.to_str()?;
    let first = command.split(' ').next()?;
    BY_NAME.iter().find(|(name, _)| *name == first && library::is_usable(name)).map(|(_, open)| (*open, command))
}

/// As [`named`], of a driver that was loaded from a file.
fn loaded(command: &OsString) -> Option<(Arc<dyn External>, &str)> {
    let command = command.to_str()?;
    Some((library::loaded(command.split(' ').next()?)?, command))
}

/// Opens what a port's name says.
///
/// # Errors
/// There is no such driver (`badarg`) or program, or it cannot be started.
pub fn open(name: &PortName, settings: &Settings) -> Result<Opened, Failure> {
    match name {
        PortName::Descriptors(input, output) => fd::open(*input, *output, settings),
        PortName::File(file) => fd::open_file(file, settings),
        PortName::Spawn(command) | PortName::SpawnDriver(command) => match (named(command), loaded(command), name) {
            (Some((open, command)), _, _) => open(command, settings),
            (None, Some((external, command)), _) => external.open(command, settings),
            (None, None, PortName::SpawnDriver(_)) => Err(Failure::BadArgument),
            (None, None, _) => program::open_command(command, settings),
        },
        PortName::SpawnExecutable(file) => program::open_file(file, settings),
    }
}

/// A failure as `open_port` tells it.
pub fn reason(failure: Failure) -> Term {
    match failure {
        Failure::BadArgument => atoll_term::atoms::BADARG,
        Failure::System(error) => crate::errors::error_name(error),
        Failure::TooMany => known_atom("system_limit"),
    }
}
