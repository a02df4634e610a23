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

/// Cells of a list that lie in a row, in either direction, with heads that are no pointers.
struct Row {
    /// Address of the lowest.
    start: usize,
    cells: usize,
    last: Term,
    /// The tail of the last one.
    behind: Term,
}

impl Row {
    /// The row that goes on from a cell to its tail, a cell, if that lies beside it and is part of one.
    ///
    /// # Safety
    /// The cell is whole.
    #[inline(always)]
    unsafe fn behind(cell: Term, tail: Term) -> Option<Row> {
        let step = (tail.pointer() as isize).wrapping_sub(cell.pointer() as isize);
        if step.unsigned_abs() != 2 * WORD_BYTES {
            return None;
        }
        let first = tail.pointer();
        let mut last = first;
        // Where the next cell should be is computed, and its address compared with what the tail says: a processor that
        // guesses that they are equal need not wait for one cell after the other to be loaded.
        loop {
            // SAFETY: a tail led here.
            let (head, tail) = unsafe { (Term::from_word(*last), Term::from_word(*last.add(1))) };
            if head.is_pointer() {
                last = last.wrapping_byte_offset(-step);
                break;
            }
            let next = last.wrapping_byte_offset(step);
            // SAFETY: the word's bits alone are looked at.
            if tail.word() != unsafe { Term::cons_at(next) }.word() {
                break;
            }
            last = next;
        }
        if last == cell.pointer() {
            return None;
        }
        let (from, to) = (first as usize, last as usize);
        // SAFETY: both are cells that were looked at, or were whole before.
        let (last, behind) = unsafe { (Term::cons_at(last), Term::from_word(*last.add(1))) };
        Some(Row { start: from.min(to), cells: from.abs_diff(to) / (2 * WORD_BYTES) + 1, last, behind })
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
                    // SAFETY: as above.
                    let Some(row) = (unsafe { Row::behind(term, tail) }).filter(|row| !immovable.contains(row.last))
                    else {
                        term = tail;
                        continue;
                    };
                    if !runs.note(row.start, 2 * row.cells) {
                        return None;
                    }
                    words += 2 * row.cells;
                    if !row.behind.is_cons() || immovable.contains(row.behind) {
                        term = row.last;
                        break;
                    }
                    term = row.behind;
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

    /// A list whose cells lie at these places of a block, in this order, with these heads.
    fn list(block: &mut [Word], places: &[usize], heads: &[Term], end: Term) -> Term {
        places.iter().zip(heads).rev().fold(end, |tail, (place, head)| {
            let cell = &raw mut block[2 * place];
            // SAFETY: both words lie in the block.
            unsafe {
                *cell = head.word();
                *cell.add(1) = tail.word();
                Term::cons_at(cell)
            }
        })
    }

    #[test]
    fn rows_of_cells_are_measured_as_single_cells_are() {
        let mut other = [Term::small(1).word(), Term::NIL.word()];
        // SAFETY: a whole cell.
        let other = unsafe { Term::cons_at(&raw mut other[0]) };
        let up: Vec<usize> = (0..40).collect();
        let down: Vec<usize> = (0..40).rev().collect();
        let apart: Vec<usize> = (0..20).chain(30..50).collect();
        let swapped: Vec<usize> = (0..10).chain([11, 10]).chain(12..40).collect();
        for places in [&up, &down, &apart, &swapped, &vec![3], &vec![4, 5], &vec![5, 4]] {
            for object in 0..=places.len() {
                let mut block = [0; 200];
                let mut heads = vec![Term::small(7); places.len()];
                heads.iter_mut().skip(object).take(1).for_each(|head| *head = other);
                let count = heads.iter().filter(|head| head.is_pointer()).count();
                let root = list(&mut block, places, &heads, Term::NIL);
                // SAFETY: the list is whole.
                let found = unsafe { unshared(root, Immovable::NONE) }.unwrap();
                assert_eq!(found.words, 2 * places.len() + 2 * count, "{places:?}, object {object}");
                let end = list(&mut block, places, &heads, other);
                // SAFETY: as above; the cell is met twice where it is a head, too.
                let found = unsafe { unshared(end, Immovable::NONE) };
                assert_eq!(found.map(|found| found.words), (count == 0).then_some(2 * places.len() + 2));
            }
        }
    }

    #[test]
    fn a_row_that_leads_to_itself_by_another_way_is_shared() {
        let mut block = [0; 100];
        let places: Vec<usize> = (0..20).collect();
        let row = list(&mut block, &places, &[Term::small(7); 20], Term::NIL);
        // SAFETY: a cell of the list.
        let inner = unsafe { Term::cons_at(&raw mut block[2 * 9]) };
        let both = list(&mut block, &[30, 40], &[row, inner], Term::NIL);
        // SAFETY: the list is whole.
        assert!(unsafe { unshared(both, Immovable::NONE) }.is_none());
    }

    #[test]
    fn an_object_that_is_met_twice_overlaps() {
        for rows in 1..=OPEN + 1 {
            let mut runs = in_rows(rows);
            assert!(!(runs.note((1 << 20) | (50 * 16), 2) && runs.disjoint()), "{rows}");
        }
    }
}
