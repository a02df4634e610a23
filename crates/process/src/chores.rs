//! Work for the machine that one scheduler does between two time slices, when it holds no process.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::system::System;

/// What one machine has to do.
#[derive(Default)]
pub struct Chores {
    wanted: AtomicBool,
    chore: OnceLock<fn()>,
}

/// Sets what is to be done; the first call counts.
pub fn install(chore: fn()) {
    let _ = System::get().chores.chore.set(chore);
}

/// Some scheduler is to do it soon: the one of this thread when the present slice ends, or another before.
pub fn want() {
    System::get().chores.wanted.store(true, Ordering::Release);
}

impl Chores {
    /// Whether it is to be done.
    #[inline]
    pub fn is_wanted(&self) -> bool {
        self.wanted.load(Ordering::Relaxed)
    }

    /// Does it, unless another thread has begun to.
    #[cold]
    pub fn run(&self) {
        if self.wanted.swap(false, Ordering::Acquire)
            && let Some(chore) = self.chore.get()
        {
            chore();
        }
    }
}
