//! What registers hold.
//!
//! A collection looks at the live X registers and at all slots of the frame, so none of them may
//! be left over from something else. The rules are the instructions' own: a call leaves X0 only, an
//! instruction with a `live` count leaves the registers below it, and a handler finds the
//! exception in X0 to X3.

use super::types::Type;
use super::values::{Value, Values};
use crate::decode::{EXCEPTION_REGISTERS, Extent, REGISTERS};
use crate::instruction::{Instruction, MatchCommand, Register};

/// A set of register numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Set([u64; REGISTERS as usize / 64]);

impl Set {
    pub(crate) const EMPTY: Set = Set([0; _]);

    pub(crate) fn contains(&self, index: u16) -> bool {
        self.0[usize::from(index / 64)] >> (index % 64) & 1 != 0
    }

    pub(crate) fn insert(&mut self, index: u16) {
        self.0[usize::from(index / 64)] |= 1 << (index % 64);
    }

    /// The lowest number that is in the set.
    pub(crate) fn lowest(&self) -> Option<u16> {
        let word = self.0.iter().position(|&word| word != 0)?;
        Some(word as u16 * 64 + self.0[word].trailing_zeros() as u16)
    }
}

/// What an instruction does to X registers beyond its operands.
pub(crate) struct Implicit {
    /// It reads the registers below this.
    pub(crate) reads: u16,
    /// It leaves the registers below this only, and a collection may happen meanwhile.
    pub(crate) keeps: Option<u16>,
    /// Then the registers below this hold terms.
    pub(crate) gives: u16,
    /// It jumps before anything else, so that all registers are as they were.
    pub(crate) fails_first: bool,
}

/// How many X registers, from the first on, an instruction reads without naming them: arguments, and what has to be a
/// term when it collects.
pub fn implied_reads(instruction: &Instruction) -> u16 {
    implicit(instruction).reads
}

/// How many X registers, from the first on, an instruction keeps for what follows and reads only if it collects.
pub(crate) fn keeps_as_read(instruction: &Instruction) -> Option<u16> {
    let Implicit { reads, keeps, .. } = implicit(instruction);
    keeps.filter(|keeps| *keeps == reads && !matches!(instruction, Instruction::CatchEnd { .. }))
}

/// The rules of an instruction.
pub(crate) fn implicit(instruction: &Instruction) -> Implicit {
    use Instruction as I;
    let (reads, keeps, gives) = match *instruction {
        I::Call { arity, .. } | I::CallExt { arity, .. } => (arity.into(), Some(0), 1),
        I::CallFun { arity } => (u16::from(arity) + 1, Some(0), 1),
        I::CallFun2 { arity, .. } => (arity.into(), Some(0), 1),
        I::Apply { arity } => (u16::from(arity) + 2, Some(0), 1),
        I::CallLast { arity, .. }
        | I::CallOnly { arity, .. }
        | I::CallExtLast { arity, .. }
        | I::CallExtOnly { arity, .. }
        | I::FuncInfo { arity, .. } => (arity.into(), None, 0),
        I::ApplyLast { arity, .. } => (u16::from(arity) + 2, None, 0),
        I::Return => (1, None, 0),
        I::Send => (2, Some(0), 1),
        I::BuildStacktrace | I::BsInitWritable => (1, Some(0), 1),
        I::RawRaise => (3, None, 1),
        I::CatchEnd { .. } => (1, Some(1), 1),
        I::TryCase { .. } => (EXCEPTION_REGISTERS, Some(3), 3),
        I::LoopRec { .. } | I::LoopRecEnd(_) | I::Wait(_) | I::WaitTimeout { .. } => (0, Some(0), 0),
        I::Allocate { live, .. }
        | I::TestHeap { live, .. }
        | I::GcBif { live, .. }
        | I::PutMap { live, .. }
        | I::BsStartMatch { live, .. }
        | I::BsGetInteger { live, .. }
        | I::BsGetFloat { live, .. }
        | I::BsGetBinary { live, .. }
        | I::BsGetTail { live, .. }
        | I::BsGetPosition { live, .. }
        | I::BsGetUtf { live, .. }
        | I::BsCreateBin { live: Some(live), .. }
        | I::BsInit { live, .. }
        | I::BsAppend { live, private: false, .. } => (live, Some(live), 0),
        I::BsMatch { ref commands, .. } => {
            // Room is made once, in front of all commands; later counts include earlier results.
            let live = commands.iter().find_map(|command| match *command {
                MatchCommand::Integer { live, .. }
                | MatchCommand::Binary { live, .. }
                | MatchCommand::GetTail { live, .. } => Some(live),
                _ => None,
            });
            (live.unwrap_or(0), live, 0)
        }
        _ => (0, None, 0),
    };
    let fails_first = matches!(instruction, I::BsMatch { .. });
    Implicit { reads, keeps, gives, fails_first }
}

/// What is known of X registers, slots of the frame and floating-point registers, as far as a function names any.
#[derive(Clone, Debug)]
pub(super) struct Registers {
    /// X registers, then slots, then floating-point registers.
    values: Vec<Value>,
    x: usize,
    y: usize,
}

