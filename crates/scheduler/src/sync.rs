//! Locks and atomics for [`crate::world`]; under `--cfg loom` those of the model checker, in parking_lot's form.

#[cfg(not(loom))]
pub use parking_lot::{Condvar, Mutex, MutexGuard};
#[cfg(not(loom))]
pub use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

#[cfg(loom)]
pub use loom::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
#[cfg(loom)]
pub use model::{Condvar, Mutex, MutexGuard};

#[cfg(loom)]
mod model {
    use std::ops::{Deref, DerefMut};

    use loom::sync;

    #[derive(Default)]
    pub struct Mutex<T>(sync::Mutex<T>);

    /// Empty only while its thread waits.
    pub struct MutexGuard<'a, T>(Option<sync::MutexGuard<'a, T>>);

    impl<T> Deref for MutexGuard<'_, T> {
        type Target = T;

        fn deref(&self) -> &T {
            self.0.as_ref().expect("its thread does not wait")
        }
    }

    impl<T> DerefMut for MutexGuard<'_, T> {
        fn deref_mut(&mut self) -> &mut T {
            self.0.as_mut().expect("its thread does not wait")
        }
    }

    impl<T> Mutex<T> {
        pub fn lock(&self) -> MutexGuard<'_, T> {
            MutexGuard(self.0.lock().ok())
        }
    }

    #[derive(Default)]
    pub struct Condvar(sync::Condvar);

    impl Condvar {
        pub fn wait<T>(&self, guard: &mut MutexGuard<'_, T>) {
            guard.0 = guard.0.take().and_then(|guard| self.0.wait(guard).ok());
        }

        pub fn notify_all(&self) {
            self.0.notify_all();
        }
    }
}
