//! The one typed form of BEAM code.
//!
//! Every reader of code (the interpreter's translation, the message analysis, a JIT, the
//! disassembler) reads these values and nothing else, so a file's operands are decoded and checked
//! exactly once. Instructions that older compilers emitted are rewritten into today's where an
//! equivalent exists; what has none keeps a variant of its own.

/// Index into [`crate::Module::atoms`]. Index 0 is the module's own name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AtomIndex(pub u32);

/// Index into [`crate::Module::literals`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LiteralIndex(pub u32);

/// Index into [`crate::Module::imports`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ImportIndex(pub u32);

/// Index into [`crate::Module::lambdas`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LambdaIndex(pub u32);

/// A code position: an index into [`crate::Module::labels`], which gives the instruction's index.
/// Label 0 means "no label": a guard that raises instead of jumping.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Label(pub u32);

impl Label {
    /// The label of an operation that raises an exception instead of jumping.
    pub const NONE: Label = Label(0);
}

/// A register that can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Register {
    /// Argument register; at most 1,023.
    X(u16),
    /// Slot of the current stack frame.
    Y(u16),
}

/// Which registers hold a message when it is taken, if it was looked at by a [`Instruction::LoopRec`] with `in_place`;
/// others may hold parts of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holder {
    /// Any may.
    Unknown,
    /// None does.
    Nothing,
    /// This X register alone, which is not read again.
    Unread(u16),
    /// This X register alone.
    Read(u16),
}

/// Something that can be read: a register or a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// Argument register.
    X(u16),
    /// Slot of the current stack frame.
    Y(u16),
    /// An integer of at most 60 bits with its sign; larger ones become literals.
    Small(i64),
    /// An atom.
    Atom(AtomIndex),
    /// The empty list.
    Nil,
    /// A literal term.
    Literal(LiteralIndex),
}

impl From<Register> for Source {
    fn from(register: Register) -> Self {
        match register {
            Register::X(index) => Source::X(index),
            Register::Y(index) => Source::Y(index),
        }
    }
}

/// Heap room asked of `allocate_heap` and `test_heap`. Floats and funs are counted apart because
/// their size in words is the machine's business.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeapNeed {
    /// Plain words.
    pub words: u32,
    /// Boxed floats.
    pub floats: u32,
    /// Funs, without their free variables (those are counted in `words`).
    pub funs: u32,
}

/// Tests of one or two values that fall through when true and jump when false.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TypeTest {
    /// `is_integer`
    Integer,
    /// `is_float`
    Float,
    /// `is_number`
    Number,
    /// `is_atom`
    Atom,
    /// `is_pid`
    Pid,
    /// `is_reference`
    Reference,
    /// `is_port`
    Port,
    /// `is_nil`
    Nil,
    /// `is_binary`
    Binary,
    /// `is_bitstr`
    Bitstring,
    /// `is_list`
    List,
    /// `is_nonempty_list`
    NonemptyList,
    /// `is_tuple`
    Tuple,
    /// `is_map`
    Map,
    /// `is_function` of any arity
    Function,
    /// `is_boolean`
    Boolean,
    /// `is_any_native_record` (OTP 29); false for every term of older releases
    NativeRecord,
}

/// The four comparisons by standard term order, and the two exact ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// `<`
    Less,
    /// `>=`
    GreaterOrEqual,
    /// `==`
    Equal,
    /// `/=`
    NotEqual,
    /// `=:=`
    ExactlyEqual,
    /// `=/=`
    NotExactlyEqual,
}

/// What a value must be for an instruction to look inside of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A cons.
    Cons,
    /// A tuple with at least this many elements.
    Tuple {
        /// Elements.
        least: u32,
    },
    /// A tuple with exactly this many elements.
    TupleOf {
        /// Elements.
        arity: u32,
    },
    /// A map.
    Map,
    /// A float.
    Float,
}

/// Binary operations on floating-point registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FloatOperation {
    /// `fadd`
    Add,
    /// `fsub`
    Subtract,
    /// `fmul`
    Multiply,
    /// `fdiv`
    Divide,
}

/// Flags of a segment in the bit syntax.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct BitFlags {
    /// Least significant byte first.
    pub little: bool,
    /// Two's complement.
    pub signed: bool,
}

/// The type of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SegmentType {
    /// `integer`
    Integer,
    /// `float`
    Float,
    /// `binary`/`bitstring`
    Binary,
    /// `append`: a binary that starts the new one and may be extended in place
    Append,
    /// `private_append`: as `Append`, known to be referenced from here alone
    PrivateAppend,
    /// Bytes of the string table
    String,
    /// `utf8`
    Utf8,
    /// `utf16`
    Utf16,
    /// `utf32`
    Utf32,
}

