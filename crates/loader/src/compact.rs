//! The compact term encoding of operands, line items and (from OTP 28) atom lengths.
//!
//! The low three bits of the first byte are the tag. Values below 16 follow in the same byte,
//! values below 2,048 take one byte more, the rest is a big-endian two's complement number behind
//! its length. Tag 7 is extended: lists, floating-point registers, allocation lists, literals and
//! registers with a type hint.

use crate::cursor::Cursor;
use crate::error::Result;

pub(crate) const TAG_UNSIGNED: u8 = 0;
pub(crate) const TAG_INTEGER: u8 = 1;
pub(crate) const TAG_ATOM: u8 = 2;
pub(crate) const TAG_X: u8 = 3;
pub(crate) const TAG_Y: u8 = 4;
pub(crate) const TAG_LABEL: u8 = 5;
pub(crate) const TAG_EXTENDED: u8 = 7;

pub(crate) const EXTENDED_FLOAT: u64 = 0;
pub(crate) const EXTENDED_LIST: u64 = 1;
pub(crate) const EXTENDED_FLOAT_REGISTER: u64 = 2;
pub(crate) const EXTENDED_ALLOCATION: u64 = 3;
pub(crate) const EXTENDED_LITERAL: u64 = 4;
pub(crate) const EXTENDED_TYPED_REGISTER: u64 = 5;

/// The number in a compact term.
pub(crate) enum Value<'a> {
    /// Below 2,048.
    Short(u64),
    /// Two's complement, big-endian, at least two bytes.
    Long(&'a [u8]),
}

impl Value<'_> {
    /// The value as an unsigned number, if it is one of at most 64 bits.
    pub(crate) fn unsigned(&self) -> Option<u64> {
        match self {
            Value::Short(value) => Some(*value),
            Value::Long(bytes) => {
                if bytes[0] & 0x80 != 0 {
                    return None;
                }
                let start = bytes.iter().position(|&byte| byte != 0).unwrap_or(bytes.len());
                let digits = &bytes[start..];
                (digits.len() <= 8).then(|| digits.iter().fold(0, |value, &byte| value << 8 | u64::from(byte)))
            }
        }
    }

    /// The value as a signed number, if 64 bits hold it.
    pub(crate) fn signed(&self) -> Option<i64> {
        match self {
            Value::Short(value) => i64::try_from(*value).ok(),
            Value::Long(bytes) => {
                let sign = if bytes[0] & 0x80 != 0 { 0xff } else { 0 };
                let start = bytes.iter().position(|&byte| byte != sign).unwrap_or(bytes.len());
                let digits = &bytes[start..];
                let fill: i64 = if sign == 0 { 0 } else { -1 };
                let value = digits.iter().take(8).fold(fill, |value, &byte| value << 8 | i64::from(byte));
                (digits.len() <= 8 && (value < 0) == (sign != 0)).then_some(value)
            }
        }
    }
}

/// Reads one tag and its number.
pub(crate) fn read<'a>(cursor: &mut Cursor<'a>) -> Result<(u8, Value<'a>)> {
    let first = cursor.byte()?;
    let tag = first & 7;
    if first & 0x08 == 0 {
        return Ok((tag, Value::Short(u64::from(first >> 4))));
    }
    if first & 0x10 == 0 {
        let next = cursor.byte()?;
        return Ok((tag, Value::Short(u64::from(first & 0xe0) << 3 | u64::from(next))));
    }
    let length = match first >> 5 {
        7 => {
            let more = read_length(cursor)?;
            usize::try_from(more)
                .ok()
                .and_then(|more| more.checked_add(9))
                .ok_or_else(|| cursor.error("the length of a number is too large"))?
        }
        short => usize::from(short) + 2,
    };
    Ok((tag, Value::Long(cursor.bytes(length)?)))
}

