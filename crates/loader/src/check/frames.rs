//! What instructions do to frames, catches and calls.

use super::Checker;
use super::catches::Catches;
use super::registers::Set;
use super::state::{Frame, State};
use super::types::Type;
use super::values::Value;
use crate::decode::EXCEPTION_REGISTERS;
use crate::error::Result;
use crate::instruction::{HeapNeed, Instruction, Label, Register};
use crate::module::Function;

impl Checker<'_> {
    /// Whether the instruction may raise, so that the stack is searched for a handler.
    pub(super) fn may_raise(&self, instruction: &Instruction) -> bool {
        use Instruction as I;
        match instruction {
            I::Bif { fail: Label::NONE, bif, .. } => self.guard_of(*bif).is_none_or(|guard| guard.fails),
            I::GcBif { fail, .. }
            | I::PutMap { fail, .. }
            | I::BsStartMatch { fail, .. }
            | I::BsCreateBin { fail, .. }
            | I::BsInit { fail, .. }
            | I::BsAppend { fail, .. }
            | I::BsPut { fail, .. }
            | I::BsAdd { fail, .. } => *fail == Label::NONE,
            I::BadMatch(_)
            | I::IfEnd
            | I::CaseEnd(_)
            | I::BadRecord(_)
            | I::TryCaseEnd(_)
            | I::Raise { .. }
            | I::RawRaise
            | I::FloatConvert { .. }
            | I::FloatArithmetic { .. }
            | I::WaitTimeout { .. }
            | I::Unsupported { .. } => true,
            _ => false,
        }
    }

    /// Applies what an instruction does to the frame. True if execution does not go on behind it.
    pub(super) fn frame(
        &mut self,
        function: &Function,
        index: usize,
        instruction: &Instruction,
        state: &mut State,
    ) -> Result<bool> {
        use Instruction as I;
        match *instruction {
            I::Allocate { slots, .. } => {
                self.expect_frame(index, state, Frame::Absent)?;
                state.place.frame = Frame::Slots(slots);
                state.registers.clear_slots();
            }
            I::Deallocate { slots } => {
                self.expect_frame(index, state, Frame::Slots(slots))?;
                state.place.frame = Frame::Absent;
            }
            I::Trim { slots, remaining } => {
                self.expect_frame(index, state, Frame::Slots(slots + remaining))?;
                state.place.frame = Frame::Slots(remaining);
                state.registers.trim(slots, remaining);
            }
            I::CallExt { target, .. } if self.imports[target.0 as usize].never_returns => return Ok(true),
            I::Call { .. } | I::CallExt { .. } | I::CallFun { .. } | I::CallFun2 { .. } | I::Apply { .. } => {
                self.need_frame(index, state)?;
            }
            I::CallLast { deallocate, .. } | I::CallExtLast { deallocate, .. } | I::ApplyLast { deallocate, .. } => {
                self.expect_frame(index, state, Frame::Slots(deallocate))?;
            }
            I::CallOnly { .. } | I::CallExtOnly { .. } | I::Return | I::FuncInfo { .. } => {
                self.expect_frame(index, state, Frame::Absent)?;
            }
            I::Catch { slot, handler } | I::Try { slot, handler } => {
                if slot >= state.slots() || self.catches.occupied(state.place.catches).contains(slot) {
                    return Err(self.error(index, format!("slot {slot} is not free for a catch")));
                }
                state.place.catches = self.catches.push(state.place.catches, slot, handler);
                state.registers.set(Register::Y(slot), Value::unnamed(Type::TERM));
                self.reach_handlers(function, index, state)?;
                self.check_handler(index, instruction)?;
            }
            I::CatchEnd { slot } | I::TryEnd { slot } | I::TryCase { slot } => {
                match self.catches.pop(state.place.catches) {
                    Some((innermost, _, outer)) if innermost == slot => state.place.catches = outer,
                    _ => {
                        let problem = format!("slot {slot} is not the innermost catch");
                        return Err(self.error(index, problem));
                    }
                }
            }
            _ => {}
        }
        Ok(instruction.ends_block())
    }

    /// Handlers of active catches see slots as the protected code left them.
    pub(super) fn tell_handlers(
        &mut self,
        function: &Function,
        index: usize,
        instruction: &Instruction,
        state: &mut State,
    ) -> Result<()> {
        if state.place.catches == Catches::NONE {
            return Ok(());
        }
        let mut writes = false;
        instruction.for_each_destination(|destination| writes |= matches!(destination, Register::Y(_)));
        if writes { self.reach_handlers(function, index, state) } else { Ok(()) }
    }

    /// An exception may come to any active catch.
    fn reach_handlers(&mut self, function: &Function, index: usize, state: &State) -> Result<()> {
        let mut raised = state.clone();
        raised.registers.keep(0);
        raised.registers.give(EXCEPTION_REGISTERS, &mut self.values);
        raised.registers.lose_floats();
        raised.publish();
        raised.place.building = false;
        raised.place.looking = false;
        raised.place.room = HeapNeed::default();
        while let Some((_, handler, outer)) = self.catches.pop(raised.place.catches) {
            self.reach(function, index, handler, &raised)?;
            raised.place.catches = outer;
        }
        Ok(())
    }

    fn need_frame(&self, index: usize, state: &State) -> Result<()> {
        match state.place.frame {
            Frame::Slots(_) => Ok(()),
            other => Err(self.error(index, format!("a call with {other}"))),
        }
    }

    /// The frame must be this one, and no catch may be active, because it is about to change.
    fn expect_frame(&self, index: usize, state: &State, frame: Frame) -> Result<()> {
        if state.place.frame != frame {
            let problem = format!("{frame} is wanted and there is {}", state.place.frame);
            return Err(self.error(index, problem));
        }
        if state.place.catches != Catches::NONE {
            return Err(self.error(index, "the frame changes while a catch is active"));
        }
        Ok(())
    }

    /// Checks the target of a local call, and that it knows of match contexts among its arguments.
    pub(super) fn check_call(&mut self, index: usize, instruction: &Instruction, state: &State) -> Result<()> {
        let (Instruction::Call { arity, target }
        | Instruction::CallLast { arity, target, .. }
        | Instruction::CallOnly { arity, target }) = *instruction
        else {
            return Ok(());
        };
        let Some(called) = self.layout.entry(&self.decoded.labels, target) else {
            return Err(self.error(index, format!("label {} is not a function's entry", target.0)));
        };
        let function = &self.layout.functions[called];
        if function.arity != arity {
            return Err(self.error(index, format!("a function of {} arguments gets {arity}", function.arity)));
        }
        for (argument, known) in state.registers.arguments(arity.into()).iter().enumerate() {
            if known.kind.may_be(Type::CONTEXT) {
                self.pass_context(called, argument as u16);
            }
            self.values.pass(called, argument as u16, *known);
        }
        Ok(())
    }

    /// The function gets a match context as this argument.
    fn pass_context(&mut self, called: usize, argument: u16) {
        let known = self.contexts.entry(called).or_insert(Set::EMPTY);
        if !known.contains(argument) {
            known.insert(argument);
            if called < self.walked && !self.again.contains(&called) {
                self.again.push(called);
            }
        }
    }

    /// A handler begins by giving its slot back.
    fn check_handler(&self, index: usize, instruction: &Instruction) -> Result<()> {
        let (Instruction::Catch { handler, .. } | Instruction::Try { handler, .. }) = *instruction else {
            return Ok(());
        };
        let first = self.decoded.firsts[handler.0 as usize] as usize;
        let first = self.decoded.code.get(first);
        let matches = match (instruction, first) {
            (Instruction::Catch { slot, .. }, Some(Instruction::CatchEnd { slot: end }))
            | (Instruction::Try { slot, .. }, Some(Instruction::TryCase { slot: end })) => slot == end,
            _ => false,
        };
        if matches {
            Ok(())
        } else {
            Err(self.error(index, format!("no handler of this catch at label {}", handler.0)))
        }
    }
}
