//! Matching bitstrings: what common compilers emit most is done here, the rest fetches operands and leaves the meaning
//! to `operations`.

use atoll_loader::instruction::{BitFlags, Register};
use atoll_operations::{Exception, bit_match};
use atoll_term::{Header, Kind, Term, Word};

use crate::handlers::bits::{Table, encoding_of, flags_of};
use crate::handlers::control::any_at;
use crate::operand::{Any, Read, Write, any_register};
use atoll_runtime::core::{Core, Exit, dispatch, fits};
use atoll_runtime::pause::end_soon_if_full;
use atoll_runtime::raise;

/// Words of a match context.
const CONTEXT_WORDS: usize = 5;
/// Most words of the object that a part of a bitstring is.
const PART_WORDS: usize = 4;

/// Runs an operation in a native frame of its own, which is gone when the handler jumps on.
/// The operation must capture nothing: what it captured would have to lie in the handler's frame.
#[inline(never)]
fn apart<T>(
    operation: impl FnOnce(*const Word, *mut Word, *mut Core) -> T,
    ip: *const Word,
    e: *mut Word,
    c: *mut Core,
) -> T {
    operation(ip, e, c)
}

#[inline(always)]
pub(super) unsafe fn fail(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the fail address is an instruction.
    unsafe { dispatch(*ip.add(1) as *const Word, hp, e, reds, c) }
}

/// Goes on with a result, or at the fail address.
#[inline(always)]
pub(super) unsafe fn store(
    result: Option<Term>,
    destination: usize,
    ip: *const Word,
    e: *mut Word,
    reds: i64,
    c: *mut Core,
) -> Exit {
    // SAFETY: the process runs on this core; operands as the translation wrote them.
    unsafe {
        let hp = (*c).top();
        match result {
            Some(term) => {
                Any::write(*ip.add(destination), term, e, c);
                dispatch(ip.add(destination + 1), hp, e, end_soon_if_full(reds, c), c)
            }
            None => fail(ip, hp, e, reds, c),
        }
    }
}

/// `bs_start_match`: fail, value, destination.
pub unsafe fn start_match<S: Read, D: Write>(
    ip: *const Word,
    hp: *mut Word,
    e: *mut Word,
    reds: i64,
    c: *mut Core,
) -> Exit {
    // SAFETY: the process runs on this core; room is tested.
    unsafe {
        let value = S::read(*ip.add(2), e, c);
        if bit_match::Context::of(value).is_some() {
            D::write(*ip.add(3), value, e, c);
            return dispatch(ip.add(4), hp, e, reds, c);
        }
        (*c).operands[0] = value;
        start_match_new::<D>(ip, hp, e, reds, c)
    }
}

/// As [`start_match`], of the value that is left in [`Core`] and no context.
#[inline(never)]
unsafe fn start_match_new<D: Write>(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core; room is tested.
    unsafe {
        let value = (*c).operands[0];
        // Functions of strings ask lists, too, whether they are bitstrings.
        if !value.is_boxed() && *ip.add(1) != 0 {
            return fail(ip, hp, e, reds, c);
        }
        if fits(CONTEXT_WORDS, hp, e, c)
            && let Some(words) = bit_match::new_context(value)
        {
            *hp = Header::new(Kind::MatchContext, CONTEXT_WORDS - 1).word();
            *hp.add(1).cast() = words;
            D::write(*ip.add(3), Term::boxed_at(hp), e, c);
            return dispatch(ip.add(4), hp.add(CONTEXT_WORDS), e, reds, c);
        }
        start_match_slow::<D>(ip, hp, e, reds, c)
    }
}

/// As [`start_match`], of the value that is left in [`Core`].
#[cold]
#[inline(never)]
unsafe fn start_match_slow<D: Write>(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core.
    unsafe {
        (*c).swap_out(hp, e);
        let context = apart(|_, _, c| bit_match::start_match(&mut *(*c).mutator, (*c).operands[0]), ip, e, c);
        let hp = (*c).top();
        match context {
            Some(context) => {
                D::write(*ip.add(3), context, e, c);
                dispatch(ip.add(4), hp, e, end_soon_if_full(reds, c), c)
            }
            None if *ip.add(1) == 0 => raise::plain(Exception::badarg(), ip, hp, e, reds, c),
            None => fail(ip, hp, e, reds, c),
        }
    }
}

