//! The check that code keeps to its function, its stack frame and the registers that hold terms.
//!
//! A forward walk over each function carries the size of the frame, the slots that `catch` and
//! `try` occupy, and the X registers and slots that hold terms. Where ways with different frames
//! meet, only the slots that all of them have are known from there on, and only code that leaves
//! the frame alone and ends by raising is accepted: compilers share such endings. Code that no way
//! leads to is not looked at.

use std::borrow::Cow;
use std::fmt;

use crate::catches::Catches;
use crate::decode::{Decoded, EXCEPTION_REGISTERS};
use crate::error::{LoadError, Result};
use crate::instruction::{Comparison, Instruction, Label, Register, Source};
use crate::layout::{self, Layout};
use crate::module::{Function, Import, Module};
use crate::registers::{Registers, Set, implicit};

/// Checks all functions.
pub(crate) fn check(decoded: &Decoded, layout: &Layout, atoms: &[Box<str>], imports: &[Import]) -> Result<()> {
    let mut checker = Checker {
        decoded,
        layout,
        never_returns: imports.iter().map(|import| import.never_returns(atoms)).collect(),
        states: vec![None; decoded.labels.len()],
        catches: Catches::default(),
        pending: Vec::new(),
        budget: decoded.code.len() * MOST_VISITS,
    };
    layout.functions.iter().try_for_each(|function| checker.function(function))
}

/// What is known of the frame in front of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Frame {
    /// There is none.
    Absent,
    /// It has this many slots.
    Slots(u16),
    /// It depends on the way taken; there are at least so many slots that no catch occupies.
    AtLeast {
        slots: u16,
        /// Every slot holds a term, whichever way was taken.
        whole: bool,
    },
}

impl fmt::Display for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Frame::Absent => f.write_str("no frame"),
            Frame::Slots(slots) => write!(f, "a frame of {slots}"),
            Frame::AtLeast { slots, .. } => {
                write!(f, "a frame of at least {slots} that depends on the way taken")
            }
        }
    }
}

/// What is known in front of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct State {
    frame: Frame,
    /// Active `catch` and `try`, innermost first: an index into [`Catches`]. Empty if the frame
    /// depends on the way.
    catches: u32,
    registers: Registers,
}

impl State {
    /// In front of a function of `arity` arguments.
    fn entry(arity: u8) -> State {
        State {
            frame: Frame::Absent,
            catches: Catches::NONE,
            registers: Registers { x: Set::below(arity.into()), y: Set::EMPTY },
        }
    }

    /// Whether every slot of the frame holds a term, as a collection wants.
    fn whole(&self) -> bool {
        match self.frame {
            Frame::Absent => true,
            Frame::Slots(slots) => self.registers.y.first_gap() >= slots,
            Frame::AtLeast { whole, .. } => whole,
        }
    }

    /// Number of slots that may be named.
    fn slots(&self) -> u16 {
        match self.frame {
            Frame::Slots(slots) | Frame::AtLeast { slots, .. } => slots,
            Frame::Absent => 0,
        }
    }
}

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

struct Checker<'a> {
    decoded: &'a Decoded,
    layout: &'a Layout,
    /// For each import, whether it always raises.
    never_returns: Vec<bool>,
    /// What is known at each label that has been reached.
    states: Vec<Option<State>>,
    catches: Catches,
    /// Labels that have been reached and are to be walked from.
    pending: Vec<Label>,
    /// How many instructions may still be walked over.
    budget: usize,
}

/// How often an instruction is walked over on average, at most. Compiled code stays below two;
/// more is a trap for the loader.
const MOST_VISITS: usize = 16;

