//! Calls of built-in functions, and what these ask for instead of a result. A call is described by the words at its
//! instruction pointer: code, function, arity, export, and in a tail position the frame to give back.

use std::sync::atomic::Ordering;

use atoll_code::{breakpoint_at, export_key};
use atoll_heap::{Collection, debt, stack_markers};
use atoll_process::{Caller, Interrupt, Native, NativeFunction};
use atoll_term::{Export, Term, Word, atoms};
use smallvec::SmallVec;

use crate::core::{Core, Exit, dispatch, resume};
use crate::entry::{error_handler, undefined};
use crate::operations::invoke_counted;
use crate::pause::{collect, end_soon_if_full, enter_slowly, room_on_stack, yield_at};
use crate::raise;
use crate::stubs::{native_of, stubs};
use crate::target::fun_target;
use crate::traced_built_in::address_again;

/// Words of an instruction that calls a built-in function: its handler, function, arity, export.
pub const CALL_WORDS: usize = 4;
/// Stack words that a hibernating process has for waking up.
pub const WAKING_STACK: usize = 4;
/// Reductions for a collection that a program asks for, the same on all heaps, so that schedules are too. They keep a
/// process from stopping the others thousands of times in a time slice. Stock takes as many where 2,000 words live.
const COLLECTION: i64 = 200;

/// A call of a built-in function in the middle of a function: function, arity, export. The result goes to X0.
pub unsafe fn call_built_in(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core.
    unsafe {
        (*c).swap_out(hp, e);
        let reds = invoke(ip, reds - 1, c);
        if (*c).interrupt.is_some() {
            return interrupted_in_body(ip, e, reds, c);
        }
        dispatch(ip.add(CALL_WORDS), (*c).top(), e, end_soon_if_full(reds, c), c)
    }
}

/// A call of a built-in function in a tail position: function, arity, export, frame in bytes. The caller is in the
/// trace if the function raises, as nothing but the function itself takes its place.
pub unsafe fn built_in_last(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core; the loader checked the frame's size.
    unsafe {
        let e = e.byte_add(*ip.add(CALL_WORDS) as usize);
        (*c).swap_out(hp, e);
        let reds = invoke(ip, reds - 1, c);
        if (*c).interrupt.is_some() {
            return interrupted_in_tail(*ip.add(3) as *const Export, ip, e, reds, c);
        }
        dispatch(*e as *const Word, (*c).top(), e.add(1), end_soon_if_full(reds, c), c)
    }
}

/// The code of a built-in function: function, arity, export. It was called, so its caller's address is on the stack.
pub unsafe fn built_in_body(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core.
    unsafe {
        (*c).swap_out(hp, e);
        let reds = invoke(ip, reds, c);
        if (*c).interrupt.is_some() {
            return interrupted(*ip.add(3) as *const Export, std::ptr::null(), e, reds, c);
        }
        dispatch(*e as *const Word, (*c).top(), e.add(1), end_soon_if_full(reds, c), c)
    }
}

/// What a call by native code has come to.
#[repr(C)]
pub struct Called {
    /// Reductions left.
    reds: i64,
    /// The heap top; odd if the function asks for something instead of a result.
    hp: *mut Word,
}

/// The call of an instruction for native code, which has moved the stack pointer already if this is a tail position.
///
/// # Safety
/// The process runs on this core; these are the operands of an instruction that calls a built-in function.
pub unsafe extern "C" fn invoke_for_native(
    ip: *const Word,
    hp: *mut Word,
    e: *mut Word,
    reds: i64,
    c: *mut Core,
) -> Called {
    // SAFETY: the caller's obligation.
    unsafe {
        (*c).swap_out(hp, e);
        called(invoke_here(ip, reds - 1, c), c)
    }
}

/// What a call has come to that leaves so many reductions.
#[inline(always)]
unsafe fn called(reds: i64, c: *mut Core) -> Called {
    // SAFETY: the process runs on this core.
    unsafe {
        if (*c).interrupt.is_some() {
            return Called { reds, hp: std::ptr::without_provenance_mut(1) };
        }
        let hp = (*c).top();
        Called { reds: end_soon_if_full(reds, c), hp }
    }
}

/// The function at `ip`, which native code has called in the middle of a function, asks for something.
pub unsafe fn asked_in_body(ip: *const Word, _: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core.
    unsafe { interrupted_in_body(ip, e, reds, c) }
}

/// As [`asked_in_body`], in a tail position.
pub unsafe fn asked_in_tail(ip: *const Word, _: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core.
    unsafe { interrupted_in_tail(*ip.add(3) as *const Export, ip, e, reds, c) }
}

