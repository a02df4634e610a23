//! What the machine gives a collector: the roots of one process, and all processes.

use atoll_term::Term;

use crate::fragment::Fragment;
use crate::mutator::Mutator;

/// The roots that a process has beside its stack and live registers: dictionary, messages that were looked at,
/// saved arguments.
pub trait RootSet {
    /// Calls `visit` with runs of terms that a collector may overwrite.
    fn each_slice(&mut self, visit: &mut dyn FnMut(*mut Term, usize));

    /// As [`RootSet::each_slice`], without the terms of messages, which [`RootSet::each_message`] visits.
    fn each_own_slice(&mut self, visit: &mut dyn FnMut(*mut Term, usize)) {
        self.each_slice(visit);
    }

    /// Visits the messages and signals that have come and were not taken, in their fragments.
    fn each_message(&mut self, visit: &mut dyn FnMut(&Fragment));

    /// Number of messages that have come and were not taken, but for those that came so recently that the process has
    /// not heard of them.
    fn messages(&self) -> usize {
        0
    }

    /// Visits signals of which the process has not heard. The other messages will be visited by
    /// [`RootSet::some_messages`]; until then [`crate::ConcurrentRoots::message_read`] hears of those that the process
    /// looks at.
    fn begin_messages(&mut self, visit: &mut dyn FnMut(&Fragment)) {
        self.each_message(visit);
    }

    /// As [`RootSet::begin_messages`]; [`RootSet::some_messages`] may leave out those that it has come to before.
    fn begin_new_messages(&mut self, visit: &mut dyn FnMut(&Fragment)) {
        self.begin_messages(visit);
    }

    /// Goes on where it was, for as long as `visit` says so. Whether nothing is left of what was there at
    /// [`RootSet::begin_messages`].
    fn some_messages(&mut self, _visit: &mut dyn FnMut(&Fragment) -> bool) -> bool {
        true
    }
}

/// Where a visit of kept messages goes on: a set, and a time and a number in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeptPlace {
    /// The number of the set.
    pub set: usize,
    /// The first that is visited, in the order of times and numbers.
    pub first: (i64, u64),
}

impl KeptPlace {
    /// Before all of them.
    pub const START: KeptPlace = KeptPlace { set: 0, first: (i64::MIN, 0) };
}

/// What came of the wish to visit a process that may be running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    /// It was visited, needs no visit, or has ended.
    Settled,
    /// It runs or is about to.
    Busy,
}

/// A process that asks for a stopped world: its heap and its roots, lent to that world. A visitor of all processes
/// reaches this one through them.
pub struct Asker<'a> {
    /// Its heap.
    pub mutator: &'a mut Mutator,
    /// Its roots beside the stack. Live registers lie on the stack.
    pub roots: &'a mut dyn RootSet,
}

/// All processes, while no other thread is at work: see [`World::stopped`].
pub trait StoppedWorld {
    /// The process that asked.
    fn asker(&mut self) -> Asker<'_>;
    /// Visits every live process's heap with its roots, the asker's among them.
    fn each_mutator(&mut self, visit: &mut dyn FnMut(&mut Mutator, &mut dyn RootSet));
    /// Visits the heaps whose stacks may be moved: all but those of processes of which a built-in function waits for a
    /// stopped world. Their engines hold addresses of the stack, which a process that collects reads again afterwards.
    fn each_movable_stack(&mut self, visit: &mut dyn FnMut(&mut Mutator));
    /// Visits those of them that ran, or were sent anything, since [`StoppedWorld::forget_activity`], and perhaps
    /// others.
    fn each_active(&mut self, visit: &mut dyn FnMut(&mut Mutator, &mut dyn RootSet)) {
        self.each_mutator(visit);
    }
    /// From now on [`StoppedWorld::each_active`] visits those that have been active after this, and those that run.
    fn forget_activity(&mut self) {}
    /// Visits terms that belong to no process (timers, tables).
    fn each_global_slice(&mut self, visit: &mut dyn FnMut(*mut Term, usize));
}

/// All processes, for architectures whose collections concern more than one.
pub trait World: Sync {
    /// Calls `then` once, while no other thread runs a process, allocates, or visits what it has claimed. If another
    /// thread stops the world at the same time, it goes first: what the asker has lent may have moved when `then` is
    /// called.
    fn stopped(&self, asker: Asker<'_>, then: &mut dyn FnMut(&mut dyn StoppedWorld));

    /// Visits up to `most` processes from place `from` of the table on, without stopping any process. It holds those
    /// that `wanted` accepts and that do not run for the visit, and calls `busy` with the pids of those that run, and
    /// of those that are still wanted after the visit. `wanted` may read what other threads write, through atomics.
    /// Returns the place to go on from, `None` at the end. While another thread stops the world all processes are busy.
    fn claim_each(
        &self,
        from: usize,
        most: usize,
        wanted: &dyn Fn(*const Mutator) -> bool,
        visit: &mut dyn FnMut(&mut Mutator, &mut dyn RootSet),
        busy: &mut dyn FnMut(Term),
    ) -> Option<usize>;

    /// As [`World::claim_each`], for one process.
    fn claim(
        &self,
        pid: Term,
        wanted: &dyn Fn(*const Mutator) -> bool,
        visit: &mut dyn FnMut(&mut Mutator, &mut dyn RootSet),
    ) -> Claim;

    /// Visits fragments that are kept to be delivered later (timers), without stopping anybody: up to `most`, from a
    /// place on. Returns where to go on, `None` at the end. What is added meanwhile may be left out.
    fn each_kept_message(&self, from: KeptPlace, most: usize, visit: &mut dyn FnMut(&Fragment)) -> Option<KeptPlace>;

    /// Number of processes.
    fn processes(&self) -> usize;

    /// The process whose heap this is, for reports. Takes as long as going through all processes.
    fn pid_of(&self, _mutator: *const Mutator) -> Option<Term> {
        None
    }
}
