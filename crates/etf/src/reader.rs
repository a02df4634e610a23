//! A cursor over bytes that refuses to run past their end.

use crate::error::DecodeError;

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

    pub fn bytes(&mut self, count: usize) -> Result<&'a [u8], DecodeError> {
        let (bytes, rest) = self.rest.split_at_checked(count).ok_or(DecodeError::Malformed)?;
        self.rest = rest;
        Ok(bytes)
    }

    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let (bytes, rest) = self.rest.split_first_chunk::<N>().ok_or(DecodeError::Malformed)?;
        self.rest = rest;
        Ok(*bytes)
    }

    pub fn u8(&mut self) -> Result<u8, DecodeError> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub fn u16(&mut self) -> Result<u16, DecodeError> {
        self.array().map(u16::from_be_bytes)
    }

    pub fn u32(&mut self) -> Result<u32, DecodeError> {
        self.array().map(u32::from_be_bytes)
    }

    pub fn u64(&mut self) -> Result<u64, DecodeError> {
        self.array().map(u64::from_be_bytes)
    }

    /// A 32-bit count of things that take at least one byte each, `extra` more of them included in the check.
    pub fn count(&mut self, extra: usize) -> Result<usize, DecodeError> {
        let count = self.u32()? as usize;
        if count.saturating_add(extra) > self.remaining() { Err(DecodeError::Malformed) } else { Ok(count) }
    }
}
