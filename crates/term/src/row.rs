//! Walks along lists that do not wait for one cell after the other to be loaded.
//!
//! Cells that were built or collected together lie at equal distances. A walk computes where the next cell should be
//! and compares that with what the tail says. A processor that guesses that they are equal loads the next cells
//! meanwhile; one that follows tails alone waits some cycles for each.

use crate::{Term, Word};

/// Passes by the elements of a list from the first on, while `passes` says so of them. Gives how many, and what is
/// left: a list that begins with another element, or what the list ends with.
#[inline]
pub fn skip_elements(list: Term, mut passes: impl FnMut(Term) -> bool) -> (usize, Term) {
    let mut rest = list;
    let mut count = 0;
    'rows: while rest.is_cons() {
        let first = rest.tail();
        let mut cell: *mut Word = rest.pointer();
        let distance = if first.is_cons() { (first.pointer() as isize).wrapping_sub(cell as isize) } else { 0 };
        loop {
            // SAFETY: a cons led here: `rest`, or a tail that is equal to the address of this cell.
            let (head, tail) = unsafe { (Term::from_word(*cell), Term::from_word(*cell.add(1))) };
            if !passes(head) {
                // SAFETY: as above.
                return (count, unsafe { Term::cons_at(cell) });
            }
            count += 1;
            let next = cell.wrapping_byte_offset(distance);
            // SAFETY: the word's bits alone are looked at.
            if tail.word() != unsafe { Term::cons_at(next) }.word() {
                rest = tail;
                continue 'rows;
            }
            cell = next;
        }
    }
    (count, rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Build, ScratchHeap};

    #[test]
    fn cells_anywhere_are_passed_by_one_after_the_other() {
        let mut heap = ScratchHeap::new();
        let mut lists = vec![(Term::NIL, vec![])];
        // Words between the cells, in the order of their making.
        for gaps in [vec![0; 20], vec![3; 20], vec![0, 0, 5, 5, 5, 0, 1, 2, 3, 0, 0, 0], vec![0], vec![7, 7]] {
            let (mut list, mut elements) = (Term::small(-1), vec![]);
            for (number, gap) in gaps.into_iter().enumerate() {
                heap.tuple(&vec![Term::NIL; gap]);
                list = heap.cons(Term::small(number as i64), list);
                elements.insert(0, number as i64);
            }
            lists.push((list, elements));
        }
        for (list, elements) in lists {
            let mut seen = vec![];
            let (count, end) = skip_elements(list, |head| {
                seen.push(head.as_small().unwrap());
                true
            });
            assert_eq!((count, &seen, end.is_cons()), (elements.len(), &elements, false));
            for (place, element) in elements.iter().enumerate() {
                let (count, rest) = skip_elements(list, |head| head.as_small() != Some(*element));
                assert_eq!((count, rest.head()), (place, Term::small(*element)));
            }
        }
    }
}
