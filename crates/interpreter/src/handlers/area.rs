//! Lists and tuples that are built in the message area at once, if all parts are immediates or immovable; otherwise on
//! the process's heap, by the handler of [`data`] that each of these stands for. See `sites.rs` for when they stand in
//! the code.

use atoll_heap::{BuildWindow, message_builder};
use atoll_term::{Header, Kind, Term, Word};

use crate::handlers::data;
use crate::operand::{Any, Read, Write};
use atoll_runtime::core::{Core, Exit, dispatch};

/// Elements of the largest tuple that is built in the area.
const ELEMENTS: usize = 16;

/// A cons, if the window has room for it and its parts may lie there.
#[inline(always)]
unsafe fn cons(window: &BuildWindow, head: Term, tail: Term) -> Option<Term> {
    if !(window.admits(head) && window.admits(tail)) {
        return None;
    }
    let place = window.take(2)?;
    // SAFETY: the window has given room for two words.
    unsafe {
        *place = head.word();
        *place.add(1) = tail.word();
    }
    // SAFETY: the cell was filled.
    Some(unsafe { Term::cons_at(place) })
}

/// An object by way of the architecture; `NONE` if it cannot be built there.
fn build(header: Option<Header>, fields: &[Term]) -> Term {
    message_builder().and_then(|builder| builder.build_message(header, fields)).unwrap_or(Term::NONE)
}

/// A cons by way of the architecture, which opens a window or learns that a part is private: then `NONE`. The parts
/// come by value, and the term in a register: see the decision on dispatch, rule 1.
#[cold]
#[inline(never)]
fn cons_slowly(head: Term, tail: Term) -> Term {
    build(None, &[head, tail])
}

/// As [`data::put_list`].
pub unsafe fn put_list<H: Read, T: Read, D: Write>(
    ip: *const Word,
    hp: *mut Word,
    e: *mut Word,
    reds: i64,
    c: *mut Core,
) -> Exit {
    // SAFETY: operands as the translation wrote them, the window is this thread's; what the area gives is a whole
    // object, which a register holds at once.
    unsafe {
        match cons(&*(*c).window, H::read(*ip.add(1), e, c), T::read(*ip.add(2), e, c)) {
            Some(cell) => {
                D::write(*ip.add(3), cell, e, c);
                dispatch(ip.add(4), hp, e, reds, c)
            }
            None => put_list_slow::<H, T, D>(ip, hp, e, reds, c),
        }
    }
}

#[cold]
unsafe fn put_list_slow<H: Read, T: Read, D: Write>(
    ip: *const Word,
    hp: *mut Word,
    e: *mut Word,
    reds: i64,
    c: *mut Core,
) -> Exit {
    // SAFETY: as above.
    unsafe {
        let cell = cons_slowly(H::read(*ip.add(1), e, c), T::read(*ip.add(2), e, c));
        if cell.is_none() {
            return data::put_list::<H, T, D>(ip, hp, e, reds, c);
        }
        D::write(*ip.add(3), cell, e, c);
        dispatch(ip.add(4), hp, e, reds, c)
    }
}

/// As [`data::put_list_return`].
pub unsafe fn put_list_return<H: Read, T: Read>(
    ip: *const Word,
    hp: *mut Word,
    e: *mut Word,
    reds: i64,
    c: *mut Core,
) -> Exit {
    // SAFETY: as above; the loader checked the frame's size.
    unsafe {
        match cons(&*(*c).window, H::read(*ip.add(1), e, c), T::read(*ip.add(2), e, c)) {
            Some(cell) => {
                (*c).x[0] = cell;
                let e = e.byte_add(*ip.add(3) as usize);
                dispatch(*e as *const Word, hp, e.add(1), reds, c)
            }
            None => put_list_return_slow::<H, T>(ip, hp, e, reds, c),
        }
    }
}

