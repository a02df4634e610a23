//! Native records, which came with release 29: this machine has no values of that type yet. What asks about a value is
//! answered; what would make one fails.

use atoll_process::{BuiltIn, Caller, Outcome, badarg};
use atoll_term::Term;

/// What this file provides.
pub const BUILT_INS: &[BuiltIn] = &[
    BuiltIn::new("erlang", "is_record", 1, is_record),
    BuiltIn::new("records", "get", 2, not_one),
    BuiltIn::new("records", "get_definition", 2, not_one),
    BuiltIn::new("records", "get_field_names", 1, not_one),
    BuiltIn::new("records", "get_module", 1, not_one),
    BuiltIn::new("records", "get_name", 1, not_one),
    BuiltIn::new("records", "is_exported", 1, not_one),
    BuiltIn::new("records", "update", 4, not_one),
];

/// No value is one.
fn is_record(_: &mut Caller<'_>, _: &[Term]) -> Outcome {
    Ok(Term::boolean(false))
}

fn not_one(_: &mut Caller<'_>, _: &[Term]) -> Outcome {
    Err(badarg())
}
