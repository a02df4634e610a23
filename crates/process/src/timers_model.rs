//! Timers that are started, cancelled and taken by several threads, model-checked.

use loom::sync::Arc;

use super::*;
use crate::at_end::AtEnd;

fn wait(data: u64) -> Action {
    Action::Wait { pid: Term::pid(data) }
}

fn model(check: fn()) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(check);
}

/// A timer comes while another thread cancels it: it is gone, and the one behind it is not late.
#[test]
fn a_timer_comes_or_is_cancelled() {
    model(|| {
        let timers = Arc::new(Timers::new(1));
        let first = timers.start(0, 10, wait(1));
        timers.start(0, 20, wait(2));
        let other = Arc::clone(&timers);
        let canceller = loom::thread::spawn(move || other.cancel_wait(first));
        let taken = timers.take_due(0, 15);
        assert!(taken.len() <= 1 && taken.iter().all(|(number, _)| *number == first));
        canceller.join().unwrap();
        let left = {
            let set = timers.shards[0].set.lock();
            [set.by_time.len(), set.waits.len()]
        };
        assert_eq!(left, [1, 1]);
        assert!(timers.next_time(0) <= 20, "the timer that is left is late");
        assert_eq!(timers.take_due(0, 20).len(), 1);
        assert_eq!(timers.next_time(0), i64::MAX);
    });
}

/// Timers are started while others are taken: none is forgotten.
#[test]
fn the_next_time_is_never_late() {
    model(|| {
        let timers = Arc::new(Timers::new(1));
        timers.start(0, 10, wait(1));
        timers.start(0, 90, wait(2));
        let other = Arc::clone(&timers);
        let starter = loom::thread::spawn(move || other.start(0, 50, wait(3)));
        assert_eq!(timers.take_due(0, 15).len(), 1);
        let number = starter.join().unwrap();
        assert!(timers.next_time(0) <= 50);
        timers.cancel_wait(number);
        assert!(timers.next_time(0) <= 90);
        assert_eq!(timers.take_due(0, 100).len(), 1);
    });
}

/// Starts a timer with a message to a process.
fn start(timers: &Timers, destination: Term, reference: ReferenceId) {
    timers.start(0, 10, Action::Message { destination, message: Message::new(0), reference });
}

/// Whether this is the one message. It is freed.
fn is_one(messages: impl IntoIterator<Item = Message>) -> bool {
    messages.into_iter().count() == 1
}

/// A message's timer is cancelled by its reference while it comes: one thread gets the message, and nothing is kept.
#[test]
fn a_message_is_sent_or_cancelled_by_its_reference() {
    model(|| {
        let timers = Arc::new(Timers::new(1));
        let reference = ReferenceId([1, 2, 3]);
        let other = Arc::clone(&timers);
        let sender = loom::thread::spawn(move || {
            start(&other, Term::pid(1), reference);
            let due = other.take_due(0, 15).into_iter().next();
            due.and_then(|(_, action)| match action {
                Action::Message { message, .. } => Some(message),
                Action::Wait { .. } => None,
            })
        });
        let cancelled = timers.cancel_reference(reference).map(|(_, message)| message);
        assert!(is_one(cancelled.into_iter().chain(sender.join().unwrap())));
        assert!(timers.references.lock().is_empty() && timers.time_of_reference(reference).is_none());
    });
}

/// A message is cancelled while its process ends: one thread frees it, and nothing is kept.
#[test]
fn a_message_is_cancelled_or_goes_with_its_process() {
    model(|| {
        let timers = Arc::new(Timers::new(1));
        let (pid, reference) = (Term::pid(1), ReferenceId([1, 2, 3]));
        start(&timers, pid, reference);
        let other = Arc::clone(&timers);
        let ending = loom::thread::spawn(move || {
            let at_end = AtEnd::default();
            at_end.note_timer(0);
            other.forget_process(pid, at_end.timers());
        });
        let cancelled = timers.cancel_reference(reference).map(|(_, message)| message);
        ending.join().unwrap();
        assert!(cancelled.is_none() || is_one(cancelled));
        assert!(timers.references.lock().is_empty());
        assert!(timers.shards[0].set.lock().by_process.is_empty());
    });
}
