//! `math`.

use atoll_operations::float_math::{Binary, Unary};
use atoll_process::{BuiltIn, Caller, Outcome};
use atoll_term::Term;

use crate::support::row;

/// What this file provides.
pub const BUILT_INS: &[BuiltIn] = &[
    row("math", "acos", 1, |caller, arguments| unary(Unary::Acos, caller, arguments)),
    row("math", "acosh", 1, |caller, arguments| unary(Unary::Acosh, caller, arguments)),
    row("math", "asin", 1, |caller, arguments| unary(Unary::Asin, caller, arguments)),
    row("math", "asinh", 1, |caller, arguments| unary(Unary::Asinh, caller, arguments)),
    row("math", "atan", 1, |caller, arguments| unary(Unary::Atan, caller, arguments)),
    row("math", "atanh", 1, |caller, arguments| unary(Unary::Atanh, caller, arguments)),
    row("math", "ceil", 1, |caller, arguments| unary(Unary::Ceil, caller, arguments)),
    row("math", "cos", 1, |caller, arguments| unary(Unary::Cos, caller, arguments)),
    row("math", "cosh", 1, |caller, arguments| unary(Unary::Cosh, caller, arguments)),
    row("math", "erf", 1, |caller, arguments| unary(Unary::Erf, caller, arguments)),
    row("math", "erfc", 1, |caller, arguments| unary(Unary::Erfc, caller, arguments)),
    row("math", "exp", 1, |caller, arguments| unary(Unary::Exp, caller, arguments)),
    row("math", "floor", 1, |caller, arguments| unary(Unary::Floor, caller, arguments)),
    row("math", "log", 1, |caller, arguments| unary(Unary::Log, caller, arguments)),
    row("math", "log10", 1, |caller, arguments| unary(Unary::Log10, caller, arguments)),
    row("math", "log2", 1, |caller, arguments| unary(Unary::Log2, caller, arguments)),
    row("math", "sin", 1, |caller, arguments| unary(Unary::Sin, caller, arguments)),
    row("math", "sinh", 1, |caller, arguments| unary(Unary::Sinh, caller, arguments)),
    row("math", "sqrt", 1, |caller, arguments| unary(Unary::Sqrt, caller, arguments)),
    row("math", "tan", 1, |caller, arguments| unary(Unary::Tan, caller, arguments)),
    row("math", "tanh", 1, |caller, arguments| unary(Unary::Tanh, caller, arguments)),
    row("math", "atan2", 2, |caller, arguments| binary(Binary::Atan2, caller, arguments)),
    row("math", "fmod", 2, |caller, arguments| binary(Binary::Fmod, caller, arguments)),
    row("math", "pow", 2, |caller, arguments| binary(Binary::Pow, caller, arguments)),
];

fn unary(function: Unary, caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    Ok(function.apply(caller.heap(), arguments[0])?)
}

fn binary(function: Binary, caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    Ok(function.apply(caller.heap(), arguments[0], arguments[1])?)
}
