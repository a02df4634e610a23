//! Raising: find the handler on the stack, or end the process.

use atoll_code::Places;
use atoll_heap::{Mutator, stack_markers};
use atoll_operations::{Class, Exception};
use atoll_process::Own;
use atoll_process::handle::is_killed;
use atoll_term::{Build, Export, Term, Word, atoms};

use crate::core::{Core, Exit, resume};
use crate::stack_trace;

/// Raises an exception at the instruction `ip`.
#[cold]
#[inline(never)]
pub unsafe fn plain(
    exception: Exception,
    ip: *const Word,
    hp: *mut Word,
    e: *mut Word,
    reds: i64,
    c: *mut Core,
) -> Exit {
    // SAFETY: the process runs on this core.
    unsafe { unwind(exception, Term::NIL, ip.add(1), Term::NONE, hp, e, reds, c) }
}

/// Raises the exception that an operation has left in the core, at the instruction `ip`.
#[cold]
#[inline(never)]
pub unsafe fn failure(ip: *const Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core.
    unsafe { plain((*c).take_failure(), ip, (*c).top(), e, reds, c) }
}

/// Raises in `erlang:apply/2`, which was called as a function.
#[cold]
#[inline(never)]
pub unsafe fn in_apply(exception: Exception, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core.
    unsafe { in_function(exception, [atoms::ERLANG, atoms::APPLY, Term::small(2)], hp, e, reds, c) }
}

/// Raises in a function that has no frame: module, function, arity or list of arguments.
#[cold]
#[inline(never)]
pub unsafe fn in_function(
    exception: Exception,
    function: [Term; 3],
    hp: *mut Word,
    e: *mut Word,
    reds: i64,
    c: *mut Core,
) -> Exit {
    // SAFETY: the process runs on this core.
    unsafe {
        (*c).swap_out(hp, e);
        let [module, name, arguments] = function;
        let top = (*(*c).mutator).tuple(&[module, name, arguments, Term::NIL]);
        unwind(exception, top, std::ptr::null(), Term::NONE, (*c).top(), e, reds, c)
    }
}

/// Raises from an operator or guard of `erlang` that was compiled into an instruction.
#[cold]
#[inline(never)]
pub unsafe fn operator(
    exception: Exception,
    name: Word,
    arguments: &[Term],
    ip: *const Word,
    hp: *mut Word,
    e: *mut Word,
    reds: i64,
    c: *mut Core,
) -> Exit {
    // SAFETY: the process runs on this core.
    unsafe {
        (*c).swap_out(hp, e);
        let heap = &mut *(*c).mutator;
        let top = top_of(heap, atoms::ERLANG, Term::from_word(name), arguments, Term::NONE);
        unwind(exception, top, ip.add(1), Term::NONE, (*c).top(), e, reds, c)
    }
}

/// Raises from a built-in function that was called with these arguments. `ip` is null if it was called in a tail
/// position, so that its caller is not on the stack.
#[cold]
#[inline(never)]
pub unsafe fn built_in(
    exception: Exception,
    export: &Export,
    arguments: &[Term],
    ip: *const Word,
    hp: *mut Word,
    e: *mut Word,
    reds: i64,
    c: *mut Core,
) -> Exit {
    // SAFETY: the process runs on this core.
    unsafe {
        (*c).swap_out(hp, e);
        let heap = &mut *(*c).mutator;
        let top = if is_raising_function(export) {
            Term::NIL
        } else {
            top_of(heap, export.module, export.name, arguments, exception.error_info)
        };
        let at = if ip.is_null() { std::ptr::null() } else { ip.add(1) };
        // OTP's `apply/2`, called as a function, calls what raises.
        let is_function =
            ip.is_null() && (export.module, export.name, export.arity) == (atoms::ERLANG, atoms::APPLY, 2);
        let within = match is_function {
            true => heap.tuple(&[export.module, export.name, Term::small(2)]),
            false => Term::NONE,
        };
        unwind(exception, top, at, within, (*c).top(), e, reds, c)
    }
}

/// `error/1`, `exit/1`, `throw/1` and `raise/3` do not appear in traces themselves: their caller does.
fn is_raising_function(export: &Export) -> bool {
    export.module == atoms::ERLANG
        && matches!(
            (export.name, export.arity),
            (atoms::ERROR | atoms::EXIT | atoms::THROW, 1) | (atoms::ERROR, 2 | 3) | (atoms::RAISE, 3)
        )
}

fn top_of(heap: &mut Mutator, module: Term, name: Term, arguments: &[Term], error_info: Term) -> Term {
    let arguments = heap.list(arguments.iter().copied());
    let info = if !error_info.is_none() {
        error_info
    } else if let Some(explainer) = stack_trace::explainer_of(module) {
        stack_trace::explained_by(explainer, heap)
    } else {
        Term::NIL
    };
    heap.tuple(&[module, name, arguments, info])
}

