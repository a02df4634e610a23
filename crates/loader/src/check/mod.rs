//! The check that code keeps to its function, its stack frame, the heap room it asked for and the registers that hold
//! terms, and the search for what it looks into without having seen that it can.
//!
//! A walk over each function carries the size of the frame, the slots that `catch` and `try` occupy, the room that was
//! asked for, and for each X register, slot and floating-point register what it holds ([`Type`]). Where ways meet,
//! what all of them say is known. Where they have different frames, only the slots that all of them have are known
//! from there on, and only code that leaves the frame alone and ends by raising is accepted: compilers share such
//! endings. Code that no way leads to is not looked at.
//!
//! The walk goes forward through the code and comes back to a label only where less turns out to be known there.

mod catches;
mod effects;
mod flow;
mod frames;
mod guards;
mod imports;
mod loops;
mod messages;
mod registers;
mod state;
mod step;
mod types;
mod values;

pub use registers::implied_reads;
pub(crate) use registers::keeps_as_read;

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use crate::decode::Decoded;
use crate::error::{LoadError, Result};
use crate::instruction::{AtomIndex, Instruction, Label, Register};
use crate::layout::{self, Layout};
use crate::module::{Function, Import, Module};
use catches::Catches;
use effects::demand;
use guards::Unproven;
pub(crate) use guards::insert;
use imports::Facts;
use registers::Set;
use state::{Known, State};
use types::Type;
use values::Values;

/// Who else than the module itself has to do with its functions.
pub(crate) struct Outside<'a> {
    /// Labels of functions that others call, too.
    pub(crate) callable: Vec<Label>,
    /// Whether the machine has its own code for a function of this name and arity.
    pub(crate) is_built_in: &'a dyn Fn(AtomIndex, u8) -> bool,
}

/// Checks all functions. Gives the instructions that look into a value of which nothing proves that they can.
pub(crate) fn check(
    decoded: &Decoded,
    layout: &Layout,
    atoms: &[Box<str>],
    imports: &[Import],
    outside: &Outside<'_>,
) -> Result<Vec<Unproven>> {
    let mut open = vec![false; layout.functions.len()];
    for label in &outside.callable {
        if let Some(index) = layout.entry(&decoded.labels, *label) {
            open[index] = true;
        }
    }
    let functions = layout
        .functions
        .iter()
        .zip(open)
        .map(|(function, open)| (function.arity, open, (outside.is_built_in)(function.name, function.arity)));
    let mut checker = Checker {
        decoded,
        layout,
        imports: imports.iter().map(|import| Facts::of(import, atoms)).collect(),
        literals: decoded.literals.iter().map(|literal| Type::of_literal(literal)).collect(),
        known: Known::new(decoded.labels.len()),
        values: Values::new(functions),
        catches: Catches::default(),
        pending: BinaryHeap::new(),
        function: 0,
        walked: 0,
        at: 0,
        pass: 0,
        contexts: HashMap::new(),
        goes_back: false,
        again: Vec::new(),
        unproven: Vec::new(),
        undo: Vec::new(),
        budget: decoded.code.len() * MOST_VISITS,
    };
    for index in 0..layout.functions.len() {
        checker.walked = index + 1;
        checker.function(index)?;
    }
    while let Some(index) = checker.again.pop() {
        checker.function(index)?;
    }
    let solution = checker.values.solve(checker.unproven.iter().map(|found| found.value));
    let mut unproven = checker.unproven;
    unproven.retain(|found| match demand(&decoded.code[found.index as usize]) {
        Some((_, shape)) => !solution.of(found.value).has(shape),
        None => true,
    });
    Ok(unproven)
}

struct Checker<'a> {
    decoded: &'a Decoded,
    layout: &'a Layout,
    /// What is known of each import.
    imports: Vec<Facts>,
    /// What each literal is.
    literals: Vec<Type>,
    /// What is known at each label of the function that has been reached.
    known: Known,
    values: Values,
    catches: Catches,
    /// Labels that are to be walked from: pass, place, label. What lies in front of the walk waits for the next pass.
    pending: BinaryHeap<Reverse<(u32, u32, u32)>>,
    /// The function that the walk is in, and where there.
    function: usize,
    at: u32,
    /// So many functions have been looked at, or are.
    walked: usize,
    pass: u32,
    /// The function has a way back that is no `receive`.
    goes_back: bool,
    /// By function: the arguments that match contexts are passed in.
    contexts: HashMap<usize, Set>,
    /// Functions that turned out to get a match context after they were looked at.
    again: Vec<usize>,
    unproven: Vec<Unproven>,
    /// What was known of registers before a way on which more is known; kept for its memory.
    undo: Vec<(usize, Type)>,
    /// How many instructions may still be walked over.
    budget: usize,
}

