//! Breakpoints: the handler of a function's first instruction is replaced, so that calls of it are noticed and calls
//! of other functions cost nothing. Calls through an export alone are noticed by code in front of the function.
//!
//! What is done at a breakpoint is kept here as a value that this crate does not know.

use std::any::Any;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use atoll_term::{Export, Term, Word};
use parking_lot::{Mutex, MutexGuard, RwLock};

use crate::part::part;
use crate::ranges::ModuleCode;
use crate::registry::registry;
use crate::server::second_engine;

/// A function that has, or had, a breakpoint. Never freed: frames on stacks point to it.
#[derive(Debug)]
pub struct TracedFunction {
    /// Module (atom).
    pub module: Term,
    /// Function (atom).
    pub name: Term,
    /// Arity.
    pub arity: u8,
}

/// Traced functions by module, name and arity.
type Functions = HashMap<(Term, Term, u8), &'static TracedFunction>;

/// Told of a call, as part of what is kept until the return: the process's error handler is called in the function's
/// place (`erts_debug:breakpoint/2`).
pub const INTERPRETED: u8 = 64;

/// What is done at a breakpoint.
pub type Duty = Arc<dyn Any + Send + Sync>;

/// A breakpoint.
#[derive(Clone)]
pub struct Breakpoint {
    /// The function.
    pub function: &'static TracedFunction,
    /// What the first word was, for one at a function's first instruction; else the address of the function.
    pub original: Word,
    /// What is done.
    pub duty: Duty,
}

/// The breakpoints of a machine.
#[derive(Default)]
pub(crate) struct Breakpoints {
    /// The engine's handler.
    handler: OnceLock<Word>,
    points: RwLock<HashMap<usize, Breakpoint>>,
    functions: RwLock<Functions>,
    /// Held while it is decided which engine's code stands at functions' entries, and while breakpoints are set there.
    entries: Mutex<()>,
}

fn breakpoints() -> &'static Breakpoints {
    &part().breakpoints
}

/// Sets the engine's handler of breakpoints; the first call counts.
pub fn set_breakpoint_handler(handler: Word) {
    let _ = breakpoints().handler.set(handler);
}

/// Keeps other threads from setting breakpoints and from taking functions over, until the guard is dropped.
pub fn hold_entries() -> MutexGuard<'static, ()> {
    breakpoints().entries.lock()
}

/// The one value for a function.
pub fn traced_function(module: Term, name: Term, arity: u8) -> &'static TracedFunction {
    let mut functions = breakpoints().functions.write();
    let known = functions.entry((module, name, arity));
    known.or_insert_with(|| Box::leak(Box::new(TracedFunction { module, name, arity })))
}

/// The breakpoint at a function's first instruction, or of an export ([`export_key`]).
pub fn breakpoint_at(address: *const Word) -> Option<Breakpoint> {
    breakpoints().points.read().get(&(address as usize)).cloned()
}

/// What stands for an export in [`breakpoint_at`].
pub fn export_key(export: &'static Export) -> *const Word {
    std::ptr::from_ref(export).cast()
}

/// The first instruction of the function with this index in `code.functions`.
pub fn entry_of(code: &ModuleCode, function: usize) -> Option<*const Word> {
    let entry = *code.entries.get(function)?;
    ((entry as usize) < code.words.len()).then(|| code.address(entry).cast_const())
}

/// Sets, changes or takes away (`duty` is none) the breakpoint at the first instruction of the function with this index
/// in `code.functions`.
pub fn set_breakpoint(code: &ModuleCode, index: usize, duty: Option<Duty>) {
    let (Some(address), Some((_, name, arity))) = (entry_of(code, index), code.functions.get(index)) else { return };
    let _entries = hold_entries();
    if let Some(engine) = second_engine() {
        engine.give_back(code);
    }
    let function = traced_function(code.module, *name, *arity);
    let Some(handler) = breakpoints().handler.get() else { return };
    let mut points = breakpoints().points.write();
    // SAFETY: the address is that of an instruction in code that `code` keeps; handlers read it, and it is written here
    // alone, by atomic operations.
    let word = unsafe { AtomicU64::from_ptr(address.cast_mut()) };
    let is_set = word.load(Ordering::Relaxed) == *handler;
    let original = match points.get(&(address as usize)) {
        Some(known) if is_set => known.original,
        _ => word.load(Ordering::Relaxed),
    };
    match duty {
        Some(duty) => {
            points.insert(address as usize, Breakpoint { function, original, duty });
            word.store(*handler, Ordering::Relaxed);
        }
        None if is_set => {
            word.store(original, Ordering::Relaxed);
            points.remove(&(address as usize));
        }
        None => {
            points.remove(&(address as usize));
        }
    }
}

