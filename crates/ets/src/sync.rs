//! Locks for [`crate::names`] and [`crate::standing`]; under `--cfg loom` those of the model checker, in parking_lot's form.

#[cfg(not(loom))]
pub use parking_lot::{Mutex, MutexGuard, RwLock};

#[cfg(loom)]
pub use loom::sync::MutexGuard;
#[cfg(loom)]
pub use model::{Mutex, RwLock};

#[cfg(loom)]
mod model {
    use loom::sync;

    #[derive(Default)]
    pub struct Mutex<T>(sync::Mutex<T>);

    impl<T> Mutex<T> {
        pub fn new(value: T) -> Mutex<T> {
            Mutex(sync::Mutex::new(value))
        }

        pub fn lock(&self) -> sync::MutexGuard<'_, T> {
            self.0.lock().expect("a model does not go on after a panic")
        }
    }

    #[derive(Default)]
    pub struct RwLock<T>(sync::RwLock<T>);

    impl<T> RwLock<T> {
        pub fn read(&self) -> sync::RwLockReadGuard<'_, T> {
            self.0.read().expect("a model does not go on after a panic")
        }

        pub fn write(&self) -> sync::RwLockWriteGuard<'_, T> {
            self.0.write().expect("a model does not go on after a panic")
        }
    }
}
