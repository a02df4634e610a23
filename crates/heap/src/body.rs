//! Bodies of signals: what a message brings beside its term. The crate of processes knows what is in one; a pointer of
//! one word is enough for others to free it.

use std::any::TypeId;
use std::ptr::{NonNull, null_mut};

use crate::fragment::Fragment;

/// What stands before each body.
#[derive(Debug)]
pub(crate) struct Head {
    of: TypeId,
    discard: unsafe fn(NonNull<Head>),
}

#[repr(C)]
struct Body<B> {
    head: Head,
    value: B,
}

/// # Safety
/// The head is that of a body of this type, which the caller gives up.
unsafe fn discard<B>(head: NonNull<Head>) {
    // SAFETY: as the caller's; `attach` made it.
    drop(unsafe { Box::from_raw(head.cast::<Body<B>>().as_ptr()) });
}

/// Frees a body.
///
/// # Safety
/// It came from [`Fragment::attach`], and the caller gives it up.
#[cold]
pub(crate) unsafe fn free(head: NonNull<Head>) {
    // SAFETY: as the caller's; the function is that of its type.
    unsafe { (head.as_ref().discard)(head) };
}

impl Fragment {
    /// Gives it a body, in the place of the one that it may have.
    pub fn attach<B: Send + 'static>(&self, value: B) {
        let body = Body { head: Head { of: TypeId::of::<B>(), discard: discard::<B> }, value };
        let before = self.body.replace(Box::into_raw(Box::new(body)).cast());
        if let Some(before) = NonNull::new(before) {
            // SAFETY: the body was this fragment's own, and is on it no more.
            unsafe { free(before) };
        }
    }

    /// Whether it has a body: then it is no plain message.
    #[inline]
    pub fn has_body(&self) -> bool {
        !self.body.get().is_null()
    }

    /// Gives another fragment its body, for the one that the other may have.
    pub fn exchange_bodies(&self, other: &Fragment) {
        self.body.swap(&other.body);
    }

    /// Takes the body out, if it has one of this type.
    #[inline]
    pub fn take_body<B: Send + 'static>(&self) -> Option<B> {
        if self.has_body() { self.take_body_there::<B>() } else { None }
    }

    fn take_body_there<B: Send + 'static>(&self) -> Option<B> {
        let head = NonNull::new(self.body.get())?;
        // SAFETY: a body belongs to its fragment, and nobody holds a reference to it.
        if unsafe { head.as_ref() }.of != TypeId::of::<B>() {
            return None;
        }
        self.body.set(null_mut());
        // SAFETY: it is of this type, and was taken off the fragment.
        let body = unsafe { Box::from_raw(head.cast::<Body<B>>().as_ptr()) };
        Some(body.value)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::Message;

    #[test]
    fn a_body_is_taken_once_by_its_type_and_freed_with_its_message() {
        let counted = Arc::new(());
        let message = Message::new(0);
        message.attach(Arc::clone(&counted));
        assert!(message.take_body::<u64>().is_none());
        assert_eq!(Arc::strong_count(&counted), 2);
        drop(message.take_body::<Arc<()>>());
        assert!(message.take_body::<Arc<()>>().is_none());
        assert_eq!(Arc::strong_count(&counted), 1);
        message.attach(Arc::clone(&counted));
        message.attach([Arc::clone(&counted), Arc::clone(&counted)]);
        assert_eq!(Arc::strong_count(&counted), 3);
        drop(message);
        assert_eq!(Arc::strong_count(&counted), 1);
    }
}
