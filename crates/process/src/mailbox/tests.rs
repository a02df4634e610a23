//! Mailboxes without their processes.

use atoll_term::{Build, Immediate};

use super::*;

fn message(value: i64) -> Message {
    Message::immediate(Immediate::or_none(Term::small(value)))
}

fn take(mailbox: &mut Mailbox) -> i64 {
    mailbox.take_current().unwrap().term().small_value()
}

/// A message with words in its fragment.
fn full_message(value: i64) -> Message {
    let message = Message::new(2);
    // SAFETY: the fragment is new.
    unsafe {
        message.try_allocate(2).unwrap().as_ptr().cast::<[u64; 2]>().write([0; 2]);
        message.set_term(Term::small(value));
    }
    message
}

#[test]
fn a_mailbox_frees_what_is_left_in_it() {
    let counted = std::sync::Arc::new(());
    let mut mailbox = Mailbox::default();
    for value in 0..3 {
        let message = full_message(value);
        message.attach(std::sync::Arc::clone(&counted));
        mailbox.push(message);
    }
    assert_eq!(mailbox.clear().take(1).count(), 1);
    assert_eq!(std::sync::Arc::strong_count(&counted), 1);
    let last = message(3);
    last.attach(std::sync::Arc::clone(&counted));
    mailbox.push(last);
    drop(mailbox);
    assert_eq!(std::sync::Arc::strong_count(&counted), 1);
}

#[test]
fn messages_that_moved_are_found_wherever_they_stand() {
    let mut mailbox = Mailbox::default();
    for value in 0..6 {
        mailbox.push(if value % 2 == 0 { message(value) } else { full_message(value) });
    }
    let moved = |mailbox: &Mailbox| {
        let mut found = Vec::new();
        mailbox.each_moved(|message| found.push(message.term().small_value()));
        found
    };
    assert_eq!(moved(&mailbox), []);
    for _ in 0..4 {
        // SAFETY: nothing uses the words; `look` shows the mailbox whether the message has moved.
        mailbox.look(|message| unsafe { message.clear() });
        mailbox.skip();
    }
    assert_eq!(moved(&mailbox), [3, 1]);
    mailbox.restart();
    mailbox.skip();
    assert_eq!(take(&mut mailbox), 1);
    assert_eq!(moved(&mailbox), [3]);
    for value in [0, 2, 3, 4, 5] {
        assert_eq!(take(&mut mailbox), value);
    }
    assert_eq!(moved(&mailbox), []);
}

#[test]
fn selective_receive_and_markers() {
    let mut mailbox = Mailbox::default();
    for value in 0..4 {
        mailbox.push(message(value));
    }
    mailbox.skip();
    mailbox.skip();
    assert_eq!(take(&mut mailbox), 2);
    let marker = mailbox.reserve_marker();
    let reference = ReferenceId([7, 8, 9]);
    mailbox.bind_marker(marker, reference);
    mailbox.push(message(9));
    mailbox.use_marker(reference);
    assert_eq!(take(&mut mailbox), 9);
    mailbox.push(message(10));
    // Takes the message that the marker's link lies in.
    mailbox.restart();
    mailbox.skip();
    mailbox.skip();
    assert_eq!(take(&mut mailbox), 3);
    mailbox.use_marker(reference);
    assert_eq!(take(&mut mailbox), 10);
    assert_eq!(take(&mut mailbox), 0);
    assert_eq!(take(&mut mailbox), 1);
    assert!(mailbox.is_empty() && mailbox.current().is_none());
    mailbox.push(message(11));
    assert_eq!(take(&mut mailbox), 11);
}

#[test]
fn a_marker_that_was_cleared_marks_nothing() {
    let mut mailbox = Mailbox::default();
    let [kept, other, reserved] = [1, 2, 3].map(|number| ReferenceId([number, 0, 0]));
    mailbox.push(message(0));
    for reference in [kept, other] {
        let marker = mailbox.reserve_marker();
        mailbox.bind_marker(marker, reference);
    }
    let marker = mailbox.reserve_marker();
    mailbox.clear_reserved_marker(marker);
    mailbox.bind_marker(marker, reserved);
    mailbox.clear_marker(other);
    mailbox.push(message(1));
    for (reference, first) in [(reserved, 0), (other, 0), (kept, 1)] {
        mailbox.restart();
        mailbox.use_marker(reference);
        assert_eq!(mailbox.current().map(|message| message.term().small_value()), Some(first));
    }
}

/// The values of the messages, in order, and whether each has moved.
fn values(mailbox: &Mailbox) -> Vec<(i64, bool)> {
    let mut found = Vec::new();
    mailbox.each(|message| found.push((message.term().small_value(), has_moved(message))));
    found
}

