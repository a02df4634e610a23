//! Flat maps: `[Keys, Value...]` with the keys' tuple in the order of `compare_exact`.

use smallvec::SmallVec;

use super::bulk;
use crate::FLAT_MAP_LIMIT;
use crate::build::{Allocate, Build};
use crate::compare::compare_exact;
use crate::equal::{exactly_equal, same_key};
use crate::header::{Header, Kind};
use crate::word::Term;

/// Room for the words of any flat map.
type Words = SmallVec<[Term; FLAT_MAP_LIMIT + 1]>;

/// The keys in their order.
#[inline]
pub(super) fn keys(map: &Term) -> &[Term] {
    map.boxed_terms()[0].boxed_terms()
}

/// The values in the order of the keys.
#[inline]
pub(super) fn values(map: &Term) -> &[Term] {
    &map.boxed_terms()[1..]
}

#[inline]
fn place_of(map: Term, key: Term) -> Option<usize> {
    let keys = keys(&map);
    if let Some(place) = keys.iter().position(|candidate| *candidate == key) {
        return Some(place);
    }
    if key.is_immediate() { None } else { find_pointer(keys, key).ok() }
}

/// The place of a key that is no immediate, and not the same word as any that is there; `Err`: where it would go, if
/// that became known by the way.
fn find_pointer(keys: &[Term], key: Term) -> Result<usize, Option<usize>> {
    if key.boxed_kind() != Some(Kind::Tuple) {
        return keys.iter().position(|candidate| same_key(*candidate, key)).ok_or(None);
    }
    match NamedKey::of(key).and_then(|key| key.find(keys)) {
        Some(found) => found.map_err(Some),
        None => place_of_tuple(keys, key).ok_or(None),
    }
}

/// A key `{Tag, Name}`. Compilers name variables so, by numbers, atoms or `{atom, Number}`: maps of theirs have no
/// other keys.
struct NamedKey {
    header: Header,
    tag: Term,
    name: Term,
}

impl NamedKey {
    #[inline]
    fn of(key: Term) -> Option<NamedKey> {
        let [tag, name] = *key.boxed_terms() else { return None };
        tag.is_immediate().then(|| NamedKey { header: key.header(), tag, name })
    }

    /// The name of another key, if that has the same form and tag.
    #[inline]
    fn other_name(&self, other: Term) -> Option<Term> {
        if !other.is_boxed() || other.header() != self.header {
            return None;
        }
        let [tag, name] = *other.boxed_terms() else { return None };
        (tag == self.tag).then_some(name)
    }

    /// Where it is among the keys of a map, or where it would go; `None` if others have another form or tag.
    #[inline]
    fn find(&self, keys: &[Term]) -> Option<Result<usize, usize>> {
        let (mut smaller, mut is_counted) = (0, self.name.is_small());
        for (place, other) in keys.iter().enumerate() {
            let name = self.other_name(*other)?;
            if name == self.name || name.is_pointer() && self.name.is_pointer() && is_same_name(name, self.name) {
                return Some(Ok(place));
            }
            if name.is_small() {
                // Small integers are in the order of their words.
                smaller += usize::from((name.word() as i64) < self.name.word() as i64);
            } else {
                // Atoms and tuples come behind all numbers.
                is_counted &= name.is_atom() || name.boxed_kind() == Some(Kind::Tuple);
            }
        }
        if is_counted {
            return Some(Err(smaller));
        }
        let is_before =
            |other: &Term| self.other_name(*other).is_some_and(|name| compare_exact(name, self.name).is_lt());
        Some(Err(keys.partition_point(is_before)))
    }
}

/// Whether two names that are pointers are exactly equal. The last elements of tuples tell most of them apart.
#[inline]
fn is_same_name(one: Term, other: Term) -> bool {
    let last = |name: Term| match name.boxed_kind() {
        Some(Kind::Tuple) => name.boxed_terms().last().copied().filter(|last| last.is_immediate()),
        _ => None,
    };
    last(one) == last(other) && exactly_equal(one, other)
}

/// The place of a key that is a tuple. Programs have many maps whose keys are tuples of a tag and a number or name: the
/// last element tells nearly all of them apart.
fn place_of_tuple(keys: &[Term], key: Term) -> Option<usize> {
    let (header, last) = (key.header(), key.boxed_terms().last().copied());
    let decides = last.is_some_and(Term::is_immediate);
    keys.iter().position(|candidate| {
        candidate.is_boxed()
            && candidate.header() == header
            && (!decides || candidate.boxed_terms().last().copied() == last)
            && exactly_equal(*candidate, key)
    })
}

#[inline]
pub(super) fn get(map: Term, key: Term) -> Option<Term> {
    place_of(map, key).map(|place| values(&map)[place])
}

/// Where the key is, or where it would go.
pub(super) fn find(map: Term, key: Term) -> Result<usize, usize> {
    let keys = keys(&map);
    if let Some(place) = keys.iter().position(|candidate| *candidate == key) {
        return Ok(place);
    }
    let found = if key.is_immediate() { Err(None) } else { find_pointer(keys, key) };
    let place_for = || keys.partition_point(|other| compare_exact(*other, key).is_lt());
    found.map_err(|place| place.unwrap_or_else(place_for))
}

/// The map with another value at a place; itself if that value is there already.
pub(super) fn replace<H: Allocate + ?Sized>(heap: &mut H, map: Term, place: usize, value: Term) -> Term {
    let words = map.boxed_terms();
    if words[1 + place] == value {
        return map;
    }
    heap.scanned_changed(Kind::FlatMap, 0, words, &[(1 + place, value)])
}

