//! The functions of the module `math`.

use atoll_term::{Allocate, Term};

use crate::exception::Exception;
use crate::number::{finite, to_float};
use crate::raw_math;

/// Functions of one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unary {
    /// Inverse cosine
    Acos,
    /// Inverse hyperbolic cosine
    Acosh,
    /// Inverse sine
    Asin,
    /// Inverse hyperbolic sine
    Asinh,
    /// Inverse tangent
    Atan,
    /// Inverse hyperbolic tangent
    Atanh,
    /// Least whole number that is not below
    Ceil,
    /// Cosine
    Cos,
    /// Hyperbolic cosine
    Cosh,
    /// Error function
    Erf,
    /// 1 less the error function
    Erfc,
    /// Power of e
    Exp,
    /// Largest whole number that is not above
    Floor,
    /// Natural logarithm
    Log,
    /// Logarithm to base 10
    Log10,
    /// Logarithm to base 2
    Log2,
    /// Sine
    Sin,
    /// Hyperbolic sine
    Sinh,
    /// Square root
    Sqrt,
    /// Tangent
    Tan,
    /// Hyperbolic tangent
    Tanh,
}

impl Unary {
    /// Every one, with its name in Erlang.
    pub const ALL: [(&'static str, Unary); 21] = [
        ("acos", Unary::Acos),
        ("acosh", Unary::Acosh),
        ("asin", Unary::Asin),
        ("asinh", Unary::Asinh),
        ("atan", Unary::Atan),
        ("atanh", Unary::Atanh),
        ("ceil", Unary::Ceil),
        ("cos", Unary::Cos),
        ("cosh", Unary::Cosh),
        ("erf", Unary::Erf),
        ("erfc", Unary::Erfc),
        ("exp", Unary::Exp),
        ("floor", Unary::Floor),
        ("log", Unary::Log),
        ("log10", Unary::Log10),
        ("log2", Unary::Log2),
        ("sin", Unary::Sin),
        ("sinh", Unary::Sinh),
        ("sqrt", Unary::Sqrt),
        ("tan", Unary::Tan),
        ("tanh", Unary::Tanh),
    ];

    fn function(self) -> fn(f64) -> f64 {
        match self {
            Unary::Acos => f64::acos,
            Unary::Acosh => |x| raw_math::acosh(x),
            Unary::Asin => f64::asin,
            Unary::Asinh => |x| raw_math::asinh(x),
            Unary::Atan => f64::atan,
            Unary::Atanh => |x| raw_math::atanh(x),
            Unary::Ceil => f64::ceil,
            Unary::Cos => f64::cos,
            Unary::Cosh => f64::cosh,
            Unary::Erf => |x| raw_math::erf(x),
            Unary::Erfc => |x| raw_math::erfc(x),
            Unary::Exp => f64::exp,
            Unary::Floor => f64::floor,
            Unary::Log => f64::ln,
            Unary::Log10 => f64::log10,
            Unary::Log2 => f64::log2,
            Unary::Sin => f64::sin,
            Unary::Sinh => f64::sinh,
            Unary::Sqrt => f64::sqrt,
            Unary::Tan => f64::tan,
            Unary::Tanh => f64::tanh,
        }
    }

    /// `math:F(A)`
    ///
    /// # Errors
    /// `badarg`: no number; `badarith`: outside of the function's domain, or of the floats
    pub fn apply<H: Allocate + ?Sized>(self, heap: &mut H, a: Term) -> Result<Term, Exception> {
        finite(heap, self.function()(argument(a)?))
    }
}

/// Functions of two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Binary {
    /// Angle of the point (second, first)
    Atan2,
    /// Remainder, with the sign of the first
    Fmod,
    /// Power
    Pow,
}

impl Binary {
    /// Every one, with its name in Erlang.
    pub const ALL: [(&'static str, Binary); 3] =
        [("atan2", Binary::Atan2), ("fmod", Binary::Fmod), ("pow", Binary::Pow)];

    /// `math:F(A, B)`
    ///
    /// # Errors
    /// As [`Unary::apply`].
    pub fn apply<H: Allocate + ?Sized>(self, heap: &mut H, a: Term, b: Term) -> Result<Term, Exception> {
        let (a, b) = (argument(a)?, argument(b)?);
        finite(
            heap,
            match self {
                Binary::Atan2 => a.atan2(b),
                Binary::Fmod => a % b,
                Binary::Pow => a.powf(b),
            },
        )
    }
}

fn argument(term: Term) -> Result<f64, Exception> {
    to_float(term).ok_or(if term.is_integer() { Exception::badarith() } else { Exception::badarg() })
}

#[cfg(test)]
mod tests {
    use atoll_term::{Build, atoms};

    use super::*;
    use crate::oracle::{Oracle, Random};

    #[test]
    fn every_function_as_on_stock() {
        let (mut oracle, mut random) = (Oracle::default(), Random(21));
        let mut values = vec![atoms::OK];
        for value in [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 710.0, -745.0, 1e308, 1e-300] {
            values.push(oracle.heap.float(value));
        }
        for value in [-2, -1, 0, 1, 2, 3, 10, 1000] {
            values.push(Term::small(value));
        }
        for limbs in [2, 20] {
            values.extend((0..3).map(|_| random.integer(&mut oracle.heap, limbs)));
        }
        for number in 0..400 {
            let value = if number % 2 == 0 { random.float() } else { random.below(1 << 30) as f64 / 1e8 - 5.0 };
            values.push(oracle.heap.float(value));
        }
        for value in &values {
            for (name, function) in Unary::ALL {
                let result = function.apply(&mut oracle.heap, *value);
                oracle.expect(&format!("{{math,{name}}}"), &[*value], result);
            }
        }
        for _ in 0..600 {
            let mut any = || values[random.below(values.len() as u64) as usize];
            let (a, b) = (any(), any());
            for (name, function) in Binary::ALL {
                let result = function.apply(&mut oracle.heap, a, b);
                oracle.expect(&format!("{{math,{name}}}"), &[a, b], result);
            }
        }
        oracle.check();
    }
}
