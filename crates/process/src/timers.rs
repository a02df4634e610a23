//! Timers: `receive after`, `send_after`, `start_timer`. One set for each scheduler, so that a process usually
//! finds the lock free; a timer's number names its set.

use std::collections::{BTreeMap, HashMap};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use atoll_heap::{Fragment, KeptPlace};
use atoll_term::Term;
use parking_lot::Mutex;

use crate::reference::ReferenceId;

/// What happens when a time has come.
#[derive(Debug)]
pub enum Action {
    /// A process's `receive after` ends.
    Wait {
        /// The process.
        pid: Term,
    },
    /// A message is sent.
    Message {
        /// Pid or registered name.
        destination: Term,
        /// The message.
        fragment: NonNull<Fragment>,
        /// The timer's reference.
        reference: ReferenceId,
    },
}

// SAFETY: the fragment is owned by the action.
unsafe impl Send for Action {}

#[derive(Default)]
struct Set {
    by_time: BTreeMap<(i64, u64), Action>,
    times: HashMap<u64, i64>,
}

struct Shard {
    set: Mutex<Set>,
    /// Earliest time in the set, `i64::MAX` if it is empty; read without the lock.
    next: AtomicI64,
}

/// All timers.
pub struct Timers {
    shards: Vec<Shard>,
    numbers: AtomicU64,
    references: Mutex<HashMap<ReferenceId, u64>>,
}

impl Timers {
    /// Sets for this many schedulers.
    pub fn new(shards: usize) -> Timers {
        let shard = || Shard { set: Mutex::default(), next: AtomicI64::new(i64::MAX) };
        Timers {
            shards: (0..shards.max(1)).map(|_| shard()).collect(),
            numbers: AtomicU64::new(1),
            references: Mutex::default(),
        }
    }

    fn shard_of(&self, number: u64) -> &Shard {
        &self.shards[(number % self.shards.len() as u64) as usize]
    }

    /// Starts a timer in the set of `shard`; `time` is monotonic, in nanoseconds. Returns its number, never 0.
    pub fn start(&self, shard: usize, time: i64, action: Action) -> u64 {
        let shards = self.shards.len() as u64;
        let number = self.numbers.fetch_add(1, Ordering::Relaxed) * shards + (shard as u64 % shards);
        if let Action::Message { reference, .. } = &action {
            self.references.lock().insert(*reference, number);
        }
        let shard = self.shard_of(number);
        let mut set = shard.set.lock();
        set.by_time.insert((time, number), action);
        set.times.insert(number, time);
        shard.next.fetch_min(time, Ordering::Release);
        number
    }

    /// Stops a timer; returns the time when it would have come, and its action, if it has not come yet.
    pub fn cancel(&self, number: u64) -> Option<(i64, Action)> {
        let shard = self.shard_of(number);
        let mut set = shard.set.lock();
        let time = set.times.remove(&number)?;
        let action = set.by_time.remove(&(time, number))?;
        drop(set);
        if let Action::Message { reference, .. } = &action {
            self.references.lock().remove(reference);
        }
        Some((time, action))
    }

    /// Stops the timer of a reference.
    pub fn cancel_reference(&self, reference: ReferenceId) -> Option<(i64, Action)> {
        let number = *self.references.lock().get(&reference)?;
        self.cancel(number)
    }

    /// When the timer of a reference comes (monotonic nanoseconds).
    pub fn time_of_reference(&self, reference: ReferenceId) -> Option<i64> {
        let number = *self.references.lock().get(&reference)?;
        self.shard_of(number).set.lock().times.get(&number).copied()
    }

    /// Earliest time in a set, `i64::MAX` if there is none. May be early after a cancelled timer, never late.
    #[inline]
    pub fn next_time(&self, shard: usize) -> i64 {
        self.shards[shard].next.load(Ordering::Acquire)
    }