/// Calls the built-in function of an instruction; the result goes to X0, or what it asks for to `interrupt`.
/// Returns the reductions left.
#[inline(never)]
pub(crate) unsafe fn invoke(ip: *const Word, reds: i64, c: *mut Core) -> i64 {
    // SAFETY: the caller's obligation.
    unsafe { invoke_here(ip, reds, c) }
}

/// As [`invoke`], for functions that do not jump to the next handler.
#[inline(always)]
unsafe fn invoke_here(ip: *const Word, reds: i64, c: *mut Core) -> i64 {
    // SAFETY: the process runs on this core; these are the operands of an instruction that calls a built-in function.
    unsafe {
        if (*c).silent.is_some() {
            return invoke_counted(ip, reds, c);
        }
        invoke_native(*ip.add(1), *ip.add(2) as usize, ip, reds, c)
    }
}

/// As [`interrupted`], of the instruction `ip` in the middle of a function.
#[cold]
#[inline(never)]
pub unsafe fn interrupted_in_body(ip: *const Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core.
    unsafe {
        let export = *ip.add(3) as *const Export;
        // A raising call may stand where there is no frame, and so no free word.
        if matches!((*c).interrupt, Some(Interrupt::Raise(_))) {
            return interrupted(export, ip, e, reds, c);
        }
        let e = e.sub(1);
        *e = ip.add(CALL_WORDS) as Word;
        interrupted(export, ip, e, reds, c)
    }
}

/// As [`interrupted`], of the instruction `ip` in a tail position, whose frame is gone.
#[cold]
#[inline(never)]
pub unsafe fn interrupted_in_tail(
    export: *const Export,
    ip: *const Word,
    e: *mut Word,
    mut reds: i64,
    c: *mut Core,
) -> Exit {
    // SAFETY: the process runs on this core.
    unsafe {
        let core = &mut *c;
        let mut export = export;
        // A function that raises in its caller's name is called here, where the caller is known.
        while let Some(Interrupt::Call(target, arguments)) =
            core.interrupt.take_if(|one| matches!(one, Interrupt::Call(target, _) if is_called_here(target)))
        {
            core.pass(&arguments);
            let number = target.built_in.load(Ordering::Acquire);
            reds = invoke_native(native_of(number), arguments.len(), std::ptr::null(), reds - 1, c);
            export = target;
        }
        let raises = matches!(core.interrupt, Some(Interrupt::Raise(_) | Interrupt::CallFun(..)));
        let at = if raises { ip } else { std::ptr::null() };
        interrupted(export, at, e, reds, c)
    }
}

