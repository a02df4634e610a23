//! Handlers of the machine's own code, which every engine calls by its address: the start and end of processes, and the
//! code at the address of a function that is missing.

use std::sync::atomic::Ordering;

use atoll_code::{breakpoint_at, export_key, registry};
use atoll_heap::stack_markers;
use atoll_operations::Exception;
use atoll_term::{Build, Export, FunEntry, Term, Word, atoms};

use crate::autoload::Loading;
use crate::core::{Core, Exit, dispatch, resume};
use crate::pause::{enter, enter_slowly};
use crate::raise;
use crate::target::{MOST_APPLIED, Spread, fun_target, spread};

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
                && !((*core.own).flags.traced() && is_apply_noticed())
                && let Spread::Into(arity) = spread(arguments, core)
            {
                let target = fun_target(fun, arity, c);
                return match (*c).failure.take() {
                    None => enter_slowly(target, (*c).live, (*c).top(), e, reds, c),
                    Some(exception) => raise::in_apply(exception, (*c).top(), e, reds, c),
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

/// Whether calls of `erlang:apply/2` are traced; otherwise the machine does not enter that function.
#[cold]
pub fn is_apply_noticed() -> bool {
    let export = registry().export(atoms::ERLANG, atoms::APPLY, 2);
    breakpoint_at(export_key(export)).is_some() || breakpoint_at(export.address.load(Ordering::Acquire)).is_some()
}

/// `return` at an address of its own, for going on with a result after a pause.
pub unsafe fn return_to(_ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the address to return to is on the stack.
    unsafe { dispatch(*e as *const Word, hp, e.add(1), reds, c) }
}

/// Stands on stacks in the place of a return address that the heap architecture keeps, so that the architecture learns
/// of the return.
pub unsafe fn stack_marker(_ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core; the marker was the word below its stack pointer.
    unsafe {
        (*c).swap_out(hp, e);
        let mutator = &mut *(*c).mutator;
        let Some(markers) = stack_markers() else { return finish(_ip, hp, e, reds, c) };
        let Some((_, address)) = markers.marker(mutator) else { return finish(_ip, hp, e, reds, c) };
        markers.cut(mutator);
        dispatch(address as *const Word, hp, e, reds, c)
    }
}

/// The last frame returns here: the process ends normally.
pub unsafe fn finish(_ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core.
    unsafe {
        let core = &mut *c;
        core.swap_out(hp, e);
        (*core.own).reductions += core.slice - reds;
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
pub unsafe fn error_handler(core: &Core, name: Term) -> Option<&'static Export> {
    // SAFETY: the process runs on this core.
    let own = unsafe { &*core.own };
    let module = own.rare.as_ref().and_then(|rare| rare.error_handler).unwrap_or(atoms::ERROR_HANDLER);
    registry().existing_export(module, name, 3).filter(|one| one.is_defined())
}

/// Ends a `catch` in a frame of one slot, gives the frame back, and calls a function with X0. Operand: export.
pub unsafe fn catching(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core; exports live for ever.
    unsafe {
        let hp = raise::end_catch(e, hp, e, c);
        let export = &*(*ip.add(1) as *const Export);
        enter(export.address.load(Ordering::Acquire), 1, hp, e.add(1), reds, c)
    }
}

/// Goes on in the error handler's function with a call of what does not exist: module, function, list of arguments.
pub unsafe fn undefined(
    handler: Option<&'static Export>,
    call: [Term; 3],
    e: *mut Word,
    reds: i64,
    c: *mut Core,
) -> Exit {
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
