//! The size of a term that shares nothing inside itself, found without marking anything.
//!
//! A walk over the term notes the addresses of the objects that it meets as runs of adjacent objects. Objects are
//! identical or apart; so if no two runs overlap, no object was met twice, and the flat size is the size. Terms
//! that were built or collected together lie in few runs, so this costs a comparison or two an object. Where runs
//! overlap, or there are too many, the answer is `None`, and [`super::sharing`] does the exact thing.

use std::mem::MaybeUninit;

use atoll_term::{Header, Term, WORD_BYTES, Word};

use super::Immovable;

/// Runs kept; more are an answer.
const RUNS: usize = 256;
/// Depth of nesting up to which the walk goes.
const DEPTH: usize = 64;
/// Runs that are extended in turn: the cells of a list, its elements and what these consist of are often built in a row
/// each, and a collection makes such rows.
const OPEN: usize = 4;
/// First number of runs at which they are compared with each other.
const FIRST_CHECK: usize = 8;

/// A run of adjacent objects: its first address, and the one behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// What is known of a term that shares nothing inside itself.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unshared {
    /// Words that a copy takes.
    pub(crate) words: usize,
    /// The runs that the term consists of, if they are two at most and no object in them is opaque. The second may be
    /// empty.
    pub(crate) runs: Option<[Run; 2]>,
}

impl Run {
    /// The run that a cons is.
    #[inline(always)]
    pub(crate) fn of_cell(cell: Term) -> Run {
        let start = cell.pointer() as usize;
        Run { start, end: start + 2 * WORD_BYTES }
    }

    /// Adds a cons that the run may have already, as its last one; false if it lies elsewhere.
    #[inline(always)]
    pub(crate) fn extend_by_cell(&mut self, cell: Term) -> bool {
        let Run { start, end } = Run::of_cell(cell);
        start == self.start || end == self.end || self.extend(start, end)
    }

    #[inline(always)]
    fn extend(&mut self, start: usize, end: usize) -> bool {
        if start == self.end {
            self.end = end;
        } else if end == self.start {
            self.start = start;
        } else {
            return false;
        }
        true
    }
}

const NO_RUN: Run = Run { start: 0, end: 0 };

struct Runs {
    /// Those that are extended.
    open: [Run; OPEN],
    /// Which of them makes way for the next.
    oldest: usize,
    closed: [MaybeUninit<Run>; RUNS],
    count: usize,
    check_at: usize,
}

impl Runs {
    #[inline(always)]
    fn new() -> Runs {
        let closed = [const { MaybeUninit::uninit() }; RUNS];
        Runs { open: [NO_RUN; OPEN], oldest: 0, closed, count: 0, check_at: FIRST_CHECK }
    }

    /// Notes an object; false: it is not worth going on.
    #[inline(always)]
    fn note(&mut self, start: usize, words: usize) -> bool {
        let end = start + words * WORD_BYTES;
        if self.open.iter_mut().any(|run| run.extend(start, end)) {
            return true;
        }
        let closing = std::mem::replace(&mut self.open[self.oldest], Run { start, end });
        self.oldest = (self.oldest + 1) % OPEN;
        closing.start == 0 || self.close(closing)
    }

    fn close(&mut self, run: Run) -> bool {
        self.closed[self.count].write(run);
        self.count += 1;
        if self.count < self.check_at {
            return true;
        }
        let before = self.count;
        if !self.merge() || (before == RUNS && self.count > RUNS / 2) {
            return false;
        }
        self.check_at = (self.count * 4).clamp(FIRST_CHECK, RUNS);
        true
    }

    /// Joins runs that touch; false: two overlap.
    fn merge(&mut self) -> bool {
        // SAFETY: the first `count` runs are initialised.
        let runs = unsafe { std::slice::from_raw_parts_mut(self.closed.as_mut_ptr().cast::<Run>(), self.count) };
        runs.sort_unstable_by_key(|run| run.start);
        let mut kept = 0;
        for index in 1..runs.len() {
            let run = runs[index];
            if run.start < runs[kept].end {
                return false;
            }
            if run.start == runs[kept].end {
                runs[kept].end = run.end;
            } else {
                kept += 1;
                runs[kept] = run;
            }
        }
        self.count = self.count.min(kept + 1);
        true
    }

