//! Signals that have been sent and stay away for a while. What one process sends another arrives in the order in which
//! it was sent; what others send it meanwhile may come first. A simulated scheduler decides which signals are late
//! ([`crate::Schedule::is_late`]) and when they arrive; elsewhere all arrive at once.
//!
//! A late signal is kept beside the timers' messages, and is a root of collections as these are. While a signal of a
//! pair of processes is late, all later ones of the pair wait behind it.

use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use atoll_heap::{Fragment, Message, concurrent_roots};
use atoll_platform::steady::QuickMap;
use atoll_term::Term;
use parking_lot::Mutex;

use crate::system::System;

/// A sender and a receiver: local pids.
pub type Pair = (Term, Term);

thread_local! {
    /// Whose signals this thread sends, if it is the one that runs the processes of a machine with late signals.
    static SENDER: Cell<Option<Term>> = const { Cell::new(None) };
}

/// The late signals of a machine.
#[derive(Default)]
pub struct HeldBack {
    is_on: AtomicBool,
    /// How many pairs have late signals. Only the thread that runs processes changes it.
    count: AtomicUsize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// How many signals each process has sent to others.
    sent: QuickMap<Term, u64>,
    /// The pairs with late signals, those with the oldest first.
    pairs: Vec<Pair>,
    /// The signals of each pair.
    late: Vec<VecDeque<Message>>,
}

impl HeldBack {
    /// From now on signals may be late. Called on the only thread that runs processes.
    pub fn begin(&self) {
        self.is_on.store(true, Ordering::Relaxed);
    }

    /// Whether signals are looked at.
    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.is_on.load(Ordering::Relaxed)
    }

    /// What this thread sends from now on comes from this process, or from outside. Returns who it was before.
    pub fn sends(&self, sender: Option<Term>) -> Option<Term> {
        SENDER.replace(sender)
    }

    /// Whether no signal is late. Called on the thread that runs processes.
    pub fn is_empty(&self) -> bool {
        self.count.load(Ordering::Relaxed) == 0
    }

    /// Gives the pairs with late signals to `choose`, those with the oldest first, and returns the one at the place
    /// that it names.
    pub fn choose(&self, choose: impl FnOnce(&[Pair]) -> Option<usize>) -> Option<Pair> {
        let pairs = &self.state.lock().pairs;
        choose(pairs).map(|place| pairs[place])
    }

    /// Whether signals of the process that runs to this one are late.
    pub fn is_late(&self, to: Term) -> bool {
        !self.is_empty()
            && self.state.lock().pairs.iter().any(|(from, late)| (Some(*from), *late) == (SENDER.get(), to))
    }

    /// Visits the signals that are late.
    pub(crate) fn each(&self, visit: &mut dyn FnMut(&Fragment)) {
        for signals in &self.state.lock().late {
            signals.iter().for_each(|signal| visit(signal));
        }
    }

    /// Takes the first late signal of a pair.
    fn take(&self, pair: Pair) -> Option<Message> {
        let state = &mut *self.state.lock();
        let place = state.pairs.iter().position(|other| *other == pair)?;
        let signal = state.late[place].pop_front();
        if state.late[place].is_empty() {
            state.pairs.remove(place);
            state.late.remove(place);
            self.count.store(state.pairs.len(), Ordering::Relaxed);
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
        let Some(from) = SENDER.get().filter(|from| *from != to && to.is_local_pid()) else {
            return Some(signal);
        };
        let mut state = held.state.lock();
        let number = state.sent.entry(from).or_default();
        *number += 1;
        let number = *number;
        if let Some(place) = state.pairs.iter().position(|pair| *pair == (from, to)) {
            state.late[place].push_back(signal);
            return None;
        }
        // A sender that asks a process that is not there may be answered without a signal.
        if !self.table.contains(to) || !self.schedule().is_late((from, to), number) {
            return Some(signal);
        }
        state.pairs.push((from, to));
        state.late.push(VecDeque::from([signal]));
        held.count.store(state.pairs.len(), Ordering::Relaxed);
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
