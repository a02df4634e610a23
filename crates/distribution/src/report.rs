//! What is written to the log about connections.

use std::sync::OnceLock;

use atoll_term::Term;
use atoll_term::atoms::atom_name;

use crate::input::Fault;

static LOG: OnceLock<fn(&str)> = OnceLock::new();

/// Sets what writes an error to the log; the first call counts.
pub fn install(log: fn(&str)) {
    let _ = LOG.set(log);
}

/// A node has sent what nobody can use.
pub fn bad_data(node: Term, fault: Fault) {
    let Some(log) = LOG.get() else { return };
    let what = match fault {
        Fault::Malformed => "data that is not of the protocol",
        Fault::TooManyAtoms => "more atoms than there is room for",
        Fault::TooMuch => "parts of messages that are never complete",
    };
    log(&format!("The connection to {} was ended: it brought {what}.\n", atom_name(node)));
}
