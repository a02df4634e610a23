//! Floats: the registers for them, and the operators where no test has said that the operands are integers.
//!
//! A floating-point register's operand is its offset in bytes in [`Core`].

use atoll_operations::{Exception, arithmetic};
use atoll_term::{Header, Kind, Term, Word, atoms};

use crate::handlers::arithmetic::{set_slow, slow_two};
use crate::operand::{Read, Write};
use atoll_runtime::core::{Core, Exit, Slow, dispatch, fits};
use atoll_runtime::raise;

/// Words of a float on the heap.
const WORDS: usize = 2;
const HEADER: Word = Header::new(Kind::Float, 1).word();

/// The value of a float; `None` for other terms.
#[inline(always)]
pub(super) fn boxed_float(term: Term) -> Option<f64> {
    // SAFETY: a boxed term points to a header, a float has one word behind it.
    unsafe { (term.is_boxed() && *term.pointer() == HEADER).then(|| f64::from_bits(*term.pointer().add(1))) }
}

/// The value of a float or small integer.
#[inline(always)]
fn small_or_float(term: Term) -> Option<f64> {
    if term.is_small() { Some(term.small_value() as f64) } else { boxed_float(term) }
}

#[inline(always)]
fn compute<const OPERATION: u8>(left: f64, right: f64) -> f64 {
    match OPERATION {
        0 => left + right,
        1 => left - right,
        2 => left * right,
        _ => left / right,
    }
}

/// Whether the exponent is not the one of infinities and of what is no number.
#[inline(always)]
fn is_finite(value: f64) -> bool {
    value.abs() < f64::INFINITY
}

/// `+` (0), `-` (1), `*` (2), `/` (3) of the operands that the handler has left in [`Core`], which are not both small,
/// or whose result is not: fail, left, right, destination, name.
#[inline(never)]
pub(super) unsafe fn on_floats<const OPERATION: u8, D: Write>(
    ip: *const Word,
    hp: *mut Word,
    e: *mut Word,
    reds: i64,
    c: *mut Core,
) -> Exit {
    // SAFETY: operands as the translation wrote them; the room is tested.
    unsafe {
        let [left, right] = (*c).operands;
        // The quotient of two integers is a float.
        if (OPERATION == 3 || !left.both_small(right))
            && let (Some(a), Some(b)) = (small_or_float(left), small_or_float(right))
        {
            let result = compute::<OPERATION>(a, b);
            if is_finite(result) && fits(WORDS, hp, e, c) {
                *hp = HEADER;
                *hp.add(1) = result.to_bits();
                D::write(*ip.add(4), Term::boxed_at(hp), e, c);
                return dispatch(ip.add(6), hp.add(WORDS), e, reds, c);
            }
        }
        let slow: Slow = match OPERATION {
            0 => arithmetic::add,
            1 => arithmetic::subtract,
            2 => arithmetic::multiply,
            _ => arithmetic::divide,
        };
        set_slow(slow, left, right, c);
        slow_two::<D>(ip, hp, e, reds, c)
    }
}

#[inline(always)]
unsafe fn register(operand: Word, c: *mut Core) -> *mut f64 {
    // SAFETY: the operand is the offset of a floating-point register.
    unsafe { c.byte_add(operand as usize).cast() }
}

/// Arithmetic on floating-point registers: `+` (0), `-` (1), `*` (2), `/` (3); left, right, destination.
pub unsafe fn float_arithmetic<const OPERATION: u8>(
    ip: *const Word,
    hp: *mut Word,
    e: *mut Word,
    reds: i64,
    c: *mut Core,
) -> Exit {
    // SAFETY: the loader checked the registers.
    unsafe {
        let result = compute::<OPERATION>(*register(*ip.add(1), c), *register(*ip.add(2), c));
        if !is_finite(result) {
            return bad_arithmetic(ip, hp, e, reds, c);
        }
        *register(*ip.add(3), c) = result;
        dispatch(ip.add(4), hp, e, reds, c)
    }
}

#[cold]
#[inline(never)]
unsafe fn bad_arithmetic(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core.
    unsafe { raise::plain(Exception::error(atoms::BADARITH), ip, hp, e, reds, c) }
}

/// `fnegate`: source, destination.
pub unsafe fn float_negate(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the loader checked the registers.
    unsafe {
        *register(*ip.add(2), c) = -*register(*ip.add(1), c);
        dispatch(ip.add(3), hp, e, reds, c)
    }
}

/// `fconv`: source, destination.
pub unsafe fn float_convert<S: Read>(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: operands as the translation wrote them.
    unsafe {
        let source = S::read(*ip.add(1), e, c);
        match small_or_float(source) {
            Some(value) => {
                *register(*ip.add(2), c) = value;
                dispatch(ip.add(3), hp, e, reds, c)
            }
            None => {
                (*c).operands[0] = source;
                convert_large(ip, hp, e, reds, c)
            }
        }
    }
}

/// As [`float_convert`], of what is left in [`Core`].
#[cold]
#[inline(never)]
unsafe fn convert_large(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: operands as the translation wrote them.
    unsafe {
        match atoll_operations::to_float((*c).operands[0]) {
            Some(value) => {
                *register(*ip.add(2), c) = value;
                dispatch(ip.add(3), hp, e, reds, c)
            }
            None => bad_arithmetic(ip, hp, e, reds, c),
        }
    }
}

/// `fmove Source, FloatRegister`
pub unsafe fn float_load<S: Read>(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the loader has proven a float.
    unsafe {
        let boxed = S::read(*ip.add(1), e, c).pointer();
        *register(*ip.add(2), c) = f64::from_bits(*boxed.add(1));
        dispatch(ip.add(3), hp, e, reds, c)
    }
}

/// `fmove FloatRegister, Destination`; room was tested.
pub unsafe fn float_store<D: Write>(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the loader has proven that `test_heap` has made room.
    unsafe {
        *hp = HEADER;
        *hp.add(1) = (*register(*ip.add(1), c)).to_bits();
        D::write(*ip.add(2), Term::boxed_at(hp), e, c);
        dispatch(ip.add(3), hp.add(WORDS), e, reds, c)
    }
}
