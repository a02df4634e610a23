//! Moving, building and taking apart.

use atoll_heap::debt;
use atoll_term::{FunEntry, Header, Kind, Term, Word};

use crate::handlers::control;
use crate::operand::{Any, Read, Write, X};
use atoll_runtime::core::{Core, Exit, dispatch, resume};
use atoll_runtime::raise;

/// `move Source, Destination`
pub unsafe fn move_<S: Read, D: Write>(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: operands as the translation wrote them.
    unsafe {
        D::write(*ip.add(2), S::read(*ip.add(1), e, c), e, c);
        dispatch(ip.add(3), hp, e, reds, c)
    }
}

/// Two moves in one: the second may read what the first wrote.
pub unsafe fn move_two<S: Read, D: Write, T: Read, U: Write>(
    ip: *const Word,
    hp: *mut Word,
    e: *mut Word,
    reds: i64,
    c: *mut Core,
) -> Exit {
    // SAFETY: operands as the translation wrote them.
    unsafe {
        D::write(*ip.add(2), S::read(*ip.add(1), e, c), e, c);
        U::write(*ip.add(4), T::read(*ip.add(3), e, c), e, c);
        dispatch(ip.add(5), hp, e, reds, c)
    }
}

/// `N` moves in one; one may read what one before it wrote.
pub unsafe fn move_many<const N: usize, S: Read, D: Write>(
    ip: *const Word,
    hp: *mut Word,
    e: *mut Word,
    reds: i64,
    c: *mut Core,
) -> Exit {
    // SAFETY: operands as the translation wrote them.
    unsafe {
        for index in 0..N {
            D::write(*ip.add(2 + 2 * index), S::read(*ip.add(1 + 2 * index), e, c), e, c);
        }
        dispatch(ip.add(1 + 2 * N), hp, e, reds, c)
    }
}

/// `is_nonempty_list`, `allocate` and `get_list` of an X register in one: fail label, source, head, tail, frame in
/// bytes, room and live registers as for [`control::allocate`].
pub unsafe fn list_frame<const UNITED: bool, H: Write, T: Write>(
    ip: *const Word,
    hp: *mut Word,
    e: *mut Word,
    reds: i64,
    c: *mut Core,
) -> Exit {
    // SAFETY: operands as the translation wrote them; room is tested.
    unsafe {
        let list = X::read(*ip.add(2), e, c);
        if !list.is_cons() {
            return dispatch(*ip.add(1) as *const Word, hp, e, reds, c);
        }
        let (frame, room) = (*ip.add(5) as usize, *ip.add(6) as usize);
        if !control::frame_fits::<UNITED>(frame, room, hp, e, c) {
            return list_frame_slow(ip, hp, e, reds, c);
        }
        let e = e.byte_sub(frame);
        let cell = list.pointer();
        let (head, tail) = (Term::from_word(*cell), Term::from_word(*cell.add(1)));
        H::write(*ip.add(3), head, e, c);
        T::write(*ip.add(4), tail, e, c);
        dispatch(ip.add(8), hp, e, reds, c)
    }
}

/// Makes room, and does the instruction again.
#[cold]
#[inline(never)]
unsafe fn list_frame_slow(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core.
    unsafe {
        match control::collect_for_frame(*ip.add(5) as usize, *ip.add(6) as usize, *ip.add(7) as usize, hp, e, c) {
            Some((hp, e)) => resume(ip, hp, e, reds - debt::take(), c),
            None => raise::killed_by_heap_limit(c, reds),
        }
    }
}

/// `swap First, Second`
pub unsafe fn swap<S: Read + Write, T: Read + Write>(
    ip: *const Word,
    hp: *mut Word,
    e: *mut Word,
    reds: i64,
    c: *mut Core,
) -> Exit {
    // SAFETY: operands as the translation wrote them.
    unsafe {
        let (first, second) = (S::read(*ip.add(1), e, c), T::read(*ip.add(2), e, c));
        S::write(*ip.add(1), second, e, c);
        T::write(*ip.add(2), first, e, c);
        dispatch(ip.add(3), hp, e, reds, c)
    }
}

