//! Binaries: those that a library owns, those that it looks at, and those that it makes.

use std::ffi::{c_int, c_uint};
use std::ptr::{NonNull, null_mut};

use atoll_code::Resolver;
use atoll_etf::{DecodeOptions, EncodeOptions, decode, encode};
use atoll_operations::iolist;
use atoll_term::{Build, HEAP_BINARY_LIMIT, OffHeapBinary, Term, atoms, this_node};

use crate::abi::Binary;
use crate::build_terms::given;
use crate::env::{Env, enter_machine};

/// Only atoms that there are: an option of `enif_binary_to_term`.
const SAFE: c_uint = 0x2000_0000;

/// A binary outside of heaps with room for so many bytes, or null if there is no memory. They are not initialised.
fn allocate(size: usize) -> Option<NonNull<OffHeapBinary>> {
    OffHeapBinary::filled(size, |_| Ok::<usize, ()>(size))?.ok()
}

fn owned(binary: &Binary) -> Option<NonNull<OffHeapBinary>> {
    NonNull::new(binary.owned.cast())
}

fn own(binary: &mut Binary, made: NonNull<OffHeapBinary>, size: usize) {
    // SAFETY: the binary was just made.
    let data = unsafe { made.as_ref() }.data();
    (binary.size, binary.data, binary.owned) = (size, data, made.as_ptr().cast());
}

/// Shows bytes that stay where they are as long as the environment.
fn show(binary: &mut Binary, data: *const u8, size: usize) -> c_int {
    (binary.size, binary.data, binary.owned) = (size, data.cast_mut(), null_mut());
    1
}

#[unsafe(no_mangle)]
extern "C" fn enif_alloc_binary(size: usize, binary: &mut Binary) -> c_int {
    match allocate(size) {
        Some(made) => {
            own(binary, made, size);
            1
        }
        None => 0,
    }
}

/// The bytes of a binary.
fn bytes(binary: &Binary) -> &[u8] {
    let data = &binary.data.cast_const();
    // SAFETY: the bytes are there as long as the binary.
    if binary.size == 0 { &[] } else { unsafe { std::slice::from_raw_parts(*data, binary.size) } }
}

#[unsafe(no_mangle)]
extern "C" fn enif_realloc_binary(binary: &mut Binary, size: usize) -> c_int {
    // SAFETY: the library owns a count, and gets the new address of the bytes.
    if let Some(made) = owned(binary).and_then(|owned| unsafe { OffHeapBinary::resize(owned, size) }) {
        own(binary, made, size);
        return 1;
    }
    let Some(made) = allocate(size) else { return 0 };
    let kept = binary.size.min(size);
    // SAFETY: the new binary has `size` bytes, and the other one at least `kept`.
    unsafe { std::ptr::copy_nonoverlapping(bytes(binary).as_ptr(), made.as_ref().data(), kept) };
    enif_release_binary(binary);
    own(binary, made, size);
    1
}

#[unsafe(no_mangle)]
extern "C" fn enif_release_binary(binary: &mut Binary) {
    if let Some(owned) = owned(binary) {
        (binary.owned, binary.data, binary.size) = (null_mut(), null_mut(), 0);
        // SAFETY: the library gives up the count that it owned.
        unsafe { OffHeapBinary::release(owned) };
    }
}

#[unsafe(no_mangle)]
extern "C" fn enif_inspect_binary(env: &mut Env, term: Term, binary: &mut Binary) -> c_int {
    if let Some(bytes) = term.aligned_binary() {
        return show(binary, bytes.as_ptr(), bytes.len());
    }
    let Some(bits) = term.bits().filter(|bits| bits.is_binary()) else { return 0 };
    let bytes = bits.to_bytes().into_owned();
    let size = bytes.len();
    show(binary, env.keep_bytes(bytes), size)
}

#[unsafe(no_mangle)]
extern "C" fn enif_inspect_iolist_as_binary(env: &mut Env, term: Term, binary: &mut Binary) -> c_int {
    if term.is_bitstring() {
        return enif_inspect_binary(env, term, binary);
    }
    if !term.is_list() {
        return 0;
    }
    match iolist::iolist_bytes(term) {
        Ok(bytes) => {
            let size = bytes.len();
            show(binary, env.keep_bytes(bytes), size)
        }
        Err(_) => 0,
    }
}

#[unsafe(no_mangle)]
extern "C" fn enif_make_binary(env: &mut Env, binary: &mut Binary) -> Term {
    let Some(owned) = owned(binary) else { return env.binary(bytes(binary)) };
    // The library may read the bytes until its function returns, but does not own them any more.
    binary.owned = null_mut();
    if binary.size <= HEAP_BINARY_LIMIT {
        let term = env.binary(bytes(binary));
        env.keep_binary(owned);
        return term;
    }
    env.binary_handle(owned)
}

#[unsafe(no_mangle)]
extern "C" fn enif_make_new_binary(env: &mut Env, size: usize, term: &mut Term) -> *mut u8 {
    if size <= HEAP_BINARY_LIMIT {
        *term = env.heap_bits(size * 8);
        return term.underlying_bytes().cast_mut();
    }
    let Some(made) = allocate(size) else { return null_mut() };
    // SAFETY: the binary was just made.
    let data = unsafe { made.as_ref() }.data();
    *term = env.binary_handle(made);
    data
}

#[unsafe(no_mangle)]
extern "C" fn enif_make_sub_binary(env: &mut Env, binary: Term, from: usize, size: usize) -> Term {
    let length = binary.bits().map_or(0, |bits| bits.length());
    match from.checked_add(size).and_then(|end| end.checked_mul(8)) {
        Some(end) if end <= length => env.part_of_bits(binary, from * 8, size * 8),
        _ => env.raise(atoms::BADARG),
    }
}

#[unsafe(no_mangle)]
extern "C" fn enif_term_to_binary(_: *mut Env, term: Term, binary: &mut Binary) -> c_int {
    enter_machine();
    let Ok(encoded) = encode(term, EncodeOptions::default(), this_node()) else { return 0 };
    let made = OffHeapBinary::from_bytes(&encoded, encoded.len());
    own(binary, made, encoded.len());
    1
}

#[unsafe(no_mangle)]
extern "C" fn enif_binary_to_term(
    env: &mut Env,
    data: *const u8,
    size: usize,
    term: &mut Term,
    options: c_uint,
) -> usize {
    enter_machine();
    if options & !SAFE != 0 {
        return 0;
    }
    let options = DecodeOptions { safe: options & SAFE != 0 };
    match decode(given(&data, size), options, &mut Resolver, env) {
        Ok((decoded, length)) => {
            *term = decoded;
            length
        }
        Err(_) => 0,
    }
}
