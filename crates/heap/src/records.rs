//! Records of events for `--stats`, kept in pieces of a fixed size, because moving a list when it grows makes pauses of
//! its own.

use std::sync::{Mutex, MutexGuard};

/// Entries in a piece.
const PIECE: usize = 1024;
/// Entries kept; later ones are not.
const KEPT: usize = 1 << 20;

/// A list of entries.
#[derive(Debug)]
pub(crate) struct Records<T>(Mutex<Vec<Vec<T>>>);

impl<T> Default for Records<T> {
    fn default() -> Records<T> {
        Records(Mutex::default())
    }
}

impl<T: Copy> Records<T> {
    fn lock(&self) -> MutexGuard<'_, Vec<Vec<T>>> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Adds an entry.
    pub(crate) fn push(&self, entry: T) {
        let mut pieces = self.lock();
        if pieces.last().is_none_or(|piece| piece.len() == PIECE) {
            if pieces.len() == KEPT / PIECE {
                return;
            }
            pieces.push(Vec::with_capacity(PIECE));
        }
        if let Some(piece) = pieces.last_mut() {
            piece.push(entry);
        }
    }

    /// All entries, oldest first.
    pub(crate) fn all(&self) -> Vec<T> {
        self.lock().concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_keep_their_order_and_are_not_moved() {
        let records = Records::default();
        records.push(0);
        let first = records.lock()[0].as_ptr();
        (1..3 * PIECE).for_each(|entry| records.push(entry));
        assert_eq!(records.lock()[0].as_ptr(), first);
        assert!(records.all().into_iter().eq(0..3 * PIECE));
    }
}
