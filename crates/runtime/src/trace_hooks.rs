//! Hands traced calls to functions that the machine installs, because the content of trace messages does not depend on
//! engines.

use atoll_code::{Breakpoint, TracedFunction, frame_of};
use atoll_operations::Class;
use atoll_process::{Caller, Own, Process, System, tracing};
use atoll_term::{Build, ScratchHeap, Term, Word};

use crate::core::{Core, handler};
use crate::part::part;
use crate::stubs::{entry_points, stubs};

/// What is done at calls and returns.
pub struct Hooks {
    /// A call: the arguments, the breakpoint, the address that the function returns to, and what the function keeps
    /// that has called this one in its place (0: none). What is given back, if it is not 0, is kept until the function
    /// returns.
    pub called: fn(&mut Caller<'_>, &[Term], &Breakpoint, *const Word, u8) -> u8,
    /// A return with this value to this address; null if another traced function returns at once.
    pub returned: fn(&mut Caller<'_>, &'static TracedFunction, u8, Term, *const Word),
    /// An exception leaves the function.
    pub raised: fn(&mut Caller<'_>, &'static TracedFunction, u8, Class, Term),
    /// An exception has left a function that keeps this, and is handled by the function that it would have returned to.
    pub caught: fn(&mut Caller<'_>, u8, *const Word),
    /// A traced process starts (true) or stops running.
    pub scheduled: fn(&mut Own, bool),
}

/// Makes the engine's handlers of breakpoints known to this thread's machine.
pub fn install_handlers() {
    atoll_code::set_built_in_handlers(crate::traced_built_in::pairs());
    atoll_code::set_breakpoint_handler(handler(crate::breakpoint::breakpoint));
}

/// See [`Hooks`].
pub fn hooks() -> &'static Hooks {
    &part().hooks
}

/// Words of the frame that waits for a return: the address of the code that is returned to, the function, what to do.
pub const FRAME: usize = 3;

/// An exception leaves the frames from `stack` to `end`, where it is handled if `is_handled`.
///
/// # Safety
/// These are words of the stack of the process that runs on this core.
pub unsafe fn raised(
    class: Class,
    reason: Term,
    stack: *const Word,
    end: *const Word,
    is_handled: bool,
    core: &mut Core,
) {
    let hooks = hooks();
    let waiting = stubs().traced_return as Word;
    let mut word = stack;
    // What the function keeps whose caller has the next frame, then what the last frame's caller keeps.
    let (mut left, mut last) = (None, None);
    while word < end {
        // SAFETY: the word lies on the stack; a frame that waits for a return is whole.
        unsafe {
            let content = Term::from_word((*core.mutator).stack_reader().read(word));
            if content.word() == waiting {
                let (function, what) = frame(word.add(1));
                let mut caller =
                    Caller { process: &*core.process, own: &mut *core.own, reductions: 0, at: std::ptr::null() };
                (hooks.raised)(&mut caller, function, what, class, reason);
                left = Some(left.unwrap_or(0) | what);
            } else if content.is_header() && !content.is_none() {
                last = left.take().map(|what: u8| (what, content.word() as *const Word));
            }
            word = word.add(1);
        }
    }
    if let (true, Some((what, to))) = (is_handled, last) {
        // SAFETY: the process runs on this core.
        let mut caller =
            unsafe { Caller { process: &*core.process, own: &mut *core.own, reductions: 0, at: std::ptr::null() } };
        (hooks.caught)(&mut caller, what, to);
    }
}

/// Function and purpose of a frame that waits for a return, from the word behind its address on.
///
/// # Safety
/// The words are those of such a frame.
pub unsafe fn frame(words: *const Word) -> (&'static TracedFunction, u8) {
    // SAFETY: the caller's obligation; traced functions are never freed.
    unsafe {
        let function = Term::from_word(*words).small_value() as *const TracedFunction;
        (&*function, Term::from_word(*words.add(1)).small_value() as u8)
    }
}

/// A process starts or stops running.
#[cold]
#[inline(never)]
pub fn scheduled(process: &Process, own: &mut Own, event: &str) {
    (hooks().scheduled)(own, event == "in");
    if own.tracing().is_none_or(|tracing| tracing.flags & tracing::RUNNING == 0) {
        return;
    }
    let place = place(own).map_or(Term::small(0), |place| own.mutator.tuple(&place));
    tracing::event(process.pid, own, tracing::RUNNING, event, &[place]);
}

/// Where a process that does not run is, in a heap; 0 if that is not known.
pub fn place_in(own: &Own, heap: &mut ScratchHeap) -> Term {
    place(own).map_or(Term::small(0), |place| heap.tuple(&place))
}

/// Module, name and arity of the function in which a process that does not run is.
fn place(own: &Own) -> Option<[Term; 3]> {
    let libraries = System::get().libraries.get();
    if let Some(export) = libraries.and_then(|libraries| libraries.carried_out(&own.saved)) {
        return Some([export.module, export.name, Term::small(export.arity.into())]);
    }
    if own.address != entry_points().start {
        // SAFETY: a process that does not run has the address of the instruction with which it goes on.
        if let Some(export) = unsafe { crate::stubs::built_in_at(own.address) } {
            return Some([export.module, export.name, Term::small(export.arity.into())]);
        }
        // Where it goes on may be code of the machine's own: then it is in the function that will be returned to.
        let frame = frame_of(own.address.wrapping_add(1))
            .or_else(|| atoll_process::inspect::return_addresses(own, 1).into_iter().find_map(frame_of))?;
        return Some([frame.module, frame.name, Term::small(frame.arity.into())]);
    }
    // It is about to call what it was spawned with.
    let (function, arguments) = (own.saved.get(..2)?, own.saved.get(2).copied().unwrap_or(Term::NIL));
    Some([function[0], function[1], list_length(arguments)])
}

fn list_length(list: Term) -> Term {
    Term::small(atoll_operations::list::elements(list).map_or(0, |elements| elements.len() as i64))
}
