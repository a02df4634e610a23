//! Safepoints. A scheduler is in the world while it runs processes. It leaves the world when it has nothing to run or
//! when another thread wants to stop the world; it checks for that between two time slices.

use std::cell::Cell;

use atoll_platform::sync::{AtomicBool, AtomicUsize, Condvar, Mutex, MutexGuard, Ordering};
use atoll_process::{Entry, Lent};

/// Where a thread is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Outside,
    /// It is counted as being in the world.
    Inside,
    /// It holds the stopped world; whether it is in the world too.
    Holds(bool),
}

#[cfg(not(loom))]
thread_local! {
    static PLACE: Cell<Place> = const { Cell::new(Place::Outside) };
}
#[cfg(loom)]
loom::thread_local! {
    static PLACE: Cell<Place> = Cell::new(Place::Outside);
}

fn place() -> Place {
    PLACE.with(Cell::get)
}

/// The number of threads in the world, and whether it is stopped.
#[derive(Default)]
pub struct Gate {
    /// Whether threads in the world are to leave it, and others to stay outside: [`Stoppers::is_awaited`], for those
    /// that do not hold the lock.
    is_awaited: AtomicBool,
    inside: AtomicUsize,
    state: Mutex<Stoppers>,
    changed: Condvar,
}

/// What the threads have lent that stop the world or wait to do so, in the order in which they came.
#[derive(Default)]
struct Stoppers {
    lent: Vec<Lent>,
    /// A thread stops the world, or has stopped it.
    stopping: bool,
    /// Threads that wait to stop the world and let those go first that have lent a heap alone. Nobody enters the world
    /// meanwhile: processes that collect again and again would go first for ever.
    giving_way: usize,
    /// What the thread that holds the stopped world has lent is at this place.
    holder: Option<usize>,
}

impl Stoppers {
    /// Whether one waits that has lent less than all that belongs to its process.
    fn lends_a_heap(&self) -> bool {
        self.lent.iter().any(|lent| matches!(lent, Lent::Heap(..)))
    }

    fn is_awaited(&self) -> bool {
        self.stopping || self.giving_way > 0
    }
}

impl Gate {
    /// Whether a thread wants the world to stop.
    #[inline]
    pub fn is_stopping(&self) -> bool {
        self.is_awaited.load(Ordering::Relaxed)
    }

    /// Enters the world; waits while it is stopped, or about to be.
    pub fn enter(&self) {
        let mut state = self.state.lock();
        while state.is_awaited() {
            self.changed.wait(&mut state);
        }
        self.inside.fetch_add(1, Ordering::AcqRel);
        PLACE.with(|place| place.set(Place::Inside));
    }

    /// Enters the world unless it is stopped, or about to be.
    pub fn try_enter(&self) -> Entry {
        match place() {
            Place::Inside => return Entry::Was,
            Place::Holds(_) => return Entry::Stopped,
            Place::Outside => {}
        }
        let state = self.state.lock();
        if state.is_awaited() {
            return Entry::Stopped;
        }
        self.inside.fetch_add(1, Ordering::AcqRel);
        PLACE.with(|place| place.set(Place::Inside));
        Entry::Entered
    }

    /// Leaves the world.
    pub fn leave(&self) {
        let _state = self.state.lock();
        self.inside.fetch_sub(1, Ordering::AcqRel);
        PLACE.with(|place| place.set(Place::Outside));
        self.changed.notify_all();
    }

    /// Returns when no other thread is in the world, with what this thread and those that wait here have lent. If
    /// another thread is stopping it, this one waits for that first; and a thread that may be asked for all that
    /// belongs to a process lets those go first that have lent a heap alone.
    pub fn stop(&self, lent: Option<Lent>) -> Vec<Lent> {
        let is_inside = place() == Place::Inside;
        let own = usize::from(is_inside);
        let visits_heaps = matches!(lent, Some(Lent::Heap(..)));
        let mut state = self.state.lock();
        let mut ticket = None;
        if let Some(lent) = lent {
            state.lent.push(lent);
            ticket = Some(lent);
        }
        state.giving_way += usize::from(!visits_heaps);
        self.publish(&state);
        loop {
            self.await_turn(&mut state, own, visits_heaps);
            state.stopping = true;
            self.publish(&state);
            while self.inside.load(Ordering::Acquire) > own {
                self.changed.wait(&mut state);
            }
            if visits_heaps || !state.lends_a_heap() {
                break;
            }
            state.stopping = false;
            self.changed.notify_all();
        }
        state.giving_way -= usize::from(!visits_heaps);
        state.holder = ticket.and_then(|lent| state.lent.iter().position(|other| other.is(&lent)));
        PLACE.with(|place| place.set(Place::Holds(is_inside)));
        state.lent.clone()
    }

