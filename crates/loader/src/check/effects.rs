//! What instructions do to the heap room that was asked for, and to what registers hold.

use super::state::{Place, State};
use super::types::Type;
use super::values::{Value, Values};
use crate::decode::{FLOAT_WORDS, FUN_WORDS};
use crate::instruction::{HeapNeed, Instruction, MatchCommand, Register, Shape, Source};

/// What an instruction needs to know of a value before it may look inside.
pub(super) fn demand(instruction: &Instruction) -> Option<(Source, Shape)> {
    use Instruction as I;
    Some(match *instruction {
        I::GetList { source, .. } | I::GetHead { source, .. } | I::GetTail { source, .. } => {
            (source.into(), Shape::Cons)
        }
        I::GetTupleElement { source, position, .. } => {
            (source.into(), Shape::Tuple { least: position.saturating_add(1) })
        }
        I::SetTupleElement { tuple, position, .. } => {
            (tuple.into(), Shape::Tuple { least: position.saturating_add(1) })
        }
        I::UpdateRecord { source, size, .. } => (source, Shape::TupleOf { arity: size }),
        I::TestArity { value, .. } => (value, Shape::Tuple { least: 0 }),
        I::HasMapFields { map, .. } | I::GetMapElements { map, .. } => (map, Shape::Map),
        I::FloatLoad { source, .. } => (source, Shape::Float),
        _ => return None,
    })
}

/// What an instruction does to the room that was asked for.
pub(super) enum Room {
    /// It needs none.
    Keeps,
    /// It needs none if it goes on behind itself.
    KeepsUnlessFails,
    /// It fills some.
    Takes(HeapNeed),
    /// So much is there afterwards, if it does not fail.
    Gives(HeapNeed),
    /// It may need any amount.
    Loses,
}

impl Room {
    pub(super) fn of(instruction: &Instruction, allocates: impl FnOnce() -> bool) -> Room {
        use Instruction as I;
        let words = |words: u32| HeapNeed { words, ..HeapNeed::default() };
        match instruction {
            I::Label(_)
            | I::Line(_)
            | I::NifStart
            | I::OnLoad
            | I::Deallocate { .. }
            | I::Trim { .. }
            | I::InitYregs(_)
            | I::Move { .. }
            | I::Swap { .. }
            | I::SetTupleElement { .. }
            | I::GetList { .. }
            | I::GetHead { .. }
            | I::GetTail { .. }
            | I::GetTupleElement { .. }
            | I::Jump(_)
            | I::Test { .. }
            | I::TestFunctionArity { .. }
            | I::TestArity { .. }
            | I::TestTaggedTuple { .. }
            | I::Compare { .. }
            | I::SelectValue { .. }
            | I::SelectTupleArity { .. }
            | I::Catch { .. }
            | I::Try { .. }
            | I::TryEnd { .. }
            | I::FloatLoad { .. }
            | I::FloatConvert { .. }
            | I::FloatArithmetic { .. }
            | I::FloatNegate { .. }
            | I::RemoveMessage(_)
            | I::RecvMarkerBind { .. }
            | I::RecvMarkerClear(_)
            | I::HasMapFields { .. }
            | I::GetMapElements { .. } => Room::Keeps,
            I::BsPut { .. } => Room::KeepsUnlessFails,
            I::Bif { .. } if !allocates() => Room::KeepsUnlessFails,
            I::Allocate { need, .. } | I::TestHeap { need, .. } => Room::Gives(*need),
            I::BsCreateBin { extra, .. } | I::BsInit { extra, .. } | I::BsAppend { extra, .. } => {
                Room::Gives(words(*extra))
            }
            I::PutList { .. } => Room::Takes(words(2)),
            I::PutTuple { elements, .. } => Room::Takes(words(elements.len() as u32 + 1)),
            I::UpdateRecord { size, .. } => Room::Takes(words(size.saturating_add(1))),
            I::MakeFun { free, .. } => Room::Takes(HeapNeed { words: free.len() as u32, floats: 0, funs: 1 }),
            I::FloatStore { .. } => Room::Takes(HeapNeed { words: 0, floats: 1, funs: 0 }),
            _ => Room::Loses,
        }
    }
}