/// `get_list Source, Head, Tail`
pub unsafe fn get_list<S: Read, H: Write, T: Write>(
    ip: *const Word,
    hp: *mut Word,
    e: *mut Word,
    reds: i64,
    c: *mut Core,
) -> Exit {
    // SAFETY: the loader has proven a cons.
    unsafe {
        let cell = S::read(*ip.add(1), e, c).pointer();
        let (head, tail) = (Term::from_word(*cell), Term::from_word(*cell.add(1)));
        H::write(*ip.add(2), head, e, c);
        T::write(*ip.add(3), tail, e, c);
        dispatch(ip.add(4), hp, e, reds, c)
    }
}

/// `is_nonempty_list` and `get_list` in one: fail label, source, head, tail.
pub unsafe fn test_get_list<S: Read, H: Write, T: Write>(
    ip: *const Word,
    hp: *mut Word,
    e: *mut Word,
    reds: i64,
    c: *mut Core,
) -> Exit {
    // SAFETY: operands as the translation wrote them.
    unsafe {
        let list = S::read(*ip.add(2), e, c);
        if !list.is_cons() {
            return dispatch(*ip.add(1) as *const Word, hp, e, reds, c);
        }
        let cell = list.pointer();
        let (head, tail) = (Term::from_word(*cell), Term::from_word(*cell.add(1)));
        H::write(*ip.add(3), head, e, c);
        T::write(*ip.add(4), tail, e, c);
        dispatch(ip.add(5), hp, e, reds, c)
    }
}

/// `get_hd` and `get_tl`: word `N` of a cons.
pub unsafe fn get_half<const N: usize, S: Read, D: Write>(
    ip: *const Word,
    hp: *mut Word,
    e: *mut Word,
    reds: i64,
    c: *mut Core,
) -> Exit {
    // SAFETY: the loader has proven a cons.
    unsafe {
        let cell = S::read(*ip.add(1), e, c).pointer();
        D::write(*ip.add(2), Term::from_word(*cell.add(N)), e, c);
        dispatch(ip.add(3), hp, e, reds, c)
    }
}

/// `get_tuple_element Source, Offset in bytes, Destination`
pub unsafe fn get_tuple_element<S: Read, D: Write>(
    ip: *const Word,
    hp: *mut Word,
    e: *mut Word,
    reds: i64,
    c: *mut Core,
) -> Exit {
    // SAFETY: the loader has proven the tuple's arity.
    unsafe {
        let tuple = S::read(*ip.add(1), e, c).pointer();
        D::write(*ip.add(3), Term::from_word(*tuple.byte_add(*ip.add(2) as usize)), e, c);
        dispatch(ip.add(4), hp, e, reds, c)
    }
}

/// Two neighbouring elements of one tuple: source, offset of the first, destinations.
pub unsafe fn get_two_elements<S: Read, D: Write, U: Write>(
    ip: *const Word,
    hp: *mut Word,
    e: *mut Word,
    reds: i64,
    c: *mut Core,
) -> Exit {
    // SAFETY: the loader has proven the tuple's arity.
    unsafe {
        let tuple = S::read(*ip.add(1), e, c).pointer();
        let place = tuple.byte_add(*ip.add(2) as usize);
        let (first, second) = (Term::from_word(*place), Term::from_word(*place.add(1)));
        D::write(*ip.add(3), first, e, c);
        U::write(*ip.add(4), second, e, c);
        dispatch(ip.add(5), hp, e, reds, c)
    }
}

/// `set_tuple_element Value, Tuple, Offset in bytes`: the tuple is new and nobody else has it.
pub unsafe fn set_tuple_element(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the loader has proven a tuple of this size that only registers refer to.
    unsafe {
        let tuple = Any::read(*ip.add(2), e, c).pointer();
        *tuple.byte_add(*ip.add(3) as usize) = Any::read(*ip.add(1), e, c).word();
        dispatch(ip.add(4), hp, e, reds, c)
    }
}

