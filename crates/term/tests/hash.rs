//! Hashes against stock `erl`.

mod support;

use atoll_term::text::to_string;
use atoll_term::{Build, ScratchHeap, Term, atoms, hash};
use support::{ask, assert_none, fields};

#[test]
fn hashes_are_those_of_erl() {
    let Some(answers) = ask("hash", 20_000) else { return };
    let mut failures = Vec::new();
    let mut internal_hashes = 0;
    for record in &answers.records {
        let &[term, phash2, in_range, range, phash, internal] = fields(record) else { panic!("a record") };
        let mut check = |what: &str, given: u64, expected: Term| {
            if expected != Term::small(given as i64) {
                failures.push(format!("{what}: {given} in {}", to_string(*record)));
            }
        };
        let range = range.small_value() as u64;
        check("phash2/1", hash::phash2(term).into(), phash2);
        check("phash2/2", hash::phash2_range(term, range).into(), in_range);
        check("phash/2", hash::phash(term, range), phash);
        if internal != atoms::NONE {
            internal_hashes += 1;
            check("internal", hash::map_hash(term).into(), internal);
        }
    }
    assert_none(&failures);
    assert!(internal_hashes > answers.records.len() / 4, "too few terms have an internal hash to compare with");
}

/// Short binaries are hashed from their words, parts of others from their bytes.
#[test]
fn a_binary_has_the_hash_of_its_bytes_wherever_they_lie() {
    let mut heap = ScratchHeap::new();
    let bytes: Vec<u8> = (0..64u8).map(|index| index.wrapping_mul(37) ^ 0xa5).collect();
    for length in (0..=64).step_by(if cfg!(miri) { 11 } else { 1 }) {
        let whole = heap.binary(&bytes[..length]);
        if length % 8 != 0 {
            // SAFETY: the last word of the bytes, behind the header, the length and the words before it.
            let last = unsafe { &mut *whole.pointer().add(2 + length / 8) };
            // Anything may stand behind the last byte.
            *last |= (u64::MAX << (length % 8 * 8)).to_le();
        }
        for shift in [0, 3, 8, 13] {
            // The same bytes behind some bits, with others behind them.
            let mut longer = vec![0xff; 80];
            for bit in 0..length * 8 {
                let (to, value) = (shift + bit, bytes[bit / 8] >> (7 - bit % 8) & 1);
                longer[to / 8] = longer[to / 8] & !(0x80 >> (to % 8)) | value << (7 - to % 8);
            }
            let longer = heap.binary(&longer);
            let part = heap.sub_bits(longer, shift, shift + length * 8);
            assert_eq!(hash::map_hash(part), hash::map_hash(whole), "{length} bytes from bit {shift} on");
        }
    }
}

/// What a program is charged for a hash follows what is hashed: a step for eight bytes.
#[test]
fn long_binaries_take_steps_for_their_bytes() {
    let mut heap = ScratchHeap::new();
    let mut steps = |length: usize| {
        let binary = heap.binary(&vec![7; length]);
        hash::hash2_counted(binary).1
    };
    let none = steps(0);
    assert_eq!([8, 80, 8_000, 80_000].map(|length| steps(length) - none), [1, 10, 1_000, 10_000]);
}
