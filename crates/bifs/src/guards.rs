//! Guard functions and operators of `erlang`: thin wrappers of `operations`.

use atoll_loader::instruction::{Comparison, TypeTest};
use atoll_operations::{Exception, arithmetic, bit_part, guards};
use atoll_process::{BuiltIn, Caller, Outcome};
use atoll_term::Term;

/// What this file provides.
pub const BUILT_INS: &[BuiltIn] = &[
    BuiltIn::new("erlang", "bnot", 1, unary_bnot),
    BuiltIn::new("erlang", "abs", 1, unary_abs),
    BuiltIn::new("erlang", "round", 1, unary_round),
    BuiltIn::new("erlang", "trunc", 1, unary_trunc),
    BuiltIn::new("erlang", "floor", 1, unary_floor),
    BuiltIn::new("erlang", "ceil", 1, unary_ceil),
    BuiltIn::new("erlang", "float", 1, unary_float),
    BuiltIn::new("erlang", "-", 1, unary_negate),
    BuiltIn::new("erlang", "+", 1, unary_plus),
    BuiltIn::new("erlang", "+", 2, add),
    BuiltIn::new("erlang", "-", 2, subtract),
    BuiltIn::new("erlang", "*", 2, multiply),
    BuiltIn::new("erlang", "/", 2, divide),
    BuiltIn::new("erlang", "div", 2, integer_divide),
    BuiltIn::new("erlang", "rem", 2, remainder),
    BuiltIn::new("erlang", "band", 2, band),
    BuiltIn::new("erlang", "bor", 2, bor),
    BuiltIn::new("erlang", "bxor", 2, bxor),
    BuiltIn::new("erlang", "bsl", 2, bsl),
    BuiltIn::new("erlang", "bsr", 2, bsr),
    BuiltIn::new("erlang", "tuple_size", 1, tuple_size),
    BuiltIn::new("erlang", "size", 1, size),
    BuiltIn::new("erlang", "byte_size", 1, byte_size),
    BuiltIn::new("erlang", "bit_size", 1, bit_size),
    BuiltIn::new("erlang", "length", 1, length),
    BuiltIn::new("erlang", "hd", 1, hd),
    BuiltIn::new("erlang", "tl", 1, tl),
    BuiltIn::new("erlang", "not", 1, not),
    BuiltIn::new("erlang", "element", 2, element_),
    BuiltIn::new("erlang", "is_record", 2, is_record),
    BuiltIn::new("erlang", "is_function", 2, is_function_of_arity),
    BuiltIn::new("erlang", "is_record", 3, is_record_of_size),
    BuiltIn::new("erlang", "map_size", 1, map_size),
    BuiltIn::new("erlang", "map_get", 2, map_get),
    BuiltIn::new("erlang", "is_map_key", 2, is_map_key),
    BuiltIn::new("erlang", "min", 2, min),
    BuiltIn::new("erlang", "max", 2, max),
    BuiltIn::new("erlang", "and", 2, and),
    BuiltIn::new("erlang", "or", 2, or),
    BuiltIn::new("erlang", "xor", 2, xor),
    BuiltIn::new("erlang", "<", 2, less),
    BuiltIn::new("erlang", ">=", 2, greater_or_equal),
    BuiltIn::new("erlang", "==", 2, equal),
    BuiltIn::new("erlang", "/=", 2, not_equal),
    BuiltIn::new("erlang", "=:=", 2, exactly_equal),
    BuiltIn::new("erlang", "=/=", 2, not_exactly_equal),
    BuiltIn::new("erlang", ">", 2, greater),
    BuiltIn::new("erlang", "=<", 2, less_or_equal),
    BuiltIn::new("erlang", "is_atom", 1, is_atom),
    BuiltIn::new("erlang", "is_binary", 1, is_binary),
    BuiltIn::new("erlang", "is_bitstring", 1, is_bitstring),
    BuiltIn::new("erlang", "is_boolean", 1, is_boolean),
    BuiltIn::new("erlang", "is_float", 1, is_float),
    BuiltIn::new("erlang", "is_function", 1, is_function),
    BuiltIn::new("erlang", "is_integer", 1, is_integer),
    BuiltIn::new("erlang", "is_integer", 3, is_integer_between),
    BuiltIn::new("erlang", "is_list", 1, is_list),
    BuiltIn::new("erlang", "is_map", 1, is_map),
    BuiltIn::new("erlang", "is_number", 1, is_number),
    BuiltIn::new("erlang", "is_pid", 1, is_pid),
    BuiltIn::new("erlang", "is_port", 1, is_port),
    BuiltIn::new("erlang", "is_reference", 1, is_reference),
    BuiltIn::new("erlang", "is_tuple", 1, is_tuple),
    BuiltIn::new("erlang", "binary_part", 3, binary_part),
    BuiltIn::new("erlang", "binary_part", 2, binary_part_of_pair),
    BuiltIn::new("erlang", "self", 0, self_),
];