/// `put_list Head, Tail, Destination`; room was tested.
pub unsafe fn put_list<H: Read, T: Read, D: Write>(
    ip: *const Word,
    hp: *mut Word,
    e: *mut Word,
    reds: i64,
    c: *mut Core,
) -> Exit {
    // SAFETY: the loader has proven that `test_heap` has made room.
    unsafe {
        *hp = H::read(*ip.add(1), e, c).word();
        *hp.add(1) = T::read(*ip.add(2), e, c).word();
        D::write(*ip.add(3), Term::cons_at(hp), e, c);
        dispatch(ip.add(4), hp.add(2), e, reds, c)
    }
}

/// `put_list Head, Tail, x0`, `deallocate` and `return` in one: head, tail, frame in bytes; room was tested.
pub unsafe fn put_list_return<H: Read, T: Read>(
    ip: *const Word,
    hp: *mut Word,
    e: *mut Word,
    reds: i64,
    c: *mut Core,
) -> Exit {
    // SAFETY: the loader has proven that `test_heap` has made room; the loader checked the frame's size.
    unsafe {
        *hp = H::read(*ip.add(1), e, c).word();
        *hp.add(1) = T::read(*ip.add(2), e, c).word();
        (*c).x[0] = Term::cons_at(hp);
        let e = e.byte_add(*ip.add(3) as usize);
        dispatch(*e as *const Word, hp.add(2), e.add(1), reds, c)
    }
}

/// `put_tuple2` of two elements: destination, elements; room was tested.
pub unsafe fn put_pair<S: Read, T: Read, D: Write>(
    ip: *const Word,
    hp: *mut Word,
    e: *mut Word,
    reds: i64,
    c: *mut Core,
) -> Exit {
    // SAFETY: the loader has proven that `test_heap` has made room.
    unsafe {
        *hp = Header::new(Kind::Tuple, 2).word();
        *hp.add(1) = S::read(*ip.add(2), e, c).word();
        *hp.add(2) = T::read(*ip.add(3), e, c).word();
        D::write(*ip.add(1), Term::boxed_at(hp), e, c);
        dispatch(ip.add(4), hp.add(3), e, reds, c)
    }
}

/// `put_tuple2 Destination, Header, Elements…`; room was tested.
pub unsafe fn put_tuple(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the loader has proven that `test_heap` has made room.
    unsafe {
        let header = *ip.add(2);
        let arity = Header::from_word(header).arity();
        *hp = header;
        for index in 1..=arity {
            *hp.add(index) = Any::read(*ip.add(2 + index), e, c).word();
        }
        Any::write(*ip.add(1), Term::boxed_at(hp), e, c);
        dispatch(ip.add(3 + arity), hp.add(1 + arity), e, reds, c)
    }
}

/// `update_record Source, Destination, Header, Updates, (Offset in words, Value)…`; room was tested.
pub unsafe fn update_record(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the loader has proven the record's size, and that `test_heap` has made room.
    unsafe {
        let source = Any::read(*ip.add(1), e, c).pointer();
        let words = Header::from_word(*ip.add(3)).object_words();
        let updates = *ip.add(4) as usize;
        std::ptr::copy_nonoverlapping(source, hp, words);
        for index in 0..updates {
            let update = ip.add(5 + 2 * index);
            *hp.add(*update as usize) = Any::read(*update.add(1), e, c).word();
        }
        Any::write(*ip.add(2), Term::boxed_at(hp), e, c);
        dispatch(ip.add(5 + 2 * updates), hp.add(words), e, reds, c)
    }
}

/// `make_fun3 Entry, Destination, Free variables…`; room was tested.
pub unsafe fn make_fun(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the loader has proven that `test_heap` has made room; entries live for ever.
    unsafe {
        let entry = *ip.add(1) as *const FunEntry;
        let free = (*entry).free as usize;
        *hp = Header::new(Kind::Fun, 2 + free).word();
        *hp.add(1) = Term::small(entry as i64).word();
        *hp.add(2) = (*(*c).process).pid.word();
        for index in 0..free {
            *hp.add(3 + index) = Any::read(*ip.add(3 + index), e, c).word();
        }
        Any::write(*ip.add(2), Term::boxed_at(hp), e, c);
        dispatch(ip.add(3 + free), hp.add(3 + free), e, reds, c)
    }
}
