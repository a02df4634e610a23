//! A run queue: processes that want to run, in one of two orders ([`Order`]).

use std::collections::{BTreeMap, VecDeque};

use atoll_platform::clock;
use atoll_platform::sync::{AtomicI64, AtomicUsize, Mutex, Ordering};
use atoll_process::{Priority, Queued, Urgency};

/// Of this many turns, one goes to a process that would come later: of `normal` processes, to a `low` one; by urgency,
/// to the one below `high` that has waited longest.
const TURNS_FOR_LATER: u32 = 8;

/// Which process comes first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// By OTP's four levels; first come, first served within one.
    #[default]
    Levels,
    /// By urgency: priority, then deadline; first come, first served among equals.
    Urgency,
}

/// Where a process stands in a queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Standing {
    pub level: Priority,
    /// Looked at where that is the order.
    pub urgency: Urgency,
}

impl Standing {
    /// That of a level.
    #[inline]
    pub const fn of(level: Priority) -> Standing {
        Standing { level, urgency: Urgency::of(level) }
    }

    /// The more urgent of both.
    pub fn or(self, other: Standing) -> Standing {
        let urgency = if other.urgency.order(self.urgency).is_lt() { other.urgency } else { self.urgency };
        Standing { level: self.level.min(other.level), urgency }
    }
}

/// OTP's levels.
#[derive(Default)]
struct Levels {
    by_priority: [VecDeque<Queued>; 4],
    low_turn: u32,
}

impl Levels {
    fn pop(&mut self) -> Option<(Queued, Standing)> {
        for priority in [Priority::Max, Priority::High] {
            if let Some(process) = self.by_priority[priority as usize].pop_front() {
                return Some((process, Standing::of(priority)));
            }
        }
        let [.., normal, low] = &mut self.by_priority;
        self.low_turn += 1;
        let low_first = !low.is_empty() && self.low_turn >= TURNS_FOR_LATER;
        if low_first {
            self.low_turn = 0;
        } else if let Some(process) = normal.pop_front() {
            return Some((process, Standing::of(Priority::Normal)));
        }
        low.pop_front().map(|process| (process, Standing::of(Priority::Low)))
    }
}

/// An urgency as a number that is the smaller, the earlier the process comes: priority, then deadline.
type Place = (u64, i64);

fn place(urgency: Urgency) -> Place {
    // Adding zero makes one of both zeros; then the bits of a float, turned over for negative ones, order as it does.
    let bits = (urgency.priority + 0.0).to_bits();
    let rising = if bits >> 63 == 0 { bits | 1 << 63 } else { !bits };
    (!rising, urgency.deadline)
}

/// By urgency.
#[derive(Default)]
struct Urgent {
    /// By urgency, then by the number of their coming.
    waiting: BTreeMap<(Place, u64), (Queued, Standing)>,
    /// Those below `high` by the number of their coming.
    later: BTreeMap<u64, Place>,
    came: u64,
    /// Turns since the one that has waited longest changed.
    turn: u32,
}

impl Urgent {
    fn push(&mut self, process: Queued, standing: Standing) {
        let place = place(standing.urgency);
        self.came += 1;
        self.waiting.insert((place, self.came), (process, standing));
        if standing.urgency.priority < Urgency::of(Priority::High).priority {
            self.later.insert(self.came, place);
        }
    }

    fn pop(&mut self) -> Option<(Queued, Standing)> {
        let (&(mut key), _) = self.waiting.first_key_value()?;
        // Those from `high` on come before all others, as OTP's do.
        if self.later.contains_key(&key.1) {
            let (&came, &place) = self.later.first_key_value()?;
            self.turn += 1;
            if self.turn >= TURNS_FOR_LATER {
                key = (place, came);
            }
            if key.1 == came {
                self.turn = 0;
            }
        }
        self.later.remove(&key.1);
        self.waiting.remove(&key)
    }
}

enum Queues {
    Levels(Levels),
    Urgent(Urgent),
}

/// One scheduler's run queue.
pub struct RunQueue {
    queues: Mutex<Queues>,
    /// Changed under the lock.
    length: AtomicUsize,
    /// Since when two or more have been waiting, as far as anybody asked for it; 0: nobody did.
    crowded_since: AtomicI64,
    /// By urgency: the first one's priority and deadline as [`Place`] has them, for those who ask without the lock.
    first: [AtomicI64; 2],
}

/// What [`RunQueue::first`] says of an empty queue.
const NOTHING: [i64; 2] = [i64::MAX; 2];

impl RunQueue {
    pub fn new(order: Order) -> RunQueue {
        let queues = match order {
            Order::Levels => Queues::Levels(Levels::default()),
            Order::Urgency => Queues::Urgent(Urgent::default()),
        };
        RunQueue {
            queues: Mutex::new(queues),
            length: AtomicUsize::new(0),
            crowded_since: AtomicI64::new(0),
            first: NOTHING.map(AtomicI64::new),
        }
    }

