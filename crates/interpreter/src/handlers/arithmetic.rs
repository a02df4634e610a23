//! Arithmetic with its fast paths, guard functions, built-in operators.
//!
//! Operand 1 is the fail address, 0 where a failure raises.

use atoll_operations::{Exception, arithmetic};
use atoll_process::{Caller, Interrupt, Native};
use atoll_term::{Export, Kind, Term, Word};

use crate::handlers::control::any_at;
use crate::handlers::float::on_floats;
use crate::operand::{Any, Read, Write, both_small};
use atoll_runtime::core::{Core, Exit, Slow, dispatch};
use atoll_runtime::pause::end_soon_if_full;
use atoll_runtime::raise;

/// `+` and `-`: fail, left, right, destination, name.
pub unsafe fn add_subtract<const ADD: bool, S: Read, T: Read, D: Write>(
    ip: *const Word,
    hp: *mut Word,
    e: *mut Word,
    reds: i64,
    c: *mut Core,
) -> Exit {
    // SAFETY: operands as the translation wrote them.
    unsafe {
        let (left, right) = (S::read(*ip.add(2), e, c), T::read(*ip.add(3), e, c));
        if both_small::<S, T>(left, right) {
            let (a, b) = (left.word() as i64, (right.word() & !0xf) as i64);
            let (sum, overflow) = if ADD { a.overflowing_add(b) } else { a.overflowing_sub(b) };
            if !overflow {
                D::write(*ip.add(4), Term::from_word(sum as u64), e, c);
                return dispatch(ip.add(6), hp, e, reds, c);
            }
        }
        (*c).operands = [left, right];
        if ADD { on_floats::<0, D>(ip, hp, e, reds, c) } else { on_floats::<1, D>(ip, hp, e, reds, c) }
    }
}

/// `*`: fail, left, right, destination, name.
pub unsafe fn multiply<S: Read, T: Read, D: Write>(
    ip: *const Word,
    hp: *mut Word,
    e: *mut Word,
    reds: i64,
    c: *mut Core,
) -> Exit {
    // SAFETY: operands as the translation wrote them.
    unsafe {
        let (left, right) = (S::read(*ip.add(2), e, c), T::read(*ip.add(3), e, c));
        if both_small::<S, T>(left, right)
            && let Some(product) = ((left.word() & !0xf) as i64).checked_mul(right.small_value())
        {
            D::write(*ip.add(4), Term::from_word(product as u64 | 0xf), e, c);
            return dispatch(ip.add(6), hp, e, reds, c);
        }
        (*c).operands = [left, right];
        on_floats::<2, D>(ip, hp, e, reds, c)
    }
}

/// `/`: fail, left, right, destination, name.
pub unsafe fn divide_floats<S: Read, T: Read, D: Write>(
    ip: *const Word,
    hp: *mut Word,
    e: *mut Word,
    reds: i64,
    c: *mut Core,
) -> Exit {
    // SAFETY: operands as the translation wrote them.
    unsafe {
        (*c).operands = [S::read(*ip.add(2), e, c), T::read(*ip.add(3), e, c)];
        on_floats::<3, D>(ip, hp, e, reds, c)
    }
}

/// `div` and `rem`: fail, left, right, destination, name.
pub unsafe fn divide<const REMAINDER: bool, S: Read, T: Read, D: Write>(
    ip: *const Word,
    hp: *mut Word,
    e: *mut Word,
    reds: i64,
    c: *mut Core,
) -> Exit {
    // SAFETY: operands as the translation wrote them.
    unsafe {
        let (left, right) = (S::read(*ip.add(2), e, c), T::read(*ip.add(3), e, c));
        if both_small::<S, T>(left, right) && right.small_value() > 0 {
            let (a, b) = (left.small_value(), right.small_value());
            D::write(*ip.add(4), Term::small(if REMAINDER { a % b } else { a / b }), e, c);
            return dispatch(ip.add(6), hp, e, reds, c);
        }
        let slow: Slow = if REMAINDER { arithmetic::remainder } else { arithmetic::integer_divide };
        set_slow(slow, left, right, c);
        slow_two::<D>(ip, hp, e, reds, c)
    }
}

/// `band` (0), `bor` (1), `bxor` (2): fail, left, right, destination, name.
pub unsafe fn bitwise<const OPERATION: u8, S: Read, T: Read, D: Write>(
    ip: *const Word,
    hp: *mut Word,
    e: *mut Word,
    reds: i64,
    c: *mut Core,
) -> Exit {
    // SAFETY: operands as the translation wrote them.
    unsafe {
        let (left, right) = (S::read(*ip.add(2), e, c), T::read(*ip.add(3), e, c));
        if both_small::<S, T>(left, right) {
            let (a, b) = (left.word(), right.word());
            let result = match OPERATION {
                0 => a & b,
                1 => a | b,
                _ => (a ^ b) | 0xf,
            };
            D::write(*ip.add(4), Term::from_word(result), e, c);
            return dispatch(ip.add(6), hp, e, reds, c);
        }
        let slow: Slow = match OPERATION {
            0 => arithmetic::band,
            1 => arithmetic::bor,
            _ => arithmetic::bxor,
        };
        set_slow(slow, left, right, c);
        slow_two::<D>(ip, hp, e, reds, c)
    }
}

