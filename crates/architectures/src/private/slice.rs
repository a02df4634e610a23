//! How much of a cycle is done at once.

use atoll_platform::clock::monotonic;

use super::helpers::Desk;

/// How much of a cycle is done at once: at least what is owed, and then until the time is over.
pub(super) struct Slice<'a> {
    until: i64,
    owed: usize,
    step: usize,
    left: isize,
    /// For a helper: the desk that it works at.
    desk: Option<&'a Desk>,
}

impl<'a> Slice<'a> {
    /// A slice up to this time, or longer for at least `owed` words; the clock is read every `step` words.
    pub(super) fn new(until: i64, owed: usize, step: usize) -> Slice<'a> {
        Slice { until, owed, step, left: step as isize, desk: None }
    }

    /// A helper's slice up to this time, or until it is asked to leave the desk.
    pub(super) fn helping(until: i64, step: usize, desk: &'a Desk) -> Slice<'a> {
        Slice { desk: Some(desk), ..Slice::new(until, 0, step) }
    }

    #[inline(always)]
    pub(super) fn spend(&mut self, words: usize) {
        self.left -= words as isize;
    }

    #[inline(always)]
    pub(super) fn is_over(&mut self) -> bool {
        self.left <= 0 && self.look()
    }

    #[cold]
    fn look(&mut self) -> bool {
        let spent = self.step + self.left.unsigned_abs();
        let is_asked_to_leave = self.desk.is_some_and(|desk| desk.has_done(spent));
        if is_asked_to_leave || self.owed == 0 && monotonic() >= self.until {
            return true;
        }
        self.owed = self.owed.saturating_sub(spent);
        self.left = self.step as isize;
        false
    }
}
