//! Calls of built-in functions that are code here, unless the function is traced. What is not as it mostly is leaves to
//! the first engine's call.

use atoll_code::Linked;
use atoll_loader::instruction::{Instruction, Label, Register, Source};
use atoll_runtime::built_in;
use atoll_runtime::core::{Handler, handler};
use atoll_term::{Export, Header, Kind, Term, Word, atoms};
use cranelift_codegen::ir::InstBuilder;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::I64;

use super::data::CONS;
use super::test::KIND;
use super::{Emitter, Next};

/// Elements of the largest tuple that is copied here: the copy of a longer one costs reductions.
const MOST_ELEMENTS: usize = 32;
/// Elements of a list that are looked at here: more cost reductions.
const MOST_COMPARED: i64 = 39;

/// The built-in functions whose calls are code here.
#[derive(Clone, Copy)]
enum Inlined {
    /// `erlang:setelement/3`.
    SetElement,
    /// `lists:member/2`.
    Member,
}

/// Whether calls of this built-in function are code here.
pub fn is_inlined(linked: &Linked, import: u32) -> bool {
    inlined(linked, import).is_some()
}

fn inlined(linked: &Linked, import: u32) -> Option<Inlined> {
    let export: &Export = linked.imports[import as usize];
    let name = || atoms::atom_name(export.name);
    match (export.module, export.arity) {
        (atoms::ERLANG, 3) if name() == "setelement" => Some(Inlined::SetElement),
        (atoms::LISTS, 2) if name() == "member" => Some(Inlined::Member),
        _ => None,
    }
}

impl Emitter<'_, '_> {
    /// A call of a function that [`is_inlined`].
    pub(super) fn inlined(&mut self, index: usize) -> Next {
        let (import, usual, tail): (u32, Handler, Option<u16>) = match self.flow.instruction(index) {
            Instruction::CallExt { target, .. } => (target.0, built_in::call_built_in, None),
            Instruction::CallExtOnly { target, .. } => (target.0, built_in::built_in_last, Some(0)),
            Instruction::CallExtLast { target, deallocate, .. } => {
                (target.0, built_in::built_in_last, Some(*deallocate))
            }
            other => unreachable!("{other:?} calls no function outside of the module"),
        };
        // Where calls are traced, another handler stands there.
        let place = self.piece.places[index - self.flow.start];
        let address = self.varying(self.piece.words as Word + Word::from(place) * 8);
        let present = self.load(address, 0);
        let plain = self.equals_varying(present, handler(usual));
        let exit = self.exit(index);
        self.unless(plain, exit);
        match inlined(self.flow.linked, import) {
            Some(Inlined::SetElement) => self.set_element(index),
            Some(Inlined::Member) => self.member(index, self.flow.linked.imports[import as usize]),
            None => unreachable!("import {import} is not inlined"),
        }
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

    /// `lists:member(X0, X1)` into X0. An immediate is looked for here, in the first elements of the list; everything
    /// else is a call of the function.
    fn member(&mut self, index: usize, function: &Export) {
        let exit = self.exit(index);
        let [element, list] = [0, 1].map(|x| self.x(x));
        let (done, result) = self.joined(I64);
        let (look, cell, missing, far) =
            (self.b.create_block(), self.b.create_block(), self.b.create_block(), self.b.create_block());
        let [rest, left] = [I64; 2].map(|kind| self.b.append_block_param(look, kind));
        let most = self.b.ins().iconst(I64, MOST_COMPARED);
        let is_immediate = self.has_tag(element, 3, 0b11);
        self.b.ins().brif(is_immediate, look, &[list.into(), most.into()], far, &[]);

        self.b.switch_to_block(look);
        let is_cons = self.has_tag(rest, 3, CONS as Word);
        self.b.ins().brif(is_cons, cell, &[], missing, &[]);
        self.b.switch_to_block(cell);
        let head = self.load_cons(rest, 0);
        let found = self.b.ins().icmp(IntCC::Equal, head, element);
        let (other, another) = (self.b.create_block(), self.b.create_block());
        let yes = self.constant(atoms::TRUE.word());
        self.b.ins().brif(found, done, &[yes.into()], other, &[]);
        self.b.switch_to_block(other);
        let tail = self.load_cons(rest, 1);
        let fewer = self.b.ins().iadd_imm(left, -1);
        self.b.ins().brif(fewer, look, &[tail.into(), fewer.into()], another, &[]);
        self.b.switch_to_block(another);
        self.b.ins().jump(far, &[]);

        self.b.switch_to_block(missing);
        let is_end = self.equals(rest, Term::NIL.word());
        self.unless(is_end, exit);
        let no = self.constant(atoms::FALSE.word());
        self.b.ins().jump(done, &[no.into()]);

        self.b.switch_to_block(far);
        let answer = self.call_guard(index, Label::NONE, function, &[element, list]);
        self.b.ins().jump(done, &[answer.into()]);

        self.b.switch_to_block(done);
        self.write(Register::X(0), result);
    }
}
