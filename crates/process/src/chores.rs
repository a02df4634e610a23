//! Work for the machine that one scheduler does between two time slices, when it holds no process.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

static WANTED: AtomicBool = AtomicBool::new(false);
static CHORE: OnceLock<fn()> = OnceLock::new();

/// Sets what is to be done; the first call counts.
pub fn install(chore: fn()) {
    let _ = CHORE.set(chore);
}

/// Some scheduler is to do it soon: the one of this thread when the present slice ends, or another before.
pub fn want() {
    WANTED.store(true, Ordering::Release);
}

/// Whether it is to be done.
#[inline]
pub fn is_wanted() -> bool {
    WANTED.load(Ordering::Relaxed)
}

/// Does it, unless another thread has begun to.
#[cold]
pub fn run() {
    if WANTED.swap(false, Ordering::Acquire)
        && let Some(chore) = CHORE.get()
    {
        chore();
    }
}
