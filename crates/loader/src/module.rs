//! A loaded module.

use crate::instruction::{AtomIndex, Instruction, Label};

/// The contents of a `.beam` file, decoded and checked.
///
/// Every index in it is in range. Of the code that can be reached, every label has a place in its
/// function, execution leaves a function by calls and returns only, and no stack slot outside of
/// the frame, or that a catch occupies, is touched. Local calls go to entries of functions with
/// that many arguments. X registers and slots are read only after something was written to them
/// that has been kept since, and where a collection may happen the live registers and the whole
/// frame hold terms; for this, the end of a `catch` or `try` leaves a term in its slot. Room on the heap
/// is there where something is built without a `live` count. What an instruction looks into is what it has to be
/// ([`Module::guards`]).
///
/// A call of a function that always raises ([`Import::never_returns`]) is always a plain
/// [`Instruction::CallExt`], with or without a frame; nothing sensible follows it.
#[derive(Clone, Debug, PartialEq)]
pub struct Module {
    /// Atoms used in the module; the first is its name.
    pub atoms: Vec<Box<str>>,
    /// All functions' instructions, one after the other.
    pub code: Vec<Instruction>,
    /// Label number to index into `code`; [`Module::NO_PLACE`] for a number that is not used.
    pub labels: Vec<u32>,
    /// Functions in the order of their code.
    pub functions: Vec<Function>,
    /// Functions of other modules (or BIFs) that are referred to.
    pub imports: Vec<Import>,
    /// Functions that other modules can call.
    pub exports: Vec<Export>,
    /// Bodies of funs.
    pub lambdas: Vec<Lambda>,
    /// Literal terms in the external term format, each with the leading version byte 131. After
    /// the file's own follow large integers and floats that were operands.
    pub literals: Vec<Box<[u8]>>,
    /// The string table: bytes that segments and `bs_match_string` refer to.
    pub strings: Box<[u8]>,
    /// Where instructions come from.
    pub lines: LineTable,
    /// Module attributes as an external term.
    pub attributes: Option<Box<[u8]>>,
    /// Compilation information as an external term.
    pub compile_info: Option<Box<[u8]>>,
    /// Entry of the function that runs when the module is loaded.
    pub on_load: Option<Label>,
    /// Digest of the chunks that make up the code, as `code:module_md5/1` and `beam_lib:md5/1`
    /// give it.
    pub md5: [u8; 16],
    /// Number of X registers that the code may touch: the highest index plus one, counting
    /// arguments of calls and the registers that exceptions use.
    pub max_x: u16,
    /// Number of floating-point registers that the code may touch.
    pub max_float: u16,
    /// Indices into `code` of what the loader has put there: a test in front of each instruction that looks into a
    /// value of which nothing before it proves that it can.
    pub guards: Box<[u32]>,
}

impl Module {
    /// In [`Module::labels`]: this number labels nothing, and nothing refers to it.
    pub const NO_PLACE: u32 = u32::MAX;

    /// The module's name.
    pub fn name(&self) -> &str {
        self.atom(AtomIndex(0))
    }

    /// The text of an atom of this module.
    pub fn atom(&self, index: AtomIndex) -> &str {
        &self.atoms[index.0 as usize]
    }

    /// Index into [`Module::code`] of a label that instructions refer to.
    pub fn position(&self, label: Label) -> usize {
        self.labels[label.0 as usize] as usize
    }
}

/// A function of the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Function {
    /// Its name.
    pub name: AtomIndex,
    /// Number of arguments.
    pub arity: u8,
    /// Label behind `func_info`, where calls go.
    pub entry: Label,
    /// Index of its first instruction (the label in front of `func_info`).
    pub start: u32,
    /// Index behind its last instruction.
    pub end: u32,
}

/// A function of some module that the code refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Import {
    /// Module.
    pub module: AtomIndex,
    /// Function.
    pub name: AtomIndex,
    /// Number of arguments.
    pub arity: u8,
}

impl Import {
    /// Whether the function always raises, so that compilers put nothing behind its call and make
    /// no frame for it. It must be a BIF: were it code that returns, the caller would go on
    /// anywhere.
    pub fn never_returns(&self, atoms: &[Box<str>]) -> bool {
        let text = |index: AtomIndex| &*atoms[index.0 as usize];
        text(self.module) == "erlang"
            && matches!((text(self.name), self.arity), ("error", 1..=3) | ("exit" | "throw", 1))
    }
}

/// A function that other modules can call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Export {
    /// Function.
    pub name: AtomIndex,
    /// Number of arguments.
    pub arity: u8,
    /// Its entry.
    pub label: Label,
}

/// The body of a fun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lambda {
    /// Name of the function that is the body.
    pub name: AtomIndex,
    /// Number of arguments of that function: the fun's own, then the free variables.
    pub arity: u8,
    /// Its entry.
    pub label: Label,
    /// Number of the fun in its module.
    pub index: u32,
    /// Number of free variables.
    pub free: u32,
    /// Hash that identified the fun before there were module digests.
    pub old_unique: u32,
}

/// Source positions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LineTable {
    /// File names; the first is the module's name with `.erl`.
    pub files: Vec<Box<str>>,
    /// Index into `files`, and line. Entry 0 stands for "no line" and is `(0, 0)`. Empty when the
    /// file has no line table.
    pub entries: Vec<(u32, u32)>,
}
