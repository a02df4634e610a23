//! Hashes of terms: `erlang:phash2`, `erlang:phash`, and the hash that places keys in large maps.

mod internal;
mod legacy;
mod mix;
mod portable;

pub use internal::{SALT_IMMEDIATE, START, map_hash, map_hash_below};
pub use legacy::{phash, phash_unbounded};
pub use mix::ROUNDS;
pub use portable::{atom_hash, hash2, hash2_counted};

use crate::word::Term;

/// Bits of a portable hash that `erlang:phash2/1` gives.
pub const PHASH2_BITS: u32 = 27;

/// `erlang:phash2(Term)`: [`PHASH2_BITS`] bits.
pub fn phash2(term: Term) -> u32 {
    hash2(term) & ((1 << PHASH2_BITS) - 1)
}

/// `erlang:phash2(Term, Range)`: below `range`, which lies between 1 and 2^32 (0 counts as 2^32).
pub fn phash2_range(term: Term, range: u64) -> u32 {
    let hash = u64::from(hash2(term));
    hash.checked_rem(range).unwrap_or(hash) as u32
}
