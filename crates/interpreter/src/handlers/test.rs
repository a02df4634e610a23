//! Tests: fall through when true, jump when false. Operand 1 is the fail address.

use atoll_loader::instruction::TypeTest;
use atoll_operations::Exception;
use atoll_term::{Header, Kind, Term, View, Word, atoms};

use crate::handlers::control::any_at;
use crate::handlers::float::boxed_float;
use crate::operand::{Read, both_small};
use atoll_runtime::core::{Core, Exit, dispatch};
use atoll_runtime::raise;

#[inline(always)]
unsafe fn branch(
    truth: bool,
    length: usize,
    ip: *const Word,
    hp: *mut Word,
    e: *mut Word,
    reds: i64,
    c: *mut Core,
) -> Exit {
    // SAFETY: the fail address is an instruction.
    unsafe {
        if truth {
            dispatch(ip.add(length), hp, e, reds, c)
        } else {
            dispatch(*ip.add(1) as *const Word, hp, e, reds, c)
        }
    }
}

/// A test of one value, chosen at translation: the constants are the numbers of [`TypeTest`].
pub unsafe fn type_test<const TEST: u8, S: Read>(
    ip: *const Word,
    hp: *mut Word,
    e: *mut Word,
    reds: i64,
    c: *mut Core,
) -> Exit {
    // SAFETY: operands as the translation wrote them.
    unsafe {
        let value = S::read(*ip.add(2), e, c);
        branch(holds(TEST, value), 3, ip, hp, e, reds, c)
    }
}

#[inline(always)]
fn holds(test: u8, value: Term) -> bool {
    const INTEGER: u8 = TypeTest::Integer as u8;
    const FLOAT: u8 = TypeTest::Float as u8;
    const NUMBER: u8 = TypeTest::Number as u8;
    const ATOM: u8 = TypeTest::Atom as u8;
    const PID: u8 = TypeTest::Pid as u8;
    const REFERENCE: u8 = TypeTest::Reference as u8;
    const PORT: u8 = TypeTest::Port as u8;
    const NIL: u8 = TypeTest::Nil as u8;
    const BINARY: u8 = TypeTest::Binary as u8;
    const BITSTRING: u8 = TypeTest::Bitstring as u8;
    const LIST: u8 = TypeTest::List as u8;
    const NONEMPTY_LIST: u8 = TypeTest::NonemptyList as u8;
    const TUPLE: u8 = TypeTest::Tuple as u8;
    const MAP: u8 = TypeTest::Map as u8;
    const FUNCTION: u8 = TypeTest::Function as u8;
    const BOOLEAN: u8 = TypeTest::Boolean as u8;
    match test {
        INTEGER => value.is_integer(),
        FLOAT => value.is_float(),
        NUMBER => value.is_integer() || value.is_float(),
        ATOM => value.is_atom(),
        PID => value.is_pid(),
        REFERENCE => value.is_reference(),
        PORT => value.is_port(),
        NIL => value.is_nil(),
        BINARY => value.is_binary(),
        BITSTRING => value.is_bitstring(),
        LIST => value.is_list(),
        NONEMPTY_LIST => value.is_cons(),
        TUPLE => value.is_tuple(),
        MAP => value.is_map(),
        FUNCTION => value.is_fun(),
        BOOLEAN => value == atoms::TRUE || value == atoms::FALSE,
        _ => false,
    }
}

/// Shapes in operands of [`expect`]: a cons.
pub const CONS: Word = 0;
/// A tuple of at least so many elements.
pub const TUPLE: Word = 1;
/// A tuple of so many elements.
pub const TUPLE_OF: Word = 2;
/// A map.
pub const MAP: Word = 3;
/// A float.
pub const FLOAT: Word = 4;

/// Raises `badarg` unless a value is what the next instruction looks into: value, shape, number of elements. Compilers
/// hardly write code that needs it, so there is one handler for all.
pub unsafe fn expect(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core; operands as the translation wrote them.
    unsafe {
        let value = any_at(ip, 1, e, c);
        if is_of_shape(value, *ip.add(2), *ip.add(3)) {
            dispatch(ip.add(4), hp, e, reds, c)
        } else {
            unexpected(ip, hp, e, reds, c)
        }
    }
}

#[inline(always)]
fn is_of_shape(value: Term, shape: Word, number: Word) -> bool {
    match shape {
        TUPLE => value.is_boxed() && value.header().kind() == Kind::Tuple && value.header().arity() as Word >= number,
        TUPLE_OF => value.is_boxed() && value.header() == Header::new(Kind::Tuple, number as usize),
        CONS => value.is_cons(),
        MAP => value.is_map(),
        _ => value.is_float(),
    }
}