/// Does what a built-in function asks for instead of a result. The address to return to is on the stack; `ip` is
/// the call if it stood in the middle of a function, else null.
#[cold]
#[inline(never)]
pub unsafe fn interrupted(export: *const Export, ip: *const Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core, so its registers and its heap are this thread's alone; exports live for
    // ever.
    let (core, export, hp) = unsafe {
        let core = &mut *c;
        (*core.mutator).stack = e;
        let hp = core.top();
        (core, &*export, hp)
    };
    let Some(interrupt) = core.interrupt.take() else { return Exit::Yield };
    match interrupt {
        Interrupt::Raise(exception) => {
            let arguments = SmallVec::<[Term; 8]>::from_slice(&core.x[..usize::from(export.arity)]);
            // SAFETY: the process runs on this core, with these registers.
            unsafe { raise::built_in(exception, export, &arguments, ip, hp, e, reds, c) }
        }
        Interrupt::RaiseIn(exception, function, arguments) => {
            // SAFETY: the process runs on this core, with these registers.
            unsafe { raise::built_in(exception, function, &arguments, std::ptr::null(), hp, e, reds, c) }
        }
        Interrupt::Call(target, arguments) => {
            core.pass(&arguments);
            let address = target.address.load(Ordering::Acquire);
            // SAFETY: the process runs on this core, with these registers; an export leads to an instruction.
            unsafe { enter_slowly(address, arguments.len() as Word, hp, e, reds, c) }
        }
        Interrupt::CallFun(fun, arguments) => {
            core.pass(&arguments);
            // SAFETY: the process runs on this core; the arguments are in its registers.
            unsafe { call_fun(fun, arguments.len(), ip, e, reds, c) }
        }
        Interrupt::CallUndefined(module, name, arguments) => {
            // SAFETY: the process runs on this core, with these registers.
            unsafe {
                let handler = error_handler(core, atoms::UNDEFINED_FUNCTION);
                undefined(handler, [module, name, arguments], e, reds, c)
            }
        }
        Interrupt::CallThen(first, arguments, then) => {
            core.pass(&arguments);
            // The result of the first function goes to the second.
            let frame = || [then.address.load(Ordering::Acquire) as Word];
            // SAFETY: the process runs on this core; the frame is the address of an instruction.
            unsafe { call_on_frame(first, arguments.len(), frame, hp, e, reds, c) }
        }
        Interrupt::CallCatching(first, arguments, then) => {
            core.pass(&arguments);
            // The first function returns to the code behind the catch mark either way.
            let frame = || {
                let continuation = crate::stubs::catching(then);
                [continuation as Word, Term::catch_mark(continuation as u64).word()]
            };
            // SAFETY: the process runs on this core; the frame is the address of an instruction and a catch mark.
            unsafe {
                (*core.own).catches += 1;
                call_on_frame(first, arguments.len(), frame, hp, e, reds, c)
            }
        }
        Interrupt::Again(arguments) => {
            core.pass(&arguments);
            // SAFETY: the process runs on this core, with these registers.
            unsafe { yield_at(address_again(export), arguments.len(), hp, e, reds, c) }
        }
        Interrupt::Wait(arguments) => {
            core.pass(&arguments);
            // SAFETY: the process runs on this core, with these registers.
            unsafe { yield_at(address_again(export), arguments.len(), hp, e, reds, c) };
            Exit::Wait
        }
        Interrupt::Yield(result) => {
            core.x[0] = result;
            // SAFETY: the process runs on this core, with these registers.
            unsafe { yield_at(stubs().return_, 1, hp, e, reds, c) }
        }
        Interrupt::Collect(major, result) => {
            core.x[0] = result;
            let request = Collection { major, stack_words: 1, ..Collection::default() };
            // SAFETY: the process runs on this core, with these registers; the address to return to is on the stack.
            unsafe {
                match collect(request, 1, hp, e, c) {
                    Some((hp, e)) => resume(*e as *const Word, hp, e.add(1), reds - COLLECTION, c),
                    None => raise::killed_by_heap_limit(c, reds),
                }
            }
        }
        Interrupt::Hibernate(module, name, arguments) => {
            (core.x[0], core.x[1], core.x[2]) = (module, name, arguments);
            // SAFETY: the process runs on this core.
            unsafe { hibernate(hp, reds, c) }
        }
        Interrupt::Exit(reason) => {
            core.x[0] = reason;
            // SAFETY: the process runs on this core.
            let own = unsafe { &mut *core.own };
            own.reductions += core.slice - reds;
            Exit::Ended
        }
    }
}

/// Calls a fun for a built-in function, whose own call was at `ip` if that is not null.
unsafe fn call_fun(fun: Term, arity: usize, ip: *const Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core; the arguments are in its registers.
    unsafe {
        let target = fun_target(fun, arity, c);
        match (*c).failure.take() {
            None => enter_slowly(target, (*c).live, (*c).top(), e, reds, c),
            // What was to be called is no fun: the call of the built-in function itself stands in the trace.
            Some(exception) if !ip.is_null() => raise::plain(exception, ip, (*c).top(), e, reds, c),
            Some(exception) => raise::in_apply(exception, (*c).top(), e, reds, c),
        }
    }
}

/// Calls a function whose arguments are in the registers, and which returns to a frame of one or two words. The frame
/// is made when there is room for it, because a collection may come before.
unsafe fn call_on_frame<const WORDS: usize>(
    first: &'static Export,
    arity: usize,
    frame: impl FnOnce() -> [Word; WORDS],
    hp: *mut Word,
    e: *mut Word,
    reds: i64,
    c: *mut Core,
) -> Exit {
    const { assert!(WORDS <= 2) };
    // SAFETY: the process runs on this core, with these registers. There is room for three words on its stack, one of
    // them for the function's own return address.
    unsafe {
        let Some((hp, e)) = room_on_stack(3, arity, hp, e, c) else { return raise::killed_by_heap_limit(c, reds) };
        let e = e.sub(WORDS);
        e.copy_from_nonoverlapping(frame().as_ptr(), WORDS);
        let address = first.address.load(Ordering::Acquire);
        enter_slowly(address, arity as Word, hp, e, reds, c)
    }
}

