//! Operands, read one after the other and checked as they are read.

use crate::compact::{self, Value};
use crate::cursor::Cursor;
use crate::error::{LoadError, Result};
use crate::instruction::{AtomIndex, HeapNeed, ImportIndex, Label, LambdaIndex, LiteralIndex, Register, Source};
use crate::module::{Import, Lambda};

use super::EXCEPTION_REGISTERS;

/// Number of X registers, of floating-point registers and of slots in a frame.
pub(crate) const REGISTERS: u16 = 1024;

/// Integers of at most this many bits, with the sign, are immediate.
const SMALL_BITS: u32 = 60;

/// What operands may refer to.
pub(crate) struct Tables<'a> {
    pub(crate) atoms: &'a [Box<str>],
    pub(crate) imports: &'a [Import],
    pub(crate) lambdas: &'a [Lambda],
    /// Length of the string table in bytes.
    pub(crate) strings: usize,
    /// Number of entries of the line table; 0 if there is none.
    pub(crate) lines: usize,
    /// Label numbers are below this.
    pub(crate) labels: u32,
}

/// Any operand but a list.
#[derive(Clone, Copy)]
pub(crate) enum Operand {
    Unsigned(u64),
    Label(Label),
    FloatRegister(u16),
    /// A register or a constant.
    Source(Source),
}

/// The operands of the code, and what reading them gathers.
pub(crate) struct Operands<'a> {
    pub(crate) cursor: Cursor<'a>,
    pub(crate) tables: &'a Tables<'a>,
    /// The literal table; constants that are no immediate terms are added to it.
    pub(crate) literals: Vec<Box<[u8]>>,
    /// Registers that the present function has used so far.
    pub(crate) extent: Extent,
}

/// How many registers some code names: the highest index plus one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extent {
    pub(crate) x: u16,
    pub(crate) y: u16,
    pub(crate) floats: u16,
    /// Whether it looks at messages.
    pub(crate) receives: bool,
}

impl Extent {
    /// Of code that names none: exceptions use some all the same.
    pub(crate) const LEAST: Extent = Extent { x: EXCEPTION_REGISTERS, y: 0, floats: 0, receives: false };
}

