//! From the bytes of the `Code` chunk to typed instructions.

mod bits;
mod operands;

pub(crate) use operands::{REGISTERS, Tables};

use crate::cursor::Cursor;
use crate::error::Result;
use crate::instruction::{
    Comparison, FloatOperation, HeapNeed, ImportIndex, Instruction, Label, Register, Source, TypeTest,
};
use crate::module::Module;
use crate::opcodes as op;
use operands::{Operand, Operands};

/// Chunks of code above this many bytes are refused, which bounds the memory that the typed form
/// of a hostile file can take.
const LARGEST_CODE: usize = 16 << 20;

/// Exceptions come in X0 to X3.
const EXCEPTION_REGISTERS: u16 = 4;

/// The header of the `Code` chunk.
pub(crate) struct Header {
    /// Label numbers are below this.
    pub(crate) labels: u32,
    /// Number of functions.
    pub(crate) functions: u32,
    /// Where the instructions start in the chunk, in bytes.
    start: usize,
}

impl Header {
    pub(crate) fn read(data: &[u8]) -> Result<Header> {
        let mut cursor = Cursor::new("Code", data);
        if data.len() > LARGEST_CODE {
            return Err(cursor.error(format!("more than {LARGEST_CODE} bytes of code")));
        }
        let size = cursor.u32()? as usize;
        let mut header = Cursor::new("Code", cursor.bytes(size)?);
        let set = header.u32()?;
        if set != 0 {
            return Err(cursor.error(format!("instruction set {set} is not known")));
        }
        let highest = header.u32()?;
        if highest > u32::from(op::HIGHEST) {
            return Err(cursor.error(format!("opcodes up to {highest} are used; {} is the highest known", op::HIGHEST)));
        }
        let labels = header.u32()?;
        let functions = header.u32()?;
        cursor.fits(labels as usize, 1)?;
        cursor.fits(functions as usize, 1)?;
        Ok(Header { labels, functions, start: cursor.position() })
    }
}

/// Decoded code, not yet checked as a whole.
pub(crate) struct Decoded {
    pub(crate) code: Vec<Instruction>,
    /// Where in the chunk each instruction starts, in bytes; for errors.
    pub(crate) offsets: Vec<u32>,
    /// Label number to index into `code`.
    pub(crate) labels: Vec<u32>,
    pub(crate) literals: Vec<Box<[u8]>>,
    pub(crate) max_x: u16,
    pub(crate) max_float: u16,
}

/// Decodes all instructions.
pub(crate) fn decode(data: &[u8], header: &Header, tables: &Tables<'_>, literals: Vec<Box<[u8]>>) -> Result<Decoded> {
    let mut cursor = Cursor::new("Code", data);
    cursor.bytes(header.start)?;
    let operands = Operands { cursor, tables, literals, max_x: EXCEPTION_REGISTERS, max_float: 0 };
    let mut decoder = Decoder {
        operands,
        code: Vec::new(),
        offsets: Vec::new(),
        labels: vec![Module::NO_PLACE; header.labels as usize],
    };
    while decoder.step()? {}
    Ok(Decoded {
        code: decoder.code,
        offsets: decoder.offsets,
        labels: decoder.labels,
        literals: decoder.operands.literals,
        max_x: decoder.operands.max_x,
        max_float: decoder.operands.max_float,
    })
}

struct Decoder<'a> {
    operands: Operands<'a>,
    code: Vec<Instruction>,
    offsets: Vec<u32>,
    labels: Vec<u32>,
}

