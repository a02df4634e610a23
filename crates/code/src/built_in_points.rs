//! Breakpoints of built-in functions. Calls of these are instructions that hold the function's address, so each module
//! remembers where they stand; while a function has a breakpoint, all calls of it are done by handlers that notice
//! them.

use std::collections::HashSet;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use atoll_term::{Export, Word};
use parking_lot::Mutex;

use crate::breakpoints::{Duty, change_handler, export_key, set_point, traced_function};
use crate::part::part;
use crate::ranges::{ModuleCode, each_code};

/// The word in the description of a call of a built-in function, counted from the handler, that is the export's
/// address. See [`crate::Translated::built_in_calls`].
const EXPORT_OPERAND: usize = 3;

/// The breakpoints of a machine's built-in functions.
#[derive(Default)]
pub(crate) struct BuiltInPoints {
    /// Handlers in pairs: one that calls a built-in function, and one that does so and notices.
    handlers: OnceLock<Vec<(Word, Word)>>,
    /// Addresses of the exports that have breakpoints.
    traced: Mutex<HashSet<usize>>,
    is_any: AtomicBool,
}

fn points() -> &'static BuiltInPoints {
    &part().built_in_points
}

/// Sets the engine's handlers of calls, each with the one that notices them; the first call counts.
pub fn set_built_in_handlers(pairs: Vec<(Word, Word)>) {
    let _ = points().handlers.set(pairs);
}

/// Sets, changes or takes away breakpoints of built-in functions. The world is stopped.
pub fn set_built_in_breakpoints(changes: Vec<(&'static Export, Option<Duty>)>) {
    let traced = &mut *points().traced.lock();
    let mut switched = HashSet::new();
    for (export, duty) in changes {
        let key = export_key(export) as usize;
        let is_new = if duty.is_some() { traced.insert(key) } else { traced.remove(&key) };
        let function = traced_function(export.module, export.name, export.arity);
        set_point(export_key(export), duty.map(|duty| (function, 0, duty)));
        if is_new {
            switched.insert(key);
            switch(export.address.load(Ordering::Acquire), traced.contains(&key));
        }
    }
    points().is_any.store(!traced.is_empty(), Ordering::Release);
    if !switched.is_empty() {
        each_code(|code| switch_calls(code, &switched, traced));
    }
}

/// Code is about to be used: its calls of functions that have breakpoints are to be noticed.
pub(crate) fn prepare(code: &ModuleCode) {
    if points().is_any.load(Ordering::Acquire) {
        let traced = points().traced.lock();
        switch_calls(code, &traced, &traced);
    }
}

fn switch_calls(code: &ModuleCode, switched: &HashSet<usize>, traced: &HashSet<usize>) {
    for offset in &code.built_in_calls {
        let export = code.words.get(*offset as usize + EXPORT_OPERAND).map(|word| *word as usize);
        if let Some(export) = export.filter(|export| switched.contains(export)) {
            switch(code.address(*offset), traced.contains(&export));
        }
    }
}

/// Has the instruction at this address notice calls, or not.
fn switch(address: *mut Word, notices: bool) {
    change_handler(address, |present| {
        let mut pairs = points().handlers.get().into_iter().flatten();
        pairs.find_map(|&(plain, noticing)| match notices {
            true => (plain == present).then_some(noticing),
            false => (noticing == present).then_some(plain),
        })
    });
}