    /// As [`Gate::stop`], for a thread in the world that may hold terms: it does not leave the world, so no thread
    /// collects meanwhile. `None` if another thread stops the world, or waits to do so.
    pub fn try_stop(&self, lent: Lent) -> Option<Vec<Lent>> {
        let mut state = self.state.lock();
        if state.is_awaited() || !state.lent.is_empty() {
            return None;
        }
        state.lent.push(lent);
        state.stopping = true;
        self.publish(&state);
        while self.inside.load(Ordering::Acquire) > 1 {
            self.changed.wait(&mut state);
        }
        let index = state.lent.iter().position(|other| other.is(&lent));
        if state.lends_a_heap() {
            state.lent.remove(index?);
            state.stopping = false;
            self.publish(&state);
            self.changed.notify_all();
            return None;
        }
        state.holder = index;
        PLACE.with(|place| place.set(Place::Holds(true)));
        Some(state.lent.clone())
    }

    /// Waits until no thread stops the world that goes first. Being in the world, this thread would keep it from going
    /// on.
    fn await_turn(&self, state: &mut MutexGuard<'_, Stoppers>, own: usize, visits_heaps: bool) {
        let waits = |state: &Stoppers| state.stopping || (!visits_heaps && state.lends_a_heap());
        if waits(state) {
            self.inside.fetch_sub(own, Ordering::AcqRel);
            self.changed.notify_all();
            while waits(state) {
                self.changed.wait(state);
            }
            self.inside.fetch_add(own, Ordering::AcqRel);
        }
    }

    /// Lets the others go on.
    pub fn resume(&self) {
        let mut state = self.state.lock();
        if let Some(index) = state.holder.take() {
            state.lent.remove(index);
        }
        let is_inside = place() == Place::Holds(true);
        PLACE.with(|place| place.set(if is_inside { Place::Inside } else { Place::Outside }));
        state.stopping = false;
        self.publish(&state);
        self.changed.notify_all();
    }

    fn publish(&self, state: &Stoppers) {
        self.is_awaited.store(state.is_awaited(), Ordering::Release);
    }
}

#[cfg(test)]
pub(crate) mod lending {
    use std::num::NonZeroUsize;
    use std::ptr::NonNull;

    use super::Lent;

    struct NoRoots;

    impl atoll_heap::RootSet for NoRoots {
        fn each_slice(&mut self, _: &mut dyn FnMut(*mut atoll_term::Term, usize)) {}
        fn each_message(&mut self, _: &mut dyn FnMut(&atoll_heap::Fragment)) {}
    }

