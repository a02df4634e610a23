//! The process table: from pid to process without a lock. A process found here stays valid while the thread is
//! pinned to the present epoch, even if it ends meanwhile.

use std::ptr::NonNull;
use std::sync::atomic::AtomicUsize;

use atoll_platform::OutOfMemory;
use atoll_platform::sync::{AtomicPtr, Mutex, Ordering};
use atoll_term::Term;

use crate::activity::Activity;
use crate::process::Process;
use crate::run_state::state;
use crate::slab;

/// Highest process limit.
pub const MAX_PROCESSES: usize = (1 << 27) - 1;
/// Default process limit, as in OTP 25.
pub const DEFAULT_PROCESSES: usize = 262_144;

/// The places of a table, empty at first.
#[cfg(not(loom))]
struct Slots(atoll_platform::Reservation);
/// Loom's atomics are no memory that is zero.
#[cfg(loom)]
struct Slots(Vec<AtomicPtr<Process>>);

#[cfg(not(loom))]
impl Slots {
    fn new(limit: usize) -> Result<Slots, OutOfMemory> {
        Ok(Slots(atoll_platform::Reservation::new(limit * size_of::<AtomicPtr<Process>>())?))
    }

    /// The place at an index below the limit.
    #[inline]
    unsafe fn at(&self, index: usize) -> &AtomicPtr<Process> {
        // SAFETY: the caller knows that the index is below the limit, and zeroed memory is a null pointer.
        unsafe { &*self.0.start().as_ptr().cast::<AtomicPtr<Process>>().add(index) }
    }
}

#[cfg(loom)]
impl Slots {
    fn new(limit: usize) -> Result<Slots, OutOfMemory> {
        Ok(Slots((0..limit).map(|_| AtomicPtr::new(std::ptr::null_mut())).collect()))
    }

    unsafe fn at(&self, index: usize) -> &AtomicPtr<Process> {
        &self.0[index]
    }
}

/// Keeps what is found in the table valid on this thread; finding something costs less meanwhile.
pub struct Pinned(#[expect(dead_code, reason = "held for its end")] crossbeam_epoch::Guard);

/// Nothing that leaves the table is freed from now on until the end of what this gives, so it is to be held for a short
/// time. What left it long ago is freed now: the library does so by itself at every 128th pin only, which is too seldom
/// for pins that are held.
#[inline]
pub fn pin() -> Pinned {
    let guard = crossbeam_epoch::pin();
    guard.flush();
    Pinned(guard)
}

/// A process that was in the table. Its memory stays for as long as this does.
pub(crate) struct Found<'t> {
    pub(crate) process: &'t Process,
    _pin: crossbeam_epoch::Guard,
}

/// All processes.
pub struct ProcessTable {
    slots: Slots,
    activity: Activity,
    limit: usize,
    places: Mutex<Places>,
    /// Place of a pid: these bits of its number.
    place_bits: u64,
    count: AtomicUsize,
    highest: AtomicUsize,
    spawned: AtomicUsize,
}

/// Which places of a table are taken. Pids count up, and the lowest bits of a pid are its place: a place is used again
/// when all behind it have had their turn, and no two processes ever have the same pid.
#[derive(Default)]
struct Places {
    /// A bit for each place; what is not there yet is free.
    taken: Vec<u64>,
    count: usize,
    /// Places below this were used at least once.
    top: usize,
    /// The smallest number that the next pid can have.
    next: u64,
}

const BITS: usize = u64::BITS as usize;

impl Places {
    /// The number of a new pid in a table of `limit` places, larger than all before.
    fn take(&mut self, limit: usize) -> Option<u64> {
        if self.count == limit {
            return None;
        }
        let round = limit.next_power_of_two() as u64;
        loop {
            let from = self.next % round;
            let Some(place) = self.free_from(from as usize, limit) else {
                self.next += round - from;
                continue;
            };
            if self.taken.len() <= place / BITS {
                self.taken.resize(place / BITS + 1, 0);
            }
            self.taken[place / BITS] |= 1 << (place % BITS);
            self.count += 1;
            self.top = self.top.max(place + 1);
            let number = self.next - from + place as u64;
            self.next = number + 1;
            return Some(number);
        }
    }

    /// The first free place from `from` on.
    fn free_from(&self, from: usize, limit: usize) -> Option<usize> {
        let taken = |group: usize| self.taken.get(group).copied().unwrap_or(0);
        let mut group = from / BITS;
        let mut bits = taken(group) | ((1 << (from % BITS)) - 1);
        while bits == u64::MAX {
            group += 1;
            if group * BITS >= limit {
                return None;
            }
            bits = taken(group);
        }
        Some(group * BITS + bits.trailing_ones() as usize).filter(|place| *place < limit)
    }

    fn give_back(&mut self, place: usize) {
        self.taken[place / BITS] &= !(1 << (place % BITS));
        self.count -= 1;
    }

    /// The places from `from` to `end` that are taken.
    fn taken_in(&self, from: usize, end: usize) -> Vec<usize> {
        let groups = self.taken.iter().enumerate().take(end.div_ceil(BITS)).skip(from / BITS);
        let mut places = Vec::new();
        for (group, bits) in groups {
            let mut bits = *bits;
            while bits != 0 {
                places.push(group * BITS + bits.trailing_zeros() as usize);
                bits &= bits - 1;
            }
        }
        places.retain(|place| (from..end).contains(place));
        places
    }
}

