//! Connections that break because a simulated run wants so.

use atoll_process::{Failing, System};
use atoll_term::Term;
use rustix::io::Errno;

/// How a connection breaks while data is sent.
pub(super) const SENDING: [Errno; 2] = [Errno::CONNRESET, Errno::PIPE];
/// How one breaks for a process to which data was to be delivered.
pub(super) const RECEIVING: [Errno; 2] = [Errno::CONNRESET, Errno::TIMEDOUT];
/// Why a datagram is not sent.
pub(super) const DATAGRAM: [Errno; 2] = [Errno::NOBUFS, Errno::NETUNREACH];

/// The error that what this process does now is to have, if any.
pub(super) fn fault(process: Term, errors: &[Errno]) -> Option<Errno> {
    let schedule = System::get().schedule();
    if !schedule.may_fail() {
        return None;
    }
    schedule.fails(Failing::Io, process, errors.len()).map(|way| errors[way])
}