impl Decoder<'_> {
    /// Decodes one instruction; false at the end of the code.
    fn step(&mut self) -> Result<bool> {
        let start = self.operands.cursor.clone();
        if start.remaining() == 0 {
            return Err(start.error("the code does not end with int_code_end"));
        }
        let number = self.operands.cursor.byte()?;
        let Some(opcode) = op::opcode(number) else {
            return Err(start.error(format!("opcode {number} is not known")));
        };
        if opcode.refused {
            return Err(start.error(format!("opcode {number} {} is obsolete", opcode.name)));
        }
        if number == op::INT_CODE_END {
            return match self.operands.cursor.remaining() {
                0 => Ok(false),
                more => Err(start.error(format!("{more} bytes follow the end of the code"))),
            };
        }
        // An error inside of the instruction says where it starts, too.
        self.instruction(number, opcode.arity).map_err(|mut error| {
            error.problem = format!("{} at {}: {}", opcode.name, start.position(), error.problem).into();
            error
        })?;
        self.offsets.resize(self.code.len(), start.position() as u32);
        Ok(true)
    }

    fn instruction(&mut self, number: u8, arity: u8) -> Result<()> {
        if number == op::LABEL {
            let label = self.place_label()?;
            self.code.push(Instruction::Label(label));
            return Ok(());
        }
        let operands = &mut self.operands;
        if let Some(instruction) = bits::decode(number, operands)? {
            self.code.push(instruction);
            return Ok(());
        }
        let instruction = match number {
            op::FUNC_INFO => {
                Instruction::FuncInfo { module: operands.atom()?, name: operands.atom()?, arity: operands.arity()? }
            }
            op::LINE => Instruction::Line(operands.line()?),
            op::EXECUTABLE_LINE => {
                let line = operands.line()?;
                operands.operand()?;
                Instruction::Line(line)
            }
            op::DEBUG_LINE => {
                operands.operand()?;
                let line = operands.line()?;
                operands.operand()?;
                operands.operand()?;
                Instruction::Line(line)
            }
            op::NIF_START => Instruction::NifStart,
            op::ON_LOAD => Instruction::OnLoad,

            op::CALL..=op::CALL_EXT_LAST
            | op::CALL_EXT_ONLY
            | op::CALL_FUN
            | op::CALL_FUN2
            | op::APPLY
            | op::APPLY_LAST => call(number, operands)?,
            op::RETURN => Instruction::Return,

            op::ALLOCATE | op::ALLOCATE_ZERO | op::ALLOCATE_HEAP | op::ALLOCATE_HEAP_ZERO => {
                let slots = operands.slots()?;
                let need = match number {
                    op::ALLOCATE | op::ALLOCATE_ZERO => HeapNeed::default(),
                    _ => operands.heap_need()?,
                };
                let live = operands.live()?;
                self.code.push(Instruction::Allocate { slots, need, live });
                if matches!(number, op::ALLOCATE | op::ALLOCATE_HEAP) {
                    return Ok(());
                }
                Instruction::InitYregs((0..slots).collect())
            }
            op::TEST_HEAP => Instruction::TestHeap { need: operands.heap_need()?, live: operands.live()? },
            op::DEALLOCATE => Instruction::Deallocate { slots: operands.slots()? },
            op::TRIM => Instruction::Trim { slots: operands.slots()?, remaining: operands.slots()? },
            op::INIT => Instruction::InitYregs([operands.y_register()?].into()),
            op::INIT_YREGS => {
                let count = operands.list(1)?;
                Instruction::InitYregs((0..count).map(|_| operands.y_register()).collect::<Result<_>>()?)
            }

            op::MOVE => Instruction::Move { source: operands.source()?, destination: operands.register()? },
            op::SWAP => Instruction::Swap { first: operands.register()?, second: operands.register()? },
            op::PUT_LIST
            | op::PUT_TUPLE2
            | op::SET_TUPLE_ELEMENT
            | op::UPDATE_RECORD
            | op::GET_LIST
            | op::GET_HD
            | op::GET_TL
            | op::GET_TUPLE_ELEMENT
            | op::MAKE_FUN2
            | op::MAKE_FUN3 => data(number, operands)?,

            op::JUMP => Instruction::Jump(operands.label()?),
            op::IS_LT..=op::IS_NE_EXACT => Instruction::Compare {
                fail: operands.label()?,
                comparison: comparison(number),
                left: operands.source()?,
                right: operands.source()?,
            },
            op::IS_FUNCTION2 => Instruction::TestFunctionArity {
                fail: operands.label()?,
                value: operands.source()?,
                arity: operands.source()?,
            },
            op::TEST_ARITY => {
                Instruction::TestArity { fail: operands.label()?, value: operands.source()?, arity: operands.u32()? }
            }
            op::IS_TAGGED_TUPLE => Instruction::TestTaggedTuple {
                fail: operands.label()?,
                value: operands.source()?,
                arity: operands.u32()?,
                tag: operands.atom()?,
            },
            op::SELECT_VAL | op::SELECT_TUPLE_ARITY => select(number, operands)?,

            op::BIF0 => bif(operands, Label::NONE, None, 0)?,
            op::BIF1 | op::BIF2 | op::BIF3 => {
                let fail = operands.fail()?;
                bif(operands, fail, None, usize::from(arity) - 3)?
            }
            op::GC_BIF1 | op::GC_BIF2 | op::GC_BIF3 => {
                let fail = operands.fail()?;
                let live = operands.live()?;
                bif(operands, fail, Some(live), usize::from(arity) - 4)?
            }

            op::BADMATCH => Instruction::BadMatch(operands.source()?),
            op::IF_END => Instruction::IfEnd,
            op::CASE_END => Instruction::CaseEnd(operands.source()?),
            op::BADRECORD => Instruction::BadRecord(operands.source()?),
            op::TRY_CASE_END => Instruction::TryCaseEnd(operands.source()?),
            op::CATCH => Instruction::Catch { slot: operands.y_register()?, handler: operands.label()? },
            op::CATCH_END => Instruction::CatchEnd { slot: operands.y_register()? },
            op::TRY => Instruction::Try { slot: operands.y_register()?, handler: operands.label()? },
            op::TRY_END => Instruction::TryEnd { slot: operands.y_register()? },
            op::TRY_CASE => Instruction::TryCase { slot: operands.y_register()? },
            op::RAISE => Instruction::Raise { trace: operands.source()?, reason: operands.source()? },
            op::BUILD_STACKTRACE => Instruction::BuildStacktrace,
            op::RAW_RAISE => Instruction::RawRaise,

            op::SEND => Instruction::Send,
            op::LOOP_REC => Instruction::LoopRec { fail: operands.label()?, destination: operands.register()? },
            op::LOOP_REC_END => Instruction::LoopRecEnd(operands.label()?),
            op::REMOVE_MESSAGE => Instruction::RemoveMessage,
            op::WAIT => Instruction::Wait(operands.label()?),
            op::WAIT_TIMEOUT => Instruction::WaitTimeout { fail: operands.label()?, time: operands.source()? },
            op::TIMEOUT => Instruction::Timeout,
            op::RECV_MARKER_RESERVE => Instruction::RecvMarkerReserve(operands.register()?),
            op::RECV_MARKER_BIND => {
                Instruction::RecvMarkerBind { marker: operands.source()?, reference: operands.source()? }
            }
            op::RECV_MARKER_CLEAR => Instruction::RecvMarkerClear(operands.source()?),
            op::RECV_MARKER_USE => Instruction::RecvMarkerUse(operands.source()?),
            // Hints of OTP 23 and before, and checks that have no meaning when every operation
            // checks its own result.
            op::RECV_MARK | op::RECV_SET | op::FCHECKERROR => {
                operands.fail()?;
                return Ok(());
            }
            op::FCLEARERROR => return Ok(()),

            op::FMOVE..=op::FNEGATE => float(number, operands)?,

            op::PUT_MAP_ASSOC | op::PUT_MAP_EXACT | op::HAS_MAP_FIELDS | op::GET_MAP_ELEMENTS => map(number, operands)?,

            op::IS_NATIVE_RECORD..=op::GET_RECORD_FIELD => {
                for _ in 0..arity {
                    skip(operands)?;
                }
                Instruction::Unsupported { opcode: number }
            }
            _ => match type_test(number) {
                Some(test) => Instruction::Test { fail: operands.label()?, test, value: operands.source()? },
                None => return Err(operands.error("no rule for this opcode")),
            },
        };
        self.code.push(instruction);
        Ok(())
    }

    fn place_label(&mut self) -> Result<Label> {
        let number = self.operands.u32()?;
        let place = self.code.len() as u32;
        match self.labels.get_mut(number as usize) {
            Some(slot) if *slot == Module::NO_PLACE && number != 0 => {
                *slot = place;
                Ok(Label(number))
            }
            Some(_) if number != 0 => Err(self.operands.error(format!("label {number} is defined twice"))),
            _ => Err(self.operands.error(format!("label {number} is out of range"))),
        }
    }
}