/// Size of a segment in `bs_create_bin`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SegmentSize {
    /// `all`: the whole of the value
    All,
    /// No size (utf segments).
    Undefined,
    /// Number of units.
    Units(Source),
}

/// What a segment of `bs_create_bin` is built from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SegmentValue {
    /// A term.
    Term(Source),
    /// Bytes of the string table.
    String {
        /// Offset into [`crate::Module::strings`].
        offset: u32,
        /// Length in bytes.
        length: u32,
    },
}

/// One segment of `bs_create_bin`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// How the value is written.
    pub kind: SegmentType,
    /// 1 to 256 bits; 0 where the type has none.
    pub unit: u16,
    /// Endianness and sign.
    pub flags: BitFlags,
    /// The value.
    pub value: SegmentValue,
    /// How many units of it.
    pub size: SegmentSize,
    /// Position in the source expression, for error information; 0 if unknown.
    pub number: u16,
}

/// One command of `bs_match` (OTP 26).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatchCommand {
    /// At least `stride` bits remain, and what remains is a multiple of `unit`.
    EnsureAtLeast {
        /// Bits.
        stride: u64,
        /// Bits.
        unit: u16,
    },
    /// Exactly `stride` bits remain.
    EnsureExactly {
        /// Bits.
        stride: u64,
    },
    /// Read an integer of `size * unit` bits.
    Integer {
        /// Live X registers if the integer may need heap.
        live: u16,
        /// Endianness and sign.
        flags: BitFlags,
        /// Bits.
        bits: u64,
        /// Result.
        destination: Register,
    },
    /// Read a bitstring of `size * unit` bits.
    Binary {
        /// Live X registers.
        live: u16,
        /// Bits.
        bits: u64,
        /// Result.
        destination: Register,
    },
    /// All the rest, as a bitstring.
    GetTail {
        /// Live X registers.
        live: u16,
        /// Unit that the rest has already been tested for.
        unit: u16,
        /// Result.
        destination: Register,
    },
    /// The next bits are exactly this integer.
    ExactlyEqual {
        /// Live X registers.
        live: u16,
        /// Bits, at most 64.
        bits: u64,
        /// Unsigned value.
        value: u64,
    },
    /// Skip bits.
    Skip {
        /// Bits.
        stride: u64,
    },
}

/// One instruction. Field order follows the file's operand order, with the destination last.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "a variant's text says what its fields are, in the file's order")]
pub enum Instruction {
    /// Marks the place of a label.
    Label(Label),
    /// Head of a function; reached when no clause matches (`function_clause`).
    FuncInfo { module: AtomIndex, name: AtomIndex, arity: u8 },
    /// Index into the line table; 0 is "no line". `executable_line` and `debug_line` become this.
    Line(u32),
    /// Native functions start with this; a loaded library may replace what follows.
    NifStart,
    /// The function to run when the module is loaded starts here.
    OnLoad,

    /// Call in the same module.
    Call { arity: u8, target: Label },
    /// Tail call that gives back a frame of `deallocate` slots first.
    CallLast { arity: u8, target: Label, deallocate: u16 },
    /// Tail call without a frame.
    CallOnly { arity: u8, target: Label },
    /// Call through an import.
    CallExt { arity: u8, target: ImportIndex },
    /// Tail call through an import, with a frame to give back.
    CallExtLast { arity: u8, target: ImportIndex, deallocate: u16 },
    /// Tail call through an import, without a frame.
    CallExtOnly { arity: u8, target: ImportIndex },
    /// Call the fun in X[arity] (`call_fun`).
    CallFun { arity: u8 },
    /// Call the fun in `fun` (`call_fun2`); `safe` when the compiler knows its type and arity.
    CallFun2 { safe: bool, arity: u8, fun: Source },
    /// X[arity] is the module, X[arity+1] the function.
    Apply { arity: u8 },
    /// Tail form of [`Instruction::Apply`].
    ApplyLast { arity: u8, deallocate: u16 },
    /// Return to the caller.
    Return,

    /// New frame of `slots` (not initialised, but all are written before a collection can happen),
    /// and heap room if asked.
    Allocate { slots: u16, need: HeapNeed, live: u16 },
    /// Heap room.
    TestHeap { need: HeapNeed, live: u16 },
    /// Give the frame back.
    Deallocate { slots: u16 },
    /// Drop the lowest `slots`, keeping `remaining`.
    Trim { slots: u16, remaining: u16 },
    /// Make these slots nil.
    InitYregs(Box<[u16]>),