impl Operands<'_> {
    pub(crate) fn error(&self, problem: impl Into<std::borrow::Cow<'static, str>>) -> LoadError {
        self.cursor.error(problem)
    }

    /// Reads an operand that is not a list.
    pub(crate) fn operand(&mut self) -> Result<Operand> {
        let (tag, value) = compact::read(&mut self.cursor)?;
        Ok(match tag {
            compact::TAG_UNSIGNED => Operand::Unsigned(self.in_range(&value, u64::MAX)?),
            compact::TAG_INTEGER => Operand::Source(self.integer(&value)?),
            compact::TAG_ATOM => {
                let number = self.in_range(&value, self.tables.atoms.len() as u64)?;
                Operand::Source(match number.checked_sub(1) {
                    Some(index) => Source::Atom(AtomIndex(index as u32)),
                    None => Source::Nil,
                })
            }
            compact::TAG_X => Operand::Source(Source::X(self.x(&value)?)),
            compact::TAG_Y => Operand::Source(Source::Y(self.y(&value)?)),
            compact::TAG_LABEL => {
                let last = u64::from(self.tables.labels).saturating_sub(1);
                Operand::Label(Label(self.in_range(&value, last)? as u32))
            }
            compact::TAG_EXTENDED => self.extended(&value)?,
            _ => return Err(self.error(format!("an operand has tag {tag}"))),
        })
    }

    fn extended(&mut self, kind: &Value<'_>) -> Result<Operand> {
        Ok(match kind.unsigned() {
            Some(compact::EXTENDED_FLOAT) => {
                let bytes = self.cursor.bytes(8)?;
                let mut term = vec![131, 70];
                term.extend(bytes);
                Operand::Source(self.add_literal(term.into())?)
            }
            Some(compact::EXTENDED_FLOAT_REGISTER) => {
                let index = self.unsigned(u64::from(REGISTERS) - 1)? as u16;
                self.extent.floats = self.extent.floats.max(index + 1);
                Operand::FloatRegister(index)
            }
            Some(compact::EXTENDED_LITERAL) => {
                // Only the file's own literals can be named, and those were there first.
                let count = self.literals.len() as u64;
                let index = self.unsigned(u64::MAX)?;
                if index >= count {
                    return Err(self.error(format!("literal {index} of {count} does not exist")));
                }
                Operand::Source(Source::Literal(LiteralIndex(index as u32)))
            }
            Some(compact::EXTENDED_TYPED_REGISTER) => {
                let register = match compact::read(&mut self.cursor)? {
                    (compact::TAG_X, value) => Source::X(self.x(&value)?),
                    (compact::TAG_Y, value) => Source::Y(self.y(&value)?),
                    _ => return Err(self.error("a type hint for something else than a register")),
                };
                let _hint = compact::read_unsigned(&mut self.cursor)?;
                Operand::Source(register)
            }
            _ => return Err(self.error("an operand of an extended kind that is not expected")),
        })
    }

    fn in_range(&self, value: &Value<'_>, last: u64) -> Result<u64> {
        match value.unsigned() {
            Some(value) if value <= last => Ok(value),
            Some(value) => Err(self.error(format!("{value} is above {last}"))),
            None => Err(self.error("a number is negative or above 64 bits")),
        }
    }

    fn x(&mut self, value: &Value<'_>) -> Result<u16> {
        let index = self.in_range(value, u64::from(REGISTERS) - 1)? as u16;
        self.touch_x(index + 1);
        Ok(index)
    }

    fn y(&mut self, value: &Value<'_>) -> Result<u16> {
        let index = self.in_range(value, u64::from(REGISTERS) - 1)? as u16;
        self.extent.y = self.extent.y.max(index + 1);
        Ok(index)
    }

    fn integer(&mut self, value: &Value<'_>) -> Result<Source> {
        let limit = 1 << (SMALL_BITS - 1);
        match (value.signed(), value) {
            (Some(number), _) if (-limit..limit).contains(&number) => Ok(Source::Small(number)),
            (_, Value::Long(bytes)) => self.add_literal(compact::external_integer(bytes)),
            (_, Value::Short(_)) => Err(self.error("a short number is out of range")),
        }
    }

    fn add_literal(&mut self, term: Box<[u8]>) -> Result<Source> {
        let index = u32::try_from(self.literals.len()).map_err(|_| self.error("too many literals"))?;
        self.literals.push(term);
        Ok(Source::Literal(LiteralIndex(index)))
    }

    /// Notes that the first `count` X registers are used.
    pub(crate) fn touch_x(&mut self, count: u16) {
        self.extent.x = self.extent.x.max(count);
    }

    /// An unsigned number of at most `last`.
    pub(crate) fn unsigned(&mut self, last: u64) -> Result<u64> {
        let value = compact::read_unsigned(&mut self.cursor)?;
        self.in_range(&Value::Short(value), last)
    }

    /// An unsigned number, or the largest there is if it does not fit.
    pub(crate) fn unsigned_saturating(&mut self) -> Result<u64> {
        match compact::read(&mut self.cursor)? {
            (compact::TAG_UNSIGNED, value) => Ok(value.unsigned().unwrap_or(u64::MAX)),
            _ => Err(self.error("an unsigned number is wanted")),
        }
    }

    pub(crate) fn u32(&mut self) -> Result<u32> {
        Ok(self.unsigned(u64::from(u32::MAX))? as u32)
    }

    /// Number of arguments of a call, which are then used X registers.
    pub(crate) fn arity(&mut self) -> Result<u8> {
        let arity = self.unsigned(255)? as u8;
        self.touch_x(u16::from(arity));
        Ok(arity)
    }

    /// Number of live X registers. The machine keeps one more term than those across a collection.
    pub(crate) fn live(&mut self) -> Result<u16> {
        let live = self.unsigned(u64::from(REGISTERS) - 1)? as u16;
        self.touch_x(live);
        Ok(live)
    }

    /// Number of slots of a frame.
    pub(crate) fn slots(&mut self) -> Result<u16> {
        let slots = self.unsigned(u64::from(REGISTERS))? as u16;
        self.extent.y = self.extent.y.max(slots);
        Ok(slots)
    }

    /// Unit of a segment in bits, 1 to 256.
    pub(crate) fn unit(&mut self) -> Result<u16> {
        match self.unsigned(256)? {
            0 => Err(self.error("a unit of 0 bits")),
            unit => Ok(unit as u16),
        }
    }

    /// A register or a constant.
    pub(crate) fn source(&mut self) -> Result<Source> {
        match self.operand()? {
            Operand::Source(source) => Ok(source),
            _ => Err(self.error("a register or a constant is wanted")),
        }
    }

    /// A register or a constant, where old files may give a number instead.
    pub(crate) fn size(&mut self) -> Result<Source> {
        match self.operand()? {
            Operand::Source(source) => Ok(source),
            Operand::Unsigned(number) if number < 1 << (SMALL_BITS - 1) => Ok(Source::Small(number as i64)),
            _ => Err(self.error("a size is wanted")),
        }
    }

    pub(crate) fn register(&mut self) -> Result<Register> {
        match self.source()? {
            Source::X(index) => Ok(Register::X(index)),
            Source::Y(index) => Ok(Register::Y(index)),
            _ => Err(self.error("a register is wanted")),
        }
    }

    pub(crate) fn y_register(&mut self) -> Result<u16> {
        match self.source()? {
            Source::Y(index) => Ok(index),
            _ => Err(self.error("a stack slot is wanted")),
        }
    }

    pub(crate) fn float_register(&mut self) -> Result<u16> {
        match self.operand()? {
            Operand::FloatRegister(index) => Ok(index),
            _ => Err(self.error("a floating-point register is wanted")),
        }
    }

    pub(crate) fn atom(&mut self) -> Result<AtomIndex> {
        match self.source()? {
            Source::Atom(index) => Ok(index),
            _ => Err(self.error("an atom is wanted")),
        }
    }

    /// The text of an atom operand.
    pub(crate) fn keyword(&mut self) -> Result<&str> {
        let index = self.atom()?;
        Ok(&self.tables.atoms[index.0 as usize])
    }

    /// A label that may be absent: the operation raises instead.
    pub(crate) fn fail(&mut self) -> Result<Label> {
        match self.operand()? {
            Operand::Label(label) => Ok(label),
            _ => Err(self.error("a label is wanted")),
        }
    }

    /// A label that must be there.
    pub(crate) fn label(&mut self) -> Result<Label> {
        match self.fail()? {
            Label::NONE => Err(self.error("a label is missing")),
            label => Ok(label),
        }
    }

    /// The import of a call or BIF with `arity` arguments.
    pub(crate) fn import(&mut self, arity: usize) -> Result<ImportIndex> {
        let index = self.u32()?;
        match self.tables.imports.get(index as usize) {
            None => Err(self.error(format!("import {index} does not exist"))),
            Some(import) if usize::from(import.arity) != arity => {
                Err(self.error(format!("a function of {} arguments gets {arity}", import.arity)))
            }
            Some(_) => Ok(ImportIndex(index)),
        }
    }

    pub(crate) fn lambda(&mut self) -> Result<(LambdaIndex, Lambda)> {
        let index = self.u32()?;
        match self.tables.lambdas.get(index as usize) {
            Some(lambda) => Ok((LambdaIndex(index), *lambda)),
            None => Err(self.error(format!("fun {index} does not exist"))),
        }
    }

    /// Position in the line table. Without a table all lines are unknown.
    pub(crate) fn line(&mut self) -> Result<u32> {
        let index = self.u32()?;
        match self.tables.lines {
            0 => Ok(0),
            lines if (index as usize) < lines => Ok(index),
            lines => Err(self.error(format!("line entry {index} of {lines} does not exist"))),
        }
    }

    /// Head of a list operand: the number of operands that follow, a multiple of `step`.
    pub(crate) fn list(&mut self, step: usize) -> Result<usize> {
        let (tag, kind) = compact::read(&mut self.cursor)?;
        if tag != compact::TAG_EXTENDED || kind.unsigned() != Some(compact::EXTENDED_LIST) {
            return Err(self.error("a list is wanted"));
        }
        let count = usize::try_from(self.unsigned(u64::MAX)?).unwrap_or(usize::MAX);
        self.cursor.fits(count, 1)?;
        if count % step != 0 {
            return Err(self.error(format!("a list of {count} where groups of {step} are wanted")));
        }
        Ok(count / step)
    }

    /// A list of registers and constants.
    pub(crate) fn sources(&mut self) -> Result<Box<[Source]>> {
        let count = self.list(1)?;
        (0..count).map(|_| self.source()).collect()
    }

    /// Heap room: a number of words, or an allocation list.
    pub(crate) fn heap_need(&mut self) -> Result<HeapNeed> {
        let before = self.cursor.clone();
        let (tag, kind) = compact::read(&mut self.cursor)?;
        if tag != compact::TAG_EXTENDED {
            self.cursor = before;
            return Ok(HeapNeed { words: self.heap_words()?, ..HeapNeed::default() });
        }
        if kind.unsigned() != Some(compact::EXTENDED_ALLOCATION) {
            return Err(self.error("heap room is wanted"));
        }
        let mut need = HeapNeed::default();
        for _ in 0..self.unsigned(u64::MAX)? {
            let kind = self.unsigned(2)?;
            let amount = self.heap_words()?;
            let sum = match kind {
                0 => &mut need.words,
                1 => &mut need.floats,
                _ => &mut need.funs,
            };
            *sum = sum.saturating_add(amount);
        }
        if need.words.max(need.floats).max(need.funs) > MOST_HEAP {
            return Err(self.error("too much heap room"));
        }
        Ok(need)
    }

    /// Heap room in words, counting floats and funs as what they take at most.
    pub(crate) fn extra_words(&mut self) -> Result<u32> {
        let need = self.heap_need()?;
        // No sum overflows: each amount is at most `MOST_HEAP`.
        Ok(need.words + need.floats * FLOAT_WORDS + need.funs * FUN_WORDS)
    }

    /// Heap words that an instruction may ask for.
    fn heap_words(&mut self) -> Result<u32> {
        Ok(self.unsigned(u64::from(MOST_HEAP))? as u32)
    }
}

/// The most heap room of each kind that one instruction may ask for. A compiler asks for what the
/// terms in a function's text need; this keeps sums of such numbers far from overflow.
const MOST_HEAP: u32 = 1 << 26;

/// No machine needs more words for a boxed float.
pub(crate) const FLOAT_WORDS: u32 = 2;

/// No machine needs more words for a fun without its free variables.
pub(crate) const FUN_WORDS: u32 = 8;

const _: () = assert!(MOST_HEAP.checked_mul(1 + FLOAT_WORDS + FUN_WORDS).is_some());