fn call(number: u8, operands: &mut Operands<'_>) -> Result<Instruction> {
    let local = |operands: &mut Operands<'_>| -> Result<(u8, Label)> { Ok((operands.arity()?, operands.label()?)) };
    let external = |operands: &mut Operands<'_>| -> Result<_> {
        let arity = operands.arity()?;
        Ok((arity, operands.import(usize::from(arity))?))
    };
    Ok(match number {
        op::CALL => {
            let (arity, target) = local(operands)?;
            Instruction::Call { arity, target }
        }
        op::CALL_LAST => {
            let (arity, target) = local(operands)?;
            Instruction::CallLast { arity, target, deallocate: operands.slots()? }
        }
        op::CALL_ONLY => {
            let (arity, target) = local(operands)?;
            Instruction::CallOnly { arity, target }
        }
        op::CALL_EXT => {
            let (arity, target) = external(operands)?;
            Instruction::CallExt { arity, target }
        }
        op::CALL_EXT_LAST => {
            let (arity, target) = external(operands)?;
            let deallocate = operands.slots()?;
            if raises(operands, target) {
                Instruction::CallExt { arity, target }
            } else {
                Instruction::CallExtLast { arity, target, deallocate }
            }
        }
        op::CALL_EXT_ONLY => {
            let (arity, target) = external(operands)?;
            if raises(operands, target) {
                Instruction::CallExt { arity, target }
            } else {
                Instruction::CallExtOnly { arity, target }
            }
        }
        op::CALL_FUN2 => {
            // The tag says what the compiler knows; a number is that of the very fun.
            let safe = match operands.operand()? {
                Operand::Source(Source::Atom(atom)) => match &*operands.tables.atoms[atom.0 as usize] {
                    "safe" => true,
                    "unsafe" => false,
                    other => {
                        return Err(operands.error(format!("the tag {other} is not known")));
                    }
                },
                Operand::Unsigned(index) if index < operands.tables.lambdas.len() as u64 => true,
                _ => return Err(operands.error("a tag is wanted")),
            };
            Instruction::CallFun2 { safe, arity: operands.arity()?, fun: operands.source()? }
        }
        op::CALL_FUN => {
            let arity = operands.arity()?;
            operands.touch_x(u16::from(arity) + 1);
            Instruction::CallFun { arity }
        }
        _ => {
            let arity = operands.arity()?;
            operands.touch_x(u16::from(arity) + 2);
            if number == op::APPLY {
                Instruction::Apply { arity }
            } else {
                Instruction::ApplyLast { arity, deallocate: operands.slots()? }
            }
        }
    })
}