#[cold]
unsafe fn put_list_return_slow<H: Read, T: Read>(
    ip: *const Word,
    hp: *mut Word,
    e: *mut Word,
    reds: i64,
    c: *mut Core,
) -> Exit {
    // SAFETY: as above.
    unsafe {
        let cell = cons_slowly(H::read(*ip.add(1), e, c), T::read(*ip.add(2), e, c));
        if cell.is_none() {
            return data::put_list_return::<H, T>(ip, hp, e, reds, c);
        }
        (*c).x[0] = cell;
        let e = e.byte_add(*ip.add(3) as usize);
        dispatch(*e as *const Word, hp, e.add(1), reds, c)
    }
}

/// As [`data::put_pair`].
pub unsafe fn put_pair<S: Read, T: Read, D: Write>(
    ip: *const Word,
    hp: *mut Word,
    e: *mut Word,
    reds: i64,
    c: *mut Core,
) -> Exit {
    // SAFETY: as above; the window has given room for three words.
    unsafe {
        let (first, second) = (S::read(*ip.add(2), e, c), T::read(*ip.add(3), e, c));
        let window = &*(*c).window;
        match if window.admits(first) && window.admits(second) { window.take(3) } else { None } {
            Some(place) => {
                *place = Header::new(Kind::Tuple, 2).word();
                *place.add(1) = first.word();
                *place.add(2) = second.word();
                D::write(*ip.add(1), Term::boxed_at(place), e, c);
                dispatch(ip.add(4), hp, e, reds, c)
            }
            None => put_pair_slow::<S, T, D>(ip, hp, e, reds, c),
        }
    }
}

#[cold]
unsafe fn put_pair_slow<S: Read, T: Read, D: Write>(
    ip: *const Word,
    hp: *mut Word,
    e: *mut Word,
    reds: i64,
    c: *mut Core,
) -> Exit {
    // SAFETY: as above.
    unsafe {
        let pair = pair_slowly(S::read(*ip.add(2), e, c), T::read(*ip.add(3), e, c));
        if pair.is_none() {
            return data::put_pair::<S, T, D>(ip, hp, e, reds, c);
        }
        D::write(*ip.add(1), pair, e, c);
        dispatch(ip.add(4), hp, e, reds, c)
    }
}

/// As [`cons_slowly`], for a tuple of two elements.
#[inline(never)]
fn pair_slowly(first: Term, second: Term) -> Term {
    build(Some(Header::new(Kind::Tuple, 2)), &[first, second])
}

/// As [`data::put_tuple`].
pub unsafe fn put_tuple(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: as above.
    unsafe {
        let tuple = build_tuple(ip, e, c);
        if tuple.is_none() {
            return data::put_tuple(ip, hp, e, reds, c);
        }
        Any::write(*ip.add(1), tuple, e, c);
        dispatch(ip.add(3 + Header::from_word(*ip.add(2)).arity()), hp, e, reds, c)
    }
}

/// The tuple of a `put_tuple` at `ip`, built in the area, or `NONE`.
#[inline(never)]
unsafe fn build_tuple(ip: *const Word, e: *mut Word, c: *mut Core) -> Term {
    // SAFETY: as above.
    let header = unsafe { Header::from_word(*ip.add(2)) };
    let arity = header.arity();
    if arity == 0 || arity > ELEMENTS {
        return Term::NONE;
    }
    let mut elements = [Term::NIL; ELEMENTS];
    let elements = &mut elements[..arity];
    for (index, element) in elements.iter_mut().enumerate() {
        // SAFETY: as above.
        *element = unsafe { Any::read(*ip.add(3 + index), e, c) };
    }
    // SAFETY: `run` sets it to this thread's.
    let window = unsafe { &*(*c).window };
    let admits = elements.iter().all(|element| window.admits(*element));
    let place = if admits { window.take(arity + 1) } else { None };
    let Some(place) = place else { return build(Some(header), elements) };
    // SAFETY: the window has given room for the header and the elements.
    unsafe {
        *place = header.word();
        for (index, element) in elements.iter().enumerate() {
            *place.add(1 + index) = element.word();
        }
    }
    // SAFETY: the tuple was filled.
    unsafe { Term::boxed_at(place) }
}