/// No clause of a function matched; `ip` is its `func_info`. The arguments are in the X registers.
pub unsafe fn function_clause(ip: *const Word, hp: *mut Word, e: *mut Word, reds: i64, c: *mut Core) -> Exit {
    // SAFETY: the process runs on this core.
    unsafe {
        let (module, name, arity) = (Term::from_word(*ip.add(1)), Term::from_word(*ip.add(2)), *ip.add(3) as usize);
        (*c).swap_out(hp, e);
        let heap = &mut *(*c).mutator;
        let core = &*c;
        let arguments = heap.list(core.x[..arity].iter().copied());
        let top = heap.tuple(&[module, name, arguments, Term::NIL]);
        unwind(Exception::error(atoms::FUNCTION_CLAUSE), top, ip.add(1), Term::NONE, (*c).top(), e, reds, c)
    }
}

/// Finds the innermost handler and goes on there, or ends the process. See [`stack_trace::take`] for what the trace
/// holds.
unsafe fn unwind(
    exception: Exception,
    top: Term,
    at: *const Word,
    within: Term,
    hp: *mut Word,
    e: *mut Word,
    reds: i64,
    c: *mut Core,
) -> Exit {
    // SAFETY: the process runs on this core, so its registers and what belongs to it are this thread's alone.
    let (core, own) = unsafe {
        let core = &mut *c;
        core.swap_out(hp, e);
        let own = &mut *core.own;
        (core, own)
    };
    let base = own.mutator.stack_base;
    // SAFETY: the process's stack lies between `e` and its base.
    let (raw, found) = unsafe {
        let raw = raw_trace(&exception, top, at, within, e, &mut own.mutator, &mut core.places);
        (raw, if own.catches > 0 { find_handler(e, base) } else { None })
    };
    if own.flags.awaits_returns() {
        let end = found.map_or(base, |(frame, _)| frame);
        let (class, reason) = match found {
            Some(_) => (exception.class, exception.reason),
            None => uncaught(exception.class, exception.reason, &mut own.mutator),
        };
        // SAFETY: the process runs on this core; the frames that the exception leaves lie between `e` and `end`.
        unsafe { crate::trace_hooks::raised(class, reason, e, end, found.is_some(), core) };
    }
    if let Some((frame, handler)) = found {
        own.mutator.stack = frame;
        core.x[0] = Term::NONE;
        core.x[1] = exception.class.atom();
        core.x[2] = exception.reason;
        core.x[3] = raw;
        // SAFETY: the process runs on this core, and its stack begins at this frame from now on; the handler is an
        // instruction that goes on with the frame.
        return unsafe {
            if let Some(markers) = stack_markers() {
                markers.cut(&mut own.mutator);
            }
            resume(handler, (*c).top(), frame, reds, c)
        };
    }
    let heap = &mut own.mutator;
    core.x[0] = match exception.class {
        Class::Exit => exception.reason,
        Class::Error => {
            let list = stack_trace::to_list(raw, heap, &mut core.places);
            heap.tuple(&[exception.reason, list])
        }
        Class::Throw => {
            let list = stack_trace::to_list(raw, heap, &mut core.places);
            let reason = heap.tuple(&[atoms::NOCATCH, exception.reason]);
            heap.tuple(&[reason, list])
        }
    };
    // SAFETY: the process runs on this core.
    unsafe {
        // What was killed before it failed fails no more: on OTP a long function is interrupted for the signal.
        match exception.class != Class::Exit && is_killed(&*core.process) {
            true => core.x[0] = atoms::KILLED,
            false => crate::report::uncaught(core, exception.class),
        }
    }
    own.reductions += core.slice - reds;
    Exit::Ended
}

/// The raw trace of an exception: the one that the program gave, or one of the stack from `e` on.
///
/// # Safety
/// `e` is the stack pointer of the process whose heap this is.
unsafe fn raw_trace(
    exception: &Exception,
    top: Term,
    at: *const Word,
    within: Term,
    e: *mut Word,
    heap: &mut Mutator,
    places: &mut Places,
) -> Term {
    if !exception.trace.is_none() {
        return if is_raw(exception.trace) {
            exception.trace
        } else {
            stack_trace::given(exception.trace, exception.class, heap)
        };
    }
    let base = heap.stack_base;
    // SAFETY: the words between `e` and the base are the stack of the process.
    unsafe {
        let place = if at.is_null() { returns_to(e, base, heap) } else { Some(at) };
        let top = explicit_top(exception, top, place, at.is_null(), heap, places);
        stack_trace::take(exception.class, top, at, within, e, base, heap, places)
    }
}

