//! What processes see of ports. Signals to a port are acted on by whoever sends them, at once, so that their order is
//! kept without an inbox.

use std::ptr::NonNull;

use atoll_heap::Fragment;
use atoll_term::Term;

use crate::process::Own;

/// The machine's ports.
pub trait Ports: Sync {
    /// Whether a port is open.
    fn exists(&self, port: Term) -> bool;

    /// How many are open.
    fn count(&self) -> usize;

    /// Acts on a signal that is no message: links, monitors, exits.
    ///
    /// # Errors
    /// There is no such port: the signal comes back.
    fn signal(&self, port: Term, signal: NonNull<Fragment>) -> Result<(), NonNull<Fragment>>;

    /// Gives a port that is a tracer what is told, as the bytes of the external term format. Whether it is open.
    fn tell_tracer(&self, port: Term, message: Term) -> bool;

    /// Acts on a message from `sender`; one that is no command ends the sender.
    fn message(&self, sender: Term, own: &mut Own, port: Term, message: Term);
}
