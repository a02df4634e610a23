//! All open ports.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use atoll_process::System;
use atoll_term::Term;

use crate::part::part;
use crate::port::{Port, State};

/// Highest number of ports where the command line does not say another one, as in OTP 25.
const USUAL_LIMIT: usize = 65_536;

/// How many ports there may be.
pub fn limit() -> usize {
    part().limit.get().copied().unwrap_or(USUAL_LIMIT)
}

/// Sets how many ports there may be (`+Q`): a power of two, as in OTP. The first call counts.
pub fn set_limit(ports: usize) {
    let _ = part().limit.set(ports.next_power_of_two());
}

/// A term for a new port; `None` when there are too many.
pub fn reserve() -> Option<Term> {
    (part().open.read().len() < limit()).then(|| Term::port(part().next.fetch_add(1, Ordering::Relaxed)))
}

/// Makes a port known.
pub fn insert(port: Port) -> Arc<Port> {
    let port = Arc::new(port);
    part().open.write().insert(port.id.immediate_data(), port.clone());
    port
}

/// The port of a term, if it is open.
pub fn find(term: Term) -> Option<Arc<Port>> {
    if !term.is_local_port() {
        return None;
    }
    part().open.read().get(&term.immediate_data()).cloned()
}

/// As [`find`], for processes: one that is closed and only writes what is left is not there.
pub fn find_for_processes(term: Term) -> Option<Arc<Port>> {
    find(term).filter(|port| !port.is_leaving())
}

/// The port of a term, or of a registered name, for processes.
pub fn find_or_name(term: Term) -> Option<Arc<Port>> {
    find_for_processes(if term.is_atom() { System::get().whereis(term)? } else { term })
}

/// How many ports are open.
pub fn count() -> usize {
    part().open.read().len()
}

/// Terms of all open ports whose driver was loaded by this name.
pub fn of_library(name: &str) -> Vec<Term> {
    part().open.read().values().filter(|port| port.library == Some(name)).map(|port| port.id).collect()
}

/// Terms of all open ports, for processes.
pub fn all() -> Vec<Term> {
    part().open.read().values().filter(|port| !port.is_leaving()).map(|port| port.id).collect()
}

/// Shows all open ports that nobody is working with, with what their locks guard.
///
/// # Errors
/// The first of `show`, which ends it.
pub fn each<E>(show: &mut dyn FnMut(&Port, &State) -> Result<(), E>) -> Result<(), E> {
    let ports: Vec<_> = part().open.read().values().cloned().collect();
    ports.iter().try_for_each(|port| port.show(show))
}

/// Takes a port that has ended out.
pub fn remove(id: Term) {
    part().open.write().remove(&id.immediate_data());
    forget_name(id);
}

/// Gives up a port's registered name.
pub fn forget_name(id: Term) {
    System::get().names.forget(id);
}

/// How long the machine's end waits for what is not written yet.
const LONGEST_FLUSH: Duration = Duration::from_secs(60);

/// Waits until everything that was given to ports is written, for the end of the machine.
pub fn flush_all() {
    let started = Instant::now();
    let pending = || {
        let ports: Vec<_> = part().open.read().values().cloned().collect();
        ports
            .iter()
            .any(|port| port.with(|_, _, driver| driver.is_awaited_at_end() && driver.pending() > 0) == Some(true))
    };
    while pending() && started.elapsed() < LONGEST_FLUSH {
        std::thread::sleep(Duration::from_millis(1));
    }
    let ports: Vec<_> = part().open.read().values().cloned().collect();
    ports.iter().for_each(|port| {
        port.with(|_, _, driver| driver.at_end());
    });
}
