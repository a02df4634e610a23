//! The bit syntax, and the tables that its instructions need.

use atoll_loader::instruction::{Instruction, Register, Segment, SegmentSize, SegmentValue, Source};
use atoll_term::Word;

use super::Writer;
use crate::core::Handler;
use crate::handlers::bits;
use crate::operand::any_register;

impl Writer<'_> {
    pub(super) fn bits(&mut self, instruction: &Instruction) -> bool {
        match instruction {
            Instruction::BsStartMatch { fail, value, destination, .. } => {
                self.emit_with_label(bits::start_match, *fail, &[self.any(*value), any_register(*destination)]);
            }
            Instruction::BsGetInteger { fail, context, size, unit, flags, destination, .. } => {
                let operands = self.sized(*context, *size, *unit, bits::flags_word(*flags), *destination);
                self.emit_with_label(bits::get_integer, *fail, &operands);
            }
            Instruction::BsGetFloat { fail, context, size, unit, flags, destination, .. } => {
                let operands = self.sized(*context, *size, *unit, bits::flags_word(*flags), *destination);
                self.emit_with_label(bits::get_float, *fail, &operands);
            }
            Instruction::BsGetBinary { fail, context, size: Some(size), unit, destination, .. } => {
                let operands = [any_register(*context), self.any(*size), (*unit).into(), any_register(*destination)];
                self.emit_with_label(bits::get_binary, *fail, &operands);
            }
            Instruction::BsGetBinary { fail, context, size: None, unit, destination, .. } => {
                let operands = [any_register(*context), (*unit).into(), any_register(*destination)];
                self.emit_with_label(bits::get_binary_all, *fail, &operands);
            }
            Instruction::BsSkipBits { fail, context, size: Some(size), unit } => {
                let operands = [any_register(*context), self.any(*size), (*unit).into()];
                self.emit_with_label(bits::skip, *fail, &operands);
            }
            Instruction::BsSkipBits { fail, context, size: None, unit } => {
                self.emit_with_label(bits::skip_all, *fail, &[any_register(*context), (*unit).into()]);
            }
            Instruction::BsTestTail { fail, context, bits: tail } => {
                self.emit_with_label(bits::test_tail, *fail, &[any_register(*context), *tail]);
            }
            Instruction::BsTestUnit { fail, context, unit } => {
                self.emit_with_label(bits::test_unit, *fail, &[any_register(*context), (*unit).into()]);
            }
            Instruction::BsMatchString { fail, context, bits: length, offset } => {
                let bytes = self.string(*offset, length.div_ceil(8) as usize);
                let table = keep(bits::Table::Bytes(bytes));
                self.emit_with_label(bits::match_string, *fail, &[any_register(*context), *length, table]);
            }
            Instruction::BsGetTail { context, destination, .. } => {
                self.emit(bits::get_tail, &[0, any_register(*context), any_register(*destination)]);
            }
            Instruction::BsGetPosition { context, destination, .. } => {
                self.emit(bits::get_position, &[any_register(*context), any_register(*destination)]);
            }
            Instruction::BsSetPosition { context, position } => {
                self.emit(bits::set_position, &[any_register(*context), self.any(*position)]);
            }
            Instruction::BsGetUtf { fail, encoding, context, flags, destination, .. } => {
                let mut operands =
                    vec![any_register(*context), bits::encoding_word(*encoding), bits::flags_word(*flags)];
                let chosen: Handler = match destination {
                    Some(destination) => {
                        operands.push(any_register(*destination));
                        bits::get_utf
                    }
                    None => bits::skip_utf,
                };
                self.emit_with_label(chosen, *fail, &operands);
            }
            Instruction::BsMatch { fail, context, commands } => {
                let table = keep(bits::Table::Commands(commands.clone()));
                self.emit_with_label(bits::match_, *fail, &[any_register(*context), table]);
            }
            Instruction::BsCreateBin { fail, extra, live, destination, segments, .. } => {
                let prepared = segments.iter().map(|segment| self.prepare(segment)).collect();
                let table = keep(bits::Table::Segments(prepared));
                let operands = [(*extra).into(), (*live).into(), table, any_register(*destination)];
                self.emit_with_label(bits::create, *fail, &operands);
            }
            Instruction::BsInitWritable => self.emit(bits::init_writable, &[]),
            _ => return false,
        }
        true
    }

    fn sized(&self, context: Register, size: Source, unit: u16, flags: Word, destination: Register) -> [Word; 5] {
        [any_register(context), self.any(size), unit.into(), flags, any_register(destination)]
    }

    fn string(&self, offset: u32, length: usize) -> Box<[u8]> {
        let strings = &self.linked.module.strings;
        let from = (offset as usize).min(strings.len());
        strings[from..(from + length).min(strings.len())].into()
    }

    fn prepare(&self, segment: &Segment) -> bits::PreparedSegment {
        let (value, bytes) = match segment.value {
            SegmentValue::Term(source) => (self.any(source), Box::default()),
            SegmentValue::String { offset, length } => (0, self.string(offset, length as usize)),
        };
        let size = match segment.size {
            SegmentSize::Units(source) => self.any(source),
            SegmentSize::All | SegmentSize::Undefined => 0,
        };
        bits::PreparedSegment { segment: *segment, value, size, bytes }
    }

    pub(super) fn old_bits(&mut self, instruction: &Instruction) -> bool {
        match instruction {
            Instruction::BsInit { fail, size, bits: in_bits, extra, live, destination } => {
                let unit = if *in_bits { 1 } else { 8 };
                let operands = [self.any(*size), unit, (*extra).into(), (*live).into(), any_register(*destination)];
                self.emit_with_label(bits::old_init, *fail, &operands);
            }
            Instruction::BsAppend { fail, size, extra, live, unit, binary, private, destination } => {
                let operands = [
                    self.any(*size),
                    (*unit).into(),
                    self.any(*binary),
                    (*private).into(),
                    (*extra).into(),
                    (*live).into(),
                    any_register(*destination),
                ];
                self.emit_with_label(bits::old_append, *fail, &operands);
            }
            Instruction::BsPut { fail, segment } => {
                let table = keep(bits::Table::Segments(Box::new([self.prepare(segment)])));
                self.emit_with_label(bits::old_put, *fail, &[table]);
            }
            Instruction::BsAdd { fail, first, second, unit, destination } => {
                let operands = [self.any(*first), self.any(*second), (*unit).into(), any_register(*destination)];
                self.emit_with_label(bits::old_add, *fail, &operands);
            }
            Instruction::BsUtfSize { encoding, value, destination, .. } => {
                let operands = [self.any(*value), bits::encoding_word(*encoding), any_register(*destination)];
                self.emit(bits::old_utf_size, &operands);
            }
            _ => return false,
        }
        true
    }
}

/// Keeps a table for as long as the machine runs: code may be purged while a copy of its words is still being run.
fn keep(table: bits::Table) -> Word {
    std::ptr::from_ref(Box::leak(Box::new(table))) as Word
}
