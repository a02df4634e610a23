//! Built-in functions: what one gets, and what it can give back.

use std::cell::Cell;

use atoll_heap::Mutator;
use atoll_operations::Exception;
use atoll_term::atoms::AtomError;
use atoll_term::{Export, Term, Word};

use crate::process::{Own, Process};

/// The caller of a built-in function: the process that runs on this thread.
pub struct Caller<'c> {
    /// The process as others see it.
    pub process: &'c Process,
    /// What belongs to it. Its heap can be allocated from; nothing is collected before the function returns.
    pub own: &'c mut Own,
    /// Reductions left; a function that works long takes some away.
    pub reductions: i64,
    /// Address of the instruction that calls the function; null where none does. For comparisons alone.
    pub at: *const Word,
}

impl Caller<'_> {
    /// The heap for results.
    #[inline]
    pub fn heap(&mut self) -> &mut Mutator {
        &mut self.own.mutator
    }

    /// Reductions that the whole time slice has left, which may run in parts: [`Caller::reductions`] are those of this
    /// part. A function that takes all of them away ends the slice.
    pub fn slice_left(&self) -> i64 {
        (self.reductions + LATER.get()).max(0)
    }
}

thread_local! {
    /// Reductions that the time slice of this thread has behind the part that runs.
    static LATER: Cell<i64> = const { Cell::new(0) };
}

/// A part of a time slice begins on this thread, which has so many reductions behind that part.
pub fn begin_part(later: i64) {
    LATER.set(later);
}

/// What a built-in function gives back instead of a result.
#[derive(Clone, Debug)]
pub enum Interrupt {
    /// An exception.
    Raise(Exception),
    /// An exception in another function, which was called with these arguments and has gone on in this one.
    RaiseIn(Exception, &'static Export, Vec<Term>),
    /// Go on in this function, with these arguments, as a tail call.
    Call(&'static Export, Vec<Term>),
    /// As [`Interrupt::Call`], of a function that cannot exist: module, function, and the list of more than 255
    /// arguments.
    CallUndefined(Term, Term, Term),
    /// Go on in this fun, as a tail call.
    CallFun(Term, Vec<Term>),
    /// Call this function, and give its result to the built-in function's caller after going on with `then`: the
    /// second function gets the first one's result as its only argument.
    CallThen(&'static Export, Vec<Term>, &'static Export),
    /// As [`Interrupt::CallThen`], but an exception in the first function is caught, and gives `{'EXIT', Reason}`.
    CallCatching(&'static Export, Vec<Term>, &'static Export),
    /// Let others run, then call the same function again with these arguments.
    Again(Vec<Term>),
    /// Wait for a signal, then call the same function again with these arguments.
    Wait(Vec<Term>),
    /// `hibernate/3`: drop the stack, wait for a message, then call module, function with the arguments in the list.
    Hibernate(Term, Term, Term),
    /// Collect (the old generation too if true), then go on with this result.
    Collect(bool, Term),
    /// Let others run, then go on with this result.
    Yield(Term),
    /// The process ends at once with this reason, whatever it catches.
    Exit(Term),
}

impl From<Exception> for Interrupt {
    fn from(exception: Exception) -> Self {
        Interrupt::Raise(exception)
    }
}

impl From<AtomError> for Interrupt {
    fn from(error: AtomError) -> Self {
        Exception::from(error).into()
    }
}

/// The exception `badarg`.
pub fn badarg() -> Interrupt {
    Exception::badarg().into()
}

/// What a built-in function returns.
pub type Outcome = Result<Term, Interrupt>;

/// A built-in function. The arguments are as many as its arity says.
pub type Native = fn(&mut Caller<'_>, &[Term]) -> Outcome;

/// A row of the table of built-in functions.
#[derive(Clone, Copy)]
pub struct BuiltIn {
    /// Module.
    pub module: &'static str,
    /// Function.
    pub name: &'static str,
    /// Arity.
    pub arity: u8,
    /// The function.
    pub function: Native,
}

impl BuiltIn {
    /// A row of the table.
    pub const fn new(module: &'static str, name: &'static str, arity: u8, function: Native) -> BuiltIn {
        BuiltIn { module, name, arity, function }
    }
}

/// A function whose body is in a native library. It is never freed: code holds its address.
#[derive(Clone, Copy)]
pub struct NativeFunction {
    /// Its name, as traces show it.
    pub export: &'static Export,
    /// Calls it. The arguments are as many as its arity says.
    pub call: fn(&mut Caller<'_>, &[Term], &'static NativeFunction) -> Outcome,
}
