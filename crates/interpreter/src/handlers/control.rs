//! Calls, returns, frames, room, jumps and selections.
//!
//! A frame is its Y registers; a call pushes the return address below them, a return pops it:
//!
//! ```text
//!   stack_base  | finish                   |   higher addresses
//!               | y1  y0 of the first      |
//!               | return address into it   |
//!        e ->   | y2 y1 y0 of the running  |   lower addresses; one word below e is always free
//! ```

use atoll_heap::{Collection, debt};
use atoll_term::{Export, Header, Kind, Term, Word};

use crate::operand::{Any, Read, Write, X};
use atoll_runtime::core::{Core, Exit, dispatch, resume};
use atoll_runtime::pause::{collect, enter, stress_is_due};
use atoll_runtime::raise;

/// `call Target, Arity`
pub unsafe fn call(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the word below the frame is free.
    unsafe {
        let e = e.sub(1);
        *e = ip.add(3) as Word;
        enter(*ip.add(1) as *const Word, *ip.add(2), hp, e, reds, c)
    }
}

/// `call_last Target, Arity, Frame in bytes`; also `call_only` with a frame of 0.
pub unsafe fn call_last(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the loader checked the frame's size.
    unsafe {
        let e = e.byte_add(*ip.add(3) as usize);
        enter(*ip.add(1) as *const Word, *ip.add(2), hp, e, reds, c)
    }
}

/// `call_only Target, Arity`
pub unsafe fn call_only(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: operands as the translation wrote them.
    unsafe { enter(*ip.add(1) as *const Word, *ip.add(2), hp, e, reds, c) }
}

#[inline(always)]
unsafe fn export_address(export: Word) -> *const Word {
    // SAFETY: exports live for ever, and always have an address.
    unsafe { (*(export as *const Export)).address.load(std::sync::atomic::Ordering::Acquire) }
}

/// `call_ext Export, Arity`
pub unsafe fn call_ext(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the word below the frame is free.
    unsafe {
        let e = e.sub(1);
        *e = ip.add(3) as Word;
        enter(export_address(*ip.add(1)), *ip.add(2), hp, e, reds, c)
    }
}

/// `call_ext_last Export, Arity, Frame in bytes`
pub unsafe fn call_ext_last(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the loader checked the frame's size.
    unsafe {
        let e = e.byte_add(*ip.add(3) as usize);
        enter(export_address(*ip.add(1)), *ip.add(2), hp, e, reds, c)
    }
}

/// `return`
pub unsafe fn return_(_ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the stack pointer is at the return address.
    unsafe { dispatch(*e as *const Word, hp, e.add(1), reds, c) }
}

/// `deallocate` and `return` in one: frame in bytes.
pub unsafe fn deallocate_return(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the loader checked the frame's size.
    unsafe {
        let e = e.byte_add(*ip.add(1) as usize);
        dispatch(*e as *const Word, hp, e.add(1), reds, c)
    }
}

/// `move Source, x0`, `deallocate` and `return` in one: source, frame in bytes.
pub unsafe fn move_return<S: Read>(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the loader checked the frame's size.
    unsafe {
        (*c).x[0] = S::read(*ip.add(1), e, c);
        let e = e.byte_add(*ip.add(2) as usize);
        dispatch(*e as *const Word, hp, e.add(1), reds, c)
    }
}

/// `allocate` and `allocate_heap`: frame in bytes, frame with room in bytes (and one word), live registers.
pub unsafe fn allocate<const UNITED: bool>(
    ip: *const Word,
    hp: *mut Word,
    e: *mut Word,
    reds: i64,
    c: *mut Core,
) -> Exit {
    // SAFETY: addresses are compared before anything is written.
    unsafe {
        let frame = *ip.add(1) as usize;
        let room = *ip.add(2) as usize;
        if !frame_fits::<UNITED>(frame, room, hp, e, c) {
            return allocate_slow(ip, hp, e, reds, c);
        }
        dispatch(ip.add(4), hp, e.byte_sub(frame), reds, c)
    }
}

/// Whether a frame fits, and `room` bytes with it (and one word).
#[inline(always)]
pub(super) unsafe fn frame_fits<const UNITED: bool>(
    frame: usize,
    room: usize,
    hp: *mut Word,
    e: *mut Word,
    c: *mut Core,
) -> bool {
    // SAFETY: addresses are compared only.
    unsafe {
        if UNITED {
            hp.wrapping_byte_add(room) <= e
        } else {
            hp.wrapping_byte_add(room - frame - 8) <= (*c).heap_limit
                && e.wrapping_byte_sub(frame + 8) >= (*c).stack_limit
        }
    }
}

