//! Maps.

use atoll_operations::{Exception, guards, list};
use atoll_process::{BuiltIn, Caller, Interrupt, Outcome, badarg};
use atoll_term::map::{self, NextForm};
use atoll_term::{Build, Term, atoms};

use crate::charging::charge_elements;

/// What this file provides.
pub const BUILT_INS: &[BuiltIn] = &[
    BuiltIn::new("maps", "find", 2, find),
    BuiltIn::new("maps", "get", 2, get),
    BuiltIn::new("maps", "from_list", 1, from_list),
    BuiltIn::new("maps", "from_keys", 2, from_keys),
    BuiltIn::new("maps", "is_key", 2, is_key),
    BuiltIn::new("maps", "keys", 1, keys),
    BuiltIn::new("maps", "values", 1, values),
    BuiltIn::new("maps", "merge", 2, merge),
    BuiltIn::new("maps", "put", 3, put),
    BuiltIn::new("maps", "remove", 2, remove),
    BuiltIn::new("maps", "take", 2, take),
    BuiltIn::new("maps", "update", 3, update),
    BuiltIn::new("erts_internal", "map_next", 3, map_next),
];

fn badmap(caller: &mut Caller<'_>, term: Term) -> Interrupt {
    Exception::tagged(caller.heap(), atoms::BADMAP, term).into()
}

fn find(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let [key, map] = *arguments else { return Err(badarg()) };
    if !map.is_map() {
        return Err(badmap(caller, map));
    }
    Ok(match map::get(map, key) {
        Some(value) => caller.heap().tuple(&[atoms::OK, value]),
        None => atoms::ERROR,
    })
}

fn get(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    Ok(guards::map_get(caller.heap(), arguments[0], arguments[1])?)
}

fn is_key(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    Ok(guards::is_map_key(caller.heap(), arguments[0], arguments[1])?)
}

fn from_list(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let pairs = list::elements_or_badarg(arguments[0])?
        .into_iter()
        .map(|element| match element.tuple_elements() {
            Some([key, value]) => Ok((*key, *value)),
            _ => Err(Exception::badarg()),
        })
        .collect::<Result<Vec<_>, _>>()?;
    Ok(of_pairs(caller, &pairs))
}

fn from_keys(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let value = arguments[1];
    let pairs: Vec<(Term, Term)> =
        list::elements_or_badarg(arguments[0])?.into_iter().map(|key| (key, value)).collect();
    Ok(of_pairs(caller, &pairs))
}

fn of_pairs(caller: &mut Caller<'_>, pairs: &[(Term, Term)]) -> Term {
    charge_elements(caller, pairs.len() * WORK_OF_HASHING);
    map::from_pairs(caller.heap(), pairs)
}

/// What hashing a key and placing it costs, in elements of a list.
const WORK_OF_HASHING: usize = 40;
/// What a pair of the smaller one of two maps costs that are merged, in elements of a list.
const WORK_OF_MERGE: usize = 5;
/// What a pair that is met on a walk through a map costs, in elements of a list.
const WORK_OF_WALK: usize = 4;

/// A function of a map that visits all of it.
fn whole(caller: &mut Caller<'_>, arguments: &[Term], function: fn(&mut Caller<'_>, Term) -> Term) -> Outcome {
    let map = arguments[0];
    if !map.is_map() {
        return Err(badmap(caller, map));
    }
    charge_elements(caller, map::map_size(map) * WORK_OF_WALK);
    Ok(function(caller, map))
}

fn keys(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    whole(caller, arguments, |caller, map| map::keys(caller.heap(), map))
}

fn values(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    whole(caller, arguments, |caller, map| map::values(caller.heap(), map))
}

fn merge(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    if let Some(other) = arguments.iter().find(|argument| !argument.is_map()) {
        return Err(badmap(caller, *other));
    }
    // What the larger one has beside is shared.
    charge_elements(caller, map::map_size(arguments[0]).min(map::map_size(arguments[1])) * WORK_OF_MERGE);
    Ok(map::merge(caller.heap(), arguments[0], arguments[1]))
}

fn put(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let [key, value, map] = *arguments else { return Err(badarg()) };
    if !map.is_map() {
        return Err(badmap(caller, map));
    }
    Ok(map::put(caller.heap(), map, key, value))
}

fn update(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let [key, value, map] = *arguments else { return Err(badarg()) };
    if !map.is_map() {
        return Err(badmap(caller, map));
    }
    match map::update(caller.heap(), map, key, value) {
        Some(updated) => Ok(updated),
        None => Err(Exception::tagged(caller.heap(), atoms::BADKEY, key).into()),
    }
}

fn remove(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let [key, map] = *arguments else { return Err(badarg()) };
    if !map.is_map() {
        return Err(badmap(caller, map));
    }
    Ok(map::remove(caller.heap(), map, key).map_or(map, |(_, rest)| rest))
}

fn take(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let [key, map] = *arguments else { return Err(badarg()) };
    if !map.is_map() {
        return Err(badmap(caller, map));
    }
    Ok(match map::remove(caller.heap(), map, key) {
        Some((value, rest)) => caller.heap().tuple(&[value, rest]),
        None => atoms::ERROR,
    })
}

/// Pairs that one step of an iterator takes, and one step of a list of all.
const PAIRS_OF_ITERATOR: usize = 32;
const PAIRS_OF_LIST: usize = 512;

fn map_next(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let [path, map, form] = *arguments else { return Err(badarg()) };
    if !map.is_map() {
        return Err(badarg());
    }
    let (form, limit) = if form.is_atom() && atoms::atom_name(form) == "iterator" {
        (NextForm::Iterator, PAIRS_OF_ITERATOR)
    } else if form.is_list() {
        (NextForm::List(form), PAIRS_OF_LIST)
    } else {
        return Err(badarg());
    };
    charge_elements(caller, limit.min(map::map_size(map)) * WORK_OF_WALK);
    if path.is_list() {
        return next_of_keys(caller, map, path, form, limit);
    }
    map::map_next(caller.heap(), map, path, form, limit).map_err(|_| badarg())
}

/// The iterator over these keys of a map, in their order, as far as `limit`: `{Key, Value, Next}`, at last `none`, or
/// `[Keys | Map]` for what is left.
fn next_of_keys(caller: &mut Caller<'_>, map: Term, keys: Term, form: NextForm, limit: usize) -> Outcome {
    let NextForm::Iterator = form else { return Err(badarg()) };
    let (mut pairs, mut left) = (Vec::new(), keys);
    while left.is_cons() && pairs.len() < limit {
        pairs.push((left.head(), map::get(map, left.head()).ok_or_else(badarg)?));
        left = left.tail();
    }
    if !left.is_list() {
        return Err(badarg());
    }
    let heap = caller.heap();
    let end = if left.is_nil() { atoms::NONE } else { heap.cons(left, map) };
    Ok(pairs.into_iter().rev().fold(end, |next, (key, value)| heap.tuple(&[key, value, next])))
}
