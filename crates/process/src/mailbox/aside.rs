//! What few mailboxes have beside their messages, in one word as long as it is one thing.

use std::ptr::{NonNull, null_mut};

use atoll_heap::Fragment;

use super::Markers;

/// Nothing, a message that has moved, a message that was looked at (in place or not), or the address of all of it.
/// Which, the lowest bits say.
pub(super) struct Aside(*mut u8);

/// All of it.
#[derive(Default)]
struct Whole {
    moved: Place,
    looked_at: Place,
    markers: Markers,
}

struct Place(*mut Fragment);

impl Default for Place {
    fn default() -> Place {
        Place(null_mut())
    }
}

const MOVED: usize = 0;
const LOOKED_AT: usize = 1;
const WHOLE: usize = 2;
const IN_PLACE: usize = 3;
const TAGS: usize = 3;
const _: () = assert!(align_of::<Fragment>() > TAGS && align_of::<Whole>() > TAGS);

impl Aside {
    pub(super) const NOTHING: Aside = Aside(null_mut());

    /// Whether there is nothing but messages that have moved, or nothing: so in most mailboxes.
    #[inline(always)]
    pub(super) fn is_moved_alone(&self) -> bool {
        self.tag() == MOVED
    }

    #[inline(always)]
    fn tag(&self) -> usize {
        self.0.addr() & TAGS
    }

    /// As [`Aside::tag`], without regard to where a message was looked at.
    #[inline(always)]
    fn kind(&self) -> usize {
        if self.tag() == IN_PLACE { LOOKED_AT } else { self.tag() }
    }

    #[inline(always)]
    fn message(&self) -> *mut Fragment {
        self.0.map_addr(|address| address & !TAGS).cast()
    }

    #[inline(always)]
    fn whole(&self) -> Option<&Whole> {
        // SAFETY: with this tag it is the address of a box of this value's own.
        (self.tag() == WHOLE).then(|| unsafe { &*self.message().cast::<Whole>() })
    }

    #[inline(always)]
    fn whole_mut(&mut self) -> Option<&mut Whole> {
        // SAFETY: as above.
        (self.tag() == WHOLE).then(|| unsafe { &mut *self.message().cast::<Whole>() })
    }

    #[cold]
    fn some_whole(&mut self) -> &mut Whole {
        if self.tag() != WHOLE {
            let mut whole = Box::<Whole>::default();
            if self.tag() == MOVED {
                whole.moved = Place(self.message());
            } else {
                whole.looked_at = Place(self.message());
            }
            self.0 = Box::into_raw(whole).cast::<u8>().map_addr(|address| address | WHOLE);
        }
        // SAFETY: as above.
        unsafe { &mut *self.message().cast::<Whole>() }
    }

    /// The message of this tag, or null.
    #[inline]
    fn of(&self, tag: usize, of_whole: impl FnOnce(&Whole) -> &Place) -> *mut Fragment {
        match self.whole() {
            Some(whole) => of_whole(whole).0,
            None if self.kind() == tag => self.message(),
            None => null_mut(),
        }
    }

    #[inline]
    fn set(&mut self, tag: usize, message: *mut Fragment, of_whole: impl FnOnce(&mut Whole) -> &mut Place) {
        match self.kind() {
            WHOLE => {}
            now if now == tag || self.0.is_null() => {
                let tag = if message.is_null() { MOVED } else { tag };
                self.0 = message.cast::<u8>().map_addr(|address| address | tag);
                return;
            }
            _ if message.is_null() => return,
            _ => {}
        }
        of_whole(self.some_whole()).0 = message;
    }

    /// One of the messages that have moved, or null.
    #[inline]
    pub(super) fn moved(&self) -> *mut Fragment {
        self.of(MOVED, |whole| &whole.moved)
    }

    /// Exchanges [`Aside::moved`] where there is nothing else.
    #[inline(always)]
    pub(super) fn replace_moved_alone(&mut self, message: *mut Fragment) -> *mut Fragment {
        debug_assert!(self.is_moved_alone());
        std::mem::replace(&mut self.0, message.cast()).cast()
    }