/// `bs_get_integer2` of 1 to 56 bits: fail, context, bits, destination.
pub unsafe fn get_small<const LITTLE: bool, const SIGNED: bool, S: Read, D: Write>(
    ip: *const Word,
    hp: *mut Word,
    e: *mut Word,
    reds: i64,
    c: *mut Core,
) -> Exit {
    // SAFETY: operands as the translation wrote them.
    unsafe {
        let bits = *ip.add(3) as usize;
        let context = match bit_match::Context::of(S::read(*ip.add(2), e, c)) {
            Some(context) if bits <= context.remaining() => context,
            _ => return fail(ip, hp, e, reds, c),
        };
        match bit_match::get_small::<LITTLE, SIGNED>(context, bits) {
            Some(value) => {
                D::write(*ip.add(4), value, e, c);
                dispatch(ip.add(5), hp, e, reds, c)
            }
            None => get_small_slow::<LITTLE, SIGNED, S, D>(ip, hp, e, reds, c),
        }
    }
}

/// `bs_get_integer2` of 8 bits: operands as for [`get_small`].
pub unsafe fn get_byte<S: Read, D: Write>(
    ip: *const Word,
    hp: *mut Word,
    e: *mut Word,
    reds: i64,
    c: *mut Core,
) -> Exit {
    // SAFETY: operands as the translation wrote them.
    unsafe {
        let context = match bit_match::Context::of(S::read(*ip.add(2), e, c)) {
            Some(context) if context.remaining() >= 8 => context,
            _ => return fail(ip, hp, e, reds, c),
        };
        match bit_match::get_byte(context) {
            Some(value) => {
                D::write(*ip.add(4), value, e, c);
                dispatch(ip.add(5), hp, e, reds, c)
            }
            None => get_small::<false, false, S, D>(ip, hp, e, reds, c),
        }
    }
}

/// As [`get_small`], in any bitstring.
#[cold]
#[inline(never)]
unsafe fn get_small_slow<const LITTLE: bool, const SIGNED: bool, S: Read, D: Write>(
    ip: *const Word,
    hp: *mut Word,
    e: *mut Word,
    reds: i64,
    c: *mut Core,
) -> Exit {
    // SAFETY: the process runs on this core; a small integer takes no heap.
    unsafe {
        let flags = BitFlags { little: LITTLE, signed: SIGNED };
        let context = S::read(*ip.add(2), e, c);
        match bit_match::get_integer(&mut *(*c).mutator, context, *ip.add(3) as usize, flags) {
            Some(value) => {
                D::write(*ip.add(4), value, e, c);
                dispatch(ip.add(5), hp, e, reds, c)
            }
            None => fail(ip, hp, e, reds, c),
        }
    }
}

/// `bs_match_string` of 1 to 56 bits: fail, context, bits, table, what they are.
pub unsafe fn match_small(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: operands as the translation wrote them.
    unsafe {
        let bits = *ip.add(3) as usize;
        let context = match bit_match::Context::of(any_at(ip, 2, e, c)) {
            Some(context) if bits <= context.remaining() => context,
            _ => return fail(ip, hp, e, reds, c),
        };
        match bit_match::match_small(context, bits, *ip.add(5)) {
            Some(same) => check(same, 6, ip, hp, e, reds, c),
            None => match_string(ip, hp, e, reds, c),
        }
    }
}

/// `bs_skip_bits2` of a constant size: fail, context, bits.
pub unsafe fn skip_constant<S: Read>(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: operands as the translation wrote them.
    unsafe { check(bit_match::skip(S::read(*ip.add(2), e, c), *ip.add(3) as usize), 4, ip, hp, e, reds, c) }
}

/// Writes a part's object to the heap, which has room for it; returns the new heap top.
#[inline(always)]
unsafe fn place(object: bit_match::PartObject, hp: *mut Word) -> *mut Word {
    let (words, length) = object;
    // SAFETY: the caller has tested for `PART_WORDS`; what is written behind the object is free.
    unsafe {
        *hp.cast() = words;
        hp.add(length)
    }
}

/// `bs_get_integer2`: fail, context, size, unit, flags, destination.
pub unsafe fn get_integer(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core.
    unsafe {
        (*c).swap_out(hp, e);
        let result = apart(
            |ip, e, c| {
                let bits = bit_match::segment_bits(any_at(ip, 3, e, c), *ip.add(4) as u16)?;
                bit_match::get_integer(&mut *(*c).mutator, any_at(ip, 2, e, c), bits, flags_of(*ip.add(5)))
            },
            ip,
            e,
            c,
        );
        store(result, 6, ip, e, reds, c)
    }
}