/// Puts another handler in the place of the one of a function's first instruction; the one that stood there, or `None`
/// if there is a breakpoint in the module, and nothing was changed.
///
/// # Safety
/// `handler` is that of an engine, and does what the function does.
pub unsafe fn take_over(
    code: &ModuleCode,
    function: usize,
    handler: Word,
    _entries: &MutexGuard<'_, ()>,
) -> Option<Word> {
    let address = entry_of(code, function)?;
    let points = breakpoints().points.write();
    let is_inside = |point: &usize| code.contains(*point as *const Word);
    if points.keys().any(is_inside) {
        return None;
    }
    // SAFETY: as for `set_breakpoint`; the caller's obligation.
    Some(unsafe { AtomicU64::from_ptr(address.cast_mut()) }.swap(handler, Ordering::AcqRel))
}

/// Has calls of the function with this index in `code.functions` go on at `handler`, which finds `function` two words
/// in front of the function's first instruction; also where a breakpoint stands there.
pub fn set_native(code: &ModuleCode, index: usize, handler: Word, function: Word) {
    let Some(address) = entry_of(code, index) else { return };
    let _entries = hold_entries();
    if let Some(engine) = second_engine() {
        engine.give_back(code);
    }
    // SAFETY: two words in front of a function's first instruction is a word of its `func_info` that is kept for this.
    let place = unsafe { AtomicU64::from_ptr(address.cast_mut().sub(2)) };
    place.store(function, Ordering::Release);
    change_handler(address.cast_mut(), |_| Some(handler));
}

/// Whether [`set_native`] was called for the function.
pub fn has_native(code: &ModuleCode, index: usize) -> bool {
    // SAFETY: as in `set_native`.
    let word = |address: *const Word| unsafe { AtomicU64::from_ptr(address.cast_mut().sub(2)) }.load(Ordering::Acquire);
    entry_of(code, index).is_some_and(|address| word(address) != 0)
}

/// Changes the handler of an instruction, also where a breakpoint stands in its place: `change` gives the new one, if
/// any.
pub(crate) fn change_handler(address: *mut Word, change: impl Fn(Word) -> Option<Word>) {
    // SAFETY: the caller gives the address of an instruction in code that lives; handlers read it while the world runs,
    // and it is written by atomic operations.
    let word = unsafe { AtomicU64::from_ptr(address) };
    let present = word.load(Ordering::Relaxed);
    if breakpoints().handler.get() == Some(&present) {
        let mut points = breakpoints().points.write();
        if let Some(point) = points.get_mut(&(address as usize)) {
            point.original = change(point.original).unwrap_or(point.original);
        }
    } else if let Some(wanted) = change(present) {
        word.store(wanted, Ordering::Release);
    }
}

/// Sets, changes or takes away what [`breakpoint_at`] gives for a key: function, original word, duty.
pub(crate) fn set_point(key: *const Word, point: Option<(&'static TracedFunction, Word, Duty)>) {
    let mut points = breakpoints().points.write();
    match point {
        Some((function, original, duty)) => points.insert(key as usize, Breakpoint { function, original, duty }),
        None => points.remove(&(key as usize)),
    };
}

/// Takes away the breakpoints in code that is about to be freed, and those of exports whose functions were there.
pub(crate) fn forget(is_inside: &dyn Fn(*const Word) -> bool) {
    let mut points = breakpoints().points.write();
    points.retain(|key, point| !is_inside(*key as *const Word) && !is_inside(point.original as *const Word));
}

/// Sets, changes or takes away the breakpoint of an export, whose function is in loaded code at `address`.
pub fn set_export_breakpoint(
    export: &'static Export,
    address: *const Word,
    function: &'static TracedFunction,
    duty: Option<Duty>,
) {
    let mut points = breakpoints().points.write();
    let key = export_key(export) as usize;
    match duty {
        Some(duty) => {
            points.insert(key, Breakpoint { function, original: address as Word, duty });
            export.address.store(registry().traced_stub(export), Ordering::Release);
        }
        None => {
            if points.remove(&key).is_some() {
                export.address.store(address.cast_mut(), Ordering::Release);
            }
        }
    }
}
