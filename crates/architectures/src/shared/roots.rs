//! Phase 3: the roots of a collection.

use atoll_heap::{Mutator, RootSet, StoppedWorld, join_off_heap};
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
    /// All processes. The one that asked has its live registers on its stack.
    pub(super) stopped: &'a mut dyn StoppedWorld,
    /// What is charged to processes with a limit?
    pub(super) charge: Charge,
    /// Is that a check, which visits stacks as they are?
    pub(super) is_check: bool,
    pub(super) is_major: bool,
    pub(super) stored: &'a StoredTerms,
    /// Are processes that were not active since the last major collection roots, and stored terms that are old?
    pub(super) all: bool,
    pub(super) majors: u32,
}

impl Roots<'_> {
    /// Visits the processes whose roots are roots of this collection.
    fn each(&mut self, mut visit: impl FnMut(&Scope<'_>, &mut Mutator, &mut dyn RootSet)) {
        let &mut Roots { shared, ref mut stopped, charge, is_check, is_major, all, majors, .. } = self;
        let scope = Scope { shared, charge, is_check, is_major, all, majors };
        let mut visit = |mutator: &mut Mutator, roots: &mut dyn RootSet| visit(&scope, mutator, roots);
        if all { stopped.each_mutator(&mut visit) } else { stopped.each_active(&mut visit) }
    }

    /// Phase 3, and the processes' part of 5: visits every root as a run of words. Takes allocation buffers away, and
    /// off-heap lists over.
    pub(super) fn each_run(&mut self, collector: &mut Collector, to: &mut dyn Visit) {
        // All lists first: their links cannot be read any more when a root of another process has moved an object.
        self.each(|_, mutator, _| {
            buffer::clear(mutator);
            adopt_off_heap(collector, mutator);
        });
        if self.charge != Charge::Nothing {
            self.each_with_limit(to);
        }
        self.each(|scope, mutator, roots| {
            let done = scope.charge != Charge::Nothing && State::of(mutator).maximum_words() > 0;
            if !done {
                scope.visit_process(mutator, roots, to);
            }
        });
        self.stopped.each_global_slice(&mut |start, terms| to.run(start.cast(), terms));
        self.stored.each(self.all, &mut |term| to.run(term.cast(), 1));
    }

    /// Visits the processes with a limit, and charges what they reach to them.
    fn each_with_limit(&mut self, to: &mut dyn Visit) {
        let mut before = to.follow();
        let asker = std::ptr::from_ref(&*self.stopped.asker().mutator);
        for the_asker in [true, false] {
            self.each(|scope, mutator, roots| {
                let is_asker = std::ptr::eq(mutator, asker);
                if State::of(mutator).maximum_words() > 0 && is_asker == the_asker {
                    scope.visit_process(mutator, roots, to);
                    let now = to.follow();
                    limits::charge(mutator, scope.charge, [now[0] - before[0], now[1] - before[1]]);
                    before = now;
                }
            });
        }
    }
}

/// What is done with each process of [`Roots`], which see.
struct Scope<'a> {
    shared: &'a Shared,
    charge: Charge,
    is_check: bool,
    is_major: bool,
    all: bool,
    majors: u32,
}

impl Scope<'_> {
    fn has_new_stack(&self, state: &State) -> bool {
        self.all || state.running || state.ran_in == self.majors
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
}

/// Joins a process's list of objects with off-heap parts to the heap's; nothing of its own asks for a collection any
/// more.
pub(super) fn adopt_off_heap(collector: &mut Collector, mutator: &mut Mutator) {
    let list = std::mem::replace(&mut mutator.off_heap, std::ptr::null_mut());
    mutator.off_heap_bytes = 0;
    mutator.fragment_words = 0;
    // SAFETY: both lists consist of whole objects of the heap.
    unsafe { join_off_heap(&mut collector.young_off_heap, list) }
}
