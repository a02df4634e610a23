//! The mailbox: messages that have arrived, oldest first, seen by their process alone.
//!
//! ```text
//!   first -> m0 -> m1 -> m2 -> m3 -> null
//!                  ^ save: next to be looked at; m0 was looked at and did not match
//! ```
//!
//! `receive` looks at messages from `save` on; taking one, or a timeout, puts `save` back to the first. Messages
//! before `save` have been looked at, so their terms may lie on the process's heap: they are roots.
//!
//! A collector may visit the messages in portions. The architecture hears of those that are looked at, or taken,
//! meanwhile.

use std::ptr::NonNull;

use atoll_heap::{Fragment, architecture};
use atoll_term::Term;

use crate::reference::ReferenceId;

/// A place in a mailbox: the link that points to the message there.
type Link = *mut *mut Fragment;

/// Messages of one process. It must not move while it holds messages: links point into it.
#[derive(Debug)]
pub struct Mailbox {
    first: *mut Fragment,
    /// Null stands for `&first`, so that an empty mailbox can be moved.
    save: Link,
    last: Link,
    length: usize,
    /// One of those that have moved to the process's heap, and through it the others: see [`Mailbox::each_moved`].
    moved: *mut Fragment,
    markers: Option<Box<Markers>>,
}

#[derive(Debug)]
struct Markers {
    /// Where the mailbox ended when each marker was reserved or bound.
    places: Vec<(MarkerKey, Link)>,
    next: u64,
    /// The first message that [`Mailbox::visit_some`] has not come to, and how many it has yet to visit; null if none.
    unvisited: *mut Fragment,
    left: usize,
}

