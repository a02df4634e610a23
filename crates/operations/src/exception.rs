//! Exceptions as values: what an operation gives back instead of a result.

use atoll_term::atoms::AtomError;
use atoll_term::{Build, Term, atoms};

/// Class of an exception.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// `throw`
    Throw,
    /// `error`
    Error,
    /// `exit`
    Exit,
}

impl Class {
    /// The atom of this name.
    pub const fn atom(self) -> Term {
        match self {
            Class::Throw => atoms::THROW,
            Class::Error => atoms::ERROR,
            Class::Exit => atoms::EXIT,
        }
    }

    /// The class of this name.
    pub fn from_atom(atom: Term) -> Option<Class> {
        [Class::Throw, Class::Error, Class::Exit].into_iter().find(|class| class.atom() == atom)
    }
}

/// An exception on its way to a handler. Its terms live on the raising process's heap.
#[derive(Clone, Copy, Debug)]
pub struct Exception {
    /// Class.
    pub class: Class,
    /// Reason.
    pub reason: Term,
    /// A trace that the program supplied (`erlang:raise/3`); [`Term::NONE`]: it is taken where the exception is raised.
    pub trace: Term,
    /// Arguments for the top of the trace instead of the arity (`erlang:error/2`, failing BIFs); `NONE` if not given.
    pub arguments: Term,
    /// The `error_info` map for the top of the trace (`erlang:error/3`); `NONE` if there is none.
    pub error_info: Term,
}

impl Exception {
    /// An exception of any class.
    pub const fn new(class: Class, reason: Term) -> Exception {
        Exception { class, reason, trace: Term::NONE, arguments: Term::NONE, error_info: Term::NONE }
    }

    /// An error with this reason.
    pub const fn error(reason: Term) -> Exception {
        Exception::new(Class::Error, reason)
    }

    /// `badarg`
    pub const fn badarg() -> Exception {
        Exception::error(atoms::BADARG)
    }

    /// `badarith`
    pub const fn badarith() -> Exception {
        Exception::error(atoms::BADARITH)
    }

    /// `system_limit`
    pub const fn system_limit() -> Exception {
        Exception::error(atoms::SYSTEM_LIMIT)
    }

    /// `{Tag, Value}`, as `{badmatch, V}` or `{badmap, M}`.
    pub fn tagged(heap: &mut (impl Build + ?Sized), tag: Term, value: Term) -> Exception {
        Exception::error(heap.tuple(&[tag, value]))
    }
}

impl From<AtomError> for Exception {
    /// `system_limit`: the name is too long, or there are too many atoms.
    fn from(_: AtomError) -> Self {
        Exception::system_limit()
    }
}
