//! Maps, and walks through them.

use std::ffi::c_int;
use std::ptr::null_mut;

use atoll_term::{Term, map};

use crate::abi::MapIterator;
use crate::build_terms::given;
use crate::check::check_all;
use crate::env::{Env, enter_machine};

/// The pairs of a map that a library walks through.
type Pairs = Vec<(Term, Term)>;

#[unsafe(no_mangle)]
extern "C" fn enif_get_map_size(_: *mut Env, term: Term, size: &mut usize) -> c_int {
    if !term.is_map() {
        return 0;
    }
    *size = map::map_size(term);
    1
}

#[unsafe(no_mangle)]
extern "C" fn enif_make_new_map(env: &mut Env) -> Term {
    map::empty(env)
}

/// Stores a map; whether there is one.
fn store(made: Option<Term>, place: &mut Term) -> c_int {
    match made {
        Some(made) => {
            *place = made;
            1
        }
        None => 0,
    }
}

#[unsafe(no_mangle)]
extern "C" fn enif_make_map_put(env: &mut Env, from: Term, key: Term, value: Term, to: &mut Term) -> c_int {
    enter_machine();
    check_all(env, &[from, key, value], "put into a map");
    store(from.is_map().then(|| map::put(env, from, key, value)), to)
}

#[unsafe(no_mangle)]
extern "C" fn enif_make_map_update(env: &mut Env, from: Term, key: Term, value: Term, to: &mut Term) -> c_int {
    enter_machine();
    check_all(env, &[from, key, value], "put into a map");
    store(if from.is_map() { map::update(env, from, key, value) } else { None }, to)
}

#[unsafe(no_mangle)]
extern "C" fn enif_make_map_remove(env: &mut Env, from: Term, key: Term, to: &mut Term) -> c_int {
    enter_machine();
    store(from.is_map().then(|| map::remove(env, from, key).map_or(from, |(_, rest)| rest)), to)
}

#[unsafe(no_mangle)]
extern "C" fn enif_make_map_from_arrays(
    env: &mut Env,
    keys: *const Term,
    values: *const Term,
    count: usize,
    to: &mut Term,
) -> c_int {
    enter_machine();
    let pairs: Pairs = given(&keys, count).iter().copied().zip(given(&values, count).iter().copied()).collect();
    let made = map::from_pairs(env, &pairs);
    // The same key twice.
    store((map::map_size(made) == count).then_some(made), to)
}

#[unsafe(no_mangle)]
extern "C" fn enif_get_map_value(_: *mut Env, from: Term, key: Term, value: &mut Term) -> c_int {
    enter_machine();
    store(if from.is_map() { map::get(from, key) } else { None }, value)
}

#[unsafe(no_mangle)]
extern "C" fn enif_map_iterator_create(_: *mut Env, term: Term, iterator: &mut MapIterator, entry: c_int) -> c_int {
    if !term.is_map() || !(1..=2).contains(&entry) {
        return 0;
    }
    let size = map::map_size(term);
    // The pairs of a flat map lie in order where they are.
    let pairs: *mut Pairs = match map::is_flat(term) {
        true => null_mut(),
        false => Box::into_raw(Box::new(map::MapIter::new(&term).collect())),
    };
    // 0 is in front of the first pair, `size + 1` behind the last.
    let index = if entry == 1 { size.min(1) } else { size };
    *iterator = MapIterator { map: term, size, index, pairs: pairs.cast(), spare: [null_mut(); 3] };
    1
}

#[unsafe(no_mangle)]
extern "C" fn enif_map_iterator_destroy(_: *mut Env, iterator: &mut MapIterator) {
    let pairs = std::mem::replace(&mut iterator.pairs, null_mut()).cast::<Pairs>();
    if !pairs.is_null() {
        // SAFETY: they were made for this iterator, which gives them up.
        drop(unsafe { Box::from_raw(pairs) });
    }
}

fn is_empty(iterator: &MapIterator) -> bool {
    iterator.size == 0
}

#[unsafe(no_mangle)]
extern "C" fn enif_map_iterator_is_head(_: *mut Env, iterator: &mut MapIterator) -> c_int {
    (is_empty(iterator) || iterator.index == 0).into()
}

#[unsafe(no_mangle)]
extern "C" fn enif_map_iterator_is_tail(_: *mut Env, iterator: &mut MapIterator) -> c_int {
    (is_empty(iterator) || iterator.index > iterator.size).into()
}

fn is_on_pair(iterator: &MapIterator) -> bool {
    (1..=iterator.size).contains(&iterator.index)
}

#[unsafe(no_mangle)]
extern "C" fn enif_map_iterator_next(_: *mut Env, iterator: &mut MapIterator) -> c_int {
    iterator.index = (iterator.index + 1).min(iterator.size + 1);
    is_on_pair(iterator).into()
}

#[unsafe(no_mangle)]
extern "C" fn enif_map_iterator_prev(_: *mut Env, iterator: &mut MapIterator) -> c_int {
    iterator.index = iterator.index.saturating_sub(1);
    is_on_pair(iterator).into()
}

#[unsafe(no_mangle)]
extern "C" fn enif_map_iterator_get_pair(
    _: *mut Env,
    iterator: &mut MapIterator,
    key: &mut Term,
    value: &mut Term,
) -> c_int {
    if !is_on_pair(iterator) {
        return 0;
    }
    let index = iterator.index - 1;
    // SAFETY: the pairs were made for this iterator, which still has them.
    let pairs = unsafe { iterator.pairs.cast::<Pairs>().as_ref() };
    match (pairs, map::flat_parts(&iterator.map)) {
        (Some(pairs), _) => (*key, *value) = pairs[index],
        (None, Some((keys, values))) => (*key, *value) = (keys[index], values[index]),
        (None, None) => return 0,
    }
    1
}
