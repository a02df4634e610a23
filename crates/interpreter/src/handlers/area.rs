//! Lists and tuples that are built in the message area at once, if all parts are immediates or immovable; otherwise on the process's heap,
//! by the handler of [`data`] that each of these stands for. See `sites.rs` for when they stand in the code.

use std::sync::atomic::Ordering;

use atoll_heap::statistics::BUILD_IN_AREA;
use atoll_heap::{architecture, build_window};
use atoll_term::{Header, Kind, Term, Word};

use crate::core::{Core, Exit, dispatch};
use crate::handlers::data;
use crate::operand::{Any, Read, Write};

/// Elements of the largest tuple that is built in the area.
const ELEMENTS: usize = 16;

/// Whether all sites begin with the handlers of this file (`--build-in-area`).
pub fn is_built_in_area() -> bool {
    BUILD_IN_AREA.load(Ordering::Relaxed)
}

/// A cons, if it can be built in the area.
#[inline(always)]
unsafe fn cons(head: Term, tail: Term) -> Option<Term> {
    let place = build_window(|window| if window.admits(head) && window.admits(tail) { window.take(2) } else { None });
    let Some(place) = place else { return build_slowly(None, &[head, tail]) };
    // SAFETY: the window has given room for two words.
    unsafe {
        *place = head.word();
        *place.add(1) = tail.word();
    }
    Some(Term::cons_at(place))
}

/// Opens a window, or learns that a part is private.
#[cold]
#[inline(never)]
fn build_slowly(header: Option<Header>, fields: &[Term]) -> Option<Term> {
    architecture().build_message(header, fields)
}

/// As [`data::put_list`].
pub unsafe fn put_list<H: Read, T: Read, D: Write>(
    ip: *const Word,
    hp: *mut Word,
    e: *mut Word,
    reds: i64,
    c: *mut Core,
) -> Exit {
    // SAFETY: operands as the translation wrote them; what the area gives is a whole object, which a register holds at once.
    unsafe {
        match cons(H::read(*ip.add(1), e, c), T::read(*ip.add(2), e, c)) {
            Some(cell) => {
                D::write(*ip.add(3), cell, e, c);
                dispatch(ip.add(4), hp, e, reds, c)
            }
            None => data::put_list::<H, T, D>(ip, hp, e, reds, c),
        }
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
        match cons(H::read(*ip.add(1), e, c), T::read(*ip.add(2), e, c)) {
            Some(cell) => {
                (*c).x[0] = cell;
                let e = e.byte_add(*ip.add(3) as usize);
                dispatch(*e as *const Word, hp, e.add(1), reds, c)
            }
            None => data::put_list_return::<H, T>(ip, hp, e, reds, c),
        }
    }
}

/// A tuple of these elements, if it can be built in the area.
#[inline(always)]
unsafe fn tuple(elements: &[Term]) -> Option<Term> {
    let header = Header::new(Kind::Tuple, elements.len());
    let place = build_window(|window| {
        let admits = elements.iter().all(|element| window.admits(*element));
        if admits { window.take(elements.len() + 1) } else { None }
    });
    let Some(place) = place else { return build_slowly(Some(header), elements) };
    // SAFETY: the window has given room for the header and the elements.
    unsafe {
        *place = header.word();
        for (index, element) in elements.iter().enumerate() {
            *place.add(1 + index) = element.word();
        }
    }
    Some(Term::boxed_at(place))
}

/// As [`data::put_pair`].
pub unsafe fn put_pair<S: Read, T: Read, D: Write>(
    ip: *const Word,
    hp: *mut Word,
    e: *mut Word,
    reds: i64,
    c: *mut Core,
) -> Exit {
    // SAFETY: as above.
    unsafe {
        match tuple(&[S::read(*ip.add(2), e, c), T::read(*ip.add(3), e, c)]) {
            Some(pair) => {
                D::write(*ip.add(1), pair, e, c);
                dispatch(ip.add(4), hp, e, reds, c)
            }
            None => data::put_pair::<S, T, D>(ip, hp, e, reds, c),
        }
    }
}

/// As [`data::put_tuple`].
pub unsafe fn put_tuple(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: as above.
    unsafe {
        let arity = Header::from_word(*ip.add(2)).arity();
        let mut elements = [Term::NIL; ELEMENTS];
        if arity == 0 || arity > ELEMENTS {
            return data::put_tuple(ip, hp, e, reds, c);
        }
        for (index, element) in elements[..arity].iter_mut().enumerate() {
            *element = Any::read(*ip.add(3 + index), e, c);
        }
        match tuple(&elements[..arity]) {
            Some(tuple) => {
                Any::write(*ip.add(1), tuple, e, c);
                dispatch(ip.add(3 + arity), hp, e, reds, c)
            }
            None => data::put_tuple(ip, hp, e, reds, c),
        }
    }
}
