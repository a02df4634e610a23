//! Small things that the files of this crate share: errors, names, lists.

use std::sync::atomic::{AtomicU32, Ordering};

use atoll_code::registry;
use atoll_operations::Exception;
use atoll_process::{Caller, Interrupt, Outcome};
use atoll_term::{Export, Term, atoms, map};

/// The error `badarg`.
pub fn badarg() -> Interrupt {
    Exception::badarg().into()
}

/// The error `system_limit`.
pub fn system_limit() -> Interrupt {
    Exception::system_limit().into()
}

/// An error whose explanation needs its cause: `error_info` is `#{cause => Cause, module => erl_erts_errors}`.
pub fn error_with_cause(caller: &mut Caller<'_>, reason: Term, cause: Term) -> Interrupt {
    let pairs = [(name("cause"), cause), (atoms::MODULE, atoms::ERL_ERTS_ERRORS)];
    let error_info = map::from_pairs(caller.heap(), &pairs);
    Exception { error_info, ..Exception::error(reason) }.into()
}

/// `badarg` because of an option that does not exist.
pub fn badopt(caller: &mut Caller<'_>) -> Interrupt {
    error_with_cause(caller, atoms::BADARG, atoms::BADOPT)
}

/// The atom of a name that this machine speaks rarely; `undefined` when the atom table is full.
pub fn name(text: &str) -> Term {
    atoms::atom(text).unwrap_or(atoms::UNDEFINED)
}

/// An atom that is looked up once.
pub struct Name {
    text: &'static str,
    /// Its index plus one; 0: not looked up yet.
    index: AtomicU32,
}

impl Name {
    /// The name.
    pub const fn new(text: &'static str) -> Name {
        Name { text, index: AtomicU32::new(0) }
    }

    /// The atom.
    pub fn get(&self) -> Term {
        match self.index.load(Ordering::Relaxed) {
            0 => {
                let atom = name(self.text);
                self.index.store(atom.atom_index() + 1, Ordering::Relaxed);
                atom
            }
            index => Term::atom(index - 1),
        }
    }
}

/// The elements of a proper list.
pub fn list_elements(mut list: Term) -> Option<Vec<Term>> {
    let mut elements = Vec::new();
    while list.is_cons() {
        elements.push(list.head());
        list = list.tail();
    }
    list.is_nil().then_some(elements)
}

/// The export of this name; for built-in functions that go on in another.
pub fn export(module: &str, function: &str, arity: u8) -> &'static Export {
    registry().export(name(module), name(function), arity)
}

/// Goes on in this function.
pub fn go_on_in(module: &str, function: &str, arguments: Vec<Term>) -> Outcome {
    let arity = arguments.len() as u8;
    Err(Interrupt::Call(export(module, function, arity), arguments))
}

/// Text of a list of characters or a binary.
pub fn text(term: Term) -> Option<String> {
    if let Some(bits) = term.bits() {
        return bits.is_binary().then(|| String::from_utf8_lossy(&bits.to_bytes()).into_owned());
    }
    list_elements(term)?.into_iter().map(|one| char::from_u32(u32::try_from(one.as_small()?).ok()?)).collect()
}