    /// Sets [`Aside::moved`].
    #[inline]
    pub(super) fn set_moved(&mut self, message: *mut Fragment) {
        self.set(MOVED, message, |whole| &mut whole.moved);
    }

    /// Sets [`Aside::looked_at`] to a message that was looked at in place, if there is nothing else.
    #[inline(always)]
    pub(super) fn set_in_place(&mut self, message: *mut Fragment) -> bool {
        let is_first = self.0.is_null();
        if is_first {
            self.0 = message.cast::<u8>().map_addr(|address| address | IN_PLACE);
        }
        is_first
    }

    /// Whether there is nothing but this message, looked at in place.
    #[inline(always)]
    pub(super) fn is_in_place(&self, message: *mut Fragment) -> bool {
        self.0.addr() == message.addr() | IN_PLACE
    }

    /// As [`Aside::is_in_place`]. Then there is nothing.
    #[inline(always)]
    pub(super) fn take_in_place(&mut self, message: *mut Fragment) -> bool {
        let is_there = self.is_in_place(message);
        if is_there {
            self.0 = null_mut();
        }
        is_there
    }

    /// The message that was looked at, or null.
    #[inline]
    pub(super) fn looked_at(&self) -> *mut Fragment {
        self.of(LOOKED_AT, |whole| &whole.looked_at)
    }

    /// Sets [`Aside::looked_at`].
    #[inline]
    pub(super) fn set_looked_at(&mut self, message: *mut Fragment) {
        self.set(LOOKED_AT, message, |whole| &mut whole.looked_at);
    }

    /// The markers, if there may be any.
    #[inline]
    pub(super) fn markers(&self) -> Option<&Markers> {
        self.whole().map(|whole| &whole.markers)
    }

    /// The markers, if there may be any.
    #[inline]
    pub(super) fn markers_mut(&mut self) -> Option<&mut Markers> {
        self.whole_mut().map(|whole| &mut whole.markers)
    }

    /// The markers, made if there are none.
    pub(super) fn some_markers(&mut self) -> &mut Markers {
        &mut self.some_whole().markers
    }
}

impl Drop for Aside {
    fn drop(&mut self) {
        if self.tag() == WHOLE
            && let Some(whole) = NonNull::new(self.message().cast::<Whole>())
        {
            // SAFETY: the box is this value's own.
            drop(unsafe { Box::from_raw(whole.as_ptr()) });
        }
    }
}

#[cfg(test)]
mod tests {
    use atoll_heap::Message;

    use super::*;

    /// Every order of the two kinds, each set and taken back, with and without markers.
    #[test]
    fn neither_hides_the_other() {
        let messages = [Message::new(2).into_raw(), Message::new(2).into_raw()];
        let [one, other] = messages.map(NonNull::as_ptr);
        for with_markers in [false, true] {
            for (moved, looked_at) in [(one, other), (one, null_mut()), (null_mut(), other), (null_mut(), null_mut())] {
                for moved_first in [true, false] {
                    let mut aside = Aside::NOTHING;
                    if with_markers {
                        aside.some_markers().left = 7;
                    }
                    if moved_first {
                        aside.set_moved(moved);
                    }
                    aside.set_looked_at(looked_at);
                    aside.set_moved(moved);
                    assert_eq!((aside.moved(), aside.looked_at()), (moved, looked_at));
                    aside.set_looked_at(null_mut());
                    assert_eq!((aside.moved(), aside.looked_at()), (moved, null_mut()));
                    aside.set_looked_at(other);
                    aside.set_moved(null_mut());
                    assert_eq!((aside.moved(), aside.looked_at()), (null_mut(), other));
                    aside.some_markers().left += 1;
                    assert_eq!((aside.moved(), aside.looked_at()), (null_mut(), other));
                    assert_eq!(aside.markers().map(|markers| markers.left), Some(if with_markers { 8 } else { 1 }));
                    aside.set_looked_at(null_mut());
                    assert!(aside.looked_at().is_null() && aside.moved().is_null());
                }
            }
        }
        for message in messages {
            // SAFETY: it is on no list.
            drop(unsafe { Message::from_raw(message) });
        }
    }
}
