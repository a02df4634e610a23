//! A heap without a process.

use std::ops::{Deref, DerefMut};

use atoll_term::{Immediate, Term};

use crate::architecture::HeapOptions;
use crate::message::Message;
use crate::mutator::Mutator;
use crate::part::architecture;

/// A heap as a process has it, of no process: for tests. It is never collected; terms in it are used while it lives.
pub struct LoneHeap(Mutator);

impl LoneHeap {
    /// An empty heap of the architecture of this thread's machine.
    pub fn new(options: &HeapOptions) -> LoneHeap {
        let mut mutator = Mutator::empty();
        let nothing = Message::immediate(Immediate::or_none(Term::NIL));
        // SAFETY: the mutator is empty.
        unsafe { architecture().create(&mut mutator, nothing, options) };
        LoneHeap(mutator)
    }
}

impl Deref for LoneHeap {
    type Target = Mutator;

    fn deref(&self) -> &Mutator {
        &self.0
    }
}

impl DerefMut for LoneHeap {
    fn deref_mut(&mut self) -> &mut Mutator {
        &mut self.0
    }
}

impl Drop for LoneHeap {
    fn drop(&mut self) {
        // SAFETY: terms of this heap are used while it lives.
        unsafe { architecture().destroy(&mut self.0) };
    }
}
