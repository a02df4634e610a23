//! Sequences of instructions that one handler does.

use atoll_loader::instruction::{Instruction, Register, Source, TypeTest};

use super::Writer;
use crate::core::Handler;
use crate::handlers::{control, data, test};
use crate::operand::{Operand, offset};
use crate::pick::{by_list, by_source, by_two_moves};

impl Writer<'_> {
    /// Common sequences that one handler does.
    pub(super) fn fused(&mut self, code: &[Instruction]) -> Option<usize> {
        match code {
            [
                Instruction::Test { fail, test: TypeTest::NonemptyList, value },
                Instruction::GetList { source, head, tail },
                ..,
            ] if *value == Source::from(*source) => {
                let (s, h, t) = (self.register(*source), self.register(*head), self.register(*tail));
                let chosen = by_list!(data::test_get_list, s, h, t);
                self.emit_with_label(chosen, *fail, &[s.word(), h.word(), t.word()]);
                Some(2)
            }
            [
                Instruction::Test { fail, test: TypeTest::Tuple, value },
                Instruction::TestArity { fail: second_fail, value: second, arity },
                ..,
            ] if value == second && fail == second_fail => {
                let s = self.operand(*value);
                let chosen = by_source!(test::is_tuple_of_arity, s);
                self.emit_with_label(chosen, *fail, &[s.word(), control::tuple_header(*arity)]);
                Some(2)
            }
            [
                Instruction::Move { source, destination: Register::X(0) },
                Instruction::Deallocate { slots },
                Instruction::Return,
                ..,
            ] => {
                let s = self.operand(*source);
                self.emit(by_source!(control::move_return, s), &[s.word(), offset(*slots)]);
                Some(3)
            }
            [Instruction::Move { source, destination: Register::X(0) }, Instruction::Return, ..] => {
                let s = self.operand(*source);
                self.emit(by_source!(control::move_return, s), &[s.word(), 0]);
                Some(2)
            }
            [Instruction::Deallocate { slots }, Instruction::Return, ..] => {
                self.emit(control::deallocate_return, &[offset(*slots)]);
                Some(2)
            }
            [
                Instruction::Move { source, destination },
                Instruction::Move { source: second, destination: second_destination },
                ..,
            ] => {
                let (s, d) = (self.operand(*source), self.register(*destination));
                let (t, u) = (self.operand(*second), self.register(*second_destination));
                let chosen = by_two_moves!(data::move_two, s, d, t, u);
                self.emit(chosen, &[s.word(), d.word(), t.word(), u.word()]);
                Some(2)
            }
            [
                Instruction::GetTupleElement { source, position, destination },
                Instruction::GetTupleElement { source: second, position: next, destination: second_destination },
                ..,
            ] if source == second && destination != source && *next == position + 1 => {
                let (s, d) = (self.register(*source), self.register(*destination));
                let u = self.register(*second_destination);
                let chosen = by_list!(data::get_two_elements, s, d, u);
                self.emit(chosen, &[s.word(), (u64::from(*position) + 1) * 8, d.word(), u.word()]);
                Some(2)
            }
            _ => None,
        }
    }
}
