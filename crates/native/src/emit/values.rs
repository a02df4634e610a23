//! Values: constants, memory, registers, and what is known of them.

use atoll_loader::instruction::{Register, Source};
use atoll_term::{Term, Word};
use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{InstBuilder, MemFlags, Value};
use cranelift_frontend::Variable;

use super::{Emitter, bit, numbers, x_offset};
use crate::flow::Registers;

impl Emitter<'_, '_> {
    /// The core, which stands in a machine register of its own.
    pub(super) fn core(&mut self) -> Value {
        self.b.ins().get_pinned_reg(I64)
    }

    /// Heap top, stack pointer and reductions.
    pub(super) fn carried(&mut self) -> [Value; 3] {
        [self.b.use_var(self.hp), self.b.use_var(self.e), self.b.use_var(self.reds)]
    }

    /// What native code takes: see [`parameters`]. `spare` stands in the place of X2 where that is not passed.
    pub(super) fn arguments(&mut self, arity: usize, spare: Value) -> Vec<Value> {
        let mut arguments = vec![if arity > 2 { self.x(2) } else { spare }];
        arguments.extend(self.carried());
        arguments.extend((0..arity.min(2)).map(|x| self.x(x as u16)));
        arguments
    }

    pub(super) fn constant(&mut self, word: Word) -> Value {
        self.b.ins().iconst(I64, word as i64)
    }

    pub(super) fn load(&mut self, base: Value, offset: usize) -> Value {
        self.b.ins().load(I64, MemFlags::trusted(), base, offset as i32)
    }

    pub(super) fn store(&mut self, value: Value, base: Value, offset: usize) {
        self.b.ins().store(MemFlags::trusted(), value, base, offset as i32);
    }

    pub(super) fn x(&mut self, x: u16) -> Value {
        let variable = self.variable(x);
        self.b.use_var(variable)
    }

    pub(super) fn variable(&mut self, x: u16) -> Variable {
        *self.x.entry(x).or_insert_with(|| self.b.declare_var(I64))
    }

    pub(super) fn set_x(&mut self, x: u16, value: Value) {
        let variable = self.variable(x);
        self.b.def_var(variable, value);
    }

    pub(super) fn write_to_core(&mut self, registers: Registers) {
        if registers == 0 {
            return;
        }
        let core = self.core();
        for x in numbers(registers) {
            let value = self.x(x);
            self.store(value, core, x_offset(x));
        }
    }

    /// The term that a source constantly is.
    pub(super) fn known(&self, source: Source) -> Option<Term> {
        let linked = self.flow.linked;
        Some(match source {
            Source::Small(value) => Term::small(value),
            Source::Atom(atom) => linked.atoms[atom.0 as usize],
            Source::Nil => Term::NIL,
            Source::Literal(literal) => linked.literals[literal.0 as usize],
            Source::X(_) | Source::Y(_) => return None,
        })
    }

    /// A term that is the same whenever code runs.
    pub(super) fn term(&mut self, term: Term) -> Value {
        if term.is_immediate() { self.constant(term.word()) } else { self.varying(term.word()) }
    }

    pub(super) fn read(&mut self, source: Source) -> Value {
        if let Some(term) = self.known(source) {
            return self.term(term);
        }
        match source {
            Source::X(x) => self.x(x),
            Source::Y(y) => {
                let e = self.b.use_var(self.e);
                self.load(e, usize::from(y) * 8)
            }
            _ => self.constant(Term::NIL.word()),
        }
    }

    pub(super) fn write(&mut self, register: Register, value: Value) {
        self.set_small(register.into(), false);
        match register {
            Register::X(x) => self.set_x(x, value),
            Register::Y(y) => {
                let e = self.b.use_var(self.e);
                self.store(value, e, usize::from(y) * 8);
            }
        }
    }

    /// Frames have changed: what is known of Y registers is of others now.
    pub(super) fn forget_frame(&mut self) {
        self.small_y = 0;
    }

    pub(super) fn is_small(&self, source: Source) -> bool {
        match source {
            Source::X(x) => self.small_x & bit(x) != 0,
            Source::Y(y) => self.small_y & bit(y) != 0,
            Source::Small(_) => true,
            _ => false,
        }
    }

    pub(super) fn set_small(&mut self, source: Source, is_small: bool) {
        let (known, number) = match source {
            Source::X(x) => (&mut self.small_x, x),
            Source::Y(y) => (&mut self.small_y, y),
            _ => return,
        };
        if is_small {
            *known |= bit(number);
        } else {
            *known &= !bit(number);
        }
    }

    /// Whether an instruction may be taken to meet small integers alone, because it has not left here often.
    pub(super) fn is_speculated(&self, index: usize) -> bool {
        !self.piece.general.contains(&index)
    }
}