/// `bsl` and `bsr` (`RIGHT`): fail, left, right, destination, name.
pub unsafe fn shift<const RIGHT: bool, S: Read, T: Read, D: Write>(
    ip: *const Word,
    hp: *mut Word,
    e: *mut Word,
    reds: i64,
    c: *mut Core,
) -> Exit {
    // SAFETY: operands as the translation wrote them.
    unsafe {
        let (left, right) = (S::read(*ip.add(2), e, c), T::read(*ip.add(3), e, c));
        if both_small::<S, T>(left, right) {
            let (value, count) = (left.small_value(), right.small_value());
            let result = if RIGHT && count >= 0 {
                Some(Term::small(value >> count.min(63)))
            } else if !RIGHT && (0..60).contains(&count) {
                // Shifting back shows whether a bit was lost.
                let shifted = value << count;
                if shifted >> count == value { Term::try_small(shifted) } else { None }
            } else {
                None
            };
            if let Some(result) = result {
                D::write(*ip.add(4), result, e, c);
                return dispatch(ip.add(6), hp, e, reds, c);
            }
        }
        let slow: Slow = if RIGHT { arithmetic::bsr } else { arithmetic::bsl };
        set_slow(slow, left, right, c);
        slow_two::<D>(ip, hp, e, reds, c)
    }
}

/// Leaves an operation and its operands for [`slow_two`], which then has few enough arguments to be a jump.
#[inline(always)]
pub(super) unsafe fn set_slow(operation: Slow, left: Term, right: Term, c: *mut Core) {
    // SAFETY: the core is that of the running process.
    unsafe {
        (*c).operands = [left, right];
        (*c).pending = Some(operation);
    }
}

/// Carries out the operation that [`set_slow`] has left.
#[cold]
#[inline(never)]
pub(super) unsafe fn slow_two<D: Write>(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core.
    unsafe {
        (*c).swap_out(hp, e);
        let result = run_pending(c);
        if result.is_none() {
            return slow_failed(ip, (*c).top(), e, reds, c);
        }
        D::write(*ip.add(4), result, e, c);
        dispatch(ip.add(6), (*c).top(), e, end_soon_if_full(reds, c), c)
    }
}

/// Carries out the operation that [`set_slow`] has left; `NONE` if it fails.
#[inline(never)]
unsafe fn run_pending(c: *mut Core) -> Term {
    // SAFETY: the process runs on this core.
    unsafe {
        let core = &mut *c;
        match core.pending {
            Some(operation) => {
                let [left, right] = core.operands;
                let result = operation(&mut *core.mutator, left, right);
                core.settle(result)
            }
            None => Term::NONE,
        }
    }
}

#[cold]
#[inline(never)]
unsafe fn slow_failed(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core.
    unsafe {
        let exception = (*c).take_failure();
        match *ip.add(1) {
            0 if *ip.add(5) == Term::NONE.word() => raise::plain(exception, ip, hp, e, reds, c),
            0 => raise::operator(exception, *ip.add(5), &(*c).operands, ip, hp, e, reds, c),
            fail => dispatch(fail as *const Word, hp, e, reds, c),
        }
    }
}

/// `abs`, as a flag of [`quick_guard`].
pub const ABS: u8 = 0;
/// `byte_size`
pub const BYTE_SIZE: u8 = 1;
/// `tuple_size`
pub const TUPLE_SIZE: u8 = 2;
/// `length`
pub const LENGTH: u8 = 3;

/// Longest list whose length is counted here.
const SHORT: i64 = 64;

/// A guard function of one argument, where its result is at hand; otherwise, and with the operands of, [`guard`].
pub unsafe fn quick_guard<const FUNCTION: u8>(
    ip: *const Word,
    hp: *mut Word,
    e: *mut Word,
    reds: i64,
    c: *mut Core,
) -> Exit {
    // SAFETY: operands as the translation wrote them.
    unsafe {
        match quick_result(FUNCTION, any_at(ip, 5, e, c)) {
            Some(value) => {
                Any::write(*ip.add(6), Term::small(value), e, c);
                dispatch(ip.add(7), hp, e, reds, c)
            }
            None => guard(ip, hp, e, reds, c),
        }
    }
}

#[inline(always)]
fn quick_result(function: u8, argument: Term) -> Option<i64> {
    match function {
        // The smallest integer has no counterpart among small ones.
        ABS => argument.as_small().map(i64::abs).filter(|value| *value <= atoll_term::SMALL_MAX),
        BYTE_SIZE => match argument.boxed_kind()? {
            Kind::HeapBits | Kind::BinaryHandle => Some(argument.bits()?.length().div_ceil(8) as i64),
            _ => None,
        },
        TUPLE_SIZE => argument.tuple_elements().map(|elements| elements.len() as i64),
        _ => {
            let (mut list, mut length) = (argument, 0);
            while list.is_cons() && length < SHORT {
                list = list.tail();
                length += 1;
            }
            list.is_nil().then_some(length)
        }
    }
}

