//! Whether a specification's results have the keys of what it matches: `ets:select_replace` wants it.

use atoll_operations::list;
use atoll_term::{Term, View, atoms, exactly_equal};

use super::compile::first_open;
use crate::segment::key_of;

/// Whether each clause gives a tuple whose key, at `position`, is that of the row that it matches.
pub(crate) fn keeps_key(specification: Term, position: usize) -> bool {
    let Some(clauses) = list::elements(specification) else { return false };
    clauses.into_iter().all(|clause| match clause.tuple_elements() {
        Some(&[head, _, body]) => clause_keeps_key(head, body, position),
        _ => false,
    })
}

fn clause_keeps_key(head: Term, body: Term, position: usize) -> bool {
    let Some(&[result]) = list::elements(body).as_deref() else { return false };
    if result == atoms::DOLLAR_UNDERSCORE {
        return true;
    }
    if let Some(&[name, constant]) = result.tuple_elements()
        && name.is_atom()
        && atoms::atom_name(name) == "const"
    {
        let (key, new_key) = (key_of(head, position), key_of(constant, position));
        return !key.is_none() && !new_key.is_none() && matches_itself_only(key) && exactly_equal(key, new_key);
    }
    let Some(&[inner]) = result.tuple_elements() else { return false };
    let new_key = key_of(inner, position);
    if new_key.is_none() {
        return false;
    }
    if let Some(&[atoms::ELEMENT, at, atoms::DOLLAR_UNDERSCORE]) = new_key.tuple_elements()
        && at.as_small() == i64::try_from(position).ok()
    {
        return true;
    }
    let key = key_of(head, position);
    !key.is_none() && builds_what_matches(key, new_key)
}

/// Whether the expression gives what the pattern matches.
fn builds_what_matches(pattern: Term, expression: Term) -> bool {
    let mut pending = vec![(pattern, expression)];
    while let Some((pattern, expression)) = pending.pop() {
        let same = match (pattern.view(), expression.view()) {
            (_, View::Tuple(parts)) => match (pattern.tuple_elements(), parts) {
                (_, [name, constant]) if name.is_atom() && atoms::atom_name(*name) == "const" => {
                    matches_itself_only(pattern) && exactly_equal(pattern, *constant)
                }
                (Some(elements), [inner]) => match inner.tuple_elements() {
                    Some(inner) if inner.len() == elements.len() => {
                        pending.extend(elements.iter().copied().zip(inner.iter().copied()));
                        true
                    }
                    _ => false,
                },
                _ => false,
            },
            (View::Cons(head, tail), View::Cons(other_head, other_tail)) => {
                pending.extend([(head, other_head), (tail, other_tail)]);
                true
            }
            (View::Atom(name), _) if ["_", "$_", "$$"].contains(&atoms::atom_name(name)) => false,
            (View::Map(_), _) => false,
            _ => exactly_equal(pattern, expression),
        };
        if !same {
            return false;
        }
    }
    true
}

/// Whether a pattern matches itself only. A map matches those with more keys, too.
fn matches_itself_only(pattern: Term) -> bool {
    first_open(pattern).is_none() && !has_map(pattern)
}

fn has_map(pattern: Term) -> bool {
    let mut pending = vec![pattern];
    while let Some(part) = pending.pop() {
        match part.view() {
            View::Map(_) => return true,
            View::Tuple(parts) => pending.extend(parts),
            View::Cons(head, tail) => pending.extend([head, tail]),
            _ => {}
        }
    }
    false
}
