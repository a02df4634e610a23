//! `catch`, `try`, and the instructions that raise.

use atoll_operations::{Class, Exception};
use atoll_term::{Term, Word, atoms};

use crate::handlers::control::any_at;
use crate::operand::{Read, Write, Y};
use atoll_runtime::core::{Core, Exit, dispatch};
use atoll_runtime::{raise, stack_trace};

/// `func_info`: no clause matched; module, name, arity.
pub unsafe fn func_info(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: operands as the translation wrote them.
    unsafe { raise::function_clause(ip, hp, e, reds, c) }
}

/// Raises `{Tag, Value}`: tag, value.
pub unsafe fn raise_tagged(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core.
    unsafe {
        let value = any_at(ip, 2, e, c);
        (*c).swap_out(hp, e);
        let heap = &mut *(*c).mutator;
        let exception = Exception::tagged(heap, Term::from_word(*ip.add(1)), value);
        raise::plain(exception, ip, (*c).top(), e, reds, c)
    }
}

/// `if_end`
pub unsafe fn if_end(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core.
    unsafe { raise::plain(Exception::error(atoms::IF_CLAUSE), ip, hp, e, reds, c) }
}

/// `catch` and `try`: slot, handler.
pub unsafe fn catch(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the loader checked the slot.
    unsafe {
        Y::write(*ip.add(1), Term::catch_mark(*ip.add(2)), e, c);
        (*(*c).own).catches += 1;
        dispatch(ip.add(3), hp, e, reds, c)
    }
}

/// `catch_end`: slot. After an exception X0 is no term, and X1 to X3 are class, reason and raw trace.
pub unsafe fn catch_end(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core.
    unsafe {
        let hp = raise::end_catch(e.byte_add(*ip.add(1) as usize), hp, e, c);
        dispatch(ip.add(2), hp, e, reds, c)
    }
}

/// `try_end`: slot.
pub unsafe fn try_end(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the loader checked the slot.
    unsafe {
        if Y::read(*ip.add(1), e, c).is_catch_mark() {
            (*(*c).own).catches -= 1;
        }
        Y::write(*ip.add(1), Term::NIL, e, c);
        dispatch(ip.add(2), hp, e, reds, c)
    }
}

/// `try_case`: slot. Class, reason and raw trace go to X0 to X2.
pub unsafe fn try_case(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the loader checked the slot.
    unsafe {
        if Y::read(*ip.add(1), e, c).is_catch_mark() {
            (*(*c).own).catches -= 1;
        }
        Y::write(*ip.add(1), Term::NIL, e, c);
        let x = &mut (*c).x;
        (x[0], x[1], x[2]) = (x[1], x[2], x[3]);
        dispatch(ip.add(2), hp, e, reds, c)
    }
}

/// `raise`: raw trace, reason.
pub unsafe fn raise_again(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core.
    unsafe {
        let (raw, reason) = (any_at(ip, 1, e, c), any_at(ip, 2, e, c));
        let exception = Exception { trace: raw, ..Exception::new(stack_trace::class_of(raw), reason) };
        raise::plain(exception, ip, hp, e, reds, c)
    }
}

/// `build_stacktrace`
pub unsafe fn build_stacktrace(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core.
    unsafe {
        let core = &mut *c;
        core.swap_out(hp, e);
        let heap = &mut *core.mutator;
        core.x[0] = stack_trace::to_list(core.x[0], heap, &mut core.places);
        dispatch(ip.add(1), (*c).top(), e, reds, c)
    }
}

/// `raw_raise`: class, reason and raw trace are in X0 to X2. An unknown class leaves `badarg` in X0.
pub unsafe fn raw_raise(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core.
    unsafe {
        let core = &mut *c;
        match Class::from_atom(core.x[0]) {
            Some(class) => {
                core.swap_out(hp, e);
                let heap = &mut *core.mutator;
                let raw = stack_trace::with_class(core.x[2], class, heap);
                let exception = Exception { trace: raw, ..Exception::new(class, core.x[1]) };
                raise::plain(exception, ip, (*c).top(), e, reds, c)
            }
            None => {
                core.x[0] = atoms::BADARG;
                dispatch(ip.add(1), hp, e, reds, c)
            }
        }
    }
}
