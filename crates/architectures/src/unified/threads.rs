//! What each scheduler thread keeps: a part of the heap to allocate in, grey objects of its barrier, and the phase that
//! it has heard of.

use std::cell::RefCell;
use std::num::NonZeroU16;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use atoll_term::Word;

use super::full::Found;
use super::nursery::Nursery;
use super::space::Owned;

/// What others see of a thread.
#[derive(Debug)]
pub(super) struct Record {
    /// The epoch that it has heard of.
    heard: AtomicU32,
    /// It holds nothing of the heap, and hears of the epoch before it does.
    is_away: AtomicBool,
}

/// All threads.
#[derive(Debug, Default)]
pub(super) struct Threads {
    records: Mutex<Vec<Arc<Record>>>,
    /// How many there have been.
    count: AtomicU32,
}

impl Threads {
    fn records(&self) -> MutexGuard<'_, Vec<Arc<Record>>> {
        self.records.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Whether all threads know of this epoch.
    pub(super) fn have_heard(&self, epoch: u32) -> bool {
        let knows = |record: &Arc<Record>| {
            // Of a thread that has ended nobody else has the record.
            record.is_away.load(Ordering::SeqCst)
                || record.heard.load(Ordering::SeqCst) == epoch
                || Arc::strong_count(record) == 1
        };
        self.records().iter().all(knows)
    }

    /// The number of a new thread. `None`: there have been too many to number them.
    fn number(&self) -> Option<NonZeroU16> {
        let count = |count: u32| Some(count.saturating_add(1));
        let count = self.count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, count).unwrap_or(u32::MAX);
        u16::try_from(count).ok().and_then(|count| NonZeroU16::new(count.wrapping_add(1)))
    }

    fn enter(&self) -> Arc<Record> {
        let record = Arc::new(Record { heard: AtomicU32::new(0), is_away: AtomicBool::new(true) });
        let mut records = self.records();
        records.retain(|record| Arc::strong_count(record) > 1);
        records.push(Arc::clone(&record));
        record
    }
}

/// What a thread keeps.
#[derive(Debug)]
pub(super) struct Local {
    record: Arc<Record>,
    /// The thread's number; without one it has no nursery.
    pub(super) number: Option<NonZeroU16>,
    /// See [`Record::is_away`].
    is_away: bool,
    pub(super) nursery: Nursery,
    /// Free words: the first, and the one behind them. The process that runs borrows them.
    pub(super) top: *mut Word,
    pub(super) limit: *mut Word,
    /// Where it takes lines from.
    pub(super) owned: Option<Owned>,
    /// Lines that it has taken of which others do not know.
    pub(super) untold: usize,
    /// Buffers that it has taken since it had nothing to run, until it takes long ones.
    pub(super) buffers: usize,
    /// The cycle to which what it allocates belongs.
    pub(super) cycle: u32,
    /// Objects that its barrier has found, of the cycle `grey_of`.
    pub(super) grey: Found,
    pub(super) grey_of: u32,
    /// Collections in a stopped world of which it knows: they make void what it has.
    pub(super) stops: u32,
    /// Words taken for which it has not worked for the collector.
    pub(super) unpaid: usize,
    /// The same for the full marking.
    pub(super) unpaid_to_full: usize,
    /// What it has worked for last was the full marking rather than a cycle.
    pub(super) paid_full: bool,
    /// Words that it has marked in this cycle beside those that it owed.
    pub(super) paid: usize,
    /// Until then it does not work for the collector, unless that is far behind.
    pub(super) rests_until: i64,
    /// The same while it is, the cycle or the full marking.
    pub(super) rests_behind_until: i64,
    /// Time slices since it worked for the collector, or had nothing to run.
    pub(super) slices: u32,
}

impl Local {
    fn new(threads: &Threads) -> Local {
        Local {
            record: threads.enter(),
            number: threads.number(),
            is_away: true,
            nursery: Nursery::new(),
            top: super::buffer::NOWHERE,
            limit: super::buffer::NOWHERE,
            owned: None,
            untold: 0,
            buffers: 0,
            cycle: 0,
            stops: 0,
            grey: Found::default(),
            grey_of: 0,
            unpaid: 0,
            unpaid_to_full: 0,
            paid_full: false,
            paid: 0,
            rests_until: i64::MIN,
            rests_behind_until: i64::MIN,
            slices: 0,
        }
    }

    /// The words that it has to mark now for those that it has taken, so many for each.
    pub(super) fn owes(&mut self, for_each: usize) -> usize {
        let owed = std::mem::take(&mut self.unpaid) * for_each;
        let spared = owed.min(self.paid);
        self.paid -= spared;
        owed - spared
    }

    /// The epoch that it has heard of.
    #[inline(always)]
    pub(super) fn heard(&self) -> u32 {
        self.record.heard.load(Ordering::Relaxed)
    }

    /// It has heard of an epoch, and done what that asks for.
    pub(super) fn hears(&self, epoch: u32) {
        self.record.heard.store(epoch, Ordering::SeqCst);
    }

    /// Whether no collector waits for it.
    #[inline(always)]
    pub(super) fn is_away(&self) -> bool {
        self.is_away
    }

    /// Collectors wait for it from now on, or do not: then it has nothing of the heap.
    pub(super) fn set_away(&mut self, is_away: bool) {
        self.is_away = is_away;
        self.record.is_away.store(is_away, Ordering::SeqCst);
    }
}

thread_local! {
    static LOCAL: RefCell<Option<Local>> = const { RefCell::new(None) };
}

/// Calls `use_it` with what this thread keeps for the machine with these threads, which it works for.
#[inline]
pub(super) fn local<R>(threads: &Threads, use_it: impl FnOnce(&mut Local) -> R) -> R {
    LOCAL.with_borrow_mut(|local| use_it(local.get_or_insert_with(|| Local::new(threads))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_have_numbers_of_their_own_as_long_as_there_are_some() {
        let threads = Threads::default();
        let number = || threads.number().map(NonZeroU16::get);
        assert_eq!([number(), number()], [Some(1), Some(2)]);
        threads.count.store(u32::from(u16::MAX) - 1, Ordering::Relaxed);
        assert_eq!([number(), number()], [Some(u16::MAX), None]);
        threads.count.store(u32::MAX, Ordering::Relaxed);
        assert_eq!([number(), number()], [None, None]);
    }
}
