//! `tcp_inet` and `udp_inet`: sockets behind ports, as OTP's `prim_inet` speaks to them. A command is a number and
//! bytes; its answer begins with a byte that says whether it was done.

mod address;
mod ancillary;
mod fault;
mod information;
mod options;
mod sender;
mod socket;
mod tcp;
mod tcp_input;
mod tcp_output;
mod udp;

use rustix::io::Errno;

use crate::driver::{Failure, Opened};
use crate::open::Settings;

/// What all commands have in common: they are added to this.
const COMMANDS: u32 = 0x03f1_a300;

/// Why a command was not carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The operating system's reason.
    System(Errno),
    /// A reason of this name.
    Named(&'static str),
}

impl From<Errno> for Refusal {
    fn from(error: Errno) -> Self {
        Refusal::System(error)
    }
}

impl Refusal {
    fn name(self) -> &'static str {
        match self {
            Refusal::System(error) => atoll_platform::errors::name(error),
            Refusal::Named(name) => name,
        }
    }
}

/// The answer's bytes, without the first.
type Answer = Result<Vec<u8>, Refusal>;

const REFUSED: u8 = 0;
const DONE: u8 = 1;

/// An answer as `port_control` gives it.
fn encode(answer: Answer) -> Vec<u8> {
    match answer {
        Ok(bytes) => [&[DONE], &bytes[..]].concat(),
        Err(refusal) => [&[REFUSED], refusal.name().as_bytes()].concat(),
    }
}

/// Number of a command, if it is one.
fn command(operation: u32) -> Result<u8, Failure> {
    let number = operation.checked_sub(COMMANDS).and_then(|number| u8::try_from(number).ok());
    number.ok_or(Failure::BadArgument)
}

/// `open_port({spawn_driver, "tcp_inet"}, ...)`
///
/// # Errors
/// None.
pub fn open_tcp(_: &str, _: &Settings) -> Result<Opened, Failure> {
    Ok(Opened { driver: Box::new(tcp::Tcp::new()), name: "tcp_inet".to_owned() })
}

/// `open_port({spawn_driver, "udp_inet"}, ...)`
///
/// # Errors
/// None.
pub fn open_udp(_: &str, _: &Settings) -> Result<Opened, Failure> {
    Ok(Opened { driver: Box::new(udp::Udp::new()), name: "udp_inet".to_owned() })
}
