//! `catch` and `try`: marks on the stack, and how many there are. Raising is the first engine's.

use std::mem::offset_of;

use atoll_loader::instruction::{Instruction, Source};
use atoll_process::Own;
use atoll_runtime::core::Core;
use atoll_term::Term;
use cranelift_codegen::ir::types::I32;
use cranelift_codegen::ir::{InstBuilder, MemFlags};

use super::Emitter;

impl Emitter<'_, '_> {
    pub(super) fn catching(&mut self, index: usize) {
        use Instruction as I;
        match self.flow.instruction(index) {
            I::Catch { slot, .. } | I::Try { slot, .. } => {
                // The handler's address in the first engine's code, where a mark leads here.
                let place = self.piece.places[index - self.flow.start] as usize;
                // SAFETY: the instruction has two operands, slot and handler, in code that the piece holds.
                let handler = unsafe { *self.piece.words.add(place + 2) };
                let mark = self.varying(Term::catch_mark(handler).word());
                self.write_slot(*slot, mark);
                self.count_catches(1);
            }
            I::TryEnd { slot } => self.end_mark(index, *slot),
            I::TryCase { slot } => {
                self.end_mark(index, *slot);
                let exception = [1, 2, 3].map(|x| self.x(x));
                for (x, value) in (0..).zip(exception) {
                    self.set_x(x, value);
                    self.set_small(Source::X(x), false);
                }
            }
            I::CatchEnd { slot } => {
                // After an exception X0 is no term.
                let exit = self.exit(index);
                let value = self.x(0);
                let raised = self.equals(value, Term::NONE.word());
                self.unless_set(raised, exit);
                self.end_mark(index, *slot);
            }
            other => unreachable!("{other:?} catches nothing"),
        }
    }

    fn write_slot(&mut self, slot: u16, value: cranelift_codegen::ir::Value) {
        let e = self.b.use_var(self.e);
        self.store(value, e, usize::from(slot) * 8);
        self.set_small(Source::Y(slot), false);
    }

    /// Takes a mark off the stack. The slot of code that the loader has not proven may hold something else.
    fn end_mark(&mut self, index: usize, slot: u16) {
        let exit = self.exit(index);
        let mark = self.read(Source::Y(slot));
        let is_mark = self.has_tag(mark, super::test::SPECIAL, Term::catch_mark(0).word());
        self.unless(is_mark, exit);
        self.count_catches(-1);
        let nil = self.constant(Term::NIL.word());
        self.write_slot(slot, nil);
    }

    fn count_catches(&mut self, change: i64) {
        let core = self.core();
        let own = self.load(core, offset_of!(Core, own));
        let place = offset_of!(Own, catches) as i32;
        let count = self.b.ins().load(I32, MemFlags::trusted(), own, place);
        let count = self.b.ins().iadd_imm(count, change);
        self.b.ins().store(MemFlags::trusted(), count, own, place);
    }
}
