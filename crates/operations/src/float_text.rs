//! Floats as text and back, with the digits that OTP 25 chooses.

use std::fmt::{self, Write as _};

use arrayvec::ArrayString;

/// How to write a float: the options of `float_to_list/2`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FloatFormat {
    /// One digit, the point, this many digits, exponent. Without options it is 20.
    Scientific(u32),
    /// This many digits after the point, no exponent.
    Decimals {
        /// Digits after the point.
        digits: u32,
        /// Without the zeros at the end, except one behind the point.
        compact: bool,
    },
    /// The fewest digits that give the same float when read.
    Short,
}

impl FloatFormat {
    /// What `float_to_list/1` uses.
    pub const DEFAULT: FloatFormat = FloatFormat::Scientific(20);
}

/// Most digits of [`FloatFormat::Scientific`].
pub const MAX_SCIENTIFIC_DIGITS: u32 = 249;
/// Most digits of [`FloatFormat::Decimals`].
pub const MAX_DECIMALS: u32 = 253;
/// Longest text in bytes.
pub const MAX_TEXT: usize = 255;
/// With up to this many decimals, floats of up to [`EXACT_INTEGERS`] are rounded half up.
const MAX_FAST_DECIMALS: u32 = 18;
/// Every integer up to 2^53 is a float.
const EXACT_INTEGERS: f64 = 9_007_199_254_740_992.0;

/// Text of a float.
pub type FloatText = ArrayString<MAX_TEXT>;

/// Adds the text of a finite float.
///
/// # Errors
/// The format asks for too many digits, or the text is too long
pub fn float_text(text: &mut FloatText, value: f64, format: FloatFormat) -> fmt::Result {
    match format {
        FloatFormat::Scientific(digits) if digits <= MAX_SCIENTIFIC_DIGITS => scientific(text, value, digits as usize),
        // The limit is for the text with all its zeros.
        FloatFormat::Decimals { digits, compact } if digits <= MAX_DECIMALS => {
            decimals(text, value, digits)?;
            if compact && (text.contains('.') || value.abs() > EXACT_INTEGERS) {
                trim_zeros(text);
            }
            Ok(())
        }
        FloatFormat::Short => shortest(text, value),
        _ => Err(fmt::Error),
    }
}

/// As C's `%.*e`: the exponent has a sign and at least two digits.
fn scientific(text: &mut FloatText, value: f64, digits: usize) -> fmt::Result {
    write!(text, "{value:.digits$e}")?;
    let Some(end) = text.rfind('e') else { return Ok(()) };
    let (sign, from) = if text[end + 1..].starts_with('-') { ('-', end + 2) } else { ('+', end + 1) };
    let exponent: u32 = text[from..].parse().map_err(|_| fmt::Error)?;
    text.truncate(end + 1);
    write!(text, "{sign}{exponent:02}")
}

fn decimals(text: &mut FloatText, value: f64, digits: u32) -> fmt::Result {
    if digits > MAX_FAST_DECIMALS || value.abs() > EXACT_INTEGERS {
        return write!(text, "{value:.*}", digits as usize);
    }
    // The fraction is scaled as a float: that loses digits beyond the 16th, and OTP shows the same.
    let scale = 10u64.pow(digits);
    let mut whole = value.abs() as u64;
    let scaled = (value.abs() - whole as f64) * scale as f64;
    let mut rounded = scaled as u64;
    if scaled - rounded as f64 >= 0.5 {
        rounded += 1;
    }
    if rounded >= scale {
        rounded -= scale;
        whole += 1;
    }
    // To have them formatted takes three times as long.
    let mut last = [0; MAX_DIGITS];
    if value.is_sign_negative() {
        text.push('-');
    }
    text.push_str(digits_of(whole, 1, &mut last));
    if digits > 0 {
        text.push('.');
        text.push_str(digits_of(rounded, digits as usize, &mut last));
    }
    Ok(())
}

/// Most digits of an integer of 64 bits.
const MAX_DIGITS: usize = 20;

/// The digits of an integer, with zeros in front of it where it has fewer than `least`.
fn digits_of(mut value: u64, least: usize, room: &mut [u8; MAX_DIGITS]) -> &str {
    let mut at = room.len();
    while value > 0 || room.len() - at < least {
        at -= 1;
        room[at] = b'0' + (value % 10) as u8;
        value /= 10;
    }
    std::str::from_utf8(&room[at..]).unwrap_or_default()
}

/// Drops zeros at the end, but not one that follows the point directly.
fn trim_zeros(text: &mut FloatText) {
    let kept = text.trim_end_matches('0').len();
    text.truncate(kept);
    if text.ends_with('.') {
        text.push('0');
    }
}

/// The shortest digits, without exponent where that is not longer.
fn shortest(text: &mut FloatText, value: f64) -> fmt::Result {
    if value.is_sign_negative() {
        text.push('-');
    }
    if value == 0.0 {
        return text.write_str("0.0");
    }
    let mut room = [0; MAX_DIGITS];
    let (digits, place) = shortest_digits(value.abs(), &mut room);
    let count = digits.len() as i32;
    let exponent = place - 1;
    let point_in_exponent_form = if count == 1 { 2 } else { 1 };
    let exponent_length = i32::from(exponent < 0) + exponent.unsigned_abs().checked_ilog10().unwrap_or(0) as i32 + 1;
    let exponent_cost = exponent_length + 1 + point_in_exponent_form;
    if place <= 0 {
        if 2 - place <= exponent_cost {
            text.push_str("0.");
            zeros(text, -place);
            return text.write_str(digits);
        }
    } else if place >= count {
        if place - count + 2 <= exponent_cost && value.abs() < EXACT_INTEGERS {
            text.push_str(digits);
            zeros(text, place - count);
            return text.write_str(".0");
        }
    } else {
        let (whole, fraction) = digits.split_at(place as usize);
        text.push_str(whole);
        text.push('.');
        return text.write_str(fraction);
    }
    let (first, rest) = digits.split_at(1);
    text.push_str(first);
    text.push('.');
    text.push_str(if rest.is_empty() { "0" } else { rest });
    write!(text, "e{exponent}")
}