#[cold]
#[inline(never)]
unsafe fn unexpected(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core.
    unsafe { raise::plain(Exception::badarg(), ip, hp, e, reds, c) }
}

/// `test_arity`: value (a tuple), header.
pub unsafe fn test_arity<S: Read>(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the loader has proven a tuple.
    unsafe {
        let value = S::read(*ip.add(2), e, c);
        branch(*value.pointer() == *ip.add(3), 4, ip, hp, e, reds, c)
    }
}

/// `is_tuple` and `test_arity` in one: value, header.
pub unsafe fn is_tuple_of_arity<S: Read>(
    ip: *const Word,
    hp: *mut Word,
    e: *mut Word,
    reds: i64,
    c: *mut Core,
) -> Exit {
    // SAFETY: a boxed term points to a header.
    unsafe {
        let value = S::read(*ip.add(2), e, c);
        branch(value.is_boxed() && *value.pointer() == *ip.add(3), 4, ip, hp, e, reds, c)
    }
}

/// `is_tagged_tuple`: value, header, tag.
pub unsafe fn is_tagged_tuple<S: Read>(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: a boxed term points to a header; a tuple of this header has a first element.
    unsafe {
        let value = S::read(*ip.add(2), e, c);
        let truth = value.is_boxed() && {
            let object = value.pointer();
            *object == *ip.add(3) && *object.add(1) == *ip.add(4)
        };
        branch(truth, 5, ip, hp, e, reds, c)
    }
}

/// `is_function2`: value, arity.
pub unsafe fn is_function_of_arity(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: operands as the translation wrote them.
    unsafe {
        let arity = any_at(ip, 3, e, c);
        let own = match any_at(ip, 2, e, c).view() {
            View::Fun(fun) => Some(fun.entry.arity),
            View::ExternalFun(export) => Some(export.arity),
            _ => None,
        };
        let truth = own.is_some_and(|own| arity == Term::small(i64::from(own)));
        branch(truth, 4, ip, hp, e, reds, c)
    }
}

/// Exact comparison with an immediate: value, immediate. `EQUAL` says which outcome falls through.
pub unsafe fn compare_immediate<const EQUAL: bool, S: Read>(
    ip: *const Word,
    hp: *mut Word,
    e: *mut Word,
    reds: i64,
    c: *mut Core,
) -> Exit {
    // SAFETY: operands as the translation wrote them.
    unsafe {
        let value = S::read(*ip.add(2), e, c);
        branch((value.word() == *ip.add(3)) == EQUAL, 4, ip, hp, e, reds, c)
    }
}

/// Exact comparison: left, right.
pub unsafe fn compare_exact<const EQUAL: bool, S: Read, T: Read>(
    ip: *const Word,
    hp: *mut Word,
    e: *mut Word,
    reds: i64,
    c: *mut Core,
) -> Exit {
    // SAFETY: operands as the translation wrote them.
    unsafe {
        let (left, right) = (S::read(*ip.add(2), e, c), T::read(*ip.add(3), e, c));
        if left == right {
            return branch(EQUAL, 4, ip, hp, e, reds, c);
        }
        if left.is_immediate() || right.is_immediate() {
            return branch(!EQUAL, 4, ip, hp, e, reds, c);
        }
        (*c).operands = [left, right];
        compare_exact_slow::<EQUAL>(ip, hp, e, reds, c)
    }
}

/// As [`compare_exact`], of two terms that both lie on a heap.
#[inline(never)]
unsafe fn compare_exact_slow<const EQUAL: bool>(
    ip: *const Word,
    hp: *mut Word,
    e: *mut Word,
    reds: i64,
    c: *mut Core,
) -> Exit {
    // SAFETY: `compare_exact` has left the operands.
    unsafe {
        let [left, right] = (*c).operands;
        branch(atoll_term::exactly_equal(left, right) == EQUAL, 4, ip, hp, e, reds, c)
    }
}

/// `is_lt` (`LESS`) and `is_ge`: left, right.
pub unsafe fn compare_order<const LESS: bool, S: Read, T: Read>(
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
            return branch(((left.word() as i64) < (right.word() as i64)) == LESS, 4, ip, hp, e, reds, c);
        }
        (*c).operands = [left, right];
        compare_order_floats::<LESS>(ip, hp, e, reds, c)
    }
}

/// As [`compare_order`], of operands that are not both small.
#[inline(never)]
unsafe fn compare_order_floats<const LESS: bool>(
    ip: *const Word,
    hp: *mut Word,
    e: *mut Word,
    reds: i64,
    c: *mut Core,
) -> Exit {
    // SAFETY: `compare_order` has left the operands.
    unsafe {
        let [left, right] = (*c).operands;
        match (boxed_float(left), boxed_float(right)) {
            (Some(left), Some(right)) => branch((left < right) == LESS, 4, ip, hp, e, reds, c),
            _ => compare_order_slow::<LESS>(ip, hp, e, reds, c),
        }
    }
}