/// The map with a new pair at a place; it must have room for it.
pub(super) fn insert<H: Allocate + ?Sized>(heap: &mut H, map: Term, place: usize, key: Term, value: Term) -> Term {
    let (before, after) = keys(&map).split_at(place);
    let keys = heap.scanned_runs(Kind::Tuple, 0, [before, &[key], after]);
    let (before, after) = values(&map).split_at(place);
    heap.scanned_runs(Kind::FlatMap, 0, [&[keys], before, &[value], after])
}

/// The map without the pair at a place.
pub(super) fn remove<H: Allocate + ?Sized>(heap: &mut H, map: Term, place: usize) -> Term {
    let (before, after) = keys(&map).split_at(place);
    let keys = heap.scanned_runs(Kind::Tuple, 0, [before, &after[1..]]);
    let (before, after) = values(&map).split_at(place);
    heap.scanned_runs(Kind::FlatMap, 0, [&[keys], before, &after[1..]])
}

/// A map of at most [`FLAT_MAP_LIMIT`] pairs, the last one of each key.
pub(super) fn from_pairs<H: Allocate + ?Sized>(heap: &mut H, pairs: &[(Term, Term)]) -> Term {
    let (mut keys, mut words) = (Words::new(), Words::new());
    words.push(Term::NIL);
    for (key, value) in pairs {
        // Keys mostly come in order: look at the last one first.
        let place = match keys.last() {
            Some(last) if compare_exact(*last, *key).is_ge() => {
                keys.partition_point(|other| compare_exact(*other, *key).is_lt())
            }
            _ => keys.len(),
        };
        if keys.get(place).is_some_and(|other| exactly_equal(*other, *key)) {
            // As in OTP, of `0.0` and `-0.0` the last one is the key.
            (keys[place], words[1 + place]) = (*key, *value);
        } else {
            keys.insert(place, *key);
            words.insert(1 + place, *value);
        }
    }
    words[0] = heap.scanned_runs(Kind::Tuple, 0, [&keys]);
    heap.scanned_runs(Kind::FlatMap, 0, [&words])
}

/// The pairs of two flat maps; the second one's value counts where both have a key. `None` if they are too many for a
/// flat map.
pub(super) fn merge<H: Allocate + ?Sized>(heap: &mut H, first: Term, second: Term) -> Option<Term> {
    let (mut left, mut right) = (keys(&first), keys(&second));
    if left.as_ptr() == right.as_ptr() {
        return Some(second);
    }
    let (mut left_values, mut right_values) = (values(&first), values(&second));
    let (mut all, mut words) = ([Term::NIL; 2 * FLAT_MAP_LIMIT], [Term::NIL; 2 * FLAT_MAP_LIMIT]);
    let mut count = 0;
    while let ([a, left_rest @ ..], [b, right_rest @ ..]) = (left, right) {
        let order = compare_exact(*a, *b);
        (all[count], words[count]) = if order.is_lt() { (*a, left_values[0]) } else { (*b, right_values[0]) };
        count += 1;
        if order.is_le() {
            (left, left_values) = (left_rest, &left_values[1..]);
        }
        if order.is_ge() {
            (right, right_values) = (right_rest, &right_values[1..]);
        }
    }
    // One of the two is at its end.
    for (key, value) in left.iter().zip(left_values).chain(right.iter().zip(right_values)) {
        (all[count], words[count]) = (*key, *value);
        count += 1;
    }
    if count > FLAT_MAP_LIMIT {
        return None;
    }
    if count == values(&second).len() {
        return Some(second);
    }
    // Keys that are all in the first map cost no new tuple. (`0.0` and `-0.0` may be the same key, but not the same.)
    let keys = match all[..count] == *keys(&first) {
        true => first.boxed_terms()[0],
        false => heap.scanned_runs(Kind::Tuple, 0, [&all[..count]]),
    };
    Some(heap.scanned_runs(Kind::FlatMap, 0, [&[keys], &words[..count]]))
}

/// A flat map with several pairs put; the result is flat if it can be. Keys that are there already cost no new tuple.
pub(super) fn put_many<H: Allocate + ?Sized>(heap: &mut H, map: Term, pairs: &[(Term, Term)]) -> Term {
    let mut words = Words::from_slice(map.boxed_terms());
    let mut new_pairs: SmallVec<[(Term, Term); 16]> = SmallVec::new();
    for (key, value) in pairs {
        match place_of(map, *key) {
            Some(place) => words[1 + place] = *value,
            None => new_pairs.push((*key, *value)),
        }
    }
    if new_pairs.is_empty() {
        return if words[..] == *map.boxed_terms() { map } else { heap.scanned_object(Kind::FlatMap, 0, &words) };
    }
    if keys(&map).is_empty() && new_pairs.len() <= FLAT_MAP_LIMIT {
        return from_pairs(heap, &new_pairs);
    }
    if words.len() - 1 + new_pairs.len() > FLAT_MAP_LIMIT {
        let mut all: Vec<(Term, Term)> = keys(&map).iter().copied().zip(words[1..].iter().copied()).collect();
        all.extend(new_pairs);
        return bulk::from_pairs(heap, &all);
    }
    let mut all_keys = Words::from_slice(keys(&map));
    for (key, value) in new_pairs {
        let place = all_keys.partition_point(|other| compare_exact(*other, key).is_lt());
        if all_keys.get(place).is_some_and(|other| exactly_equal(*other, key)) {
            words[1 + place] = value;
        } else {
            all_keys.insert(place, key);
            words.insert(1 + place, value);
        }
    }
    words[0] = heap.scanned_runs(Kind::Tuple, 0, [&all_keys]);
    heap.scanned_runs(Kind::FlatMap, 0, [&words])
}