    /// What stands for something lent: addresses that nobody follows.
    pub(crate) fn lent(number: usize, heap_alone: bool) -> Lent {
        let address = NonZeroUsize::new(number * 4096).unwrap();
        let roots: NonNull<dyn atoll_heap::RootSet> = NonNull::<NoRoots>::dangling();
        match heap_alone {
            true => Lent::Heap(NonNull::without_provenance(address), roots),
            false => Lent::Own(NonNull::without_provenance(address)),
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::lending::lent;
    use super::*;
    use std::sync::atomic::AtomicU64;
    use std::time::{Duration, Instant};

    #[test]
    fn nobody_collects_before_a_thread_that_may_hold_terms_has_left_the_world() {
        let (gate, collected) = (Gate::default(), AtomicBool::new(false));
        gate.enter();
        assert!(gate.try_stop(lent(1, false)).is_some());
        gate.resume();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                gate.enter();
                gate.stop(Some(lent(2, true)));
                collected.store(true, Ordering::Relaxed);
                gate.resume();
                gate.leave();
            });
            while !gate.is_stopping() {
                std::thread::yield_now();
            }
            assert!(gate.try_stop(lent(1, false)).is_none(), "the other goes first");
            assert!(!collected.load(Ordering::Relaxed), "but not before this thread is at a safepoint");
            gate.leave();
        });
        assert!(collected.load(Ordering::Relaxed) && gate.state.lock().lent.is_empty());
    }

    #[test]
    fn a_collection_that_is_asked_for_meanwhile_goes_first() {
        let (gate, collected) = (Gate::default(), AtomicBool::new(false));
        gate.enter();
        std::thread::scope(|scope| {
            let (entered, is_in) = std::sync::mpsc::channel();
            scope.spawn({
                let (gate, collected) = (&gate, &collected);
                move || {
                    gate.enter();
                    entered.send(()).unwrap();
                    while !gate.is_stopping() {
                        std::thread::yield_now();
                    }
                    gate.stop(Some(lent(2, true)));
                    collected.store(true, Ordering::Relaxed);
                    gate.resume();
                    gate.leave();
                }
            });
            is_in.recv().unwrap();
            assert!(gate.try_stop(lent(1, false)).is_none());
            assert!(!collected.load(Ordering::Relaxed));
            gate.leave();
        });
        assert!(collected.load(Ordering::Relaxed));
        gate.enter();
        assert!(gate.try_stop(lent(1, false)).is_some());
        gate.resume();
        gate.leave();
    }

    #[test]
    fn those_that_collect_again_and_again_do_not_go_first_for_ever() {
        const LONG: Duration = Duration::from_secs(10);
        let (gate, served, began) = (Gate::default(), AtomicBool::new(false), Instant::now());
        let rounds = std::sync::atomic::AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for number in [2, 3, 4] {
                let (gate, served, rounds) = (&gate, &served, &rounds);
                scope.spawn(move || {
                    gate.enter();
                    while !served.load(Ordering::Relaxed) && began.elapsed() < LONG {
                        rounds.fetch_add(1, Ordering::Relaxed);
                        gate.stop(Some(lent(number, true)));
                        // Its collection lasts until another wants to collect.
                        let others = |lent: &Lent| !lent.is(&super::lending::lent(number, true));
                        let another =
                            || gate.state.lock().lent.iter().any(|lent| matches!(lent, Lent::Heap(..)) && others(lent));
                        (0..1000).take_while(|_| !another()).for_each(|_| std::thread::yield_now());
                        gate.resume();
                        if gate.is_stopping() {
                            gate.leave();
                            gate.enter();
                        }
                    }
                    gate.leave();
                });
            }
            while rounds.load(Ordering::Relaxed) < 100 {
                std::thread::yield_now();
            }
            gate.stop(Some(lent(1, false)));
            served.store(true, Ordering::Relaxed);
            gate.resume();
        });
        assert!(began.elapsed() < LONG, "all the others went first");
        assert!(gate.state.lock().lent.is_empty() && !gate.is_stopping());
    }

    #[test]
    fn a_stopped_world_stands_still_and_stoppers_take_turns() {
        let gate = Gate::default();
        let (shared, done) = (AtomicU64::new(0), AtomicBool::new(false));
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    gate.enter();
                    for turn in 0..200 {
                        if gate.is_stopping() {
                            gate.leave();
                            gate.enter();
                        }
                        shared.fetch_add(1, Ordering::Relaxed);
                        if turn % 10 == 0 {
                            gate.stop(None);
                            let before = shared.load(Ordering::Relaxed);
                            std::thread::yield_now();
                            assert_eq!(shared.load(Ordering::Relaxed), before);
                            gate.resume();
                        }
                    }
                    gate.leave();
                });
            }
            done.store(true, Ordering::Relaxed);
        });
        assert_eq!(gate.inside.load(Ordering::Relaxed), 0);
        assert_eq!(shared.load(Ordering::Relaxed), 400);
    }
}

#[cfg(all(test, loom))]
mod loom_model {
    use super::lending::lent;
    use super::*;
    use loom::sync::Arc;

    #[derive(Default)]
    struct World {
        gate: Gate,
        running: AtomicUsize,
        stopped: AtomicUsize,
    }

    impl World {
        /// Runs one process, with a safepoint behind it.
        fn work(&self) {
            self.gate.enter();
            self.running.fetch_add(1, Ordering::Relaxed);
            self.running.fetch_sub(1, Ordering::Relaxed);
            if self.gate.is_stopping() {
                self.gate.leave();
                self.gate.enter();
            }
            self.running.fetch_add(1, Ordering::Relaxed);
            self.running.fetch_sub(1, Ordering::Relaxed);
            self.gate.leave();
        }

