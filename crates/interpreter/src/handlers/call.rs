//! Calls whose target is known only when they happen: funs, `apply`, built-in functions, and what stands at the
//! address of a function that has no code.

use std::sync::atomic::Ordering;

use atoll_code::{breakpoint_at, export_key, registry};
use atoll_heap::{Collection, architecture, debt};
use atoll_operations::Exception;
use atoll_process::{Caller, Interrupt, Native};
use atoll_term::{Build, Export, FunEntry, Kind, Term, View, Word, atoms};

use crate::autoload::Loading;
use crate::core::{Core, Exit, X_REGISTERS, dispatch, resume};
use crate::handlers::arithmetic::soon_if_full;
use crate::handlers::control::{any_at, collect, enter, enter_slowly, yield_at};
use crate::handlers::traced_built_in::address_again;
use crate::raise;
use crate::stubs::{native_of, stubs};

/// Arguments that a function can have.
const MOST_ARGUMENTS: usize = 255;
/// Arguments with which a function can be applied: with more than [`MOST_ARGUMENTS`] it is undefined.
const MOST_APPLIED: usize = X_REGISTERS - 1;

/// Stack words that a hibernating process has for waking up.
const WAKING_STACK: usize = 4;

/// Where to go to call `fun` with `arity` arguments, and the live registers there: behind the arguments stand the fun's
/// free variables, and behind them the fun itself. A fun without code needs itself ([`undefined_fun`]), and only live
/// registers are kept when the time slice ends at the call.
unsafe fn fun_target(fun: Term, arity: usize, c: *mut Core) -> Result<(*const Word, usize), Exception> {
    // SAFETY: the process runs on this core.
    unsafe {
        let core = &mut *c;
        match fun.view() {
            View::Fun(local) => {
                if usize::from(local.entry.arity) != arity {
                    return Err(bad_arity(fun, arity, core));
                }
                let itself = arity + local.free.len();
                core.x[arity..itself].copy_from_slice(local.free);
                core.x[itself] = fun;
                let address = local.entry.address.load(Ordering::Acquire);
                Ok((address, itself + 1))
            }
            View::ExternalFun(export) => {
                if usize::from(export.arity) != arity {
                    return Err(bad_arity(fun, arity, core));
                }
                Ok((export.address.load(Ordering::Acquire), arity))
            }
            _ => Err(Exception::tagged(&mut *core.mutator, atoms::BADFUN, fun)),
        }
    }
}

unsafe fn bad_arity(fun: Term, arity: usize, core: &mut Core) -> Exception {
    // SAFETY: the mutator is that of the running process.
    let heap = unsafe { &mut *core.mutator };
    let arguments = heap.list(core.x[..arity].iter().copied());
    let pair = heap.tuple(&[fun, arguments]);
    Exception::tagged(heap, atoms::BADARITY, pair)
}

/// As [`fun_target`], for a local fun of this arity.
///
/// # Safety
/// A process runs on this core, whose term `fun` is.
#[inline(always)]
unsafe fn local_target(fun: Term, arity: usize, c: *mut Core) -> Option<(*const Word, Word)> {
    // SAFETY: a fun's first word holds its entry, and entries live for ever; the free variables stand behind its creator.
    unsafe {
        if fun.boxed_kind() != Some(Kind::Fun) {
            return None;
        }
        let object = fun.pointer();
        let entry = &*(Term::from_word(*object.add(1)).small_value() as *const FunEntry);
        if usize::from(entry.arity) != arity {
            return None;
        }
        let (from, to) = (object.add(3), (&raw mut (*c).x).cast::<Word>().add(arity));
        let free = fun.header().arity() - 2;
        for index in 0..free {
            *to.add(index) = *from.add(index);
        }
        *to.add(free) = fun.word();
        let address = entry.address.load(Ordering::Acquire);
        Some((address.cast_const(), (arity + free + 1) as Word))
    }
}

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
        match fun_target(fun, arity, c) {
            Ok((target, live)) => {
                let e = e.sub(1);
                *e = ip.add(3) as Word;
                enter(target, live as Word, hp, e, reds, c)
            }
            Err(exception) => raise::plain(exception, ip, (*c).top(), e, reds, c),
        }
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
        match fun_target(fun, arity, c) {
            Ok((target, live)) => enter(target, live as Word, hp, e.byte_add(*ip.add(3) as usize), reds, c),
            Err(exception) => raise::plain(exception, ip, (*c).top(), e, reds, c),
        }
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

