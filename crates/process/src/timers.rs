//! Timers: `receive after`, `send_after`, `start_timer`. One set for each scheduler, so that a process usually
//! finds the lock free; a timer's number names its set. A message to a pid goes away with its process.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use atoll_heap::{Fragment, KeptPlace, Message};
use atoll_platform::sync::{AtomicI64, AtomicU64, Mutex, Ordering};
use atoll_term::Term;

use crate::at_end::TimerSets;
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
        message: Message,
        /// The timer's reference.
        reference: ReferenceId,
    },
}

/// When a timer comes (monotonic nanoseconds), and its number.
type Place = (i64, u64);

#[derive(Default)]
struct Set {
    by_time: BTreeMap<Place, Action>,
    /// Times of [`Action::Wait`], by their numbers.
    waits: HashMap<u64, i64>,
    /// Data of pids that messages go to, and their places.
    by_process: BTreeSet<(u64, Place)>,
}

impl Set {
    fn insert(&mut self, place: Place, action: Action) {
        match &action {
            Action::Wait { .. } => {
                self.waits.insert(place.1, place.0);
            }
            Action::Message { destination, .. } if destination.is_atom() => {}
            Action::Message { destination, .. } => {
                self.by_process.insert((destination.immediate_data(), place));
            }
        }
        self.by_time.insert(place, action);
    }

    fn remove(&mut self, place: Place) -> Option<Action> {
        let action = self.by_time.remove(&place)?;
        self.forget(place, &action);
        Some(action)
    }

    /// The timer of this place is taken out.
    fn forget(&mut self, place: Place, action: &Action) {
        match action {
            Action::Wait { .. } => {
                self.waits.remove(&place.1);
            }
            Action::Message { destination, .. } if destination.is_atom() => {}
            Action::Message { destination, .. } => {
                self.by_process.remove(&(destination.immediate_data(), place));
            }
        }
    }

    /// Takes out up to `most` messages to a process.
    fn take_messages_to(&mut self, pid: Term, most: usize) -> Vec<Action> {
        let data = pid.immediate_data();
        let all = (data, (i64::MIN, 0))..=(data, (i64::MAX, u64::MAX));
        let places: Vec<Place> = self.by_process.range(all).map(|(_, place)| *place).take(most).collect();
        places.into_iter().filter_map(|place| self.remove(place)).collect()
    }
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
    references: Mutex<HashMap<ReferenceId, Place>>,
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
            self.references.lock().insert(*reference, (time, number));
        }
        let shard = self.shard_of(number);
        let mut set = shard.set.lock();
        set.insert((time, number), action);
        shard.next.fetch_min(time, Ordering::Release);
        number
    }

    /// Stops the timer of a `receive`, if it has not come yet.
    pub fn cancel_wait(&self, number: u64) {
        let mut set = self.shard_of(number).set.lock();
        if let Some(time) = set.waits.get(&number).copied() {
            set.remove((time, number));
        }
    }

    /// Stops the timer of a reference; returns the time when it would have come, and its message, if it has not come
    /// yet.
    pub fn cancel_reference(&self, reference: ReferenceId) -> Option<(i64, Message)> {
        let place = *self.references.lock().get(&reference)?;
        let action = self.shard_of(place.1).set.lock().remove(place)?;
        self.references.lock().remove(&reference);
        match action {
            Action::Message { message, .. } => Some((place.0, message)),
            Action::Wait { .. } => None,
        }
    }

    /// When the timer of a reference comes (monotonic nanoseconds).
    pub fn time_of_reference(&self, reference: ReferenceId) -> Option<i64> {
        let place = *self.references.lock().get(&reference)?;
        self.shard_of(place.1).set.lock().by_time.contains_key(&place).then_some(place.0)
    }

    /// Takes away what would be sent to a process that has ended, from sets that have had something for it.
    pub fn forget_process(&self, pid: Term, sets: TimerSets) {
        /// How many a set is locked for.
        const PORTION: usize = 100;
        for (_, shard) in self.shards.iter().enumerate().filter(|(index, _)| sets.may_contain(*index)) {
            loop {
                let actions = shard.set.lock().take_messages_to(pid, PORTION);
                let is_last = actions.len() < PORTION;
                for action in actions {
                    if let Action::Message { reference, .. } = action {
                        self.references.lock().remove(&reference);
                    }
                }
                if is_last {
                    break;
                }
            }
        }
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
            let (place, action) = entry.remove_entry();
            set.forget(place, &action);
            due.push((place.1, action));
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
            place = self.each_message(from, usize::MAX, &mut |message| visit(message.term_place(), 1));
        }
    }

    /// Visits messages that are to be sent, from a place on: those of so many timers of one set at most. Where to go
    /// on.
    pub fn each_message(&self, from: KeptPlace, most: usize, visit: &mut dyn FnMut(&Fragment)) -> Option<KeptPlace> {
        let shard = self.shards.get(from.set)?;
        let mut set = shard.set.lock();
        let mut timers = set.by_time.range_mut(from.first..);
        for (_, action) in timers.by_ref().take(most) {
            if let Action::Message { message, .. } = action {
                visit(message);
            }
        }
        match timers.next() {
            Some((first, _)) => Some(KeptPlace { first: *first, ..from }),
            None => Some(KeptPlace { set: from.set + 1, ..KeptPlace::START }),
        }
    }
}

