//! What the turns of a simulated run read and change of what processes share. Two turns of different processes that
//! touch nothing in common may come in either order, and the run goes on in the same way: a search of all orders needs
//! one of them (see `atoll simulate --policy exhaustive`).

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicBool, Ordering};

use atoll_heap::Message;
use atoll_term::Term;
use parking_lot::Mutex;

use crate::process::Process;
use crate::signal::{Signal, attach, detach};

/// How a turn touches something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum How {
    /// It reads it.
    Reads,
    /// It changes it, in such a way that several such changes have the same result in each order.
    Adds,
    /// It changes it.
    Writes,
}

impl How {
    /// Whether the order of two such touches matters.
    pub fn matters(self, other: How) -> bool {
        (self, other) != (How::Reads, How::Reads) && (self, other) != (How::Adds, How::Adds)
    }
}

/// Something that processes share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Object {
    /// All of it.
    Everything,
    /// The messages of a process, by the number of its pid.
    Mail(u64),
    /// What can end or stop a process at any time, and what is asked about it.
    Life(u64),
    /// Who hears of the end of a process.
    Watch(u64),
    /// Registered names.
    Names,
    /// The next pid.
    Pids,
    /// Timers.
    Timers,
    /// Loaded code.
    Code,
    /// Something else of this name: a table, an array of counters.
    Named(u64),
}

impl Object {
    /// What has this name and kind.
    pub fn named(kind: &str, name: &str) -> Object {
        let mut hasher = DefaultHasher::new();
        (kind, name).hash(&mut hasher);
        Object::Named(hasher.finish())
    }
}

/// One turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// Who had it.
    pub pid: Term,
    /// Who could have had it.
    pub ready: Vec<Term>,
    /// What it touched.
    pub touched: Vec<(Object, How)>,
    /// Numbers of the turns that sent the messages that it took.
    pub taken_from: Vec<usize>,
}

#[derive(Default)]
struct State {
    turns: Vec<Turn>,
    /// Receivers and addresses of messages that were not taken yet, and the turns in which they were sent.
    sent: HashMap<(Term, usize), usize>,
    /// The tables that processes have made.
    tables: HashMap<Term, Vec<Object>>,
}

/// The turns of a machine, if they are wanted.
#[derive(Default)]
pub struct Touches(Mutex<Option<State>>, AtomicBool);

impl Touches {
    /// From now on turns are noted.
    pub(crate) fn begin(&self) {
        *self.0.lock() = Some(State::default());
        self.1.store(true, Ordering::Relaxed);
    }

    /// Whether they are.
    pub fn is_on(&self) -> bool {
        self.1.load(Ordering::Relaxed)
    }

    /// A turn of this process begins, which is one of those that could run.
    pub fn begin_turn(&self, pid: Term, ready: impl Iterator<Item = Term>) {
        if let Some(state) = &mut *self.0.lock() {
            let life = (Object::Life(pid.immediate_data()), How::Reads);
            state.turns.push(Turn { pid, ready: ready.collect(), touched: vec![life], taken_from: Vec::new() });
        }
    }

    /// The turn ends its process.
    pub fn end(&self, process: &Process) {
        let number = process.pid.immediate_data();
        self.add(Object::Life(number), How::Writes);
        self.add(Object::Watch(number), How::Writes);
        if process.registered.load(Ordering::Relaxed) {
            self.add(Object::Names, How::Writes);
        }
        if process.at_end.has_work() {
            // Tables go with their owner.
            let tables = self.0.lock().as_mut().and_then(|state| state.tables.remove(&process.pid));
            for table in tables.unwrap_or_else(|| vec![Object::Everything]) {
                self.add(table, How::Writes);
            }
        }
    }

    /// The process has made a table.
    pub fn own(&self, pid: Term, table: Object) {
        self.add(table, How::Writes);
        if let Some(state) = &mut *self.0.lock() {
            state.tables.entry(pid).or_default().push(table);
        }
    }

    /// Whether the turn has touched something, before its process has run.
    pub fn has_answered(&self) -> bool {
        self.0.lock().as_ref().and_then(|state| state.turns.last()).is_some_and(|turn| turn.touched.len() > 1)
    }

    /// The turn touches this.
    pub fn add(&self, object: Object, how: How) {
        if let Some(turn) = self.0.lock().as_mut().and_then(|state| state.turns.last_mut())
            && !turn.touched.contains(&(object, how))
        {
            turn.touched.push((object, how));
        }
    }

    /// The turn takes a message of this process out of its mailbox.
    pub fn take(&self, pid: Term, message: &Message) {
        // It may be that it would not have waited for the message.
        self.add(Object::Mail(pid.immediate_data()), How::Reads);
        if let Some(state) = &mut *self.0.lock()
            && let Some(sent) = state.sent.remove(&(pid, address(message)))
            && let Some(turn) = state.turns.last_mut()
        {
            turn.taken_from.push(sent);
        }
    }

    /// The turn sends a signal. Returns it.
    pub(crate) fn send(&self, to: Term, signal: Message) -> Message {
        if !self.is_on() {
            return signal;
        }
        let number = to.immediate_data();
        let (is_message, signal) = match detach(&signal) {
            None => (true, signal),
            Some(body) => {
                let is_message = matches!(
                    body,
                    Signal::Message { .. }
                        | Signal::ToAlias { .. }
                        | Signal::Down { .. }
                        | Signal::SpawnReply { .. }
                        | Signal::Timeout { .. }
                );
                match body {
                    Signal::Link { .. }
                    | Signal::Unlink { .. }
                    | Signal::UnlinkKnown { .. }
                    | Signal::Monitor { .. }
                    | Signal::Demonitor { .. } => {
                        self.add(Object::Watch(number), How::Adds);
                    }
                    _ if is_message => {}
                    // Requests too: the turn that the receiver has next answers.
                    _ => self.add(Object::Life(number), How::Writes),
                }
                (is_message || matches!(body, Signal::LinkExit { .. } | Signal::Exit { .. }), attach(signal, body))
            }
        };
        if is_message {
            self.add(Object::Mail(number), How::Writes);
        }
        if let Some(state) = &mut *self.0.lock() {
            let turn = state.turns.len();
            if turn > 0 {
                state.sent.insert((to, address(&signal)), turn - 1);
            }
        }
        signal
    }

    /// The turns so far.
    pub fn turns(&self) -> Vec<Turn> {
        self.0.lock().as_ref().map(|state| state.turns.clone()).unwrap_or_default()
    }

    /// The last turn so far.
    pub fn last(&self) -> Option<Turn> {
        self.0.lock().as_ref().and_then(|state| state.turns.last().cloned())
    }
}

fn address(message: &Message) -> usize {
    std::ptr::from_ref::<atoll_heap::Fragment>(message).addr()
}
