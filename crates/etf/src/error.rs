//! What is wrong with bytes.

/// Why bytes could not be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecodeError {
    /// The bytes are no term.
    Malformed,
    /// The term would create an atom or mention a function that does not exist, which `safe` forbids.
    Unsafe,
    /// The atom table is full.
    TooManyAtoms,
}

impl std::fmt::Display for DecodeError {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(match self {
            DecodeError::Malformed => "the bytes are no term in the external format",
            DecodeError::Unsafe => "the term names an atom or function that does not exist yet",
            DecodeError::TooManyAtoms => "the atom table has reached its limit",
        })
    }
}

impl std::error::Error for DecodeError {}
