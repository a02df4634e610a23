//! Maps. Up to [`FLAT_MAP_LIMIT`] pairs a map is flat: a tuple of keys in their order, and the values. Above it is a
//! hash array mapped trie: four bits of the key's hash choose the child at each level (Bagwell, "Ideal Hash Trees",
//! 2001). A map's shape follows from its keys alone, so equal maps have equal shapes.
//!
//! Updates share all but the path to the change. Every function takes a map and answers for nothing else;
//! callers check [`Term::is_map`] first.

mod bulk;
mod flat;
mod hashed;
mod iterate;
mod merge;

use crate::FLAT_MAP_LIMIT;
use crate::build::{Allocate, Build};
use crate::header::Kind;
use crate::word::Term;

pub(crate) use iterate::Cells;
pub use iterate::{MapIter, NextForm, PathError, map_next};

/// Whether a map is flat.
#[inline]
pub fn is_flat(map: Term) -> bool {
    map.boxed_kind() == Some(Kind::FlatMap)
}

/// Keys and values of a flat map, in the order of [`MapIter`]; nothing for another map.
#[inline]
pub fn flat_parts(map: &Term) -> Option<(&[Term], &[Term])> {
    is_flat(*map).then(|| (flat::keys(map), flat::values(map)))
}

/// The keys of a flat map, in their order, as the tuple that other maps may have too; nothing for another map.
pub fn tuple_of_keys(map: Term) -> Option<Term> {
    is_flat(map).then(|| map.boxed_terms()[0])
}

/// Number of pairs.
#[inline]
pub fn map_size(map: Term) -> usize {
    let words = map.boxed_terms();
    if is_flat(map) { words.len() - 1 } else { words[0].small_value() as usize }
}

/// The empty map.
pub fn empty<H: Allocate + ?Sized>(heap: &mut H) -> Term {
    let keys = heap.tuple(&[]);
    heap.scanned_object(Kind::FlatMap, 0, &[keys])
}

/// The value of a key.
#[inline]
pub fn get(map: Term, key: Term) -> Option<Term> {
    if is_flat(map) { flat::get(map, key) } else { hashed::get(map, key) }
}

/// The map with this value for the key; the map itself if it has that very value already.
pub fn put<H: Allocate + ?Sized>(heap: &mut H, map: Term, key: Term, value: Term) -> Term {
    if !is_flat(map) {
        return hashed::put(heap, map, key, value);
    }
    match flat::find(map, key) {
        Ok(place) => flat::replace(heap, map, place, value),
        Err(place) if map_size(map) < FLAT_MAP_LIMIT => flat::insert(heap, map, place, key, value),
        Err(_) => {
            let pairs: Vec<(Term, Term)> = MapIter::new(&map).chain([(key, value)]).collect();
            bulk::from_pairs(heap, &pairs)
        }
    }
}

/// The map with another value for a key that it has.
pub fn update<H: Allocate + ?Sized>(heap: &mut H, map: Term, key: Term, value: Term) -> Option<Term> {
    if is_flat(map) {
        let place = flat::find(map, key).ok()?;
        return Some(flat::replace(heap, map, place, value));
    }
    hashed::update(heap, map, key, value)
}

/// The map with these pairs put one after the other.
pub fn put_many<H: Allocate + ?Sized>(heap: &mut H, map: Term, pairs: &[(Term, Term)]) -> Term {
    match pairs {
        [] => map,
        [(key, value)] => put(heap, map, *key, *value),
        _ if is_flat(map) => flat::put_many(heap, map, pairs),
        _ => pairs.iter().fold(map, |map, (key, value)| hashed::put(heap, map, *key, *value)),
    }
}

/// The map with other values for these keys, `None` if it lacks one of them.
pub fn update_many<H: Allocate + ?Sized>(heap: &mut H, map: Term, pairs: &[(Term, Term)]) -> Option<Term> {
    match pairs {
        [] => Some(map),
        [(key, value)] => update(heap, map, *key, *value),
        _ if pairs.iter().any(|(key, _)| get(map, *key).is_none()) => None,
        _ => Some(put_many(heap, map, pairs)),
    }
}

