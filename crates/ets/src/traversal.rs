//! What traversals have in common.

use atoll_heap::Stored;

/// What becomes of a row.
pub(crate) enum Fate {
    /// It stays.
    Keep,
    /// It goes.
    Delete,
    /// This one, with the same key, takes its place.
    Replace(Stored),
}