impl Checker<'_> {
    fn function(&mut self, function: &Function) -> Result<()> {
        self.catches = Catches::default();
        let start = function.start as usize;
        self.reach(function, start, function.entry, &State::entry(function.arity))?;
        while let Some(label) = self.pending.pop() {
            self.walk(function, label)?;
        }
        Ok(())
    }

    fn error(&self, index: usize, problem: impl Into<Cow<'static, str>>) -> LoadError {
        layout::error(self.decoded, index, problem)
    }

    /// Notes that execution can get to `label` with `state`, coming from the instruction at
    /// `index`.
    fn reach(&mut self, function: &Function, index: usize, label: Label, state: &State) -> Result<()> {
        let place = self.decoded.labels[label.0 as usize];
        if place == Module::NO_PLACE {
            return Err(self.error(index, format!("label {} is not defined", label.0)));
        }
        if place < function.start || place >= function.end {
            return Err(self.error(index, format!("label {} is in another function", label.0)));
        }
        if self.merge(label, state) {
            self.pending.push(label);
        }
        Ok(())
    }

    /// True if what is known at the label changes.
    fn merge(&mut self, label: Label, state: &State) -> bool {
        let Some(known) = &self.states[label.0 as usize] else {
            self.states[label.0 as usize] = Some(*state);
            return true;
        };
        let mut merged = *known;
        merged.registers.x.intersect(&state.registers.x);
        merged.registers.y.intersect(&state.registers.y);
        if (known.frame, known.catches) != (state.frame, state.catches) {
            let slots = self.free_slots(known).min(self.free_slots(state));
            let whole = known.whole() && state.whole();
            merged.frame = Frame::AtLeast { slots, whole };
            merged.catches = Catches::NONE;
        }
        let changed = merged != *known;
        self.states[label.0 as usize] = Some(merged);
        changed
    }

    /// How many slots, from the lowest on, no catch occupies.
    fn free_slots(&self, state: &State) -> u16 {
        let taken = self.catches.occupied(state.catches).lowest();
        state.slots().min(taken.unwrap_or(u16::MAX))
    }

    fn walk(&mut self, function: &Function, label: Label) -> Result<()> {
        let Some(mut state) = self.states[label.0 as usize] else {
            return Ok(());
        };
        let first = self.decoded.labels[label.0 as usize] as usize;
        let decoded = self.decoded;
        for index in first..function.end as usize {
            self.budget = self
                .budget
                .checked_sub(1)
                .ok_or_else(|| self.error(index, "the ways through the code are too entangled"))?;
            let instruction = &decoded.code[index];
            if let Instruction::Label(here) = *instruction {
                if index != first {
                    if !self.merge(here, &state) {
                        return Ok(());
                    }
                    state = self.states[here.0 as usize].unwrap_or(state);
                }
                continue;
            }
            self.check_slots(index, instruction, &state)?;
            let effect = implicit(instruction);
            let before = state.registers.x;
            self.check_reads(index, instruction, effect.reads, &state)?;
            if let Some(kept) = effect.keeps {
                if !state.whole() {
                    return Err(self.error(index, "a slot of the frame holds no term"));
                }
                state.registers.x.keep_below(kept);
            }
            let ends = self.step(function, index, instruction, &mut state)?;
            let mut failed = state;
            if effect.fails_first {
                failed.registers.x = before;
            }
            if let Instruction::WaitTimeout { fail, time: Source::X(register) } = *instruction
                && self.decoded.firsts[fail.0 as usize] as usize == index
            {
                // Woken by a message, it is run again with whatever the register then holds, and
                // does not look at it because its timer is running.
                failed.registers.x.insert(register);
            }
            let mut result = Ok(());
            instruction.for_each_target(|target| {
                if result.is_ok() {
                    result = self.reach(function, index, target, &failed);
                }
            });
            result?;
            if ends {
                return Ok(());
            }
            state.registers.x.unite(&Set::below(effect.gives));
            instruction.for_each_destination(|destination| state.registers.write(destination));
        }
        Err(self.error(function.end as usize - 1, "execution falls off the end of a function"))
    }

    /// Checks that an instruction reads registers that hold terms: those it names, and the X
    /// registers below `arguments`.
    fn check_reads(&self, index: usize, instruction: &Instruction, arguments: u16, state: &State) -> Result<()> {
        let gap = state.registers.x.first_gap();
        let mut bad = (gap < arguments).then_some(Source::X(gap));
        let compares_words = compares_with_immediate(instruction);
        instruction.for_each_source(|source| {
            if !(state.registers.has(source) || compares_words && matches!(source, Source::X(_))) {
                bad = Some(source);
            }
        });
        match bad {
            Some(Source::Y(slot)) => Err(self.error(index, format!("slot {slot} holds no term"))),
            Some(Source::X(register)) => Err(self.error(index, format!("X register {register} holds no term"))),
            _ => Ok(()),
        }
    }

    /// Checks that the slots an instruction names are in the frame and are no catch's.
    fn check_slots(&self, index: usize, instruction: &Instruction, state: &State) -> Result<()> {
        let frame = state.slots();
        let occupied = self.catches.occupied(state.catches);
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
        instruction.for_each_destination(|destination| {
            if let Register::Y(index) = destination {
                slot(index);
            }
        });
        match bad {
            None => Ok(()),
            Some(slot) if slot < frame => Err(self.error(index, format!("slot {slot} belongs to a catch"))),
            Some(slot) => Err(self.error(index, format!("slot {slot} is used with {}", state.frame))),
        }
    }

    /// Applies an instruction to the state. True if execution does not go on behind it.
    fn step(
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
                state.frame = Frame::Slots(slots);
                state.registers.y = Set::EMPTY;
            }
            I::Deallocate { slots } => {
                self.expect_frame(index, state, Frame::Slots(slots))?;
                state.frame = Frame::Absent;
            }
            I::Trim { slots, remaining } => {
                self.expect_frame(index, state, Frame::Slots(slots + remaining))?;
                state.frame = Frame::Slots(remaining);
                state.registers.y = state.registers.y.shifted_down(slots);
            }
            I::Call { arity, target } => {
                self.check_call(index, arity, target)?;
                self.need_frame(index, state)?;
            }
            I::CallExt { target, .. } if self.never_returns[target.0 as usize] => return Ok(true),
            I::CallExt { .. } | I::CallFun { .. } | I::CallFun2 { .. } | I::Apply { .. } => {
                self.need_frame(index, state)?;
            }
            I::CallLast { arity, target, deallocate } => {
                self.check_call(index, arity, target)?;
                self.expect_frame(index, state, Frame::Slots(deallocate))?;
            }
            I::CallExtLast { deallocate, .. } | I::ApplyLast { deallocate, .. } => {
                self.expect_frame(index, state, Frame::Slots(deallocate))?;
            }
            I::CallOnly { arity, target } => {
                self.check_call(index, arity, target)?;
                self.expect_frame(index, state, Frame::Absent)?;
            }
            I::CallExtOnly { .. } | I::Return | I::FuncInfo { .. } => {
                self.expect_frame(index, state, Frame::Absent)?;
            }
            I::Catch { slot, handler } | I::Try { slot, handler } => {
                if slot >= state.slots() || self.catches.occupied(state.catches).contains(slot) {
                    return Err(self.error(index, format!("slot {slot} is not free for a catch")));
                }
                state.catches = self.catches.push(state.catches, slot);
                state.registers.y.insert(slot);
                let mut raised = *state;
                raised.registers.x = Set::below(EXCEPTION_REGISTERS);
                self.reach(function, index, handler, &raised)?;
                self.check_handler(index, instruction)?;
            }
            I::CatchEnd { slot } | I::TryEnd { slot } | I::TryCase { slot } => match self.catches.pop(state.catches) {
                Some((innermost, outer)) if innermost == slot => state.catches = outer,
                _ => {
                    let problem = format!("slot {slot} is not the innermost catch");
                    return Err(self.error(index, problem));
                }
            },
            _ => {}
        }
        Ok(instruction.ends_block())
    }

    fn need_frame(&self, index: usize, state: &State) -> Result<()> {
        match state.frame {
            Frame::Slots(_) => Ok(()),
            other => Err(self.error(index, format!("a call with {other}"))),
        }
    }

    /// The frame must be this one, and no catch may be active, because it is about to change.
    fn expect_frame(&self, index: usize, state: &State, frame: Frame) -> Result<()> {
        if state.frame != frame {
            let problem = format!("{frame} is wanted and there is {}", state.frame);
            return Err(self.error(index, problem));
        }
        if state.catches != Catches::NONE {
            return Err(self.error(index, "the frame changes while a catch is active"));
        }
        Ok(())
    }

    fn check_call(&self, index: usize, arity: u8, target: Label) -> Result<()> {
        match self.layout.entry(&self.decoded.labels, target) {
            Some(function) if function.arity == arity => Ok(()),
            Some(function) => {
                Err(self.error(index, format!("a function of {} arguments gets {arity}", function.arity)))
            }
            None => Err(self.error(index, format!("label {} is not a function's entry", target.0))),
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
