//! Rows that were taken out of a table all at once, to be freed in portions.

use std::collections::BTreeSet;

use crate::ordered::Row;
use crate::segment::{Entry, Rows};

/// Rows that no table has any more.
#[derive(Default)]
pub struct Garbage {
    hashed: Vec<Vec<Option<Entry>>>,
    ordered: BTreeSet<Row>,
    rows: usize,
}

impl Garbage {
    /// The rows of an ordered table.
    pub(crate) fn ordered(ordered: BTreeSet<Row>) -> Garbage {
        Garbage { rows: ordered.len(), ordered, hashed: Vec::new() }
    }

    /// Adds the places of a segment with this many rows.
    pub(crate) fn add(&mut self, places: Vec<Option<Entry>>, rows: usize) {
        self.rows += rows;
        self.hashed.push(places);
    }

    /// Adds rows that went, although their keys are kept where they are.
    pub(crate) fn count(&mut self, rows: usize) {
        self.rows += rows;
    }

    /// Rows that went.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Frees about so many rows. Returns whether there are more.
    pub fn free(&mut self, rows: usize) -> bool {
        let mut left = rows;
        while left > 0 {
            let Some(places) = self.hashed.last_mut() else {
                match self.ordered.pop_last() {
                    Some(row) => drop(row),
                    None => return false,
                }
                left -= 1;
                continue;
            };
            match places.last_mut() {
                None => {
                    self.hashed.pop();
                }
                Some(Some(Entry { rows: Rows::Many(rows), .. })) if rows.len() > left => {
                    rows.truncate(rows.len() - left);
                    left = 0;
                }
                Some(_) => {
                    places.pop();
                    left -= 1;
                }
            }
        }
        !self.hashed.is_empty() || !self.ordered.is_empty()
    }
}
