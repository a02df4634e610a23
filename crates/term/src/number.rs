//! Integers against floats, by value and without rounding.

use std::cmp::Ordering;

use crate::view::{Big, View};

const MANTISSA_BITS: u32 = 52;
const EXPONENT_BIAS: i32 = 1075;
const LIMB_BITS: usize = 64;

/// Order of two integers of more than one word's small range.
pub(crate) fn compare_bigs(a: Big, b: Big) -> Ordering {
    let magnitudes = || a.limbs.len().cmp(&b.limbs.len()).then_with(|| a.limbs.iter().rev().cmp(b.limbs.iter().rev()));
    match (a.negative, b.negative) {
        (false, false) => magnitudes(),
        (true, true) => magnitudes().reverse(),
        (false, true) => Ordering::Greater,
        (true, false) => Ordering::Less,
    }
}

/// Order of two numbers by value; `None` if one of them is none.
pub(crate) fn compare_numbers(a: View, b: View) -> Option<Ordering> {
    Some(match (a, b) {
        (View::Small(a), View::Small(b)) => a.cmp(&b),
        (View::Small(_), View::Big(b)) => sign_order(b.negative).reverse(),
        (View::Big(a), View::Small(_)) => sign_order(a.negative),
        (View::Big(a), View::Big(b)) => compare_bigs(a, b),
        (View::Float(a), View::Float(b)) => a.partial_cmp(&b).unwrap_or(Ordering::Equal),
        (View::Small(a), View::Float(b)) => compare_with_float(a < 0, &[a.unsigned_abs()], b),
        (View::Float(a), View::Small(b)) => compare_with_float(b < 0, &[b.unsigned_abs()], a).reverse(),
        (View::Big(a), View::Float(b)) => compare_with_float(a.negative, a.limbs, b),
        (View::Float(a), View::Big(b)) => compare_with_float(b.negative, b.limbs, a).reverse(),
        _ => return None,
    })
}

fn sign_order(negative: bool) -> Ordering {
    if negative { Ordering::Less } else { Ordering::Greater }
}

fn compare_with_float(negative: bool, limbs: &[u64], float: f64) -> Ordering {
    let zero = limbs.iter().all(|limb| *limb == 0);
    if float == 0.0 {
        return if zero { Ordering::Equal } else { sign_order(negative) };
    }
    if zero || negative != (float < 0.0) {
        return sign_order(float > 0.0);
    }
    let magnitudes = compare_magnitudes(limbs, float.abs());
    if negative { magnitudes.reverse() } else { magnitudes }
}

/// Order of a positive integer and a positive float.
fn compare_magnitudes(limbs: &[u64], float: f64) -> Ordering {
    let bits = float.to_bits();
    let exponent = (bits >> MANTISSA_BITS) as i32 - EXPONENT_BIAS;
    if exponent + MANTISSA_BITS as i32 <= 0 && float < 1.0 {
        return Ordering::Greater;
    }
    let mantissa = bits & ((1 << MANTISSA_BITS) - 1) | 1 << MANTISSA_BITS;
    let integer_bits = limbs
        .iter()
        .rposition(|limb| *limb != 0)
        .map_or(0, |top| top * LIMB_BITS + (LIMB_BITS - limbs[top].leading_zeros() as usize));
    let float_bits = (exponent + MANTISSA_BITS as i32 + 1) as usize;
    if integer_bits != float_bits {
        return integer_bits.cmp(&float_bits);
    }
    // Both have the same highest bit: compare the words of the float's whole part, then its fraction.
    for index in (0..limbs.len()).rev() {
        let float_limb = limb_of(mantissa, exponent, index);
        if limbs[index] != float_limb {
            return limbs[index].cmp(&float_limb);
        }
    }
    let has_fraction = exponent < 0 && mantissa.trailing_zeros() < exponent.unsigned_abs();
    if has_fraction { Ordering::Less } else { Ordering::Equal }
}

/// Limb number `index` of the whole part of `mantissa * 2^exponent`.
fn limb_of(mantissa: u64, exponent: i32, index: usize) -> u64 {
    let shift = i64::from(exponent) - (index * LIMB_BITS) as i64;
    match shift {
        0..64 => mantissa << shift,
        -63..0 => mantissa >> -shift,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_stand_between_their_neighbours() {
        for (float, limbs) in [
            (1.0, vec![1u64]),
            (9_007_199_254_740_992.0, vec![1 << 53]),
            (18_446_744_073_709_551_616.0, vec![0, 1]),
            (2f64.powi(150), vec![0, 0, 1 << 22]),
        ] {
            let mut above = limbs.clone();
            above[0] += 1;
            let below: Vec<u64> = {
                let mut borrow = true;
                limbs
                    .iter()
                    .map(|limb| {
                        let (d, b) = limb.overflowing_sub(u64::from(borrow));
                        borrow = b;
                        d
                    })
                    .collect()
            };
            assert_eq!(compare_with_float(false, &limbs, float), Ordering::Equal);
            assert_eq!(compare_with_float(false, &above, float), Ordering::Greater);
            assert_eq!(compare_with_float(false, &below, float), Ordering::Less);
            assert_eq!(compare_with_float(true, &above, -float), Ordering::Less);
            assert_eq!(compare_with_float(true, &limbs, float), Ordering::Less);
        }
        assert_eq!(compare_with_float(false, &[1], 1.5), Ordering::Less);
        assert_eq!(compare_with_float(false, &[0], -0.0), Ordering::Equal);
        assert_eq!(compare_with_float(false, &[1], 5e-324), Ordering::Greater);
        assert_eq!(compare_with_float(false, &[u64::MAX; 16], f64::MAX), Ordering::Greater);
        assert_eq!(compare_with_float(false, &[0; 17], 0.5), Ordering::Less);
    }
}