/// `hibernate/3`: drops all frames, collects, and waits for a message. The function to go on with is in the registers.
unsafe fn hibernate(hp: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core. The oldest frame's return address is the last word of its stack.
    unsafe {
        let own = &mut *(*c).own;
        let e = own.mutator.stack_base.sub(1);
        own.mutator.stack = e;
        if let Some(markers) = stack_markers() {
            markers.cut(&mut own.mutator);
        }
        own.catches = 0;
        own.flags.set_hibernating(true);
        let request = Collection { stack_words: WAKING_STACK, hibernate: true, ..Collection::default() };
        let Some((hp, e)) = collect(request, 3, hp, e, c) else { return raise::killed_by_heap_limit(c, reds) };
        yield_at(stubs().start, 3, hp, e, reds, c);
        // A message that is there already wakes it at once.
        if (*(*c).own).mailbox.is_empty() { Exit::Wait } else { Exit::Yield }
    }
}

/// As [`invoke`], of the function at the address `function`; the instruction at `at` calls it.
#[inline(always)]
pub unsafe fn invoke_native(function: Word, arity: usize, at: *const Word, reds: i64, c: *mut Core) -> i64 {
    // SAFETY: the process runs on this core; the function is a `Native`.
    unsafe {
        let core = &mut *c;
        let function = std::mem::transmute::<Word, Native>(function);
        let mut caller = Caller { process: &*core.process, own: &mut *core.own, reductions: reds, at };
        let outcome = function(&mut caller, &core.x[..arity]);
        let left = caller.reductions - debt::take();
        match outcome {
            Ok(result) => core.x[0] = result,
            Err(interrupt) => core.interrupt = Some(interrupt),
        }
        left
    }
}

/// As [`native_body`] for native code, which enters the function at `ip` with all arguments in the core.
///
/// # Safety
/// The process runs on this core; [`native_body`] stands at `ip`.
pub unsafe extern "C" fn invoke_library(
    ip: *const Word,
    hp: *mut Word,
    e: *mut Word,
    reds: i64,
    c: *mut Core,
) -> Called {
    // SAFETY: the caller's obligation; native functions are never freed.
    unsafe {
        (*c).swap_out(hp, e);
        let function = &*(*ip.sub(2) as *const NativeFunction);
        called(call_library(function, ip, reds, c), c)
    }
}

/// The library's function at `ip`, which native code has called, asks for something.
pub unsafe fn asked_by_library(ip: *const Word, _: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core; `native_body` stands at `ip`.
    unsafe { interrupted((*(*ip.sub(2) as *const NativeFunction)).export, std::ptr::null(), e, reds, c) }
}

/// Stands in the place of the first instruction of a function whose body is in a native library. Two words in front of
/// it is the address of the [`NativeFunction`].
pub unsafe fn native_body(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core; `atoll_code::set_native` wrote the address before it put this handler
    // here, and native functions are never freed.
    unsafe {
        (*c).swap_out(hp, e);
        let function = &*(*ip.sub(2) as *const NativeFunction);
        let reds = call_native(function, ip, reds, c);
        if (*c).interrupt.is_some() {
            return interrupted(function.export, std::ptr::null(), e, reds, c);
        }
        dispatch(*e as *const Word, (*c).top(), e.add(1), end_soon_if_full(reds, c), c)
    }
}

/// Calls a function of a native library with the X registers; its result is in the first of them, or the core has an
/// interrupt. Returns the reductions that are left. A function of its own, because what lies on a handler's stack while
/// it calls keeps the compiler from jumping to the next handler.
#[inline(never)]
unsafe fn call_native(function: &'static NativeFunction, at: *const Word, reds: i64, c: *mut Core) -> i64 {
    // SAFETY: the process runs on this core.
    unsafe { call_library(function, at, reds, c) }
}

/// As [`call_native`], for functions that do not jump to the next handler.
#[inline(always)]
unsafe fn call_library(function: &'static NativeFunction, at: *const Word, reds: i64, c: *mut Core) -> i64 {
    // SAFETY: the process runs on this core.
    unsafe {
        let core = &mut *c;
        let mut caller = Caller { process: &*core.process, own: &mut *core.own, reductions: reds, at };
        let outcome = (function.call)(&mut caller, &core.x[..usize::from(function.export.arity)], function);
        let left = caller.reductions - debt::take();
        match outcome {
            Ok(result) => core.x[0] = result,
            Err(interrupt) => core.interrupt = Some(interrupt),
        }
        left
    }
}

/// Whether a function [`keeps_caller`], and its calls are not traced.
pub fn is_called_here(target: &'static Export) -> bool {
    keeps_caller(target) && breakpoint_at(export_key(target)).is_none()
}

/// Whether the function that applies this one as its last act stays in traces: this one raises in its caller's name.
pub fn keeps_caller(target: &Export) -> bool {
    target.module == atoms::ERLANG
        && matches!(
            (target.name, target.arity),
            (atoms::ERROR, 1 | 2) | (atoms::EXIT | atoms::THROW, 1) | (atoms::APPLY, 3)
        )
}
