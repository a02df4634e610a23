//! Calls of built-in functions that are traced. These handlers stand in the place of those in `built_in.rs`, on the
//! same operands, while a function has a breakpoint.

use atoll_code::{Breakpoint, breakpoint_at, export_key};
use atoll_process::{Caller, Interrupt};
use atoll_term::{Export, Term, Word};

use crate::breakpoint::{is_traced_return, next_return, push_frame};
use crate::built_in;
use crate::core::{Core, Exit, Handler, dispatch, handler, handler_at};
use crate::pause::{end_soon_if_full, room_on_stack};
use crate::raise;
use crate::stubs::untraced_body;
use crate::trace_hooks::{FRAME, hooks};

/// Where a call stands.
#[derive(Clone, Copy, PartialEq)]
enum Position {
    /// In the middle of a function.
    Middle,
    /// In a tail position.
    Tail,
    /// The function's own code was called.
    Body,
}

/// As [`crate::built_in::call_built_in`].
pub unsafe fn call_built_in(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core; the operands are those of the plain handler.
    unsafe {
        match breakpoint_at(export_key(export_of(ip))) {
            Some(point) => noticed(Position::Middle, point, ip, hp, e, reds - 1, c),
            None => built_in::call_built_in(ip, hp, e, reds, c),
        }
    }
}

/// As [`crate::built_in::built_in_last`].
pub unsafe fn built_in_last(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core; the operands are those of the plain handler, with the frame to give back.
    unsafe {
        match breakpoint_at(export_key(export_of(ip))) {
            Some(point) => noticed(Position::Tail, point, ip, hp, e.byte_add(*ip.add(4) as usize), reds - 1, c),
            None => built_in::built_in_last(ip, hp, e, reds, c),
        }
    }
}

/// As [`crate::built_in::built_in_body`].
pub unsafe fn built_in_body(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core; the operands are those of the plain handler.
    unsafe {
        match breakpoint_at(export_key(export_of(ip))) {
            Some(point) => noticed(Position::Body, point, ip, hp, e, reds, c),
            None => built_in::built_in_body(ip, hp, e, reds, c),
        }
    }
}

/// # Safety
/// The instruction calls a built-in function.
unsafe fn export_of(ip: *const Word) -> &'static Export {
    // SAFETY: the operand is the address of an export; these live for ever.
    unsafe { &*(*ip.add(3) as *const Export) }
}

/// Calls the function, and reports the call and, if need be, how it ends.
#[cold]
#[inline(never)]
unsafe fn noticed(
    position: Position,
    point: Breakpoint,
    ip: *const Word,
    hp: *mut Word,
    e: *mut Word,
    reds: i64,
    c: *mut Core,
) -> Exit {
    // SAFETY: the process runs on this core; the address to return to is on the stack, unless it is the next
    // instruction.
    let (arity, to) = unsafe {
        (*c).swap_out(hp, e);
        let to = match position {
            Position::Middle => ip.add(4),
            // For the trace message, the calling function is still there.
            Position::Tail => ip.add(5),
            Position::Body => next_return(e, &*c),
        };
        (usize::from(export_of(ip).arity), to)
    };
    // SAFETY: the process runs on this core; the arguments are in its registers.
    let what = unsafe { report_call(&point, arity, to, c) };
    if what == 0 {
        // SAFETY: the process runs on this core, with these registers.
        return unsafe {
            let reds = built_in::invoke(ip, reds, c);
            go_on(position, ip, e, reds, c)
        };
    }
    // The function may go on elsewhere; then it returns to this frame.
    let extra = usize::from(position == Position::Middle);
    // SAFETY: the process runs on this core, with these registers; the words of the frame are on the stack once there
    // is room for them.
    unsafe {
        let Some((hp, mut framed)) = room_on_stack(FRAME + extra, arity, (*c).top(), e, c) else {
            return raise::killed_by_heap_limit(c, reds);
        };
        if position == Position::Middle {
            framed = framed.sub(1);
            *framed = ip.add(4) as Word;
        }
        let framed = push_frame(framed, point.function, what);
        (*c).swap_out(hp, framed);
        let reds = built_in::invoke(ip, reds, c);
        let e = framed.add(FRAME + extra);
        if report_end(position, &point, what, to, e, c) {
            return go_on(position, ip, e, reds, c);
        }
        built_in::interrupted(export_of(ip), std::ptr::null(), framed, reds, c)
    }
}