    /// Takes the timers of a set whose time has come.
    pub fn take_due(&self, shard: usize, now: i64) -> Vec<(u64, Action)> {
        let shard = &self.shards[shard];
        let mut due = Vec::new();
        let mut set = shard.set.lock();
        while let Some(entry) = set.by_time.first_entry() {
            if entry.key().0 > now {
                break;
            }
            let ((_, number), action) = entry.remove_entry();
            set.times.remove(&number);
            due.push((number, action));
        }
        let next = set.by_time.first_key_value().map_or(i64::MAX, |((time, _), _)| *time);
        shard.next.store(next, Ordering::Release);
        drop(set);
        let messages = due.iter().filter_map(|(_, action)| match action {
            Action::Message { reference, .. } => Some(reference),
            Action::Wait { .. } => None,
        });
        for reference in messages {
            self.references.lock().remove(reference);
        }
        due
    }

    /// Visits the terms of all messages that are to be sent; the world is stopped.
    pub fn each_term(&self, visit: &mut dyn FnMut(*mut Term, usize)) {
        let mut place = Some(KeptPlace::START);
        while let Some(from) = place {
            place = self.each_message(from, usize::MAX, &mut |fragment| visit(&raw mut fragment.term, 1));
        }
    }

    /// Visits messages that are to be sent, from a place on: those of so many timers of one set at most. Where to go on.
    pub fn each_message(
        &self,
        from: KeptPlace,
        most: usize,
        visit: &mut dyn FnMut(&mut Fragment),
    ) -> Option<KeptPlace> {
        let shard = self.shards.get(from.set)?;
        let mut set = shard.set.lock();
        let mut timers = set.by_time.range_mut(from.first..);
        for (_, action) in timers.by_ref().take(most) {
            if let Action::Message { fragment, .. } = action {
                // SAFETY: the action owns its fragment.
                visit(unsafe { fragment.as_mut() });
            }
        }
        match timers.next() {
            Some((first, _)) => Some(KeptPlace { first: *first, ..from }),
            None => Some(KeptPlace { set: from.set + 1, ..KeptPlace::START }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timers_come_in_order_and_can_be_cancelled() {
        let timers = Timers::new(2);
        let wait = |data| Action::Wait { pid: Term::pid(data) };
        let late = timers.start(1, 300, wait(3));
        let early = timers.start(1, 100, wait(1));
        timers.start(1, 200, wait(2));
        assert_eq!(timers.next_time(1), 100);
        assert_eq!(timers.next_time(0), i64::MAX);
        assert!(timers.cancel(early).is_some());
        assert!(timers.cancel(early).is_none());
        let due = timers.take_due(1, 250);
        assert!(matches!(due[..], [(_, Action::Wait { pid })] if pid == Term::pid(2)));
        assert_eq!(timers.next_time(1), 300);
        assert!(timers.cancel(late).is_some());
        assert!(timers.take_due(1, 1000).is_empty());
    }

    #[test]
    fn messages_are_visited_in_portions() {
        let timers = Timers::new(2);
        let mut numbers = Vec::new();
        for value in 0..50 {
            let mut fragment = Fragment::new(0);
            // SAFETY: the fragment is new.
            unsafe { fragment.as_mut().term = Term::small(value) };
            let (destination, reference) = (Term::pid(1), ReferenceId::fresh());
            numbers.push(timers.start(
                value as usize % 2,
                value % 7,
                Action::Message { destination, fragment, reference },
            ));
        }
        let (mut place, mut seen) = (Some(KeptPlace::START), Vec::new());
        while let Some(from) = place {
            let before = seen.len();
            place = timers.each_message(from, 4, &mut |message| seen.push(message.term.small_value()));
            assert!(seen.len() <= before + 4);
        }
        seen.sort_unstable();
        assert!(seen.into_iter().eq(0..50));
        for number in numbers {
            let Some((_, Action::Message { fragment, .. })) = timers.cancel(number) else { panic!("no message") };
            // SAFETY: the fragment is ours again.
            unsafe { Fragment::free(fragment) };
        }
    }
}
