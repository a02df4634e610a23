//! Hashes against stock `erl`.

mod support;

use atoll_term::text::to_string;
use atoll_term::{Term, atoms, hash};
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