/// A length inside of a compact term: itself compact and unsigned, but never long, so that reading
/// does not recurse.
fn read_length(cursor: &mut Cursor<'_>) -> Result<u64> {
    let first = cursor.byte()?;
    if first & 7 != TAG_UNSIGNED {
        return Err(cursor.error("the length of a number is not an unsigned number"));
    }
    match first & 0x18 {
        0x08 => Ok(u64::from(first & 0xe0) << 3 | u64::from(cursor.byte()?)),
        0x18 => {
            let bytes = cursor.bytes(usize::from(first >> 5) + 2)?;
            Value::Long(bytes).unsigned().ok_or_else(|| cursor.error("the length of a number is too large"))
        }
        _ => Ok(u64::from(first >> 4)),
    }
}

/// Reads an unsigned number.
pub(crate) fn read_unsigned(cursor: &mut Cursor<'_>) -> Result<u64> {
    match read(cursor)? {
        (TAG_UNSIGNED, value) => {
            value.unsigned().ok_or_else(|| cursor.error("an unsigned number is negative or above 64 bits"))
        }
        (tag, _) => Err(cursor.error(format!("an unsigned number is wanted, the tag is {tag}"))),
    }
}

/// An integer in the external term format, with the leading version byte.
pub(crate) fn external_integer(bytes: &[u8]) -> Box<[u8]> {
    let negative = bytes.first().is_some_and(|byte| byte & 0x80 != 0);
    let mut magnitude: Vec<u8> = bytes.iter().rev().copied().collect();
    if negative {
        let mut carry = true;
        for byte in &mut magnitude {
            let (digit, overflow) = (!*byte).overflowing_add(u8::from(carry));
            *byte = digit;
            carry = overflow;
        }
    }
    while magnitude.last() == Some(&0) {
        magnitude.pop();
    }
    let mut term = vec![131];
    match u8::try_from(magnitude.len()) {
        Ok(length) => term.extend([110, length]),
        Err(_) => {
            term.push(111);
            term.extend((magnitude.len() as u32).to_be_bytes());
        }
    }
    term.push(u8::from(negative));
    term.extend(magnitude);
    term.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(bytes: &[u8]) -> (u8, Option<u64>, Option<i64>) {
        let mut cursor = Cursor::new("Code", bytes);
        let (tag, value) = read(&mut cursor).expect("well-formed");
        assert_eq!(cursor.remaining(), 0);
        (tag, value.unsigned(), value.signed())
    }

    #[test]
    fn numbers_of_every_length() {
        assert_eq!(value(&[0xf1]), (TAG_INTEGER, Some(15), Some(15)));
        assert_eq!(value(&[0x09, 0x10]), (TAG_INTEGER, Some(16), Some(16)));
        assert_eq!(value(&[0xe8, 0xff]), (TAG_UNSIGNED, Some(2047), Some(2047)));
        assert_eq!(value(&[0x18, 0x08, 0x00]), (TAG_UNSIGNED, Some(2048), Some(2048)));
        assert_eq!(value(&[0x19, 0xff, 0xff]), (TAG_INTEGER, None, Some(-1)));
        assert_eq!(value(&[0xd9, 0x80, 0, 0, 0, 0, 0, 0, 0]), (TAG_INTEGER, None, Some(i64::MIN)));
        let nine = [0xf8, 0x00, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff];
        assert_eq!(value(&nine), (TAG_UNSIGNED, Some(u64::MAX), None));
    }

    #[test]
    fn integers_in_external_format() {
        assert_eq!(*external_integer(&[1, 0]), [131, 110, 2, 0, 0, 1]);
        assert_eq!(*external_integer(&[0xff, 0]), [131, 110, 2, 1, 0, 1]);
        assert_eq!(*external_integer(&[0, 0x80]), [131, 110, 1, 0, 0x80]);
        let long = external_integer(&[0x7f; 300]);
        assert_eq!(long[..6], [131, 111, 0, 0, 1, 44]);
        assert_eq!(long.len(), 7 + 300);
    }
}
