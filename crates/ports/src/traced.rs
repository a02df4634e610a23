//! What a port tells its tracer: commands that it gets, what it sends to processes, and its life.

use std::sync::atomic::{AtomicBool, Ordering};

use atoll_process::tracing::{self, Tracing};
use atoll_term::atoms::{self, known_atom};
use atoll_term::{Build, ScratchHeap, Term};
use parking_lot::Mutex;

use crate::port::Port;

/// What a port is asked to tell.
#[derive(Default)]
pub struct Traced {
    is_on: AtomicBool,
    /// It is ended by the signal `kill`, by which others are told of `killed`.
    pub is_killed: AtomicBool,
    tracing: Mutex<Option<Tracing>>,
}

/// Changes what is told. `None`: another tracer has it.
pub type Change<'a> = &'a dyn Fn(Option<Tracing>) -> Option<Option<Tracing>>;

impl Traced {
    /// What is told.
    pub fn tracing(&self) -> Option<Tracing> {
        if self.is_on.load(Ordering::Acquire) { *self.tracing.lock() } else { None }
    }

    /// Whether the change was made.
    pub fn change(&self, change: Change<'_>) -> bool {
        let mut tracing = self.tracing.lock();
        let Some(new) = change(*tracing) else { return false };
        *tracing = new;
        self.is_on.store(new.is_some(), Ordering::Release);
        true
    }
}

impl Port {
    /// Tells the tracer of an event, if it is asked for by one of the flags in `wanted`.
    #[inline]
    pub fn trace<const N: usize>(&self, wanted: u32, event: &str, parts: impl Fn(&mut ScratchHeap) -> [Term; N]) {
        if self.traced.is_on.load(Ordering::Relaxed) {
            self.trace_asked(wanted, event, &parts);
        }
    }

    #[cold]
    #[inline(never)]
    fn trace_asked<const N: usize>(&self, wanted: u32, event: &str, parts: &dyn Fn(&mut ScratchHeap) -> [Term; N]) {
        let asked = |tracing: &Tracing| tracing.flags & wanted != 0 && tracing.tracer != self.id;
        let Some(tracing) = self.traced.tracing().filter(asked) else { return };
        if !tracing::tell_apart(self.id, tracing, known_atom(event), parts) {
            self.traced.change(&|_| Some(None));
        }
    }

    /// A process has given a command: `{From, Command}`.
    pub fn trace_command(&self, from: Term, command: impl Fn(&mut ScratchHeap) -> Term) {
        self.trace(tracing::RECEIVE, "receive", |heap| {
            let command = command(heap);
            [heap.tuple(&[from, command])]
        });
    }

    /// Data has come from a process.
    pub fn trace_data(&self, from: Term, data: &[u8]) {
        self.trace_command(from, |heap| {
            let data = heap.binary(data);
            heap.tuple(&[known_atom("command"), data])
        });
    }

    /// The port was opened by a process, to which it is linked.
    pub fn trace_open(&self, owner: Term) {
        let name = atoms::atom(&self.name).unwrap_or(Term::NIL);
        self.trace(tracing::PORTS, "open", |_| [owner, name]);
        self.trace(tracing::PORTS, "getting_linked", |_| [owner]);
    }
}
