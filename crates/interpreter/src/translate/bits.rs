//! The bit syntax, and the tables that its instructions need.

use atoll_loader::instruction::{BitFlags, Instruction, Label, Register, Segment, SegmentSize, SegmentValue, Source};
use atoll_operations::bit_simple;
use atoll_term::{Term, Word};

use super::Writer;
use crate::handlers::{bit_match, bits};
use crate::operand::{Any, Operand, X, any_register};
use atoll_runtime::core::Handler;

/// Most bits of an integer segment that is read at once, and always a small integer.
const MOST_SMALL_BITS: u64 = 56;

/// The handler for a context in an X register, or in any, with its operand.
macro_rules! by_context {
    ($handler:ident, $context:expr) => {{
        let context = $context;
        match context {
            Operand::X(_) => (bit_match::$handler::<X> as Handler, context.word()),
            _ => (bit_match::$handler::<Any> as Handler, context.any()),
        }
    }};
}

/// As `by_context`, with a second operand.
macro_rules! by_two {
    ($handler:ident, $context:expr, $other:expr) => {{
        let (context, other) = ($context, $other);
        match (context, other) {
            (Operand::X(_), Operand::X(_)) => (bit_match::$handler::<X, X> as Handler, [context.word(), other.word()]),
            _ => (bit_match::$handler::<Any, Any> as Handler, [context.any(), other.any()]),
        }
    }};
}