        /// Stops the world for a moment in which nobody runs.
        fn collect(&self) {
            self.gate.stop(None);
            assert_eq!(self.stopped.fetch_add(1, Ordering::Relaxed), 0, "two threads have stopped the world");
            assert_eq!(self.running.load(Ordering::Relaxed), 0);
            loom::thread::yield_now();
            assert_eq!(self.running.load(Ordering::Relaxed), 0);
            self.stopped.fetch_sub(1, Ordering::Relaxed);
            self.gate.resume();
        }
    }

    fn model(check: fn()) {
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(3);
        builder.check(check);
    }

    #[test]
    fn nobody_runs_while_the_world_is_stopped_from_outside() {
        model(|| {
            let world = Arc::new(World::default());
            let other = Arc::clone(&world);
            let thread = loom::thread::spawn(move || other.work());
            world.collect();
            thread.join().unwrap();
            assert_eq!(world.gate.inside.load(Ordering::Relaxed), 0);
        });
    }

    /// One stops the world from inside while another stops it from outside.
    #[test]
    fn stoppers_from_inside_and_outside_take_turns() {
        model(|| {
            let world = Arc::new(World::default());
            let other = Arc::clone(&world);
            let thread = loom::thread::spawn(move || {
                other.gate.enter();
                other.collect();
                other.running.fetch_add(1, Ordering::Relaxed);
                other.running.fetch_sub(1, Ordering::Relaxed);
                other.gate.leave();
            });
            world.collect();
            thread.join().unwrap();
            assert_eq!(world.gate.inside.load(Ordering::Relaxed), 0);
        });
    }

    /// A world that was stopped is stopped again by another thread before those that wait have come back.
    #[test]
    fn two_stoppers_from_outside_and_one_that_runs() {
        model(|| {
            let world = Arc::new(World::default());
            let (stopper, worker) = (Arc::clone(&world), Arc::clone(&world));
            let stopping = loom::thread::spawn(move || stopper.collect());
            let working = loom::thread::spawn(move || worker.work());
            world.collect();
            stopping.join().unwrap();
            working.join().unwrap();
            assert_eq!(world.gate.inside.load(Ordering::Relaxed), 0);
            assert!(!world.gate.is_stopping());
        });
    }

    #[test]
    fn two_inside_that_stop_the_world_take_turns() {
        model(|| {
            let world = Arc::new(World::default());
            let other = Arc::clone(&world);
            let collecting = |world: &World| {
                world.gate.enter();
                world.collect();
                world.gate.leave();
            };
            let thread = loom::thread::spawn(move || collecting(&other));
            collecting(&world);
            thread.join().unwrap();
            assert_eq!(world.gate.inside.load(Ordering::Relaxed), 0);
        });
    }

    /// A thread that runs a process, stops the world with what it lends, and sees what else is lent.
    fn stopping(world: &World, own: Lent) -> Vec<Lent> {
        world.gate.enter();
        let lent = world.gate.stop(Some(own));
        assert_eq!(world.running.fetch_add(1, Ordering::Relaxed), 0);
        assert!(lent.iter().any(|one| one.is(&own)));
        world.running.fetch_sub(1, Ordering::Relaxed);
        world.gate.resume();
        world.gate.leave();
        lent
    }

    #[test]
    fn visitors_of_processes_find_no_process_that_has_lent_its_heap_alone() {
        model(|| {
            let world = Arc::new(World::default());
            let other = Arc::clone(&world);
            let thread = loom::thread::spawn(move || stopping(&other, lent(1, true)));
            let seen = stopping(&world, lent(2, false));
            assert!(seen.iter().all(|one| matches!(one, Lent::Own(_))));
            thread.join().unwrap();
            assert_eq!(world.gate.inside.load(Ordering::Relaxed), 0);
            assert!(world.gate.state.lock().lent.is_empty());
        });
    }

    #[test]
    fn nobody_claims_a_process_in_a_stopped_world() {
        model(|| {
            let world = Arc::new(World::default());
            let other = Arc::clone(&world);
            let claiming = move || {
                if other.gate.try_enter() == Entry::Entered {
                    other.running.fetch_add(1, Ordering::Relaxed);
                    other.running.fetch_sub(1, Ordering::Relaxed);
                    other.gate.leave();
                }
            };
            let thread = loom::thread::spawn(claiming);
            world.collect();
            thread.join().unwrap();
            assert_eq!(world.gate.inside.load(Ordering::Relaxed), 0);
        });
    }
}