#[test]
fn what_is_looked_at_and_not_taken_can_be_parted_with() {
    // Parted with at each place of the mailbox, the current message or another by then.
    for (place, restarts) in [(0, false), (1, false), (2, false), (2, true)] {
        let mut mailbox = Mailbox::default();
        (0..3).for_each(|value| mailbox.push(full_message(value)));
        let marker = mailbox.reserve_marker();
        let reference = ReferenceId([7, 8, 9]);
        mailbox.bind_marker(marker, reference);
        (0..place).for_each(|_| mailbox.skip());
        assert_eq!(mailbox.look(|_| ()), Some(Term::small(place)));
        mailbox.begin_visit();
        assert!(mailbox.is_looked_at());
        if restarts {
            mailbox.restart();
        }
        let words = mailbox.part_with_looked_at().expect("it was looked at");
        assert_eq!((words.used(), words.next()), (2, std::ptr::null_mut()));
        assert!(!mailbox.is_looked_at() && mailbox.part_with_looked_at().is_none());
        let moved = [0, 1, 2].map(|value| (value, value == place));
        assert_eq!(values(&mailbox), moved);
        let mut visited = Vec::new();
        assert!(mailbox.visit_some(|message| {
            visited.push(message.term().small_value());
            true
        }));
        assert_eq!(visited, [0, 1, 2]);
        mailbox.push(message(3));
        mailbox.use_marker(reference);
        assert_eq!(take(&mut mailbox), 3, "the marker stands behind the last message of then");
        (0..3).for_each(|value| assert_eq!(take(&mut mailbox), value));
        mailbox.push(message(4));
        assert_eq!((take(&mut mailbox), mailbox.is_empty()), (4, true));
    }
}

#[test]
fn who_goes_on_or_takes_has_no_pointers_into_a_message() {
    let mut mailbox = Mailbox::default();
    (0..2).for_each(|value| mailbox.push(full_message(value)));
    mailbox.look(|_| ());
    mailbox.reject();
    assert!(!mailbox.is_looked_at());
    mailbox.look(|_| ());
    assert_eq!(take(&mut mailbox), 1);
    assert!(!mailbox.is_looked_at());
    // One that moves as it is looked at, and one without words.
    // SAFETY: nothing uses the words; `look` shows the mailbox whether the message has moved.
    mailbox.look(|message| unsafe { message.clear() });
    assert!(!mailbox.is_looked_at());
    assert_eq!(take(&mut mailbox), 0);
    mailbox.push(message(2));
    mailbox.look(|_| ());
    assert!(!mailbox.is_looked_at());
    // Another message is taken.
    mailbox.push(full_message(3));
    mailbox.skip();
    mailbox.look(|_| ());
    mailbox.restart();
    assert_eq!(take(&mut mailbox), 2);
    assert!(mailbox.is_looked_at());
    assert_eq!(take(&mut mailbox), 3);
    assert!(!mailbox.is_looked_at());
}

/// A message that is a tuple of one element in its fragment, and one that is two of them.
fn tuples(count: usize) -> Message {
    let mut message = Message::new(2 * count);
    let terms: Vec<Term> = (0..count).map(|_| message.tuple(&[Term::NIL])).collect();
    // SAFETY: it lies in the message.
    unsafe { message.set_term(terms[0]) };
    message
}

#[test]
fn what_is_one_object_is_looked_at_in_place_and_taken_there() {
    let mut mailbox = Mailbox::default();
    let take = |mailbox: &mut Mailbox| mailbox.take_in_place(|_| Some(())).map(|(message, ())| message.used());
    assert_eq!(mailbox.look_in_place(|_| true), None);
    mailbox.push(tuples(1));
    mailbox.push(tuples(2));
    mailbox.push(message(3));
    mailbox.push(tuples(1));
    // It was not looked at yet.
    assert_eq!(mailbox.look_in_place(|_| false), None);
    assert_eq!(take(&mut mailbox), None);
    assert!(mailbox.look_in_place(|_| true).is_some() && mailbox.is_looked_at());
    // Nothing else is looked at meanwhile.
    assert_eq!(mailbox.look_in_place(|_| true), None);
    assert_eq!(mailbox.take_in_place(|_| None::<()>).map(|_| ()), None);
    assert_eq!(take(&mut mailbox), Some(2));
    assert!(!mailbox.is_looked_at());
    // Of two objects one may lead to the other.
    assert_eq!(mailbox.look_in_place(|_| true), None);
    mailbox.skip();
    assert_eq!(mailbox.look_in_place(|_| true), Some(Term::small(3)));
    assert_eq!(take(&mut mailbox), None, "it has no words");
    mailbox.skip();
    // Not the first one: it is taken as any other.
    assert!(mailbox.look_in_place(|_| true).is_some());
    assert_eq!(take(&mut mailbox), None);
    assert_eq!(mailbox.take_current().map(|message| message.used()), Some(2));
    assert!(!mailbox.is_looked_at());
    // Left, and parted with.
    mailbox.push(tuples(1));
    mailbox.skip();
    mailbox.skip();
    assert!(mailbox.look_in_place(|_| true).is_some());
    mailbox.reject();
    assert!(!mailbox.is_looked_at());
    mailbox.restart();
    assert_eq!(mailbox.take_current().map(|message| message.used()), Some(4));
    assert_eq!(mailbox.take_current().map(|message| message.used()), Some(0));
    assert!(mailbox.look_in_place(|_| true).is_some());
    assert_eq!(mailbox.part_with_looked_at().map(|message| message.used()), Some(2));
    assert!(!mailbox.is_looked_at());
    // The words belong to a heap now, and the message has none.
    assert!(mailbox.look_in_place(|_| true).is_some() && !mailbox.is_looked_at());
    assert_eq!(take(&mut mailbox), None);
}