/// The function that X registers behind so many arguments name, `None` if they hold no names.
unsafe fn apply_target(arity: usize, hp: *mut Word, e: *mut Word, c: *mut Core) -> Option<&'static Export> {
    // SAFETY: the process runs on this core.
    unsafe {
        let core = &mut *c;
        core.swap_out(hp, e);
        let (module, name) = (core.x[arity], core.x[arity + 1]);
        (module.is_atom() && name.is_atom()).then(|| registry().export(module, name, arity as u8))
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

/// Whether the function that applies this one as its last act stays in traces: this one raises in its caller's name.
fn keeps_caller(target: &Export) -> bool {
    target.module == atoms::ERLANG
        && matches!(
            (target.name, target.arity),
            (atoms::ERROR, 1 | 2) | (atoms::EXIT | atoms::THROW, 1) | (atoms::APPLY, 3)
        )
}

/// A call of a built-in function in the middle of a function: function, arity, export. The result goes to X0.
pub unsafe fn call_built_in(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core.
    unsafe {
        (*c).swap_out(hp, e);
        let reds = invoke(ip, reds - 1, c);
        if (*c).interrupt.is_some() {
            return interrupted_in_body(ip, e, reds, c);
        }
        dispatch(ip.add(4), (*c).top(), e, soon_if_full(reds, c), c)
    }
}

/// A call of a built-in function in a tail position: function, arity, export, frame in bytes. The caller is in the
/// trace if the function raises, as nothing but the function itself takes its place.
pub unsafe fn built_in_last(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core; the loader checked the frame's size.
    unsafe {
        let e = e.byte_add(*ip.add(4) as usize);
        (*c).swap_out(hp, e);
        let reds = invoke(ip, reds - 1, c);
        if (*c).interrupt.is_some() {
            return interrupted_in_tail(*ip.add(3) as *const Export, ip, e, reds, c);
        }
        dispatch(*e as *const Word, (*c).top(), e.add(1), soon_if_full(reds, c), c)
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
        dispatch(*e as *const Word, (*c).top(), e.add(1), soon_if_full(reds, c), c)
    }
}

/// Calls the built-in function of an instruction; the result goes to X0, or what it asks for to `interrupt`.
/// Returns the reductions left.
#[inline(never)]
pub unsafe fn invoke(ip: *const Word, reds: i64, c: *mut Core) -> i64 {
    // SAFETY: the process runs on this core; these are the operands of an instruction that calls a built-in function.
    unsafe { invoke_native(*ip.add(1), *ip.add(2) as usize, reds, c) }
}

/// As [`invoke`], of the function at the address `function`.
unsafe fn invoke_native(function: Word, arity: usize, reds: i64, c: *mut Core) -> i64 {
    // SAFETY: the process runs on this core; the function is a `Native`.
    unsafe {
        let core = &mut *c;
        let function = std::mem::transmute::<Word, Native>(function);
        let mut caller = Caller { process: &*core.process, own: &mut *core.own, reductions: reds };
        let outcome = function(&mut caller, &core.x[..arity]);
        let left = caller.reductions - debt::take();
        match outcome {
            Ok(result) => core.x[0] = result,
            Err(interrupt) => core.interrupt = Some(interrupt),
        }
        left
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
        *e = ip.add(4) as Word;
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
        // A function that raises in its caller's name is called here, where it is known who that is.
        while let Some(Interrupt::Call(target, arguments)) =
            core.interrupt.take_if(|one| matches!(one, Interrupt::Call(target, _) if is_called_here(target)))
        {
            core.x[..arguments.len()].copy_from_slice(&arguments);
            let number = target.built_in.load(Ordering::Acquire);
            reds = invoke_native(native_of(number), arguments.len(), reds - 1, c);
            export = target;
        }
        let raises = matches!(core.interrupt, Some(Interrupt::Raise(_) | Interrupt::CallFun(..)));
        let at = if raises { ip } else { std::ptr::null() };
        interrupted(export, at, e, reds, c)
    }
}

/// Whether a function [`keeps_caller`], and nobody is told of calls.
fn is_called_here(target: &'static Export) -> bool {
    keeps_caller(target) && breakpoint_at(export_key(target)).is_none()
}

/// Does what a built-in function asks for instead of a result. The address to return to is on the stack; `ip` is
/// the call if it stood in the middle of a function, else null.
#[cold]
#[inline(never)]
pub unsafe fn interrupted(export: *const Export, ip: *const Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core.
    unsafe {
        let core = &mut *c;
        let hp = core.top();
        (*core.mutator).stack = e;
        let Some(interrupt) = core.interrupt.take() else { return Exit::Yield };
        match interrupt {
            Interrupt::Raise(exception) => {
                let mut arguments = [Term::NIL; 255];
                let arity = usize::from((*export).arity);
                arguments[..arity].copy_from_slice(&core.x[..arity]);
                raise::built_in(exception, &*export, &arguments[..arity], ip, hp, e, reds, c)
            }
            Interrupt::Call(target, arguments) => {
                core.x[..arguments.len()].copy_from_slice(&arguments);
                let address = target.address.load(Ordering::Acquire);
                enter_slowly(address, arguments.len() as Word, hp, e, reds, c)
            }
            Interrupt::CallFun(fun, arguments) => {
                core.x[..arguments.len()].copy_from_slice(&arguments);
                match fun_target(fun, arguments.len(), c) {
                    Ok((target, live)) => enter_slowly(target, live as Word, core.top(), e, reds, c),
                    // What was to be called is no fun: the call of the built-in function itself stands in the trace.
                    Err(exception) if !ip.is_null() => raise::plain(exception, ip, core.top(), e, reds, c),
                    Err(exception) => raise::in_apply(exception, core.top(), e, reds, c),
                }
            }
            Interrupt::CallUndefined(module, name, arguments) => {
                let handler = error_handler(core, atoms::UNDEFINED_FUNCTION);
                undefined(handler, [module, name, arguments], e, reds, c)
            }
            Interrupt::CallThen(first, arguments, then) => {
                core.x[..arguments.len()].copy_from_slice(&arguments);
                let (hp, e) = match room_on_stack(3, arguments.len(), hp, e, c) {
                    Some(registers) => registers,
                    None => return raise::killed_by_heap_limit(c, reds),
                };
                // A frame of one slot holds where to go on with the first function's result.
                let e = e.sub(1);
                *e = then.address.load(Ordering::Acquire) as Word;
                let address = first.address.load(Ordering::Acquire);
                enter_slowly(address, arguments.len() as Word, hp, e, reds, c)
            }
            Interrupt::CallCatching(first, arguments, then) => {
                core.x[..arguments.len()].copy_from_slice(&arguments);
                let (hp, e) = match room_on_stack(3, arguments.len(), hp, e, c) {
                    Some(registers) => registers,
                    None => return raise::killed_by_heap_limit(c, reds),
                };
                // A frame with a catch mark; the first function returns to the code behind it either way.
                let continuation = crate::stubs::catching(then);
                let e = e.sub(2);
                *e.add(1) = Term::catch_mark(continuation as u64).word();
                *e = continuation as Word;
                (*core.own).catches += 1;
                let address = first.address.load(Ordering::Acquire);
                enter_slowly(address, arguments.len() as Word, hp, e, reds, c)
            }
            Interrupt::Again(arguments) => {
                core.x[..arguments.len()].copy_from_slice(&arguments);
                let address = address_again(&*export);
                yield_at(address, arguments.len(), hp, e, reds, c)
            }
            Interrupt::Wait(arguments) => {
                core.x[..arguments.len()].copy_from_slice(&arguments);
                let address = address_again(&*export);
                yield_at(address, arguments.len(), hp, e, reds, c);
                Exit::Wait
            }
            Interrupt::Yield(result) => {
                core.x[0] = result;
                yield_at(stubs().return_, 1, hp, e, reds, c)
            }
            Interrupt::Collect(major, result) => {
                core.x[0] = result;
                let request = Collection { major, stack_words: 1, ..Collection::default() };
                match collect(request, 1, hp, e, c) {
                    Some((hp, e)) => resume(*e as *const Word, hp, e.add(1), reds, c),
                    None => raise::killed_by_heap_limit(c, reds),
                }
            }
            Interrupt::Hibernate(module, name, arguments) => {
                let own = &mut *core.own;
                // Only the last frame's return address stays.
                let e = own.mutator.stack_base.sub(1);
                own.mutator.stack = e;
                architecture().stack_cut(&mut own.mutator);
                own.catches = 0;
                own.flags.hibernating = true;
                (core.x[0], core.x[1], core.x[2]) = (module, name, arguments);
                let request = Collection { stack_words: WAKING_STACK, hibernate: true, ..Collection::default() };
                let Some((hp, e)) = collect(request, 3, hp, e, c) else {
                    return raise::killed_by_heap_limit(c, reds);
                };
                yield_at(stubs().start, 3, hp, e, reds, c);
                // A message that is there already wakes it at once.
                if (*core.own).mailbox.is_empty() { Exit::Wait } else { Exit::Yield }
            }
            Interrupt::Exit(reason) => {
                core.x[0] = reason;
                let own = &mut *core.own;
                own.reductions += (core.slice - reds) as u64;
                Exit::Ended
            }
        }
    }
}

/// Makes sure that a frame of so many words fits, collecting if needed.
pub unsafe fn room_on_stack(
    words: usize,
    live: usize,
    hp: *mut Word,
    e: *mut Word,
    c: *mut Core,
) -> Option<(*mut Word, *mut Word)> {
    // SAFETY: the process runs on this core.
    unsafe {
        let free = if (*c).stack_limit.is_null() { e.offset_from(hp) } else { e.offset_from((*c).stack_limit) };
        if free >= words as isize {
            return Some((hp, e));
        }
        collect(Collection { stack_words: words + 1, ..Collection::default() }, live, hp, e, c)
    }
}

/// Where a process starts: calls X0:X1 with the arguments in the list X2.
pub unsafe fn start(_ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core.
    unsafe {
        let core = &mut *c;
        core.swap_out(hp, e);
        let (module, name, list) = (core.x[0], core.x[1], core.x[2]);
        if module == atoms::ERLANG && name == atoms::APPLY && list.is_cons() && list.tail().is_cons() {
            // `spawn(Fun)` is `apply(Fun, [])`.
            let (fun, arguments) = (list.head(), list.tail().head());
            if list.tail().tail().is_nil()
                && fun.is_fun()
                && !((*core.own).flags.traced && is_apply_noticed())
                && let Spread::Into(arity) = spread(arguments, core)
            {
                return match fun_target(fun, arity, c) {
                    Ok((target, live)) => enter_slowly(target, live as Word, core.top(), e, reds, c),
                    Err(exception) => raise::in_apply(exception, core.top(), e, reds, c),
                };
            }
        }
        match spread(list, core) {
            Spread::Into(arity) => {
                let export = registry().export(module, name, arity as u8);
                enter_slowly(export.address.load(Ordering::Acquire), arity as Word, hp, e, reds, c)
            }
            // No function has so many arguments.
            Spread::TooMany(count) if count <= MOST_APPLIED => {
                let handler = error_handler(core, atoms::UNDEFINED_FUNCTION);
                undefined(handler, [module, name, list], e, reds, c)
            }
            other => {
                let exception = match other {
                    Spread::NoList => Exception::badarg(),
                    _ => Exception::system_limit(),
                };
                let apply = registry().export(atoms::ERLANG, atoms::APPLY, 3);
                raise::built_in(exception, apply, &[module, name, list], std::ptr::null(), hp, e, reds, c)
            }
        }
    }
}

/// Whether calls of the function `erlang:apply/2` are told, which is passed by otherwise.
#[cold]
fn is_apply_noticed() -> bool {
    let export = registry().export(atoms::ERLANG, atoms::APPLY, 2);
    breakpoint_at(export_key(export)).is_some() || breakpoint_at(export.address.load(Ordering::Acquire)).is_some()
}

/// What became of a list of arguments.
enum Spread {
    /// They are in so many X registers.
    Into(usize),
    /// There are more than a function can have.
    TooMany(usize),
    /// It is no proper list.
    NoList,
}

/// Puts the elements of a list into the X registers.
fn spread(mut list: Term, core: &mut Core) -> Spread {
    let mut arity = 0;
    while list.is_cons() {
        if arity < MOST_ARGUMENTS {
            core.x[arity] = list.head();
        }
        list = list.tail();
        arity += 1;
    }
    match arity {
        _ if !list.is_nil() => Spread::NoList,
        0..=MOST_ARGUMENTS => Spread::Into(arity),
        _ => Spread::TooMany(arity),
    }
}

/// `return` at an address of its own, for going on with a result after a pause.
pub unsafe fn return_to(_ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the address to return to is on the stack.
    unsafe { dispatch(*e as *const Word, hp, e.add(1), reds, c) }
}

/// Stands on stacks in the place of a return address that the heap architecture keeps: it wants to be told.
pub unsafe fn stack_marker(_ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core; the marker was the word below its stack pointer.
    unsafe {
        (*c).swap_out(hp, e);
        let mutator = &mut *(*c).mutator;
        let Some((_, address)) = architecture().stack_marker(mutator) else { return finish(_ip, hp, e, reds, c) };
        architecture().stack_cut(mutator);
        dispatch(address as *const Word, hp, e, reds, c)
    }
}

/// The last frame returns here: the process ends normally.
pub unsafe fn finish(_ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core.
    unsafe {
        let core = &mut *c;
        core.swap_out(hp, e);
        (*core.own).reductions += (core.slice - reds) as u64;
        core.x[0] = atoms::NORMAL;
        Exit::Ended
    }
}

/// Stands at the address of an export without code: asks the error handler. Operand: export.
pub unsafe fn undefined_export(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core; exports live for ever.
    unsafe {
        let core = &mut *c;
        core.swap_out(hp, e);
        let export = &*(*ip.add(1) as *const Export);
        let arity = usize::from(export.arity);
        // The machine itself may be able to load the module.
        let waiting = match crate::autoload::loader().map(|load| load(export.module)) {
            Some(Loading::Done) if export.is_defined() => {
                let address = export.address.load(Ordering::Acquire);
                return resume(address, core.top(), e, reds, c);
            }
            Some(Loading::Waits(handler)) => Some(handler),
            _ => None,
        };
        let handler = waiting.or_else(|| error_handler(core, atoms::UNDEFINED_FUNCTION));
        let arguments = (*core.mutator).list(core.x[..arity].iter().copied());
        undefined(handler, [export.module, export.name, arguments], e, reds, c)
    }
}

/// Goes on in the error handler's function with a call of what does not exist: module, function, list of arguments.
unsafe fn undefined(handler: Option<&'static Export>, call: [Term; 3], e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core.
    unsafe {
        let core = &mut *c;
        match handler {
            Some(handler) => {
                core.x[..3].copy_from_slice(&call);
                enter_slowly(handler.address.load(Ordering::Acquire), 3, core.top(), e, reds, c)
            }
            None => raise::in_function(Exception::error(atoms::UNDEF), call, core.top(), e, reds, c),
        }
    }
}

/// The body of a function that ought to be built in and is not. Operand: export.
pub unsafe fn missing_built_in(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core; exports live for ever.
    unsafe {
        let export = &*(*ip.add(1) as *const Export);
        let core = &mut *c;
        core.swap_out(hp, e);
        let arguments = (*core.mutator).list(core.x[..usize::from(export.arity)].iter().copied());
        let call = [export.module, export.name, arguments];
        raise::in_function(Exception::error(atoms::UNDEF), call, core.top(), e, reds, c)
    }
}

/// Stands at the address of a fun without code. Operand: entry. The fun itself is behind its free variables: see
/// [`fun_target`].
pub unsafe fn undefined_fun(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core; entries live for ever.
    unsafe {
        let core = &mut *c;
        core.swap_out(hp, e);
        let entry = &*(*ip.add(1) as *const FunEntry);
        let fun = core.x[usize::from(entry.arity) + entry.free as usize];
        if let Some(load) = crate::autoload::loader()
            && !atoll_code::is_loaded(entry.module)
            && matches!(load(entry.module), Loading::Done)
        {
            let address = entry.address.load(Ordering::Acquire);
            if !std::ptr::eq(address, ip) {
                return resume(address, core.top(), e, reds, c);
            }
        }
        if !atoll_code::is_loaded(entry.module) {
            let Some(handler) = error_handler(core, atoms::UNDEFINED_LAMBDA) else {
                return raise::plain(Exception::error(atoms::UNDEF), ip, core.top(), e, reds, c);
            };
            let arguments = (*core.mutator).list(core.x[..usize::from(entry.arity)].iter().copied());
            (core.x[0], core.x[1], core.x[2]) = (entry.module, fun, arguments);
            let address = handler.address.load(Ordering::Acquire);
            return enter_slowly(address, 3, (*c).top(), e, reds, c);
        }
        let exception = Exception::tagged(&mut *core.mutator, atoms::BADFUN, fun);
        raise::plain(exception, ip, core.top(), e, reds, c)
    }
}

/// The function of the process's error handler that has this name and three arguments, if there is code for it.
unsafe fn error_handler(core: &Core, name: Term) -> Option<&'static Export> {
    // SAFETY: the process runs on this core.
    let own = unsafe { &*core.own };
    let module = own.rare.as_ref().and_then(|rare| rare.error_handler).unwrap_or(atoms::ERROR_HANDLER);
    registry().existing_export(module, name, 3).filter(|one| one.is_defined())
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
