//! `enif_is_*` and `enif_get_*`: what a term is. A term says that itself, so the environment is not looked at.

use std::ffi::{c_char, c_double, c_int, c_long, c_uint, c_ulong};

use atoll_operations::list;
use atoll_term::hash::{map_hash, phash2};
use atoll_term::{Term, atoms, compare, exactly_equal, flat_words};

use crate::build_terms::{LATIN1, UTF8};
use crate::env::{Env, enter_machine};

macro_rules! tests {
    ($($name:ident: $test:expr;)*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $name(_: *mut Env, term: Term) -> c_int {
            let test: fn(Term) -> bool = $test;
            test(term).into()
        }
    )*};
}

tests! {
    enif_is_atom: Term::is_atom;
    enif_is_binary: Term::is_binary;
    enif_is_ref: Term::is_reference;
    enif_is_fun: Term::is_fun;
    enif_is_pid: Term::is_pid;
    enif_is_port: Term::is_port;
    enif_is_list: Term::is_list;
    enif_is_empty_list: Term::is_nil;
    enif_is_tuple: Term::is_tuple;
    enif_is_map: Term::is_map;
    enif_is_number: |term| term.is_integer() || term.is_float();
}

/// What `enif_term_type` says.
#[unsafe(no_mangle)]
extern "C" fn enif_term_type(_: *mut Env, term: Term) -> c_int {
    match term {
        _ if term.is_atom() => 1,
        _ if term.is_bitstring() => 2,
        _ if term.is_float() => 3,
        _ if term.is_fun() => 4,
        _ if term.is_integer() => 5,
        _ if term.is_list() => 6,
        _ if term.is_map() => 7,
        _ if term.is_pid() => 8,
        _ if term.is_port() => 9,
        _ if term.is_reference() => 10,
        _ if term.is_tuple() => 11,
        _ => -1,
    }
}

/// Stores a value; whether there is one.
fn store<T>(value: Option<T>, place: &mut T) -> c_int {
    match value {
        Some(value) => {
            *place = value;
            1
        }
        None => 0,
    }
}

#[unsafe(no_mangle)]
extern "C" fn enif_get_int(_: *mut Env, term: Term, value: &mut c_int) -> c_int {
    store(term.to_i64().and_then(|value| value.try_into().ok()), value)
}

#[unsafe(no_mangle)]
extern "C" fn enif_get_uint(_: *mut Env, term: Term, value: &mut c_uint) -> c_int {
    store(term.to_u64().and_then(|value| value.try_into().ok()), value)
}

#[unsafe(no_mangle)]
extern "C" fn enif_get_long(_: *mut Env, term: Term, value: &mut c_long) -> c_int {
    store(term.to_i64(), value)
}

#[unsafe(no_mangle)]
extern "C" fn enif_get_ulong(_: *mut Env, term: Term, value: &mut c_ulong) -> c_int {
    store(term.to_u64(), value)
}

#[unsafe(no_mangle)]
extern "C" fn enif_get_double(_: *mut Env, term: Term, value: &mut c_double) -> c_int {
    store(term.as_float(), value)
}

#[unsafe(no_mangle)]
extern "C" fn enif_get_list_cell(_: *mut Env, term: Term, head: &mut Term, tail: &mut Term) -> c_int {
    if !term.is_cons() {
        return 0;
    }
    (*head, *tail) = (term.head(), term.tail());
    1
}

#[unsafe(no_mangle)]
extern "C" fn enif_get_list_length(_: *mut Env, term: Term, length: &mut c_uint) -> c_int {
    store(list::length(term).and_then(|length| length.try_into().ok()), length)
}

#[unsafe(no_mangle)]
extern "C" fn enif_get_tuple(_: *mut Env, term: Term, arity: &mut c_int, elements: &mut *const Term) -> c_int {
    let Some(found) = term.tuple_elements() else { return 0 };
    (*arity, *elements) = (found.len() as c_int, found.as_ptr());
    1
}

#[unsafe(no_mangle)]
extern "C" fn enif_is_identical(one: Term, other: Term) -> c_int {
    if one == other || one.is_immediate() || other.is_immediate() {
        return (one == other).into();
    }
    enter_machine();
    exactly_equal(one, other).into()
}

#[unsafe(no_mangle)]
extern "C" fn enif_compare(one: Term, other: Term) -> c_int {
    enter_machine();
    compare(one, other) as c_int
}

