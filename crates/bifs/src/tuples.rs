//! Tuples: making them, and copies with another element.

use atoll_operations::{Exception, list};
use atoll_process::{BuiltIn, Caller, Outcome, badarg};
use atoll_term::{Build, Kind, Term};

use crate::charging::charge_elements;

/// What this file provides.
pub const BUILT_INS: &[BuiltIn] = &[
    BuiltIn::new("erlang", "list_to_tuple", 1, list_to_tuple),
    BuiltIn::new("erlang", "tuple_to_list", 1, tuple_to_list),
    BuiltIn::new("erlang", "setelement", 3, setelement),
    BuiltIn::new("erlang", "make_tuple", 2, make_tuple),
    BuiltIn::new("erlang", "make_tuple", 3, make_tuple_with),
    BuiltIn::new("erlang", "append_element", 2, append_element),
    BuiltIn::new("erlang", "insert_element", 3, insert_element),
    BuiltIn::new("erlang", "delete_element", 2, delete_element),
];

fn list_to_tuple(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let tuple = list::list_to_tuple(caller.heap(), arguments[0])?;
    charge_elements(caller, tuple.tuple_elements().map_or(0, <[Term]>::len));
    Ok(tuple)
}

fn tuple_to_list(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    charge_elements(caller, arguments[0].tuple_elements().map_or(0, <[Term]>::len));
    Ok(list::tuple_to_list(caller.heap(), arguments[0])?)
}

fn setelement(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let [position, tuple, value] = *arguments else { return Err(badarg()) };
    let old = tuple.tuple_elements().ok_or(Exception::badarg())?;
    let place = place(position, old.len())?;
    changed(caller, old, place, 1, Some(value))
}

/// The place, from 0, of a position from 1 to `size`.
fn place(position: Term, size: usize) -> Result<usize, Exception> {
    let position = position.as_small().and_then(|position| usize::try_from(position).ok());
    match position {
        Some(position) if (1..=size).contains(&position) => Ok(position - 1),
        _ => Err(Exception::badarg()),
    }
}

/// A copy of a tuple in which `removed` elements from `place` on have given way to another.
fn changed(caller: &mut Caller<'_>, old: &[Term], place: usize, removed: usize, new: Option<Term>) -> Outcome {
    let size = old.len() - removed + usize::from(new.is_some());
    if size > list::MAX_TUPLE_SIZE {
        return Err(badarg());
    }
    charge_elements(caller, size);
    let runs = [&old[..place], new.as_slice(), &old[place + removed..]];
    Ok(caller.heap().scanned_runs(Kind::Tuple, 0, runs))
}

fn append_element(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let old = arguments[0].tuple_elements().ok_or(Exception::badarg())?;
    changed(caller, old, old.len(), 0, Some(arguments[1]))
}

fn insert_element(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let old = arguments[1].tuple_elements().ok_or(Exception::badarg())?;
    let place = place(arguments[0], old.len() + 1)?;
    changed(caller, old, place, 0, Some(arguments[2]))
}

fn delete_element(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let old = arguments[1].tuple_elements().ok_or(Exception::badarg())?;
    let place = place(arguments[0], old.len())?;
    changed(caller, old, place, 1, None)
}

/// The size of a tuple to be made.
fn size(term: Term) -> Result<usize, Exception> {
    let size = term.as_small().and_then(|size| usize::try_from(size).ok());
    size.filter(|size| *size <= list::MAX_TUPLE_SIZE).ok_or(Exception::badarg())
}

fn make_tuple(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let size = size(arguments[0])?;
    charge_elements(caller, size);
    Ok(caller.heap().tuple_of_same(arguments[1], size))
}

fn make_tuple_with(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let size = size(arguments[0])?;
    let mut filled = vec![arguments[1]; size];
    for pair in list::elements_or_badarg(arguments[2])? {
        let Some([position, value]) = pair.tuple_elements() else { return Err(badarg()) };
        filled[place(*position, size)?] = *value;
    }
    charge_elements(caller, size);
    Ok(caller.heap().tuple(&filled))
}
