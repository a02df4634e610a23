//! Safepoints. A scheduler is in the world while it runs processes, and leaves it when it has nothing to do or when
//! somebody wants the world to stop; between two processes it looks whether that is so.

use std::cell::Cell;

use crate::sync::{AtomicBool, AtomicUsize, Condvar, Mutex, Ordering};

#[cfg(not(loom))]
thread_local! {
    /// Whether this thread is counted as being in the world.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}
#[cfg(loom)]
loom::thread_local! {
    static INSIDE: Cell<bool> = Cell::new(false);
}

/// Who is in the world, and whether it is stopped.
#[derive(Default)]
pub struct Gate {
    stopping: AtomicBool,
    inside: AtomicUsize,
    state: Mutex<()>,
    changed: Condvar,
}

impl Gate {
    /// Whether somebody wants the world to stop.
    #[inline]
    pub fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }

    /// Enters the world; waits while it is stopped.
    pub fn enter(&self) {
        let mut state = self.state.lock();
        while self.stopping.load(Ordering::Acquire) {
            self.changed.wait(&mut state);
        }
        self.inside.fetch_add(1, Ordering::AcqRel);
        INSIDE.with(|inside| inside.set(true));
    }

    /// Leaves the world.
    pub fn leave(&self) {
        let _state = self.state.lock();
        self.inside.fetch_sub(1, Ordering::AcqRel);
        INSIDE.with(|inside| inside.set(false));
        self.changed.notify_all();
    }

    /// Returns when no other thread is in the world. If another thread is stopping it, waits for that one first.
    pub fn stop(&self) {
        let own = usize::from(INSIDE.with(Cell::get));
        let mut state = self.state.lock();
        if self.stopping.load(Ordering::Acquire) {
            // Being in the world, this thread would keep the other from going on.
            self.inside.fetch_sub(own, Ordering::AcqRel);
            self.changed.notify_all();
            while self.stopping.load(Ordering::Acquire) {
                self.changed.wait(&mut state);
            }
            self.inside.fetch_add(own, Ordering::AcqRel);
        }
        self.stopping.store(true, Ordering::Release);
        while self.inside.load(Ordering::Acquire) > own {
            self.changed.wait(&mut state);
        }
    }

    /// Lets the others go on.
    pub fn resume(&self) {
        let _state = self.state.lock();
        self.stopping.store(false, Ordering::Release);
        self.changed.notify_all();
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU64;

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
                            gate.stop();
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
    use super::*;
    use loom::sync::Arc;

    #[derive(Default)]
    struct World {
        gate: Gate,
        running: AtomicUsize,
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
            self.gate.stop();
            assert_eq!(self.running.load(Ordering::Relaxed), 0);
            loom::thread::yield_now();
            assert_eq!(self.running.load(Ordering::Relaxed), 0);
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
}
