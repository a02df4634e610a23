//! What a thread does when its work for ports is done and their locks are free again: it writes the trace and profile
//! messages to a port that it made meanwhile, perhaps to the same port, and lets connections to other nodes act on what
//! has come.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use atoll_term::Term;

use crate::channel::Channel;
use crate::{commands, table};

thread_local! {
    /// Ports that this thread works for, one inside of the other.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
    static WAITING: RefCell<Vec<(Term, Vec<u8>)>> = const { RefCell::new(Vec::new()) };
    static LOOKED_AT: RefCell<Vec<Term>> = const { RefCell::new(Vec::new()) };
    static CHANNELS: RefCell<Vec<Arc<dyn Channel>>> = const { RefCell::new(Vec::new()) };
}

/// Lasts as long as the thread works for a port.
pub struct Work(());

/// The thread begins to work for a port; to be called before its lock is taken, so that the end comes after it is given
/// back.
pub fn begin() -> Work {
    DEPTH.set(DEPTH.get() + 1);
    Work(())
}

impl Drop for Work {
    fn drop(&mut self) {
        DEPTH.set(DEPTH.get() - 1);
        if DEPTH.get() > 0 {
            return;
        }
        // Writing may defer further messages, but not without end: work for a tracer makes no messages to that tracer.
        for (port, bytes) in WAITING.take() {
            if let Some(port) = table::find(port) {
                commands::write(&port, port.connected(), bytes);
            }
        }
        for channel in CHANNELS.take() {
            channel.work();
        }
        LOOKED_AT.take().into_iter().for_each(look_again);
    }
}

/// Lets the processes go on that wait for a port, if it is not busy any more; when this thread works for no port.
pub fn look_again(port: Term) {
    if DEPTH.get() > 0 {
        LOOKED_AT.with_borrow_mut(|ports| ports.push(port));
    } else if let Some(port) = table::find(port) {
        port.with(|_, _, _| ());
    }
}

/// The channel's [`Channel::work`] is done when this thread works for no port any more.
pub fn work_of(channel: Arc<dyn Channel>) {
    CHANNELS.with_borrow_mut(|channels| {
        if !channels.iter().any(|waiting| Arc::ptr_eq(waiting, &channel)) {
            channels.push(channel);
        }
    });
}

/// The bytes, if they can be written now; otherwise that is done later.
pub fn outside(port: Term, bytes: Vec<u8>) -> Option<Vec<u8>> {
    if DEPTH.get() == 0 {
        return Some(bytes);
    }
    WAITING.with_borrow_mut(|waiting| waiting.push((port, bytes)));
    None
}
