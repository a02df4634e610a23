//! How large the stack of a new process is, where stacks are apart: of a few words, unless processes that began alike
//! (`beginnings.rs`) have outgrown that. Then it is as large as theirs became, up to a limit. At times the next one
//! begins with a few words again, so that what was needed long ago is forgotten.

use std::sync::atomic::{AtomicU64, Ordering};

use atoll_heap::Mutator;
use atoll_term::Term;

use super::beginnings::kind;
use super::stack;

/// Number of entries, a power of two.
const ENTRIES: usize = 512;
/// Most words of a stack that a process begins with.
const LARGEST: u64 = 21;
/// Of so many processes with a larger stack, one has the least size instead.
const FORGETS_AFTER: u64 = 64;

/// What processes needed that began alike. An entry is the kind, in the upper half, how many began with what it says,
/// and words; without words it says nothing. Threads that change one at the same time lose one of the changes.
#[derive(Debug)]
pub(crate) struct FirstStacks(Box<[AtomicU64]>);

/// What a process keeps of its beginning: one more than its entry's number, 0 if it has none.
#[derive(Clone, Copy)]
pub(crate) struct Beginning(u16);

const KIND: u32 = 32;
const COUNT: u32 = 16;
const WORDS: u64 = (1 << COUNT) - 1;
const _: () = assert!(FORGETS_AFTER <= WORDS && LARGEST <= WORDS && ENTRIES < u16::MAX as usize);

impl FirstStacks {
    pub(crate) fn new() -> FirstStacks {
        FirstStacks((0..ENTRIES).map(|_| AtomicU64::new(0)).collect())
    }

    /// A new process, whose stack is empty, calls this function with the list `arguments`.
    pub(crate) fn begins(&self, mutator: &mut Mutator, function: (Term, Term), arguments: Term) -> Beginning {
        let hash = kind(function, arguments);
        let place = hash as usize % ENTRIES;
        let entry = self.0[place].load(Ordering::Relaxed);
        let unknown = hash >> KIND << KIND;
        if entry >> KIND != hash >> KIND {
            self.0[place].store(unknown, Ordering::Relaxed);
        } else if entry & WORDS > 0 {
            let count = ((entry >> COUNT) & WORDS) + 1;
            if count < FORGETS_AFTER {
                self.0[place].store(entry + (1 << COUNT), Ordering::Relaxed);
                stack::replace_empty(mutator, (entry & WORDS) as usize);
            } else {
                self.0[place].store(unknown, Ordering::Relaxed);
            }
        }
        Beginning(place as u16 + 1)
    }

    /// The stack of a process that began so has grown to this many words.
    #[cold]
    pub(crate) fn grew(&self, beginning: Beginning, words: usize) {
        let Some(place) = usize::from(beginning.0).checked_sub(1) else { return };
        let entry = self.0[place].load(Ordering::Relaxed);
        let words = LARGEST.min(words as u64);
        if words > entry & WORDS {
            self.0[place].store(entry & !WORDS | words, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use atoll_term::atoms;

    use super::*;

    fn begun(stacks: &FirstStacks, name: Term) -> (Beginning, usize) {
        let mut mutator = Mutator::empty();
        stack::create(&mut mutator);
        let beginning = stacks.begins(&mut mutator, (atoms::NORMAL, name), Term::NIL);
        let words = stack::block_words(&mutator);
        stack::free(&mut mutator);
        (beginning, words)
    }

    #[test]
    fn what_has_grown_once_begins_larger_until_that_is_forgotten() {
        crate::tests::enter();
        let stacks = FirstStacks::new();
        let (beginning, least) = begun(&stacks, atoms::HIGH);
        stacks.grew(beginning, 13);
        stacks.grew(beginning, 8);
        for _ in 1..FORGETS_AFTER {
            assert_eq!(begun(&stacks, atoms::HIGH).1, 13);
            assert_eq!(begun(&stacks, atoms::LOW).1, least, "another function");
        }
        assert_eq!(begun(&stacks, atoms::HIGH).1, least);
        assert_eq!(begun(&stacks, atoms::HIGH).1, least);
        stacks.grew(beginning, 1000);
        assert_eq!(begun(&stacks, atoms::HIGH).1, LARGEST as usize);
        // One that nothing was told of.
        stacks.grew(Beginning(0), 13);
    }
}