fn zeros(text: &mut FloatText, count: i32) {
    for _ in 0..count {
        text.push('0');
    }
}

/// The shortest digits of a positive float, neither first nor last of them zero, and where the point stands
/// counted from the first.
fn shortest_digits(value: f64, room: &mut [u8; MAX_DIGITS]) -> (&str, i32) {
    let mut buffer = zmij::Buffer::new();
    let text = buffer.format_finite(value).as_bytes();
    let mantissa = text.iter().position(|byte| *byte == b'e').unwrap_or(text.len());
    let exponent = text.get(mantissa + 1..).and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok());
    let (mut count, mut place, mut is_fraction) = (0, exponent.unwrap_or(0), false);
    for byte in &text[..mantissa] {
        let is_digit = byte.is_ascii_digit();
        is_fraction |= !is_digit;
        if is_digit && count + usize::from(*byte - b'0') > 0 && count < MAX_DIGITS {
            room[count] = *byte;
            count += 1;
        }
        // Zeros in front of the first digit, and digits in front of the point.
        place += i32::from(is_digit && !is_fraction && count > 0) - i32::from(is_digit && is_fraction && count == 0);
    }
    while count > 0 && room[count - 1] == b'0' {
        count -= 1;
    }
    (std::str::from_utf8(&room[..count]).unwrap_or_default(), place)
}

/// The float that the whole text is, as `list_to_float/1` reads it: digits on both sides of the point (a comma
/// will do), then perhaps an exponent. `None` for any other text and for numbers beyond the largest float.
pub fn float_from_text(text: &[u8]) -> Option<f64> {
    float_prefix(text).filter(|(_, length)| *length == text.len()).map(|(value, _)| value)
}

/// The longest float at the start of the text, and its length in bytes, as `string:to_float/1` reads it.
pub fn float_prefix(text: &[u8]) -> Option<(f64, usize)> {
    let digits = |from: usize| text[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let sign = |at: usize| usize::from(matches!(text.get(at), Some(b'+' | b'-')));
    let start = sign(0);
    let point = start + digits(start);
    if point == start || !matches!(text.get(point), Some(b'.' | b',')) {
        return None;
    }
    let mut end = point + 1 + digits(point + 1);
    if end == point + 1 {
        return None;
    }
    if matches!(text.get(end), Some(b'e' | b'E')) {
        let exponent = end + 1 + sign(end + 1);
        let length = digits(exponent);
        if length > 0 {
            end = exponent + length;
        }
    }
    let number = std::str::from_utf8(&text[..end]).ok()?.replace(',', ".");
    number.parse().ok().filter(|value: &f64| value.is_finite()).map(|value| (value, end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats() {
        let text = |value, format| {
            let mut text = FloatText::new();
            float_text(&mut text, value, format).map(|()| text)
        };
        assert_eq!(&*text(1.5e100, FloatFormat::DEFAULT).unwrap(), "1.49999999999999992672e+100");
        assert_eq!(&*text(-2.5, FloatFormat::Scientific(0)).unwrap(), "-2e+00");
        assert_eq!(&*text(0.125, FloatFormat::Decimals { digits: 2, compact: false }).unwrap(), "0.13");
        assert_eq!(&*text(99.99, FloatFormat::Decimals { digits: 1, compact: true }).unwrap(), "100.0");
        assert_eq!(&*text(1e-30, FloatFormat::Decimals { digits: 18, compact: true }).unwrap(), "0.0");
        assert_eq!(text(1e300, FloatFormat::Decimals { digits: 253, compact: true }), Err(fmt::Error));
        assert_eq!(text(1.0, FloatFormat::Scientific(250)), Err(fmt::Error));
        for (value, short) in [
            (0.1, "0.1"),
            (1e-5, "1.0e-5"),
            (0.0001, "0.0001"),
            (100.0, "100.0"),
            (1e5, "1.0e5"),
            (1.23e5, "1.23e5"),
            (-1.2345e20, "-1.2345e20"),
            (9_007_199_254_740_991.0, "9007199254740991.0"),
            (9_007_199_254_740_992.0, "9.007199254740992e15"),
            (5e-324, "5.0e-324"),
            (-0.0, "-0.0"),
        ] {
            assert_eq!(&*text(value, FloatFormat::Short).unwrap(), short);
        }
    }

    #[test]
    fn reading() {
        for good in ["1.5", "+1.5", "15.0e-1", "1,5", "0.15E+1"] {
            assert_eq!(float_from_text(good.as_bytes()), Some(1.5), "{good}");
        }
        for bad in ["", "1", "1.", ".5", " 1.5", "1.5 ", "1.5e", "1.5e+", "1_0.5", "1.0e400", "inf", "nan", "1.5\u{e9}"]
        {
            assert_eq!(float_from_text(bad.as_bytes()), None, "{bad}");
        }
        assert_eq!(float_from_text(b"1.0e-400"), Some(0.0));
        assert_eq!(float_prefix(b"1.5e+x"), Some((1.5, 3)));
        assert_eq!(float_prefix(b"1.5e5e5"), Some((1.5e5, 5)));
        assert_eq!(float_prefix(b"x"), None);
    }
}
