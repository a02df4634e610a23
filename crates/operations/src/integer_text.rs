//! Integers as text and back, in bases from 2 to 36.

use atoll_term::{Build, Term};
use num_bigint::BigInt;

/// An integer read from text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Integer {
    /// It fits 64 bits with sign.
    Word(i64),
    /// Any other.
    Large(BigInt),
}

impl Integer {
    /// The integer as a term.
    pub fn to_term(&self, heap: &mut (impl Build + ?Sized)) -> Term {
        match self {
            Integer::Word(value) => heap.integer(*value),
            Integer::Large(value) => heap.bigint(value),
        }
    }
}

/// Whether a base can be written with digits and letters.
pub const fn is_base(base: u32) -> bool {
    base >= 2 && base <= 36
}

const DIGITS: &[u8; 36] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
/// Binary digits of a word, and a sign.
const WORD_TEXT: usize = 65;

/// The text of an integer in base 10, in place.
#[derive(Clone, Copy, Debug)]
pub struct Decimal {
    text: [u8; MOST_DIGITS],
    start: usize,
}

/// Digits of a word in base 10, and a sign.
const MOST_DIGITS: usize = 20;

impl Decimal {
    /// The text of this integer.
    pub fn new(value: i64) -> Decimal {
        let mut text = [0; MOST_DIGITS];
        let (mut rest, mut start) = (value.unsigned_abs(), MOST_DIGITS);
        loop {
            start -= 1;
            text[start] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        if value < 0 {
            start -= 1;
            text[start] = b'-';
        }
        Decimal { text, start }
    }

    /// Its bytes, which are ASCII.
    pub fn bytes(&self) -> &[u8] {
        &self.text[self.start..]
    }
}

/// The text of an integer in a base from 2 to 36, letters in upper case. `None` for other bases.
pub fn integer_text(value: i64, base: u32) -> Option<String> {
    if base == 10 {
        return Some(value.to_string());
    }
    if !is_base(base) {
        return None;
    }
    let base = u64::from(base);
    let mut text = Vec::with_capacity(WORD_TEXT);
    let mut rest = value.unsigned_abs();
    loop {
        text.push(char::from(DIGITS[(rest % base) as usize]));
        rest /= base;
        if rest == 0 {
            break;
        }
    }
    if value < 0 {
        text.push('-');
    }
    Some(text.into_iter().rev().collect())
}

/// As [`integer_text`], for an integer of any size.
pub fn large_integer_text(value: &BigInt, base: u32) -> Option<String> {
    is_base(base).then(|| value.to_str_radix(base).to_ascii_uppercase())
}

/// The text of an integer term of any size; `None` for other terms and bases.
pub fn integer_term_text(term: Term, base: u32) -> Option<String> {
    match term.to_i64() {
        Some(value) => integer_text(value, base),
        None => large_integer_text(&term.to_bigint()?, base),
    }
}

/// The integer that the whole text is, as `list_to_integer/2` reads it: perhaps one sign, then digits. `None` for
/// any other text, and if the base is not one from 2 to 36.
pub fn integer_from_text(text: &[u8], base: u32) -> Option<Integer> {
    integer_prefix(text, base).filter(|(_, length)| *length == text.len()).map(|(value, _)| value)
}

/// The decimal digits at the start of the text, if there are some and they fit a word whatever they are: their value,
/// and how many there are.
fn short_decimal(text: &[u8]) -> Option<(i64, usize)> {
    const MOST: usize = 18;
    let mut value = 0;
    for (count, byte) in text.iter().enumerate() {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return (count > 0).then_some((value, count));
        }
        if count == MOST {
            return None;
        }
        value = value * 10 + i64::from(digit);
    }
    (!text.is_empty()).then_some((value, text.len()))
}

/// As [`integer_from_text`] in base 10, of what fits a word whatever its digits are; `None` may also be because it is
/// longer.
pub fn short_integer(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    };
    let (value, _) = short_decimal(digits).filter(|(_, length)| *length == digits.len())?;
    Some(if negative { -value } else { value })
}

/// The longest integer at the start of the text, and its length in bytes, as `string:to_integer/1` reads it.
pub fn integer_prefix(text: &[u8], base: u32) -> Option<(Integer, usize)> {
    if !is_base(base) {
        return None;
    }
    let (negative, start) = match text.first()? {
        b'-' => (true, 1),
        b'+' => (false, 1),
        _ => (false, 0),
    };
    let digits = &text[start..];
    if base == 10
        && let Some((value, length)) = short_decimal(digits)
    {
        return Some((Integer::Word(if negative { -value } else { value }), start + length));
    }
    let length = digits.iter().take_while(|byte| char::from(**byte).is_digit(base)).count();
    if length == 0 {
        return None;
    }
    let word = digits[..length].iter().try_fold(0i64, |value, byte| {
        let digit = i64::from(char::from(*byte).to_digit(base)?);
        let shifted = value.checked_mul(i64::from(base))?;
        if negative { shifted.checked_sub(digit) } else { shifted.checked_add(digit) }
    });
    let value = match word {
        Some(value) => Integer::Word(value),
        None => {
            let magnitude = BigInt::parse_bytes(&digits[..length], base)?;
            Integer::Large(if negative { -magnitude } else { magnitude })
        }
    };
    Some((value, start + length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_in_every_base() {
        let large: BigInt = "-12345678901234567890123".parse().unwrap();
        for base in 2..=36 {
            let limit = 999_999_999_999_999_999;
            for value in [0, 1, -1, 35, -36, i64::MAX, i64::MIN, 1 << 59, limit, limit + 1, -limit, -limit - 1] {
                let text = integer_text(value, base).unwrap();
                assert!(base != 10 || Decimal::new(value).bytes() == text.as_bytes());
                assert_eq!(text, large_integer_text(&value.into(), base).unwrap());
                assert_eq!(integer_from_text(text.as_bytes(), base), Some(Integer::Word(value)));
                let is_short = base == 10 && value.unsigned_abs() <= limit as u64;
                assert!(!is_short || short_integer(text.as_bytes()) == Some(value), "{text}");
            }
            let text = large_integer_text(&large, base).unwrap();
            assert_eq!(integer_from_text(text.as_bytes(), base), Some(Integer::Large(large.clone())));
        }
        assert_eq!(large_integer_text(&large, 36).unwrap(), "-20DGOHX2W7BEK7F");
        assert_eq!(integer_text(1, 37), None);
    }

    #[test]
    fn text_that_is_no_integer() {
        for text in ["", "+", "-", "--1", "+-1", " 1", "1 ", "1_000", "0x10", "1.0", "\u{661}"] {
            assert_eq!(integer_from_text(text.as_bytes(), 10), None, "{text}");
            assert_eq!(short_integer(text.as_bytes()), None, "{text}");
        }
        assert_eq!(integer_from_text(b"9", 8), None);
        assert_eq!(integer_from_text(b"1", 1), None);
        assert_eq!(integer_from_text(b"+zZ", 36), Some(Integer::Word(1295)));
        assert_eq!(integer_prefix(b"-12abc", 10), Some((Integer::Word(-12), 3)));
        let first_large = integer_from_text(b"9223372036854775808", 10);
        assert_eq!(first_large, Some(Integer::Large(BigInt::from(i64::MAX) + 1)));
    }
}
