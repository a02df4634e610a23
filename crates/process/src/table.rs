//! The process table: from pid to process without a lock. A process found here stays valid while the thread is
//! pinned to the present epoch, even if it ends meanwhile.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use atoll_platform::{OutOfMemory, Reservation};
use atoll_term::Term;
use parking_lot::Mutex;

use crate::activity::Activity;
use crate::process::Process;
use crate::run_state::state;
use crate::slab;

/// Bits of a pid's data that are the table index.
const INDEX_BITS: u32 = 28;
/// Highest process limit.
pub const MAX_PROCESSES: usize = (1 << 27) - 1;
/// Default process limit, as in OTP 25.
pub const DEFAULT_PROCESSES: usize = 262_144;

#[repr(C)]
struct Slot {
    process: AtomicPtr<Process>,
}

/// Keeps what is found in the table valid on this thread; finding something costs less meanwhile.
pub struct Pinned(#[expect(dead_code, reason = "held for its end")] crossbeam_epoch::Guard);

/// Nothing that leaves the table is freed from now on until the end of what this gives, so it is to be held for a short time. What left it long
/// ago is freed now: the library does so by itself at every 128th pin only, which is too seldom for pins that are held.
#[inline]
pub fn pin() -> Pinned {
    let guard = crossbeam_epoch::pin();
    guard.flush();
    Pinned(guard)
}

/// All processes.
pub struct ProcessTable {
    slots: Reservation,
    activity: Activity,
    limit: usize,
    free: Mutex<Free>,
    count: AtomicUsize,
    highest: AtomicUsize,
    spawned: AtomicUsize,
}

#[derive(Default)]
struct Free {
    /// Indices below this were used at least once.
    top: usize,
    indices: Vec<u32>,
    /// One more than the index given out last, and its serial. Pids grow, as programs see when they compare those of
    /// processes that they made one after the other.
    next: usize,
    serial: u32,
}

impl Free {
    /// A free place of a table of `limit`, and the serial that makes its pid larger than all before.
    fn take(&mut self, limit: usize) -> Option<(usize, u32)> {
        let index = match self.indices.pop() {
            Some(index) => index as usize,
            None if self.top < limit => {
                self.top += 1;
                self.top - 1
            }
            None => return None,
        };
        if index < self.next {
            self.serial = self.serial.wrapping_add(1);
        }
        self.next = index + 1;
        Some((index, self.serial))
    }
}

impl ProcessTable {
    /// A table for at most `limit` processes.
    pub fn new(limit: usize) -> Result<ProcessTable, OutOfMemory> {
        let limit = limit.clamp(16, MAX_PROCESSES);
        Ok(ProcessTable {
            slots: Reservation::new(limit * size_of::<Slot>())?,
            activity: Activity::new(limit)?,
            limit,
            free: Mutex::default(),
            count: AtomicUsize::new(0),
            highest: AtomicUsize::new(0),
            spawned: AtomicUsize::new(0),
        })
    }

    fn slot(&self, index: usize) -> &AtomicPtr<Process> {
        debug_assert!(index < self.limit);
        // SAFETY: the index is below the limit, and zeroed memory is a null pointer.
        unsafe { &(*self.slots.start().as_ptr().cast::<Slot>().add(index)).process }
    }

    /// Highest number of processes.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// Number of processes now.
    pub fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    /// The highest that the number was.
    pub fn highest_count(&self) -> usize {
        self.highest.load(Ordering::Relaxed)
    }

    /// Processes ever made.
    pub fn spawned(&self) -> usize {
        self.spawned.load(Ordering::Relaxed)
    }

    /// A pid for a new process; `None` when the limit is reached. Give it a process with [`ProcessTable::publish`].
    pub fn reserve(&self) -> Option<Term> {
        let (index, serial) = self.free.lock().take(self.limit)?;
        Some(Term::pid(u64::from(serial) << INDEX_BITS | index as u64))
    }

    /// Makes a process known under its pid, which came from [`ProcessTable::reserve`].
    pub fn publish(&self, process: Process) -> NonNull<Process> {
        let index = index_of(process.pid);
        let process = slab::place(process);
        self.activity.note(index);
        self.slot(index).store(process.as_ptr(), Ordering::Release);
        let count = self.count.fetch_add(1, Ordering::Relaxed) + 1;
        self.highest.fetch_max(count, Ordering::Relaxed);
        self.spawned.fetch_add(1, Ordering::Relaxed);
        process
    }

    /// Calls `use_it` with the process of a pid, if it is alive.
    #[inline]
    pub fn with<R>(&self, pid: Term, use_it: impl FnOnce(&Process) -> R) -> Option<R> {
        let guard = crossbeam_epoch::pin();
        let index = index_of(pid);
        if !pid.is_local_pid() || index >= self.limit {
            return None;
        }
        let process = self.slot(index).load(Ordering::Acquire);
        // SAFETY: a process is freed only when no thread is pinned to an epoch in which it was in the table.
        let process = unsafe { process.as_ref() }?;
        let result = (process.pid == pid).then(|| use_it(process));
        drop(guard);
        result
    }

    /// Whether a process is alive.
    pub fn contains(&self, pid: Term) -> bool {
        self.with(pid, |_| ()).is_some()
    }

    /// Removes a process that has ended; its memory goes when no thread can hold it any more.
    ///
    /// # Safety
    /// The caller runs the process, and does not use it after this thread's pin ends.
    pub unsafe fn remove(&self, process: NonNull<Process>) {
        // SAFETY: the caller runs it.
        let index = index_of(unsafe { process.as_ref() }.pid);
        self.slot(index).store(std::ptr::null_mut(), Ordering::Release);
        self.count.fetch_sub(1, Ordering::Relaxed);
        self.free.lock().indices.push(index as u32);
        let block = Unused(process);
        let guard = crossbeam_epoch::pin();
        // SAFETY: it is in no slot any more, so threads that pin from now on cannot find it.
        unsafe { guard.defer_unchecked(move || block.release()) };
    }

    /// Calls `visit` with every process that is in the table while this runs.
    pub fn each(&self, visit: impl FnMut(&Process)) {
        self.each_from(0, usize::MAX, visit);
    }

    /// Calls `visit` with the processes in up to `most` places of the table from `from` on. Returns where to go on, `None` at the
    /// end.
    pub fn each_from(&self, from: usize, most: usize, mut visit: impl FnMut(&Process)) -> Option<usize> {
        let top = self.free.lock().top;
        let end = from.saturating_add(most).min(top);
        for index in from..end {
            let guard = crossbeam_epoch::pin();
            let process = self.slot(index).load(Ordering::Acquire);
            // SAFETY: as in `with`.
            if let Some(process) = unsafe { process.as_ref() } {
                visit(process);
            }
            drop(guard);
        }
        (end < top).then_some(end)
    }

    /// The process is active: it runs, or has been sent a signal.
    #[inline]
    pub fn note_active(&self, process: &Process) {
        self.activity.note(index_of(process.pid));
    }

    /// Visits the processes that were active since [`ProcessTable::forget_activity`]. The world is stopped.
    pub fn each_active(&self, mut visit: impl FnMut(&Process)) {
        if !self.activity.is_followed() {
            return self.each(visit);
        }
        let top = self.free.lock().top;
        let guard = crossbeam_epoch::pin();
        self.activity.each(top, |index| {
            // SAFETY: as in `with`.
            if let Some(process) = unsafe { self.slot(index).load(Ordering::Acquire).as_ref() } {
                visit(process);
            }
        });
        drop(guard);
    }

    /// From now on only those processes are active that run. The world is stopped.
    pub fn forget_activity(&self) {
        let top = self.free.lock().top;
        let guard = crossbeam_epoch::pin();
        self.activity.forget(top, |index| {
            if index >= self.limit {
                return false;
            }
            // SAFETY: as in `with`.
            let process = unsafe { self.slot(index).load(Ordering::Acquire).as_ref() };
            process.is_some_and(|process| matches!(process.state(), state::RUNNING | state::RUNNING_PENDING))
        });
        drop(guard);
    }

    /// The pids of all processes, those that were made first first.
    pub fn pids(&self) -> Vec<Term> {
        let mut pids = Vec::with_capacity(self.count());
        self.each(|process| pids.push(process.pid));
        pids.sort_unstable_by_key(|pid| pid.immediate_data());
        pids
    }
}

/// A process that is in no table any more.
struct Unused(NonNull<Process>);

// SAFETY: whoever holds it is the last user of the process.
unsafe impl Send for Unused {}

impl Unused {
    fn release(self) {
        // SAFETY: called when no thread can hold the process any more.
        unsafe { slab::release(self.0) }
    }
}

fn index_of(pid: Term) -> usize {
    (pid.immediate_data() & ((1 << INDEX_BITS) - 1)) as usize
}

/// Number and serial of a local pid, as in the external format and in `<0.Number.Serial>`.
pub fn number_and_serial(pid: Term) -> (u32, u32) {
    (index_of(pid) as u32, (pid.immediate_data() >> INDEX_BITS) as u32)
}

/// The pid with this number and serial.
pub fn pid_from(number: u32, serial: u32) -> Term {
    Term::pid(u64::from(serial) << INDEX_BITS | u64::from(number) & ((1 << INDEX_BITS) - 1))
}

#[cfg(test)]
mod tests {
    use super::Free;

    #[test]
    fn pids_grow_although_places_are_used_again() {
        let mut free = Free::default();
        let mut given: Vec<(u32, usize)> = Vec::new();
        for step in 0..30 {
            let (index, serial) = free.take(8).expect("a place is free");
            given.push((serial, index));
            free.indices.push(index as u32);
            if step % 3 == 0 {
                free.indices.pop();
            }
            if free.top == 8 && free.indices.is_empty() {
                free.indices.extend(0..8);
            }
        }
        assert!(given.is_sorted_by(|a, b| a < b), "{given:?}");
        assert!(given.iter().any(|(serial, _)| *serial > 0), "{given:?}");
    }

    #[test]
    fn a_full_table_has_no_place() {
        let mut free = Free::default();
        assert_eq!([free.take(2), free.take(2), free.take(2)], [Some((0, 0)), Some((1, 0)), None]);
        free.indices.push(1);
        assert_eq!(free.take(2), Some((1, 1)));
    }
}
