//! Terms that are kept while no heap has them.

use atoll_code::Resolver;
use atoll_etf::{DecodeOptions, EncodeOptions, decode, encode};
use atoll_process::sequence::Foreign;
use atoll_term::{Allocate, Term, atoms, this_node};

/// A term: itself if it is an immediate, else as bytes.
#[derive(Clone, Debug)]
pub enum Kept {
    /// An immediate.
    Immediate(Term),
    /// What encodes it.
    Encoded(Vec<u8>),
}

impl Kept {
    /// Keeps a term; one that cannot be encoded, because it is too large, becomes `undefined`.
    pub fn of(term: Term) -> Kept {
        if term.is_immediate() {
            return Kept::Immediate(term);
        }
        match encode(term, EncodeOptions::default(), this_node()) {
            Ok(bytes) => Kept::Encoded(bytes),
            Err(_) => Kept::Immediate(atoms::UNDEFINED),
        }
    }

    /// The term, on a heap.
    pub fn term(&self, heap: &mut (impl Allocate + ?Sized)) -> Term {
        match self {
            Kept::Immediate(term) => *term,
            // What this node has encoded itself can be decoded.
            Kept::Encoded(bytes) => {
                decode(bytes, DecodeOptions::default(), &mut Resolver, heap).map_or(Term::NIL, |(term, _)| term)
            }
        }
    }
}

impl Foreign for Kept {
    fn label(&self, heap: &mut dyn Allocate) -> Term {
        self.term(heap)
    }
}

#[cfg(test)]
mod tests {
    use atoll_term::{Build, ScratchHeap, exactly_equal};

    use super::*;

    #[test]
    fn a_term_outlasts_its_heap() {
        let kept = {
            let mut heap = ScratchHeap::new();
            let list = heap.list([Term::small(1), atoms::TRUE]);
            Kept::of(heap.tuple(&[atoms::ERROR, list]))
        };
        let mut heap = ScratchHeap::new();
        let list = heap.list([Term::small(1), atoms::TRUE]);
        let expected = heap.tuple(&[atoms::ERROR, list]);
        assert!(exactly_equal(kept.term(&mut heap), expected));
        assert!(matches!(Kept::of(atoms::TRUE), Kept::Immediate(atoms::TRUE)));
    }
}
