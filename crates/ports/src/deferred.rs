//! What tracing and profiling tell a port while the thread works for a port, perhaps for the same: it is written when
//! that work is done and its lock given back.

use std::cell::{Cell, RefCell};

use atoll_term::Term;

use crate::{commands, table};

thread_local! {
    /// Ports that this thread works for, one inside of the other.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
    static WAITING: RefCell<Vec<(Term, Vec<u8>)>> = const { RefCell::new(Vec::new()) };
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
        // Writing may leave something to be written, but nothing that this thread does for a tracer is told to it
        // without end.
        for (port, bytes) in WAITING.take() {
            if let Some(port) = table::find(port) {
                commands::write(&port, port.connected(), bytes);
            }
        }
    }
}

/// The bytes, if they can be written now; otherwise that is done later.
pub fn outside(port: Term, bytes: Vec<u8>) -> Option<Vec<u8>> {
    if DEPTH.get() == 0 {
        return Some(bytes);
    }
    WAITING.with_borrow_mut(|waiting| waiting.push((port, bytes)));
    None
}
