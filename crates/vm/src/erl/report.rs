//! Errors that end processes, told to OTP's logger as the machine does: a message to the process `logger`.

use atoll_heap::architecture;
use atoll_operations::Class;
use atoll_platform::clock;
use atoll_process::{System, signal};
use atoll_term::{Build, ScratchHeap, Term, atoms, map};

fn name(text: &str) -> Term {
    atoms::atom(text).unwrap_or(atoms::UNDEFINED)
}

/// What an uncaught exception is reported as. Exits of their own accord are not worth a report.
pub fn uncaught(pid: Term, leader: Term, class: Class, reason: Term) {
    if class == Class::Exit {
        return;
    }
    let mut scratch = ScratchHeap::new();
    let format = scratch.string("Error in process ~p with exit value:~n~p~n");
    let arguments = scratch.list([pid, reason]);
    let emulator = map::from_pairs(&mut scratch, &[(name("emulator"), atoms::TRUE), (name("tag"), atoms::ERROR)]);
    let microseconds = scratch.integer(clock::system() / 1000);
    let pairs =
        [(name("error_logger"), emulator), (name("pid"), pid), (name("gl"), leader), (name("time"), microseconds)];
    let metadata = map::from_pairs(&mut scratch, &pairs);
    let message = scratch.tuple(&[name("log"), atoms::ERROR, format, arguments, metadata]);
    let system = System::get();
    let Some(logger) = system.whereis(atoms::LOGGER) else { return };
    if let Err(fragment) = system.deliver(logger, architecture().send(None, message)) {
        signal::discard(fragment);
    }
}
