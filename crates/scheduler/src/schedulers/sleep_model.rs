//! How schedulers sleep and are woken, model-checked. No time passes in a model: a wake-up that is lost is a deadlock.

use std::time::Duration;

use super::*;
use crate::contract::NoEnd;
use crate::queue::{Standing, process};

/// What a scheduler does that has nothing to run: it steals, or sleeps and looks again.
fn find(schedulers: &Schedulers, index: usize, least: usize) {
    while schedulers.schedulers[index].queue.len() == 0 && !schedulers.steal(index, least) {
        let own = &schedulers.schedulers[index];
        own.looks.store(true, Ordering::Relaxed);
        if own.queue.len() > 0 {
            break;
        }
        own.looks.store(false, Ordering::Relaxed);
        drop(schedulers.sleep(index, || i64::MAX));
    }
}

fn model(check: fn()) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(check);
}

/// A scheduler that has pushed a second process wakes one that is going to sleep.
#[test]
fn a_second_process_wakes_a_scheduler_that_goes_to_sleep() {
    model(|| {
        let schedulers = Schedulers::new(2);
        let other = loom::thread::spawn(|| find(schedulers, 1, 2));
        CURRENT.with(|current| current.set(0));
        schedulers.enqueue_with(process(1), Standing::of(Priority::Normal));
        schedulers.enqueue_with(process(2), Standing::of(Priority::Normal));
        other.join().unwrap();
        assert_eq!(schedulers.schedulers[1].queue.len(), 1);
        assert_eq!(schedulers.sleeping.load(Ordering::Relaxed), 0);
    });
}

/// A thread that is no scheduler wakes one that waits.
#[test]
fn a_process_from_outside_wakes_a_scheduler_that_waits() {
    model(|| {
        let schedulers = Schedulers::new(1);
        let scheduler = loom::thread::spawn(|| find(schedulers, 0, 2));
        schedulers.enqueue_with(process(1), Standing::of(Priority::Normal));
        scheduler.join().unwrap();
        assert!(schedulers.schedulers[0].queue.pop().is_some());
    });
}

/// Waits for nothing but its interruption.
#[derive(Default)]
struct Interruptible {
    interrupted: Mutex<bool>,
    changed: Condvar,
}

impl Poll for Interruptible {
    fn is_needed(&self) -> bool {
        true
    }

    fn is_awaited(&self) -> bool {
        true
    }

    fn wait(&self, _limit: Duration) -> bool {
        let mut interrupted = self.interrupted.lock();
        while !*interrupted {
            self.changed.wait(&mut interrupted);
        }
        *interrupted = false;
        false
    }

    fn tell(&self) {}

    fn interrupt(&self) {
        *self.interrupted.lock() = true;
        self.changed.notify_all();
    }

    fn is_working(&self) -> bool {
        false
    }

    fn no_end(&self, _: NoEnd) {}
}

/// The same of one that waits for file descriptors.
#[test]
fn a_process_from_outside_wakes_a_scheduler_that_polls() {
    model(|| {
        let schedulers = Schedulers::new(1);
        schedulers.prepare(Box::leak(Box::<Interruptible>::default()), |_, _| {});
        let scheduler = loom::thread::spawn(|| find(schedulers, 0, 2));
        schedulers.enqueue_with(process(1), Standing::of(Priority::Normal));
        scheduler.join().unwrap();
        assert!(schedulers.schedulers[0].queue.pop().is_some());
        assert!(!schedulers.polling.load(Ordering::Relaxed));
    });
}
