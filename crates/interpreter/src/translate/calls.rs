//! Calls, frames, jumps and selections.

use atoll_code::registry;
use atoll_loader::instruction::{Instruction, Label, Source};
use atoll_term::{Term, Word};

use super::Writer;
use crate::handlers::{call, control, test};
use crate::operand::{Operand, offset};
use crate::pick::by_source;
use atoll_runtime::built_in;
use atoll_runtime::core::Handler;

impl Writer<'_> {
    pub(super) fn control(&mut self, instruction: &Instruction) -> bool {
        match instruction {
            Instruction::Call { arity, target } => self.emit_with_label(control::call, *target, &[(*arity).into()]),
            Instruction::CallOnly { arity, target } => {
                self.emit_with_label(control::call_only, *target, &[(*arity).into()]);
            }
            Instruction::CallLast { arity, target, deallocate } => {
                self.emit_with_label(control::call_last, *target, &[(*arity).into(), offset(*deallocate)]);
            }
            Instruction::CallExt { arity, target } => self.call_ext(*arity, target.0, None),
            Instruction::CallExtOnly { arity, target } => self.call_ext(*arity, target.0, Some(0)),
            Instruction::CallExtLast { arity, target, deallocate } => {
                self.call_ext(*arity, target.0, Some(*deallocate));
            }
            Instruction::CallFun { arity } => {
                self.emit(call::call_fun, &[(*arity).into(), Operand::X((*arity).into()).any()]);
            }
            Instruction::CallFun2 { arity, fun, .. } => self.emit(call::call_fun, &[(*arity).into(), self.any(*fun)]),
            Instruction::Apply { arity } => self.emit(call::apply, &[(*arity).into()]),
            Instruction::ApplyLast { arity, deallocate } => {
                self.emit(call::apply_last, &[(*arity).into(), offset(*deallocate)]);
            }
            Instruction::Return => self.emit(control::return_, &[]),
            Instruction::Allocate { slots, need, live } => {
                let room = Self::frame_room(*slots, *need);
                let chosen: Handler = match (self.translator.stress, self.translator.united) {
                    (false, true) => control::allocate::<true>,
                    (false, false) => control::allocate::<false>,
                    (true, true) => control::allocate_stress::<true>,
                    (true, false) => control::allocate_stress::<false>,
                };
                self.emit(chosen, &[offset(*slots), room, (*live).into()]);
            }
            Instruction::TestHeap { need, live } => {
                let room = (Self::need_words(*need) + 1) * 8;
                let chosen: Handler = match (self.translator.stress, self.translator.united) {
                    (false, true) => control::test_heap::<true>,
                    (false, false) => control::test_heap::<false>,
                    (true, true) => control::test_heap_stress::<true>,
                    (true, false) => control::test_heap_stress::<false>,
                };
                self.emit(chosen, &[room, (*live).into()]);
            }
            Instruction::Deallocate { slots } | Instruction::Trim { slots, .. } => {
                self.emit(control::deallocate, &[offset(*slots)]);
            }
            Instruction::InitYregs(slots) if slots.len() == 1 => self.emit(control::init_one, &[offset(slots[0])]),
            Instruction::InitYregs(slots) => {
                self.emit(control::init_yregs, &[slots.len() as Word]);
                self.words.extend(slots.iter().map(|slot| offset(*slot)));
            }
            Instruction::Jump(target) => self.emit_with_label(control::jump, *target, &[]),
            Instruction::SelectValue { value, fail, cases } => self.select_value(*value, *fail, cases),
            Instruction::SelectTupleArity { value, fail, cases } => {
                let s = self.operand(*value);
                self.emit(by_source!(control::select_tuple_arity, s), &[s.word()]);
                self.label(*fail);
                self.words.push(cases.len() as Word);
                for (arity, target) in cases {
                    self.words.push(control::tuple_header(*arity));
                    self.label(*target);
                }
            }
            _ => return false,
        }
        true
    }

    /// A remote call; `tail` is the frame to give back.
    fn call_ext(&mut self, arity: u8, import: u32, tail: Option<u16>) {
        let export = self.linked.imports[import as usize];
        let address = std::ptr::from_ref(export) as Word;
        let number = registry().built_in_number(export.module, export.name, export.arity);
        match (tail, number) {
            (None, Some(number)) => self.emit_built_in(built_in::call_built_in, export, number, None),
            (None, None) => self.emit(control::call_ext, &[address, arity.into()]),
            (Some(frame), Some(number)) => self.emit_built_in(built_in::built_in_last, export, number, Some(frame)),
            (Some(frame), None) => self.emit(control::call_ext_last, &[address, arity.into(), offset(frame)]),
        }
    }

    fn select_value(&mut self, value: Source, fail: Label, cases: &[(Source, Label)]) {
        const FEW: usize = 6;
        let s = self.operand(value);
        let mut keys: Vec<(Term, Label)> = Vec::with_capacity(cases.len());
        for (key, label) in cases {
            if let Operand::K(term) = self.operand(*key) {
                keys.push((term, *label));
            }
        }
        // Big integers and floats as keys need a comparison by value, one after the other.
        if keys.iter().any(|(key, _)| !key.is_immediate()) {
            for (key, label) in keys {
                let chosen = by_source!(test::compare_exact_jump, s);
                self.emit_with_label(chosen, label, &[s.word(), key.word()]);
            }
            self.emit_with_label(control::jump, fail, &[]);
            return;
        }
        if keys.iter().all(|(key, _)| key.is_small()) && !keys.is_empty() {
            let first = keys.iter().map(|(key, _)| key.small_value()).min().unwrap_or(0);
            let last = keys.iter().map(|(key, _)| key.small_value()).max().unwrap_or(0);
            let span = last.wrapping_sub(first).wrapping_add(1);
            if span > 0 && span as usize <= keys.len() * 3 + 4 {
                self.emit(by_source!(control::select_table, s), &[s.word()]);
                self.label(fail);
                self.words.extend_from_slice(&[first as Word, span as Word]);
                for value in first..=last {
                    let target = keys.iter().find(|(key, _)| key.small_value() == value);
                    self.label(target.map_or(fail, |(_, label)| *label));
                }
                return;
            }
        }
        let chosen = if keys.len() <= FEW {
            by_source!(control::select_linear, s)
        } else {
            keys.sort_by_key(|(key, _)| key.word());
            by_source!(control::select_sorted, s)
        };
        self.emit(chosen, &[s.word()]);
        self.label(fail);
        self.words.push(keys.len() as Word);
        for (key, label) in keys {
            self.words.push(key.word());
            self.label(label);
        }
    }
}
