//! Schedulers that have no process to run go on with the evacuations of cycles, whose processes run meanwhile.
//!
//! An evacuation lies on a desk. The thread that has the desk's lock works on it: a helper, for a short time, or the
//! process's own thread. The process takes the evacuation away when it is done, or when the cycle is given up; a helper
//! that sits at the desk then is asked to leave, and does so after a few microseconds.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use atoll_heap::counters;
use atoll_platform::clock::monotonic;

use super::evacuation::Evacuation;
use super::slice::Slice;

/// Words after which a helper looks at the clock, and whether it is asked to leave.
const STEP: usize = 1024;

/// The desks of all cycles of a machine with evacuations that are not done.
#[derive(Default)]
pub(super) struct Helpers {
    desks: Mutex<Vec<Arc<Desk>>>,
    /// How many there are.
    count: AtomicUsize,
    /// How many helpers sit at one.
    at_work: AtomicUsize,
}

impl std::fmt::Debug for Helpers {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Helpers").field("count", &self.count).field("at_work", &self.at_work).finish()
    }
}

impl Helpers {
    /// Whether there is an evacuation at which no helper works.
    pub(super) fn are_wanted(&self) -> bool {
        self.count.load(Ordering::Relaxed) > self.at_work.load(Ordering::Relaxed)
    }

    /// Works at a desk, if there is one that is free, for so many nanoseconds. Whether it did.
    pub(super) fn help(&self, nanoseconds: i64) -> bool {
        let mut index = 0;
        while self.count.load(Ordering::Relaxed) > index {
            let Some(desk) = locked(&self.desks).get(index).cloned() else { return false };
            self.at_work.fetch_add(1, Ordering::Relaxed);
            let done = desk.help(nanoseconds);
            self.at_work.fetch_sub(1, Ordering::Relaxed);
            match done {
                Some(true) => {
                    self.clear(&desk);
                    return true;
                }
                Some(false) => return true,
                None => index += 1,
            }
        }
        false
    }

    fn add(&self, desk: Arc<Desk>) {
        let mut desks = locked(&self.desks);
        desks.push(desk);
        self.count.store(desks.len(), Ordering::Relaxed);
    }

    /// There is nothing to do at this desk any more.
    fn clear(&self, desk: &Arc<Desk>) {
        let mut desks = locked(&self.desks);
        desks.retain(|other| !Arc::ptr_eq(other, desk));
        self.count.store(desks.len(), Ordering::Relaxed);
    }
}

/// An evacuation that several threads work on, one at a time.
pub(super) struct Desk {
    helpers: Arc<Helpers>,
    /// `None`: the process has taken it away.
    evacuation: Mutex<Option<Evacuation>>,
    /// The process waits for the lock.
    is_asked_for: AtomicBool,
    /// Words that helpers have worked through and that [`Desk::take_done`] has not given.
    done: AtomicUsize,
}

impl Desk {
    /// A desk where helpers find this evacuation.
    pub(super) fn open(helpers: &Arc<Helpers>, evacuation: Evacuation) -> Arc<Desk> {
        let desk = Arc::new(Desk {
            helpers: Arc::clone(helpers),
            evacuation: Mutex::new(Some(evacuation)),
            is_asked_for: AtomicBool::new(false),
            done: AtomicUsize::new(0),
        });
        helpers.add(Arc::clone(&desk));
        desk
    }

    /// The process takes the evacuation away.
    pub(super) fn close(self: &Arc<Desk>) -> Option<Evacuation> {
        self.helpers.clear(self);
        self.lock().take()
    }

    /// While the guard lives, no helper reads the process's objects.
    pub(super) fn lock(&self) -> MutexGuard<'_, Option<Evacuation>> {
        if let Some(guard) = self.try_lock() {
            return guard;
        }
        self.is_asked_for.store(true, Ordering::Relaxed);
        let guard = locked(&self.evacuation);
        self.is_asked_for.store(false, Ordering::Relaxed);
        guard
    }

    fn try_lock(&self) -> Option<MutexGuard<'_, Option<Evacuation>>> {
        match self.evacuation.try_lock() {
            Ok(guard) => Some(guard),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// The process works for a slice, which is told whether it takes the place of a helper; if one sits there, only
    /// when it `must`. Whether all is copied, and what is left of the slice; `None`: a helper sits there.
    pub(super) fn advance<'a>(&self, must: bool, slice: impl FnOnce(bool) -> Slice<'a>) -> Option<(bool, Slice<'a>)> {
        let (mut guard, mut slice) = match self.try_lock() {
            Some(guard) => (guard, slice(false)),
            None if must => (self.lock(), slice(true)),
            None => return None,
        };
        // SAFETY: a cycle's blocks consist of whole objects.
        let done = guard.as_mut().is_none_or(|evacuation| unsafe { evacuation.advance(&mut slice) });
        Some((done, slice))
    }

    /// A helper works; whether the evacuation is done. `None`: the desk is taken, or there is nothing to do.
    fn help(&self, nanoseconds: i64) -> Option<bool> {
        let mut guard = self.try_lock()?;
        let evacuation = guard.as_mut().filter(|evacuation| !evacuation.is_done())?;
        counters::work_begins();
        let started = monotonic();
        // SAFETY: a cycle's blocks consist of whole objects.
        let done = unsafe { evacuation.advance(&mut Slice::helping(started + nanoseconds, STEP, self)) };
        counters::record_help((monotonic() - started).max(0) as u64);
        Some(done)
    }

    /// A helper has worked through so many words more. Whether it is asked to leave.
    pub(super) fn has_done(&self, words: usize) -> bool {
        self.done.fetch_add(words, Ordering::Relaxed);
        self.is_asked_for.load(Ordering::Relaxed)
    }

    /// Words that helpers have worked through since the last call.
    pub(super) fn take_done(&self) -> usize {
        self.done.swap(0, Ordering::Relaxed)
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
