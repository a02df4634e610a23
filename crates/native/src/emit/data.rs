//! Moving, building and taking apart.

use std::mem::offset_of;

use atoll_loader::instruction::{Instruction, Register};
use atoll_process::Process;
use atoll_runtime::core::Core;
use atoll_term::{Header, Kind, Term, Word};
use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{InstBuilder, MemFlags, Value};

use super::Emitter;

pub(super) const CONS: i64 = 0b01;
pub(super) const BOXED: i64 = 0b10;

impl Emitter<'_, '_> {
    pub(super) fn data(&mut self, index: usize) {
        use Instruction as I;
        match self.flow.instruction(index) {
            I::Move { source, destination } => {
                let value = self.read(*source);
                let small = self.is_small(*source);
                self.write(*destination, value);
                self.set_small((*destination).into(), small);
            }
            I::Swap { first, second } => {
                let (a, b) = (self.read((*first).into()), self.read((*second).into()));
                let smalls = (self.is_small((*first).into()), self.is_small((*second).into()));
                self.write(*first, b);
                self.write(*second, a);
                self.set_small((*first).into(), smalls.1);
                self.set_small((*second).into(), smalls.0);
            }
            I::PutList { head, tail, destination } => {
                self.exit_if_site_changed(index);
                let (head, tail) = (self.read(*head), self.read(*tail));
                self.build(&[head, tail], CONS, *destination);
            }
            I::PutTuple { destination, elements } => {
                self.exit_if_site_changed(index);
                let mut words = vec![self.constant(Header::new(Kind::Tuple, elements.len()).word())];
                for element in elements {
                    let value = self.read(*element);
                    words.push(value);
                }
                self.build(&words, BOXED, *destination);
            }
            I::MakeFun { lambda, destination, free } => {
                let entry = self.flow.linked.lambdas[lambda.0 as usize];
                let core = self.core();
                let process = self.load(core, offset_of!(Core, process));
                let mut words = vec![
                    self.constant(Header::new(Kind::Fun, 2 + free.len()).word()),
                    self.varying(Term::small(std::ptr::from_ref(entry) as i64).word()),
                    self.load(process, offset_of!(Process, pid)),
                ];
                for variable in free {
                    let value = self.read(*variable);
                    words.push(value);
                }
                self.build(&words, BOXED, *destination);
            }
            I::UpdateRecord { size, source, destination, updates } => {
                let tuple = self.read(*source);
                let mut words = vec![self.constant(Header::new(Kind::Tuple, *size as usize).word())];
                for position in 1..=*size {
                    // The last update of an element counts.
                    let value = match updates.iter().rev().find(|(updated, _)| *updated == position) {
                        Some((_, value)) => self.read(*value),
                        None => self.load_boxed(tuple, position as usize),
                    };
                    words.push(value);
                }
                self.build(&words, BOXED, *destination);
            }
            I::SetTupleElement { value, tuple, position } => {
                let (value, tuple) = (self.read(*value), self.read((*tuple).into()));
                let place = self.b.ins().iadd_imm(tuple, (i64::from(*position) + 1) * 8 - BOXED);
                self.store(value, place, 0);
            }
            I::GetList { source, head, tail } => {
                let cell = self.read((*source).into());
                let (first, rest) = (self.load_cons(cell, 0), self.load_cons(cell, 1));
                self.write(*head, first);
                self.write(*tail, rest);
            }
            I::GetHead { source, head } => {
                let cell = self.read((*source).into());
                let first = self.load_cons(cell, 0);
                self.write(*head, first);
            }
            I::GetTail { source, tail } => {
                let cell = self.read((*source).into());
                let rest = self.load_cons(cell, 1);
                self.write(*tail, rest);
            }
            I::GetTupleElement { source, position, destination } => {
                let tuple = self.read((*source).into());
                let element = self.load_boxed(tuple, *position as usize + 1);
                self.write(*destination, element);
            }
            other => unreachable!("{other:?} is not native"),
        }
    }

    /// A word of a cons.
    pub(super) fn load_cons(&mut self, cell: Value, word: usize) -> Value {
        self.load_at(cell, word as i64 * 8 - CONS)
    }

    /// A word of a boxed object; 0 is its header.
    pub(super) fn load_boxed(&mut self, object: Value, word: usize) -> Value {
        self.load_at(object, word as i64 * 8 - BOXED)
    }

    /// Copies an object to a free place, from its last word to its header; `size` is the bytes behind the header.
    pub(super) fn copy_down(&mut self, object: Value, to: Value, size: Value) {
        let (copy, offset) = self.joined(I64);
        let done = self.b.create_block();
        self.b.ins().jump(copy, &[size.into()]);
        self.b.switch_to_block(copy);
        let from = self.b.ins().iadd(object, offset);
        let word = self.load_boxed(from, 0);
        let place = self.b.ins().iadd(to, offset);
        self.store(word, place, 0);
        let next = self.b.ins().iadd_imm(offset, -8);
        self.b.ins().brif(offset, copy, &[next.into()], done, &[]);
        self.b.switch_to_block(done);
    }

    /// The end of the free words of the heap.
    pub(super) fn limit(&mut self) -> Value {
        if self.settings.united {
            // One word stays free for a return address.
            let e = self.b.use_var(self.e);
            return self.b.ins().iadd_imm(e, -8);
        }
        let core = self.core();
        self.load(core, offset_of!(Core, heap_limit))
    }

    pub(super) fn load_at(&mut self, base: Value, offset: i64) -> Value {
        self.b.ins().load(I64, MemFlags::trusted(), base, offset as i32)
    }

    /// Writes an object at the heap top, where room was made.
    pub(super) fn build(&mut self, words: &[Value], tag: i64, destination: Register) {
        let term = self.object(words, tag);
        self.write(destination, term);
    }

    /// As [`Emitter::build`]: the term.
    pub(super) fn object(&mut self, words: &[Value], tag: i64) -> Value {
        let hp = self.b.use_var(self.hp);
        for (index, word) in words.iter().enumerate() {
            self.store(*word, hp, index * 8);
        }
        let term = self.b.ins().iadd_imm(hp, tag);
        let top = self.b.ins().iadd_imm(hp, words.len() as i64 * 8);
        self.b.def_var(self.hp, top);
        term
    }

    /// Where the architecture may have an allocation site changed, native code goes on only while nothing else than the
    /// process's heap is asked for.
    fn exit_if_site_changed(&mut self, index: usize) {
        if !self.piece.checks_sites {
            return;
        }
        let place = self.piece.places[index - self.flow.start];
        // SAFETY: the word is that of an instruction in code that the piece holds.
        let usual = unsafe { *self.piece.words.add(place as usize) };
        let address = self.varying(self.piece.words as Word + Word::from(place) * 8);
        let present = self.load(address, 0);
        let same = self.equals_varying(present, usual);
        let exit = self.exit(index);
        self.unless(same, exit);
    }
}
