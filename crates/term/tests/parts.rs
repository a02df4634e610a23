//! Parts of terms, as they are read: runs of bits, the numbers of references.

use std::sync::Arc;

use atoll_term::{Build, MagicValue, ScratchHeap, Term, View};

#[test]
fn a_part_of_a_run_of_bits_begins_where_it_is_said_to() {
    let mut heap = ScratchHeap::new();
    let bytes = [0b1010_0110, 0b0011_1001, 0b1100_0101];
    let term = heap.bitstring(&bytes, 23);
    let bits = term.bits().expect("a bitstring");
    let bit = |place: usize| bytes[place / 8] >> (7 - place % 8) & 1;
    for from in (0..=23).step_by(if cfg!(miri) { 5 } else { 1 }) {
        for length in 0..=23 - from {
            let part = bits.slice(from, length);
            assert_eq!(part.length(), length);
            // A part of a part begins where its own beginning says.
            let rest = bits.slice(from / 2, 23 - from / 2).slice(from - from / 2, length);
            for part in [part, rest] {
                let read = (0..length).map(|place| part.byte(place / 8) >> (7 - place % 8) & 1);
                assert!(read.eq((from..from + length).map(bit)), "{length} bits from {from} on");
            }
        }
    }
}

#[test]
fn references_have_their_numbers() {
    let mut heap = ScratchHeap::new();
    let numbers = [0xfedc_ba98, 0x8765_4321, 0x0001_0002];
    let alias = Term::pid(7);
    let value = MagicValue::new(5);
    let plain = heap.reference(numbers, None);
    let of_alias = heap.reference(numbers, Some(alias));
    let magic = heap.magic_reference(numbers, Arc::clone(&value));
    for (term, alias) in [(plain, None), (of_alias, Some(alias)), (magic, None)] {
        let view = term.view();
        let View::Reference(reference) = view else { panic!("no reference") };
        assert_eq!((reference.numbers(), reference.alias_of()), (numbers, alias));
    }
    assert_eq!(magic.magic::<i32>(), Some(&5));
}

#[test]
fn cells_of_a_list_are_copied_in_runs() {
    let mut heap = ScratchHeap::new();
    let lengths: &[usize] = if cfg!(miri) { &[1, 2, 9] } else { &[1, 255, 256, 257, 511, 512, 513, 1000] };
    for &length in lengths {
        let list = heap.list((0..length as i64).map(Term::small));
        let tail = heap.list([Term::NIL]);
        for count in [0, 1, length / 2, length - 1, length] {
            let copy = heap.list_copied(&list, count, tail);
            let mut rest = copy;
            for place in 0..count {
                assert!(rest.is_cons() && rest != list, "{count} of {length}");
                assert_eq!(rest.head(), Term::small(place as i64), "{count} of {length}");
                rest = rest.tail();
            }
            assert_eq!(rest, tail, "{count} of {length}");
        }
    }
}