fn unary_bnot(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    Ok(arithmetic::bnot(caller.heap(), arguments[0])?)
}

fn unary_abs(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    Ok(arithmetic::abs(caller.heap(), arguments[0])?)
}

fn unary_round(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    Ok(arithmetic::round(caller.heap(), arguments[0])?)
}

fn unary_trunc(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    Ok(arithmetic::trunc(caller.heap(), arguments[0])?)
}

fn unary_floor(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    Ok(arithmetic::floor(caller.heap(), arguments[0])?)
}

fn unary_ceil(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    Ok(arithmetic::ceil(caller.heap(), arguments[0])?)
}

fn unary_float(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    Ok(arithmetic::float(caller.heap(), arguments[0])?)
}

fn unary_negate(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    Ok(arithmetic::negate(caller.heap(), arguments[0])?)
}

fn unary_plus(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    Ok(arithmetic::plus(arguments[0])?)
}

fn add(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    Ok(arithmetic::add(caller.heap(), arguments[0], arguments[1])?)
}

fn subtract(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    Ok(arithmetic::subtract(caller.heap(), arguments[0], arguments[1])?)
}

fn multiply(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    Ok(arithmetic::multiply(caller.heap(), arguments[0], arguments[1])?)
}

fn divide(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    Ok(arithmetic::divide(caller.heap(), arguments[0], arguments[1])?)
}

fn integer_divide(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    Ok(arithmetic::integer_divide(caller.heap(), arguments[0], arguments[1])?)
}

fn remainder(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    Ok(arithmetic::remainder(caller.heap(), arguments[0], arguments[1])?)
}

fn band(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    Ok(arithmetic::band(caller.heap(), arguments[0], arguments[1])?)
}

fn bor(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    Ok(arithmetic::bor(caller.heap(), arguments[0], arguments[1])?)
}

fn bxor(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    Ok(arithmetic::bxor(caller.heap(), arguments[0], arguments[1])?)
}

fn bsl(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    Ok(arithmetic::bsl(caller.heap(), arguments[0], arguments[1])?)
}

fn bsr(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    Ok(arithmetic::bsr(caller.heap(), arguments[0], arguments[1])?)
}

fn tuple_size(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    Ok(guards::tuple_size(arguments[0])?)
}

fn size(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    Ok(guards::size(arguments[0])?)
}

fn byte_size(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    Ok(guards::byte_size(arguments[0])?)
}

fn bit_size(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    Ok(guards::bit_size(arguments[0])?)
}

fn length(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    Ok(guards::length(arguments[0])?)
}

fn hd(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    Ok(guards::hd(arguments[0])?)
}

fn tl(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    Ok(guards::tl(arguments[0])?)
}

fn not(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    Ok(guards::not(arguments[0])?)
}

fn element_(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    Ok(guards::element(arguments[0], arguments[1])?)
}

fn is_record(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    Ok(guards::is_record(arguments[0], arguments[1])?)
}

fn is_function_of_arity(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    Ok(guards::is_function(arguments[0], arguments[1])?)
}

fn is_record_of_size(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    Ok(guards::is_record_of_size(arguments[0], arguments[1], arguments[2])?)
}

fn map_size(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    Ok(guards::map_size(caller.heap(), arguments[0])?)
}

fn map_get(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    Ok(guards::map_get(caller.heap(), arguments[0], arguments[1])?)
}

fn is_map_key(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    Ok(guards::is_map_key(caller.heap(), arguments[0], arguments[1])?)
}

