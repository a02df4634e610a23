//! `enif_make_*` for terms without memory of their own.

use std::ffi::{CStr, c_char, c_double, c_int, c_long, c_uint, c_ulong};

use atoll_operations::list;
use atoll_process::ReferenceId;
use atoll_term::atoms::{self, AtomError};
use atoll_term::{Build, Kind, Term};

use crate::check::{check_all, checked};
use crate::env::{Env, enter_machine};

/// ISO 8859-1.
pub const LATIN1: c_int = 1;
/// UTF-8, since 2.17.
pub const UTF8: c_int = 2;

/// The text of bytes in an encoding; `None` if they are not valid in it.
pub fn text_of(bytes: &[u8], encoding: c_int) -> Option<String> {
    match encoding {
        LATIN1 => Some(bytes.iter().map(|byte| char::from(*byte)).collect()),
        UTF8 => String::from_utf8(bytes.to_vec()).ok(),
        _ => None,
    }
}

/// The bytes of a library's text.
fn bytes(text: &*const c_char) -> &[u8] {
    // SAFETY: the library gives a string, and keeps it while the function runs.
    unsafe { CStr::from_ptr(*text) }.to_bytes()
}

/// So many bytes or words that a library gives.
pub fn given<T>(first: &*const T, count: usize) -> &[T] {
    if count == 0 {
        return &[];
    }
    // SAFETY: the library gives so many, and keeps them while the function runs.
    unsafe { std::slice::from_raw_parts(*first, count) }
}

fn atom_of(bytes: &[u8], encoding: c_int) -> Option<Result<Term, AtomError>> {
    let text = text_of(bytes, encoding)?;
    if text.chars().count() > 255 { None } else { Some(atoms::atom(&text)) }
}

#[unsafe(no_mangle)]
extern "C" fn enif_make_int(env: &mut Env, value: c_int) -> Term {
    env.integer(value.into())
}

#[unsafe(no_mangle)]
extern "C" fn enif_make_uint(env: &mut Env, value: c_uint) -> Term {
    env.unsigned(value.into())
}

#[unsafe(no_mangle)]
extern "C" fn enif_make_long(env: &mut Env, value: c_long) -> Term {
    env.integer(value)
}

#[unsafe(no_mangle)]
extern "C" fn enif_make_ulong(env: &mut Env, value: c_ulong) -> Term {
    env.unsigned(value)
}

#[unsafe(no_mangle)]
extern "C" fn enif_make_double(env: &mut Env, value: c_double) -> Term {
    if value.is_finite() { env.float(value) } else { env.raise(atoms::BADARG) }
}

#[unsafe(no_mangle)]
extern "C" fn enif_make_badarg(env: &mut Env) -> Term {
    env.raise(atoms::BADARG)
}

#[unsafe(no_mangle)]
extern "C" fn enif_raise_exception(env: &mut Env, reason: Term) -> Term {
    checked(env, reason, "raised");
    env.raise(reason)
}

#[unsafe(no_mangle)]
extern "C" fn enif_has_pending_exception(env: &mut Env, reason: Option<&mut Term>) -> c_int {
    if env.exception.is_none() {
        return 0;
    }
    if let Some(reason) = reason {
        *reason = env.exception;
    }
    1
}

#[unsafe(no_mangle)]
extern "C" fn enif_is_exception(env: &mut Env, term: Term) -> c_int {
    (term.is_none() && !env.exception.is_none()).into()
}

#[unsafe(no_mangle)]
extern "C" fn enif_make_atom(env: &mut Env, name: *const c_char) -> Term {
    make_atom(env, bytes(&name))
}

#[unsafe(no_mangle)]
extern "C" fn enif_make_atom_len(env: &mut Env, name: *const c_char, length: usize) -> Term {
    make_atom(env, given(&name.cast(), length))
}

fn make_atom(env: &mut Env, name: &[u8]) -> Term {
    match atom_of(name, LATIN1) {
        Some(Ok(atom)) => atom,
        _ => env.raise(atoms::BADARG),
    }
}

/// Stores an atom; whether there is one.
fn store(atom: Option<Term>, place: &mut Term) -> c_int {
    match atom {
        Some(atom) => {
            *place = atom;
            1
        }
        None => 0,
    }
}

fn existing(name: &[u8], encoding: c_int) -> Option<Term> {
    atoms::existing_atom(&text_of(name, encoding)?)
}

#[unsafe(no_mangle)]
extern "C" fn enif_make_existing_atom(_: *mut Env, name: *const c_char, atom: &mut Term, encoding: c_int) -> c_int {
    store(existing(bytes(&name), encoding), atom)
}

#[unsafe(no_mangle)]
extern "C" fn enif_make_existing_atom_len(
    _: *mut Env,
    name: *const c_char,
    length: usize,
    atom: &mut Term,
    encoding: c_int,
) -> c_int {
    store(existing(given(&name.cast(), length), encoding), atom)
}

#[unsafe(no_mangle)]
extern "C" fn enif_make_new_atom(_: *mut Env, name: *const c_char, atom: &mut Term, encoding: c_int) -> c_int {
    store(atom_of(bytes(&name), encoding).and_then(Result::ok), atom)
}

#[unsafe(no_mangle)]
extern "C" fn enif_make_new_atom_len(
    _: *mut Env,
    name: *const c_char,
    length: usize,
    atom: &mut Term,
    encoding: c_int,
) -> c_int {
    store(atom_of(given(&name.cast(), length), encoding).and_then(Result::ok), atom)
}

#[unsafe(no_mangle)]
extern "C" fn enif_make_string(env: &mut Env, text: *const c_char, encoding: c_int) -> Term {
    make_string(env, bytes(&text), encoding)
}

#[unsafe(no_mangle)]
extern "C" fn enif_make_string_len(env: &mut Env, text: *const c_char, length: usize, encoding: c_int) -> Term {
    make_string(env, given(&text.cast(), length), encoding)
}

fn make_string(env: &mut Env, bytes: &[u8], encoding: c_int) -> Term {
    match text_of(bytes, encoding) {
        Some(text) => env.string(&text),
        None => env.raise(atoms::BADARG),
    }
}

/// `enif_make_tuple` after its arguments were put into an array.
#[unsafe(no_mangle)]
extern "C" fn enif_make_tuple_from_array(env: &mut Env, elements: *const Term, count: c_uint) -> Term {
    check_all(env, given(&elements, count as usize), "put into a tuple");
    env.scanned_runs(Kind::Tuple, 0, [given(&elements, count as usize)])
}

#[unsafe(no_mangle)]
extern "C" fn enif_make_list_from_array(env: &mut Env, elements: *const Term, count: c_uint) -> Term {
    check_all(env, given(&elements, count as usize), "put into a list");
    env.list(given(&elements, count as usize).iter().copied())
}

#[unsafe(no_mangle)]
extern "C" fn enif_make_list_cell(env: &mut Env, head: Term, tail: Term) -> Term {
    check_all(env, &[head, tail], "put into a list");
    env.cons(head, tail)
}

#[unsafe(no_mangle)]
extern "C" fn enif_make_reverse_list(env: &mut Env, list: Term, reversed: &mut Term) -> c_int {
    match list::reverse(env, list, Term::NIL) {
        Ok(list) => {
            *reversed = list;
            1
        }
        Err(_) => 0,
    }
}

#[unsafe(no_mangle)]
extern "C" fn enif_make_ref(env: &mut Env) -> Term {
    enter_machine();
    ReferenceId::fresh().term(env)
}

#[unsafe(no_mangle)]
extern "C" fn enif_make_copy(env: &mut Env, term: Term) -> Term {
    env.take(term)
}
