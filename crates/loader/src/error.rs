//! Why a file was refused.

use std::borrow::Cow;
use std::fmt;

/// A file that is not loaded, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadError {
    /// The chunk that is at fault; `"file"` for the container around the chunks.
    pub chunk: &'static str,
    /// Where in the chunk's data, in bytes; for problems that are found after decoding, the
    /// start of the instruction.
    pub offset: usize,
    /// What is wrong.
    pub problem: Cow<'static, str>,
}

impl LoadError {
    pub(crate) fn new(chunk: &'static str, offset: usize, problem: impl Into<Cow<'static, str>>) -> Self {
        LoadError { chunk, offset, problem: problem.into() }
    }
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}: {}", self.chunk, self.offset, self.problem)
    }
}

impl std::error::Error for LoadError {}

/// Result of loading.
pub type Result<T> = std::result::Result<T, LoadError>;
