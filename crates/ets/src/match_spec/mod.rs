//! Match specifications: compiled to programs of typed operations for two small machines, one that takes a term apart
//! along a pattern, one that evaluates guards and bodies on a stack. Neither recurses on the native stack.

mod compile;
mod expression;
mod functions;
mod keep_key;
mod run;

use atoll_heap::{Mutator, Stored};
use atoll_term::{Build, Term};

pub use compile::compile;
pub use functions::{control_word, set_control_word};
pub(crate) use keep_key::keeps_key;
pub use run::{Matcher, Object};

use functions::Function;

/// What a specification is for: it decides which functions there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// Rows of tables.
    Table,
    /// What is traced.
    Trace(Traced),
}

/// What a trace specification is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Traced {
    /// Arguments of calls.
    Calls,
    /// Receivers and messages, when they are sent.
    Sends,
    /// Nodes, senders and messages, when they are received. The process need not run then.
    Receives,
}

impl Dialect {
    fn is_trace(self) -> bool {
        self != Dialect::Table
    }

    /// Whether a function of trace specifications is not for this one.
    fn refuses(self, function: &str) -> bool {
        const OF_CALLS: [&str; 2] = ["caller", "caller_line"];
        const OF_RUNNING: [&str; 8] = [
            "process_dump",
            "silent",
            "trace",
            "enable_trace",
            "disable_trace",
            "get_seq_token",
            "set_seq_token",
            "is_seq_trace",
        ];
        match self {
            Dialect::Table | Dialect::Trace(Traced::Calls) => false,
            Dialect::Trace(Traced::Sends) => OF_CALLS.contains(&function),
            Dialect::Trace(Traced::Receives) => OF_CALLS.contains(&function) || OF_RUNNING.contains(&function),
        }
    }
}

/// What a trace specification asks its user to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// `message`: say this in the message; `false`: send none.
    Message,
    /// `return_trace`
    ReturnTrace,
    /// `exception_trace`
    ExceptionTrace,
    /// `silent`: tell of no calls (true), or of calls again (false).
    Silent,
    /// `enable_trace`: the arguments are a list, a flag or a pid and a flag.
    EnableTrace,
    /// `disable_trace`: likewise.
    DisableTrace,
    /// `trace`: a list of flags to clear and one of flags to set, or a pid and these.
    Trace,
    /// `display`: show a term.
    Display,
}

/// The token of the process that calls a traced function.
pub trait Tokens {
    /// The token as a term on this heap, `[]` if there is none.
    fn token(&mut self, heap: &mut Mutator) -> Term;
    /// Sets a part of it; whether it could.
    fn set(&mut self, heap: &mut Mutator, item: Term, value: Term) -> bool;
}

/// One step of taking a term apart. Terms wait on a stack, the next to be looked at on top.
#[derive(Clone, Debug, PartialEq)]
enum PatternOperation {
    /// A tuple of this size; its elements wait.
    Tuple(usize),
    /// A cons; its head and tail wait.
    Cons,
    /// A map with these keys (constants); their values wait.
    Map(Vec<usize>),
    /// Anything.
    Any,
    /// Anything; a variable has that value from now on.
    Bind(usize),
    /// The value of a variable.
    Same(usize),
    /// This immediate.
    Immediate(Term),
    /// A float with these bits.
    Float(u64),
    /// A constant.
    Constant(usize),
}

/// One step of an expression. Values are on a stack.
#[derive(Clone, Debug)]
enum Operation {
    Immediate(Term),
    Constant(usize),
    Variable(usize),
    /// `{caller}`: the function that called the traced one.
    Calling,
    /// `{caller_line}`: that function with its file and line.
    CallingLine,
    /// `{process_dump}`: a binary that shows the process that calls.
    Dump,
    /// `{get_seq_token}`: the token of the process that calls.
    Token,
    /// `{is_seq_trace}`: whether it has one.
    HasToken,
    /// `'$_'`
    Object,
    /// `'$$'`
    AllVariables,
    Tuple(usize),
    /// A list of so many elements, and below... its tail on top.
    List(usize),
    /// A map of so many pairs.
    Map(usize),
    Call(&'static Function),
    /// `'and'` and `'or'` of so many values.
    Logical(usize, fn(bool, bool) -> bool),
    /// If the value is this one, the result is that value: go on at the step. If it is the other boolean, drop it.
    ShortCut(bool, usize),
    /// An action with so many arguments.
    Act(Action, usize),
    /// `set_tcw`: set the trace control word.
    SetControlWord,
    /// `set_seq_token`: set a part of the token of the process that calls.
    SetToken,
    /// The value must be `true`.
    Require,
    /// The value is not needed.
    Drop,
}

#[derive(Clone, Debug)]
struct Clause {
    pattern: Vec<PatternOperation>,
    guards: Vec<Operation>,
    body: Vec<Operation>,
    /// Places of the variables, in the order of their numbers.
    variables: Vec<usize>,
}

/// A compiled specification.
#[derive(Clone, Debug)]
pub struct Program {
    clauses: Vec<Clause>,
    dialect: Dialect,
}

/// A specification as the compiler leaves it: its constants lie where the specification lies.
pub struct Compiled {
    /// The program.
    pub program: Program,
    /// What it refers to.
    pub constants: Vec<Term>,
}

/// A compiled specification that outlives the call in which it was compiled.
pub struct KeptProgram {
    pub(crate) program: Program,
    /// The specification, and a tuple of its constants.
    stored: Stored,
}

impl KeptProgram {
    /// Keeps a compiled specification; it lies on the heap.
    pub fn new(heap: &mut Mutator, specification: Term, compiled: Compiled) -> KeptProgram {
        let constants = heap.tuple(&compiled.constants);
        let kept = heap.tuple(&[specification, constants]);
        KeptProgram { program: compiled.program, stored: Stored::new(heap, kept) }
    }

    fn part(&self, index: usize) -> &Term {
        self.stored.term().tuple_elements().and_then(|parts| parts.get(index)).unwrap_or(&Term::NIL)
    }

    /// Whether it asks for a picture of the process: see [`Matcher::showing`].
    pub fn wants_dump(&self) -> bool {
        let is_dump = |operation: &Operation| matches!(operation, Operation::Dump);
        self.program.clauses.iter().any(|clause| clause.body.iter().any(is_dump))
    }

    /// The specification, to be looked at.
    pub fn specification(&self) -> &Term {
        self.part(0)
    }
}
