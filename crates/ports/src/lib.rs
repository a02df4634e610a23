//! Ports: how processes communicate with the world outside of the machine. A [`Port`] is known by its term, belongs to
//! a process, and has a [`Driver`] that does the work. Idle schedulers wait for all file descriptors, one scheduler at
//! a time ([`poller`]).
//!
//! A signal or command to a port is carried out by the thread that sends it, under the port's own lock; what a port
//! sends to processes goes through their inboxes like everything else.
#![forbid(unsafe_code)]

pub mod channel;
mod commands;
mod ddll;
mod deferred;
mod driver;
mod errors;
pub mod external;
mod fd;
mod framing;
mod inet;
mod information;
mod library;
mod open;
mod output;
mod part;
pub mod poller;
mod port;
mod program;
mod ram_file;
mod signals;
mod table;
pub mod terminal;
mod trace_file;
mod trace_ip;
mod traced;

use atoll_process::{BuiltIn, System};

pub use deferred::look_again;
pub use driver::{Driver, Event, Failure, Opened, PortName};
pub use open::{Settings, make};
pub use part::{Part, enter};
pub use port::{Port, State};
pub use table::{each, find, flush_all, set_limit};

/// Connects ports and processes; once, before the first process starts.
pub fn install() {
    atoll_platform::descriptor::keep_inherited_from_programs();
    let _ = System::get().ports.set(&signals::AllPorts);
}

/// What programs know an error of the system's by: an atom.
pub fn error_name(number: i32) -> atoll_term::Term {
    errors::error_name(rustix::io::Errno::from_raw_os_error(number))
}

/// Has what drivers do wrong be written to the log by this function; the first call counts.
pub fn report_by(reporter: fn(&str)) {
    let _ = part::part().reporter.set(reporter);
}

/// Writes to the log what a driver has done.
pub fn report(text: &str) {
    if let Some(reporter) = part::part().reporter.get() {
        reporter(text);
    }
}

/// Gives bytes to an open port, in the name of a process or of its owner, whether it is busy or not; whether it took
/// them.
pub fn command(port: atoll_term::Term, caller: Option<atoll_term::Term>, data: Vec<u8>) -> bool {
    let Some(port) = find(port) else { return false };
    let takes = port.with(|_, state, driver| driver.takes_output() && !state.closing);
    takes == Some(true) && commands::write(&port, caller.unwrap_or_else(|| port.connected()), data)
}

/// The functions of all files here.
pub fn built_ins() -> Vec<BuiltIn> {
    [open::BUILT_INS, commands::BUILT_INS, information::BUILT_INS, ddll::BUILT_INS].concat()
}
