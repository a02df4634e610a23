//! Finds the roots piece by piece while processes run, in this order: messages that timers keep; stored terms (rows of
//! tables); processes, each held for the moment of its scan, a running one by its own scheduler before its next slice.
//!
//! Processes come after rows, because a process that is not scanned yet may take a pointer out of a row and be the only
//! one that has it when the row is deleted. What is stored or sent meanwhile passes the barrier (`send.rs`).

use std::sync::MutexGuard;

use atoll_heap::{Claim, Fragment, KeptPlace, Mutator, RootSet, world};
use atoll_term::Term;

use super::full::Found;
use super::state::State;
use super::{Unified, buffer};
use crate::common::stored::StoredPlace;

/// Places of the process table looked at in one portion.
const PLACES: usize = 64;
/// Messages of a process that are visited with its stack, and of a longer mailbox in one portion.
const FEW_MESSAGES: usize = 64;
const MESSAGES: usize = 1 << 12;
/// Both under stress.
const STRESSED_MESSAGES: usize = 2;
/// Stored terms, and timers, looked at in one portion.
const ROWS: usize = if cfg!(test) { 2 } else { 512 };

/// Where a cycle's search for roots is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Kept(KeptPlace),
    Stored(StoredPlace),
    /// A place of the process table, for the first time or again.
    Processes(usize, Pass),
    Late(Pass),
}

/// The process table is gone through twice: again when every thread scans what it runs, because a thread that did not
/// know may have added a process behind the place where the first pass was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pass {
    First,
    Second,
}

/// What came of looking for roots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Portion {
    More,
    /// Processes that run are wanted, or threads have not heard.
    Waiting,
    Done,
}

/// The search for roots.
#[derive(Debug)]
pub(super) struct Walk {
    pub(super) place: Place,
    /// Processes that were running when their turn came.
    late: Vec<Term>,
}

impl Walk {
    pub(super) fn new() -> Walk {
        Walk { place: Place::Kept(KeptPlace::START), late: Vec::new() }
    }
}

impl Unified {
    /// The next portion of roots that belong to no process.
    pub(super) fn find_global(&self, walk: &mut Walk, grey: &mut Found) -> Portion {
        match walk.place {
            Place::Kept(from) => {
                let next =
                    world().each_kept_message(from, ROWS, &mut |message| grey.shade(&self.space, message.term()));
                walk.place = next.map_or(Place::Stored(StoredPlace::START), Place::Kept);
            }
            Place::Stored(from) => {
                let all = self.wants_all_roots();
                let next = self.stored.some(from, all, ROWS, &mut |term| grey.shade(&self.space, term));
                walk.place = next.map_or(Place::Processes(0, Pass::First), Place::Stored);
                if next.is_none() {
                    return Portion::Done;
                }
            }
            Place::Processes(..) | Place::Late(_) => return Portion::Done,
        }
        Portion::More
    }

    /// The next portion of processes. `all_know`: every thread scans what it runs.
    pub(super) fn find_in_processes(&self, walk: &mut Walk, grey: &mut Found, all_know: bool) -> Portion {
        let cycle = self.epoch().cycle();
        let wanted = |mutator: *const Mutator| State::is_wanted_at(mutator, cycle);
        let Walk { place, late } = walk;
        match *place {
            Place::Processes(from, pass) => {
                let mut visit =
                    |mutator: &mut Mutator, roots: &mut dyn RootSet| self.scan(mutator, roots, cycle, false, grey);
                let next = world().claim_each(from, PLACES, &wanted, &mut visit, &mut |pid| late.push(pid));
                *place = next.map_or(Place::Late(pass), |next| Place::Processes(next, pass));
            }
            Place::Late(pass) => {
                let mut progress = false;
                for _ in 0..late.len().min(PLACES) {
                    let Some(pid) = late.pop() else { break };
                    let mut visit =
                        |mutator: &mut Mutator, roots: &mut dyn RootSet| self.scan(mutator, roots, cycle, false, grey);
                    if world().claim(pid, &wanted, &mut visit) == Claim::Busy {
                        late.insert(0, pid);
                    } else {
                        progress = true;
                    }
                }
                if late.is_empty() {
                    match pass {
                        Pass::First if all_know => *place = Place::Processes(0, Pass::Second),
                        Pass::First => return Portion::Waiting,
                        Pass::Second => return Portion::Done,
                    }
                } else if !progress {
                    return Portion::Waiting;
                }
            }
            Place::Kept(_) | Place::Stored(_) => {}
        }
        Portion::More
    }

    /// Scans a process that nobody else uses meanwhile, or goes on with its mailbox. Where a cycle keeps marks, and the
    /// process has not run since it was scanned, its messages alone may refer to what is not marked.
    pub(super) fn scan(
        &self,
        mutator: &mut Mutator,
        roots: &mut dyn RootSet,
        cycle: u32,
        runs: bool,
        grey: &mut Found,
    ) {
        if State::of(mutator).scanned() != cycle {
            self.scan_changing(mutator, roots, grey);
            let is_long = roots.messages() > self.messages(FEW_MESSAGES);
            let shade = &mut |message: &Fragment| grey.shade(&self.space, message.term());
            match (is_long, self.wants_all_roots()) {
                (false, _) => roots.each_message(shade),
                (true, true) => roots.begin_messages(shade),
                (true, false) => roots.begin_new_messages(shade),
            }
            // Before the process counts as scanned: a thread that reads the one must read the other.
            State::of_mut(mutator).set_mail_waits(is_long);
            State::of_mut(mutator).set_scanned(cycle, runs);
        }
        if State::of(mutator).mail_waits() {
            let mut left = self.messages(MESSAGES);
            let done = roots.some_messages(&mut |message| {
                grey.shade(&self.space, message.term());
                left -= 1;
                left > 0
            });
            State::of_mut(mutator).set_mail_waits(!done);
        }
    }

    /// A number of messages, or few of them under stress.
    fn messages(&self, many: usize) -> usize {
        if self.base.settings.is_stressed() { STRESSED_MESSAGES } else { many }
    }

    /// What can change anywhere: stack, registers and dictionary. Takes the list of objects with off-heap parts.
    fn scan_changing(&self, mutator: &mut Mutator, roots: &mut dyn RootSet, grey: &mut Found) {
        let list = std::mem::replace(&mut mutator.off_heap, std::ptr::null_mut());
        self.off_heap_taken(mutator);
        // SAFETY: the list is the process's, whose objects are whole; stack and roots are readable.
        unsafe {
            self.off_heap.adopt(list, false);
            if State::of(mutator).has_run || self.wants_all_roots() {
                grey.shade_run(&self.space, mutator.stack, mutator.stack_words());
                roots.each_own_slice(&mut |start, terms| grey.shade_run(&self.space, start.cast(), terms));
            }
        }
    }

    /// Scans a process in a stopped world: its buffer is void.
    pub(super) fn scan_stopped(&self, mutator: &mut Mutator, roots: &mut dyn RootSet, cycle: u32, grey: &mut Found) {
        buffer::clear(mutator);
        self.scan_changing(mutator, roots, grey);
        roots.each_message(&mut |message| grey.shade(&self.space, message.term()));
        State::of_mut(mutator).set_mail_waits(false);
        State::of_mut(mutator).set_scanned(cycle, true);
    }

    /// What the process keeps outside of the heap is this collector's business from now on.
    fn off_heap_taken(&self, mutator: &mut Mutator) {
        mutator.off_heap_bytes = 0;
        mutator.fragment_words = 0;
    }

    pub(super) fn driver(&self) -> MutexGuard<'_, super::cycle::Driver> {
        self.driver.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}