impl Writer<'_> {
    pub(super) fn bits(&mut self, instruction: &Instruction) -> bool {
        match instruction {
            Instruction::BsStartMatch { fail, value, destination, .. } => {
                let (chosen, operands) = by_two!(start_match, self.operand(*value), self.register(*destination));
                self.emit_with_label(chosen, *fail, &operands);
            }
            Instruction::BsGetInteger {
                fail, context, size: Source::Small(size), unit, flags, destination, ..
            } if self.small_segment(*fail, *context, *size, *unit, *flags, *destination) => {}
            Instruction::BsGetInteger { fail, context, size, unit, flags, destination, .. } => {
                let operands = self.sized(*context, *size, *unit, bits::flags_word(*flags), *destination);
                self.emit_with_label(bit_match::get_integer, *fail, &operands);
            }
            Instruction::BsGetFloat { fail, context, size, unit, flags, destination, .. } => {
                let operands = self.sized(*context, *size, *unit, bits::flags_word(*flags), *destination);
                self.emit_with_label(bit_match::get_float, *fail, &operands);
            }
            Instruction::BsGetBinary { fail, context, size: Some(size), unit, destination, .. } => {
                let operands = [any_register(*context), self.any(*size), (*unit).into(), any_register(*destination)];
                self.emit_with_label(bit_match::get_binary, *fail, &operands);
            }
            Instruction::BsGetBinary { fail, context, size: None, unit, destination, .. } => {
                let operands = [any_register(*context), (*unit).into(), any_register(*destination)];
                self.emit_with_label(bit_match::get_binary_all, *fail, &operands);
            }
            Instruction::BsSkipBits { fail, context, size: Some(Source::Small(size @ 0..=0xffff_ffff)), unit } => {
                let bits = *size as Word * Word::from(*unit);
                let (chosen, s) = by_context!(skip_constant, self.register(*context));
                self.emit_with_label(chosen, *fail, &[s, bits]);
            }
            Instruction::BsSkipBits { fail, context, size: Some(size), unit } => {
                let operands = [any_register(*context), self.any(*size), (*unit).into()];
                self.emit_with_label(bit_match::skip, *fail, &operands);
            }
            Instruction::BsSkipBits { fail, context, size: None, unit } => {
                self.emit_with_label(bit_match::skip_all, *fail, &[any_register(*context), (*unit).into()]);
            }
            Instruction::BsTestTail { fail, context, bits: tail } => {
                let (chosen, s) = by_context!(test_tail, self.register(*context));
                self.emit_with_label(chosen, *fail, &[s, *tail]);
            }
            Instruction::BsTestUnit { fail, context, unit } => {
                let (chosen, s) = by_context!(test_unit, self.register(*context));
                self.emit_with_label(chosen, *fail, &[s, (*unit).into()]);
            }
            Instruction::BsMatchString { fail, context, bits: length, offset } => {
                let bytes = self.string(*offset, length.div_ceil(8) as usize);
                // A string that is short, and not cut off, is compared as a number.
                let padded = bytes.len() as u64 * 8;
                let short = (1..=MOST_SMALL_BITS).contains(length) && (*length..*length + 8).contains(&padded);
                let number = if short { bytes.iter().fold(0, |word, byte| word << 8 | Word::from(*byte)) } else { 0 };
                let table = keep(bits::Table::Bytes(bytes));
                let operands = [any_register(*context), *length, table, number >> (padded.wrapping_sub(*length) & 7)];
                let chosen: Handler = if short { bit_match::match_small } else { bit_match::match_string };
                self.emit_with_label(chosen, *fail, &operands);
            }
            Instruction::BsGetTail { context, destination, .. } => {
                self.emit(bit_match::get_tail, &[0, any_register(*context), any_register(*destination)]);
            }
            Instruction::BsGetPosition { context, destination, .. } => {
                let (chosen, operands) = by_two!(get_position, self.register(*context), self.register(*destination));
                self.emit(chosen, &operands);
            }
            Instruction::BsSetPosition { context, position } => {
                let (chosen, operands) = by_two!(set_position, self.register(*context), self.operand(*position));
                self.emit(chosen, &operands);
            }
            Instruction::BsGetUtf { fail, encoding, context, flags, destination, .. } => {
                let mut operands =
                    vec![any_register(*context), bits::encoding_word(*encoding), bits::flags_word(*flags)];
                let chosen: Handler = match destination {
                    Some(destination) => {
                        operands.push(any_register(*destination));
                        bit_match::get_utf
                    }
                    None => bit_match::skip_utf,
                };
                self.emit_with_label(chosen, *fail, &operands);
            }
            Instruction::BsMatch { fail, context, commands } => {
                let table = keep(bits::Table::Commands(commands.clone()));
                self.emit_with_label(bit_match::match_, *fail, &[any_register(*context), table]);
            }
            Instruction::BsCreateBin { fail, extra, live, destination, segments, .. } => {
                let prepared: Box<[_]> = segments.iter().map(|segment| self.prepare(segment)).collect();
                let table = match bit_simple::plan(segments, &self.linked.module.strings) {
                    Some(simple) => bits::Table::Simple(prepared, simple),
                    None => bits::Table::Segments(prepared),
                };
                let table = keep(table);
                let live = live.map_or(bits::NONE_COUNTED, Word::from);
                let operands = [(*extra).into(), live, table, any_register(*destination)];
                self.emit_with_label(bits::create, *fail, &operands);
            }
            Instruction::BsInitWritable => self.emit(bits::init_writable, &[]),
            _ => return false,
        }
        true
    }

    /// An integer segment of a constant size that always gives a small integer; false if it is none.
    fn small_segment(
        &mut self,
        fail: Label,
        context: Register,
        size: i64,
        unit: u16,
        flags: BitFlags,
        destination: Register,
    ) -> bool {
        let bits = u64::try_from(size).unwrap_or(0).saturating_mul(unit.into());
        let little = flags.little && bits > 8;
        if !(1..=MOST_SMALL_BITS).contains(&bits) || little && bits % 8 != 0 {
            return false;
        }
        let (s, d) = (self.register(context), self.register(destination));
        let both_x = matches!((s, d), (Operand::X(_), Operand::X(_)));
        let chosen: Handler = match (little, flags.signed, both_x) {
            (false, false, true) if bits == 8 => bit_match::get_byte::<X, X>,
            (false, false, true) => bit_match::get_small::<false, false, X, X>,
            (true, false, true) => bit_match::get_small::<true, false, X, X>,
            (false, true, true) => bit_match::get_small::<false, true, X, X>,
            (true, true, true) => bit_match::get_small::<true, true, X, X>,
            (false, false, false) => bit_match::get_small::<false, false, Any, Any>,
            (true, false, false) => bit_match::get_small::<true, false, Any, Any>,
            (false, true, false) => bit_match::get_small::<false, true, Any, Any>,
            (true, true, false) => bit_match::get_small::<true, true, Any, Any>,
        };
        let [s, d] = if both_x { [s.word(), d.word()] } else { [s.any(), d.any()] };
        self.emit_with_label(chosen, fail, &[s, bits, d]);
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
            SegmentValue::String { offset, length } => (Term::NIL.word(), self.string(offset, length as usize)),
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
