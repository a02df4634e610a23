//! The process dictionary.

use atoll_process::{BuiltIn, Caller, Outcome};
use atoll_term::{Build, Term, atoms};

use crate::charging::charge_elements;

/// What this file provides.
pub const BUILT_INS: &[BuiltIn] = &[
    BuiltIn::new("erlang", "get", 0, get_all),
    BuiltIn::new("erlang", "get", 1, get),
    BuiltIn::new("erlang", "put", 2, put),
    BuiltIn::new("erlang", "erase", 0, erase_all),
    BuiltIn::new("erlang", "erase", 1, erase),
    BuiltIn::new("erlang", "get_keys", 0, keys),
    BuiltIn::new("erlang", "get_keys", 1, keys_of),
];

fn entries(caller: &Caller<'_>) -> Vec<(Term, Term)> {
    caller.own.rare.as_ref().map(|rare| rare.dictionary.entries().to_vec()).unwrap_or_default()
}

fn pairs(caller: &mut Caller<'_>, entries: &[(Term, Term)]) -> Term {
    charge_elements(caller, entries.len());
    let heap = caller.heap();
    entries.iter().rev().fold(Term::NIL, |list, (key, value)| {
        let pair = heap.tuple(&[*key, *value]);
        heap.cons(pair, list)
    })
}

fn get_all(caller: &mut Caller<'_>, _: &[Term]) -> Outcome {
    let entries = entries(caller);
    Ok(pairs(caller, &entries))
}

fn get(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let value = caller.own.rare.as_ref().and_then(|rare| rare.dictionary.get(arguments[0]));
    Ok(value.unwrap_or(atoms::UNDEFINED))
}

fn put(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    Ok(caller.own.rare().dictionary.put(arguments[0], arguments[1]).unwrap_or(atoms::UNDEFINED))
}

fn erase_all(caller: &mut Caller<'_>, _: &[Term]) -> Outcome {
    let entries = caller.own.rare.as_mut().map(|rare| rare.dictionary.erase_all()).unwrap_or_default();
    Ok(pairs(caller, &entries))
}

fn erase(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let value = caller.own.rare.as_mut().and_then(|rare| rare.dictionary.erase(arguments[0]));
    Ok(value.unwrap_or(atoms::UNDEFINED))
}

fn keys(caller: &mut Caller<'_>, _: &[Term]) -> Outcome {
    let entries = entries(caller);
    charge_elements(caller, entries.len());
    Ok(caller.heap().list(entries.into_iter().map(|(key, _)| key)))
}

fn keys_of(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let entries = entries(caller);
    charge_elements(caller, entries.len());
    let same = |(_, value): &(Term, Term)| atoll_term::exactly_equal(*value, arguments[0]);
    let keys: Vec<Term> = entries.into_iter().filter(same).map(|(key, _)| key).collect();
    Ok(caller.heap().list(keys))
}
