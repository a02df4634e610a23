//! Signals that have been sent and stay away for a while. What one process sends another arrives in the order in which
//! it was sent; what others send it meanwhile may come first. A simulated scheduler decides which signals are late
//! ([`crate::Schedule::is_late`]) and when they arrive; elsewhere all arrive at once.
//!
//! A late signal is kept beside the timers' messages, and is a root of collections as these are. While a signal of a
//! pair of processes is late, all later ones of the pair wait behind it.

use std::collections::VecDeque;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::ThreadId;

use atoll_heap::{Fragment, Message, concurrent_roots};
use atoll_platform::steady::HashMap;
use atoll_term::Term;
use parking_lot::Mutex;

use crate::system::System;

/// A sender and a receiver: local pids.
pub type Pair = (Term, Term);

/// The late signals of a machine.
#[derive(Default)]
pub struct HeldBack {
    is_on: AtomicBool,
    /// The one that runs processes.
    thread: OnceLock<ThreadId>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Who sends what this thread sends.
    sender: Option<Term>,
    /// How many signals each process has sent to others.
    sent: HashMap<Term, u64>,
    /// Those with the oldest signals first.
    late: Vec<(Pair, VecDeque<Message>)>,
}

impl HeldBack {
    /// From now on signals may be late. Called on the only thread that runs processes.
    pub fn begin(&self) {
        let _ = self.thread.set(std::thread::current().id());
        self.is_on.store(true, Ordering::Relaxed);
    }

    /// Whether signals are looked at.
    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.is_on.load(Ordering::Relaxed)
    }

    /// What this thread sends from now on comes from this process, or from outside. Returns who it was before.
    pub fn sends(&self, sender: Option<Term>) -> Option<Term> {
        std::mem::replace(&mut self.state.lock().sender, sender)
    }

    /// The pairs with late signals, those with the oldest first.
    pub fn pairs(&self) -> Vec<Pair> {
        self.state.lock().late.iter().map(|(pair, _)| *pair).collect()
    }

    /// Whether signals of the process that runs to this one are late.
    pub fn is_late(&self, to: Term) -> bool {
        let state = self.state.lock();
        state.late.iter().any(|((from, late), _)| (Some(*from), *late) == (state.sender, to))
    }

    /// Visits the signals that are late.
    pub(crate) fn each(&self, visit: &mut dyn FnMut(&Fragment)) {
        for (_, signals) in &self.state.lock().late {
            signals.iter().for_each(|signal| visit(signal));
        }
    }

    /// Takes the first late signal of a pair.
    fn take(&self, pair: Pair) -> Option<Message> {
        let late = &mut self.state.lock().late;
        let place = late.iter().position(|(other, _)| *other == pair)?;
        let signal = late[place].1.pop_front();
        if late[place].1.is_empty() {
            late.remove(place);
        }
        signal
    }
}

impl System {
    /// From now on it is noted what turns touch. Called on the only thread that runs processes.
    pub fn note_touches(&self) {
        self.touches.begin();
        self.held_back.begin();
    }

    /// Keeps a signal that is late; otherwise returns it.
    #[cold]
    #[inline(never)]
    pub(crate) fn hold_back(&self, to: Term, signal: Message) -> Option<Message> {
        let signal = self.touches.send(to, signal);
        let held = &self.held_back;
        let is_own_thread = held.thread.get() == Some(&std::thread::current().id());
        let mut state = held.state.lock();
        let Some(from) = state.sender.filter(|from| is_own_thread && *from != to && to.is_local_pid()) else {
            return Some(signal);
        };
        let number = state.sent.entry(from).or_default();
        *number += 1;
        let number = *number;
        if let Some((_, signals)) = state.late.iter_mut().find(|(pair, _)| *pair == (from, to)) {
            signals.push_back(signal);
            return None;
        }
        // A sender that asks a process that is not there may be answered without a signal.
        if !self.table.contains(to) || !self.schedule().is_late((from, to), number) {
            return Some(signal);
        }
        state.late.push(((from, to), VecDeque::from([signal])));
        None
    }

    /// The first late signal of a pair arrives. Called between two slices.
    pub fn arrive(&self, pair: Pair) {
        let Some(signal) = self.held_back.take(pair) else { return };
        if let Some(collector) = concurrent_roots() {
            collector.deliver_kept(&signal);
        }
        self.deliver_or_answer(pair.1, signal);
    }

    /// As [`System::deliver`], for what no process sends, such as a port: it is never late.
    ///
    /// # Errors
    /// As for [`System::deliver`].
    pub fn deliver_from_outside(&self, pid: Term, message: Message) -> Result<(), Message> {
        if !self.held_back.is_on() {
            return self.deliver(pid, message);
        }
        let sender = self.held_back.sends(None);
        let delivered = self.deliver(pid, message);
        self.held_back.sends(sender);
        delivered
    }

    /// What `then` sends comes from this process, which does not exist any more.
    pub(crate) fn in_place_of(&self, pid: Term, then: impl FnOnce()) {
        if !self.held_back.is_on() {
            return then();
        }
        let sender = self.held_back.sends(Some(pid));
        then();
        self.held_back.sends(sender);
    }
}