/// Collects for a frame and `room` bytes with it (and one word).
pub(super) unsafe fn collect_for_frame(
    frame: usize,
    room: usize,
    live: usize,
    hp: *mut Word,
    e: *mut Word,
    c: *mut Core,
) -> Option<(*mut Word, *mut Word)> {
    let request =
        Collection { heap_words: (room - frame - 8) / 8, stack_words: frame / 8 + 1, ..Collection::default() };
    // SAFETY: the process runs on this core.
    unsafe { collect(request, live, hp, e, c) }
}

/// As [`allocate`], after a collection.
#[cold]
#[inline(never)]
pub unsafe fn allocate_slow(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core.
    unsafe {
        let frame = *ip.add(1) as usize;
        match collect_for_frame(frame, *ip.add(2) as usize, *ip.add(3) as usize, hp, e, c) {
            Some((hp, e)) => resume(ip.add(4), hp, e.byte_sub(frame), reds - debt::take(), c),
            None => raise::killed_by_heap_limit(c, reds),
        }
    }
}

/// `test_heap`: room in bytes (and one word), live registers.
pub unsafe fn test_heap<const UNITED: bool>(
    ip: *const Word,
    hp: *mut Word,
    e: *mut Word,
    reds: i64,
    c: *mut Core,
) -> Exit {
    // SAFETY: addresses are compared only.
    unsafe {
        let room = *ip.add(1) as usize;
        let fits =
            if UNITED { hp.wrapping_byte_add(room) <= e } else { hp.wrapping_byte_add(room - 8) <= (*c).heap_limit };
        if !fits {
            return test_heap_slow(ip, hp, e, reds, c);
        }
        dispatch(ip.add(3), hp, e, reds, c)
    }
}

/// As [`test_heap`], after a collection.
#[cold]
#[inline(never)]
pub unsafe fn test_heap_slow(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core.
    unsafe {
        let request = Collection { heap_words: (*ip.add(1) as usize - 8) / 8, stack_words: 1, ..Collection::default() };
        match collect(request, *ip.add(2) as usize, hp, e, c) {
            Some((hp, e)) => resume(ip.add(3), hp, e, reds - debt::take(), c),
            None => raise::killed_by_heap_limit(c, reds),
        }
    }
}

/// As [`allocate`], for `--gc-stress`.
pub unsafe fn allocate_stress<const UNITED: bool>(
    ip: *const Word,
    hp: *mut Word,
    e: *mut Word,
    reds: i64,
    c: *mut Core,
) -> Exit {
    // SAFETY: as in the functions called.
    unsafe { if stress_is_due() { allocate_slow(ip, hp, e, reds, c) } else { allocate::<UNITED>(ip, hp, e, reds, c) } }
}

/// As [`test_heap`], for `--gc-stress`.
pub unsafe fn test_heap_stress<const UNITED: bool>(
    ip: *const Word,
    hp: *mut Word,
    e: *mut Word,
    reds: i64,
    c: *mut Core,
) -> Exit {
    // SAFETY: as in the functions called.
    unsafe {
        if stress_is_due() { test_heap_slow(ip, hp, e, reds, c) } else { test_heap::<UNITED>(ip, hp, e, reds, c) }
    }
}

/// `deallocate Frame in bytes`; also `trim`.
pub unsafe fn deallocate(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the loader checked the frame's size.
    unsafe { dispatch(ip.add(2), hp, e.byte_add(*ip.add(1) as usize), reds, c) }
}

/// `init_yregs Count, Offsets…`
pub unsafe fn init_yregs(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the loader checked that the slots are in the frame.
    unsafe {
        let count = *ip.add(1) as usize;
        for index in 0..count {
            *e.byte_add(*ip.add(2 + index) as usize) = Term::NIL.word();
        }
        dispatch(ip.add(2 + count), hp, e, reds, c)
    }
}

/// `init_yregs` of one slot: offset.
pub unsafe fn init_one(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the loader checked that the slot is in the frame.
    unsafe {
        *e.byte_add(*ip.add(1) as usize) = Term::NIL.word();
        dispatch(ip.add(2), hp, e, reds, c)
    }
}

/// A move and `call` in one: target, arity, source, destination.
pub unsafe fn move_call<S: Read, D: Write>(
    ip: *const Word,
    hp: *mut Word,
    e: *mut Word,
    reds: i64,
    c: *mut Core,
) -> Exit {
    // SAFETY: operands as the translation wrote them; the word below the frame is free.
    unsafe {
        D::write(*ip.add(4), S::read(*ip.add(3), e, c), e, c);
        let e = e.sub(1);
        *e = ip.add(5) as Word;
        enter(*ip.add(1) as *const Word, *ip.add(2), hp, e, reds, c)
    }
}

