//! The interface of ports for processes. The thread that sends a signal to a port acts on it at once, so signals keep
//! their order without an inbox.

use atoll_heap::Message;
use atoll_term::Term;

use crate::process::Own;
use crate::remote::Sent;
use crate::tracing::Tracing;

/// The machine's ports.
pub trait Ports: Sync {
    /// Whether a port is open.
    fn exists(&self, port: Term) -> bool;

    /// How many there may be.
    fn limit(&self) -> usize;

    /// How many are open.
    fn count(&self) -> usize;

    /// Bytes that ports have received so far, and sent.
    fn carried(&self) -> [u64; 2];

    /// Descriptors that are waited for: for ports, and for others.
    fn watched(&self) -> (usize, usize);

    /// Acts on a signal that is no message: links, monitors, exits.
    ///
    /// # Errors
    /// There is no such port: the signal comes back.
    fn signal(&self, port: Term, signal: Message) -> Result<(), Message>;

    /// A port has got this name, or lost it: for its tracer.
    fn trace_name(&self, port: Term, event: &str, name: Term);

    /// What a port is asked to tell its tracer; `None` if it is not there.
    fn tracing_of(&self, port: Term) -> Option<Option<Tracing>>;

    /// Changes what a port is asked to tell, or what all are. `change` gives `None` if another tracer has the port.
    /// Returns for how many it was changed.
    fn change_tracing(&self, port: Option<Term>, change: &dyn Fn(Option<Tracing>) -> Option<Option<Tracing>>) -> usize;

    /// Gives a trace message, as bytes of the external term format, to a port that is a tracer. Returns whether the
    /// port is open.
    fn tell_tracer(&self, port: Term, message: Term) -> bool;

    /// Acts on a message from `sender`; one that is no command ends the sender. If the port has enough to write, data
    /// has to wait, and if `suspends`, so has the sender.
    fn message(&self, sender: Term, own: &mut Own, port: Term, message: Term, suspends: bool) -> Sent;
}