/// As [`compare_order`], of any two terms.
#[inline(never)]
unsafe fn compare_order_slow<const LESS: bool>(
    ip: *const Word,
    hp: *mut Word,
    e: *mut Word,
    reds: i64,
    c: *mut Core,
) -> Exit {
    // SAFETY: `compare_order` has left the operands.
    unsafe {
        let [left, right] = (*c).operands;
        branch(atoll_term::compare(left, right).is_lt() == LESS, 4, ip, hp, e, reds, c)
    }
}

/// `is_ge Value, From` and `is_ge To, Value` in one, both limits small: value, from, to - from (untagged).
pub unsafe fn in_range<S: Read>(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: operands as the translation wrote them.
    unsafe {
        let value = S::read(*ip.add(2), e, c);
        let from = *ip.add(3);
        if value.is_small() {
            return branch(value.word().wrapping_sub(from) <= *ip.add(4), 5, ip, hp, e, reds, c);
        }
        (*c).operands[0] = value;
        in_range_slow(ip, hp, e, reds, c)
    }
}

/// As [`in_range`], of the value that is left in [`Core`].
#[cold]
#[inline(never)]
unsafe fn in_range_slow(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: operands as the translation wrote them.
    unsafe {
        let (value, from) = ((*c).operands[0], *ip.add(3));
        let to = Term::from_word(from + *ip.add(4));
        let inside =
            atoll_term::compare(value, Term::from_word(from)).is_ge() && atoll_term::compare(to, value).is_ge();
        branch(inside, 5, ip, hp, e, reds, c)
    }
}

/// `is_eq` (`EQUAL`) and `is_ne`: left, right.
pub unsafe fn compare_equal<const EQUAL: bool>(
    ip: *const Word,
    hp: *mut Word,
    e: *mut Word,
    reds: i64,
    c: *mut Core,
) -> Exit {
    // SAFETY: operands as the translation wrote them.
    unsafe {
        let (left, right) = (any_at(ip, 2, e, c), any_at(ip, 3, e, c));
        if left.both_small(right) {
            return branch((left == right) == EQUAL, 4, ip, hp, e, reds, c);
        }
        (*c).operands = [left, right];
        compare_equal_slow::<EQUAL>(ip, hp, e, reds, c)
    }
}

/// As [`compare_equal`], of operands that are not both small.
#[inline(never)]
unsafe fn compare_equal_slow<const EQUAL: bool>(
    ip: *const Word,
    hp: *mut Word,
    e: *mut Word,
    reds: i64,
    c: *mut Core,
) -> Exit {
    // SAFETY: `compare_equal` has left the operands.
    unsafe {
        let [left, right] = (*c).operands;
        branch(atoll_term::equal(left, right) == EQUAL, 4, ip, hp, e, reds, c)
    }
}

/// `has_map_fields`: map, count, keys….
pub unsafe fn has_map_fields(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: operands as the translation wrote them; the loader has proven a map.
    unsafe {
        let map = any_at(ip, 2, e, c);
        let count = *ip.add(3) as usize;
        let truth = (0..count).all(|index| atoll_term::map::get(map, any_at(ip, 4 + index, e, c)).is_some());
        branch(truth, 4 + count, ip, hp, e, reds, c)
    }
}

/// `get_map_elements`: map, count, (key, destination)…. A failure may leave some destinations written, as in OTP.
pub unsafe fn get_map_elements(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    use crate::operand::{Any, Write};
    // SAFETY: operands as the translation wrote them; the loader has proven a map.
    unsafe {
        let map = any_at(ip, 2, e, c);
        let count = *ip.add(3) as usize;
        for index in 0..count {
            let pair = 4 + 2 * index;
            match atoll_term::map::get(map, any_at(ip, pair, e, c)) {
                Some(value) => Any::write(*ip.add(pair + 1), value, e, c),
                None => return dispatch(*ip.add(1) as *const Word, hp, e, reds, c),
            }
        }
        dispatch(ip.add(4 + 2 * count), hp, e, reds, c)
    }
}

/// A case of a selection whose key is no immediate: jumps to operand 1 when equal, else falls through.
pub unsafe fn compare_exact_jump<S: Read>(
    ip: *const Word,
    hp: *mut Word,
    e: *mut Word,
    reds: i64,
    c: *mut Core,
) -> Exit {
    // SAFETY: operands as the translation wrote them.
    unsafe {
        let same = atoll_term::exactly_equal(S::read(*ip.add(2), e, c), Term::from_word(*ip.add(3)));
        branch(!same, 4, ip, hp, e, reds, c)
    }
}