#[cfg(all(test, loom))]
#[path = "timers_model.rs"]
mod timers_model;

#[cfg(all(test, not(loom)))]
mod tests {
    use atoll_term::Immediate;

    use super::*;
    use crate::at_end::AtEnd;

    #[test]
    fn timers_come_in_order_and_can_be_cancelled() {
        let timers = Timers::new(2);
        let wait = |data| Action::Wait { pid: Term::pid(data) };
        let late = timers.start(1, 300, wait(3));
        let early = timers.start(1, 100, wait(1));
        timers.start(1, 200, wait(2));
        assert_eq!(timers.next_time(1), 100);
        assert_eq!(timers.next_time(0), i64::MAX);
        timers.cancel_wait(early);
        timers.cancel_wait(early);
        let due = timers.take_due(1, 250);
        assert!(matches!(due[..], [(_, Action::Wait { pid })] if pid == Term::pid(2)));
        assert_eq!(timers.next_time(1), 300);
        timers.cancel_wait(late);
        assert!(timers.take_due(1, 1000).is_empty());
    }

    #[test]
    fn messages_are_visited_in_portions() {
        let timers = Timers::new(2);
        let references: Vec<ReferenceId> =
            (0..50).map(|value| message(&timers, value as usize % 2, value % 7, Term::pid(1), value)).collect();
        let (mut place, mut seen) = (Some(KeptPlace::START), Vec::new());
        while let Some(from) = place {
            let before = seen.len();
            place = timers.each_message(from, 4, &mut |message| seen.push(message.term().small_value()));
            assert!(seen.len() <= before + 4);
        }
        seen.sort_unstable();
        assert!(seen.into_iter().eq(0..50));
        for reference in references {
            assert!(timers.cancel_reference(reference).is_some());
        }
        check_empty(&timers);
    }

    /// Starts a timer that sends a number.
    fn message(timers: &Timers, set: usize, time: i64, destination: Term, value: i64) -> ReferenceId {
        let message = Message::immediate(Immediate::or_none(Term::small(value)));
        let reference = ReferenceId([value as u32, 0, 0]);
        timers.start(set, time, Action::Message { destination, message, reference });
        reference
    }

    fn check_empty(timers: &Timers) {
        assert!(timers.references.lock().is_empty());
        for shard in &timers.shards {
            let set = shard.set.lock();
            assert!(set.by_time.is_empty() && set.waits.is_empty() && set.by_process.is_empty());
        }
    }

    #[test]
    fn what_is_sent_to_a_process_goes_with_it() {
        let (timers, at_end) = (Timers::new(20), AtEnd::default());
        let (ended, other, name) = (Term::pid(7), Term::pid(8), Term::atom(7));
        let mut references = Vec::new();
        for value in 0..if cfg!(miri) { 40 } else { 1_000 } {
            // Two sets, of which the second has a bit in common with one that is empty.
            let set = [3, 17][value as usize % 2];
            references.push(message(&timers, set, value % 7, ended, value));
            at_end.note_timer(set);
        }
        let kept = [message(&timers, 3, 5, other, -1), message(&timers, 3, 5, name, -2)];
        timers.start(3, 6, Action::Wait { pid: other });
        assert_eq!(timers.time_of_reference(references[13]), Some(6));
        timers.forget_process(ended, at_end.timers());
        for reference in references {
            assert_eq!(timers.time_of_reference(reference), None);
            assert!(timers.cancel_reference(reference).is_none());
        }
        assert_eq!(kept.map(|reference| timers.time_of_reference(reference)), [Some(5); 2]);
        let due = timers.take_due(3, 10);
        assert_eq!((due.len(), timers.take_due(17, 10).len()), (3, 0));
        check_empty(&timers);
    }
}
