//! Arithmetic whose result is cut down to its low bits, as generators of random numbers and checksums have it:
//! `(Seed * 1103515245 + 12345) band 16#7FFFFFFF`. The low bits of a sum, difference, product or shift to the left
//! follow from those of the operands, so no integer in between is made large, whatever its value.

use atoll_loader::instruction::{Instruction, Register, Source};
use atoll_term::{Term, atoms};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{Block, InstBuilder, Value};

use super::{Emitter, bit};
use crate::flow::Way;

/// Most operations that are looked at as one.
const LONGEST: usize = 12;
/// Bits of a machine word, and of a small integer.
const WORD: u32 = 64;
const SMALL: u32 = 60;

#[derive(Clone, Copy)]
enum Operand {
    /// What an operation in front of it has given.
    Result(usize),
    /// A small integer, if all goes well.
    Other(Source),
}

struct Operation {
    name: Term,
    operands: [Operand; 2],
    /// The bits of its result with a sign, all of which a machine word has; `None`: it has the low ones alone.
    width: Option<u32>,
}

/// Operations in a row, the last of which is `band` with a small integer that is not negative. All results that are
/// used behind it are small.
struct Chain {
    operations: Vec<Operation>,
    last: usize,
    /// Registers that are used behind it, and the operations whose results they hold.
    kept: Vec<(Register, usize)>,
}

impl Emitter<'_, '_> {
    /// Writes the operations that begin with an instruction, if they are such a chain. The index of the last of them.
    pub(super) fn masked(&mut self, index: usize) -> Option<usize> {
        let chain = self.chain(index)?;
        let general = self.b.create_block();
        self.b.set_cold_block(general);
        let done = self.b.create_block();
        let before = (self.small_x, self.small_y);

        let results = self.in_words(&chain.operations, general);
        for (register, place) in &chain.kept {
            let word = self.small(results[*place]);
            self.write(*register, word);
            self.set_small((*register).into(), true);
        }
        let after = (self.small_x, self.small_y);
        self.b.ins().jump(done, &[]);

        self.b.switch_to_block(general);
        (self.small_x, self.small_y) = before;
        for at in index..=chain.last {
            self.at = at;
            if !matches!(self.flow.instruction(at), Instruction::Line(_)) {
                self.guard(at);
            }
        }
        self.b.ins().jump(done, &[]);
        self.b.switch_to_block(done);
        self.small_x &= after.0;
        self.small_y &= after.1;
        Some(chain.last)
    }

    /// The results of operations on small integers; what is none, or not fit for this, goes to `general`.
    fn in_words(&mut self, operations: &[Operation], general: Block) -> Vec<Value> {
        for operand in operations.iter().flat_map(|operation| operation.operands) {
            if let Operand::Other(source) = operand
                && !self.is_small(source)
            {
                let value = self.read(source);
                let is_small = self.has_tag(value, 0xf, 0xf);
                self.unless(is_small, general);
                self.set_small(source, true);
            }
        }
        let mut results: Vec<Value> = Vec::with_capacity(operations.len());
        for Operation { name, operands, .. } in operations {
            let [a, b] = operands.map(|operand| match operand {
                Operand::Result(place) => results[place],
                Operand::Other(source) => match self.known(source) {
                    Some(term) => self.b.ins().iconst(I64, term.small_value()),
                    None => {
                        let word = self.read(source);
                        self.b.ins().sshr_imm(word, 4)
                    }
                },
            });
            if matches!(*name, atoms::BSL | atoms::BSR) && self.constant_of(operands[1]).is_none() {
                let fits = self.b.ins().icmp_imm(IntCC::UnsignedLessThan, b, i64::from(WORD));
                self.unless(fits, general);
            }
            results.push(match *name {
                atoms::OP_PLUS => self.b.ins().iadd(a, b),
                atoms::OP_MINUS => self.b.ins().isub(a, b),
                atoms::OP_TIMES => self.b.ins().imul(a, b),
                atoms::BSL => self.b.ins().ishl(a, b),
                atoms::BSR => self.b.ins().sshr(a, b),
                atoms::BAND => self.b.ins().band(a, b),
                atoms::BOR => self.b.ins().bor(a, b),
                _ => self.b.ins().bxor(a, b),
            });
        }
        results
    }

    fn constant_of(&self, operand: Operand) -> Option<i64> {
        match operand {
            Operand::Other(source) => self.known(source).filter(|term| term.is_small()).map(Term::small_value),
            Operand::Result(_) => None,
        }
    }

