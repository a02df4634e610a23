//! One instruction of the walk.

use super::Checker;
use super::effects::{Room, demand, keeps_private};
use super::guards::Unproven;
use super::messages::looks_only;
use super::registers::{Implicit, implicit};
use super::state::{Frame, State};
use super::types::Type;
use super::values::Value;
use crate::error::Result;
use crate::instruction::{Comparison, Instruction, Register, Source};
use crate::module::Function;

/// Whether it only compares a word with a known one. Compilers let this read a register that a failed guard function
/// left without a term, where nothing depends on what comes of it.
fn compares_with_immediate(instruction: &Instruction) -> bool {
    let immediate = |source: &Source| matches!(source, Source::Small(_) | Source::Atom(_) | Source::Nil);
    match instruction {
        Instruction::Compare {
            comparison: Comparison::ExactlyEqual | Comparison::NotExactlyEqual,
            left,
            right,
            ..
        } => immediate(left) || immediate(right),
        _ => false,
    }
}

/// Whether the X registers that it reads without naming them go to where only terms are known. A function of the same
/// module knows of contexts, and a collection keeps whatever it finds.
fn publishes_arguments(instruction: &Instruction) -> bool {
    use Instruction as I;
    matches!(
        instruction,
        I::CallExt { .. }
            | I::CallExtLast { .. }
            | I::CallExtOnly { .. }
            | I::CallFun { .. }
            | I::CallFun2 { .. }
            | I::Apply { .. }
            | I::ApplyLast { .. }
            | I::Return
            | I::FuncInfo { .. }
            | I::Send
            | I::BsInitWritable
            | I::BuildStacktrace
            | I::RawRaise
            | I::CatchEnd { .. }
    )
}

/// Whether other processes may run meanwhile.
fn lets_others_run(instruction: &Instruction) -> bool {
    use Instruction as I;
    matches!(
        instruction,
        I::Call { .. }
            | I::CallExt { .. }
            | I::CallFun { .. }
            | I::CallFun2 { .. }
            | I::Apply { .. }
            | I::LoopRecEnd(_)
            | I::Wait(_)
            | I::WaitTimeout { .. }
    )
}

