//! What several areas share: rows of tables, reductions, reading arguments, reasons of errors.

use atoll_operations::{Exception, list};
use atoll_process::{BuiltIn, Caller, Interrupt, Native};
use atoll_term::atoms::{self, AtomError};
use atoll_term::{Build, Term, map};

/// Elements of a list that cost a reduction.
const ELEMENTS: usize = 40;
/// Bytes that cost a reduction.
const BYTES: usize = 100;

/// A row of a table of built-in functions.
pub const fn row(module: &'static str, name: &'static str, arity: u8, function: Native) -> BuiltIn {
    BuiltIn { module, name, arity, function }
}

/// Charges for work on so many elements.
pub fn charge_elements(caller: &mut Caller<'_>, elements: usize) {
    caller.reductions -= (elements / ELEMENTS) as i64;
}

/// Charges for work on so many bytes.
pub fn charge_bytes(caller: &mut Caller<'_>, bytes: usize) {
    caller.reductions -= (bytes / BYTES) as i64;
}

/// `badarg`, as what a built-in function returns.
pub fn badarg() -> Interrupt {
    Exception::badarg().into()
}

/// `badarg` with a cause that the module which explains errors (`erl_erts_errors`, ...) knows.
pub fn badarg_because(caller: &mut Caller<'_>, explainer: Term, cause: Term) -> Interrupt {
    let heap = caller.heap();
    let empty = map::empty(heap);
    let module = map::put(heap, empty, atoms::MODULE, explainer);
    let mut exception = Exception::badarg();
    exception.error_info = match atom("cause") {
        Ok(key) => map::put(heap, module, key, cause),
        Err(_) => module,
    };
    exception.into()
}

/// `badarg` because of an option.
pub fn bad_option(caller: &mut Caller<'_>) -> Interrupt {
    badarg_because(caller, atoms::ERL_ERTS_ERRORS, atoms::BADOPT)
}

/// The atom of this name.
///
/// # Errors
/// `system_limit`: the name is too long, or there are too many atoms
pub fn atom(name: &str) -> Result<Term, Exception> {
    atoms::atom(name).map_err(|_: AtomError| Exception::system_limit())
}

/// A proper list's elements.
///
/// # Errors
/// `badarg`
pub fn elements(term: Term) -> Result<Vec<Term>, Exception> {
    list::elements(term).ok_or(Exception::badarg())
}

/// The bytes that a proper list of integers from 0 to 255 holds, up to `limit` of them.
pub fn byte_list(term: Term, limit: usize) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut rest = term;
    while rest.is_cons() && bytes.len() < limit {
        bytes.push(u8::try_from(rest.head().as_small()?).ok()?);
        rest = rest.tail();
    }
    rest.is_nil().then_some(bytes)
}

/// A list of ASCII text.
pub fn text_list(caller: &mut Caller<'_>, text: &str) -> Term {
    charge_bytes(caller, text.len());
    caller.heap().string(text)
}