fn min(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    Ok(guards::min(arguments[0], arguments[1]))
}

fn max(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    Ok(guards::max(arguments[0], arguments[1]))
}

fn and(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    Ok(guards::logical(arguments[0], arguments[1], |a, b| a && b)?)
}

fn or(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    Ok(guards::logical(arguments[0], arguments[1], |a, b| a || b)?)
}

fn xor(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    Ok(guards::logical(arguments[0], arguments[1], |a, b| a != b)?)
}

fn less(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    Ok(Term::boolean(guards::holds(Comparison::Less, arguments[0], arguments[1])))
}

fn greater_or_equal(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    Ok(Term::boolean(guards::holds(Comparison::GreaterOrEqual, arguments[0], arguments[1])))
}

fn equal(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    Ok(Term::boolean(guards::holds(Comparison::Equal, arguments[0], arguments[1])))
}

fn not_equal(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    Ok(Term::boolean(guards::holds(Comparison::NotEqual, arguments[0], arguments[1])))
}

fn exactly_equal(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    Ok(Term::boolean(guards::holds(Comparison::ExactlyEqual, arguments[0], arguments[1])))
}

fn not_exactly_equal(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    Ok(Term::boolean(guards::holds(Comparison::NotExactlyEqual, arguments[0], arguments[1])))
}

fn greater(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    Ok(Term::boolean(guards::holds(Comparison::Less, arguments[1], arguments[0])))
}

fn less_or_equal(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    Ok(Term::boolean(guards::holds(Comparison::GreaterOrEqual, arguments[1], arguments[0])))
}

fn is_atom(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    Ok(Term::boolean(guards::is_of_type(TypeTest::Atom, arguments[0])))
}

fn is_binary(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    Ok(Term::boolean(guards::is_of_type(TypeTest::Binary, arguments[0])))
}

fn is_bitstring(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    Ok(Term::boolean(guards::is_of_type(TypeTest::Bitstring, arguments[0])))
}

fn is_boolean(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    Ok(Term::boolean(guards::is_of_type(TypeTest::Boolean, arguments[0])))
}

fn is_float(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    Ok(Term::boolean(guards::is_of_type(TypeTest::Float, arguments[0])))
}

fn is_function(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    Ok(Term::boolean(guards::is_of_type(TypeTest::Function, arguments[0])))
}

fn is_integer(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    Ok(Term::boolean(guards::is_of_type(TypeTest::Integer, arguments[0])))
}

/// `is_integer(Term, Least, Most)`: the limits have to be integers whatever the term is.
fn is_integer_between(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    let &[term, least, most] = arguments else { return Err(Exception::badarg().into()) };
    if !least.is_integer() || !most.is_integer() {
        return Err(Exception::badarg().into());
    }
    let is_less = |one, other| guards::holds(Comparison::Less, one, other);
    Ok(Term::boolean(term.is_integer() && !is_less(term, least) && !is_less(most, term)))
}

fn is_list(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    Ok(Term::boolean(guards::is_of_type(TypeTest::List, arguments[0])))
}

fn is_map(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    Ok(Term::boolean(guards::is_of_type(TypeTest::Map, arguments[0])))
}

fn is_number(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    Ok(Term::boolean(guards::is_of_type(TypeTest::Number, arguments[0])))
}

fn is_pid(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    Ok(Term::boolean(guards::is_of_type(TypeTest::Pid, arguments[0])))
}

fn is_port(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    Ok(Term::boolean(guards::is_of_type(TypeTest::Port, arguments[0])))
}

fn is_reference(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    Ok(Term::boolean(guards::is_of_type(TypeTest::Reference, arguments[0])))
}

fn is_tuple(_: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    Ok(Term::boolean(guards::is_of_type(TypeTest::Tuple, arguments[0])))
}

fn binary_part(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    Ok(bit_part::binary_part(caller.heap(), arguments[0], arguments[1], arguments[2])?)
}

fn binary_part_of_pair(caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    Ok(bit_part::binary_part_of_pair(caller.heap(), arguments[0], arguments[1])?)
}

fn self_(caller: &mut Caller<'_>, _: &[Term]) -> Outcome {
    Ok(caller.process.pid)
}
