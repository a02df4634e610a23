//! Messages that were taken out of an inbox or a mailbox all at once.

use std::ptr::NonNull;

use atoll_heap::{Fragment, Message};

/// Messages with one owner, oldest first. Those that are not taken are freed.
#[derive(Debug)]
pub struct Chain(*mut Fragment);

impl Chain {
    /// No messages.
    pub(crate) const EMPTY: Chain = Chain(std::ptr::null_mut());

    /// Takes over a chain through the links of its fragments; null is none.
    ///
    /// # Safety
    /// The fragments were messages, each is on this chain alone, and the caller gives all of them up.
    pub(crate) unsafe fn from_raw(first: *mut Fragment) -> Chain {
        Chain(first)
    }
}

impl Iterator for Chain {
    type Item = Message;

    #[inline]
    fn next(&mut self) -> Option<Message> {
        let first = NonNull::new(self.0)?;
        // SAFETY: the fragments are this chain's own; the first one leaves it.
        unsafe {
            self.0 = first.as_ref().next();
            Some(Message::from_raw(first))
        }
    }
}

impl Drop for Chain {
    #[inline]
    fn drop(&mut self) {
        for message in self {
            drop(message);
        }
    }
}
