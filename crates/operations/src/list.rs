//! Operations on lists.

use atoll_term::{Allocate, Build, Term, View, atoms, compare_exact, equal, exactly_equal, skip_elements};

use crate::exception::Exception;

/// Most elements of a tuple (as in OTP).
pub const MAX_TUPLE_SIZE: usize = (1 << 24) - 1;

/// Up to so many elements on the right, `--` looks through all of them for each on the left.
const FEW: usize = 8;

/// Number of elements; `None` if the term is no proper list.
#[inline]
pub fn length(list: Term) -> Option<usize> {
    let (length, rest) = skip_elements(list, |_| true);
    rest.is_nil().then_some(length)
}

/// The elements of a proper list, in order.
pub fn elements(list: Term) -> Option<Vec<Term>> {
    let mut elements = Vec::with_capacity(length(list)?);
    heads(list).for_each(|head| elements.push(head));
    Some(elements)
}

/// The elements of a list, in order, whatever it ends with.
pub fn heads(list: Term) -> impl Iterator<Item = Term> {
    let mut rest = list;
    std::iter::from_fn(move || {
        let head = rest.is_cons().then(|| rest.head())?;
        rest = rest.tail();
        Some(head)
    })
}

/// As [`elements`].
///
/// # Errors
/// `badarg`: the term is no proper list
pub fn elements_or_badarg(list: Term) -> Result<Vec<Term>, Exception> {
    elements(list).ok_or(Exception::badarg())
}

/// `A ++ B`
///
/// # Errors
/// `badarg`: `A` is no proper list
pub fn append<H: Allocate + ?Sized>(heap: &mut H, a: Term, b: Term) -> Result<Term, Exception> {
    if a.is_nil() {
        return Ok(b);
    }
    let length = length(a).ok_or(Exception::badarg())?;
    Ok(if b.is_nil() { a } else { heap.list_copied(&a, length, b) })
}

/// `A -- B`: `A` without the first occurrence of each element of `B`.
///
/// # Errors
/// `badarg`: one of them is no proper list
pub fn subtract<H: Allocate + ?Sized>(heap: &mut H, a: Term, b: Term) -> Result<Term, Exception> {
    let (Some(length), Some(removed)) = (length(a), elements(b)) else { return Err(Exception::badarg()) };
    if length == 0 || removed.is_empty() {
        return Ok(a);
    }
    let mut remover = if removed.len() <= FEW { Remover::Few(removed) } else { Remover::many(removed) };
    let mut kept = Vec::new();
    let mut rest = a;
    while rest.is_cons() && !remover.is_done() {
        if !remover.removes(rest.head()) {
            kept.push(rest.head());
        }
        rest = rest.tail();
    }
    Ok(if kept.len() == length { a } else { heap.list_of(&kept, rest) })
}

/// What `--` still has to remove.
enum Remover {
    Few(Vec<Term>),
    /// Different terms in order, each with how often it is to be removed; and the sum of that.
    Many(Vec<(Term, usize)>, usize),
}

impl Remover {
    fn many(mut terms: Vec<Term>) -> Remover {
        let count = terms.len();
        terms.sort_unstable_by(|a, b| compare_exact(*a, *b));
        let mut counted: Vec<(Term, usize)> = Vec::with_capacity(count);
        for term in terms {
            match counted.last_mut() {
                Some((last, times)) if exactly_equal(*last, term) => *times += 1,
                _ => counted.push((term, 1)),
            }
        }
        Remover::Many(counted, count)
    }

    fn is_done(&self) -> bool {
        match self {
            Remover::Few(terms) => terms.is_empty(),
            Remover::Many(_, count) => *count == 0,
        }
    }

    fn removes(&mut self, term: Term) -> bool {
        match self {
            Remover::Few(terms) => {
                let found = terms.iter().position(|other| exactly_equal(*other, term));
                found.is_some_and(|index| {
                    terms.swap_remove(index);
                    true
                })
            }
            Remover::Many(counted, count) => match counted.binary_search_by(|(other, _)| compare_exact(*other, term)) {
                Ok(index) if counted[index].1 > 0 => {
                    counted[index].1 -= 1;
                    *count -= 1;
                    true
                }
                _ => false,
            },
        }
    }
}

/// `lists:reverse(List, Tail)`
///
/// # Errors
/// `badarg`: no proper list
pub fn reverse<H: Allocate + ?Sized>(heap: &mut H, list: Term, tail: Term) -> Result<Term, Exception> {
    if length(list).is_none() {
        return Err(Exception::badarg());
    }
    let (mut rest, mut reversed) = (list, tail);
    while rest.is_cons() {
        reversed = heap.cons(rest.head(), reversed);
        rest = rest.tail();
    }
    Ok(reversed)
}

/// `list_to_tuple(List)`
///
/// # Errors
/// `badarg`: no proper list, or longer than [`MAX_TUPLE_SIZE`]
pub fn list_to_tuple<H: Allocate + ?Sized>(heap: &mut H, list: Term) -> Result<Term, Exception> {
    match length(list) {
        Some(length) if length <= MAX_TUPLE_SIZE => Ok(heap.tuple_of_list(&list, length)),
        _ => Err(Exception::badarg()),
    }
}

/// `tuple_to_list(Tuple)`
///
/// # Errors
/// `badarg`
pub fn tuple_to_list<H: Allocate + ?Sized>(heap: &mut H, tuple: Term) -> Result<Term, Exception> {
    let elements = tuple.tuple_elements().ok_or(Exception::badarg())?;
    Ok(heap.list_of(elements, Term::NIL))
}

