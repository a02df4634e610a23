//! Parts of terms: who asks for those of another kind gets a panic, in every build, and nothing of what lies in memory.

use std::panic::catch_unwind;

use atoll_term::{Build, ScratchHeap, Term, atoms};

type Look = fn(Term);

const OF_A_CONS: [Look; 3] = [
    |term| assert!(!term.head().is_none()),
    |term| assert!(!term.tail().is_none()),
    |term| assert!(!term.cons_cell().is_empty()),
];
const OF_A_BOXED_TERM: [Look; 2] =
    [|term| assert!(term.header().arity() > 0), |term| assert!(!term.boxed_terms().is_empty())];

/// Which of them panic.
fn refused(looks: &[Look], term: Term) -> Vec<bool> {
    let word = term.word();
    // SAFETY: it is the word of the term.
    looks.iter().map(|look| catch_unwind(|| look(unsafe { Term::from_word(word) })).is_err()).collect()
}

#[test]
fn parts_of_another_kind_are_refused() {
    let mut heap = ScratchHeap::new();
    let cons = heap.cons(Term::small(1), Term::NIL);
    let tuple = heap.tuple(&[Term::NIL]);
    let binary = heap.binary(b"opaque");
    let immediates = [Term::NIL, Term::NONE, Term::small(8), Term::pid(16), Term::port(16), atoms::TRUE];
    for term in immediates {
        assert_eq!(refused(&OF_A_CONS, term), [true; 3], "{term:?}");
        assert_eq!(refused(&OF_A_BOXED_TERM, term), [true; 2], "{term:?}");
    }
    assert_eq!(refused(&OF_A_CONS, cons), [false; 3]);
    assert_eq!(refused(&OF_A_BOXED_TERM, cons), [true; 2]);
    assert_eq!(refused(&OF_A_CONS, tuple), [true; 3]);
    assert_eq!(refused(&OF_A_BOXED_TERM, tuple), [false; 2]);
    assert_eq!(refused(&OF_A_BOXED_TERM, binary), [false, true], "what a binary holds is no terms");
}