    /// Adds a process; returns how many there are now.
    #[inline]
    pub fn push(&self, process: Queued, standing: Standing) -> usize {
        let mut queues = self.queues.lock();
        match &mut *queues {
            Queues::Levels(levels) => levels.by_priority[standing.level as usize].push_back(process),
            Queues::Urgent(urgent) => {
                urgent.push(process, standing);
                self.publish(urgent);
            }
        }
        let length = self.length.load(Ordering::Relaxed) + 1;
        self.length.store(length, Ordering::Relaxed);
        length
    }

    /// Takes the process whose turn it is.
    #[inline]
    pub fn pop(&self) -> Option<Queued> {
        self.pop_with_standing().map(|(process, _)| process)
    }

    /// As [`RunQueue::pop`], with where it stood in the queue, which may not be its own urgency.
    #[inline]
    pub fn pop_with_standing(&self) -> Option<(Queued, Standing)> {
        if self.len() == 0 {
            return None;
        }
        let mut queues = self.queues.lock();
        let process = match &mut *queues {
            Queues::Levels(levels) => levels.pop()?,
            Queues::Urgent(urgent) => {
                let process = urgent.pop()?;
                self.publish(urgent);
                process
            }
        };
        let length = self.length.load(Ordering::Relaxed) - 1;
        self.length.store(length, Ordering::Relaxed);
        if length < 2 && self.crowded_since.load(Ordering::Relaxed) != 0 {
            self.crowded_since.store(0, Ordering::Relaxed);
        }
        Some(process)
    }

    /// Whether two or more processes have been waiting for so many nanoseconds. Time counts from the first call on that
    /// finds two.
    pub fn is_crowded_for(&self, nanoseconds: i64) -> bool {
        if self.len() < 2 || nanoseconds == 0 {
            return self.len() >= 2;
        }
        let now = clock::monotonic();
        let since = self.crowded_since.load(Ordering::Relaxed);
        if since == 0 {
            self.crowded_since.store(now, Ordering::Relaxed);
        }
        since != 0 && now - since >= nanoseconds
    }

    /// What waits here has waited for a whole slice, longer than any time that is asked for.
    pub fn has_waited_long(&self) {
        self.crowded_since.store(i64::MIN / 2, Ordering::Relaxed);
    }

    /// Another scheduler has taken a process: time counts anew.
    pub fn was_relieved(&self) {
        self.crowded_since.store(0, Ordering::Relaxed);
    }

    fn publish(&self, urgent: &Urgent) {
        let first =
            urgent.waiting.first_key_value().map(|(&((priority, deadline), _), _)| [ordered(priority), deadline]);
        for (place, word) in self.first.iter().zip(first.unwrap_or(NOTHING)) {
            place.store(word, Ordering::Relaxed);
        }
    }

    /// By urgency: what the first process's is, the smaller the earlier; it may change at once.
    pub fn first(&self) -> [i64; 2] {
        [0, 1].map(|index| self.first[index].load(Ordering::Relaxed))
    }

    /// Number of processes.
    #[inline]
    pub fn len(&self) -> usize {
        self.length.load(Ordering::Relaxed)
    }

    /// As [`RunQueue::len`], with an order among threads: this sees each process that was added before, and a thread
    /// that adds one later sees what this thread did before. With plain loads, each could miss the other's write.
    pub fn len_in_order(&self) -> usize {
        let _queues = self.queues.lock();
        self.len()
    }
}

/// An unsigned number as a signed one of the same order.
fn ordered(word: u64) -> i64 {
    (word ^ 1 << 63) as i64
}

