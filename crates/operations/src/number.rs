//! Numbers between their terms and Rust's types.

use atoll_term::{Allocate, Build, Term, View};
use num_bigint::BigInt;
use num_traits::FromPrimitive;

use crate::exception::Exception;

/// Most limbs (64 bits each) that an integer may have: OTP's limit on 64-bit machines.
pub const MAX_LIMBS: u64 = (1 << 19) - 1;
/// Most bits of an integer's magnitude.
pub const MAX_BITS: u64 = MAX_LIMBS * 64;

/// A number taken out of its term.
pub(crate) enum Number {
    /// An integer of at most two limbs.
    Word(i128),
    /// A larger integer.
    Big(BigInt),
    /// A float.
    Float(f64),
}

/// An integer of at most two limbs that fits 128 bits with sign.
#[inline]
pub(crate) fn word_of(term: Term) -> Option<i128> {
    if let Some(value) = term.as_small() {
        return Some(value.into());
    }
    let big = term.as_big()?;
    let magnitude = match *big.limbs {
        [low] => u128::from(low),
        [low, high] => u128::from(high) << 64 | u128::from(low),
        _ => return None,
    };
    if big.negative { 0i128.checked_sub_unsigned(magnitude) } else { i128::try_from(magnitude).ok() }
}

impl Number {
    /// The number that the term is, if it is one.
    pub(crate) fn of(term: Term) -> Option<Number> {
        if let Some(value) = word_of(term) {
            return Some(Number::Word(value));
        }
        match term.as_float() {
            Some(value) => Some(Number::Float(value)),
            None => term.as_big().map(|big| Number::Big(big.to_bigint())),
        }
    }

    /// The integer as the arithmetic library's type; `None` if this is a float.
    pub(crate) fn into_bigint(self) -> Option<BigInt> {
        match self {
            Number::Word(value) => Some(value.into()),
            Number::Big(value) => Some(value),
            Number::Float(_) => None,
        }
    }
}

/// The float nearest to a number, `None` if the term is no number or the float would not be finite.
///
/// Integers of more than two limbs are rounded once a limb from the top, as OTP does.
pub fn to_float(term: Term) -> Option<f64> {
    match term.view() {
        View::Small(value) => Some(value as f64),
        View::Float(value) => Some(value),
        View::Big(big) => {
            const LIMB: f64 = (1u128 << 64) as f64;
            let magnitude = big.limbs.iter().rev().fold(0.0, |sum, limb| sum * LIMB + *limb as f64);
            magnitude.is_finite().then_some(if big.negative { -magnitude } else { magnitude })
        }
        _ => None,
    }
}

/// The term of an integer of at most two limbs.
#[inline]
pub(crate) fn integer128<H: Allocate + ?Sized>(heap: &mut H, value: i128) -> Term {
    match i64::try_from(value).ok().and_then(Term::try_small) {
        Some(small) => small,
        None => {
            let magnitude = value.unsigned_abs();
            heap.big_from_limbs(value < 0, &[magnitude as u64, (magnitude >> 64) as u64])
        }
    }
}

/// The term of an integer.
///
/// # Errors
/// `system_limit` if it is larger than OTP allows.
pub(crate) fn integer<H: Allocate + ?Sized>(heap: &mut H, value: &BigInt) -> Result<Term, Exception> {
    if value.bits() > MAX_BITS {
        return Err(Exception::system_limit());
    }
    Ok(heap.bigint(value))
}

/// The term of a float that arithmetic gave.
///
/// # Errors
/// `badarith` if it is not finite.
#[inline]
pub fn finite<H: Allocate + ?Sized>(heap: &mut H, value: f64) -> Result<Term, Exception> {
    if value.is_finite() { Ok(heap.float(value)) } else { Err(Exception::badarith()) }
}

/// The integer that a whole finite float is.
pub(crate) fn whole<H: Allocate + ?Sized>(heap: &mut H, value: f64) -> Term {
    const LIMIT: f64 = (1u64 << 62) as f64;
    if value.abs() < LIMIT {
        return heap.integer(value as i64);
    }
    match BigInt::from_f64(value) {
        Some(big) => heap.bigint(&big),
        None => Term::small(0),
    }
}