/// `bs_get_float2`: operands as for [`get_integer`].
pub unsafe fn get_float(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core.
    unsafe {
        (*c).swap_out(hp, e);
        let result = apart(
            |ip, e, c| {
                let bits = bit_match::segment_bits(any_at(ip, 3, e, c), *ip.add(4) as u16)?;
                bit_match::get_float(&mut *(*c).mutator, any_at(ip, 2, e, c), bits, flags_of(*ip.add(5)))
            },
            ip,
            e,
            c,
        );
        store(result, 6, ip, e, reds, c)
    }
}

/// `bs_get_binary2`: fail, context, size, unit, destination.
pub unsafe fn get_binary(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core; room is tested.
    unsafe {
        if fits(PART_WORDS, hp, e, c)
            && let Some(bits) = bit_match::segment_bits(any_at(ip, 3, e, c), *ip.add(4) as u16)
            && let Some(object) = bit_match::quick_part::<true>(any_at(ip, 2, e, c), bits)
        {
            Any::write(*ip.add(5), Term::boxed_at(hp), e, c);
            return dispatch(ip.add(6), place(object, hp), e, reds, c);
        }
        get_binary_slow(ip, hp, e, reds, c)
    }
}

#[cold]
#[inline(never)]
unsafe fn get_binary_slow(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core.
    unsafe {
        (*c).swap_out(hp, e);
        let result = apart(
            |ip, e, c| {
                let bits = bit_match::segment_bits(any_at(ip, 3, e, c), *ip.add(4) as u16)?;
                bit_match::get_binary(&mut *(*c).mutator, any_at(ip, 2, e, c), bits)
            },
            ip,
            e,
            c,
        );
        store(result, 5, ip, e, reds, c)
    }
}

/// `bs_get_binary2` of all the rest: fail, context, unit, destination.
pub unsafe fn get_binary_all(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core; room is tested.
    unsafe {
        let context = any_at(ip, 2, e, c);
        if fits(PART_WORDS, hp, e, c)
            && let Some(rest) = bit_match::rest_in_units(context, *ip.add(3) as u16)
            && let Some(object) = bit_match::quick_part::<true>(context, rest)
        {
            Any::write(*ip.add(4), Term::boxed_at(hp), e, c);
            return dispatch(ip.add(5), place(object, hp), e, reds, c);
        }
        get_binary_all_slow(ip, hp, e, reds, c)
    }
}

#[cold]
#[inline(never)]
unsafe fn get_binary_all_slow(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core.
    unsafe {
        (*c).swap_out(hp, e);
        let result = apart(
            |ip, e, c| bit_match::get_binary_all(&mut *(*c).mutator, any_at(ip, 2, e, c), *ip.add(3) as u16),
            ip,
            e,
            c,
        );
        store(result, 4, ip, e, reds, c)
    }
}

#[inline(always)]
unsafe fn check(
    truth: bool,
    length: usize,
    ip: *const Word,
    hp: *mut Word,
    e: *mut Word,
    reds: i64,
    c: *mut Core,
) -> Exit {
    // SAFETY: both addresses are instructions.
    unsafe { if truth { dispatch(ip.add(length), hp, e, reds, c) } else { fail(ip, hp, e, reds, c) } }
}

/// `bs_skip_bits2`: fail, context, size, unit.
pub unsafe fn skip(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: operands as the translation wrote them.
    unsafe {
        check(
            apart(
                |ip, e, c| {
                    let bits = bit_match::segment_bits(any_at(ip, 3, e, c), *ip.add(4) as u16);
                    bits.is_some_and(|bits| bit_match::skip(any_at(ip, 2, e, c), bits))
                },
                ip,
                e,
                c,
            ),
            5,
            ip,
            hp,
            e,
            reds,
            c,
        )
    }
}

/// `bs_skip_bits2` of all: fail, context, unit.
pub unsafe fn skip_all(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: operands as the translation wrote them.
    unsafe {
        check(
            apart(|ip, e, c| bit_match::skip_all(any_at(ip, 2, e, c), *ip.add(3) as u16), ip, e, c),
            4,
            ip,
            hp,
            e,
            reds,
            c,
        )
    }
}

/// `bs_test_tail2`: fail, context, bits.
pub unsafe fn test_tail<S: Read>(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: operands as the translation wrote them.
    unsafe { check(bit_match::test_tail(S::read(*ip.add(2), e, c), *ip.add(3)), 4, ip, hp, e, reds, c) }
}