/// Stands for a process that is never looked at.
#[cfg(test)]
pub(crate) fn process(number: usize) -> Queued {
    // SAFETY: the queue only hands it on.
    unsafe { Queued::of(std::ptr::NonNull::new(std::ptr::without_provenance_mut(number * 8)).unwrap()) }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn levels_come_in_order_and_low_is_not_starved(order: Order) {
        let queue = RunQueue::new(order);
        queue.push(process(1), Standing::of(Priority::Normal));
        queue.push(process(2), Standing::of(Priority::Max));
        queue.push(process(3), Standing::of(Priority::High));
        assert_eq!(queue.pop(), Some(process(2)));
        assert_eq!(queue.pop(), Some(process(3)));
        queue.push(process(9), Standing::of(Priority::Low));
        let mut turns = 0;
        loop {
            turns += 1;
            queue.push(process(1), Standing::of(Priority::Normal));
            if queue.pop() == Some(process(9)) {
                break;
            }
            assert!(turns <= 2 * TURNS_FOR_LATER);
        }
        assert!(queue.len() >= 2);
    }

    #[test]
    fn levels_come_in_order() {
        levels_come_in_order_and_low_is_not_starved(Order::Levels);
        levels_come_in_order_and_low_is_not_starved(Order::Urgency);
    }

    #[test]
    fn a_queue_is_crowded_as_long_as_two_wait() {
        const HOUR: i64 = 3_600_000_000_000;
        let queue = RunQueue::new(Order::Levels);
        queue.push(process(1), Standing::of(Priority::Normal));
        assert!(!queue.is_crowded_for(0));
        queue.push(process(2), Standing::of(Priority::Normal));
        assert!(queue.is_crowded_for(0) && !queue.is_crowded_for(1), "time counts from the first question on");
        std::thread::sleep(std::time::Duration::from_millis(2));
        assert!(queue.is_crowded_for(1_000_000) && !queue.is_crowded_for(HOUR));
        queue.was_relieved();
        assert!(!queue.is_crowded_for(1_000_000));
        queue.has_waited_long();
        assert!(queue.is_crowded_for(HOUR));
        queue.pop();
        queue.push(process(3), Standing::of(Priority::Normal));
        assert!(!queue.is_crowded_for(HOUR), "for a moment one waited alone");
    }

    fn standing(priority: f64, deadline: i64) -> Standing {
        Standing { level: Priority::Normal, urgency: Urgency { priority, deadline } }
    }

    #[test]
    fn the_earliest_deadline_comes_first_among_equal_priorities() {
        let queue = RunQueue::new(Order::Urgency);
        assert_eq!(queue.first(), NOTHING);
        let all = [(0.5, 30), (0.5, 10), (2.5, Urgency::NEVER), (0.5, 10), (-3.0, -9), (0.25, 1)];
        for (number, (priority, deadline)) in all.into_iter().enumerate() {
            queue.push(process(number + 1), standing(priority, deadline));
        }
        let mut before = i64::MIN;
        for number in [3, 2, 4, 1, 6, 5] {
            assert!(queue.first()[0] >= before, "what is published rises");
            before = queue.first()[0];
            assert_eq!(queue.pop(), Some(process(number)));
        }
        assert_eq!((queue.pop(), queue.first()), (None, NOTHING));
    }

    #[test]
    fn what_has_waited_long_comes_in_its_turn() {
        let queue = RunQueue::new(Order::Urgency);
        queue.push(process(1), standing(0.9, 1));
        queue.push(process(9), standing(-5.0, Urgency::NEVER));
        let mut waited = 0;
        while queue.pop() != Some(process(9)) {
            waited += 1;
            queue.push(process(1), standing(0.9, 1));
            assert!(waited <= TURNS_FOR_LATER, "it is starved");
        }
        queue.push(process(9), standing(-5.0, Urgency::NEVER));
        for _ in 0..3 * TURNS_FOR_LATER {
            queue.push(process(1), standing(1.0, 1));
            assert_eq!(queue.pop(), Some(process(1)), "but not by those that must come first");
        }
    }
}

#[cfg(all(test, loom))]
mod loom_model {
    use super::*;
    use loom::sync::Arc;

    fn drain(queue: &RunQueue) -> Vec<Queued> {
        std::iter::from_fn(|| queue.pop()).collect()
    }

    /// The queue's scheduler adds and takes, while another steals as `Schedulers::steal` does.
    #[test]
    fn each_process_is_taken_once_and_counted() {
        loom::model(|| {
            let queue = Arc::new(RunQueue::new(Order::Levels));
            queue.push(process(1), Standing::of(Priority::Normal));
            let other = Arc::clone(&queue);
            let thief = loom::thread::spawn(move || {
                let enough = other.len() >= 2;
                enough.then(|| other.pop_with_standing()).flatten().map(|(process, _)| process)
            });
            queue.push(process(2), Standing::of(Priority::High));
            assert!((2..=3).contains(&queue.push(process(3), Standing::of(Priority::Low))));
            let mut taken: Vec<_> = queue.pop().into_iter().collect();
            taken.extend(thief.join().unwrap());
            assert_eq!(queue.len(), 3 - taken.len());
            taken.extend(drain(&queue));
            assert!((1..=3).all(|number| taken.contains(&process(number))) && taken.len() == 3, "{taken:?}");
            assert_eq!(queue.len(), 0);
        });
    }

    /// Threads other than schedulers add to a queue too; a scheduler that they notified finds the process.
    #[test]
    fn what_was_pushed_before_is_seen() {
        loom::model(|| {
            let queue = Arc::new(RunQueue::new(Order::Levels));
            let pushers = [1, 2].map(|number| {
                let queue = Arc::clone(&queue);
                loom::thread::spawn(move || {
                    let length = queue.push(process(number), Standing::of(Priority::Normal));
                    assert!(length >= 1);
                    length
                })
            });
            let early = usize::from(queue.pop().is_some());
            let longest = pushers.into_iter().map(|pusher| pusher.join().unwrap()).max();
            assert!(early == 1 || longest == Some(2));
            assert_eq!(queue.len(), 2 - early);
            assert_eq!(drain(&queue).len(), 2 - early);
        });
    }
}
