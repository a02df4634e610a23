//! Arithmetic operators on terms. Small integers take a short path that can be inlined; everything else goes
//! through integers of 128 bits, then through the arithmetic library.

use atoll_term::{Allocate, Build, Term};
use num_bigint::BigInt;

use crate::exception::Exception;
use crate::number::{Number, finite, integer, integer128, to_float, whole, word_of};

/// Low bits of a word that are not part of a small integer's value.
const TAG: u64 = 0b1111;

/// One operator beyond integers of two limbs.
struct Operator {
    big: fn(BigInt, BigInt) -> BigInt,
    float: fn(f64, f64) -> f64,
}

/// Integers a little larger than the small ones are common: hashes and random numbers need 64 bits.
/// `word` is the operator for them.
#[cold]
#[inline(never)]
fn general<H: Allocate + ?Sized>(
    heap: &mut H,
    a: Term,
    b: Term,
    word: impl Fn(i128, i128) -> Option<i128>,
    operator: &Operator,
) -> Result<Term, Exception> {
    if let (Some(left), Some(right)) = (word_of(a), word_of(b))
        && let Some(value) = word(left, right)
    {
        return Ok(integer128(heap, value));
    }
    beyond_words(heap, a, b, operator)
}

#[cold]
#[inline(never)]
fn beyond_words<H: Allocate + ?Sized>(heap: &mut H, a: Term, b: Term, operator: &Operator) -> Result<Term, Exception> {
    let (Some(left), Some(right)) = (Number::of(a), Number::of(b)) else { return Err(Exception::badarith()) };
    match (left, right) {
        (Number::Float(_), _) | (_, Number::Float(_)) => {
            let (Some(left), Some(right)) = (to_float(a), to_float(b)) else { return Err(Exception::badarith()) };
            finite(heap, (operator.float)(left, right))
        }
        (left, right) => {
            let (Some(left), Some(right)) = (left.into_bigint(), right.into_bigint()) else {
                return Err(Exception::badarith());
            };
            integer(heap, &(operator.big)(left, right))
        }
    }
}

/// `A + B`
///
/// # Errors
/// `badarith`, `system_limit`
#[inline(always)]
pub fn add<H: Allocate + ?Sized>(heap: &mut H, a: Term, b: Term) -> Result<Term, Exception> {
    if Term::both_small(a, b)
        && let Some(sum) = ((a.word() & !TAG) as i64).checked_add(b.word() as i64)
    {
        return Ok(Term::small_of_bits(sum as u64));
    }
    general(heap, a, b, i128::checked_add, &Operator { big: |a, b| a + b, float: |a, b| a + b })
}

/// `A - B`
///
/// # Errors
/// `badarith`, `system_limit`
#[inline(always)]
pub fn subtract<H: Allocate + ?Sized>(heap: &mut H, a: Term, b: Term) -> Result<Term, Exception> {
    if Term::both_small(a, b)
        && let Some(difference) = (a.word() as i64).checked_sub((b.word() & !TAG) as i64)
    {
        return Ok(Term::small_of_bits(difference as u64));
    }
    general(heap, a, b, i128::checked_sub, &Operator { big: |a, b| a - b, float: |a, b| a - b })
}

/// `A * B`
///
/// # Errors
/// `badarith`, `system_limit`
#[inline(always)]
pub fn multiply<H: Allocate + ?Sized>(heap: &mut H, a: Term, b: Term) -> Result<Term, Exception> {
    if Term::both_small(a, b)
        && let Some(product) = ((a.word() & !TAG) as i64).checked_mul(b.small_value())
    {
        return Ok(Term::small_of_bits(product as u64));
    }
    multiply_general(heap, a, b)
}

fn product(a: i128, b: i128) -> Option<i128> {
    match (i64::try_from(a), i64::try_from(b)) {
        // One multiplication of the processor, which cannot overflow.
        (Ok(a), Ok(b)) => Some(i128::from(a) * i128::from(b)),
        _ => a.checked_mul(b),
    }
}

#[cold]
#[inline(never)]
fn multiply_general<H: Allocate + ?Sized>(heap: &mut H, a: Term, b: Term) -> Result<Term, Exception> {
    let limbs = |term: Term| term.as_big().map_or(0, |big| big.limbs.len() as u64);
    if limbs(a) + limbs(b) > crate::number::MAX_LIMBS + 1 {
        return Err(Exception::system_limit());
    }
    general(heap, a, b, product, &Operator { big: |a, b| a * b, float: |a, b| a * b })
}

/// `A / B`: always a float.
///
/// # Errors
/// `badarith`: no numbers, division by zero, or a value that no finite float holds
#[inline]
pub fn divide<H: Allocate + ?Sized>(heap: &mut H, a: Term, b: Term) -> Result<Term, Exception> {
    match (to_float(a), to_float(b)) {
        (Some(dividend), Some(divisor)) if divisor != 0.0 => finite(heap, dividend / divisor),
        _ => Err(Exception::badarith()),
    }
}

