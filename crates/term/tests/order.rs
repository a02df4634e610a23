//! Order and equality against stock `erl`.

mod support;

use atoll_term::text::to_string;
use atoll_term::{Term, compare, compare_exact, equal, exactly_equal};
use support::{ask, assert_none, fields};

#[test]
fn order_and_equality_are_those_of_erl() {
    let Some(answers) = ask("order", 20_000) else { return };
    let mut failures = Vec::new();
    for record in &answers.records {
        let &[a, b, order, exact_order, are_equal, are_exactly_equal] = fields(record) else { panic!("a record") };
        let mut check = |what: &str, given: Term, expected: Term| {
            if given != expected {
                failures.push(format!("{what}: {} in {}", to_string(given), to_string(*record)));
            }
        };
        let sign = |order: std::cmp::Ordering| Term::small(order as i64);
        check("order", sign(compare(a, b)), order);
        check("reverse order", sign(compare(b, a).reverse()), order);
        check("exact order", sign(compare_exact(a, b)), exact_order);
        check("reverse exact order", sign(compare_exact(b, a).reverse()), exact_order);
        check("==", Term::boolean(equal(a, b)), are_equal);
        check("=:=", Term::boolean(exactly_equal(a, b)), are_exactly_equal);
    }
    assert_none(&failures);
}
