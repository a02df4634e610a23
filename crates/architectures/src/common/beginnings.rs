//! What tells the beginnings of processes apart: two began alike when they call the same function with the same atoms
//! and funs among its arguments.

use atoll_term::{Term, View};

/// Arguments, and elements of lists among them, that are looked at.
const LOOKED_AT: usize = 16;

/// A hash of what tells one beginning from another.
pub(crate) fn kind((module, name): (Term, Term), arguments: Term) -> u64 {
    let mut hash = mix(module.word(), name.word().rotate_left(32));
    let mut left = LOOKED_AT;
    let mut list = arguments;
    while list.is_cons() && left > 0 {
        let mut inner = list.head();
        hash = mix_term(hash, inner);
        left -= 1;
        while inner.is_cons() && left > 0 {
            hash = mix_term(hash, inner.head());
            left -= 1;
            inner = inner.tail();
        }
        list = list.tail();
    }
    hash ^ hash >> 32
}

fn mix_term(hash: u64, term: Term) -> u64 {
    if term.is_atom() {
        return mix(hash, term.word());
    }
    match term.is_boxed().then(|| term.view()) {
        Some(View::Fun(fun)) => mix(hash, std::ptr::from_ref(fun.entry) as u64),
        _ => mix(hash, 1),
    }
}

fn mix(hash: u64, value: u64) -> u64 {
    (hash ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
}