/// Ends the `catch` whose mark is, or was, at `slot`: X0 is its value then. After an exception X0 is no term, and X1 to
/// X3 are class, reason and raw trace. The heap top then.
///
/// # Safety
/// A process runs on this core, on whose stack the slot lies.
pub unsafe fn end_catch(slot: *mut Word, hp: *mut Word, e: *mut Word, c: *mut Core) -> *mut Word {
    // SAFETY: the caller's obligation; slots hold terms or marks.
    unsafe {
        let core = &mut *c;
        let marked = Term::from_word(*slot).is_catch_mark();
        *slot = Term::NIL.word();
        if marked {
            (*core.own).catches -= 1;
        }
        if !core.x[0].is_none() {
            return hp;
        }
        core.swap_out(hp, e);
        let heap = &mut *core.mutator;
        let reason = core.x[2];
        core.x[0] = match Class::from_atom(core.x[1]) {
            Some(Class::Throw) => reason,
            Some(Class::Exit) => heap.tuple(&[atoms::EXIT_UPPER, reason]),
            _ => {
                let list = stack_trace::to_list(core.x[3], heap, &mut core.places);
                let inner = heap.tuple(&[reason, list]);
                heap.tuple(&[atoms::EXIT_UPPER, inner])
            }
        };
        (*c).top()
    }
}

/// The class and reason with which an uncaught exception ends a process: a throw becomes an error.
pub fn uncaught(class: Class, reason: Term, heap: &mut Mutator) -> (Class, Term) {
    match class {
        Class::Throw => (Class::Error, heap.tuple(&[atoms::NOCATCH, reason])),
        _ => (class, reason),
    }
}

fn is_raw(trace: Term) -> bool {
    matches!(trace.tuple_elements(), Some([class, _] | [class, _, _, _]) if Class::from_atom(*class).is_some())
}

/// The address on top of a stack, if it is one: where a built-in function that was applied returns to.
///
/// # Safety
/// `e..base` are words of the stack of the process whose heap this is.
unsafe fn returns_to(e: *const Word, base: *const Word, heap: &Mutator) -> Option<*const Word> {
    // SAFETY: the caller's obligation.
    let content = (e < base).then(|| unsafe { Term::from_word(heap.stack_reader().read(e)) })?;
    (content.is_header() && !content.is_none()).then_some(content.word() as *const Word)
}

/// `error/2,3` give the arguments, and the information, of the function that called them; the construction of a
/// bitstring gives information.
fn explicit_top(
    exception: &Exception,
    top: Term,
    at: Option<*const Word>,
    applied: bool,
    heap: &mut Mutator,
    places: &mut Places,
) -> Term {
    if exception.arguments.is_none() && exception.error_info.is_none() || !top.is_nil() {
        return top;
    }
    let Some(frame) = at.and_then(|at| places.frame_at(at, u64::MAX)) else { return top };
    // A function that applied `error` as its last act is not on the stack any more: its arguments are not those of
    // another.
    let length = atoll_operations::list::elements(exception.arguments).map(|elements| elements.len());
    if applied && length != Some(usize::from(frame.arity)) {
        return top;
    }
    let arguments =
        if exception.arguments.is_list() { exception.arguments } else { Term::small(i64::from(frame.arity)) };
    let info = if exception.error_info.is_none() { Term::NIL } else { exception.error_info };
    heap.tuple(&[frame.module, frame.name, arguments, info])
}

/// The innermost catch mark: its frame, and its handler.
unsafe fn find_handler(stack: *mut Word, base: *mut Word) -> Option<(*mut Word, *const Word)> {
    let mut frame = stack;
    let mut word = stack;
    while word < base {
        // SAFETY: the word lies on the stack.
        let content = unsafe { Term::from_word(*word) };
        word = word.wrapping_add(1);
        if content.is_catch_mark() {
            return Some((frame, content.catch_address() as *const Word));
        }
        if content.is_header() && !content.is_none() {
            frame = word;
        }
    }
    None
}

/// Whether an exception would be handled by the function whose frame is at `stack`, and no other returns to.
///
/// # Safety
/// `stack` is a word of the stack of this process, which runs on this thread.
pub unsafe fn is_handled_here(stack: *mut Word, own: &Own) -> bool {
    // SAFETY: the caller's obligation.
    let handler = || unsafe { find_handler(stack, own.mutator.stack_base) };
    own.catches > 0 && handler().is_some_and(|(frame, _)| frame == stack)
}

/// The process has reached `max_heap_size`.
#[cold]
#[inline(never)]
pub unsafe fn killed_by_heap_limit(c: *mut Core, reds: i64) -> Exit {
    // SAFETY: the process runs on this core.
    unsafe {
        let core = &mut *c;
        let own = &mut *core.own;
        own.reductions += core.slice - reds;
        core.x[0] = atoms::KILLED;
        Exit::Ended
    }
}