/// Reports a call. Returns what is to be reported when it ends.
unsafe fn report_call(point: &Breakpoint, arity: usize, to: *const Word, c: *mut Core) -> u8 {
    // SAFETY: the process runs on this core.
    let (core, mut caller) = unsafe { caller_on(c) };
    let arguments: Vec<Term> = core.x[..arity].to_vec();
    (hooks().called)(&mut caller, &arguments, point, to, 0)
}

/// Reports how a call has ended, and drops the frame that was made for it; `e` is the stack pointer in front of that
/// frame. Returns false if the call has not ended but goes on in another function, which returns to the frame.
unsafe fn report_end(
    position: Position,
    point: &Breakpoint,
    what: u8,
    to: *const Word,
    e: *mut Word,
    c: *mut Core,
) -> bool {
    let hooks = hooks();
    // SAFETY: the process runs on this core.
    let (core, mut caller) = unsafe { caller_on(c) };
    match &core.interrupt {
        None => {
            // SAFETY: the address to return to is on the process's stack, in front of the frame.
            let returns_traced = || is_traced_return(unsafe { caller.own.mutator.stack_reader().read(e) });
            let told = if position == Position::Body && returns_traced() { std::ptr::null() } else { to };
            (hooks.returned)(&mut caller, point.function, what, core.x[0], told);
            caller.own.mutator.stack = e;
        }
        Some(Interrupt::Raise(exception)) => {
            let (class, reason) = match caller.own.catches {
                0 => raise::uncaught(exception.class, exception.reason, &mut caller.own.mutator),
                _ => (exception.class, exception.reason),
            };
            (hooks.raised)(&mut caller, point.function, what, class, reason);
            caller.own.mutator.stack = e;
            // SAFETY: the process's stack begins at `e`.
            if position == Position::Middle && unsafe { raise::is_handled_here(e, caller.own) } {
                (hooks.caught)(&mut caller, what, to);
            }
        }
        Some(_) => {
            caller.own.flags.set_awaits_returns(true);
            return false;
        }
    }
    true
}

/// The registers of a core, and the process that runs on it as the caller of a function.
///
/// # Safety
/// A process runs on this core, and nothing else uses the core or the process while one of the two lives.
unsafe fn caller_on<'c>(c: *mut Core) -> (&'c Core, Caller<'c>) {
    // SAFETY: the caller's obligation; the links of a core on which a process runs are that process's.
    unsafe {
        let core = &*c;
        (core, Caller { process: &*core.process, own: &mut *core.own, reductions: 0, at: std::ptr::null() })
    }
}

/// Goes on after the function, as its plain handler does.
unsafe fn go_on(position: Position, ip: *const Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core.
    unsafe {
        if (*c).interrupt.is_some() {
            return match position {
                Position::Middle => built_in::interrupted_in_body(ip, e, reds, c),
                Position::Tail => built_in::interrupted_in_tail(export_of(ip), ip, e, reds, c),
                Position::Body => built_in::interrupted(export_of(ip), std::ptr::null(), e, reds, c),
            };
        }
        let reds = end_soon_if_full(reds, c);
        match position {
            Position::Middle => dispatch(ip.add(4), (*c).top(), e, reds, c),
            _ => dispatch(*e as *const Word, (*c).top(), e.add(1), reds, c),
        }
    }
}

/// Handlers that call built-in functions, with those of this file that stand in their place.
pub fn pairs() -> Vec<(Word, Word)> {
    let pair = |plain: Handler, noticing: Handler| (handler(plain), handler(noticing));
    vec![
        pair(built_in::call_built_in, call_built_in),
        pair(built_in::built_in_last, built_in_last),
        pair(built_in::built_in_body, built_in_body),
    ]
}

/// Where a built-in function goes on that wants to be called again: not where this would be noticed once more.
pub fn address_again(export: &'static Export) -> *const Word {
    let address = export.address.load(std::sync::atomic::Ordering::Acquire);
    // SAFETY: an export's address is that of an instruction; its first word is a handler.
    let first = handler(unsafe { handler_at(address) });
    if first == handler(built_in_body) { untraced_body(export) } else { address }
}
