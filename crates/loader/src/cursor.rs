//! Reading forward through the bytes of one chunk.

use std::borrow::Cow;

use crate::error::{LoadError, Result};

/// A position in a chunk's data. Every read checks the end.
#[derive(Clone)]
pub(crate) struct Cursor<'a> {
    data: &'a [u8],
    position: usize,
    chunk: &'static str,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(chunk: &'static str, data: &'a [u8]) -> Self {
        Cursor { data, position: 0, chunk }
    }

    pub(crate) fn position(&self) -> usize {
        self.position
    }

    pub(crate) fn remaining(&self) -> usize {
        self.data.len() - self.position
    }

    pub(crate) fn error(&self, problem: impl Into<Cow<'static, str>>) -> LoadError {
        LoadError::new(self.chunk, self.position, problem)
    }

    pub(crate) fn bytes(&mut self, count: usize) -> Result<&'a [u8]> {
        if count > self.remaining() {
            return Err(self.error(format!("{count} bytes are wanted and {} are left", self.remaining())));
        }
        let bytes = &self.data[self.position..self.position + count];
        self.position += count;
        Ok(bytes)
    }

    pub(crate) fn byte(&mut self) -> Result<u8> {
        Ok(self.bytes(1)?[0])
    }

    pub(crate) fn u16(&mut self) -> Result<u16> {
        let bytes = self.bytes(2)?;
        Ok(u16::from_be_bytes([bytes[0], bytes[1]]))
    }

    pub(crate) fn u32(&mut self) -> Result<u32> {
        let bytes = self.bytes(4)?;
        Ok(u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }

    /// A count of things that take at least `size` bytes each, so that a count which the chunk
    /// cannot hold is refused before room is made for it.
    pub(crate) fn count(&mut self, size: usize) -> Result<usize> {
        let count = self.u32()? as usize;
        self.fits(count, size)?;
        Ok(count)
    }

    /// Checks that `count` things of at least `size` bytes each can follow.
    pub(crate) fn fits(&self, count: usize, size: usize) -> Result<()> {
        if count > self.remaining() / size {
            return Err(self.error(format!("{count} entries are announced and {} bytes are left", self.remaining())));
        }
        Ok(())
    }
}