/// The value of a key, and the map without it.
pub fn remove<H: Allocate + ?Sized>(heap: &mut H, map: Term, key: Term) -> Option<(Term, Term)> {
    if !is_flat(map) {
        return hashed::remove(heap, map, key);
    }
    let place = flat::find(map, key).ok()?;
    Some((flat::values(&map)[place], flat::remove(heap, map, place)))
}

/// A map of these pairs; of several with the same key, the last one counts.
pub fn from_pairs<H: Allocate + ?Sized>(heap: &mut H, pairs: &[(Term, Term)]) -> Term {
    if pairs.len() <= FLAT_MAP_LIMIT { flat::from_pairs(heap, pairs) } else { bulk::from_pairs(heap, pairs) }
}

/// How many times smaller than the other map the second one of a merge must be to be put into it pair by pair.
const MERGE_PUT_RATIO: usize = 8;

/// The pairs of both maps; the second one's value counts where both have a key.
pub fn merge<H: Allocate + ?Sized>(heap: &mut H, first: Term, second: Term) -> Term {
    let (first_size, second_size) = (map_size(first), map_size(second));
    if first == second || second_size == 0 {
        return first;
    }
    if first_size == 0 {
        return second;
    }
    if is_flat(first) && is_flat(second) {
        return flat::merge(heap, first, second).unwrap_or_else(|| {
            let pairs: Vec<(Term, Term)> = MapIter::new(&first).chain(MapIter::new(&second)).collect();
            bulk::from_pairs(heap, &pairs)
        });
    }
    if !is_flat(first) && !is_flat(second) {
        return merge::merge(heap, first, second);
    }
    if second_size <= first_size / MERGE_PUT_RATIO {
        return MapIter::new(&second).fold(first, |map, (key, value)| put(heap, map, key, value));
    }
    if first_size <= second_size / MERGE_PUT_RATIO {
        let missing = MapIter::new(&first).filter(|(key, _)| get(second, *key).is_none());
        return missing.fold(second, |map, (key, value)| put(heap, map, key, value));
    }
    let pairs: Vec<(Term, Term)> = MapIter::new(&first).chain(MapIter::new(&second)).collect();
    bulk::from_pairs(heap, &pairs)
}

/// A list of something of each pair, in the order of `maps:to_list/1`: that of the keys for flat maps, the reverse of
/// the iterator's for others.
fn list_of<H: Allocate + ?Sized>(heap: &mut H, map: Term, element: impl Fn(&mut H, Term, Term) -> Term) -> Term {
    if is_flat(map) {
        let mut elements = [Term::NIL; FLAT_MAP_LIMIT];
        let size = map_size(map);
        for (place, (key, value)) in elements.iter_mut().zip(MapIter::new(&map)) {
            *place = element(heap, key, value);
        }
        return heap.list(elements[..size].iter().copied());
    }
    MapIter::new(&map).fold(Term::NIL, |list, (key, value)| {
        let element = element(heap, key, value);
        heap.cons(element, list)
    })
}

/// List of the keys, in the order of `maps:keys/1`.
pub fn keys<H: Allocate + ?Sized>(heap: &mut H, map: Term) -> Term {
    list_of(heap, map, |_, key, _| key)
}

/// List of the values, in the order of `maps:values/1`.
pub fn values<H: Allocate + ?Sized>(heap: &mut H, map: Term) -> Term {
    list_of(heap, map, |_, _, value| value)
}

/// List of `{Key, Value}`, in the order of `maps:to_list/1`.
pub fn to_list<H: Allocate + ?Sized>(heap: &mut H, map: Term) -> Term {
    list_of(heap, map, |heap, key, value| heap.tuple(&[key, value]))
}