/// A guard function or an operator of one to three arguments: fail, function, export, arity, arguments…, destination.
#[inline(never)]
pub unsafe fn guard(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: operands as the translation wrote them.
    unsafe {
        (*c).swap_out(hp, e);
        let result = call_guard(ip, e, reds, c);
        if result.is_none() {
            return guard_failed(ip, (*c).top(), e, reds, c);
        }
        let arity = *ip.add(4) as usize;
        Any::write(*ip.add(5 + arity), result, e, c);
        dispatch(ip.add(6 + arity), (*c).top(), e, end_soon_if_full(reds, c), c)
    }
}

unsafe fn guard_arguments(ip: *const Word, e: *mut Word, c: *mut Core) -> ([Term; 3], usize) {
    // SAFETY: operands as the translation wrote them.
    unsafe {
        let arity = *ip.add(4) as usize;
        let mut arguments = [Term::NIL; 3];
        for (index, argument) in arguments.iter_mut().enumerate().take(arity) {
            *argument = any_at(ip, 5 + index, e, c);
        }
        (arguments, arity)
    }
}

/// The value of a guard function; `NONE` if it fails.
#[inline(never)]
unsafe fn call_guard(ip: *const Word, e: *mut Word, reds: i64, c: *mut Core) -> Term {
    // SAFETY: operands as the translation wrote them; the function is a `Native`.
    unsafe {
        let function = std::mem::transmute::<Word, Native>(*ip.add(2));
        let (arguments, arity) = guard_arguments(ip, e, c);
        let core = &mut *c;
        let mut caller = Caller { process: &*core.process, own: &mut *core.own, reductions: reds, at: ip };
        let result = function(&mut caller, &arguments[..arity]).map_err(|interrupt| match interrupt {
            Interrupt::Raise(exception) => exception,
            _ => Exception::badarg(),
        });
        core.settle(result)
    }
}

#[cold]
#[inline(never)]
unsafe fn guard_failed(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: operands as the translation wrote them.
    unsafe {
        let exception = (*c).take_failure();
        if *ip.add(1) != 0 {
            return dispatch(*ip.add(1) as *const Word, hp, e, reds, c);
        }
        let export = &*(*ip.add(3) as *const Export);
        let (arguments, arity) = guard_arguments(ip, e, c);
        raise::built_in(exception, export, &arguments[..arity], ip, hp, e, reds, c)
    }
}

/// `hd` and `tl`: word `N` of a cons; fail, source, destination, name.
pub unsafe fn list_half<const N: usize, D: Write>(
    ip: *const Word,
    hp: *mut Word,
    e: *mut Word,
    reds: i64,
    c: *mut Core,
) -> Exit {
    // SAFETY: operands as the translation wrote them.
    unsafe {
        let value = any_at(ip, 2, e, c);
        if value.is_cons() {
            D::write(*ip.add(3), Term::from_word(*value.pointer().add(N)), e, c);
            return dispatch(ip.add(5), hp, e, reds, c);
        }
        match *ip.add(1) {
            0 => raise::operator(Exception::badarg(), *ip.add(4), &[value], ip, hp, e, reds, c),
            fail => dispatch(fail as *const Word, hp, e, reds, c),
        }
    }
}

/// `element`: fail, position, tuple, destination, name.
pub unsafe fn element<S: Read, T: Read, D: Write>(
    ip: *const Word,
    hp: *mut Word,
    e: *mut Word,
    reds: i64,
    c: *mut Core,
) -> Exit {
    // SAFETY: operands as the translation wrote them.
    unsafe {
        let (position, tuple) = (S::read(*ip.add(2), e, c), T::read(*ip.add(3), e, c));
        if let (Some(position), Some(elements)) = (position.as_small(), tuple.tuple_elements())
            && let Some(value) = elements.get((position as usize).wrapping_sub(1))
        {
            D::write(*ip.add(4), *value, e, c);
            return dispatch(ip.add(6), hp, e, reds, c);
        }
        (*c).operands = [position, tuple];
        no_element(ip, hp, e, reds, c)
    }
}

/// The tuple that [`element`] has left in [`Core`] has no such element.
#[cold]
#[inline(never)]
unsafe fn no_element(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: operands as the translation wrote them.
    unsafe {
        match *ip.add(1) {
            0 => raise::operator(Exception::badarg(), *ip.add(5), &(*c).operands, ip, hp, e, reds, c),
            fail => dispatch(fail as *const Word, hp, e, reds, c),
        }
    }
}

/// `self/0`: destination.
pub unsafe fn self_<D: Write>(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core.
    unsafe {
        D::write(*ip.add(1), (*(*c).process).pid, e, c);
        dispatch(ip.add(2), hp, e, reds, c)
    }
}
