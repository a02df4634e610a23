//! What the rows of a table have to know of it.

use atoll_platform::sync::{AtomicBool, AtomicUsize, Ordering};

/// The table was deleted in the meantime.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gone;

/// Whether a table lives, and whether it is fixed. Both are read under the lock of the rows that they matter for.
#[derive(Debug, Default)]
pub(crate) struct Status {
    deleted: AtomicBool,
    fixations: AtomicUsize,
}

impl Status {
    pub(crate) fn is_alive(&self) -> bool {
        !self.deleted.load(Ordering::SeqCst)
    }

    /// The table lives no more; the caller holds it.
    pub(crate) fn delete(&self) {
        self.deleted.store(true, Ordering::SeqCst);
    }

    pub(crate) fn is_fixed(&self) -> bool {
        self.fixations.load(Ordering::SeqCst) > 0
    }

    pub(crate) fn fix(&self) {
        self.fixations.fetch_add(1, Ordering::SeqCst);
    }

    /// Returns whether that was the last fixation.
    pub(crate) fn unfix(&self, count: usize) -> bool {
        self.fixations.fetch_sub(count, Ordering::SeqCst) == count
    }
}
