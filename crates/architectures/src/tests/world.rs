//! A world of the tests' processes: each test thread is a scheduler thread with safepoints of its own choice.

use std::sync::{Condvar, Mutex, MutexGuard};
use std::thread::ThreadId;

use atoll_heap::{Architecture, Asker, Claim, Fragment, KeptPlace, Mutator, RootSet, StoppedWorld, World};
use atoll_term::Term;

use super::{RootTable, Roots};

#[derive(Default)]
struct State {
    running: usize,
    stopped: bool,
    processes: Vec<(*mut Mutator, *mut RootTable)>,
    /// Those of the architecture that does not stop processes, with the threads that see to them.
    unstopped: Vec<(*mut Mutator, *mut RootTable, ThreadId)>,
}

// SAFETY: the pointers are used in a stopped world, or by the thread that registered them.
unsafe impl Send for State {}

pub(super) struct TestWorld {
    state: Mutex<State>,
    changed: Condvar,
}

pub(super) static WORLD: TestWorld = TestWorld::new();
/// That of `unified`, whose collector holds the processes that it finds for its own.
pub(super) static UNIFIED: TestWorld = TestWorld::new();

/// The world of an architecture's processes.
pub(super) fn of(architecture: &dyn Architecture) -> &'static TestWorld {
    if architecture.name() == "unified" { &UNIFIED } else { &WORLD }
}

impl TestWorld {
    const fn new() -> TestWorld {
        let state = State { running: 0, stopped: false, processes: Vec::new(), unstopped: Vec::new() };
        TestWorld { state: Mutex::new(state), changed: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Waits, as a thread that does not run, until the world goes on.
    fn pause<'a>(&'a self, mut state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        state.running -= 1;
        self.changed.notify_all();
        while state.stopped {
            state = self.changed.wait(state).unwrap();
        }
        state.running += 1;
        state
    }
}

/// The tests' processes while their world is stopped.
struct TestStopped<'a> {
    asker: Asker<'a>,
    processes: Vec<(*mut Mutator, *mut RootTable)>,
}

impl StoppedWorld for TestStopped<'_> {
    fn asker(&mut self) -> Asker<'_> {
        Asker { mutator: &mut *self.asker.mutator, roots: &mut *self.asker.roots }
    }

    fn each_mutator(&mut self, visit: &mut dyn FnMut(&mut Mutator, &mut dyn RootSet)) {
        for (mutator, roots) in self.processes.clone() {
            if std::ptr::eq(mutator, &raw const *self.asker.mutator) {
                visit(self.asker.mutator, self.asker.roots);
                continue;
            }
            // SAFETY: the world is stopped, and processes unregister before they end.
            unsafe { visit(&mut *mutator, &mut Roots(&mut *roots)) }
        }
    }

    /// All processes of the tests that do not run wait for a collection.
    fn each_movable_stack(&mut self, visit: &mut dyn FnMut(&mut Mutator)) {
        self.each_mutator(&mut |mutator, _| visit(mutator));
    }

    fn each_global_slice(&mut self, _visit: &mut dyn FnMut(*mut Term, usize)) {}
}

/// The world goes on when this is dropped, also when a test sees the verifier report something.
struct Resume<'a>(&'a TestWorld);

impl Drop for Resume<'_> {
    fn drop(&mut self) {
        self.0.lock().stopped = false;
        self.0.changed.notify_all();
    }
}

impl World for TestWorld {
    fn stopped(&self, asker: Asker<'_>, then: &mut dyn FnMut(&mut dyn StoppedWorld)) {
        let mut state = self.lock();
        while state.stopped {
            state = self.pause(state);
        }
        state.stopped = true;
        while state.running > 1 {
            state = self.changed.wait(state).unwrap();
        }
        let processes = state.processes.clone();
        drop(state);
        let _resume = Resume(self);
        then(&mut TestStopped { asker, processes });
    }

    /// All are busy: their threads see to them at safepoints.
    fn claim_each(
        &self,
        _from: usize,
        _most: usize,
        wanted: &dyn Fn(*const Mutator) -> bool,
        _visit: &mut dyn FnMut(&mut Mutator, &mut dyn RootSet),
        busy: &mut dyn FnMut(Term),
    ) -> Option<usize> {
        for (mutator, ..) in &self.lock().unstopped {
            if wanted(*mutator) {
                busy(Term::small(*mutator as i64));
            }
        }
        None
    }

    fn claim(
        &self,
        pid: Term,
        wanted: &dyn Fn(*const Mutator) -> bool,
        _visit: &mut dyn FnMut(&mut Mutator, &mut dyn RootSet),
    ) -> Claim {
        let is_wanted = |mutator: *mut Mutator| mutator as i64 == pid.small_value() && wanted(mutator);
        let busy = self.lock().unstopped.iter().any(|(mutator, ..)| is_wanted(*mutator));
        if busy { Claim::Busy } else { Claim::Settled }
    }

    fn each_kept_message(&self, _: KeptPlace, _: usize, _: &mut dyn FnMut(&Fragment)) -> Option<KeptPlace> {
        None
    }

    fn processes(&self) -> usize {
        self.lock().unstopped.len()
    }
}

/// This thread runs processes until the guard is dropped.
pub(crate) struct Running(&'static TestWorld);

/// Whether collections of this architecture concern more than one process.
pub(crate) fn concerns(architecture: &dyn Architecture) -> bool {
    matches!(architecture.name(), "shared" | "hybrid" | "unified")
}

/// Starts to run processes on this thread.
pub(crate) fn enter(architecture: &dyn Architecture) -> Option<Running> {
    super::enter_for(architecture);
    if !concerns(architecture) || architecture.name() == "hybrid" {
        return None;
    }
    let world = of(architecture);
    let mut state = world.lock();
    while state.stopped {
        state = world.changed.wait(state).unwrap();
    }
    state.running += 1;
    Some(Running(world))
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.lock().running -= 1;
        self.0.changed.notify_all();
    }
}

/// Stops here if the world is stopped; shows this thread's processes to an architecture that wants to see their roots.
pub(crate) fn safepoint(architecture: &dyn Architecture) {
    let world = of(architecture);
    if architecture.name() != "hybrid" {
        let state = world.lock();
        if state.stopped {
            drop(world.pause(state));
        }
    }
    let Some(collector) = architecture.concurrent_roots() else { return };
    let own = std::thread::current().id();
    let processes = world.lock().unstopped.clone();
    for (mutator, roots, _) in processes.into_iter().filter(|(.., thread)| *thread == own) {
        // SAFETY: this thread runs these processes.
        unsafe {
            architecture.schedule_out(&mut *mutator);
            architecture.schedule_in(&mut *mutator);
            if collector.wants_roots(&*mutator) {
                collector.visit_roots(&mut *mutator, &mut Roots(&mut *roots));
            }
        }
    }
}

/// Makes a process known.
pub(crate) fn register(architecture: &dyn Architecture, mutator: &mut Mutator, roots: &mut RootTable) {
    let mut state = of(architecture).lock();
    if architecture.concurrent_roots().is_some() {
        state.unstopped.push((mutator, roots, std::thread::current().id()));
    }
    if architecture.name() != "hybrid" {
        state.processes.push((mutator, roots));
    }
}

/// Forgets a process.
pub(crate) fn unregister(mutator: &mut Mutator) {
    let mutator: *mut Mutator = mutator;
    for world in [&WORLD, &UNIFIED] {
        let mut state = world.lock();
        state.processes.retain(|(known, ..)| *known != mutator);
        state.unstopped.retain(|(known, ..)| *known != mutator);
    }
}
