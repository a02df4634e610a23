//! Addresses of the machine's own code: the start and end of processes, and the code at the addresses of functions that
//! are built in or missing.

use std::sync::OnceLock;

use atoll_code::Stubs;
use atoll_operations::Exception;
use atoll_process::{BuiltIn, Caller, EntryPoints, Native, Outcome};
use atoll_term::atoms::known_atom;
use atoll_term::{Export, FunEntry, Term, Word};

use crate::core::{Handler, handler, handler_at};
use crate::part::part;
use crate::{breakpoint, built_in, entry};

/// Addresses of small pieces of code.
#[derive(Clone, Copy, Debug)]
pub struct StubAddresses {
    /// See [`entry::start`].
    pub start: *const Word,
    /// See [`entry::finish`].
    pub finish: *const Word,
    /// See [`entry::return_to`].
    pub return_: *const Word,
    /// See [`breakpoint::traced_return`].
    pub traced_return: *const Word,
    /// See [`entry::stack_marker`].
    pub stack_marker: *const Word,
}

// SAFETY: addresses of code that is never freed.
unsafe impl Send for StubAddresses {}
// SAFETY: as above.
unsafe impl Sync for StubAddresses {}

static ADDRESSES: OnceLock<StubAddresses> = OnceLock::new();

fn code(instruction: Handler, operands: &[Word]) -> *mut Word {
    let mut words = vec![handler(instruction)];
    words.extend_from_slice(operands);
    Box::leak(words.into_boxed_slice()).as_mut_ptr()
}

/// The pieces of code.
pub fn stubs() -> StubAddresses {
    *ADDRESSES.get_or_init(|| StubAddresses {
        start: code(entry::start, &[]),
        finish: code(entry::finish, &[]),
        return_: code(entry::return_to, &[]),
        traced_return: code(breakpoint::traced_return, &[]),
        stack_marker: code(entry::stack_marker, &[]),
    })
}

/// Where processes start and end.
pub fn entry_points() -> EntryPoints {
    EntryPoints { start: stubs().start, finish: stubs().finish }
}

/// Code that ends a `catch` in a frame of one slot, gives the frame back, and calls `then` with X0.
pub fn catching(then: &'static Export) -> *const Word {
    let export = std::ptr::from_ref(then) as usize;
    let address =
        *part().made.catching.lock().entry(export).or_insert_with(|| code(entry::catching, &[export as Word]) as usize);
    address as *const Word
}

/// The built-in functions.
pub fn built_ins() -> &'static [BuiltIn] {
    part().built_ins
}

/// Address of the built-in function with this number, as a code word.
pub fn native_of(number: u32) -> Word {
    built_ins()[number as usize].function as usize as Word
}

fn missing(_: &mut Caller<'_>, _: &[Term]) -> Outcome {
    Err(Exception::error(atoll_term::atoms::UNDEF).into())
}

/// Address of a guard function that this machine does not have: it raises `undef`.
pub fn missing_guard() -> Word {
    let function: Native = missing;
    function as usize as Word
}

/// Code of a built-in function that goes on with a call that was noticed before.
pub fn untraced_body(export: &'static Export) -> *const Word {
    let made = &part().made.untraced_bodies;
    let key = std::ptr::from_ref(export) as usize;
    let number = export.built_in.load(std::sync::atomic::Ordering::Acquire);
    *made.lock().entry(key).or_insert_with(|| body(export, number) as usize) as *const Word
}

/// Code of the built-in function with this number, under a name.
fn body(export: &'static Export, number: u32) -> *mut Word {
    let operands = [native_of(number), export.arity.into(), std::ptr::from_ref(export) as Word];
    let address = code(built_in::built_in_body, &operands);
    // What OTP has no function for is not shown: a process in it is shown as in its caller.
    if export.module != known_atom("atoll_internal") {
        atoll_code::note_built_in_place(address, export);
    }
    address
}

/// The built-in function that a process will call again when it goes on at this address, which is that of an
/// instruction.
pub unsafe fn built_in_at(address: *const Word) -> Option<&'static Export> {
    // SAFETY: a process goes on at an instruction, whose first word is its handler; this one has three operands, of
    // which the last is an export.
    unsafe {
        let is_call = handler(handler_at(address)) == handler(built_in::built_in_body);
        is_call.then(|| &*(*address.add(3) as *const Export))
    }
}

/// Makes the code of exports and funs without code.
pub struct RuntimeStubs;

impl Stubs for RuntimeStubs {
    fn undefined_export(&self, export: &'static Export) -> *mut Word {
        code(entry::undefined_export, &[std::ptr::from_ref(export) as Word])
    }

    fn built_in(&self, export: &'static Export, number: u32) -> *mut Word {
        body(export, number)
    }

    fn traced_export(&self, export: &'static Export) -> *mut Word {
        let key = std::ptr::from_ref(export) as usize;
        let make = || code(breakpoint::traced_export, &[key as Word]) as usize;
        *part().made.traced_exports.lock().entry(key).or_insert_with(make) as *mut Word
    }

    fn undefined_fun(&self, entry: &'static FunEntry) -> *mut Word {
        code(entry::undefined_fun, &[std::ptr::from_ref(entry) as Word])
    }
}
