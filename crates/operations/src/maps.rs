//! Making maps.

use atoll_term::{Allocate, Term, atoms, compare_exact, map};

use crate::exception::Exception;

/// The map with these pairs; `exact`: the keys are to be there already.
///
/// # Errors
/// `{badmap, Term}`: it is no map; `{badkey, Key}`: this key is the first that is missing
pub fn put<H: Allocate + ?Sized>(
    heap: &mut H,
    old: Term,
    pairs: &[(Term, Term)],
    exact: bool,
) -> Result<Term, Exception> {
    if !old.is_map() {
        return Err(Exception::tagged(heap, atoms::BADMAP, old));
    }
    if !exact {
        return Ok(map::put_many(heap, old, pairs));
    }
    map::update_many(heap, old, pairs).ok_or_else(|| {
        let missing = pairs.iter().map(|(key, _)| *key).filter(|key| map::get(old, *key).is_none());
        let first = missing.min_by(|a, b| compare_exact(*a, *b));
        Exception::tagged(heap, atoms::BADKEY, first.unwrap_or(Term::NIL))
    })
}
