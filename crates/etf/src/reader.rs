//! A cursor over bytes that refuses to run past their end.

use atoll_term::HEAP_BINARY_LIMIT;

use crate::error::DecodeError;
use crate::tags;

/// Unread bytes.
pub struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader { rest: bytes }
    }

    /// How many bytes are unread.
    pub fn remaining(&self) -> usize {
        self.rest.len()
    }

    #[inline]
    pub fn bytes(&mut self, count: usize) -> Result<&'a [u8], DecodeError> {
        let (bytes, rest) = self.rest.split_at_checked(count).ok_or(DecodeError::Malformed)?;
        self.rest = rest;
        Ok(bytes)
    }

    #[inline]
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let (bytes, rest) = self.rest.split_first_chunk::<N>().ok_or(DecodeError::Malformed)?;
        self.rest = rest;
        Ok(*bytes)
    }

    #[inline]
    pub fn u8(&mut self) -> Result<u8, DecodeError> {
        self.array::<1>().map(|[byte]| byte)
    }

    #[inline]
    pub fn u16(&mut self) -> Result<u16, DecodeError> {
        self.array().map(u16::from_be_bytes)
    }

    #[inline]
    pub fn u32(&mut self) -> Result<u32, DecodeError> {
        self.array().map(u32::from_be_bytes)
    }

    #[inline]
    pub fn u64(&mut self) -> Result<u64, DecodeError> {
        self.array().map(u64::from_be_bytes)
    }

    /// The value of a small integer with its tag, if that is what comes next as a whole.
    #[inline]
    pub fn small_integer(&mut self) -> Option<i64> {
        let (value, rest) = match *self.rest {
            [tags::SMALL_INTEGER, byte, ref rest @ ..] => (i64::from(byte), rest),
            [tags::INTEGER, a, b, c, d, ref rest @ ..] => (i64::from(i32::from_be_bytes([a, b, c, d])), rest),
            _ => return None,
        };
        self.rest = rest;
        Some(value)
    }

    /// The bytes of a binary that is kept on the heap, with its tag, if that is what comes next as a whole.
    #[inline]
    pub fn short_binary(&mut self) -> Option<&'a [u8]> {
        let [tags::BINARY, 0, 0, 0, length, ref rest @ ..] = *self.rest else { return None };
        let length = usize::from(length);
        if length > HEAP_BINARY_LIMIT {
            return None;
        }
        let (bytes, rest) = rest.split_at_checked(length)?;
        self.rest = rest;
        Some(bytes)
    }

    /// A 32-bit count of things that take at least one byte each, `extra` more of them included in the check.
    pub fn count(&mut self, extra: usize) -> Result<usize, DecodeError> {
        let count = self.u32()? as usize;
        if count.saturating_add(extra) > self.remaining() { Err(DecodeError::Malformed) } else { Ok(count) }
    }
}