    fn chain(&self, index: usize) -> Option<Chain> {
        let mut operations: Vec<Operation> = Vec::new();
        let mut registers: Vec<Register> = Vec::new();
        let mut has_grown = false;
        for at in index.. {
            let is_met = self.flow.heads.contains_key(&at) || self.blocks.contains_key(&(self.call, at));
            if at > index && is_met || operations.len() == LONGEST {
                return None;
            }
            let (bif, arguments, destination) = match self.flow.instruction(at) {
                Instruction::Line(_) if at > index => continue,
                Instruction::GcBif { bif, arguments, destination, .. } => (bif, arguments, *destination),
                _ => return None,
            };
            let export = self.flow.linked.imports[bif.0 as usize];
            let ([left, right], true) = (&**arguments, export.module == atoms::ERLANG) else { return None };
            if self.flow.way(at) != Way::Native {
                return None;
            }
            let operands = [*left, *right].map(|source| {
                let result = registers.iter().rposition(|register| source == Source::from(*register));
                result.map_or(Operand::Other(source), Operand::Result)
            });
            let odd = |operand: &Operand| matches!(operand, Operand::Other(source) if self.known(*source).is_some_and(|term| !term.is_small()));
            if operands.iter().any(odd) {
                return None;
            }
            let operation = self.operation(export.name, operands, &operations)?;
            has_grown |= operation.width.is_none();
            operations.push(operation);
            registers.push(destination);

            let mask = operands.into_iter().find_map(|operand| self.constant_of(operand));
            if has_grown
                && export.name == atoms::BAND
                && mask.is_some_and(|mask| mask >= 0)
                && let Some(kept) = self.kept(at + 1, &registers, &operations)
            {
                return Some(Chain { operations, last: at, kept });
            }
        }
        None
    }

    /// The registers with results that are used from an instruction on; `None`: some are not small.
    fn kept(&self, from: usize, registers: &[Register], operations: &[Operation]) -> Option<Vec<(Register, usize)>> {
        let live = self.flow.live(from);
        let mut kept: Vec<(Register, usize)> = Vec::new();
        for (place, register) in registers.iter().enumerate() {
            let is_used = match register {
                Register::X(x) => live & bit(*x) != 0,
                Register::Y(_) => true,
            };
            if is_used {
                kept.retain(|(earlier, _)| earlier != register);
                kept.push((*register, place));
            }
        }
        let is_small = |place: usize| operations[place].width.is_some_and(|width| width <= SMALL);
        kept.iter().all(|(_, place)| is_small(*place)).then_some(kept)
    }

    /// An operation behind others; `None`: it needs more than the low bits of its operands, or is no such operation.
    fn operation(&self, name: Term, operands: [Operand; 2], others: &[Operation]) -> Option<Operation> {
        let width_of = |operand: Operand| match (operand, self.constant_of(operand)) {
            (_, Some(value)) => Some(WORD + 1 - if value < 0 { value.leading_ones() } else { value.leading_zeros() }),
            (Operand::Result(place), None) => others[place].width,
            (Operand::Other(_), None) => Some(SMALL),
        };
        let [left, right] = operands.map(width_of);
        let count = self.constant_of(operands[1]);
        let both = left.zip(right);
        let width = match name {
            atoms::OP_PLUS | atoms::OP_MINUS => both.map(|(left, right)| left.max(right) + 1),
            atoms::OP_TIMES => both.map(|(left, right)| left + right),
            atoms::BOR | atoms::BXOR => both.map(|(left, right)| left.max(right)),
            atoms::BAND => {
                let mask =
                    operands.into_iter().find(|operand| self.constant_of(*operand).is_some_and(|mask| mask >= 0));
                mask.and_then(width_of).or(both.map(|(left, right)| left.max(right)))
            }
            atoms::BSL | atoms::BSR => {
                // The count is whole, and a constant one is that of a machine's shift.
                right?;
                if count.is_some_and(|count| !(0..i64::from(WORD)).contains(&count)) {
                    return None;
                }
                match (name, count) {
                    (atoms::BSR, _) => Some(left?),
                    (_, Some(count)) => left.map(|left| left + count as u32),
                    _ => None,
                }
            }
            _ => return None,
        };
        Some(Operation { name, operands, width: width.filter(|width| *width <= WORD) })
    }
}