    #[inline(always)]
    fn disjoint(&mut self) -> bool {
        if let Some([first, second]) = self.two() {
            return first.end <= second.start || second.end <= first.start;
        }
        for open in self.open.into_iter().filter(|run| run.start != 0) {
            if self.count == RUNS {
                return false;
            }
            self.closed[self.count].write(open);
            self.count += 1;
        }
        self.merge()
    }

    /// All of them, if they are two at most. The second may be empty.
    #[inline(always)]
    fn two(&self) -> Option<[Run; 2]> {
        let [first, second, third, _] = self.open;
        (self.count == 0 && third.start == 0).then_some([first, second])
    }
}

/// Words of a boxed object or cons, and the part of it that holds terms (first word, words).
///
/// # Safety
/// The term is a pointer to a whole object.
#[inline(always)]
pub(crate) unsafe fn extent(term: Term) -> (usize, *mut Word, usize) {
    let place = term.pointer();
    if term.is_cons() {
        return (2, place, 2);
    }
    // SAFETY: a boxed term points to a header.
    let header = Header::from_word(unsafe { *place });
    (header.object_words(), place.wrapping_add(1), if header.is_opaque() { 0 } else { header.arity() })
}

/// The size of a copy of the term without the immovable part, if it certainly shares nothing inside.
///
/// # Safety
/// The term is whole.
pub(crate) unsafe fn unshared(root: Term, immovable: Immovable) -> Option<Unshared> {
    let mut runs = Runs::new();
    let mut pending = [const { MaybeUninit::<(*mut Word, *mut Word)>::uninit() }; DEPTH];
    let mut depth = 0;
    let mut words = 0;
    let mut plain = true;
    let mut root = root.word();
    let mut at: *mut Word = &raw mut root;
    let mut end = at.wrapping_add(1);
    loop {
        while at < end {
            // SAFETY: `at` is a term inside a whole object, or the root.
            let mut term = unsafe { Term::from_word(*at) };
            at = at.wrapping_add(1);
            if !term.is_pointer() || immovable.contains(term) {
                continue;
            }
            if term.is_cons() {
                // The spine of a list in one go, up to a head that is an object.
                loop {
                    let cell = term.pointer();
                    if !runs.note(cell as usize, 2) {
                        return None;
                    }
                    words += 2;
                    // SAFETY: terms inside a whole term are whole.
                    let (head, tail) = unsafe { (Term::from_word(*cell), Term::from_word(*cell.add(1))) };
                    if head.is_pointer() && !immovable.contains(head) || !tail.is_cons() || immovable.contains(tail) {
                        break;
                    }
                    term = tail;
                }
            }
            let (fields, count) = if term.is_cons() {
                (term.pointer(), 2)
            } else {
                // SAFETY: terms inside a whole term are whole.
                let (size, fields, count) = unsafe { extent(term) };
                if !runs.note(term.pointer() as usize, size) {
                    return None;
                }
                words += size;
                plain &= count + 1 == size;
                (fields, count)
            };
            if count > 0 {
                if at < end {
                    if depth == DEPTH {
                        return None;
                    }
                    pending[depth].write((at, end));
                    depth += 1;
                }
                at = fields;
                end = fields.wrapping_add(count);
            }
        }
        if depth == 0 {
            let two = runs.two().filter(|_| plain);
            return runs.disjoint().then_some(Unshared { words, runs: two });
        }
        depth -= 1;
        // SAFETY: what lies below the depth was written.
        (at, end) = unsafe { pending[depth].assume_init() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Objects of two words in so many rows, one of each row after the other.
    fn in_rows(rows: usize) -> Runs {
        let mut runs = Runs::new();
        for index in 0..100 {
            for row in 1..=rows {
                assert!(runs.note((row << 20) | (index * 16), 2), "they are apart");
            }
        }
        runs
    }

    #[test]
    fn rows_are_extended_in_turn() {
        for rows in 1..=OPEN {
            let mut runs = in_rows(rows);
            assert_eq!((runs.count, runs.two().is_some()), (0, rows <= 2));
            assert!(runs.disjoint());
        }
        let mut runs = in_rows(OPEN + 1);
        assert!(runs.count > 0 && runs.disjoint());
    }

    #[test]
    fn an_object_that_is_met_twice_overlaps() {
        for rows in 1..=OPEN + 1 {
            let mut runs = in_rows(rows);
            assert!(!(runs.note((1 << 20) | (50 * 16), 2) && runs.disjoint()), "{rows}");
        }
    }
}
