//! Sequences of instructions that one handler does.

use atoll_loader::instruction::{Comparison, Instruction, Register, Source, TypeTest};

use atoll_term::Term;

use super::Writer;
use crate::handlers::{area, call, control, data, test};
use crate::operand::{Operand, offset};
use crate::pick::{by_list, by_list_frame, by_moves, by_source, by_source_destination, by_sources, by_two_moves};
use atoll_runtime::core::Handler;

impl Writer<'_> {
    /// Common sequences that one handler does.
    pub(super) fn fused(&mut self, code: &[Instruction]) -> Option<usize> {
        if let taken @ 1.. = self.moves(code) {
            return Some(taken);
        }
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
            // Compilers have no instruction for this; as three, a loop through a fun would use ever more stack.
            [Instruction::CallFun { arity }, Instruction::Deallocate { slots }, Instruction::Return, ..] => {
                let fun = Operand::X((*arity).into()).any();
                self.emit(call::call_fun_last, &[(*arity).into(), fun, offset(*slots)]);
                Some(3)
            }
            [Instruction::CallFun2 { arity, fun, .. }, Instruction::Deallocate { slots }, Instruction::Return, ..] => {
                let fun = self.any(*fun);
                self.emit(call::call_fun_last, &[(*arity).into(), fun, offset(*slots)]);
                Some(3)
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
                Instruction::Test { fail, test: TypeTest::NonemptyList, value: Source::X(list) },
                Instruction::Allocate { slots, need, live },
                Instruction::GetList { source: Register::X(taken), head, tail },
                ..,
            ] if list == taken && !self.translator.stress => {
                let (h, t) = (self.register(*head), self.register(*tail));
                let chosen = match self.translator.united {
                    true => by_list_frame!(true, h, t),
                    false => by_list_frame!(false, h, t),
                };
                let room = Self::frame_room(*slots, *need);
                let operands = [offset(*list), h.word(), t.word(), offset(*slots), room, (*live).into()];
                self.emit_with_label(chosen, *fail, &operands);
                Some(3)
            }
            [
                Instruction::PutList { head, tail, destination: Register::X(0) },
                Instruction::Deallocate { slots },
                Instruction::Return,
                ..,
            ] => {
                let (h, t) = (self.operand(*head), self.operand(*tail));
                let chosen = by_sources!(data::put_list_return, h, t);
                let in_area = by_sources!(area::put_list_return, h, t);
                self.emit_site(true, chosen, in_area, &[h.word(), t.word(), offset(*slots)]);
                Some(3)
            }
            [
                Instruction::Compare { fail, comparison: Comparison::GreaterOrEqual, left, right: Source::Small(from) },
                Instruction::Compare {
                    fail: second_fail,
                    comparison: Comparison::GreaterOrEqual,
                    left: Source::Small(to),
                    right,
                },
                ..,
            ] if fail == second_fail && left == right && from <= to && self.is_register(*left) => {
                let s = self.operand(*left);
                let (from, to) = (Term::small(*from).word(), Term::small(*to).word());
                self.emit_with_label(by_source!(test::in_range, s), *fail, &[s.word(), from, to.wrapping_sub(from)]);
                Some(2)
            }
            [
                Instruction::Move { source, destination },
                Instruction::Move { source: second, destination: Register::X(x) },
                Instruction::Call { arity, target },
                ..,
            ] if self.is_register(*source) && self.is_register(*second) => {
                let (s, d, t) = (self.operand(*source), self.register(*destination), self.operand(*second));
                let chosen = by_list!(control::move_two_call, s, d, t);
                let operands = [(*arity).into(), s.word(), d.word(), t.word(), offset(*x)];
                self.emit_with_label(chosen, *target, &operands);
                Some(3)
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
            [Instruction::Move { source, destination }, Instruction::Call { arity, target }, ..] => {
                let (s, d) = (self.operand(*source), self.register(*destination));
                let chosen = by_source_destination!(control::move_call, s, d);
                self.emit_with_label(chosen, *target, &[(*arity).into(), s.word(), d.word()]);
                Some(2)
            }
            [
                Instruction::Move { source, destination: Register::X(x) },
                last @ (Instruction::CallOnly { arity, target } | Instruction::CallLast { arity, target, .. }),
                ..,
            ] => {
                let s = self.operand(*source);
                let frame = if let Instruction::CallLast { deallocate, .. } = last { offset(*deallocate) } else { 0 };
                let operands = [(*arity).into(), s.word(), offset(*x), frame];
                self.emit_with_label(by_source!(control::move_call_last, s), *target, &operands);
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

    fn is_register(&self, source: Source) -> bool {
        matches!(source, Source::X(_) | Source::Y(_))
    }

    /// Three or four moves from one kind of register to one kind of register; how many they are, 0 if too few.
    fn moves(&mut self, code: &[Instruction]) -> usize {
        const MOST: usize = 4;
        if !matches!(code, [Instruction::Move { .. }, Instruction::Move { .. }, Instruction::Move { .. }, ..]) {
            return 0;
        }
        let mut operands = Vec::with_capacity(2 * MOST);
        let mut kind = None;
        let mut run = 0;
        for instruction in code {
            let Instruction::Move { source, destination } = instruction else { break };
            let (s, d) = (self.operand(*source), self.register(*destination));
            let this = (matches!(s, Operand::Y(_)), matches!(d, Operand::Y(_)));
            if matches!(s, Operand::K(_)) || kind.is_some_and(|kind| kind != this) {
                break;
            }
            kind = Some(this);
            run += 1;
            operands.extend([s.word(), d.word()]);
        }
        // Five are three and two.
        let taken = if run == MOST + 1 { MOST - 1 } else { run.min(MOST) };
        let Some((from_y, to_y)) = kind.filter(|_| taken >= MOST - 1) else { return 0 };
        self.emit(by_moves!(taken == MOST, from_y, to_y), &operands[..2 * taken]);
        taken
    }
}
