//! The table of built-in functions as a whole.

use std::collections::HashSet;

#[test]
fn every_function_stands_once() {
    let mut seen = HashSet::new();
    let mut twice = Vec::new();
    for row in atoll_bifs::built_ins() {
        if !seen.insert((row.module, row.name, row.arity)) {
            twice.push(format!("{}:{}/{}", row.module, row.name, row.arity));
        }
    }
    assert!(twice.is_empty(), "more than one row: {twice:?}");
}
