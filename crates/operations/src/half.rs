//! Half-precision floats (IEEE 754 binary16).

/// The value of a half.
pub(crate) fn to_f64(half: u16) -> f64 {
    let sign = if half & 0x8000 == 0 { 1.0 } else { -1.0 };
    let (exponent, fraction) = (i32::from(half >> 10 & 0x1f), f64::from(half & 0x3ff));
    match exponent {
        0 => sign * fraction * 2f64.powi(-24),
        31 if fraction == 0.0 => sign * f64::INFINITY,
        31 => f64::NAN,
        _ => sign * (1024.0 + fraction) * 2f64.powi(exponent - 25),
    }
}

/// The nearest half, ties to even; values beyond the largest become infinite.
pub(crate) fn from_f64(value: f64) -> u16 {
    let sign = if value.is_sign_negative() { 0x8000 } else { 0 };
    let magnitude = value.abs();
    if magnitude.is_nan() {
        return sign | 0x7e00;
    }
    if magnitude >= 65520.0 {
        return sign | 0x7c00;
    }
    // The spacing of halves near the value; dividing by it is exact, so the one rounding is that to an integer.
    let exponent = ((magnitude.to_bits() >> 52) as i32 - 1023).max(-14);
    let steps = (magnitude / 2f64.powi(exponent - 10)).round_ties_even() as u16;
    // Steps of a normal number are 1024 to 2048; the carry of 2048 goes into the exponent by itself.
    sign | ((((exponent + 14) as u16) << 10) + steps)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_half_comes_back() {
        for half in 0..=u16::MAX {
            let value = to_f64(half);
            if !value.is_nan() {
                assert_eq!(from_f64(value), half);
            }
        }
    }

    #[test]
    fn rounding() {
        assert_eq!(from_f64(65519.99), 0x7bff);
        assert_eq!(from_f64(-65520.0), 0xfc00);
        assert_eq!(from_f64(1.0 + 1.0 / 2048.0), 0x3c00, "a tie goes to the even one");
        assert_eq!(from_f64(1.0 + 3.0 / 2048.0), 0x3c02);
        assert_eq!(from_f64(2f64.powi(-25)), 0);
        assert_eq!(from_f64(2f64.powi(-25) * 1.0001), 1);
    }
}
