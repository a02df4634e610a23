//! Phase 3: the roots of a collection.

use atoll_heap::{Mutator, RootSet, join_off_heap, world};
use atoll_term::Word;

use super::limits::{self, Charge};
use super::state::{Collector, State};
use super::stored::StoredTerms;
use super::{Shared, buffer, stack_marks};

/// What is done with the roots.
pub(super) trait Visit {
    /// Takes a run of root words.
    fn run(&mut self, start: *mut Word, words: usize);
    /// Follows all that was taken so far to its end; gives the words that were copied to either generation until now.
    fn follow(&mut self) -> [usize; 2];
}

/// The roots of one collection.
pub(super) struct Roots<'a> {
    pub(super) shared: &'a Shared,
    /// The process that asked.
    pub(super) asker: *mut Mutator,
    /// What is charged to processes with a limit?
    pub(super) charge: Charge,
    /// Is that a check, which visits stacks as they are?
    pub(super) is_check: bool,
    pub(super) is_major: bool,
    /// The process that asked has its live registers on its stack; its other roots are these.
    pub(super) own: &'a mut dyn RootSet,
    pub(super) stored: &'a StoredTerms,
    /// Are processes that were not active since the last major collection roots, and stored terms that are old?
    pub(super) all: bool,
    pub(super) majors: usize,
}

impl Roots<'_> {
    fn each(&self, visit: &mut dyn FnMut(&mut Mutator, &mut dyn RootSet)) {
        if self.all { world().each_mutator(visit) } else { world().each_active(visit) }
    }

    fn has_new_stack(&self, state: &State) -> bool {
        self.all || state.running || state.ran_in == self.majors
    }

    /// Phase 3, and the processes' part of 5: visits every root as a run of words. Takes allocation buffers away, and
    /// off-heap lists over.
    pub(super) fn each_run(&mut self, collector: &mut Collector, to: &mut dyn Visit) {
        // All lists first: their links cannot be read any more when a root of another process has moved an object.
        self.each(&mut |mutator, _| {
            buffer::clear(mutator);
            adopt_off_heap(collector, mutator);
        });
        if self.charge != Charge::Nothing {
            self.each_with_limit(to);
        }
        self.each(&mut |mutator, roots| {
            let done = self.charge != Charge::Nothing && State::of(mutator).maximum_words > 0;
            if !done {
                self.visit_process(mutator, roots, to);
            }
        });
        world().each_global_slice(&mut |start, terms| to.run(start.cast(), terms));
        self.stored.each(self.all, &mut |term| to.run(term.cast(), 1));
        self.own.each_slice(&mut |start, terms| to.run(start.cast(), terms));
    }

    fn visit_process(&self, mutator: &mut Mutator, roots: &mut dyn RootSet, to: &mut dyn Visit) {
        if self.has_new_stack(State::of(mutator)) {
            let clean = if self.is_major || self.is_check { 0 } else { stack_marks::clean_words(mutator) };
            to.run(mutator.stack, mutator.stack_words() - clean);
            if !self.is_check {
                stack_marks::advance(self.shared, mutator, self.is_major);
            }
        }
        roots.each_slice(&mut |start, terms| to.run(start.cast(), terms));
    }

    /// Visits the processes with a limit, and charges what they reach to them.
    fn each_with_limit(&self, to: &mut dyn Visit) {
        let mut before = to.follow();
        for the_asker in [true, false] {
            self.each(&mut |mutator, roots| {
                let is_asker = std::ptr::eq(mutator, self.asker);
                if State::of(mutator).maximum_words > 0 && is_asker == the_asker {
                    self.visit_process(mutator, roots, to);
                    let now = to.follow();
                    limits::charge(mutator, self.charge, [now[0] - before[0], now[1] - before[1]]);
                    before = now;
                }
            });
        }
    }
}

/// Joins a process's list of objects with off-heap parts to the heap's; nothing of its own asks for a collection any more.
pub(super) fn adopt_off_heap(collector: &mut Collector, mutator: &mut Mutator) {
    let list = std::mem::replace(&mut mutator.off_heap, std::ptr::null_mut());
    mutator.off_heap_bytes = 0;
    mutator.fragment_words = 0;
    // SAFETY: both lists consist of whole objects of the heap.
    unsafe { join_off_heap(&mut collector.young_off_heap, list) }
}
