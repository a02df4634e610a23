//! What a language runtime tells the collector about its objects and roots.

use std::fmt;
use std::ops::Range;
use std::ptr::NonNull;

/// Where the references that a runtime reports go.
pub struct Visitor<'a> {
    sink: &'a mut dyn FnMut(NonNull<u64>) -> NonNull<u64>,
}

impl fmt::Debug for Visitor<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Visitor").finish_non_exhaustive()
    }
}

impl<'a> Visitor<'a> {
    pub(crate) fn new(sink: &'a mut dyn FnMut(NonNull<u64>) -> NonNull<u64>) -> Visitor<'a> {
        Visitor { sink }
    }

    /// Reports one reference: the first word of an object of this heap, never an inner one.
    ///
    /// Returns where the object is now. Only the copying collector ever returns another address, and then the caller
    /// must store it where it found the reference (keeping its own tag bits); for roots it is always the same address.
    #[inline]
    pub fn visit(&mut self, object: NonNull<u64>) -> NonNull<u64> {
        (self.sink)(object)
    }
}

/// Whether a portion of roots was the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Portion {
    /// There are more; call again.
    More,
    /// That was all.
    Done,
    /// There are more, but not to be had now: call again later.
    Waiting,
}

/// The object model of a language runtime, and, if it has roots besides those of the [`crate::raw::RawMutator`]s, its
/// roots.
///
/// # Safety
/// [`Runtime::describe`] must report every reference to an object of the heap that the given portion of the object
/// holds, and nothing else. A missed reference is a dangling one later.
pub unsafe trait Runtime: Send + Sync + 'static {
    /// Reports the references held in the words `portion` of an object.
    ///
    /// `words` is the length of the object's block, at least what was asked for; words past what was asked for are
    /// undefined. Large objects are described by several calls with disjoint portions that cover `0..words`, perhaps
    /// from several threads at once, while other threads may store into the object: load words atomically (relaxed is
    /// enough) wherever that happens.
    ///
    /// # Safety
    /// `object` is the first word of a live object of this runtime.
    unsafe fn describe(&self, object: NonNull<u64>, words: usize, portion: Range<usize>, visitor: &mut Visitor<'_>);

    /// As [`Runtime::describe`] for the whole of an object, and, if it is one of two words that refers to the object
    /// directly behind it (a cell of a list that was built in a row), for that one too, and so on up to `most` of them;
    /// the references by which they hang together are not reported. How many were described, which is at least one.
    /// Saves a call, and more, for each.
    ///
    /// # Safety
    /// As for [`Runtime::describe`]; the next `2 * most` words lie on one page.
    unsafe fn describe_row(&self, object: NonNull<u64>, words: usize, most: usize, visitor: &mut Visitor<'_>) -> usize {
        let _ = most;
        // SAFETY: the caller's obligation.
        unsafe { self.describe(object, words, 0..words, visitor) };
        1
    }

    /// Called once for an object from [`crate::raw::RawMutator::allocate_finalizable`] that has died, before its memory
    /// is used again, so that it can give back what it owns outside the heap. Its references must not be followed, and
    /// the heap must not be used.
    ///
    /// # Safety
    /// `object` is the first word of an object of this runtime that nothing refers to any more.
    unsafe fn finalize(&self, object: NonNull<u64>, words: usize) {
        let _ = (object, words);
    }

    /// Whether the runtime may hold references that only [`Runtime::push_roots`] or [`Runtime::push_changed_roots`]
    /// report.
    ///
    /// Where it says no, a heap can know when a temporary has died: see [`crate::Config::temporaries`].
    fn has_roots(&self) -> bool {
        true
    }

    /// A collection begins: the runtime's own roots will be asked for from the start.
    fn begin_roots(&self) {}

    /// Pushes the next portion of the runtime's own roots, about `slots` of them, into the visitor.
    ///
    /// Called by whichever thread runs an increment, until it says [`Portion::Done`], or [`Portion::Waiting`]: then
    /// [`Runtime::push_changed_roots`] has to come to the rest. From the call of
    /// [`Runtime::begin_roots`] on, each thread must grey references that it takes out of an object
    /// ([`crate::raw::RawMutator::barrier`]), or see to it that [`Runtime::push_changed_roots`] reports them.
    fn push_roots(&self, slots: usize, visitor: &mut Visitor<'_>) -> Portion {
        let _ = (slots, visitor);
        Portion::Done
    }

    /// Pushes roots that have changed since they were pushed (the stacks of recently run threads), in portions.
    ///
    /// The collection ends only after this said [`Portion::Done`], and then each mutator polled, without a new grey
    /// object in between.
    fn push_changed_roots(&self, slots: usize, visitor: &mut Visitor<'_>) -> Portion {
        let _ = (slots, visitor);
        Portion::Done
    }
}