/// `bs_test_unit`: fail, context, unit.
pub unsafe fn test_unit<S: Read>(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: operands as the translation wrote them.
    unsafe { check(bit_match::test_unit(S::read(*ip.add(2), e, c), *ip.add(3) as u16), 4, ip, hp, e, reds, c) }
}

/// `bs_match_string`: fail, context, bits, table, and what [`match_small`] needs.
pub unsafe fn match_string(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: operands as the translation wrote them; tables live as long as the code.
    unsafe {
        let truth = apart(
            |ip, e, c| match &*(*ip.add(4) as *const Table) {
                Table::Bytes(bytes) => bit_match::match_string(any_at(ip, 2, e, c), bytes, *ip.add(3) as usize),
                _ => false,
            },
            ip,
            e,
            c,
        );
        check(truth, 6, ip, hp, e, reds, c)
    }
}

/// `bs_get_tail`: no fail (0), context, destination.
pub unsafe fn get_tail(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core; room is tested.
    unsafe {
        let context = any_at(ip, 2, e, c);
        if fits(PART_WORDS, hp, e, c)
            && let Some(rest) = bit_match::rest_in_units(context, 1)
            && let Some(object) = bit_match::quick_part::<false>(context, rest)
        {
            Any::write(*ip.add(3), Term::boxed_at(hp), e, c);
            return dispatch(ip.add(4), place(object, hp), e, reds, c);
        }
        get_tail_slow(ip, hp, e, reds, c)
    }
}

#[cold]
#[inline(never)]
unsafe fn get_tail_slow(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core.
    unsafe {
        (*c).swap_out(hp, e);
        let result = apart(
            |ip, e, c| bit_match::get_tail(&mut *(*c).mutator, any_at(ip, 2, e, c)).unwrap_or(Term::NIL),
            ip,
            e,
            c,
        );
        store(Some(result), 3, ip, e, reds, c)
    }
}

/// `bs_get_position`: context, destination.
pub unsafe fn get_position<S: Read, D: Write>(
    ip: *const Word,
    hp: *mut Word,
    e: *mut Word,
    reds: i64,
    c: *mut Core,
) -> Exit {
    // SAFETY: operands as the translation wrote them.
    unsafe {
        let position = bit_match::get_position(S::read(*ip.add(1), e, c)).unwrap_or(Term::small(0));
        D::write(*ip.add(2), position, e, c);
        dispatch(ip.add(3), hp, e, reds, c)
    }
}

/// `bs_set_position`: context, position.
pub unsafe fn set_position<S: Read, T: Read>(
    ip: *const Word,
    hp: *mut Word,
    e: *mut Word,
    reds: i64,
    c: *mut Core,
) -> Exit {
    // SAFETY: operands as the translation wrote them.
    unsafe {
        bit_match::set_position(S::read(*ip.add(1), e, c), T::read(*ip.add(2), e, c));
        dispatch(ip.add(3), hp, e, reds, c)
    }
}

/// `bs_get_utf*`: fail, context, encoding, flags, destination.
pub unsafe fn get_utf(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core.
    unsafe {
        (*c).swap_out(hp, e);
        let result = apart(
            |ip, e, c| bit_match::get_utf(any_at(ip, 2, e, c), encoding_of(*ip.add(3)), flags_of(*ip.add(4))),
            ip,
            e,
            c,
        );
        store(result, 5, ip, e, reds, c)
    }
}

/// `bs_skip_utf*`: fail, context, encoding, flags.
pub unsafe fn skip_utf(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: operands as the translation wrote them.
    unsafe {
        let result = apart(
            |ip, e, c| bit_match::get_utf(any_at(ip, 2, e, c), encoding_of(*ip.add(3)), flags_of(*ip.add(4))),
            ip,
            e,
            c,
        );
        check(result.is_some(), 5, ip, hp, e, reds, c)
    }
}

/// `bs_match`: fail, context, table.
pub unsafe fn match_(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core; tables live as long as the code.
    unsafe {
        (*c).swap_out(hp, e);
        let truth = apart(
            |ip, e, c| {
                let Table::Commands(commands) = &*(*ip.add(3) as *const Table) else { return false };
                let heap = (*c).mutator;
                let write = |register: Register, term: Term| Any::write(any_register(register), term, e, c);
                bit_match::run(&mut *heap, any_at(ip, 2, e, c), commands, write)
            },
            ip,
            e,
            c,
        );
        let reds = end_soon_if_full(reds, c);
        check(truth, 4, ip, (*c).top(), e, reds, c)
    }
}