/// A tail call of a function that always raises is none: compilers share it between ways with
/// different frames, so that the number of slots to give back may be wrong.
fn raises(operands: &Operands<'_>, target: ImportIndex) -> bool {
    operands.tables.imports[target.0 as usize].never_returns(operands.tables.atoms)
}

fn data(number: u8, operands: &mut Operands<'_>) -> Result<Instruction> {
    Ok(match number {
        op::PUT_LIST => Instruction::PutList {
            head: operands.source()?,
            tail: operands.source()?,
            destination: operands.register()?,
        },
        op::PUT_TUPLE2 => Instruction::PutTuple { destination: operands.register()?, elements: operands.sources()? },
        op::SET_TUPLE_ELEMENT => Instruction::SetTupleElement {
            value: operands.source()?,
            tuple: operands.register()?,
            position: operands.u32()?,
        },
        op::UPDATE_RECORD => {
            // The hint allows to update in place what nobody else sees; a copy is always right.
            operands.atom()?;
            let size = operands.u32()?;
            let source = operands.source()?;
            let destination = operands.register()?;
            let count = operands.list(2)?;
            let mut updates = Vec::with_capacity(count);
            for _ in 0..count {
                let position = operands.u32()?;
                if position == 0 || position > size {
                    return Err(operands.error(format!("element {position} of a tuple of {size} does not exist")));
                }
                updates.push((position, operands.source()?));
            }
            Instruction::UpdateRecord { size, source, destination, updates: updates.into() }
        }
        op::GET_LIST => Instruction::GetList {
            source: operands.register()?,
            head: operands.register()?,
            tail: operands.register()?,
        },
        op::GET_HD => Instruction::GetHead { source: operands.register()?, head: operands.register()? },
        op::GET_TL => Instruction::GetTail { source: operands.register()?, tail: operands.register()? },
        op::GET_TUPLE_ELEMENT => Instruction::GetTupleElement {
            source: operands.register()?,
            position: operands.u32()?,
            destination: operands.register()?,
        },
        op::MAKE_FUN2 => {
            let (index, lambda) = operands.lambda()?;
            // At most 255, the arity of the body.
            let free = lambda.free as u16;
            operands.touch_x(free.max(1));
            Instruction::MakeFun {
                lambda: index,
                destination: Register::X(0),
                free: (0..free).map(Source::X).collect(),
            }
        }
        _ => {
            let (index, lambda) = operands.lambda()?;
            let destination = operands.register()?;
            let free = operands.sources()?;
            if free.len() != lambda.free as usize {
                return Err(operands.error(format!("a fun of {} free variables gets {}", lambda.free, free.len())));
            }
            Instruction::MakeFun { lambda: index, destination, free }
        }
    })
}

