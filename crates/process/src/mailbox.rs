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
//! A message that stays in its fragment when it is looked at, because it is large or will soon be of no use, belongs to
//! no heap, although registers of its process may lead into it. Code looks at parts of it, and then says that it does
//! not match, or takes it. Before anything else may happen to what leads there (a collection, another look), the words
//! of the message become part of the heap (`Own::keep_looked_at`).
//!
//! A collector may visit the messages in portions. The architecture hears of those that are looked at, or taken,
//! meanwhile.

mod aside;

use std::ptr::NonNull;

use atoll_heap::{Fragment, Message, concurrent_roots};
use atoll_term::Term;

use crate::chain::Chain;
use crate::reference::ReferenceId;
use aside::Aside;

/// A place in a mailbox: the link that points to the message there.
type Link = *mut *mut Fragment;

/// Messages of one process. It must not move while it holds messages: links point into it.
pub struct Mailbox {
    first: *mut Fragment,
    /// Null stands for `&first`, so that an empty mailbox can be moved.
    save: Link,
    last: Link,
    length: usize,
    /// Markers, and two messages, or null. `moved`: one of those that have moved to the process's heap, and through it
    /// the others: see [`Mailbox::each_moved`]. `looked_at`: one of those in the mailbox that was looked at, and has
    /// words into which its process may have pointers.
    aside: Aside,
}

struct Markers {
    /// Where the mailbox ended when each marker was reserved or bound.
    places: Vec<(MarkerKey, Link)>,
    next: u64,
    /// The first message that [`Mailbox::visit_some`] has not come to, and how many it has yet to visit; null if none.
    unvisited: *mut Fragment,
    left: usize,
    /// It and all before it were visited by [`Mailbox::visit_some`]; null if that is not known.
    visited: *mut Fragment,
}

