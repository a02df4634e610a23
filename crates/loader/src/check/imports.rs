//! What is known of functions of other modules. The machine's own functions only: a module can be replaced.

use super::types::Type;
use crate::module::Import;

/// What is known of an import.
pub(super) struct Facts {
    /// It always raises.
    pub(super) never_returns: bool,
    /// It is `erlang:setelement/3`, whose result is a new tuple.
    pub(super) sets_element: bool,
    /// What it is as a guard function, if it is one.
    pub(super) guard: Option<Guard>,
}

/// A guard function or operator.
#[derive(Clone, Copy)]
pub(super) struct Guard {
    /// It may need heap when it does not fail.
    pub(super) allocates: bool,
    /// It may fail.
    pub(super) fails: bool,
    pub(super) result: Type,
    /// What its arguments are if it does not fail.
    pub(super) arguments: Type,
    /// The argument, from the right, of which that is so: 1 is the last, 0 stands for all.
    pub(super) which: usize,
}

impl Facts {
    pub(super) fn of(import: &Import, atoms: &[Box<str>]) -> Facts {
        let text = |index: crate::instruction::AtomIndex| &*atoms[index.0 as usize];
        let (module, name) = (text(import.module), text(import.name));
        let erlang = module == "erlang";
        Facts {
            never_returns: import.never_returns(atoms),
            sets_element: erlang && (name, import.arity) == ("setelement", 3),
            guard: if erlang { guard(name, import.arity) } else { None },
        }
    }
}

/// The guard functions and operators, which are all that instructions other than calls may name.
fn guard(name: &str, arity: u8) -> Option<Guard> {
    const BOOLEAN: Type = Type::ATOM;
    let known = |allocates, result, arguments, which| Some(Guard { allocates, fails: true, result, arguments, which });
    let total = |result| Some(Guard { allocates: false, fails: false, result, arguments: Type::TERM, which: 0 });
    match (name, arity) {
        ("=:=" | "=/=" | "==" | "/=" | "<" | "=<" | ">" | ">=", 2)
        | (
            "is_atom" | "is_binary" | "is_bitstring" | "is_boolean" | "is_float" | "is_function" | "is_integer"
            | "is_list" | "is_map" | "is_number" | "is_pid" | "is_port" | "is_reference" | "is_tuple",
            1,
        ) => total(BOOLEAN),
        ("self" | "node", 0) | ("get", 1) | ("max" | "min", 2) => total(Type::TERM),
        ("is_function" | "is_record", 2) | ("is_integer" | "is_record", 3) => known(false, BOOLEAN, Type::TERM, 0),
        ("and" | "or" | "xor", 2) | ("not", 1) => known(false, BOOLEAN, Type::ATOM, 0),
        ("node", 1) => known(false, Type::ATOM, Type::OTHER, 0),
        ("element", 2) => known(false, Type::TERM, Type::TUPLE, 1),
        ("hd" | "tl", 1) => known(false, Type::TERM, Type::CONS, 1),
        ("tuple_size", 1) => known(false, Type::INTEGER, Type::TUPLE, 1),
        ("is_map_key", 2) => known(false, BOOLEAN, Type::MAP, 1),
        ("map_get", 2) => known(false, Type::TERM, Type::MAP, 1),
        ("map_size", 1) => known(true, Type::INTEGER, Type::MAP, 1),
        ("length", 1) => known(true, Type::INTEGER, Type::LIST, 1),
        ("byte_size" | "bit_size", 1) => known(true, Type::INTEGER, Type::BITS, 1),
        ("size", 1) => known(true, Type::INTEGER, Type::TERM, 0),
        ("binary_part", 2 | 3) => known(true, Type::BITS, Type::TERM, 0),
        ("+" | "-" | "*", 2) | ("+" | "-" | "abs", 1) => known(true, Type::NUMERIC, Type::NUMERIC, 0),
        ("/", 2) | ("float", 1) => known(true, Type::FLOAT, Type::NUMERIC, 0),
        ("div" | "rem" | "band" | "bor" | "bxor" | "bsl" | "bsr", 2) | ("bnot", 1) => {
            known(true, Type::INTEGER, Type::INTEGER, 0)
        }
        ("round" | "trunc" | "ceil" | "floor", 1) => known(true, Type::INTEGER, Type::NUMERIC, 0),
        // Written by no compiler of today, but nothing else than a pure function.
        ("list_to_atom", 1) => known(true, Type::ATOM, Type::LIST, 1),
        _ => None,
    }
}
