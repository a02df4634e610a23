//! Terms that belong to no process: rows of tables, and what compiled match specifications hold.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use atoll_term::Term;

use crate::fragment::Fragment;
use crate::message::Message;
use crate::mutator::Mutator;
use crate::part::architecture;

/// A term kept outside of every process, until it is dropped. What keeping and handing out cost is the architecture's
/// business: a copy, or a pointer that is a root.
pub struct Stored(NonNull<Fragment>);

// SAFETY: a stored term is immutable while it is borrowed, and nothing of it is tied to a thread.
unsafe impl Send for Stored {}
// SAFETY: as above.
unsafe impl Sync for Stored {}

/// A term on its way into what is stored: it may take the place of another one. Collectors do not know it, so it is
/// kept or dropped before its process can wait; other threads never have it.
#[must_use]
pub struct Incoming(NonNull<Fragment>);

impl Incoming {
    /// A term that lies on `owner`'s heap.
    pub fn new(owner: &mut Mutator, term: Term) -> Incoming {
        Incoming(architecture().store(owner, term))
    }

    /// As [`Incoming::new`], for a term that nobody else holds or will hold.
    pub fn new_own(owner: &mut Mutator, term: Term) -> Incoming {
        Incoming(architecture().store_own(owner, term))
    }

    /// The term.
    #[inline(always)]
    pub fn term(&self) -> &Term {
        // SAFETY: as in `Stored::term`.
        unsafe { &*self.0.as_ref().term_place() }
    }

    /// As [`Stored::words`].
    pub fn words(&self) -> usize {
        words(self.0)
    }

    /// Keeps it.
    pub fn keep(self) -> Stored {
        let stored = std::mem::ManuallyDrop::new(self).0;
        // SAFETY: it was made by `store`, and this is the one place that links it.
        unsafe { architecture().link_stored(stored) };
        Stored(stored)
    }
}

impl Drop for Incoming {
    fn drop(&mut self) {
        // SAFETY: the fragment was this value's own, and is on no list.
        drop(unsafe { Message::from_raw(self.0) });
    }
}

fn words(fragment: NonNull<Fragment>) -> usize {
    // SAFETY: callers own the fragment.
    Fragment::HEAD_WORDS + unsafe { Fragment::capacity_at(fragment) }
}

impl Stored {
    /// Keeps a term that lies on `owner`'s heap.
    pub fn new(owner: &mut Mutator, term: Term) -> Stored {
        Incoming::new(owner, term).keep()
    }

    /// As [`Stored::new`], for a term that nobody else holds or will hold.
    pub fn new_own(owner: &mut Mutator, term: Term) -> Stored {
        Incoming::new_own(owner, term).keep()
    }

    /// Puts another term in the place of this one. `Err`: the architecture cannot do so where it lies.
    ///
    /// # Errors
    /// What was to be put there.
    pub fn replace(&mut self, with: Incoming) -> Result<(), Incoming> {
        // SAFETY: both are the values' own, and this one is borrowed alone.
        if unsafe { architecture().replace_stored(self.0, with.0) } {
            std::mem::forget(with);
            return Ok(());
        }
        Err(with)
    }

    /// The term, to be looked at while this is borrowed. What a process is to keep goes through [`Stored::fetch`] or
    /// [`Stored::fetch_part`]. What is seen of it is borrowed too:
    ///
    /// ```compile_fail,E0505
    /// use atoll_heap::Stored;
    /// use atoll_term::Term;
    ///
    /// fn first(row: Stored) -> Option<Term> {
    ///     let elements = row.term().tuple_elements()?;
    ///     drop(row);
    ///     elements.first().copied()
    /// }
    /// ```
    #[inline(always)]
    pub fn term(&self) -> &Term {
        // SAFETY: the fragment is this value's own. Only its term is read: the architecture may use the rest meanwhile,
        // and changes the term while no thread that borrows this runs.
        unsafe { &*self.0.as_ref().term_place() }
    }

    /// The term, for a process to keep.
    pub fn fetch(&self, reader: &mut Mutator) -> Term {
        // SAFETY: the fragment is this value's own, which is borrowed.
        unsafe { architecture().fetch(reader, self.0, *self.term()) }
    }

    /// A part of the term, for a process to keep.
    #[inline]
    pub fn fetch_part(&self, reader: &mut Mutator, part: Term) -> Term {
        if part.is_immediate() {
            return part;
        }
        // SAFETY: as above; callers give what they found in the term.
        unsafe { architecture().fetch(reader, self.0, part) }
    }

    /// Writes an immediate over an immediate element of a tuple, if nobody can hold a pointer to that tuple. Returns
    /// whether it was done. `index` counts from 0.
    pub fn replace_element(&mut self, index: usize, value: Term) -> bool {
        let tuple = *self.term();
        let Some(elements) = tuple.tuple_elements() else { return false };
        let simple = |term: &Term| term.is_immediate();
        // SAFETY: the fragment is this value's own.
        let may_change = architecture().may_change(unsafe { self.0.as_ref() });
        if !may_change || !simple(&value) || !elements.get(index).is_some_and(simple) {
            return false;
        }
        // SAFETY: the element exists, and readers borrow this value, so there is none but a collector, which takes an
        // immediate for another.
        unsafe { AtomicU64::from_ptr(tuple.word_pointer(index)) }.store(value.word(), Ordering::Relaxed);
        true
    }

    /// Words that are kept outside of the collected heaps for it.
    pub fn words(&self) -> usize {
        words(self.0)
    }
}

impl Drop for Stored {
    fn drop(&mut self) {
        // SAFETY: the fragment was this value's own. What it lent out was not to be used longer: see `term`.
        unsafe { architecture().discard_stored(self.0) };
    }
}