/// How often an instruction is walked over on average, at most. Compiled code stays below two;
/// more is a trap for the loader.
const MOST_VISITS: usize = 16;

/// So many registers at a label cost as much as an instruction.
const REGISTERS_A_VISIT: usize = 32;

impl Checker<'_> {
    fn function(&mut self, index: usize) -> Result<()> {
        self.function = index;
        let function = self.layout.functions[index];
        // In front of the first function there is nothing that names registers.
        let extent = self.decoded.extents[index + 1];
        self.catches = Catches::default();
        self.known.clear();
        let mut state = State::entry(extent);
        let contexts = self.contexts.get(&index).copied().unwrap_or(Set::EMPTY);
        for argument in 0..function.arity {
            let kind = if contexts.contains(argument.into()) { Type::TERM.with(Type::CONTEXT) } else { Type::TERM };
            let value = self.values.argument(index, argument, kind);
            state.registers.set(Register::X(argument.into()), value);
        }
        self.at = 0;
        self.pass = 0;
        self.goes_back = false;
        self.reach(&function, function.start as usize, function.entry, &state)?;
        while let Some(Reverse((pass, _, label))) = self.pending.pop() {
            let label = Label(label);
            if self.known.take_pending(label) {
                self.pass = pass;
                self.walk(&function, label, &mut state)?;
            }
        }
        if self.goes_back { self.check_loops(&function) } else { Ok(()) }
    }

    fn error(&self, index: usize, problem: impl Into<Cow<'static, str>>) -> LoadError {
        layout::error(self.decoded, index, problem)
    }

    /// Notes that execution can get to `label` with `state`, coming from the instruction at `index`.
    fn reach(&mut self, function: &Function, index: usize, label: Label, state: &State) -> Result<()> {
        let place = self.decoded.labels[label.0 as usize];
        if place == Module::NO_PLACE {
            return Err(self.error(index, format!("label {} is not defined", label.0)));
        }
        if place < function.start || place >= function.end {
            return Err(self.error(index, format!("label {} is in another function", label.0)));
        }
        self.goes_back |= place <= self.at && !loops::receives(&self.decoded.code[index]);
        if self.merge(index, label, state)? && self.known.set_pending(label) {
            let pass = self.pass + u32::from(place <= self.at);
            self.pending.push(Reverse((pass, place, label.0)));
        }
        Ok(())
    }

    /// True if what is known at the label changes.
    fn merge(&mut self, index: usize, label: Label, state: &State) -> Result<bool> {
        self.spend(index, state.registers.values().len() / REGISTERS_A_VISIT)?;
        let merged = self.known.merge(label, state, &self.catches, &mut self.values);
        merged.ok_or_else(|| self.error(index, "too many labels and registers in one function"))
    }

    fn spend(&mut self, index: usize, visits: usize) -> Result<()> {
        match self.budget.checked_sub(visits) {
            Some(left) => {
                self.budget = left;
                Ok(())
            }
            None => Err(self.error(index, "the ways through the code are too entangled")),
        }
    }

    /// Walks from a label to where execution ends, or gets to what is known.
    fn walk(&mut self, function: &Function, label: Label, state: &mut State) -> Result<()> {
        self.known.load(label, state);
        let first = self.decoded.labels[label.0 as usize] as usize;
        let decoded = self.decoded;
        for index in first..function.end as usize {
            self.spend(index, 1)?;
            self.at = index as u32;
            let instruction = &decoded.code[index];
            if let Instruction::Label(here) = *instruction {
                if index != first {
                    let less = self.merge(index, here, state)?;
                    if !(less | self.known.take_pending(here)) {
                        return Ok(());
                    }
                    self.known.load(here, state);
                }
                continue;
            }
            if self.step(function, index, instruction, state)? {
                return Ok(());
            }
        }
        Err(self.error(function.end as usize - 1, "execution falls off the end of a function"))
    }
}
