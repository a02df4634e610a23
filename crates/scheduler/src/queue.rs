//! A run queue: processes that want to run, by priority, first come first served within one.

use std::collections::VecDeque;

use atoll_platform::sync::{AtomicUsize, Mutex, Ordering};
use atoll_process::{Priority, Queued};

/// Of this many turns of `normal` processes, one goes to a `low` one.
const TURNS_FOR_LOW: u32 = 8;

#[derive(Default)]
struct Queues {
    by_priority: [VecDeque<Queued>; 4],
    low_turn: u32,
}

/// One scheduler's run queue.
#[derive(Default)]
pub struct RunQueue {
    queues: Mutex<Queues>,
    /// Changed under the lock.
    length: AtomicUsize,
}

impl Queues {
    fn pop(&mut self) -> Option<(Queued, Priority)> {
        for priority in [Priority::Max, Priority::High] {
            if let Some(process) = self.by_priority[priority as usize].pop_front() {
                return Some((process, priority));
            }
        }
        let [.., normal, low] = &mut self.by_priority;
        self.low_turn += 1;
        let low_first = !low.is_empty() && self.low_turn >= TURNS_FOR_LOW;
        if low_first {
            self.low_turn = 0;
        } else if let Some(process) = normal.pop_front() {
            return Some((process, Priority::Normal));
        }
        low.pop_front().map(|process| (process, Priority::Low))
    }
}

impl RunQueue {
    /// Adds a process; returns how many there are now.
    #[inline]
    pub fn push(&self, process: Queued, priority: Priority) -> usize {
        let mut queues = self.queues.lock();
        queues.by_priority[priority as usize].push_back(process);
        let length = self.length.load(Ordering::Relaxed) + 1;
        self.length.store(length, Ordering::Relaxed);
        length
    }

    /// Takes the process whose turn it is.
    #[inline]
    pub fn pop(&self) -> Option<Queued> {
        self.pop_with_priority().map(|(process, _)| process)
    }

    /// As [`RunQueue::pop`], with the priority that it stood in the queue with, which may not be its own.
    #[inline]
    pub fn pop_with_priority(&self) -> Option<(Queued, Priority)> {
        if self.len() == 0 {
            return None;
        }
        let mut queues = self.queues.lock();
        let process = queues.pop()?;
        self.length.store(self.length.load(Ordering::Relaxed) - 1, Ordering::Relaxed);
        Some(process)
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

/// Stands for a process that is never looked at.
#[cfg(test)]
pub(crate) fn process(number: usize) -> Queued {
    // SAFETY: the queue only hands it on.
    unsafe { Queued::of(std::ptr::NonNull::new(std::ptr::without_provenance_mut(number * 8)).unwrap()) }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn priorities_come_in_order_and_low_is_not_starved() {
        let queue = RunQueue::default();
        queue.push(process(1), Priority::Normal);
        queue.push(process(2), Priority::Max);
        queue.push(process(3), Priority::High);
        assert_eq!(queue.pop(), Some(process(2)));
        assert_eq!(queue.pop(), Some(process(3)));
        queue.push(process(9), Priority::Low);
        let mut turns = 0;
        loop {
            turns += 1;
            queue.push(process(1), Priority::Normal);
            if queue.pop() == Some(process(9)) {
                break;
            }
            assert!(turns <= TURNS_FOR_LOW);
        }
        assert_eq!(queue.len(), 2);
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
            let queue = Arc::new(RunQueue::default());
            queue.push(process(1), Priority::Normal);
            let other = Arc::clone(&queue);
            let thief = loom::thread::spawn(move || {
                let enough = other.len() >= 2;
                enough.then(|| other.pop_with_priority()).flatten().map(|(process, _)| process)
            });
            queue.push(process(2), Priority::High);
            assert!((2..=3).contains(&queue.push(process(3), Priority::Low)));
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
            let queue = Arc::new(RunQueue::default());
            let pushers = [1, 2].map(|number| {
                let queue = Arc::clone(&queue);
                loom::thread::spawn(move || {
                    let length = queue.push(process(number), Priority::Normal);
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
