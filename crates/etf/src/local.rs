//! The local form, since release 26: for the node that wrote it alone. A seal, which other nodes and later starts of
//! this one cannot make, stands in front of the ordinary form.

use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;

use atoll_term::Term;

use crate::encode::{EncodeError, EncodeOptions, encode};
use crate::tags;

/// Bytes of a seal.
pub const SEAL: usize = 4;

static KEY: LazyLock<RandomState> = LazyLock::new(RandomState::new);

fn seal(bytes: &[u8]) -> [u8; SEAL] {
    (KEY.hash_one(bytes) as u32).to_be_bytes()
}

/// The bytes of a term in the local form, version byte included; never compressed. `node` is this node's name and
/// creation.
///
/// # Errors
/// As [`encode`].
pub fn encode_local(term: Term, options: EncodeOptions, node: (Term, u32)) -> Result<Vec<u8>, EncodeError> {
    let plain = encode(term, EncodeOptions { compressed: None, ..options }, node)?;
    let term = &plain[1..];
    Ok([&[tags::VERSION, tags::LOCAL], &seal(term)[..], term].concat())
}

/// Whether this is the seal of what begins so, `length` bytes long.
pub fn is_sealed(sealed: &[u8], bytes: &[u8], length: usize) -> bool {
    bytes.get(..length).is_some_and(|bytes| seal(bytes) == *sealed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seal_is_of_the_bytes_it_stands_before() {
        let sealed = encode_local(Term::small(1), EncodeOptions::default(), (Term::NIL, 0)).expect("a small integer");
        let (head, term) = sealed.split_at(2 + SEAL);
        assert_eq!((&head[..2], term), (&[131, 121][..], &[97, 1][..]));
        assert!(is_sealed(&head[2..], &[97, 1, 7], 2), "what is behind the term does not count");
        assert!(!is_sealed(&head[2..], &[97, 2], 2));
        assert!(!is_sealed(&head[2..], &[97], 2));
    }
}