fn select(number: u8, operands: &mut Operands<'_>) -> Result<Instruction> {
    let value = operands.source()?;
    let fail = operands.label()?;
    let count = operands.list(2)?;
    if number == op::SELECT_TUPLE_ARITY {
        let mut cases = Vec::with_capacity(count);
        for _ in 0..count {
            cases.push((operands.u32()?, operands.label()?));
        }
        return Ok(Instruction::SelectTupleArity { value, fail, cases: cases.into() });
    }
    let mut cases = Vec::with_capacity(count);
    for _ in 0..count {
        let key = operands.source()?;
        if matches!(key, Source::X(_) | Source::Y(_)) {
            return Err(operands.error("a register is among the keys"));
        }
        let atom = matches!(key, Source::Atom(_) | Source::Nil);
        if let Some(&(first, _)) = cases.first()
            && atom != matches!(first, Source::Atom(_) | Source::Nil)
        {
            return Err(operands.error("atoms and numbers are mixed among the keys"));
        }
        cases.push((key, operands.label()?));
    }
    Ok(Instruction::SelectValue { value, fail, cases: cases.into() })
}

fn bif(operands: &mut Operands<'_>, fail: Label, live: Option<u16>, arity: usize) -> Result<Instruction> {
    let bif = operands.import(arity)?;
    let arguments = (0..arity).map(|_| operands.source()).collect::<Result<_>>()?;
    let destination = operands.register()?;
    Ok(match live {
        None => Instruction::Bif { fail, bif, arguments, destination },
        Some(live) => Instruction::GcBif { fail, live, bif, arguments, destination },
    })
}

