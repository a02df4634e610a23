//! Groups of instructions whose operands need more than reading one after the other.

use crate::error::Result;
use crate::instruction::{Comparison, FloatOperation, Instruction, Label, Register, Source, TypeTest};
use crate::opcodes as op;

use super::operands::{Operand, Operands};
use super::raises;

pub(super) fn call(number: u8, operands: &mut Operands<'_>) -> Result<Instruction> {
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

pub(super) fn data(number: u8, operands: &mut Operands<'_>) -> Result<Instruction> {
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

pub(super) fn select(number: u8, operands: &mut Operands<'_>) -> Result<Instruction> {
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

pub(super) fn bif(operands: &mut Operands<'_>, fail: Label, live: Option<u16>, arity: usize) -> Result<Instruction> {
    let bif = operands.import(arity)?;
    let arguments = (0..arity).map(|_| operands.source()).collect::<Result<_>>()?;
    let destination = operands.register()?;
    Ok(match live {
        None => Instruction::Bif { fail, bif, arguments, destination },
        Some(live) => Instruction::GcBif { fail, live, bif, arguments, destination },
    })
}

pub(super) fn float(number: u8, operands: &mut Operands<'_>) -> Result<Instruction> {
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

pub(super) fn map(number: u8, operands: &mut Operands<'_>) -> Result<Instruction> {
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
pub(super) fn skip(operands: &mut Operands<'_>) -> Result<()> {
    let before = operands.cursor.clone();
    match operands.list(1) {
        Ok(count) => (0..count).try_for_each(|_| operands.operand().map(drop)),
        Err(_) => {
            operands.cursor = before;
            operands.operand().map(drop)
        }
    }
}

pub(super) fn comparison(number: u8) -> Comparison {
    match number {
        op::IS_LT => Comparison::Less,
        op::IS_GE => Comparison::GreaterOrEqual,
        op::IS_EQ => Comparison::Equal,
        op::IS_NE => Comparison::NotEqual,
        op::IS_EQ_EXACT => Comparison::ExactlyEqual,
        _ => Comparison::NotExactlyEqual,
    }
}

pub(super) fn type_test(number: u8) -> Option<TypeTest> {
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
