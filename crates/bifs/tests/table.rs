//! The table of built-in functions as a whole.

use std::collections::HashSet;

#[test]
fn every_function_stands_once() {
    let mut seen = HashSet::new();
    for row in atoll_bifs::built_ins() {
        assert!(seen.insert((row.module, row.name, row.arity)), "{}:{}/{} twice", row.module, row.name, row.arity);
    }
}