    /// Raise `badarg` unless the value has this shape. The loader puts it in front of an instruction that looks inside
    /// of a value of which the code before does not prove as much.
    Expect { shape: Shape, value: Source },
    /// Copy a value.
    Move { source: Source, destination: Register },
    /// Exchange two registers.
    Swap { first: Register, second: Register },
    /// Build a cons.
    PutList { head: Source, tail: Source, destination: Register },
    /// Build a tuple.
    PutTuple { destination: Register, elements: Box<[Source]> },
    /// Overwrite a tuple's element in place (`position` from 0).
    SetTupleElement { value: Source, tuple: Register, position: u32 },
    /// Copy a record with elements replaced (positions from 1).
    UpdateRecord { size: u32, source: Source, destination: Register, updates: Box<[(u32, Source)]> },
    /// Head and tail of a cons.
    GetList { source: Register, head: Register, tail: Register },
    /// Head of a cons.
    GetHead { source: Register, head: Register },
    /// Tail of a cons.
    GetTail { source: Register, tail: Register },
    /// Element of a tuple (`position` from 0).
    GetTupleElement { source: Register, position: u32, destination: Register },
    /// Build a fun from its free variables.
    MakeFun { lambda: LambdaIndex, destination: Register, free: Box<[Source]> },

    /// Jump.
    Jump(Label),
    /// Type test.
    Test { fail: Label, test: TypeTest, value: Source },
    /// Function of this arity.
    TestFunctionArity { fail: Label, value: Source, arity: Source },
    /// Tuple of this arity; the value is a tuple.
    TestArity { fail: Label, value: Source, arity: u32 },
    /// Tuple of this arity whose first element is this atom.
    TestTaggedTuple { fail: Label, value: Source, arity: u32, tag: AtomIndex },
    /// Comparison.
    Compare { fail: Label, comparison: Comparison, left: Source, right: Source },
    /// Jump by value; the keys are constants, all atoms or all integers.
    SelectValue { value: Source, fail: Label, cases: Box<[(Source, Label)]> },
    /// Jump by the arity of a tuple.
    SelectTupleArity { value: Source, fail: Label, cases: Box<[(u32, Label)]> },

    /// Guard BIF or operator without heap.
    Bif { fail: Label, bif: ImportIndex, arguments: Box<[Source]>, destination: Register },
    /// Guard BIF or operator that may need heap.
    GcBif { fail: Label, live: u16, bif: ImportIndex, arguments: Box<[Source]>, destination: Register },

    /// Raise `{badmatch, Value}`.
    BadMatch(Source),
    /// Raise `if_clause`.
    IfEnd,
    /// Raise `{case_clause, Value}`.
    CaseEnd(Source),
    /// Raise `{badrecord, Value}`.
    BadRecord(Source),
    /// Raise `{try_clause, Value}`.
    TryCaseEnd(Source),
    /// Start of `catch`.
    Catch { slot: u16, handler: Label },
    /// End of `catch`: turns the exception in X1..X3 into a value in X0.
    CatchEnd { slot: u16 },
    /// Start of `try`.
    Try { slot: u16, handler: Label },
    /// End of the protected part.
    TryEnd { slot: u16 },
    /// Start of the handler: class, reason and trace move to X0..X2.
    TryCase { slot: u16 },
    /// Raise again with this raw trace and reason.
    Raise { trace: Source, reason: Source },
    /// X0 is a raw trace; make it a list.
    BuildStacktrace,
    /// `erlang:raise(X0, X1, X2)` where X2 is a raw trace.
    RawRaise,

    /// X0 ! X1
    Send,
    /// The current message to X0, or jump when there is none. `in_place`: all that may take it says where it is.
    LoopRec { fail: Label, destination: Register, in_place: bool },
    /// Make the message that was looked at part of the heap. The loader puts it in front of a `loop_rec_end` where the
    /// code before may have put parts of the message elsewhere than into X registers.
    KeepMessage,
    /// Go on with the next message.
    LoopRecEnd(Label),
    /// Take the current message out of the mailbox.
    RemoveMessage(Holder),
    /// Sleep until a message comes.
    Wait(Label),
    /// Sleep until a message or the timeout (milliseconds or `infinity`). When a message comes,
    /// execution goes on at `fail`, where this may be the next instruction: while the timer runs
    /// `time` is not to be read, because X registers do not survive waiting.
    WaitTimeout { fail: Label, time: Source },
    /// The timeout has passed: start the mailbox afresh.
    Timeout,
    /// Reserve a marker of the mailbox's end.
    RecvMarkerReserve(Register),
    /// Bind a marker to a reference.
    RecvMarkerBind { marker: Source, reference: Source },
    /// Forget a marker.
    RecvMarkerClear(Source),
    /// Skip to the marker of this reference.
    RecvMarkerUse(Source),

