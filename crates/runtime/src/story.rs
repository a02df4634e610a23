//! What processes did to each other, in order: the operations of a simulated run, for people who read why it failed.

use std::sync::atomic::{AtomicBool, Ordering};

use atoll_code::frame_of;
use atoll_term::text::{self, Floats, TextOptions};
use atoll_term::{Export, Term, Word};
use parking_lot::Mutex;

/// Most events that are kept; what comes later is left out.
const MOST_EVENTS: usize = 100_000;
/// Bytes of a term that are kept, about.
const TERM_BYTES: usize = 120;

/// How a process stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// It could have gone on.
    Interrupted,
    /// It waits for a message or a timeout.
    Waits,
}

/// What happened. Terms are text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// The process begins to run, or goes on.
    Runs,
    /// It called a built-in function that others can notice: the call, and the result.
    Calls(String, String),
    /// It sent a message: the receiver as the program names it, the process that it is, the message, and whether that
    /// is late.
    Sends(String, Option<Term>, String, bool),
    /// It took a message out of its mailbox.
    Takes(String),
    /// It stopped.
    Stops(Stop),
    /// It has ended with this reason.
    Ends(String),
}

/// An event: which process, what, and where in the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The process.
    pub pid: Term,
    /// What happened.
    pub what: What,
    /// Module, function and arity, and file and line, if they are known.
    pub place: Option<(String, Option<String>)>,
}

/// What a machine tells of its run.
#[derive(Debug, Default)]
pub struct Story {
    is_told: AtomicBool,
    events: Mutex<Vec<Event>>,
}

/// A term as text, shortened.
pub(crate) fn show(term: Term) -> String {
    let mut out = String::new();
    let options = TextOptions { floats: Floats::Shortest, limit: TERM_BYTES, ..TextOptions::default() };
    text::write(&mut out, term, options);
    out
}

/// A call as text.
pub(crate) fn show_call(export: &Export, arguments: &[Term]) -> String {
    let arguments: Vec<String> = arguments.iter().map(|argument| show(*argument)).collect();
    format!("{}:{}({})", show(export.module), show(export.name), arguments.join(", "))
}

/// Function and line of a code address.
pub(crate) fn place(address: *const Word) -> Option<(String, Option<String>)> {
    let frame = frame_of(address.wrapping_add(1))?;
    let function = format!("{}:{}/{}", show(frame.module), show(frame.name), frame.arity);
    Some((function, frame.location.map(|(file, line)| format!("{file}:{line}"))))
}

impl Story {
    /// From now on events are kept.
    pub fn tell(&self) {
        self.is_told.store(true, Ordering::Relaxed);
    }

    /// The machine's end has been asked for: what the process that asked still does is not part of the story, since
    /// somebody else may read it already.
    pub fn end(&self) {
        self.is_told.store(false, Ordering::Relaxed);
    }

    pub(crate) fn is_told(&self) -> bool {
        self.is_told.load(Ordering::Relaxed)
    }

    /// The events so far.
    pub fn events(&self) -> Vec<Event> {
        self.events.lock().clone()
    }

    pub(crate) fn add(&self, pid: Term, what: What, address: Option<*const Word>) {
        if !self.is_told() {
            return;
        }
        let mut events = self.events.lock();
        if events.len() < MOST_EVENTS {
            events.push(Event { pid, what, place: address.and_then(place) });
        }
    }
}
