//! From the bytes of the `Code` chunk to typed instructions.

mod bits;
mod groups;
mod old_bits;
mod operands;

pub(crate) use operands::{Extent, FLOAT_WORDS, FUN_WORDS, REGISTERS, Tables};

use crate::cursor::Cursor;
use crate::error::Result;
use crate::instruction::{HeapNeed, Holder, ImportIndex, Instruction, Label};
use crate::module::Module;
use crate::opcodes as op;
use operands::Operands;

/// Chunks of code above this many bytes are refused, which bounds the memory that the typed form
/// of a hostile file can take.
const LARGEST_CODE: usize = 8 << 20;

/// Exceptions come in X0 to X3.
pub(crate) const EXCEPTION_REGISTERS: u16 = 4;

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
    /// Label number to index of the first instruction there that is no mark, or of the end.
    pub(crate) firsts: Vec<u32>,
    pub(crate) literals: Vec<Box<[u8]>>,
    /// The registers that each function names, in the order of `func_info`.
    pub(crate) extents: Vec<Extent>,
}

/// Decodes all instructions.
pub(crate) fn decode(data: &[u8], header: &Header, tables: &Tables<'_>, literals: Vec<Box<[u8]>>) -> Result<Decoded> {
    let mut cursor = Cursor::new("Code", data);
    cursor.bytes(header.start)?;
    let operands = Operands { cursor, tables, literals, extent: Extent::LEAST };
    let mut decoder = Decoder {
        operands,
        code: Vec::new(),
        offsets: Vec::new(),
        labels: vec![Module::NO_PLACE; header.labels as usize],
        extents: Vec::new(),
        begun: None,
    };
    while decoder.step()? {}
    decoder.end_function();
    let firsts = decoder.first_instructions();
    decoder.guard_jumps(&firsts);
    Ok(Decoded {
        code: decoder.code,
        offsets: decoder.offsets,
        labels: decoder.labels,
        firsts,
        literals: decoder.operands.literals,
        extents: decoder.extents,
    })
}

struct Decoder<'a> {
    operands: Operands<'a>,
    code: Vec<Instruction>,
    offsets: Vec<u32>,
    labels: Vec<u32>,
    /// Those of the functions that have ended, and of the code in front of the first.
    extents: Vec<Extent>,
    /// Index of an instruction that begins a bitstring in the way of old compilers, while nothing but its segments
    /// follows.
    begun: Option<usize>,
}