/// Two moves, the second to an X register, and `call` in one: target, arity, source, destination, source, destination.
pub unsafe fn move_two_call<S: Read, D: Write, T: Read>(
    ip: *const Word,
    hp: *mut Word,
    e: *mut Word,
    reds: i64,
    c: *mut Core,
) -> Exit {
    // SAFETY: operands as the translation wrote them; the word below the frame is free.
    unsafe {
        D::write(*ip.add(4), S::read(*ip.add(3), e, c), e, c);
        X::write(*ip.add(6), T::read(*ip.add(5), e, c), e, c);
        let e = e.sub(1);
        *e = ip.add(7) as Word;
        enter(*ip.add(1) as *const Word, *ip.add(2), hp, e, reds, c)
    }
}

/// A move to an X register and `call_last` or `call_only` in one: target, arity, source, destination, frame in bytes.
pub unsafe fn move_call_last<S: Read>(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: operands as the translation wrote them; the loader checked the frame's size.
    unsafe {
        X::write(*ip.add(4), S::read(*ip.add(3), e, c), e, c);
        let e = e.byte_add(*ip.add(5) as usize);
        enter(*ip.add(1) as *const Word, *ip.add(2), hp, e, reds, c)
    }
}

/// `jump Target`
pub unsafe fn jump(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the target is an instruction.
    unsafe { dispatch(*ip.add(1) as *const Word, hp, e, reds, c) }
}

/// `select_val` over few keys, or keys that are no immediates in order: value, fail, count, (key, target)….
pub unsafe fn select_linear<S: Read>(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: operands as the translation wrote them.
    unsafe {
        let value = S::read(*ip.add(1), e, c).word();
        let count = *ip.add(3) as usize;
        let mut case = ip.add(4);
        for _ in 0..count {
            if *case == value {
                return dispatch(*case.add(1) as *const Word, hp, e, reds, c);
            }
            case = case.add(2);
        }
        dispatch(*ip.add(2) as *const Word, hp, e, reds, c)
    }
}

/// `select_val` over many immediates, sorted by their words: operands as for [`select_linear`].
pub unsafe fn select_sorted<S: Read>(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: operands as the translation wrote them.
    unsafe {
        let value = S::read(*ip.add(1), e, c).word();
        let cases = std::slice::from_raw_parts(ip.add(4).cast::<[Word; 2]>(), *ip.add(3) as usize);
        let target = match cases.binary_search_by_key(&value, |case| case[0]) {
            Ok(found) => cases[found][1],
            Err(_) => *ip.add(2),
        };
        dispatch(target as *const Word, hp, e, reds, c)
    }
}

/// `select_val` over integers that follow each other: value, fail, first, count, targets….
pub unsafe fn select_table<S: Read>(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: operands as the translation wrote them.
    unsafe {
        let value = S::read(*ip.add(1), e, c);
        let index = value.small_value().wrapping_sub(*ip.add(3) as i64) as u64;
        let target = if value.is_small() && index < *ip.add(4) { *ip.add(5 + index as usize) } else { *ip.add(2) };
        dispatch(target as *const Word, hp, e, reds, c)
    }
}

/// `select_tuple_arity`: operands as for [`select_linear`], keys are headers.
pub unsafe fn select_tuple_arity<S: Read>(
    ip: *const Word,
    hp: *mut Word,
    e: *mut Word,
    reds: i64,
    c: *mut Core,
) -> Exit {
    // SAFETY: a boxed term points to a header.
    unsafe {
        let value = S::read(*ip.add(1), e, c);
        if value.is_boxed() {
            let header = *value.pointer();
            let count = *ip.add(3) as usize;
            let mut case = ip.add(4);
            for _ in 0..count {
                if *case == header {
                    return dispatch(*case.add(1) as *const Word, hp, e, reds, c);
                }
                case = case.add(2);
            }
        }
        dispatch(*ip.add(2) as *const Word, hp, e, reds, c)
    }
}

/// The header of a tuple with this arity.
pub fn tuple_header(arity: u32) -> Word {
    Header::new(Kind::Tuple, arity as usize).word()
}

/// Reads the operand of [`Any`] kind at `ip[index]`.
#[inline(always)]
pub unsafe fn any_at(ip: *const Word, index: usize, e: *mut Word, c: *mut Core) -> Term {
    // SAFETY: operands as the translation wrote them.
    unsafe { Any::read(*ip.add(index), e, c) }
}