impl Registers {
    /// None of which holds anything.
    pub(super) fn new(extent: Extent) -> Registers {
        let (x, y) = (usize::from(extent.x), usize::from(extent.y));
        Registers { values: vec![Value::ABSENT; x + y + usize::from(extent.floats)], x, y }
    }

    pub(super) fn values(&self) -> &[Value] {
        &self.values
    }

    pub(super) fn load(&mut self, values: &[Value]) {
        self.values.copy_from_slice(values);
    }

    fn index(&self, register: Register) -> usize {
        match register {
            Register::X(index) => usize::from(index),
            Register::Y(index) => self.x + usize::from(index),
        }
    }

    pub(super) fn value(&self, register: Register) -> Value {
        self.values[self.index(register)]
    }

    pub(super) fn get(&self, register: Register) -> Type {
        self.value(register).kind
    }

    pub(super) fn set(&mut self, register: Register, new: Value) {
        let index = self.index(register);
        self.values[index] = new;
    }

    /// More is known of the value in a register, and in all that hold the same. Gives what was known if `undo` is to
    /// restore it.
    pub(super) fn narrow(
        &mut self,
        register: Register,
        narrow: impl Fn(Type) -> Type,
        undo: Option<&mut Vec<(usize, Type)>>,
    ) {
        let index = self.index(register);
        let node = self.values[index].node;
        if !self.values[index].kind.is_present() {
            return;
        }
        let same = |(at, value): &(usize, &mut Value)| {
            *at == index || node != Value::UNNAMED && value.node == node && value.kind.is_present()
        };
        let all = self.values.iter_mut().enumerate().filter(same);
        match undo {
            Some(undo) => all.for_each(|(at, value)| {
                undo.push((at, value.kind));
                value.kind = narrow(value.kind);
            }),
            None => all.for_each(|(_, value)| value.kind = narrow(value.kind)),
        }
    }

    pub(super) fn restore(&mut self, undo: &[(usize, Type)]) {
        for &(at, kind) in undo {
            self.values[at].kind = kind;
        }
    }

    /// The first `count` X registers.
    pub(super) fn arguments(&self, count: u16) -> &[Value] {
        &self.values[..usize::from(count)]
    }

    /// The first `count` X registers hold terms.
    pub(super) fn give(&mut self, count: u16, values: &mut Values) {
        self.values[..usize::from(count)].fill_with(|| values.name(Type::TERM));
    }

    /// Only the first `count` X registers keep what they hold.
    pub(super) fn keep(&mut self, count: u16) {
        self.values[usize::from(count)..self.x].fill(Value::ABSENT);
    }

    /// A frame begins: no slot holds anything.
    pub(super) fn clear_slots(&mut self) {
        self.values[self.x..self.x + self.y].fill(Value::ABSENT);
    }

    /// The lowest slots go, the next `remaining` take their places.
    pub(super) fn trim(&mut self, slots: u16, remaining: u16) {
        let first = self.x + usize::from(slots);
        self.values.copy_within(first..first + usize::from(remaining), self.x);
        self.values[self.x + usize::from(remaining)..self.x + self.y].fill(Value::ABSENT);
    }

    /// Whether the first `slots` slots hold terms.
    pub(super) fn holds_slots(&self, slots: u16) -> bool {
        self.slots_in(&self.values, slots)
    }

    /// Whether they do in other values for the same registers.
    pub(super) fn slots_in(&self, values: &[Value], slots: u16) -> bool {
        values[self.x..self.x + usize::from(slots)].iter().all(|slot| slot.kind.is_present())
    }

    pub(super) fn has_float(&self, index: u16) -> bool {
        self.values[self.x + self.y + usize::from(index)].kind.is_present()
    }

    pub(super) fn set_float(&mut self, index: u16) {
        let first = self.x + self.y;
        self.values[first + usize::from(index)] = Value::unnamed(Type::FLOAT);
    }

    /// Another process may have used the floating-point registers.
    pub(super) fn lose_floats(&mut self) {
        self.values[self.x + self.y..].fill(Value::ABSENT);
    }

    /// No value is one that only registers refer to.
    pub(super) fn publish(&mut self) {
        self.values.iter_mut().for_each(|value| value.kind = value.kind.not_fresh());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets() {
        let mut set = Set::EMPTY;
        assert_eq!(set.lowest(), None);
        set.insert(900);
        set.insert(70);
        assert_eq!(set.lowest(), Some(70));
        assert!(set.contains(900) && !set.contains(901));
    }

    #[test]
    fn a_frame_is_trimmed() {
        let mut registers = Registers::new(Extent { x: 4, y: 5, floats: 1, receives: false });
        for slot in 0..5 {
            registers.set(Register::Y(slot), Value::unnamed(Type::tuple_of(slot.into())));
        }
        registers.set_float(0);
        registers.trim(2, 3);
        assert_eq!(registers.get(Register::Y(0)), Type::tuple_of(2));
        assert!(registers.holds_slots(3) && !registers.holds_slots(4));
        assert!(registers.has_float(0));
        registers.give(3, &mut Values::new(std::iter::empty()));
        registers.keep(1);
        assert!(registers.get(Register::X(0)).is_present() && !registers.get(Register::X(1)).is_present());
    }
}
