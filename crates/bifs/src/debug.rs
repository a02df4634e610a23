//! Terms as the machine sees them: `erts_debug` and what `erts_internal` has of that kind.

use std::cmp::Ordering;
use std::collections::HashSet;

use atoll_operations::Exception;
use atoll_process::{BuiltIn, Caller, Outcome, badarg};
use atoll_term::{Bits, ExternalKind, Kind, Term, View, WORD_BYTES, atoms, compare_exact, exactly_equal, map};

use crate::charging::charge_elements;

/// What this file provides.
pub const BUILT_INS: &[BuiltIn] = &[
    BuiltIn::new("erts_debug", "same", 2, same),
    BuiltIn::new("erts_debug", "flat_size", 1, flat_size),
    BuiltIn::new("erts_debug", "size_shared", 1, size_shared),
    BuiltIn::new("erts_internal", "cmp_term", 2, cmp_term),
    BuiltIn::new("erts_internal", "map_to_tuple_keys", 1, map_to_tuple_keys),
    BuiltIn::new("erts_internal", "term_type", 1, term_type),
];

fn same(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    Ok(Term::boolean(arguments[0] == arguments[1]))
}

/// Words that OTP has in an object of this kind and this machine has not.
fn extra_words(kind: Kind) -> usize {
    match kind {
        Kind::FlatMap => 1,
        Kind::Fun => 2,
        Kind::ExternalFun | Kind::BinaryHandle => 3,
        _ => 0,
    }
}

/// Words of OTP's view of a part of a binary.
const VIEW_WORDS: usize = 5;

/// Words of a copy of a part of a binary, as OTP counts them: a view only where it does not end at bytes; of a large
/// binary the handle, of a small one the bytes.
fn copied_part_words(bits: &Bits<'_>, term: Term) -> usize {
    const HANDLE: usize = 6;
    const LARGEST_COPIED: usize = 64;
    let (odd, bytes) = ((bits.start() % 8) + (bits.length() % 8), bits.length() / 8);
    if bits.is_binary() && bytes <= LARGEST_COPIED {
        return 2 + bytes.div_ceil(WORD_BYTES);
    }
    let view = if odd > 0 { VIEW_WORDS } else { 0 };
    let large = term.boxed_terms().get(2).is_some_and(|whole| whole.boxed_kind() == Some(Kind::BinaryHandle));
    view + if large { HANDLE } else { 2 + (bytes + odd.div_ceil(8)).div_ceil(WORD_BYTES) }
}

/// Words that a term takes in OTP; with `seen`, of what is shared
/// only one copy counts.
fn words(caller: &mut Caller<'_>, term: Term, mut seen: Option<HashSet<u64>>) -> Term {
    let (mut words, mut objects) = (0, 0);
    let mut open = vec![term];
    while let Some(mut term) = open.pop() {
        while term.is_pointer() {
            if seen.as_mut().is_some_and(|seen| !seen.insert(term.word())) {
                break;
            }
            objects += 1;
            if term.is_cons() {
                words += 2;
                open.push(term.head());
                term = term.tail();
                continue;
            }
            let header = term.header();
            if header.kind() == Kind::Tuple && header.arity() == 0 {
                break;
            }
            words += header.object_words() + extra_words(header.kind());
            match term.view() {
                View::Fun(fun) => {
                    open.push(fun.creator);
                    open.extend_from_slice(fun.free);
                }
                // In OTP a view over the bytes.
                View::Bits(bits) if header.kind() == Kind::HeapBits && !bits.is_binary() => words += VIEW_WORDS,
                View::Bits(bits) if header.kind() == Kind::SubBits && seen.is_none() => {
                    words += copied_part_words(&bits, term) - header.object_words();
                }
                _ if header.is_opaque() || header.kind() == Kind::ExternalFun => {}
                _ => open.extend_from_slice(term.boxed_terms()),
            }
            break;
        }
    }
    charge_elements(caller, objects);
    Term::small(words as i64)
}

fn flat_size(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    Ok(words(caller, arguments[0], None))
}

fn size_shared(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    Ok(words(caller, arguments[0], Some(HashSet::new())))
}

fn cmp_term(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let order = if exactly_equal(arguments[0], arguments[1]) {
        Ordering::Equal
    } else {
        compare_exact(arguments[0], arguments[1])
    };
    Ok(Term::small(order as i64))
}

fn map_to_tuple_keys(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    if arguments[0].is_map() { map::tuple_of_keys(arguments[0]).ok_or(badarg()) } else { Err(badarg()) }
}

fn term_type(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let term = arguments[0];
    let name = match term.view() {
        View::Small(_) => "fixnum",
        View::Big(_) => "bignum",
        View::Float(_) => "hfloat",
        View::Atom(_) => "atom",
        View::Pid(_) => "pid",
        View::Port(_) => "port",
        View::External(external) => match external.kind {
            ExternalKind::Pid => "external_pid",
            ExternalKind::Port => "external_port",
            ExternalKind::Reference => "external_reference",
        },
        View::Reference(_) => "reference",
        View::Nil => "nil",
        View::Cons(..) => "list",
        View::Tuple(_) => "tuple",
        View::Map(map) if map::is_flat(map) => "flatmap",
        View::Map(_) => "hashmap",
        View::Bits(_) => match term.boxed_kind() {
            Some(Kind::HeapBits) => "heap_binary",
            Some(Kind::SubBits) => "sub_binary",
            _ => "refc_binary",
        },
        View::Fun(_) => "fun",
        View::ExternalFun(_) => "export",
        View::Internal => return Err(Exception::badarg().into()),
    };
    Ok(atoms::atom(name)?)
}
