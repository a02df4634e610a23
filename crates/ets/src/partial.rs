//! Keys of which a pattern says only the beginning.

use std::cmp::Ordering;

use atoll_term::{Term, View, atoms, compare};

/// Number of a pattern's variable, `'$N'`.
pub(crate) fn variable(term: Term) -> Option<u32> {
    if !term.is_atom() {
        return None;
    }
    let digits = atoms::atom_name(term).strip_prefix('$')?;
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    // More variables than this are no variables in OTP either.
    digits.parse().ok().filter(|number| plain && *number < 100_000_000)
}

/// Whether a pattern's atom stands for anything: `'_'` or a variable.
pub(crate) fn is_open(term: Term) -> bool {
    term == atoms::UNDERSCORE || variable(term).is_some()
}

/// A key's pattern, with parts that stand for anything.
#[derive(Clone, Copy)]
pub(crate) struct PartialKey(pub(crate) Term);

/// Where the keys that the pattern may match are, seen from this key: `Equal` is among them.
pub(crate) fn compare_partial(pattern: PartialKey, key: Term) -> Ordering {
    let mut pending = vec![(pattern.0, key)];
    while let Some((pattern, key)) = pending.pop() {
        if is_open(pattern) || pattern.is_map() {
            // What comes behind counts only among keys that agree here.
            return Ordering::Equal;
        }
        match (pattern.view(), key.view()) {
            (View::Tuple(parts), View::Tuple(elements)) => {
                if parts.len() != elements.len() {
                    return parts.len().cmp(&elements.len());
                }
                pending.extend(parts.iter().copied().zip(elements.iter().copied()).rev());
            }
            (View::Cons(head, tail), View::Cons(other_head, other_tail)) => {
                pending.push((tail, other_tail));
                pending.push((head, other_head));
            }
            _ => {
                let order = compare(pattern, key);
                if order.is_ne() {
                    return order;
                }
            }
        }
    }
    Ordering::Equal
}

#[cfg(test)]
mod tests {
    use atoll_term::{Build, ScratchHeap};

    use super::*;

    #[test]
    fn what_stands_before_the_first_variable_decides() {
        let heap = &mut ScratchHeap::new();
        let variable = atoms::atom("$1").unwrap();
        let [one, two, three] = [1, 2, 3].map(Term::small);
        let pattern = PartialKey(heap.tuple(&[two, variable, one]));
        let mut at = |elements: &[Term]| compare_partial(pattern, heap.tuple(elements));
        assert_eq!(at(&[one, three, three]), Ordering::Greater);
        assert_eq!(at(&[two, three, three]), Ordering::Equal);
        assert_eq!(at(&[three, one, one]), Ordering::Less);
        assert_eq!(at(&[three, one]), Ordering::Greater);
        assert_eq!(compare_partial(pattern, one), Ordering::Greater);
        assert_eq!(compare_partial(pattern, Term::NIL), Ordering::Less);
        let list = heap.cons(one, variable);
        let longer = heap.list([one, two]);
        assert_eq!(compare_partial(PartialKey(list), longer), Ordering::Equal);
        assert_eq!(compare_partial(PartialKey(list), Term::NIL), Ordering::Greater);
    }

    #[test]
    fn variables_are_dollar_and_digits() {
        let number = |name| variable(atoms::atom(name).unwrap());
        assert_eq!(
            ["$0", "$17", "$", "$_", "$$", "$1a", "1", "$-1", "$+1"].map(number),
            [Some(0), Some(17), None, None, None, None, None, None, None]
        );
    }
}