impl Checker<'_> {
    /// Checks an instruction, and applies it to the state. True if execution does not go on behind it.
    pub(super) fn step(
        &mut self,
        function: &Function,
        index: usize,
        instruction: &Instruction,
        state: &mut State,
    ) -> Result<bool> {
        let effect = implicit(instruction);
        self.check_slots(index, instruction, state)?;
        self.check_reads(index, instruction, &effect, state)?;
        self.check_floats(index, instruction, state)?;
        if self.may_raise(instruction) && !state.whole() {
            let unset = self.unset_slots(index, state)?;
            self.unproven.push(Unproven { index: index as u32, unset, value: Value::ABSENT });
        }
        self.prove(index, instruction, state)?;
        if !state.place.looking && matches!(instruction, Instruction::LoopRecEnd(_)) {
            self.unproven.push(Unproven { index: index as u32, unset: Vec::new(), value: Value::ABSENT });
        }
        state.place.looking = state.place.looking && looks_only(instruction);
        if !keeps_private(instruction) {
            state.publish();
            if !matches!(Room::of(instruction, || true), Room::Takes(_)) {
                state.place.building = false;
            }
        }
        if matches!(instruction, Instruction::BsPut { .. }) && !std::mem::take(&mut state.place.building) {
            return Err(self.error(index, "no bitstring was started for this segment"));
        }
        if effect.fails_first {
            self.targets(function, index, instruction, state)?;
        }
        // The types of some results depend on the type of an argument: X0 for calls (`setelement`), the first argument
        // for built-in functions (`element`).
        let asked = match instruction {
            Instruction::Bif { arguments, .. } | Instruction::GcBif { arguments, .. } if !arguments.is_empty() => {
                state.type_of(arguments[0], &self.literals)
            }
            _ => state.registers.get(Register::X(0)),
        };
        self.check_call(index, instruction, state)?;
        if let Some(kept) = effect.keeps {
            if !state.whole() {
                return Err(self.error(index, "a slot of the frame holds no term"));
            }
            state.registers.keep(kept);
            if lets_others_run(instruction) {
                state.registers.lose_floats();
            }
        }
        let ends = self.frame(function, index, instruction, state)?;
        let room = self.room(index, instruction, state)?;
        if !effect.fails_first {
            self.targets(function, index, instruction, state)?;
        }
        if ends {
            return Ok(true);
        }
        state.place.room = room;
        if effect.gives > 0 {
            state.registers.give(effect.gives, &mut self.values);
        }
        self.results(index, instruction, asked, state)?;
        self.tell_handlers(function, index, instruction, state)?;
        Ok(false)
    }

    /// Checks that an instruction reads registers that hold terms: those it names, and the X
    /// registers below `effect.reads`.
    fn check_reads(&self, index: usize, instruction: &Instruction, effect: &Implicit, state: &State) -> Result<()> {
        let mut bad = None;
        let arguments = state.registers.arguments(effect.reads);
        if let Some(gap) = arguments.iter().position(|argument| !argument.kind.is_present()) {
            bad = Some(Source::X(gap as u16));
        }
        let mut context = None;
        if publishes_arguments(instruction) {
            context = arguments
                .iter()
                .position(|argument| argument.kind.may_be(Type::CONTEXT))
                .map(|at| Source::X(at as u16));
        }
        let compares_words = compares_with_immediate(instruction);
        instruction.for_each_source(|source| {
            let register = match source {
                Source::X(index) => Register::X(index),
                Source::Y(index) => Register::Y(index),
                _ => return,
            };
            let known = state.registers.get(register);
            if !(known.is_present() || compares_words && matches!(source, Source::X(_))) {
                bad = Some(source);
            }
            if known.may_be(Type::CONTEXT) && !self.takes_context(instruction, source) {
                context = Some(source);
            }
        });
        match (bad, context) {
            (Some(Source::Y(slot)), _) => Err(self.error(index, format!("slot {slot} holds no term"))),
            (Some(Source::X(register)), _) => Err(self.error(index, format!("X register {register} holds no term"))),
            (_, Some(Source::Y(slot))) => {
                Err(self.error(index, format!("a match context, in slot {slot}, is used as a term")))
            }
            (_, Some(Source::X(register))) => {
                Err(self.error(index, format!("a match context, in X register {register}, is used as a term")))
            }
            _ => Ok(()),
        }
    }

    /// Whether a match context may stand where the instruction names this register.
    fn takes_context(&self, instruction: &Instruction, source: Source) -> bool {
        use Instruction as I;
        match instruction {
            I::Move { .. } | I::Swap { .. } => true,
            I::BsStartMatch { value, .. } => *value == source,
            // The size of what is left.
            I::GcBif { bif, .. } => self.guard_of(*bif).is_some_and(|guard| guard.arguments == Type::BITS),
            I::BsGetInteger { context, .. }
            | I::BsGetFloat { context, .. }
            | I::BsGetBinary { context, .. }
            | I::BsSkipBits { context, .. }
            | I::BsTestTail { context, .. }
            | I::BsTestUnit { context, .. }
            | I::BsMatchString { context, .. }
            | I::BsGetTail { context, .. }
            | I::BsGetPosition { context, .. }
            | I::BsSetPosition { context, .. }
            | I::BsGetUtf { context, .. }
            | I::BsMatch { context, .. } => Source::from(*context) == source,
            _ => false,
        }
    }

    /// The slots of the frame that hold no term.
    fn unset_slots(&self, index: usize, state: &State) -> Result<Vec<u16>> {
        match state.place.frame {
            Frame::Slots(slots) => {
                Ok((0..slots).filter(|slot| !state.registers.get(Register::Y(*slot)).is_present()).collect())
            }
            _ if state.whole() => Ok(Vec::new()),
            _ => Err(self.error(index, "a slot of the frame holds no term")),
        }
    }

    /// Checks that the slots an instruction names are in the frame and are no catch's.
    fn check_slots(&self, index: usize, instruction: &Instruction, state: &State) -> Result<()> {
        let frame = state.slots();
        let occupied = self.catches.occupied(state.place.catches);
        let mut bad = None;
        let mut slot = |slot: u16| {
            if slot >= frame || occupied.contains(slot) {
                bad = Some(slot);
            }
        };
        instruction.for_each_source(|source| {
            if let Source::Y(index) = source {
                slot(index);
            }
        });
        let mut writes = false;
        instruction.for_each_destination(|destination| {
            if let Register::Y(index) = destination {
                slot(index);
                writes = true;
            }
        });
        match bad {
            None if writes && matches!(state.place.frame, Frame::AtLeast { .. }) => {
                Err(self.error(index, format!("a slot is written with {}", state.place.frame)))
            }
            None => Ok(()),
            Some(slot) if slot < frame => Err(self.error(index, format!("slot {slot} belongs to a catch"))),
            Some(slot) => Err(self.error(index, format!("slot {slot} is used with {}", state.place.frame))),
        }
    }

    /// Checks that floating-point registers are read where they hold something, and notes those that are written.
    fn check_floats(&self, index: usize, instruction: &Instruction, state: &mut State) -> Result<()> {
        let (read, written): (&[u16], Option<u16>) = match instruction {
            Instruction::FloatLoad { destination, .. } | Instruction::FloatConvert { destination, .. } => {
                (&[], Some(*destination))
            }
            Instruction::FloatStore { source, .. } => (&[*source], None),
            Instruction::FloatNegate { source, destination } => (&[*source], Some(*destination)),
            Instruction::FloatArithmetic { left, right, destination, .. } => (&[*left, *right], Some(*destination)),
            _ => return Ok(()),
        };
        if let Some(bad) = read.iter().find(|register| !state.registers.has_float(**register)) {
            return Err(self.error(index, format!("floating-point register {bad} holds no value")));
        }
        if let Some(register) = written {
            state.registers.set_float(register);
        }
        Ok(())
    }

    /// Looks whether the values that an instruction looks into are what they have to be; behind it they are.
    fn prove(&mut self, index: usize, instruction: &Instruction, state: &mut State) -> Result<()> {
        let Some((value, shape)) = demand(instruction) else {
            return Ok(());
        };
        let asked = state.value_of(value, &self.literals);
        let known = asked.kind;
        if !known.has(shape) {
            let unset = self.unset_slots(index, state)?;
            self.unproven.push(Unproven { index: index as u32, unset, value: asked });
            state.refine(value, Type::of_shape(shape));
        }
        if let Instruction::SetTupleElement { value: new, .. } = instruction {
            if !known.is_fresh() {
                return Err(self.error(index, "only a new tuple can be written to"));
            }
            if state.type_of(*new, &self.literals).is_fresh() {
                return Err(self.error(index, "a tuple would become an element of itself"));
            }
        }
        Ok(())
    }
}