impl Decoder<'_> {
    /// Notes the registers of the function that ends here.
    fn end_function(&mut self) {
        self.extents.push(std::mem::replace(&mut self.operands.extent, Extent::LEAST));
    }

    /// Decodes one instruction; false at the end of the code.
    fn step(&mut self) -> Result<bool> {
        let start = self.operands.cursor.clone();
        if start.remaining() == 0 {
            return Err(start.error("the code does not end with int_code_end"));
        }
        let number = self.operands.cursor.byte()?;
        if !old_bits::is_segment(number) {
            self.create_in_one();
        }
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

    /// Puts one instruction in the place of those that build a bitstring piece by piece.
    fn create_in_one(&mut self) {
        let Some(first) = self.begun.take() else { return };
        if let Some(whole) = old_bits::whole(&self.code[first..]) {
            self.code.truncate(first);
            self.code.push(whole);
            self.offsets.truncate(first + 1);
        }
    }

    fn instruction(&mut self, number: u8, arity: u8) -> Result<()> {
        if number == op::LABEL {
            let label = self.place_label()?;
            self.code.push(Instruction::Label(label));
            return Ok(());
        }
        match number {
            op::TRY_CASE => self.guard_handler(),
            op::FUNC_INFO => self.end_function(),
            _ => {}
        }
        let operands = &mut self.operands;
        if let Some(instruction) = bits::decode(number, operands)? {
            if matches!(instruction, Instruction::BsInit { .. } | Instruction::BsAppend { .. }) {
                self.begun = Some(self.code.len());
            }
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
            | op::APPLY_LAST => groups::call(number, operands)?,
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
            | op::MAKE_FUN3 => groups::data(number, operands)?,

            op::JUMP => Instruction::Jump(operands.label()?),
            op::IS_LT..=op::IS_NE_EXACT => Instruction::Compare {
                fail: operands.label()?,
                comparison: groups::comparison(number),
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
            op::IS_TAGGED_TUPLE => {
                let (fail, value, arity) = (operands.label()?, operands.source()?, operands.u32()?);
                if arity == 0 {
                    return Err(operands.error("a tuple without elements has no tag"));
                }
                Instruction::TestTaggedTuple { fail, value, arity, tag: operands.atom()? }
            }
            op::SELECT_VAL | op::SELECT_TUPLE_ARITY => groups::select(number, operands)?,

            op::BIF0 => groups::bif(operands, Label::NONE, None, 0)?,
            op::BIF1 | op::BIF2 | op::BIF3 => {
                let fail = operands.fail()?;
                groups::bif(operands, fail, None, usize::from(arity) - 3)?
            }
            op::GC_BIF1 | op::GC_BIF2 | op::GC_BIF3 => {
                let fail = operands.fail()?;
                let live = operands.live()?;
                groups::bif(operands, fail, Some(live), usize::from(arity) - 4)?
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
            op::LOOP_REC => {
                operands.extent.receives = true;
                let (fail, destination) = (operands.label()?, operands.register()?);
                Instruction::LoopRec { fail, destination, in_place: false }
            }
            op::LOOP_REC_END => Instruction::LoopRecEnd(operands.label()?),
            op::REMOVE_MESSAGE => Instruction::RemoveMessage(Holder::Unknown),
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

            op::FMOVE..=op::FNEGATE => groups::float(number, operands)?,

            op::PUT_MAP_ASSOC | op::PUT_MAP_EXACT | op::HAS_MAP_FIELDS | op::GET_MAP_ELEMENTS => {
                groups::map(number, operands)?
            }

            op::IS_NATIVE_RECORD..=op::GET_RECORD_FIELD => {
                for _ in 0..arity {
                    groups::skip(operands)?;
                }
                Instruction::Unsupported { opcode: number }
            }
            _ => match groups::type_test(number) {
                Some(test) => Instruction::Test { fail: operands.label()?, test, value: operands.source()? },
                None => return Err(operands.error("no rule for this opcode")),
            },
        };
        // This older instruction asks for its room itself; only what it takes is live then.
        if number == op::MAKE_FUN2
            && let Instruction::MakeFun { free, .. } = &instruction
        {
            let need = HeapNeed { words: free.len() as u32, floats: 0, funs: 1 };
            self.code.push(Instruction::TestHeap { need, live: free.len() as u16 });
        }
        self.code.push(instruction);
        Ok(())
    }

    /// Makes sure that code cannot run into the handler that comes next, where it would take stale
    /// registers for an exception. Compilers leave nothing behind a call in a `try` that, as they
    /// know, never returns.
    fn guard_handler(&mut self) {
        let place = self.code.iter().rposition(|code| !is_mark(code)).map_or(0, |last| last + 1);
        let open = match self.code[..place].last() {
            Some(Instruction::CallExt { target, .. }) => !raises(&self.operands, *target),
            Some(last) => !last.ends_block(),
            None => false,
        };
        if !open || place == self.code.len() {
            return;
        }
        for instruction in &self.code[place..] {
            if let Instruction::Label(label) = instruction {
                self.labels[label.0 as usize] += 1;
            }
        }
        self.code.insert(place, Instruction::Unsupported { opcode: op::TRY_CASE });
        self.offsets.insert(place, self.offsets[place]);
    }

    /// For each label, where the first instruction behind it is that does something.
    fn first_instructions(&self) -> Vec<u32> {
        let mut firsts = vec![Module::NO_PLACE; self.labels.len()];
        let mut first = self.code.len() as u32;
        for (index, instruction) in self.code.iter().enumerate().rev() {
            if let Instruction::Label(label) = instruction {
                firsts[label.0 as usize] = first;
            } else if !is_mark(instruction) {
                first = index as u32;
            }
        }
        firsts
    }

    /// The same for jumps to handlers.
    fn guard_jumps(&mut self, firsts: &[u32]) {
        for index in 0..self.code.len() {
            let Instruction::Jump(target) = self.code[index] else {
                continue;
            };
            let first = self.code.get(firsts[target.0 as usize] as usize);
            if matches!(first, Some(Instruction::TryCase { .. })) {
                self.code[index] = Instruction::Unsupported { opcode: op::JUMP };
            }
        }
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

/// A tail call of a function that always raises is none: compilers share it between ways with
/// different frames, so that the number of slots to give back may be wrong.
fn raises(operands: &Operands<'_>, target: ImportIndex) -> bool {
    operands.tables.imports[target.0 as usize].never_returns(operands.tables.atoms)
}

/// Whether this marks a place only.
pub(crate) fn is_mark(instruction: &Instruction) -> bool {
    matches!(instruction, Instruction::Label(_) | Instruction::Line(_))
}