/// The characters as bytes of an encoding; `None` if one has none.
fn encoded(characters: impl Iterator<Item = Option<char>>, encoding: c_int) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    for character in characters {
        let character = character?;
        match encoding {
            LATIN1 => bytes.push(u8::try_from(u32::from(character)).ok()?),
            UTF8 => bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
            _ => return None,
        }
    }
    Some(bytes)
}

fn atom_bytes(term: Term, encoding: c_int) -> Option<Vec<u8>> {
    if term.is_atom() { encoded(atoms::atom_name(term).chars().map(Some), encoding) } else { None }
}

fn list_bytes(list: Term, encoding: c_int) -> Option<Vec<u8>> {
    let character = |term: Term| char::from_u32(u32::try_from(term.as_small()?).ok()?);
    encoded(list::elements(list)?.into_iter().map(character), encoding)
}

/// Room that a library has for a string.
fn room(buffer: &mut *mut c_char, size: c_uint) -> &mut [u8] {
    if size == 0 {
        return &mut [];
    }
    // SAFETY: the library has that much room.
    unsafe { std::slice::from_raw_parts_mut(buffer.cast(), size as usize) }
}

/// Bytes and a zero behind them, if there is room; the bytes written.
fn whole(bytes: &[u8], room: &mut [u8]) -> c_int {
    let Some(place) = room.get_mut(..=bytes.len()) else { return 0 };
    place[..bytes.len()].copy_from_slice(bytes);
    place[bytes.len()] = 0;
    bytes.len() as c_int + 1
}

#[unsafe(no_mangle)]
extern "C" fn enif_get_atom(_: *mut Env, term: Term, mut buffer: *mut c_char, size: c_uint, encoding: c_int) -> c_int {
    atom_bytes(term, encoding).map_or(0, |bytes| whole(&bytes, room(&mut buffer, size)))
}

#[unsafe(no_mangle)]
extern "C" fn enif_get_atom_length(_: *mut Env, term: Term, length: &mut c_uint, encoding: c_int) -> c_int {
    store(atom_bytes(term, encoding).map(|bytes| bytes.len() as c_uint), length)
}

#[unsafe(no_mangle)]
extern "C" fn enif_get_string_length(_: *mut Env, list: Term, length: &mut c_uint, encoding: c_int) -> c_int {
    store(list_bytes(list, encoding).map(|bytes| bytes.len() as c_uint), length)
}

/// As many bytes as there is room for; then the number is negative.
#[unsafe(no_mangle)]
extern "C" fn enif_get_string(
    _: *mut Env,
    list: Term,
    mut buffer: *mut c_char,
    size: c_uint,
    encoding: c_int,
) -> c_int {
    let room = room(&mut buffer, size);
    let Some(bytes) = list_bytes(list, encoding) else {
        if let Some(first) = room.first_mut() {
            *first = 0;
        }
        return 0;
    };
    if bytes.len() < room.len() {
        return whole(&bytes, room);
    }
    let Some(most) = room.len().checked_sub(1) else { return 0 };
    // A character is not cut in two.
    let end = (0..=most).rev().find(|end| encoding != UTF8 || bytes[*end] & 0xc0 != 0x80).unwrap_or(0);
    whole(&bytes[..end], room);
    -(end as c_int + 1)
}

/// The internal hash takes a salt of 32 bits.
#[unsafe(no_mangle)]
extern "C" fn enif_hash(kind: c_int, term: Term, salt: u64) -> u64 {
    enter_machine();
    match kind {
        2 => phash2(term).into(),
        _ => (u64::from(map_hash(term)) ^ salt.wrapping_mul(0x9e37_79b1)) & 0xffff_ffff,
    }
}

#[unsafe(no_mangle)]
extern "C" fn enif_term_size(term: Term) -> usize {
    flat_words(term) * atoll_term::WORD_BYTES
}

/// Writes a term as `%T` of the printing functions shows it; the bytes that it takes.
#[unsafe(no_mangle)]
extern "C" fn atoll_nif_show(term: Term, mut buffer: *mut c_char, size: usize) -> usize {
    let text = atoll_term::text::to_string(term);
    let room = room(&mut buffer, c_uint::try_from(size).unwrap_or(c_uint::MAX));
    if let Some(last) = room.len().checked_sub(1) {
        let end = text.len().min(last);
        room[..end].copy_from_slice(&text.as_bytes()[..end]);
        room[end] = 0;
    }
    text.len()
}
