//! Breakpoints: calls, and returns, of functions that are traced.

use std::sync::atomic::Ordering;

use atoll_code::{Breakpoint, INTERPRETED, TracedFunction, breakpoint_at, registry};
use atoll_operations::{Exception, bit_match};
use atoll_process::Caller;
use atoll_term::{Build, Export, Term, Word, atoms};

use crate::core::{Core, Exit, Handler, dispatch};
use crate::pause::{enter_slowly, room_on_stack};
use crate::raise;
use crate::stubs::stubs;
use crate::trace_hooks::{FRAME, frame, hooks};

/// Stands in the place of the first instruction of a function that is traced.
pub unsafe fn breakpoint(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core; a breakpoint remembers the handler that stood here.
    unsafe {
        let Some(point) = breakpoint_at(ip) else {
            // It was taken away between the call and here, and the handler that stood here is back.
            return dispatch(ip, hp, e, reds, c);
        };
        let original = std::mem::transmute::<Word, Handler>(point.original);
        let function = point.function;
        match called(point, hp, e, c) {
            Some((hp, e, false)) => original(ip, hp, e, reds, c),
            Some((hp, e, true)) => interpreted(function, ip, hp, e, reds, c),
            None => raise::killed_by_heap_limit(c, reds),
        }
    }
}

/// Stands in front of a function that is traced when it is called through its export. Operand: export.
pub unsafe fn traced_export(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core; exports live for ever.
    unsafe {
        let export = &*(*ip.add(1) as *const Export);
        let Some(point) = breakpoint_at(atoll_code::export_key(export)) else {
            // It was taken away between the call and here.
            return dispatch(export.address.load(Ordering::Acquire), hp, e, reds, c);
        };
        let target = point.original as *const Word;
        match called(point, hp, e, c) {
            Some((hp, e, _)) => dispatch(target, hp, e, reds, c),
            None => raise::killed_by_heap_limit(c, reds),
        }
    }
}

/// Whether a return address is that of [`traced_return`].
pub fn is_traced_return(address: Word) -> bool {
    address == stubs().traced_return as Word
}

/// Calls the error handler's `breakpoint/3` in the place of a function.
#[cold]
#[inline(never)]
unsafe fn interpreted(
    function: &'static TracedFunction,
    ip: *const Word,
    hp: *mut Word,
    e: *mut Word,
    reds: i64,
    c: *mut Core,
) -> Exit {
    // SAFETY: the process runs on this core; the function's arguments are in its X registers.
    unsafe {
        let core = &mut *c;
        core.swap_out(hp, e);
        let handler = (*core.own).rare.as_ref().and_then(|rare| rare.error_handler).unwrap_or(atoms::ERROR_HANDLER);
        let handler = atoms::atom("breakpoint").ok().and_then(|name| registry().existing_export(handler, name, 3));
        let Some(handler) = handler.filter(|one| one.is_defined()) else {
            return raise::plain(Exception::error(atoms::UNDEF), ip, core.top(), e, reds, c);
        };
        let heap = &mut *core.mutator;
        let arguments: Vec<Term> = core.x[..usize::from(function.arity)]
            .iter()
            .map(|term| bit_match::get_tail(heap, *term).unwrap_or(*term))
            .collect();
        core.x[2] = heap.list(arguments);
        (core.x[0], core.x[1]) = (function.module, function.name);
        enter_slowly(handler.address.load(Ordering::Acquire), 3, core.top(), e, reds, c)
    }
}

/// Tells of a call, and sees to it that its return is noticed if need be. Heap top, stack pointer and whether the
/// function is interpreted, or nothing if the process has reached its maximum heap size.
#[cold]
#[inline(never)]
unsafe fn called(point: Breakpoint, hp: *mut Word, e: *mut Word, c: *mut Core) -> Option<(*mut Word, *mut Word, bool)> {
    // SAFETY: the process runs on this core; the address to return to is on the stack.
    unsafe {
        let core = &mut *c;
        core.swap_out(hp, e);
        let arity = usize::from(point.function.arity);
        let mut caller = Caller { process: &*core.process, own: &mut *core.own, reductions: 0, at: std::ptr::null() };
        let reader = caller.own.mutator.stack_reader();
        let waiting = if is_traced_return(reader.read(e)) { frame(e.add(1)).1 } else { 0 };
        let to = next_return(e, core);
        // A function that goes on with the matching of a binary gets the state of that; told is what is left.
        let mut told = |term: &Term| bit_match::get_tail(&mut caller.own.mutator, *term).unwrap_or(*term);
        let arguments: Vec<Term> = core.x[..arity].iter().map(&mut told).collect();
        let what = (hooks().called)(&mut caller, &arguments, &point, to, waiting);
        let is_interpreted = what & INTERPRETED != 0;
        let what = what & !INTERPRETED;
        let hp = core.top();
        if what == 0 {
            return Some((hp, e, is_interpreted));
        }
        (*core.own).flags.set_awaits_returns(true);
        let (hp, e) = room_on_stack(FRAME, arity, hp, e, c)?;
        Some((hp, push_frame(e, point.function, what), is_interpreted))
    }
}

/// The address that a function returns to when what waits for its return has been told.
///
/// # Safety
/// The process whose stack this is runs on the core; the address to return to is at `e`.
pub unsafe fn next_return(e: *const Word, core: &Core) -> *const Word {
    // SAFETY: the caller's obligation; frames are whole, and below them is an address to return to.
    unsafe {
        let reader = (*core.mutator).stack_reader();
        let mut to = e;
        while is_traced_return(reader.read(to)) {
            to = to.add(FRAME);
        }
        reader.read(to) as *const Word
    }
}

/// Puts a frame on the stack that waits for a return; the stack pointer then.
///
/// # Safety
/// Below `e` are [`FRAME`] free words.
pub unsafe fn push_frame(e: *mut Word, function: &'static TracedFunction, what: u8) -> *mut Word {
    // SAFETY: the caller's obligation.
    unsafe {
        let e = e.sub(FRAME);
        *e = stubs().traced_return as Word;
        *e.add(1) = Term::small(std::ptr::from_ref(function) as i64).word();
        *e.add(2) = Term::small(what.into()).word();
        e
    }
}

/// What a traced function returns to.
pub unsafe fn traced_return(_: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core; the rest of the frame is on the stack, then the address to return to.
    unsafe {
        let core = &mut *c;
        core.swap_out(hp, e);
        let (function, what) = frame(e);
        let e = e.add(FRAME - 1);
        let value = core.x[0];
        let mut caller = Caller { process: &*core.process, own: &mut *core.own, reductions: 0, at: std::ptr::null() };
        let to = caller.own.mutator.stack_reader().read(e);
        let to = if is_traced_return(to) { std::ptr::null() } else { to as *const Word };
        (hooks().returned)(&mut caller, function, what, value, to);
        dispatch(*e as *const Word, core.top(), e.add(1), reds, c)
    }
}
