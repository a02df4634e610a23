//! The check that code keeps to its stack frame and to its function.
//!
//! A forward walk over each function carries the size of the frame and the slots that `catch` and
//! `try` occupy. Where ways with different ones meet, only the slots that all of them have are
//! known from there on, and only code that leaves the frame alone and ends by raising is accepted:
//! compilers share such endings. Code that no way leads to is not looked at.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;

use crate::decode::{Decoded, REGISTERS};
use crate::error::{LoadError, Result};
use crate::instruction::{Instruction, Label, Register, Source};
use crate::layout::{self, Layout};
use crate::module::{Function, Import, Module};

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
    /// It depends on the way taken; there are at least this many slots that hold terms.
    AtLeast(u16),
}

impl fmt::Display for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Frame::Absent => f.write_str("no frame"),
            Frame::Slots(slots) => write!(f, "a frame of {slots}"),
            Frame::AtLeast(slots) => {
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
}

impl State {
    const ENTRY: State = State { frame: Frame::Absent, catches: 0 };

    /// Number of slots that may be named.
    fn slots(self) -> u16 {
        match self.frame {
            Frame::Slots(slots) | Frame::AtLeast(slots) => slots,
            Frame::Absent => 0,
        }
    }
}

/// Stacks of active `catch` and `try`. Equal stacks have equal indices; 0 is the empty one.
struct Catches {
    nodes: Vec<CatchNode>,
    known: HashMap<(u16, u32), u32>,
}

struct CatchNode {
    slot: u16,
    outer: u32,
    /// One bit for each slot that is occupied here or further out.
    occupied: [u64; REGISTERS as usize / 64],
}

impl Default for Catches {
    fn default() -> Self {
        let empty = CatchNode { slot: 0, outer: 0, occupied: [0; _] };
        Catches { nodes: vec![empty], known: HashMap::new() }
    }
}

impl Catches {
    fn occupies(&self, stack: u32, slot: u16) -> bool {
        let word = self.nodes[stack as usize].occupied[usize::from(slot / 64)];
        word >> (slot % 64) & 1 != 0
    }

    /// How many slots, from the lowest on, hold terms.
    fn free_slots(&self, state: State) -> u16 {
        let occupied = &self.nodes[state.catches as usize].occupied;
        let lowest = occupied
            .iter()
            .position(|&word| word != 0)
            .map(|word| word as u16 * 64 + occupied[word].trailing_zeros() as u16);
        state.slots().min(lowest.unwrap_or(u16::MAX))
    }

    fn push(&mut self, outer: u32, slot: u16) -> u32 {
        if let Some(&stack) = self.known.get(&(slot, outer)) {
            return stack;
        }
        let mut occupied = self.nodes[outer as usize].occupied;
        occupied[usize::from(slot / 64)] |= 1 << (slot % 64);
        let stack = self.nodes.len() as u32;
        self.nodes.push(CatchNode { slot, outer, occupied });
        self.known.insert((slot, outer), stack);
        stack
    }

    /// The innermost slot and the stack without it.
    fn pop(&self, stack: u32) -> Option<(u16, u32)> {
        let node = &self.nodes[stack as usize];
        (stack != 0).then_some((node.slot, node.outer))
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
        self.reach(function, start, function.entry, State::ENTRY)?;
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
    fn reach(&mut self, function: &Function, index: usize, label: Label, state: State) -> Result<()> {
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
    fn merge(&mut self, label: Label, state: State) -> bool {
        let known = &mut self.states[label.0 as usize];
        let merged = match *known {
            Some(other) if other != state => {
                let slots = self.catches.free_slots(state).min(self.catches.free_slots(other));
                State { frame: Frame::AtLeast(slots), catches: 0 }
            }
            _ => state,
        };
        known.replace(merged) != Some(merged)
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
                    if !self.merge(here, state) {
                        return Ok(());
                    }
                    state = self.states[here.0 as usize].unwrap_or(state);
                }
                continue;
            }
            self.check_slots(index, instruction, state)?;
            let ends = self.step(function, index, instruction, &mut state)?;
            let mut result = Ok(());
            instruction.for_each_target(|target| {
                if result.is_ok() {
                    result = self.reach(function, index, target, state);
                }
            });
            result?;
            if ends {
                return Ok(());
            }
        }
        Err(self.error(function.end as usize - 1, "execution falls off the end of a function"))
    }

    /// Checks that the slots an instruction names are in the frame and hold terms.
    fn check_slots(&self, index: usize, instruction: &Instruction, state: State) -> Result<()> {
        let frame = state.slots();
        let mut bad = None;
        let mut slot = |slot: u16| {
            if slot >= frame || self.catches.occupies(state.catches, slot) {
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
                self.expect_frame(index, *state, Frame::Absent)?;
                state.frame = Frame::Slots(slots);
            }
            I::Deallocate { slots } => {
                self.expect_frame(index, *state, Frame::Slots(slots))?;
                state.frame = Frame::Absent;
            }
            I::Trim { slots, remaining } => {
                self.expect_frame(index, *state, Frame::Slots(slots + remaining))?;
                state.frame = Frame::Slots(remaining);
            }
            I::Call { arity, target } => {
                self.check_call(index, arity, target)?;
                self.need_frame(index, *state)?;
            }
            I::CallExt { target, .. } if self.never_returns[target.0 as usize] => return Ok(true),
            I::CallExt { .. } | I::CallFun { .. } | I::CallFun2 { .. } | I::Apply { .. } => {
                self.need_frame(index, *state)?;
            }
            I::CallLast { arity, target, deallocate } => {
                self.check_call(index, arity, target)?;
                self.expect_frame(index, *state, Frame::Slots(deallocate))?;
            }
            I::CallExtLast { deallocate, .. } | I::ApplyLast { deallocate, .. } => {
                self.expect_frame(index, *state, Frame::Slots(deallocate))?;
            }
            I::CallOnly { arity, target } => {
                self.check_call(index, arity, target)?;
                self.expect_frame(index, *state, Frame::Absent)?;
            }
            I::CallExtOnly { .. } | I::Return | I::FuncInfo { .. } => {
                self.expect_frame(index, *state, Frame::Absent)?;
            }
            I::Catch { slot, handler } | I::Try { slot, handler } => {
                if slot >= state.slots() || self.catches.occupies(state.catches, slot) {
                    return Err(self.error(index, format!("slot {slot} is not free for a catch")));
                }
                state.catches = self.catches.push(state.catches, slot);
                self.reach(function, index, handler, *state)?;
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

    fn need_frame(&self, index: usize, state: State) -> Result<()> {
        match state.frame {
            Frame::Slots(_) => Ok(()),
            other => Err(self.error(index, format!("a call with {other}"))),
        }
    }

    /// The frame must be this one, and no catch may be active, because it is about to change.
    fn expect_frame(&self, index: usize, state: State, frame: Frame) -> Result<()> {
        if state.frame != frame {
            let problem = format!("{frame} is wanted and there is {}", state.frame);
            return Err(self.error(index, problem));
        }
        if state.catches != 0 {
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
        let place = self.decoded.labels[handler.0 as usize] as usize;
        let first = self.decoded.code[place..]
            .iter()
            .find(|code| !matches!(code, Instruction::Label(_) | Instruction::Line(_)));
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