impl Default for Markers {
    fn default() -> Self {
        Markers { places: Vec::new(), next: 0, unvisited: std::ptr::null_mut(), left: 0 }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MarkerKey {
    Reserved(u64),
    Bound(ReferenceId),
}

/// Numbers of markers begin anew behind this one: all are small integers.
const MARKER_NUMBERS: u64 = (1 << 48) - 1;
/// Markers kept at once; older ones are forgotten, which costs time but changes nothing.
const MOST_MARKERS: usize = 8;

/// Fragments of fewer words do not move: what has moved leaves its place to the links of those that have.
const LEAST_TO_MOVE: usize = 2;

/// Whether the contents of a message have left it.
#[inline]
fn has_moved(message: &Fragment) -> bool {
    message.used() == 0 && message.capacity() >= LEAST_TO_MOVE
}

/// The words of a message that has moved: the one before it and the one behind it among those that have.
#[inline]
fn moved_links(message: &Fragment) -> *mut [*mut Fragment; 2] {
    message.words().cast()
}

impl Default for Mailbox {
    fn default() -> Self {
        let null = std::ptr::null_mut();
        Mailbox {
            first: std::ptr::null_mut(),
            save: null,
            last: null,
            length: 0,
            moved: std::ptr::null_mut(),
            markers: None,
        }
    }
}

impl Mailbox {
    fn start(&mut self) -> Link {
        &raw mut self.first
    }

    fn save_link(&mut self) -> Link {
        if self.save.is_null() { self.start() } else { self.save }
    }

    fn last_link(&mut self) -> Link {
        if self.last.is_null() { self.start() } else { self.last }
    }

    /// Number of messages.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Adds a message at the end.
    #[inline]
    pub fn push(&mut self, message: NonNull<Fragment>) {
        // SAFETY: the last link lies in this mailbox or in its last message; the new message is handed over.
        unsafe {
            (*message.as_ptr()).next = std::ptr::null_mut();
            *self.last_link() = message.as_ptr();
            self.last = &raw mut (*message.as_ptr()).next;
            if has_moved(message.as_ref()) {
                self.link_moved(message);
            }
        }
        self.length += 1;
    }

    /// The message has moved. Not in the order of the mailbox, so that finding them costs nothing for those that have
    /// not.
    #[inline]
    fn link_moved(&mut self, message: NonNull<Fragment>) {
        // SAFETY: both messages are in the mailbox, have moved and have room for the links.
        unsafe {
            *moved_links(message.as_ref()) = [std::ptr::null_mut(), self.moved];
            if let Some(other) = self.moved.as_ref() {
                (*moved_links(other))[0] = message.as_ptr();
            }
        }
        self.moved = message.as_ptr();
    }

    /// The message, which has moved, leaves the mailbox.
    #[inline]
    fn unlink_moved(&mut self, message: NonNull<Fragment>) {
        // SAFETY: as in `link_moved`.
        unsafe {
            let [before, behind] = *moved_links(message.as_ref());
            match before.as_ref() {
                Some(before) => (*moved_links(before))[1] = behind,
                None => self.moved = behind,
            }
            if let Some(behind) = behind.as_ref() {
                (*moved_links(behind))[0] = before;
            }
        }
    }

    /// The message to be looked at next.
    #[inline]
    pub fn current(&mut self) -> Option<NonNull<Fragment>> {
        // SAFETY: the save link lies in this mailbox or in one of its messages.
        NonNull::new(unsafe { *self.save_link() })
    }

    /// Moves the contents of the current message to the heap of its process, if `receive` does. The message's term.
    #[inline]
    pub fn look(&mut self, receive: impl FnOnce(&mut Fragment)) -> Option<Term> {
        let mut message = self.current()?;
        // SAFETY: the message is in the mailbox, which is borrowed.
        let fragment = unsafe { message.as_mut() };
        if self.has_unvisited() {
            architecture().message_read(fragment);
        }
        if fragment.used() >= LEAST_TO_MOVE {
            receive(fragment);
            if has_moved(fragment) {
                self.link_moved(message);
            }
        }
        // SAFETY: as above.
        Some(unsafe { message.as_ref().term })
    }

    /// The current message did not match: go on with the next.
    #[inline]
    pub fn skip(&mut self) {
        if let Some(message) = self.current() {
            // SAFETY: the message is in the mailbox.
            self.save = unsafe { &raw mut (*message.as_ptr()).next };
        }
    }

    /// Looks from the first message on again.
    #[inline]
    pub fn restart(&mut self) {
        self.save = std::ptr::null_mut();
    }

    /// Takes the current message out, and looks from the first on again.
    #[inline]
    pub fn take_current(&mut self) -> Option<NonNull<Fragment>> {
        let message = self.current()?;
        let link = self.save_link();
        // SAFETY: the link points to the message, which is unlinked here.
        let own_link = unsafe {
            if has_moved(message.as_ref()) {
                self.unlink_moved(message);
            }
            *link = message.as_ref().next;
            &raw mut (*message.as_ptr()).next
        };
        if self.last == own_link {
            self.last = if link == self.start() { std::ptr::null_mut() } else { link };
        }
        if let Some(markers) = &mut self.markers {
            for (_, place) in &mut markers.places {
                if *place == own_link {
                    *place = link;
                }
            }
            if !markers.unvisited.is_null() {
                // SAFETY: the message is whole, and was unlinked.
                unsafe {
                    architecture().message_read(message.as_ref());
                    if markers.unvisited == message.as_ptr() {
                        markers.unvisited = message.as_ref().next;
                    }
                }
            }
        }
        self.length -= 1;
        self.restart();
        Some(message)
    }

    /// Reserves a marker of the present end; the number identifies it.
    pub fn reserve_marker(&mut self) -> u64 {
        let end = self.last_link();
        let markers = self.markers.get_or_insert_default();
        markers.next = (markers.next + 1) & MARKER_NUMBERS;
        let number = markers.next;
        markers.places.push((MarkerKey::Reserved(number), end));
        if markers.places.len() > MOST_MARKERS {
            markers.places.remove(0);
        }
        number
    }

    /// Markers are numbered from here on, as far as the number fits.
    pub fn number_markers_from(&mut self, number: u64) {
        self.markers.get_or_insert_default().next = number & MARKER_NUMBERS;
    }

    /// From now on the marker is that of `reference`.
    pub fn bind_marker(&mut self, number: u64, reference: ReferenceId) {
        if let Some(markers) = &mut self.markers {
            for (key, _) in &mut markers.places {
                if *key == MarkerKey::Reserved(number) {
                    *key = MarkerKey::Bound(reference);
                }
            }
        }
    }

    /// Forgets a reserved marker.
    pub fn clear_reserved_marker(&mut self, number: u64) {
        if let Some(markers) = &mut self.markers {
            markers.places.retain(|(key, _)| *key != MarkerKey::Reserved(number));
        }
    }

    /// Forgets the marker of a reference.
    pub fn clear_marker(&mut self, reference: ReferenceId) {
        if let Some(markers) = &mut self.markers {
            markers.places.retain(|(key, _)| *key != MarkerKey::Bound(reference));
        }
    }

    /// Looks from the marker of `reference` on: messages before it cannot contain the reference.
    pub fn use_marker(&mut self, reference: ReferenceId) {
        let place = self.markers.as_ref().and_then(|markers| {
            markers.places.iter().find(|(key, _)| *key == MarkerKey::Bound(reference)).map(|(_, place)| *place)
        });
        if let Some(place) = place {
            self.save = place;
        }
    }

    /// The messages that are here now are to be visited by [`Mailbox::visit_some`].
    pub fn begin_visit(&mut self) {
        if self.length > 0 {
            let (first, left) = (self.first, self.length);
            let markers = self.markers.get_or_insert_default();
            (markers.unvisited, markers.left) = (first, left);
        }
    }

    /// Whether [`Mailbox::visit_some`] has not come to the end.
    #[inline]
    fn has_unvisited(&self) -> bool {
        self.markers.as_ref().is_some_and(|markers| !markers.unvisited.is_null())
    }

    /// Visits messages in order for as long as `visit` says so; whether none is left.
    pub fn visit_some(&mut self, mut visit: impl FnMut(&mut Fragment) -> bool) -> bool {
        let Some(markers) = &mut self.markers else { return true };
        let mut goes_on = true;
        while goes_on && markers.left > 0 && !markers.unvisited.is_null() {
            // SAFETY: the message is in the mailbox, which is borrowed.
            let fragment = unsafe { &mut *markers.unvisited };
            goes_on = visit(fragment);
            markers.unvisited = fragment.next;
            markers.left -= 1;
        }
        if markers.left == 0 {
            markers.unvisited = std::ptr::null_mut();
        }
        markers.unvisited.is_null()
    }

    /// Tells the architecture that the process reads all messages.
    pub fn read_all(&self) {
        if self.has_unvisited() {
            self.each(|message| architecture().message_read(message));
        }
    }

    /// Visits the messages in order.
    pub fn each(&self, mut visit: impl FnMut(&mut Fragment)) {
        let mut at = self.first;
        while !at.is_null() {
            // SAFETY: messages in the mailbox are whole, and the mailbox is borrowed by its process.
            let fragment = unsafe { &mut *at };
            visit(fragment);
            at = fragment.next;
        }
    }

    /// Visits those that have moved to the heap, the last first: they alone are its roots. In most mailboxes there are
    /// none.
    pub fn each_moved(&self, mut visit: impl FnMut(&mut Fragment)) {
        let mut at = self.moved;
        while !at.is_null() {
            // SAFETY: as in `each`; the message has moved.
            unsafe {
                visit(&mut *at);
                at = (*moved_links(&*at))[1];
            }
        }
    }

    /// Takes all messages out: a chain through `next`.
    pub fn clear(&mut self) -> *mut Fragment {
        let first = self.first;
        *self = Mailbox::default();
        first
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(value: i64) -> NonNull<Fragment> {
        let mut fragment = Fragment::new(0);
        // SAFETY: the fragment is new.
        unsafe { fragment.as_mut().term = Term::small(value) };
        fragment
    }

    fn take(mailbox: &mut Mailbox) -> i64 {
        let taken = mailbox.take_current().unwrap();
        // SAFETY: the message was taken out.
        unsafe {
            let value = taken.as_ref().term.small_value();
            Fragment::free(taken);
            value
        }
    }

    /// A message with words in its fragment.
    fn full_message(value: i64) -> NonNull<Fragment> {
        let mut fragment = Fragment::new(2);
        // SAFETY: the fragment is new.
        unsafe {
            fragment.as_mut().try_allocate(2).unwrap().as_ptr().cast::<[u64; 2]>().write([0; 2]);
            fragment.as_mut().term = Term::small(value);
        }
        fragment
    }

    #[test]
    fn messages_that_moved_are_found_wherever_they_stand() {
        let mut mailbox = Mailbox::default();
        for value in 0..6 {
            mailbox.push(if value % 2 == 0 { message(value) } else { full_message(value) });
        }
        let moved = |mailbox: &Mailbox| {
            let mut found = Vec::new();
            mailbox.each_moved(|message| found.push(message.term.small_value()));
            found
        };
        assert_eq!(moved(&mailbox), []);
        for _ in 0..4 {
            mailbox.look(Fragment::clear);
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
        let reference = ReferenceId::fresh();
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
}
