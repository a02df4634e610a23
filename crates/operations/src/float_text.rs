//! Floats as text and back, with the digits that OTP 25 chooses.

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
const MAX_TEXT: usize = 255;
/// With up to this many decimals, floats of up to [`EXACT_INTEGERS`] are rounded half up.
const MAX_FAST_DECIMALS: u32 = 18;
/// Every integer up to 2^53 is a float.
const EXACT_INTEGERS: f64 = 9_007_199_254_740_992.0;

/// The text of a finite float; `None` if the format asks for too many digits or the text would be too long.
pub fn float_text(value: f64, format: FloatFormat) -> Option<String> {
    match format {
        FloatFormat::Scientific(digits) => (digits <= MAX_SCIENTIFIC_DIGITS)
            .then(|| scientific(value, digits as usize))
            .filter(|text| text.len() <= MAX_TEXT),
        FloatFormat::Decimals { digits, compact } => {
            let mut text = (digits <= MAX_DECIMALS).then(|| decimals(value, digits))?;
            // The limit is for the text with all its zeros.
            if text.len() > MAX_TEXT {
                return None;
            }
            if compact && (text.contains('.') || value.abs() > EXACT_INTEGERS) {
                trim_zeros(&mut text);
            }
            Some(text)
        }
        FloatFormat::Short => Some(shortest(value)),
    }
}

/// As C's `%.*e`: the exponent has a sign and at least two digits.
fn scientific(value: f64, digits: usize) -> String {
    let text = format!("{value:.digits$e}");
    match text.split_once('e') {
        Some((mantissa, exponent)) => {
            let (sign, digits) = exponent.strip_prefix('-').map_or(('+', exponent), |digits| ('-', digits));
            format!("{mantissa}e{sign}{digits:0>2}")
        }
        None => text,
    }
}

fn decimals(value: f64, digits: u32) -> String {
    if digits > MAX_FAST_DECIMALS || value.abs() > EXACT_INTEGERS {
        return format!("{value:.*}", digits as usize);
    }
    // The fraction is scaled as a float: that loses digits beyond the 16th, and OTP shows the same.
    let scale = 10u64.pow(digits);
    let mut whole = value.abs().trunc() as u64;
    let mut rounded = (value.abs().fract() * scale as f64).round() as u64;
    if rounded >= scale {
        rounded -= scale;
        whole += 1;
    }
    // From the last digit to the first: to have them formatted takes three times as long.
    let mut text = [0; MAX_TEXT];
    let mut at = text.len();
    let mut put = |byte: u8| {
        at -= 1;
        text[at] = byte;
    };
    for _ in 0..digits {
        put(b'0' + (rounded % 10) as u8);
        rounded /= 10;
    }
    if digits > 0 {
        put(b'.');
    }
    loop {
        put(b'0' + (whole % 10) as u8);
        whole /= 10;
        if whole == 0 {
            break;
        }
    }
    if value.is_sign_negative() {
        put(b'-');
    }
    text[at..].iter().map(|byte| char::from(*byte)).collect()
}

/// Drops zeros at the end, but not one that follows the point directly.
fn trim_zeros(text: &mut String) {
    let kept = text.trim_end_matches('0').len();
    text.truncate(kept);
    if text.ends_with('.') {
        text.push('0');
    }
}

/// The shortest digits, without exponent where that is not longer.
fn shortest(value: f64) -> String {
    if value == 0.0 {
        return if value.is_sign_negative() { "-0.0".to_owned() } else { "0.0".to_owned() };
    }
    let sign = if value.is_sign_negative() { "-" } else { "" };
    let (digits, place) = shortest_digits(value.abs());
    let count = digits.len() as i32;
    let exponent = place - 1;
    let point_in_exponent_form = if count == 1 { 2 } else { 1 };
    let exponent_cost = exponent.to_string().len() as i32 + 1 + point_in_exponent_form;
    if place <= 0 {
        if 2 - place <= exponent_cost {
            return format!("{sign}0.{}{digits}", "0".repeat(place.unsigned_abs() as usize));
        }
    } else if place >= count {
        if place - count + 2 <= exponent_cost && value.abs() < EXACT_INTEGERS {
            return format!("{sign}{digits}{}.0", "0".repeat((place - count) as usize));
        }
    } else {
        let (whole, fraction) = digits.split_at(place as usize);
        return format!("{sign}{whole}.{fraction}");
    }
    let (first, rest) = digits.split_at(1);
    let rest = if rest.is_empty() { "0" } else { rest };
    format!("{sign}{first}.{rest}e{exponent}")
}

/// The shortest digits of a positive float, neither first nor last of them zero, and where the point stands
/// counted from the first.
fn shortest_digits(value: f64) -> (String, i32) {
    let mut buffer = ryu::Buffer::new();
    let text = buffer.format_finite(value);
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all = format!("{whole}{fraction}");
    let significant = all.trim_start_matches('0');
    let zeros = all.len() - significant.len();
    let place = whole.len() as i32 - zeros as i32 + exponent.parse::<i32>().unwrap_or(0);
    (significant.trim_end_matches('0').to_owned(), place)
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
        let text = |value, format| float_text(value, format).unwrap();
        assert_eq!(text(1.5e100, FloatFormat::DEFAULT), "1.49999999999999992672e+100");
        assert_eq!(text(-2.5, FloatFormat::Scientific(0)), "-2e+00");
        assert_eq!(text(0.125, FloatFormat::Decimals { digits: 2, compact: false }), "0.13");
        assert_eq!(text(99.99, FloatFormat::Decimals { digits: 1, compact: true }), "100.0");
        assert_eq!(text(1e-30, FloatFormat::Decimals { digits: 18, compact: true }), "0.0");
        assert_eq!(float_text(1e300, FloatFormat::Decimals { digits: 253, compact: true }), None);
        assert_eq!(float_text(1.0, FloatFormat::Scientific(250)), None);
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
            assert_eq!(text(value, FloatFormat::Short), short);
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