/// `A div B`
///
/// # Errors
/// `badarith`: no integers, or division by zero
#[inline(always)]
pub fn integer_divide<H: Allocate + ?Sized>(heap: &mut H, a: Term, b: Term) -> Result<Term, Exception> {
    if Term::both_small(a, b) && b.small_value() != 0 {
        // Only the smallest integer divided by -1 does not fit.
        return Ok(heap.integer(a.small_value() / b.small_value()));
    }
    integers(heap, a, b, true, quotient, |a, b| a / b)
}

/// `A rem B`
///
/// # Errors
/// `badarith`: no integers, or division by zero
#[inline(always)]
pub fn remainder<H: Allocate + ?Sized>(heap: &mut H, a: Term, b: Term) -> Result<Term, Exception> {
    if Term::both_small(a, b) && b.small_value() != 0 {
        return Ok(Term::small(a.small_value() % b.small_value()));
    }
    integers(heap, a, b, true, rest, |a, b| a % b)
}

fn quotient(a: i128, b: i128) -> Option<i128> {
    match (i64::try_from(a), i64::try_from(b)) {
        (Ok(a), Ok(b)) => a.checked_div(b).map(i128::from).or_else(|| i128::from(a).checked_div(b.into())),
        _ => a.checked_div(b),
    }
}

fn rest(a: i128, b: i128) -> Option<i128> {
    match (i64::try_from(a), i64::try_from(b)) {
        (Ok(a), Ok(b)) => a.checked_rem(b).map(i128::from).or_else(|| i128::from(a).checked_rem(b.into())),
        _ => a.checked_rem(b),
    }
}

/// An operator that is defined for integers only; `nonzero`: the second must not be 0.
#[cold]
#[inline(never)]
fn integers<H: Allocate + ?Sized>(
    heap: &mut H,
    a: Term,
    b: Term,
    nonzero: bool,
    word: impl Fn(i128, i128) -> Option<i128>,
    big: fn(BigInt, BigInt) -> BigInt,
) -> Result<Term, Exception> {
    if !a.is_integer() || !b.is_integer() || nonzero && b == Term::small(0) {
        return Err(Exception::badarith());
    }
    general(heap, a, b, word, &Operator { big, float: |_, _| f64::NAN })
}

/// `A band B`
///
/// # Errors
/// `badarith`
#[inline(always)]
pub fn band<H: Allocate + ?Sized>(heap: &mut H, a: Term, b: Term) -> Result<Term, Exception> {
    if Term::both_small(a, b) {
        return Ok(Term::small_of_bits(a.word() & b.word()));
    }
    integers(heap, a, b, false, |a, b| Some(a & b), |a, b| a & b)
}

/// `A bor B`
///
/// # Errors
/// `badarith`
#[inline(always)]
pub fn bor<H: Allocate + ?Sized>(heap: &mut H, a: Term, b: Term) -> Result<Term, Exception> {
    if Term::both_small(a, b) {
        return Ok(Term::small_of_bits(a.word() | b.word()));
    }
    integers(heap, a, b, false, |a, b| Some(a | b), |a, b| a | b)
}

/// `A bxor B`
///
/// # Errors
/// `badarith`
#[inline(always)]
pub fn bxor<H: Allocate + ?Sized>(heap: &mut H, a: Term, b: Term) -> Result<Term, Exception> {
    if Term::both_small(a, b) {
        return Ok(Term::small_of_bits(a.word() ^ b.word()));
    }
    integers(heap, a, b, false, |a, b| Some(a ^ b), |a, b| a ^ b)
}

/// `bnot A`
///
/// # Errors
/// `badarith`, `system_limit`
#[inline]
pub fn bnot<H: Allocate + ?Sized>(heap: &mut H, a: Term) -> Result<Term, Exception> {
    match Number::of(a) {
        Some(Number::Word(value)) => Ok(integer128(heap, !value)),
        Some(Number::Big(value)) => integer(heap, &!value),
        _ => Err(Exception::badarith()),
    }
}

/// `A bsl B`: to the right if `B` is negative.
///
/// # Errors
/// `badarith`, `system_limit`
#[inline]
pub fn bsl<H: Allocate + ?Sized>(heap: &mut H, a: Term, b: Term) -> Result<Term, Exception> {
    if Term::both_small(a, b) {
        let (value, shift) = (a.small_value(), b.small_value());
        if (0..60).contains(&shift)
            && let Some(small) = Term::try_small(value << shift)
            && small.small_value() >> shift == value
        {
            return Ok(small);
        }
    }
    shift(heap, a, b, true)
}

/// `A bsr B`: to the left if `B` is negative.
///
/// # Errors
/// `badarith`, `system_limit`
#[inline]
pub fn bsr<H: Allocate + ?Sized>(heap: &mut H, a: Term, b: Term) -> Result<Term, Exception> {
    if Term::both_small(a, b) && b.small_value() >= 0 {
        return Ok(Term::small(a.small_value() >> b.small_value().min(63)));
    }
    shift(heap, a, b, false)
}