    /// Load a floating-point register.
    FloatLoad { source: Source, destination: u16 },
    /// Store a floating-point register as a boxed float (room was tested).
    FloatStore { source: u16, destination: Register },
    /// Convert a number.
    FloatConvert { source: Source, destination: u16 },
    /// Arithmetic; a result that is not finite raises `badarith`.
    FloatArithmetic { operation: FloatOperation, left: u16, right: u16, destination: u16 },
    /// Negate.
    FloatNegate { source: u16, destination: u16 },

    /// Start a match; `fail` `NONE` raises (`{badmatch, _}` cannot happen: the value is known good).
    BsStartMatch { fail: Label, live: u16, value: Source, destination: Register },
    /// Integer segment of `size` units.
    BsGetInteger {
        fail: Label,
        context: Register,
        live: u16,
        size: Source,
        unit: u16,
        flags: BitFlags,
        destination: Register,
    },
    /// Float segment.
    BsGetFloat {
        fail: Label,
        context: Register,
        live: u16,
        size: Source,
        unit: u16,
        flags: BitFlags,
        destination: Register,
    },
    /// Binary segment; `size` `None` is `all`.
    BsGetBinary { fail: Label, context: Register, live: u16, size: Option<Source>, unit: u16, destination: Register },
    /// Skip; `size` `None` is `all`.
    BsSkipBits { fail: Label, context: Register, size: Option<Source>, unit: u16 },
    /// Exactly this many bits remain.
    BsTestTail { fail: Label, context: Register, bits: u64 },
    /// What remains is a multiple of `unit`.
    BsTestUnit { fail: Label, context: Register, unit: u16 },
    /// The next bits are these of the string table.
    BsMatchString { fail: Label, context: Register, bits: u64, offset: u32 },
    /// The rest as a bitstring.
    BsGetTail { context: Register, live: u16, destination: Register },
    /// Save the position.
    BsGetPosition { context: Register, live: u16, destination: Register },
    /// Go back to a position.
    BsSetPosition { context: Register, position: Source },
    /// Decode a code point; `destination` `None` skips it.
    BsGetUtf {
        fail: Label,
        encoding: SegmentType,
        context: Register,
        live: u16,
        flags: BitFlags,
        destination: Option<Register>,
    },
    /// Commands in one (OTP 26). When it jumps to `fail`, all X registers must be as they were,
    /// those above the commands' `live` too: a collection has to wait for all the tests.
    BsMatch { fail: Label, context: Register, commands: Box<[MatchCommand]> },
    /// Build a bitstring; `extra` heap words are wanted after it. Without `live`, X registers may be in use that
    /// nothing counts, so nothing is collected.
    BsCreateBin {
        fail: Label,
        extra: u32,
        live: Option<u16>,
        unit: u16,
        destination: Register,
        segments: Box<[Segment]>,
    },
    /// X0 is a size in bytes: make a writable binary of that capacity in X0.
    BsInitWritable,
    /// Old construction (before OTP 25): start a bitstring of `size` (bits if `bits`, else bytes).
    BsInit { fail: Label, size: Source, bits: bool, extra: u32, live: u16, destination: Register },
    /// Old construction: start by appending to `binary`; `private` when referenced from here alone.
    BsAppend {
        fail: Label,
        size: Source,
        extra: u32,
        live: u16,
        unit: u16,
        binary: Source,
        private: bool,
        destination: Register,
    },
    /// Old construction: write one segment into the bitstring that was started last.
    BsPut { fail: Label, segment: Segment },
    /// Old construction: `first + second * unit`, or `fail`.
    BsAdd { fail: Label, first: Source, second: Source, unit: u16, destination: Register },
    /// Old construction: size of a code point in bytes.
    BsUtfSize { fail: Label, encoding: SegmentType, value: Source, destination: Register },

    /// Put pairs into a map; `exact` when every key must be there already.
    PutMap { fail: Label, exact: bool, map: Source, live: u16, destination: Register, pairs: Box<[(Source, Source)]> },
    /// All keys are there.
    HasMapFields { fail: Label, map: Source, keys: Box<[Source]> },
    /// Fetch values, or fail.
    GetMapElements { fail: Label, map: Source, pairs: Box<[(Source, Register)]> },

    /// OTP 29 native records and other instructions known by name that this release refuses to run:
    /// raises `undef`-like `{unsupported_instruction, Name}` when reached. Also put in front of a
    /// `try_case` that code would run into if a call returned that never does.
    Unsupported { opcode: u8 },
}
