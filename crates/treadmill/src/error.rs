//! What can go wrong, as values.

use std::fmt;

/// An allocation that could not be served within the heap limit, even after a whole collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfMemory {
    /// The words (of 8 bytes) that were asked for.
    pub words: usize,
    /// The heap's limit in bytes.
    pub limit: usize,
}

impl fmt::Display for OutOfMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no room for {} words in a heap limited to {} bytes", self.words, self.limit)
    }
}

impl std::error::Error for OutOfMemory {}

/// Why a heap could not be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HeapError {
    /// The settings contradict each other, or a number is out of its range; the text says which.
    Settings(&'static str),
    /// The operating system refused the address range (bytes asked for, error number).
    Reserve {
        /// Bytes of address space that were asked for.
        bytes: usize,
        /// The operating system's error number.
        errno: i32,
    },
}

impl fmt::Display for HeapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HeapError::Settings(text) => write!(f, "bad settings: {text}"),
            HeapError::Reserve { bytes, errno } => {
                write!(f, "cannot reserve {bytes} bytes of address space (error {errno})")
            }
        }
    }
}

impl std::error::Error for HeapError {}

/// A broken invariant that the verifier found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The invariant's identifier, as the module documentation of the collector numbers it.
    pub invariant: &'static str,
    /// Byte address at which it is broken.
    pub address: usize,
    /// What was found there.
    pub found: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {:#x}: {}", self.invariant, self.address, self.found)
    }
}

impl std::error::Error for Violation {}
