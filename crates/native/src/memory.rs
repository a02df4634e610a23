//! Memory for generated code: written first, executable afterwards, never both at once.

use std::ptr::NonNull;

use atoll_platform::executable::Executable;

/// Bytes that a processor's caches keep together.
const LINE: usize = 64;

/// A block of code that can run. It is given back when it is dropped.
#[derive(Debug)]
pub struct Block {
    memory: Executable,
    /// Where the code begins.
    offset: usize,
    length: usize,
}

impl Block {
    /// A block with a copy of this code, which does not depend on its address. `None`: the system gives no such memory.
    ///
    /// Pages of their own for each function would have all of them begin in the same few lines of a processor's cache.
    /// So the code begins in another line for each `number`, if its pages have room for that.
    pub fn new(code: &[u8], number: usize) -> Option<Block> {
        let page = atoll_platform::executable::page_size();
        let spare = code.len().next_multiple_of(page) - code.len();
        // A factor that has no divisor in common with what pages have of lines.
        let offset = number.wrapping_mul(11) % (spare / LINE + 1) * LINE;
        let memory = Executable::new(offset + code.len(), |room| room[offset..].copy_from_slice(code))?;
        Some(Block { memory, offset, length: code.len() })
    }

    /// Its first byte.
    pub fn start(&self) -> NonNull<u8> {
        // SAFETY: the code lies in the memory.
        unsafe { self.memory.start().add(self.offset) }
    }

    /// Whether an address lies in it.
    pub fn contains(&self, address: usize) -> bool {
        let first = self.start().addr().get();
        (first..first + self.length).contains(&address)
    }

    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.memory.bytes()[self.offset..self.offset + self.length]
    }

    /// Bytes of its pages.
    pub fn size(&self) -> usize {
        self.memory.size()
    }
}