impl Place {
    /// Uses up room. Where none was asked for a float or a fun, plain words are as good. False if there is too little.
    pub(super) fn take(&mut self, need: HeapNeed) -> bool {
        let room = &mut self.room;
        let mut words = need.words;
        let mut take = |room: &mut u32, need: u32, size: u32| {
            let counted = need.min(*room);
            *room -= counted;
            words = words.saturating_add((need - counted) * size);
        };
        take(&mut room.floats, need.floats, FLOAT_WORDS);
        take(&mut room.funs, need.funs, FUN_WORDS);
        match room.words.checked_sub(words) {
            Some(rest) => {
                room.words = rest;
                true
            }
            None => false,
        }
    }
}

/// Whether new tuples, and a bitstring that is being built, stay where they are, and where they are known.
pub(super) fn keeps_private(instruction: &Instruction) -> bool {
    use Instruction as I;
    matches!(
        instruction,
        I::Label(_)
            | I::Line(_)
            | I::Move { .. }
            | I::Swap { .. }
            | I::InitYregs(_)
            | I::SetTupleElement { .. }
            | I::GetList { .. }
            | I::GetHead { .. }
            | I::GetTail { .. }
            | I::GetTupleElement { .. }
            | I::Jump(_)
            | I::Test { .. }
            | I::TestArity { .. }
            | I::TestTaggedTuple { .. }
            | I::Compare { .. }
            | I::SelectValue { .. }
            | I::SelectTupleArity { .. }
            | I::BsPut { .. }
    )
}

impl State {
    /// What is known of an operand.
    pub(super) fn value_of(&self, source: Source, literals: &[Type]) -> Value {
        Value::unnamed(match source {
            Source::X(index) => return self.registers.value(Register::X(index)),
            Source::Y(index) => return self.registers.value(Register::Y(index)),
            Source::Small(value) => Type::constant(value),
            Source::Atom(_) => Type::ATOM,
            Source::Nil => Type::NIL,
            Source::Literal(index) => literals[index.0 as usize],
        })
    }

    pub(super) fn type_of(&self, source: Source, literals: &[Type]) -> Type {
        self.value_of(source, literals).kind
    }

    /// More is known of a register, from a test of it.
    pub(super) fn refine(&mut self, source: Source, known: Type) {
        let register = match source {
            Source::X(index) => Register::X(index),
            Source::Y(index) => Register::Y(index),
            _ => return,
        };
        self.registers.narrow(register, |old| old.meet(known), None);
    }

    /// The results of an instruction that did not fail. Calls, guard functions and moves are not among these.
    pub(super) fn write_results(&mut self, instruction: &Instruction, values: &mut Values) {
        use Instruction as I;
        let result = match instruction {
            I::InitYregs(_) => Type::NIL,
            I::PutList { .. } => Type::CONS,
            I::UpdateRecord { size, .. } => Type::tuple_of(*size),
            I::MakeFun { .. } => Type::FUN,
            I::FloatStore { .. } | I::BsGetFloat { .. } => Type::FLOAT,
            I::PutMap { .. } => Type::MAP,
            I::BsStartMatch { .. } => Type::CONTEXT,
            I::BsGetInteger { .. }
            | I::BsGetPosition { .. }
            | I::BsGetUtf { .. }
            | I::BsAdd { .. }
            | I::BsUtfSize { .. }
            | I::RecvMarkerReserve(_) => Type::INTEGER,
            I::BsGetBinary { .. }
            | I::BsGetTail { .. }
            | I::BsCreateBin { .. }
            | I::BsInit { .. }
            | I::BsAppend { .. } => Type::BITS,
            I::BsMatch { commands, .. } => return self.write_commands(commands),
            _ => Type::TERM,
        };
        instruction.for_each_destination(|destination| self.registers.set(destination, values.name(result)));
    }

    fn write_commands(&mut self, commands: &[MatchCommand]) {
        for command in commands {
            match *command {
                MatchCommand::Integer { destination, .. } => {
                    self.registers.set(destination, Value::unnamed(Type::INTEGER))
                }
                MatchCommand::Binary { destination, .. } | MatchCommand::GetTail { destination, .. } => {
                    self.registers.set(destination, Value::unnamed(Type::BITS));
                }
                _ => {}
            }
        }
    }
}
