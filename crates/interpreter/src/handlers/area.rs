//! Lists and tuples built in the message area at once (`--build-in-area`): if all parts are immediates or immovable; otherwise on the
//! process's heap, as without the option. The architecture decides, and one without an area never builds there.

use std::sync::atomic::Ordering;

use atoll_heap::statistics::BUILD_IN_AREA;
use atoll_heap::{architecture, build_window};
use atoll_term::{Header, Kind, Term, Word};

use crate::core::{Core, Exit, dispatch};
use crate::handlers::data;
use crate::operand::{Any, Read, Write};

/// Elements of the largest tuple that is built in the area.
const ELEMENTS: usize = 16;

/// Whether the handlers of this file are used.
pub fn is_built_in_area() -> bool {
    BUILD_IN_AREA.load(Ordering::Relaxed)
}

/// As [`data::put_list`].
pub unsafe fn put_list(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: operands as the translation wrote them; what the area gives is a whole object, which a register holds at once.
    unsafe {
        let (head, tail) = (Any::read(*ip.add(1), e, c), Any::read(*ip.add(2), e, c));
        let place =
            build_window(|window| if window.admits(head) && window.admits(tail) { window.take(2) } else { None });
        let Some(place) = place else { return put_list_slow(ip, hp, e, reds, c) };
        *place = head.word();
        *place.add(1) = tail.word();
        Any::write(*ip.add(3), Term::cons_at(place), e, c);
        dispatch(ip.add(4), hp, e, reds, c)
    }
}

#[cold]
#[inline(never)]
unsafe fn put_list_slow(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: as above.
    unsafe {
        let (head, tail) = (Any::read(*ip.add(1), e, c), Any::read(*ip.add(2), e, c));
        match architecture().build_message(None, &[head, tail]) {
            Some(cell) => {
                Any::write(*ip.add(3), cell, e, c);
                dispatch(ip.add(4), hp, e, reds, c)
            }
            None => data::put_list::<Any, Any, Any>(ip, hp, e, reds, c),
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
        let header = Header::new(Kind::Tuple, arity);
        let place = build_window(|window| {
            let admits = elements[..arity].iter().all(|element| window.admits(*element));
            if admits { window.take(arity + 1) } else { None }
        });
        if let Some(place) = place {
            *place = header.word();
            for (index, element) in elements[..arity].iter().enumerate() {
                *place.add(1 + index) = element.word();
            }
            Any::write(*ip.add(1), Term::boxed_at(place), e, c);
            return dispatch(ip.add(3 + arity), hp, e, reds, c);
        }
        match architecture().build_message(Some(header), &elements[..arity]) {
            Some(tuple) => {
                Any::write(*ip.add(1), tuple, e, c);
                dispatch(ip.add(3 + arity), hp, e, reds, c)
            }
            None => data::put_tuple(ip, hp, e, reds, c),
        }
    }
}
