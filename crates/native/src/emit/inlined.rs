//! Calls of built-in functions that are code here, unless the function is traced. What is not as it mostly is leaves to
//! the first engine's call.

use atoll_code::Linked;
use atoll_loader::instruction::Instruction;
use atoll_runtime::built_in;
use atoll_runtime::core::{Handler, handler};
use atoll_term::{Export, Header, Kind, Word, atoms};
use cranelift_codegen::ir::InstBuilder;
use cranelift_codegen::ir::condcodes::IntCC;

use super::test::KIND;
use super::{Emitter, Next};

/// Elements of the largest tuple that is copied here: the copy of a longer one costs reductions.
const MOST_ELEMENTS: usize = 32;

/// Whether calls of this built-in function are code here.
pub fn is_inlined(linked: &Linked, import: u32) -> bool {
    let export: &Export = linked.imports[import as usize];
    export.module == atoms::ERLANG && export.arity == 3 && atoms::atom_name(export.name) == "setelement"
}

impl Emitter<'_, '_> {
    /// A call of a function that [`is_inlined`].
    pub(super) fn inlined(&mut self, index: usize) -> Next {
        let (usual, tail): (Handler, Option<u16>) = match self.flow.instruction(index) {
            Instruction::CallExtOnly { .. } => (built_in::built_in_last, Some(0)),
            Instruction::CallExtLast { deallocate, .. } => (built_in::built_in_last, Some(*deallocate)),
            _ => (built_in::call_built_in, None),
        };
        // Where calls are traced, another handler stands there.
        let place = self.piece.places[index - self.flow.start];
        let address = self.varying(self.piece.words as Word + Word::from(place) * 8);
        let present = self.load(address, 0);
        let plain = self.equals_varying(present, handler(usual));
        let exit = self.exit(index);
        self.unless(plain, exit);
        self.set_element(index);
        let reds = self.b.use_var(self.reds);
        let left = self.b.ins().iadd_imm(reds, -1);
        self.b.def_var(self.reds, left);
        let Some(slots) = tail else { return Next::Follows };
        let e = self.b.use_var(self.e);
        let e = self.b.ins().iadd_imm(e, i64::from(slots) * 8);
        self.b.def_var(self.e, e);
        self.forget_frame();
        self.return_();
        Next::Left
    }

    /// `setelement(X0, X1, X2)` into X0.
    fn set_element(&mut self, index: usize) {
        use atoll_loader::instruction::{Register, Source};
        let exit = self.exit(index);
        let [position, tuple, value] = [0, 1, 2].map(|x| self.x(x));
        if !self.is_small(Source::X(0)) {
            let small = self.has_tag(position, 0xf, 0xf);
            self.unless(small, exit);
        }
        self.boxed(tuple, exit);
        let header = self.load_boxed(tuple, 0);
        let is_tuple = self.has_tag(header, KIND, Header::new(Kind::Tuple, 0).word());
        self.unless(is_tuple, exit);
        let arity = self.b.ins().ushr_imm(header, 6);
        let number = self.b.ins().sshr_imm(position, 4);
        let before = self.b.ins().iadd_imm(number, -1);
        let inside = self.b.ins().icmp(IntCC::UnsignedLessThan, before, arity);
        self.unless(inside, exit);
        let few = self.b.ins().icmp_imm(IntCC::UnsignedLessThanOrEqual, arity, MOST_ELEMENTS as i64);
        self.unless(few, exit);
        let hp = self.b.use_var(self.hp);
        let size = self.b.ins().ishl_imm(arity, 3);
        let last = self.b.ins().iadd(hp, size);
        let top = self.b.ins().iadd_imm(last, 8);
        let limit = self.limit();
        let fits = self.b.ins().icmp(IntCC::UnsignedLessThanOrEqual, top, limit);
        self.unless(fits, exit);

        self.copy_down(tuple, hp, size);
        let place = self.b.ins().ishl_imm(number, 3);
        let place = self.b.ins().iadd(hp, place);
        self.store(value, place, 0);
        let term = self.b.ins().iadd_imm(hp, super::data::BOXED);
        self.b.def_var(self.hp, top);
        self.write(Register::X(0), term);
    }
}
