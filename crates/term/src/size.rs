//! How much heap a term takes, and which binaries it holds.

use std::collections::HashSet;

use crate::off_heap::OffHeapBinary;

use crate::word::{Term, Word};

/// Words that a copy of the term takes where nothing is shared: what sending it to a private heap costs. Binaries
/// outside of heaps count by their handles.
pub fn flat_words(term: Term) -> usize {
    count(term, |_| true)
}

/// Words that the term takes as it is, each shared part counted once.
pub fn shared_words(term: Term) -> usize {
    let mut seen: HashSet<*mut Word> = HashSet::new();
    count(term, |part| seen.insert(part.pointer()))
}

/// Visits the binaries outside of heaps that the term holds, once for each of its handles.
pub fn each_off_heap_binary(term: Term, mut visit: impl FnMut(&OffHeapBinary)) {
    let mut seen: HashSet<*mut Word> = HashSet::new();
    count(term, |part| {
        let is_new = seen.insert(part.pointer());
        if is_new && part.is_boxed() {
            part.off_heap_binary().into_iter().for_each(&mut visit);
        }
        is_new
    });
}

/// Words of the objects that are reached and that `enter` accepts.
fn count(term: Term, mut enter: impl FnMut(Term) -> bool) -> usize {
    let mut words = 0;
    let mut pending: Vec<Term> = vec![term];
    while let Some(mut term) = pending.pop() {
        while term.is_cons() && enter(term) {
            words += 2;
            if term.head().is_pointer() {
                pending.push(term.head());
            }
            term = term.tail();
        }
        if term.is_boxed() && enter(term) {
            let header = term.header();
            words += header.object_words();
            if !header.is_opaque() {
                pending.extend(term.boxed_terms().iter().filter(|part| part.is_pointer()));
            }
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Build, ScratchHeap};

    #[test]
    fn sharing_is_counted_once() {
        let mut heap = ScratchHeap::new();
        assert_eq!((flat_words(Term::NIL), shared_words(Term::small(1))), (0, 0));
        let pair = heap.tuple(&[Term::small(1), Term::small(2)]);
        let list = heap.list([pair, pair, Term::NIL]);
        assert_eq!((flat_words(list), shared_words(list)), (6 + 2 * 3, 6 + 3));
        let outer = heap.tuple(&[list, list.tail(), list]);
        assert_eq!((flat_words(outer), shared_words(outer)), (4 + 12 + 7 + 12, 4 + 6 + 3));
        let binary = heap.binary(&[1; 9]);
        let bits = heap.sub_bits(binary, 3, 50);
        assert_eq!(flat_words(bits), 4 + 4);
        let large = heap.binary(&[1; 1000]);
        assert_eq!(flat_words(large), 3);
        let twice = heap.list([large, large, binary]);
        let mut lengths = Vec::new();
        each_off_heap_binary(twice, |binary| lengths.push(binary.used()));
        assert_eq!(lengths, [1000]);
        let float = heap.float(1.0);
        let map = crate::map::from_pairs(&mut heap, &[(Term::small(1), float)]);
        assert_eq!(flat_words(map), 3 + 2 + 2);
        // A term that doubles at each level: 2^60 words flat, so only what is shared can be counted in time.
        let doubled = (0..60).fold(Term::NIL, |inner, _| heap.tuple(&[inner, inner]));
        assert_eq!(shared_words(doubled), 180);
    }
}
