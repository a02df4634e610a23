//! `math`.

use atoll_operations::float_math::{Binary, Unary};
use atoll_process::{BuiltIn, Caller, Outcome};
use atoll_term::Term;

/// What this file provides.
pub const BUILT_INS: &[BuiltIn] = &[
    BuiltIn::new("math", "acos", 1, |caller, arguments| unary(Unary::Acos, caller, arguments)),
    BuiltIn::new("math", "acosh", 1, |caller, arguments| unary(Unary::Acosh, caller, arguments)),
    BuiltIn::new("math", "asin", 1, |caller, arguments| unary(Unary::Asin, caller, arguments)),
    BuiltIn::new("math", "asinh", 1, |caller, arguments| unary(Unary::Asinh, caller, arguments)),
    BuiltIn::new("math", "atan", 1, |caller, arguments| unary(Unary::Atan, caller, arguments)),
    BuiltIn::new("math", "atanh", 1, |caller, arguments| unary(Unary::Atanh, caller, arguments)),
    BuiltIn::new("math", "ceil", 1, |caller, arguments| unary(Unary::Ceil, caller, arguments)),
    BuiltIn::new("math", "cos", 1, |caller, arguments| unary(Unary::Cos, caller, arguments)),
    BuiltIn::new("math", "cosh", 1, |caller, arguments| unary(Unary::Cosh, caller, arguments)),
    BuiltIn::new("math", "erf", 1, |caller, arguments| unary(Unary::Erf, caller, arguments)),
    BuiltIn::new("math", "erfc", 1, |caller, arguments| unary(Unary::Erfc, caller, arguments)),
    BuiltIn::new("math", "exp", 1, |caller, arguments| unary(Unary::Exp, caller, arguments)),
    BuiltIn::new("math", "floor", 1, |caller, arguments| unary(Unary::Floor, caller, arguments)),
    BuiltIn::new("math", "log", 1, |caller, arguments| unary(Unary::Log, caller, arguments)),
    BuiltIn::new("math", "log10", 1, |caller, arguments| unary(Unary::Log10, caller, arguments)),
    BuiltIn::new("math", "log2", 1, |caller, arguments| unary(Unary::Log2, caller, arguments)),
    BuiltIn::new("math", "sin", 1, |caller, arguments| unary(Unary::Sin, caller, arguments)),
    BuiltIn::new("math", "sinh", 1, |caller, arguments| unary(Unary::Sinh, caller, arguments)),
    BuiltIn::new("math", "sqrt", 1, |caller, arguments| unary(Unary::Sqrt, caller, arguments)),
    BuiltIn::new("math", "tan", 1, |caller, arguments| unary(Unary::Tan, caller, arguments)),
    BuiltIn::new("math", "tanh", 1, |caller, arguments| unary(Unary::Tanh, caller, arguments)),
    BuiltIn::new("math", "atan2", 2, |caller, arguments| binary(Binary::Atan2, caller, arguments)),
    BuiltIn::new("math", "fmod", 2, |caller, arguments| binary(Binary::Fmod, caller, arguments)),
    BuiltIn::new("math", "pow", 2, |caller, arguments| binary(Binary::Pow, caller, arguments)),
];

fn unary(function: Unary, caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    Ok(function.apply(caller.heap(), arguments[0])?)
}

fn binary(function: Binary, caller: &mut Caller<'_>, arguments: &[Term]) -> Outcome {
    Ok(function.apply(caller.heap(), arguments[0], arguments[1])?)
}
