//! Calls whose target is known only at run time: funs and `apply`. Also instructions that this machine does not run.

use std::sync::atomic::Ordering;

use atoll_operations::Exception;
use atoll_process::Interrupt;
use atoll_term::{Build, Term, Word, atoms};

use crate::handlers::control::any_at;
use atoll_runtime::built_in::{interrupted_in_tail, keeps_caller};
use atoll_runtime::core::{Core, Exit};
use atoll_runtime::pause::enter;
use atoll_runtime::raise;
use atoll_runtime::target::{apply_target, fun_target, local_target};

/// `call_fun2`: arity, fun.
pub unsafe fn call_fun(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core; the word below the frame is free.
    unsafe {
        let (arity, fun) = (*ip.add(1) as usize, any_at(ip, 2, e, c));
        match local_target(fun, arity, c) {
            Some((address, live)) => {
                let e = e.sub(1);
                *e = ip.add(3) as Word;
                enter(address, live, hp, e, reds, c)
            }
            None => call_fun_slow(ip, hp, e, reds, c),
        }
    }
}

/// As [`call_fun`], of a fun that is not local, or what is none.
#[inline(never)]
unsafe fn call_fun_slow(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core; the word below the frame is free.
    unsafe {
        let (arity, fun) = (*ip.add(1) as usize, any_at(ip, 2, e, c));
        (*c).swap_out(hp, e);
        let target = fun_target(fun, arity, c);
        if target.is_null() {
            return raise::failure(ip, e, reds, c);
        }
        let e = e.sub(1);
        *e = ip.add(3) as Word;
        enter(target, (*c).live, hp, e, reds, c)
    }
}

/// A call of a fun in a tail position, for which there is no instruction: arity, fun, frame in bytes.
pub unsafe fn call_fun_last(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core; the loader checked the frame's size.
    unsafe {
        let (arity, fun) = (*ip.add(1) as usize, any_at(ip, 2, e, c));
        match local_target(fun, arity, c) {
            Some((address, live)) => enter(address, live, hp, e.byte_add(*ip.add(3) as usize), reds, c),
            None => call_fun_last_slow(ip, hp, e, reds, c),
        }
    }
}

/// As [`call_fun_last`], of a fun that is not local, or what is none.
#[inline(never)]
unsafe fn call_fun_last_slow(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core; the loader checked the frame's size.
    unsafe {
        let (arity, fun) = (*ip.add(1) as usize, any_at(ip, 2, e, c));
        (*c).swap_out(hp, e);
        let target = fun_target(fun, arity, c);
        if target.is_null() {
            return raise::failure(ip, e, reds, c);
        }
        enter(target, (*c).live, hp, e.byte_add(*ip.add(3) as usize), reds, c)
    }
}

/// `apply`: arity; X[arity] is the module, X[arity + 1] the function.
pub unsafe fn apply(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core; the word below the frame is free.
    unsafe {
        let arity = *ip.add(1) as usize;
        let Some(target) = apply_target(arity, hp, e, c) else { return not_applied(ip, arity, e, reds, c) };
        let e = e.sub(1);
        *e = ip.add(2) as Word;
        enter(target.address.load(Ordering::Acquire), arity as Word, (*c).top(), e, reds, c)
    }
}

/// `apply_last`: arity, frame in bytes.
pub unsafe fn apply_last(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core; the loader checked the frame's size.
    unsafe {
        let arity = *ip.add(1) as usize;
        let Some(target) = apply_target(arity, hp, e, c) else { return not_applied(ip, arity, e, reds, c) };
        let e = e.byte_add(*ip.add(2) as usize);
        if keeps_caller(target) {
            (*c).interrupt = Some(Interrupt::Call(target, (&(*c).x)[..arity].to_vec()));
            return interrupted_in_tail(target, ip, e, reds, c);
        }
        enter(target.address.load(Ordering::Acquire), arity as Word, (*c).top(), e, reds, c)
    }
}

/// What `apply` was to call has no name: raises as `apply/3` does.
#[cold]
#[inline(never)]
unsafe fn not_applied(ip: *const Word, arity: usize, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core.
    unsafe {
        let core = &mut *c;
        let list = (*core.mutator).list(core.x[..arity].iter().copied());
        let arguments = [core.x[arity], core.x[arity + 1], list];
        raise::operator(Exception::badarg(), atoms::APPLY.word(), &arguments, ip, core.top(), e, reds, c)
    }
}

/// An instruction of a later release that this machine does not run. Operand: opcode.
pub unsafe fn unsupported(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core.
    unsafe {
        (*c).swap_out(hp, e);
        let opcode = Term::small(*ip.add(1) as i64);
        let exception = Exception::tagged(&mut *(*c).mutator, atoms::UNSUPPORTED_INSTRUCTION, opcode);
        raise::plain(exception, ip, (*c).top(), e, reds, c)
    }
}