fn float(number: u8, operands: &mut Operands<'_>) -> Result<Instruction> {
    Ok(match number {
        op::FMOVE => match operands.operand()? {
            Operand::FloatRegister(source) => Instruction::FloatStore { source, destination: operands.register()? },
            Operand::Source(source) => Instruction::FloatLoad { source, destination: operands.float_register()? },
            _ => return Err(operands.error("a value is wanted")),
        },
        op::FCONV => Instruction::FloatConvert { source: operands.source()?, destination: operands.float_register()? },
        op::FNEGATE => {
            operands.fail()?;
            Instruction::FloatNegate { source: operands.float_register()?, destination: operands.float_register()? }
        }
        _ => {
            operands.fail()?;
            Instruction::FloatArithmetic {
                operation: match number {
                    op::FADD => FloatOperation::Add,
                    op::FSUB => FloatOperation::Subtract,
                    op::FMUL => FloatOperation::Multiply,
                    _ => FloatOperation::Divide,
                },
                left: operands.float_register()?,
                right: operands.float_register()?,
                destination: operands.float_register()?,
            }
        }
    })
}

fn map(number: u8, operands: &mut Operands<'_>) -> Result<Instruction> {
    let fail = operands.fail()?;
    let map = operands.source()?;
    if matches!(number, op::HAS_MAP_FIELDS | op::GET_MAP_ELEMENTS) && fail == Label::NONE {
        return Err(operands.error("a label is missing"));
    }
    Ok(match number {
        op::HAS_MAP_FIELDS => Instruction::HasMapFields { fail, map, keys: operands.sources()? },
        op::GET_MAP_ELEMENTS => {
            let count = operands.list(2)?;
            let pairs = (0..count).map(|_| Ok((operands.source()?, operands.register()?))).collect::<Result<_>>()?;
            Instruction::GetMapElements { fail, map, pairs }
        }
        _ => {
            let destination = operands.register()?;
            let live = operands.live()?;
            let count = operands.list(2)?;
            let pairs = (0..count).map(|_| Ok((operands.source()?, operands.source()?))).collect::<Result<_>>()?;
            let exact = number == op::PUT_MAP_EXACT;
            Instruction::PutMap { fail, exact, map, live, destination, pairs }
        }
    })
}

/// Steps over an operand of any kind, a list included.
fn skip(operands: &mut Operands<'_>) -> Result<()> {
    let before = operands.cursor.clone();
    match operands.list(1) {
        Ok(count) => (0..count).try_for_each(|_| operands.operand().map(drop)),
        Err(_) => {
            operands.cursor = before;
            operands.operand().map(drop)
        }
    }
}

fn comparison(number: u8) -> Comparison {
    match number {
        op::IS_LT => Comparison::Less,
        op::IS_GE => Comparison::GreaterOrEqual,
        op::IS_EQ => Comparison::Equal,
        op::IS_NE => Comparison::NotEqual,
        op::IS_EQ_EXACT => Comparison::ExactlyEqual,
        _ => Comparison::NotExactlyEqual,
    }
}

fn type_test(number: u8) -> Option<TypeTest> {
    Some(match number {
        op::IS_INTEGER => TypeTest::Integer,
        op::IS_FLOAT => TypeTest::Float,
        op::IS_NUMBER => TypeTest::Number,
        op::IS_ATOM => TypeTest::Atom,
        op::IS_PID => TypeTest::Pid,
        op::IS_REFERENCE => TypeTest::Reference,
        op::IS_PORT => TypeTest::Port,
        op::IS_NIL => TypeTest::Nil,
        op::IS_BINARY => TypeTest::Binary,
        op::IS_BITSTR => TypeTest::Bitstring,
        op::IS_LIST => TypeTest::List,
        op::IS_NONEMPTY_LIST => TypeTest::NonemptyList,
        op::IS_TUPLE => TypeTest::Tuple,
        op::IS_MAP => TypeTest::Map,
        op::IS_FUNCTION => TypeTest::Function,
        op::IS_BOOLEAN => TypeTest::Boolean,
        op::IS_ANY_NATIVE_RECORD => TypeTest::NativeRecord,
        _ => return None,
    })
}