/// `lists:member(Element, List)`
///
/// # Errors
/// `badarg`: not found, and no proper list
pub fn member(element: Term, list: Term) -> Result<bool, Exception> {
    let mut rest = list;
    while rest.is_cons() {
        if exactly_equal(rest.head(), element) {
            return Ok(true);
        }
        rest = rest.tail();
    }
    if rest.is_nil() { Ok(false) } else { Err(Exception::badarg()) }
}

/// The first tuple of a list whose element `position` (from 1) equals `key` (`==`).
///
/// # Errors
/// `badarg`: no position, or not found and no proper list
fn find(key: Term, position: Term, list: Term) -> Result<Option<Term>, Exception> {
    let position = position.as_small().filter(|position| *position >= 1).ok_or(Exception::badarg())? as usize;
    let mut rest = list;
    while let View::Cons(head, tail) = rest.view() {
        if let Some(element) = head.tuple_elements().and_then(|elements| elements.get(position - 1))
            && equal(*element, key)
        {
            return Ok(Some(head));
        }
        rest = tail;
    }
    if rest.is_nil() { Ok(None) } else { Err(Exception::badarg()) }
}

/// `lists:keyfind(Key, N, List)`
///
/// # Errors
/// `badarg`
pub fn keyfind(key: Term, position: Term, list: Term) -> Result<Term, Exception> {
    Ok(find(key, position, list)?.unwrap_or(atoms::FALSE))
}

/// `lists:keymember(Key, N, List)`
///
/// # Errors
/// `badarg`
pub fn keymember(key: Term, position: Term, list: Term) -> Result<Term, Exception> {
    Ok(Term::boolean(find(key, position, list)?.is_some()))
}

/// `lists:keysearch(Key, N, List)`
///
/// # Errors
/// `badarg`
pub fn keysearch<H: Allocate + ?Sized>(heap: &mut H, key: Term, position: Term, list: Term) -> Result<Term, Exception> {
    Ok(match find(key, position, list)? {
        Some(tuple) => heap.tuple(&[atoms::VALUE, tuple]),
        None => atoms::FALSE,
    })
}

#[cfg(test)]
mod tests {
    use atoll_term::ScratchHeap;

    use super::*;
    use crate::oracle::{Oracle, Random};

    fn element(random: &mut Random, heap: &mut ScratchHeap) -> Term {
        let value = random.below(6);
        match random.below(6) {
            0 => heap.float(value as f64),
            1 => heap.float(-0.0),
            2 => {
                let big = heap.big_from_limbs(false, &[value, 1]);
                heap.tuple(&[big, Term::small(1)])
            }
            3 => {
                let other = heap.float(1.0);
                heap.tuple(&[Term::small(value as i64), other])
            }
            4 => atoms::OK,
            _ => Term::small(value as i64),
        }
    }

    fn any_list(random: &mut Random, heap: &mut ScratchHeap) -> Term {
        let length = match random.below(4) {
            0 => random.below(120),
            _ => random.below(8),
        };
        let elements: Vec<Term> = (0..length).map(|_| element(random, heap)).collect();
        let tail = if random.below(12) == 0 { atoms::OK } else { Term::NIL };
        heap.list_with_tail(elements, tail)
    }

    #[test]
    fn random_lists_as_on_stock() {
        let (mut oracle, mut random) = (Oracle::default(), Random(41));
        for _ in 0..600 {
            let (a, b) = (any_list(&mut random, &mut oracle.heap), any_list(&mut random, &mut oracle.heap));
            let wanted = element(&mut random, &mut oracle.heap);
            let heap = &mut oracle.heap;
            let position = Term::small(random.below(4) as i64);
            let tuple = heap.tuple(&[a, b]);
            let key = Term::small(random.below(6) as i64);
            let results = [
                ("'++'", vec![a, b], append(heap, a, b)),
                ("'--'", vec![a, b], subtract(heap, a, b)),
                ("{lists,reverse}", vec![a, b], reverse(heap, a, b)),
                ("list_to_tuple", vec![a], list_to_tuple(heap, a)),
                ("tuple_to_list", vec![tuple], tuple_to_list(heap, tuple)),
                ("tuple_to_list", vec![a], tuple_to_list(heap, a)),
                ("{lists,member}", vec![wanted, a], member(wanted, a).map(Term::boolean)),
                ("{lists,keyfind}", vec![key, position, a], keyfind(key, position, a)),
                ("{lists,keymember}", vec![key, position, a], keymember(key, position, a)),
                ("{lists,keysearch}", vec![key, position, a], keysearch(heap, key, position, a)),
                ("length", vec![a], length(a).map(|n| Term::small(n as i64)).ok_or(Exception::badarg())),
            ];
            for (name, arguments, result) in results {
                oracle.expect(name, &arguments, result);
            }
        }
        oracle.check();
    }

    #[test]
    fn long_lists_are_subtracted_in_good_time() {
        let heap = &mut ScratchHeap::new();
        let numbers = heap.list((0..200_000).map(Term::small));
        let backwards = reverse(heap, numbers, Term::NIL).unwrap();
        assert!(subtract(heap, numbers, backwards).unwrap().is_nil());
        let odd = heap.list((0..100_000).map(|number| Term::small(number * 2 + 1)));
        assert_eq!(length(subtract(heap, numbers, odd).unwrap()), Some(100_000));
        let other = heap.list((0..100).map(|_| atoms::OK));
        assert_eq!(subtract(heap, numbers, other).unwrap(), numbers, "nothing to remove: the same list");
    }
}
