//! `safe_fixtable`: while a table is fixed, a traversal meets every row that stays.

use std::time::{SystemTime, UNIX_EPOCH};

use atoll_term::Term;

use crate::fault::Fault;
use crate::registry;
use crate::table::{Rows, Table};

/// The processes that have fixed a table.
#[derive(Debug, Default)]
pub(crate) struct Fixations {
    /// When it was fixed first.
    since: Option<Since>,
    /// Pids, and how often.
    holders: Vec<(Term, usize)>,
}

/// A time, on both clocks.
#[derive(Clone, Copy, Debug)]
pub struct Since {
    /// Nanoseconds of the monotonic clock.
    pub monotonic: i64,
    /// Microseconds of the system's time.
    pub system: i64,
}

impl Since {
    fn now() -> Since {
        let system = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_micros() as i64);
        Since { monotonic: atoll_platform::clock::now(), system }
    }
}

impl Table {
    /// Fixes the table for a process.
    ///
    /// # Errors
    /// [`Fault::Id`]: the table was deleted
    pub fn fix(&self, pid: Term) -> Result<(), Fault> {
        let mut fixations = self.fixations.lock();
        // What deletes the table looks for those who have fixed it afterwards.
        if !self.status.is_alive() {
            return Err(Fault::Id);
        }
        self.status.fix();
        fixations.since.get_or_insert_with(Since::now);
        match fixations.holders.iter_mut().find(|(holder, _)| *holder == pid) {
            Some((_, count)) => *count += 1,
            None => {
                fixations.holders.push((pid, 1));
                registry::note_fixation(pid, self.id);
            }
        }
        Ok(())
    }

    /// Takes a fixation of a process back, if it has one; `all`: each.
    pub fn release(&self, pid: Term, all: bool) {
        let mut fixations = self.fixations.lock();
        let Some(index) = fixations.holders.iter().position(|(holder, _)| *holder == pid) else { return };
        let released = if all { fixations.holders[index].1 } else { 1 };
        fixations.holders[index].1 -= released;
        if fixations.holders[index].1 == 0 {
            fixations.holders.swap_remove(index);
            registry::forget_fixation(pid, self.id);
        }
        if fixations.holders.is_empty() {
            fixations.since = None;
        }
        drop(fixations);
        if self.status.unfix(released)
            && let Rows::Hashed(rows) = &self.rows
        {
            rows.unfixed(&self.status);
        }
    }

    /// Since when the table is fixed, and by whom how often.
    pub fn fixed(&self) -> Option<(Since, Vec<(Term, usize)>)> {
        let fixations = self.fixations.lock();
        Some((fixations.since?, fixations.holders.clone()))
    }
}
