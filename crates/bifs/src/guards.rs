//! Guard functions and operators of `erlang`: thin wrappers of `operations`.

use atoll_loader::instruction::{Comparison, TypeTest};
use atoll_operations::{Exception, arithmetic, bit_part, guards};
use atoll_process::{BuiltIn, Caller, Outcome};
use atoll_term::Term;

/// What this file provides.
pub const BUILT_INS: &[BuiltIn] = &[
    BuiltIn { module: "erlang", name: "bnot", arity: 1, function: unary_bnot },
    BuiltIn { module: "erlang", name: "abs", arity: 1, function: unary_abs },
    BuiltIn { module: "erlang", name: "round", arity: 1, function: unary_round },
    BuiltIn { module: "erlang", name: "trunc", arity: 1, function: unary_trunc },
    BuiltIn { module: "erlang", name: "floor", arity: 1, function: unary_floor },
    BuiltIn { module: "erlang", name: "ceil", arity: 1, function: unary_ceil },
    BuiltIn { module: "erlang", name: "float", arity: 1, function: unary_float },
    BuiltIn { module: "erlang", name: "-", arity: 1, function: unary_negate },
    BuiltIn { module: "erlang", name: "+", arity: 1, function: unary_plus },
    BuiltIn { module: "erlang", name: "+", arity: 2, function: add },
    BuiltIn { module: "erlang", name: "-", arity: 2, function: subtract },
    BuiltIn { module: "erlang", name: "*", arity: 2, function: multiply },
    BuiltIn { module: "erlang", name: "/", arity: 2, function: divide },
    BuiltIn { module: "erlang", name: "div", arity: 2, function: integer_divide },
    BuiltIn { module: "erlang", name: "rem", arity: 2, function: remainder },
    BuiltIn { module: "erlang", name: "band", arity: 2, function: band },
    BuiltIn { module: "erlang", name: "bor", arity: 2, function: bor },
    BuiltIn { module: "erlang", name: "bxor", arity: 2, function: bxor },
    BuiltIn { module: "erlang", name: "bsl", arity: 2, function: bsl },
    BuiltIn { module: "erlang", name: "bsr", arity: 2, function: bsr },
    BuiltIn { module: "erlang", name: "tuple_size", arity: 1, function: tuple_size },
    BuiltIn { module: "erlang", name: "size", arity: 1, function: size },
    BuiltIn { module: "erlang", name: "byte_size", arity: 1, function: byte_size },
    BuiltIn { module: "erlang", name: "bit_size", arity: 1, function: bit_size },
    BuiltIn { module: "erlang", name: "length", arity: 1, function: length },
    BuiltIn { module: "erlang", name: "hd", arity: 1, function: hd },
    BuiltIn { module: "erlang", name: "tl", arity: 1, function: tl },
    BuiltIn { module: "erlang", name: "not", arity: 1, function: not },
    BuiltIn { module: "erlang", name: "element", arity: 2, function: element_ },
    BuiltIn { module: "erlang", name: "is_record", arity: 2, function: is_record },
    BuiltIn { module: "erlang", name: "is_function", arity: 2, function: is_function_of_arity },
    BuiltIn { module: "erlang", name: "is_record", arity: 3, function: is_record_of_size },
    BuiltIn { module: "erlang", name: "map_size", arity: 1, function: map_size },
    BuiltIn { module: "erlang", name: "map_get", arity: 2, function: map_get },
    BuiltIn { module: "erlang", name: "is_map_key", arity: 2, function: is_map_key },
    BuiltIn { module: "erlang", name: "min", arity: 2, function: min },
    BuiltIn { module: "erlang", name: "max", arity: 2, function: max },
    BuiltIn { module: "erlang", name: "and", arity: 2, function: and },
    BuiltIn { module: "erlang", name: "or", arity: 2, function: or },
    BuiltIn { module: "erlang", name: "xor", arity: 2, function: xor },
    BuiltIn { module: "erlang", name: "<", arity: 2, function: less },
    BuiltIn { module: "erlang", name: ">=", arity: 2, function: greater_or_equal },
    BuiltIn { module: "erlang", name: "==", arity: 2, function: equal },
    BuiltIn { module: "erlang", name: "/=", arity: 2, function: not_equal },
    BuiltIn { module: "erlang", name: "=:=", arity: 2, function: exactly_equal },
    BuiltIn { module: "erlang", name: "=/=", arity: 2, function: not_exactly_equal },
    BuiltIn { module: "erlang", name: ">", arity: 2, function: greater },
    BuiltIn { module: "erlang", name: "=<", arity: 2, function: less_or_equal },
    BuiltIn { module: "erlang", name: "is_atom", arity: 1, function: is_atom },
    BuiltIn { module: "erlang", name: "is_binary", arity: 1, function: is_binary },
    BuiltIn { module: "erlang", name: "is_bitstring", arity: 1, function: is_bitstring },
    BuiltIn { module: "erlang", name: "is_boolean", arity: 1, function: is_boolean },
    BuiltIn { module: "erlang", name: "is_float", arity: 1, function: is_float },
    BuiltIn { module: "erlang", name: "is_function", arity: 1, function: is_function },
    BuiltIn { module: "erlang", name: "is_integer", arity: 1, function: is_integer },
    BuiltIn { module: "erlang", name: "is_integer", arity: 3, function: is_integer_between },
    BuiltIn { module: "erlang", name: "is_list", arity: 1, function: is_list },
    BuiltIn { module: "erlang", name: "is_map", arity: 1, function: is_map },
    BuiltIn { module: "erlang", name: "is_number", arity: 1, function: is_number },
    BuiltIn { module: "erlang", name: "is_pid", arity: 1, function: is_pid },
    BuiltIn { module: "erlang", name: "is_port", arity: 1, function: is_port },
    BuiltIn { module: "erlang", name: "is_reference", arity: 1, function: is_reference },
    BuiltIn { module: "erlang", name: "is_tuple", arity: 1, function: is_tuple },
    BuiltIn { module: "erlang", name: "binary_part", arity: 3, function: binary_part },
    BuiltIn { module: "erlang", name: "binary_part", arity: 2, function: binary_part_of_pair },
    BuiltIn { module: "erlang", name: "self", arity: 0, function: self_ },
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