impl ProcessTable {
    /// A table for at most `limit` processes.
    pub fn new(limit: usize) -> Result<ProcessTable, OutOfMemory> {
        let limit = limit.clamp(16, MAX_PROCESSES);
        Ok(ProcessTable {
            slots: Slots::new(limit)?,
            activity: Activity::new(limit)?,
            limit,
            places: Mutex::default(),
            place_bits: limit.next_power_of_two() as u64 - 1,
            count: AtomicUsize::new(0),
            highest: AtomicUsize::new(0),
            spawned: AtomicUsize::new(0),
        })
    }

    fn slot(&self, index: usize) -> &AtomicPtr<Process> {
        debug_assert!(index < self.limit);
        // SAFETY: the index is below the limit.
        unsafe { self.slots.at(index) }
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
        self.places.lock().take(self.limit).map(Term::pid)
    }

    /// Above the numbers of all pids that were ever given out.
    pub fn next_number(&self) -> u64 {
        self.places.lock().next
    }

    fn index_of(&self, pid: Term) -> usize {
        (pid.immediate_data() & self.place_bits) as usize
    }

    /// Makes a process known under its pid, which came from [`ProcessTable::reserve`].
    pub fn publish(&self, process: Process) -> NonNull<Process> {
        let index = self.index_of(process.pid);
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
        self.find(pid).map(|found| use_it(found.process))
    }

    /// The process of a pid, if it is alive.
    #[inline]
    pub(crate) fn find(&self, pid: Term) -> Option<Found<'_>> {
        let index = self.index_of(pid);
        if !pid.is_local_pid() || index >= self.limit {
            return None;
        }
        let pin = crossbeam_epoch::pin();
        let process = self.slot(index).load(Ordering::Acquire);
        // SAFETY: a process is freed only when no thread is pinned to an epoch in which it was in the table.
        let process = unsafe { process.as_ref() }?;
        (process.pid == pid).then_some(Found { process, _pin: pin })
    }

    /// Whether a process is alive.
    pub fn contains(&self, pid: Term) -> bool {
        self.with(pid, |_| ()).is_some()
    }

    /// Removes a process that has ended; its memory goes when no thread can hold it any more.
    ///
    /// # Safety
    /// The caller runs the process, and does not use it after this thread's pin ends.
    pub unsafe fn remove(&self, process: &Process) {
        let index = self.index_of(process.pid);
        // The table's own pointer may write the memory when it is used again.
        let process = self.slot(index).swap(std::ptr::null_mut(), Ordering::AcqRel);
        self.count.fetch_sub(1, Ordering::Relaxed);
        self.places.lock().give_back(index);
        let Some(process) = NonNull::new(process) else { return };
        let block = Unused(process);
        let guard = crossbeam_epoch::pin();
        // SAFETY: it is in no slot any more, so threads that pin from now on cannot find it.
        unsafe { guard.defer_unchecked(move || block.release()) };
    }

    /// Calls `visit` with every process that is in the table while this runs.
    pub fn each(&self, visit: impl FnMut(&Process)) {
        self.each_from(0, usize::MAX, visit);
    }

    /// Calls `visit` with the processes in up to `most` places of the table from `from` on. Returns where to go on,
    /// `None` at the end.
    pub fn each_from(&self, from: usize, most: usize, mut visit: impl FnMut(&Process)) -> Option<usize> {
        let (top, end, taken) = {
            let places = self.places.lock();
            let end = from.saturating_add(most).min(places.top);
            (places.top, end, places.taken_in(from, end))
        };
        for index in taken {
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
        self.activity.note(self.index_of(process.pid));
    }

    /// Visits the processes that were active since [`ProcessTable::forget_activity`]. The world is stopped.
    pub fn each_active(&self, mut visit: impl FnMut(&Process)) {
        if !self.activity.is_followed() {
            return self.each(visit);
        }
        let top = self.places.lock().top;
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
        let top = self.places.lock().top;
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

// SAFETY: the holder is the last user of the process.
unsafe impl Send for Unused {}

impl Unused {
    fn release(self) {
        // SAFETY: called when no thread can hold the process any more.
        unsafe { slab::release(self.0) }
    }
}

#[cfg(all(test, loom))]
#[path = "table_model.rs"]
mod table_model;

#[cfg(test)]
mod tests {
    use super::Places;

    #[test]
    fn pids_count_up_and_never_come_again() {
        let mut places = Places::default();
        let first: Vec<_> = (0..3).map(|_| places.take(8)).collect();
        assert_eq!(first, [Some(0), Some(1), Some(2)]);
        places.give_back(0);
        places.give_back(2);
        // What ended is not used again before all other places were.
        let more: Vec<_> = (0..7).map(|_| places.take(8)).collect();
        assert_eq!(more, [Some(3), Some(4), Some(5), Some(6), Some(7), Some(8), Some(10)]);
        assert_eq!((places.take(8), places.top, places.taken_in(0, 8)), (None, 8, (0..8).collect()));
        places.give_back(1);
        assert_eq!((places.take(8), places.next), (Some(17), 18));
    }

    #[test]
    fn a_table_whose_size_is_no_power_of_two() {
        let mut places = Places::default();
        let mut given = Vec::new();
        for _ in 0..20 {
            let number = places.take(70).unwrap();
            places.give_back(number as usize % 128);
            given.push(number);
        }
        assert_eq!(given, (0..20).collect::<Vec<_>>());
        let all: Vec<_> = (0..70).map(|_| places.take(70).unwrap()).collect();
        assert!(all.is_sorted() && all.iter().all(|number| number % 128 < 70), "{all:?}");
        assert_eq!((places.take(70), places.taken_in(60, 66)), (None, (60..66).collect()));
        places.give_back(69);
        assert_eq!(places.take(70), Some(128 + 69));
    }
}
