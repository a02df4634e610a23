//! The search for resources that nothing refers to since a process has ended, on heaps where the end of a process does
//! not tell. Some time after a process has ended, a process that waits is asked to collect everything.
//!
//! A search costs what a collection of the whole heap costs, so the next one begins at the earliest after so many times
//! what it took, and later each time that one finds nothing while no resource is made.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use atoll_heap::{Message, architecture};
use atoll_process::{Process, ReferenceId, RequestKind, Signal, System, signal, state};
use atoll_term::Term;
use parking_lot::Mutex;

use crate::callbacks;

/// From the end of a process to the search, for those that end soon after it.
const PAUSE: Duration = Duration::from_millis(30);
/// The share of time that searches may take: one part of so many.
const PART: u32 = 50;
/// How often the pause is doubled while searches find nothing.
const DOUBLINGS: u32 = 6;

/// What is known of the resources of a machine.
#[derive(Default)]
pub struct Search {
    made: AtomicUsize,
    gone: AtomicUsize,
    /// A process has ended since the last search began.
    is_wanted: AtomicBool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// When the one that goes on began.
    begun: Option<Instant>,
    /// When the last one was done.
    done: Option<Instant>,
    /// What it took.
    took: Duration,
    /// How many in a row have found nothing.
    in_vain: u32,
    /// Resources made and gone when the last one began.
    seen: (usize, usize),
}

impl State {
    /// When the next one is to begin.
    fn next(&self, made: usize) -> Instant {
        let doublings = if self.seen.0 == made { self.in_vain.min(DOUBLINGS) } else { 0 };
        let soon = Instant::now() + PAUSE;
        self.done.map_or(soon, |done| soon.max(done + (PAUSE * (1 << doublings)).max(self.took * PART)))
    }
}

impl Search {
    /// A resource has been made.
    pub fn resource_made(&self) {
        self.made.fetch_add(1, Ordering::Relaxed);
    }

    /// A resource has been freed.
    pub fn resource_gone(&self) {
        self.gone.fetch_add(1, Ordering::Relaxed);
    }

    fn counts(&self) -> (usize, usize) {
        let gone = self.gone.load(Ordering::Relaxed);
        (self.made.load(Ordering::Relaxed), gone)
    }

    fn are_any(&self) -> bool {
        let (made, gone) = self.counts();
        made != gone
    }

    /// A process has ended; it may have had the last reference to a resource.
    pub fn process_ended(&self) {
        if self.is_wanted.load(Ordering::Relaxed)
            || !self.are_any()
            || architecture().gives_up_at_end()
            // A schedule that is to be had again knows no pauses.
            || System::get().schedule().works_alone()
            || self.is_wanted.swap(true, Ordering::AcqRel)
        {
            return;
        }
        let state = self.state.lock();
        if state.begun.is_none() {
            callbacks::search_at(state.next(self.counts().0));
        }
    }

    /// Whether a search is to come. The caller carries it out, by a collection of everything.
    pub fn is_due(&self) -> bool {
        self.are_any() && self.is_wanted.swap(false, Ordering::AcqRel)
    }

    /// Has a process that waits collect everything.
    pub fn begin(&self) {
        if !self.is_wanted.swap(false, Ordering::AcqRel) || !self.are_any() {
            return;
        }
        let mut state = self.state.lock();
        state.begun = Some(Instant::now());
        state.seen = self.counts();
        drop(state);
        let table = &System::get().table;
        let waits = |pid: &Term| table.with(*pid, Process::state) == Some(state::IDLE);
        let pids = table.pids();
        let Some(pid) = pids.iter().find(|pid| waits(pid)).or(pids.first()) else { return self.done() };
        let request = Signal::Request { from: Term::NIL, reference: ReferenceId::fresh(), kind: RequestKind::Search };
        let message = signal::attach(Message::compose(|_| Term::NIL), request);
        if let Err(message) = System::get().deliver_from_outside(*pid, message) {
            drop(message);
            self.done();
        }
    }

    /// The process has collected, or has ended.
    pub fn done(&self) {
        let mut state = self.state.lock();
        let now = Instant::now();
        state.took = state.begun.take().map_or(Duration::ZERO, |begun| now - begun);
        state.done = Some(now);
        // Destructors that were found due on this thread have run.
        state.in_vain = if self.counts() == state.seen { state.in_vain + 1 } else { 0 };
        if self.is_wanted.load(Ordering::Acquire) {
            callbacks::search_at(state.next(self.counts().0));
        }
    }
}
