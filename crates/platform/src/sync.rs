//! Locks and atomics of the parts that are model-checked: parking_lot's and the standard ones; under `--cfg loom` those
//! of the model checker in parking_lot's form, so that a model runs the code itself.

#[cfg(loom)]
pub use loom::sync::atomic::{AtomicBool, AtomicI64, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};
#[cfg(loom)]
pub use model::{Condvar, Mutex, MutexGuard, RwLock, RwLockWriteGuard};
#[cfg(not(loom))]
pub use parking_lot::{Condvar, Mutex, MutexGuard, RwLock, RwLockWriteGuard};
#[cfg(not(loom))]
pub use std::sync::atomic::{AtomicBool, AtomicI64, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};

/// parking_lot's locks over loom's. A thread that panics ends the model, so nobody meets a poisoned lock.
#[cfg(loom)]
mod model {
    use std::ops::{Deref, DerefMut};
    use std::time::Duration;

    use loom::sync;
    pub use loom::sync::{RwLockReadGuard, RwLockWriteGuard};

    /// A lock.
    #[derive(Debug, Default)]
    pub struct Mutex<T>(sync::Mutex<T>);

    /// Empty only while its thread waits.
    pub struct MutexGuard<'a, T>(Option<sync::MutexGuard<'a, T>>);

    impl<T> Mutex<T> {
        /// An open one.
        pub fn new(value: T) -> Mutex<T> {
            Mutex(sync::Mutex::new(value))
        }

        /// Waits for the lock and takes it.
        pub fn lock(&self) -> MutexGuard<'_, T> {
            MutexGuard(Some(self.0.lock().expect(POISONED)))
        }
    }

    const POISONED: &str = "no thread of a model has panicked";
    const HELD: &str = "a guard whose thread does not wait";

    impl<T> Deref for MutexGuard<'_, T> {
        type Target = T;

        fn deref(&self) -> &T {
            self.0.as_deref().expect(HELD)
        }
    }

    impl<T> DerefMut for MutexGuard<'_, T> {
        fn deref_mut(&mut self) -> &mut T {
            self.0.as_deref_mut().expect(HELD)
        }
    }

    /// A condition variable.
    #[derive(Debug, Default)]
    pub struct Condvar(sync::Condvar);

    /// What a wait with a limit gives.
    pub struct WaitTimeoutResult(bool);

    impl WaitTimeoutResult {
        /// Whether the time has passed.
        pub fn timed_out(&self) -> bool {
            self.0
        }
    }

    impl Condvar {
        /// One that nobody waits for.
        pub fn new() -> Condvar {
            Condvar::default()
        }

        /// Waits until it is notified.
        pub fn wait<T>(&self, guard: &mut MutexGuard<'_, T>) {
            let held = guard.0.take().expect(HELD);
            guard.0 = Some(self.0.wait(held).expect(POISONED));
        }

        /// Waits until it is notified: no time passes in a model, so a wake-up that is lost ends it as a deadlock.
        pub fn wait_for<T>(&self, guard: &mut MutexGuard<'_, T>, _limit: Duration) -> WaitTimeoutResult {
            self.wait(guard);
            WaitTimeoutResult(false)
        }

        /// Wakes one thread.
        pub fn notify_one(&self) {
            self.0.notify_one();
        }

        /// Wakes all threads.
        pub fn notify_all(&self) {
            self.0.notify_all();
        }
    }

    /// A lock that readers share.
    #[derive(Debug, Default)]
    pub struct RwLock<T>(sync::RwLock<T>);

    impl<T> RwLock<T> {
        /// An open one.
        pub fn new(value: T) -> RwLock<T> {
            RwLock(sync::RwLock::new(value))
        }

        /// Waits for the lock and shares it.
        pub fn read(&self) -> RwLockReadGuard<'_, T> {
            self.0.read().expect(POISONED)
        }

        /// Waits for the lock and takes it.
        pub fn write(&self) -> RwLockWriteGuard<'_, T> {
            self.0.write().expect(POISONED)
        }
    }
}