#[cold]
#[inline(never)]
fn shift<H: Allocate + ?Sized>(heap: &mut H, a: Term, b: Term, left: bool) -> Result<Term, Exception> {
    if let (Some(value), Some(distance)) = (word_of(a), b.as_small()) {
        let right = left == (distance < 0);
        let distance = distance.unsigned_abs();
        if right {
            return Ok(integer128(heap, value >> distance.min(127)));
        }
        // The sign takes a bit, and what is shifted out would be lost.
        let free = if value < 0 { value.leading_ones() } else { value.leading_zeros() };
        if distance < u64::from(free) {
            return Ok(integer128(heap, value << distance));
        }
    }
    let negative = |term: Term| match term.as_small() {
        Some(small) => small < 0,
        None => term.as_big().is_some_and(|big| big.negative),
    };
    let (Some(value), true) = (Number::of(a).and_then(Number::into_bigint), b.is_integer()) else {
        return Err(Exception::badarith());
    };
    let distance = b.to_i64().map(i64::unsigned_abs);
    if left == negative(b) {
        return match distance {
            Some(distance) if distance <= crate::number::MAX_BITS => Ok(heap.bigint(&(value >> distance))),
            _ => Ok(Term::small(if negative(a) { -1 } else { 0 })),
        };
    }
    match distance {
        _ if a == Term::small(0) => Ok(a),
        Some(distance) if distance <= crate::number::MAX_BITS - value.bits().min(crate::number::MAX_BITS) => {
            Ok(heap.bigint(&(value << distance)))
        }
        _ => Err(Exception::system_limit()),
    }
}

/// `-A`
///
/// # Errors
/// `badarith`
#[inline]
pub fn negate<H: Allocate + ?Sized>(heap: &mut H, a: Term) -> Result<Term, Exception> {
    match Number::of(a) {
        Some(Number::Word(value)) => match value.checked_neg() {
            Some(value) => Ok(integer128(heap, value)),
            None => integer(heap, &-BigInt::from(value)),
        },
        Some(Number::Big(value)) => integer(heap, &-value),
        Some(Number::Float(value)) => Ok(heap.float(-value)),
        None => Err(Exception::badarith()),
    }
}

/// `+A`
///
/// # Errors
/// `badarith`
#[inline]
pub fn plus(a: Term) -> Result<Term, Exception> {
    if a.is_integer() || a.is_float() { Ok(a) } else { Err(Exception::badarith()) }
}

/// `abs(A)`; that of -0.0 is -0.0, as in OTP 25.
///
/// # Errors
/// `badarg`
#[inline]
pub fn abs<H: Allocate + ?Sized>(heap: &mut H, a: Term) -> Result<Term, Exception> {
    let below_zero = match Number::of(a) {
        Some(Number::Word(value)) => value < 0,
        Some(Number::Big(value)) => value.sign() == num_bigint::Sign::Minus,
        Some(Number::Float(value)) => value < 0.0,
        None => return Err(Exception::badarg()),
    };
    if below_zero { negate(heap, a) } else { Ok(a) }
}

fn rounded<H: Allocate + ?Sized>(heap: &mut H, a: Term, how: fn(f64) -> f64) -> Result<Term, Exception> {
    match a.as_float() {
        Some(value) => Ok(whole(heap, how(value))),
        None if a.is_integer() => Ok(a),
        None => Err(Exception::badarg()),
    }
}

/// `round(A)`: halves away from zero.
///
/// # Errors
/// `badarg`
pub fn round<H: Allocate + ?Sized>(heap: &mut H, a: Term) -> Result<Term, Exception> {
    rounded(heap, a, f64::round)
}

/// `trunc(A)`
///
/// # Errors
/// `badarg`
pub fn trunc<H: Allocate + ?Sized>(heap: &mut H, a: Term) -> Result<Term, Exception> {
    rounded(heap, a, f64::trunc)
}

/// `floor(A)`
///
/// # Errors
/// `badarg`
pub fn floor<H: Allocate + ?Sized>(heap: &mut H, a: Term) -> Result<Term, Exception> {
    rounded(heap, a, f64::floor)
}

/// `ceil(A)`
///
/// # Errors
/// `badarg`
pub fn ceil<H: Allocate + ?Sized>(heap: &mut H, a: Term) -> Result<Term, Exception> {
    rounded(heap, a, f64::ceil)
}

/// `float(A)`
///
/// # Errors
/// `badarg`: no number, or no finite float is near it
pub fn float<H: Allocate + ?Sized>(heap: &mut H, a: Term) -> Result<Term, Exception> {
    match to_float(a) {
        Some(_) if a.is_float() => Ok(a),
        Some(value) => Ok(heap.float(value)),
        None => Err(Exception::badarg()),
    }
}

#[cfg(test)]
mod tests;