impl Default for Markers {
    fn default() -> Self {
        Markers { places: Vec::new(), next: 0, unvisited: std::ptr::null_mut(), left: 0, visited: std::ptr::null_mut() }
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

/// Tells a collector that visits messages in portions that the process looks at this one.
fn tell_read(message: &Fragment) {
    if let Some(collector) = concurrent_roots() {
        collector.message_read(message);
    }
}

impl Default for Mailbox {
    fn default() -> Self {
        let null = std::ptr::null_mut();
        Mailbox { first: std::ptr::null_mut(), save: null, last: null, length: 0, aside: Aside::NOTHING }
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
    pub fn push(&mut self, message: Message) {
        let message = message.into_raw();
        // SAFETY: the last link lies in this mailbox or in its last message; the new message was handed over.
        unsafe {
            let fragment = message.as_ref();
            fragment.set_next(std::ptr::null_mut());
            *self.last_link() = message.as_ptr();
            self.last = Fragment::next_place(message);
            if has_moved(fragment) {
                self.link_moved(message);
            }
        }
        self.length += 1;
    }

    /// The message has moved. Not in the order of the mailbox, so that finding them costs nothing for those that have
    /// not.
    #[inline(always)]
    fn link_moved(&mut self, message: NonNull<Fragment>) {
        let behind = if self.aside.is_moved_alone() {
            self.aside.replace_moved_alone(message.as_ptr())
        } else {
            let behind = self.aside.moved();
            self.aside.set_moved(message.as_ptr());
            behind
        };
        // SAFETY: both messages are in the mailbox, have moved and have room for the links.
        unsafe {
            *moved_links(message.as_ref()) = [std::ptr::null_mut(), behind];
            if let Some(behind) = behind.as_ref() {
                (*moved_links(behind))[0] = message.as_ptr();
            }
        }
    }

    /// The message, which has moved, leaves the mailbox.
    #[inline(always)]
    fn unlink_moved(&mut self, message: NonNull<Fragment>) {
        // SAFETY: as in `link_moved`.
        unsafe {
            let [before, behind] = *moved_links(message.as_ref());
            match before.as_ref() {
                Some(before) => (*moved_links(before))[1] = behind,
                None if self.aside.is_moved_alone() => _ = self.aside.replace_moved_alone(behind),
                None => self.aside.set_moved(behind),
            }
            if let Some(behind) = behind.as_ref() {
                (*moved_links(behind))[0] = before;
            }
        }
    }

    #[inline]
    fn current_place(&mut self) -> Option<NonNull<Fragment>> {
        // SAFETY: the save link lies in this mailbox or in one of its messages.
        NonNull::new(unsafe { *self.save_link() })
    }

    /// The message to be looked at next.
    #[inline]
    pub fn current(&mut self) -> Option<&Fragment> {
        // SAFETY: the message is in the mailbox, which is borrowed.
        self.current_place().map(|message| unsafe { message.as_ref() })
    }

    /// The term of the current message, if the message has no words of its own: then to look at it changes nothing.
    #[inline]
    pub fn term_without_words(&mut self) -> Option<Term> {
        let message = self.current_place()?;
        // SAFETY: the message is in the mailbox, which is borrowed.
        let fragment = unsafe { message.as_ref() };
        (self.aside.is_moved_alone() && fragment.used() == 0).then(|| fragment.term())
    }

    /// The term of the current message, if it can stay where it is until it is taken, or left: it has no words, or is
    /// one object, of which code looks at the elements, and `admits` agrees. Nothing else was looked at.
    #[inline(always)]
    pub fn look_in_place(&mut self, admits: impl FnOnce(&Fragment) -> bool) -> Option<Term> {
        let message = self.current_place()?;
        // SAFETY: the message is in the mailbox, which is borrowed.
        let fragment = unsafe { message.as_ref() };
        let stays = match fragment.used() {
            0 => self.aside.is_moved_alone(),
            _ => fragment.is_one_object() && admits(fragment) && self.aside.set_in_place(message.as_ptr()),
        };
        if stays { Some(fragment.term()) } else { None }
    }

    /// Whether the current message was looked at in place.
    #[inline]
    pub fn is_in_place(&mut self) -> bool {
        self.current_place().is_some_and(|message| self.aside.is_in_place(message.as_ptr()))
    }

    /// As [`Mailbox::take_current`], of a message that was looked at in place, if it is the first, if nothing has to be
    /// told of it, and if `admit` gives something for it.
    #[inline(always)]
    pub fn take_in_place<R>(&mut self, admit: impl FnOnce(&Fragment) -> Option<R>) -> Option<(Message, R)> {
        let message = NonNull::new(self.first)?;
        if !self.save.is_null() {
            return None;
        }
        // SAFETY: the message is in the mailbox, which is borrowed.
        let admitted = admit(unsafe { message.as_ref() })?;
        if self.aside.take_in_place(message.as_ptr()) { Some((self.take_first(message), admitted)) } else { None }
    }

    /// Moves the contents of the current message to the heap of its process, if `receive` does. The message's term. No
    /// other message is looked at.
    #[inline(always)]
    pub fn look(&mut self, receive: impl FnOnce(&Fragment)) -> Option<Term> {
        debug_assert!(!self.is_looked_at());
        let message = self.current_place()?;
        // SAFETY: the message is in the mailbox, which is borrowed.
        let fragment = unsafe { message.as_ref() };
        if self.has_unvisited() {
            tell_read(fragment);
        }
        if fragment.used() > 0 {
            if fragment.used() >= LEAST_TO_MOVE {
                receive(fragment);
            }
            if fragment.used() == 0 {
                self.link_moved(message);
            } else {
                self.aside.set_looked_at(message.as_ptr());
            }
        }
        Some(fragment.term())
    }

    /// Whether a message that was looked at has words into which its process may have pointers.
    #[inline]
    pub fn is_looked_at(&self) -> bool {
        !self.aside.is_moved_alone() && !self.aside.looked_at().is_null()
    }

    /// Gives the words of the message that was looked at, which the caller makes part of the heap: the message in the
    /// mailbox has moved there then.
    #[cold]
    pub(crate) fn part_with_looked_at(&mut self) -> Option<Message> {
        let words = NonNull::new(self.aside.looked_at())?;
        self.aside.set_looked_at(std::ptr::null_mut());
        let link = self.link_to(words);
        let message = Message::new(LEAST_TO_MOVE).into_raw();
        // SAFETY: the link is that to the message in the mailbox, whose place the new one takes; its term lies where it
        // is for as long as the heap lives, or is moved by collections as that of any message which has moved.
        let [old_link, new_link] = unsafe {
            let (new, old) = (message.as_ref(), words.as_ref());
            new.set_term(old.term());
            new.set_next(old.next());
            new.exchange_bodies(old);
            old.set_next(std::ptr::null_mut());
            *link = message.as_ptr();
            [words, message].map(|fragment| Fragment::next_place(fragment))
        };
        let markers =
            self.aside.markers_mut().into_iter().flat_map(|markers| &mut markers.places).map(|(_, place)| place);
        let places = [&mut self.save, &mut self.last].into_iter().chain(markers);
        places.filter(|place| **place == old_link).for_each(|place| *place = new_link);
        if let Some(markers) = self.aside.markers_mut() {
            for place in [&mut markers.unvisited, &mut markers.visited] {
                if *place == words.as_ptr() {
                    *place = message.as_ptr();
                }
            }
        }
        self.link_moved(message);
        // SAFETY: it was pushed as a message, and is on no list any more.
        Some(unsafe { Message::from_raw(words) })
    }

    /// The link to a message in the mailbox.
    fn link_to(&mut self, message: NonNull<Fragment>) -> Link {
        let mut link = self.save_link();
        // SAFETY: links of the mailbox lie in it, or in messages in it, among which is this one.
        unsafe {
            if *link != message.as_ptr() {
                link = self.start();
                while *link != message.as_ptr() {
                    link = Fragment::next_place(NonNull::new_unchecked(*link));
                }
            }
        }
        link
    }

    /// The current message, which was looked at last, did not match: go on with the next. The process has no pointer
    /// into it any more.
    #[inline]
    pub fn reject(&mut self) {
        self.aside.set_looked_at(std::ptr::null_mut());
        self.skip();
    }

    /// Goes on with the message behind the current one.
    #[inline]
    pub fn skip(&mut self) {
        if let Some(message) = self.current_place() {
            // SAFETY: the message is in the mailbox.
            self.save = unsafe { Fragment::next_place(message) };
        }
    }

    /// Looks from the first message on again.
    #[inline]
    pub fn restart(&mut self) {
        self.save = std::ptr::null_mut();
    }

    /// Takes the current message out, and looks from the first on again.
    #[inline]
    pub fn take_current(&mut self) -> Option<Message> {
        let message = self.current_place()?;
        Some(if self.is_plain() { self.take_first(message) } else { self.take_any(message) })
    }

    /// As [`Mailbox::take_current`], if the message has no words of its own, if nothing has to be told of it, and if
    /// `admit` gives something for it.
    #[inline(always)]
    pub fn take_without_words<R>(&mut self, admit: impl FnOnce(&Fragment) -> Option<R>) -> Option<(Message, R)> {
        if !self.is_plain() {
            return None;
        }
        let message = NonNull::new(self.first)?;
        // SAFETY: the message is in the mailbox, which is borrowed.
        let fragment = unsafe { message.as_ref() };
        if fragment.used() > 0 {
            return None;
        }
        let admitted = admit(fragment)?;
        Some((self.take_first(message), admitted))
    }

    /// Whether the first message is the current one, nothing leads to it but the mailbox's ends and its neighbours, and
    /// all that was looked at has moved.
    #[inline(always)]
    fn is_plain(&self) -> bool {
        self.save.is_null() && self.aside.is_moved_alone()
    }

    /// Takes the first message, which is this one, out of a mailbox that is plain.
    #[inline(always)]
    fn take_first(&mut self, message: NonNull<Fragment>) -> Message {
        debug_assert!(self.is_plain() && self.first == message.as_ptr());
        // SAFETY: the message is in the mailbox, and is unlinked here.
        unsafe {
            if has_moved(message.as_ref()) {
                self.unlink_moved(message);
            }
            self.first = message.as_ref().next();
        }
        if self.first.is_null() {
            self.last = std::ptr::null_mut();
        }
        self.length -= 1;
        // SAFETY: it was pushed as a message, and is on no list any more.
        unsafe { Message::from_raw(message) }
    }

    /// Takes the current message, which is this one, wherever it is.
    #[inline(never)]
    fn take_any(&mut self, message: NonNull<Fragment>) -> Message {
        let link = self.save_link();
        // SAFETY: the link points to the message, which is unlinked here.
        let own_link = unsafe {
            if has_moved(message.as_ref()) {
                self.unlink_moved(message);
            }
            *link = message.as_ref().next();
            Fragment::next_place(message)
        };
        if self.last == own_link {
            self.last = if link == self.start() { std::ptr::null_mut() } else { link };
        }
        if self.aside.looked_at() == message.as_ptr() {
            self.aside.set_looked_at(std::ptr::null_mut());
        }
        if let Some(markers) = self.aside.markers_mut() {
            for (_, place) in &mut markers.places {
                if *place == own_link {
                    *place = link;
                }
            }
            if markers.visited == message.as_ptr() {
                markers.visited = std::ptr::null_mut();
            }
            if !markers.unvisited.is_null() {
                // SAFETY: the message is whole, and was unlinked.
                unsafe {
                    tell_read(message.as_ref());
                    if markers.unvisited == message.as_ptr() {
                        markers.unvisited = message.as_ref().next();
                    }
                }
            }
        }
        self.length -= 1;
        self.restart();
        // SAFETY: it was pushed as a message, and is on no list any more.
        unsafe { Message::from_raw(message) }
    }

    /// Reserves a marker of the present end; the number identifies it.
    pub fn reserve_marker(&mut self) -> u64 {
        let end = self.last_link();
        let markers = self.aside.some_markers();
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
        self.aside.some_markers().next = number & MARKER_NUMBERS;
    }

    /// From now on the marker is that of `reference`.
    pub fn bind_marker(&mut self, number: u64, reference: ReferenceId) {
        if let Some(markers) = self.aside.markers_mut() {
            for (key, _) in &mut markers.places {
                if *key == MarkerKey::Reserved(number) {
                    *key = MarkerKey::Bound(reference);
                }
            }
        }
    }

    /// Forgets a reserved marker.
    pub fn clear_reserved_marker(&mut self, number: u64) {
        if let Some(markers) = self.aside.markers_mut() {
            markers.places.retain(|(key, _)| *key != MarkerKey::Reserved(number));
        }
    }

    /// Forgets the marker of a reference.
    pub fn clear_marker(&mut self, reference: ReferenceId) {
        if let Some(markers) = self.aside.markers_mut() {
            markers.places.retain(|(key, _)| *key != MarkerKey::Bound(reference));
        }
    }

    /// Looks from the marker of `reference` on: messages before it cannot contain the reference.
    pub fn use_marker(&mut self, reference: ReferenceId) {
        let place = self.aside.markers().and_then(|markers| {
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
            let markers = self.aside.some_markers();
            (markers.unvisited, markers.left, markers.visited) = (first, left, std::ptr::null_mut());
        }
    }

    /// As [`Mailbox::begin_visit`], without those that earlier visits have come to.
    pub fn begin_visit_of_new(&mut self) {
        match self
            .aside
            .markers_mut()
            .and_then(|markers| NonNull::new(markers.visited).map(|visited| (markers, visited)))
        {
            Some((markers, visited)) => {
                // SAFETY: the message is in the mailbox, which is borrowed.
                markers.unvisited = unsafe { visited.as_ref() }.next();
                markers.left = self.length;
            }
            None => self.begin_visit(),
        }
    }

    /// Whether [`Mailbox::visit_some`] has not come to the end.
    #[inline]
    fn has_unvisited(&self) -> bool {
        self.aside.markers().is_some_and(|markers| !markers.unvisited.is_null())
    }

    /// Visits messages in order for as long as `visit` says so; whether none is left.
    pub fn visit_some(&mut self, mut visit: impl FnMut(&Fragment) -> bool) -> bool {
        let Some(markers) = self.aside.markers_mut() else { return true };
        let mut goes_on = true;
        while goes_on && markers.left > 0 && !markers.unvisited.is_null() {
            // SAFETY: the message is in the mailbox, which is borrowed.
            let fragment = unsafe { &*markers.unvisited };
            goes_on = visit(fragment);
            markers.visited = markers.unvisited;
            markers.unvisited = fragment.next();
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
            self.each(tell_read);
        }
    }

    /// Visits the messages in order.
    pub fn each(&self, mut visit: impl FnMut(&Fragment)) {
        let mut at = self.first;
        while !at.is_null() {
            // SAFETY: messages in the mailbox are whole, and the mailbox is borrowed by its process.
            let fragment = unsafe { &*at };
            visit(fragment);
            at = fragment.next();
        }
    }

    /// Visits those that have moved to the heap, the last first: they alone are its roots. In most mailboxes there are
    /// none.
    pub fn each_moved(&self, mut visit: impl FnMut(&Fragment)) {
        let mut at = self.aside.moved();
        while !at.is_null() {
            // SAFETY: as in `each`; the message has moved.
            unsafe {
                visit(&*at);
                at = (*moved_links(&*at))[1];
            }
        }
    }

    /// Takes all messages out, oldest first.
    pub fn clear(&mut self) -> Chain {
        let first = std::mem::replace(&mut self.first, std::ptr::null_mut());
        *self = Mailbox::default();
        // SAFETY: each was pushed as a message, and the mailbox knows them no more.
        unsafe { Chain::from_raw(first) }
    }
}

impl Drop for Mailbox {
    fn drop(&mut self) {
        if !self.first.is_null() {
            drop(self.clear());
        }
    }
}

#[cfg(test)]
mod tests;
