//! Memory for generated code: written first, executable afterwards, never both at once.

use std::ptr::NonNull;

use atoll_platform::executable::Executable;

/// A block of code that can run. It is given back when it is dropped.
#[derive(Debug)]
pub struct Block {
    memory: Executable,
}

impl Block {
    /// A block with a copy of this code, which does not depend on its address. `None`: the system gives no such memory.
    pub fn new(code: &[u8]) -> Option<Block> {
        Some(Block { memory: Executable::new(code.len(), |room| room.copy_from_slice(code))? })
    }

    /// Its first byte.
    pub fn start(&self) -> NonNull<u8> {
        self.memory.start()
    }

    /// Its bytes, up to the end of its pages.
    pub fn bytes(&self) -> &[u8] {
        self.memory.bytes()
    }

    /// Bytes of its pages.
    pub fn size(&self) -> usize {
        self.memory.size()
    }
}
