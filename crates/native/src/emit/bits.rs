//! Matching bitstrings. What lies on byte boundaries, or is short, is read here; the rest is done by functions.

use atoll_loader::instruction::{BitFlags, Instruction, Label, Register, Source};
use atoll_operations::bit_match::{self, context};
use atoll_runtime::core::Helper;
use atoll_term::{Header, Kind, OffHeapBinary, Term, Word};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::{I8, I16, I32, I64};
use cranelift_codegen::ir::{Block, InstBuilder, MemFlags, Value};

use super::{Emitter, bit};
use crate::help;

/// Bits below the value of a small integer.
const SMALL_SHIFT: i64 = 4;
const SMALL_TAG: i64 = 0xf;
/// The bits of a position, a small integer, that are 0 on byte boundaries.
const WITHIN_BYTE: i64 = 7 << SMALL_SHIFT;
/// Most bits that one load of eight bytes has, wherever they begin.
pub const MOST_PEEKED: u64 = 56;

/// The header of a view of a part of a bitstring, and the words of the whole.
const VIEW: Word = Header::new(Kind::SubBits, VIEW_WORDS as usize - 1).word();
const VIEW_WORDS: i64 = 4;
/// Bits of the longest part that is copied.
const MOST_COPIED: i64 = bit_match::COPIED_BYTES as i64 * 8;

/// What stands in a context where a segment of a known size begins.
#[derive(Clone, Copy)]
struct Segment {
    context: Value,
    position: Value,
    end: Value,
    /// The position behind the segment.
    next: Value,
}

/// Bits of a segment whose size is known and small.
fn constant_bits(size: Source, unit: u16) -> Option<u64> {
    let Source::Small(size) = size else { return None };
    u64::try_from(size).ok()?.checked_mul(unit.into()).filter(|bits| *bits < 1 << 32)
}

/// A short string as a number, if it lies in the table.
pub fn short_string(strings: &[u8], offset: u32, bits: u64) -> Option<Word> {
    if !(1..=MOST_PEEKED).contains(&bits) {
        return None;
    }
    let bytes = strings.get(offset as usize..)?.get(..bits.div_ceil(8) as usize)?;
    let number = bytes.iter().fold(0, |number, byte| number << 8 | Word::from(*byte));
    Some(number >> (bytes.len() as u64 * 8 - bits))
}

impl Emitter<'_, '_> {
    pub(super) fn bits(&mut self, index: usize) {
        use Instruction as I;
        match self.flow.instruction(index) {
            I::BsStartMatch { fail, value, destination, .. } => self.start_match(index, *fail, *value, *destination),
            I::BsGetInteger { fail, context, size, unit, flags, destination, .. } => {
                match constant_bits(*size, *unit).filter(|bits| (1..=MOST_PEEKED).contains(bits)) {
                    Some(bits) if !flags.little || bits.is_multiple_of(8) => {
                        self.small_integer(index, *fail, *context, bits, *flags, *destination);
                    }
                    _ => {
                        let value = self.segment_by(help::get_integer, index, *fail, *context, *size, *unit, *flags);
                        self.write(*destination, value);
                    }
                }
            }
            I::BsGetFloat { fail, context, size, unit, flags, destination, .. } => {
                let value = self.segment_by(help::get_float, index, *fail, *context, *size, *unit, *flags);
                self.write(*destination, value);
            }
            I::BsGetBinary { fail, context, size, unit, destination, .. } => {
                let value = match size {
                    Some(size) => {
                        let flags = BitFlags::default();
                        self.segment_by(help::get_binary, index, *fail, *context, *size, *unit, flags)
                    }
                    None => self.all_the_rest(index, *fail, *context, *unit),
                };
                self.write(*destination, value);
            }
            I::BsGetTail { context, destination, .. } => {
                let value = self.all_the_rest(index, Label::NONE, *context, 1);
                self.write(*destination, value);
            }
            I::BsSkipBits { fail, context, size, unit } => self.skip(index, *fail, *context, *size, *unit),
            I::BsTestTail { fail, context, bits } => {
                let failure = self.failure(index, *fail);
                let rest = self.rest(*context, failure);
                let same = self.equals(rest, bits << SMALL_SHIFT);
                self.unless(same, failure);
            }
            I::BsTestUnit { fail, context, unit } => {
                let failure = self.failure(index, *fail);
                let rest = self.rest(*context, failure);
                self.in_units(rest, *unit, failure);
            }
            I::BsMatchString { fail, context, bits, offset } => {
                let failure = self.failure(index, *fail);
                let segment = self.segment(*context, *bits, failure);
                let exit = self.exit(index);
                let found = self.peek(&segment, *bits, exit);
                let strings = &self.flow.linked.module.strings;
                let same = self.equals(found, short_string(strings, *offset, *bits).unwrap_or_default());
                self.unless(same, failure);
                self.advance(&segment);
            }
            I::BsGetPosition { context, destination, .. } => {
                let exit = self.exit(index);
                let context = self.context(*context, exit);
                let position = self.load_boxed(context, context::POSITION);
                self.write(*destination, position);
                self.set_small((*destination).into(), true);
            }
            I::BsSetPosition { context, position } => {
                let exit = self.exit(index);
                let context = self.context(*context, exit);
                let position = self.read(*position);
                let small = self.tag(position, SMALL_TAG);
                let small = self.equals(small, SMALL_TAG as Word);
                self.unless(small, exit);
                let end = self.load_boxed(context, context::END);
                let inside = self.b.ins().icmp(IntCC::UnsignedLessThanOrEqual, position, end);
                self.unless(inside, exit);
                self.store_boxed(position, context, context::POSITION);
            }
            I::BsGetUtf { fail, context, destination, .. } => self.get_utf8(index, *fail, *context, *destination),
            other => unreachable!("{other:?} matches no bits"),
        }
    }

    fn start_match(&mut self, index: usize, fail: Label, value: Source, destination: Register) {
        let value = self.read(value);
        let (done, result) = self.joined(I64);
        let other = self.b.create_block();
        self.b.set_cold_block(other);
        // Functions of strings ask lists, too, whether they are bitstrings.
        let failure = self.failure(index, fail);
        self.boxed(value, failure);
        let header = self.load_boxed(value, 0);
        let is_context = self.equals(header, context::HEADER);
        let none = self.b.create_block();
        self.b.ins().brif(is_context, done, &[value.into()], none, &[]);
        self.b.switch_to_block(none);
        // Most binaries that a match begins with are what another match has left.
        let is_view = self.equals(header, VIEW);
        self.unless(is_view, other);
        self.room((1 + context::ARITY as i64) * 8, other);
        let [start, end, underlying] = [1, 2, 3].map(|word| self.load_boxed(value, word));
        let header = self.constant(context::HEADER);
        let made = self.object(&[header, start, start, end, underlying], super::data::BOXED);
        self.b.ins().jump(done, &[made.into()]);

        self.b.switch_to_block(other);
        let carried = self.carried();
        let made = self.help(help::start_match, &[carried[0], carried[1], carried[2], value]);
        let made = self.helped(index, fail, made);
        self.b.ins().jump(done, &[made.into()]);
        self.b.switch_to_block(done);
        self.write(destination, result);
    }

    /// All that a match has left, as a bitstring.
    fn all_the_rest(&mut self, index: usize, fail: Label, context: Register, unit: u16) -> Value {
        let (done, result) = self.joined(I64);
        let other = self.b.create_block();
        self.b.set_cold_block(other);
        if unit.is_power_of_two() {
            let rest = self.rest(context, other);
            self.in_units(rest, unit, other);
            let is_long = self.b.ins().icmp_imm(IntCC::UnsignedGreaterThan, rest, MOST_COPIED << SMALL_SHIFT);
            self.unless(is_long, other);
            let object = self.read(context.into());
            let [position, end, underlying] =
                [context::POSITION, context::END, context::UNDERLYING].map(|word| self.load_boxed(object, word));
            let start = self.equals(position, Term::small(0).word());
            self.unless_set(start, other);
            self.room(VIEW_WORDS * 8, other);
            let header = self.constant(VIEW);
            let made = self.object(&[header, position, end, underlying], super::data::BOXED);
            self.b.ins().jump(done, &[made.into()]);
        } else {
            self.b.ins().jump(other, &[]);
        }
        self.b.switch_to_block(other);
        let made = self.segment_by(help::get_rest, index, fail, context, Source::Nil, unit, BitFlags::default());
        self.b.ins().jump(done, &[made.into()]);
        self.b.switch_to_block(done);
        result
    }

    /// The value of a segment that a function reads.
    #[expect(clippy::too_many_arguments, reason = "what segments have")]
    fn segment_by(
        &mut self,
        function: Helper,
        index: usize,
        fail: Label,
        context: Register,
        size: Source,
        unit: u16,
        flags: BitFlags,
    ) -> Value {
        let (context, size) = (self.read(context.into()), self.read(size));
        let shape = self.constant(help::shape(unit, flags));
        let carried = self.carried();
        let value = self.help(function, &[carried[0], carried[1], carried[2], context, size, shape]);
        self.helped(index, fail, value)
    }

    /// A match context; what is none goes elsewhere.
    fn context(&mut self, register: Register, otherwise: Block) -> Value {
        let value = self.read(register.into());
        if matches!(register, Register::X(x) if self.flow.contexts(self.at) & bit(x) != 0) {
            return value;
        }
        let boxed = self.has_tag(value, 3, 0b10);
        self.unless(boxed, otherwise);
        let header = self.load_boxed(value, 0);
        let is_context = self.equals(header, context::HEADER);
        self.unless(is_context, otherwise);
        value
    }

    fn segment(&mut self, context: Register, bits: u64, otherwise: Block) -> Segment {
        let context = self.context(context, otherwise);
        let position = self.load_boxed(context, context::POSITION);
        let end = self.load_boxed(context, context::END);
        let next = self.b.ins().iadd_imm(position, (bits << SMALL_SHIFT) as i64);
        let inside = self.b.ins().icmp(IntCC::UnsignedLessThanOrEqual, next, end);
        self.unless(inside, otherwise);
        Segment { context, position, end, next }
    }

    fn advance(&mut self, segment: &Segment) {
        self.store_boxed(segment.next, segment.context, context::POSITION);
    }

    fn store_boxed(&mut self, value: Value, object: Value, word: usize) {
        let place = self.b.ins().iadd_imm(object, word as i64 * 8 - 0b10);
        self.store(value, place, 0);
    }

    /// The bits that remain, shifted as a small integer is, without its tag.
    fn rest(&mut self, context: Register, otherwise: Block) -> Value {
        let context = self.context(context, otherwise);
        let position = self.load_boxed(context, context::POSITION);
        let end = self.load_boxed(context, context::END);
        self.b.ins().isub(end, position)
    }

    /// Goes on if the rest is of whole units, whose size is a power of two.
    fn in_units(&mut self, rest: Value, unit: u16, otherwise: Block) {
        if unit > 1 {
            let part = self.b.ins().band_imm(rest, (i64::from(unit) - 1) << SMALL_SHIFT);
            let whole = self.b.ins().icmp_imm(IntCC::Equal, part, 0);
            self.unless(whole, otherwise);
        }
    }

    /// Address of the first byte of what a context looks into.
    fn first_byte(&mut self, context: Value) -> Value {
        let underlying = self.load_boxed(context, context::UNDERLYING);
        let header = self.load_boxed(underlying, 0);
        let is_here = self.has_tag(header, super::test::KIND, Header::new(Kind::HeapBits, 0).word());
        let (done, first) = self.joined(I64);
        let outside = self.b.create_block();
        let here = self.b.ins().iadd_imm(underlying, 2 * 8 - 0b10);
        self.b.ins().brif(is_here, done, &[here.into()], outside, &[]);
        self.b.switch_to_block(outside);
        let binary = self.load_boxed(underlying, 1);
        let there = self.load(binary, OffHeapBinary::DATA);
        self.b.ins().jump(done, &[there.into()]);
        self.b.switch_to_block(done);
        first
    }

    /// Loads the bytes at the segment's start; one that begins within a byte goes elsewhere.
    fn load_bytes(&mut self, segment: &Segment, bits: u64, flags: BitFlags, otherwise: Block) -> Value {
        let within = self.b.ins().band_imm(segment.position, WITHIN_BYTE);
        let whole = self.b.ins().icmp_imm(IntCC::Equal, within, 0);
        self.unless(whole, otherwise);
        let first = self.first_byte(segment.context);
        let byte = self.b.ins().ushr_imm(segment.position, SMALL_SHIFT + 3);
        let place = self.b.ins().iadd(first, byte);
        let kind = match bits {
            8 => I8,
            16 => I16,
            _ => I32,
        };
        let loaded = self.b.ins().load(kind, unaligned(), place, 0);
        let ordered = if flags.little || bits == 8 { loaded } else { self.b.ins().bswap(loaded) };
        if flags.signed { self.b.ins().sextend(I64, ordered) } else { self.b.ins().uextend(I64, ordered) }
    }

    /// The next bits as a number, most significant first, by one load of eight bytes. Where the whole has not so many
    /// and lies outside of the heap, control goes elsewhere.
    fn peek(&mut self, segment: &Segment, bits: u64, otherwise: Block) -> Value {
        let end = self.b.ins().ushr_imm(segment.end, SMALL_SHIFT);
        let end = self.b.ins().iadd_imm(end, 7);
        let end = self.b.ins().ushr_imm(end, 3);
        let last = self.b.ins().iadd_imm(end, -8);
        let (go, last_from) = self.joined(I64);
        let short = self.b.create_block();
        let long = self.b.ins().icmp_imm(IntCC::SignedGreaterThanOrEqual, last, 0);
        self.b.ins().brif(long, go, &[last.into()], short, &[]);
        // Bytes on the heap are in whole words.
        self.b.switch_to_block(short);
        let underlying = self.load_boxed(segment.context, context::UNDERLYING);
        let header = self.load_boxed(underlying, 0);
        let is_here = self.has_tag(header, super::test::KIND, Header::new(Kind::HeapBits, 0).word());
        self.unless(is_here, otherwise);
        let start = self.constant(0);
        self.b.ins().jump(go, &[start.into()]);
        self.b.switch_to_block(go);
        let first = self.first_byte(segment.context);
        let byte = self.b.ins().ushr_imm(segment.position, SMALL_SHIFT + 3);
        // Near the end the load ends with the last byte.
        let early = self.b.ins().icmp(IntCC::UnsignedLessThan, byte, last_from);
        let from = self.b.ins().select(early, byte, last_from);
        let place = self.b.ins().iadd(first, from);
        let word = self.b.ins().load(I64, unaligned(), place, 0);
        let word = self.b.ins().bswap(word);
        let position = self.b.ins().ushr_imm(segment.position, SMALL_SHIFT);
        let skipped = self.b.ins().ishl_imm(from, 3);
        let skipped = self.b.ins().isub(position, skipped);
        let word = self.b.ins().ishl(word, skipped);
        self.b.ins().ushr_imm(word, 64 - bits as i64)
    }

    fn small_integer(
        &mut self,
        index: usize,
        fail: Label,
        context: Register,
        bits: u64,
        flags: BitFlags,
        destination: Register,
    ) {
        let failure = self.failure(index, fail);
        let segment = self.segment(context, bits, failure);
        let (done, result) = self.joined(I64);
        let slow = self.b.create_block();
        self.b.set_cold_block(slow);
        let value = if matches!(bits, 8 | 16 | 32) {
            self.load_bytes(&segment, bits, flags, slow)
        } else {
            let read = self.peek(&segment, bits, slow);
            let read = if flags.little {
                let swapped = self.b.ins().bswap(read);
                self.b.ins().ushr_imm(swapped, 64 - bits as i64)
            } else {
                read
            };
            if flags.signed {
                let high = self.b.ins().ishl_imm(read, 64 - bits as i64);
                self.b.ins().sshr_imm(high, 64 - bits as i64)
            } else {
                read
            }
        };
        self.advance(&segment);
        let shifted = self.b.ins().ishl_imm(value, SMALL_SHIFT);
        let term = self.b.ins().bor_imm(shifted, SMALL_TAG);
        self.b.ins().jump(done, &[term.into()]);
        self.b.switch_to_block(slow);
        let size = self.constant(Term::small(bits as i64).word());
        let shape = self.constant(help::shape(1, flags));
        let carried = self.carried();
        let arguments = [carried[0], carried[1], carried[2], segment.context, size, shape];
        let term = self.help(help::get_integer, &arguments);
        let term = self.helped(index, fail, term);
        self.b.ins().jump(done, &[term.into()]);
        self.b.switch_to_block(done);
        self.write(destination, result);
        self.set_small(destination.into(), true);
    }

    fn skip(&mut self, index: usize, fail: Label, context: Register, size: Option<Source>, unit: u16) {
        let failure = self.failure(index, fail);
        match size.map(|size| (size, constant_bits(size, unit))) {
            Some((_, Some(bits))) => {
                let segment = self.segment(context, bits, failure);
                self.advance(&segment);
            }
            Some((size, None)) => {
                let (context, size) = (self.read(context.into()), self.read(size));
                let unit = self.constant(unit.into());
                let done = self.help(help::skip, &[context, size, unit]);
                self.unless(done, failure);
            }
            None => {
                let context = self.context(context, failure);
                let position = self.load_boxed(context, context::POSITION);
                let end = self.load_boxed(context, context::END);
                let rest = self.b.ins().isub(end, position);
                self.in_units(rest, unit, failure);
                self.store_boxed(end, context, context::POSITION);
            }
        }
    }

    /// A code point: one of up to three bytes here, others by a function.
    fn get_utf8(&mut self, index: usize, fail: Label, context: Register, destination: Option<Register>) {
        let failure = self.failure(index, fail);
        let segment = self.segment(context, 8, failure);
        let (done, result) = self.joined(I64);
        let (other, longer) = (self.b.create_block(), self.b.create_block());
        self.b.set_cold_block(other);
        let byte = self.load_bytes(&segment, 8, BitFlags::default(), other);
        let plain = self.b.ins().icmp_imm(IntCC::UnsignedLessThan, byte, 0x80);
        self.unless(plain, longer);
        self.found_code_point(&segment, byte, done);

        // Of first bytes that any two or three bytes can follow which are marked as such.
        self.b.switch_to_block(longer);
        let first = self.first_byte(segment.context);
        let place = self.b.ins().ushr_imm(segment.position, SMALL_SHIFT + 3);
        let place = self.b.ins().iadd(first, place);
        let three = self.b.create_block();
        let of_two = self.between(byte, 0xc2, 0xdf);
        self.unless(of_two, three);
        let high = self.b.ins().band_imm(byte, 0x1f);
        let (point, next) = self.continued(&segment, (place, 1), high, other);
        self.found_code_point(&Segment { next, ..segment }, point, done);

        self.b.switch_to_block(three);
        let of_three = self.between(byte, 0xe1, 0xef);
        self.unless(of_three, other);
        let surrogate = self.b.ins().icmp_imm(IntCC::NotEqual, byte, 0xed);
        self.unless(surrogate, other);
        let high = self.b.ins().band_imm(byte, 0xf);
        let (point, _) = self.continued(&segment, (place, 1), high, other);
        let (point, next) = self.continued(&segment, (place, 2), point, other);
        self.found_code_point(&Segment { next, ..segment }, point, done);

        self.b.switch_to_block(other);
        let term = self.help(help::get_utf8, &[segment.context]);
        self.unless(term, failure);
        self.b.ins().jump(done, &[term.into()]);
        self.b.switch_to_block(done);
        if let Some(destination) = destination {
            self.write(destination, result);
            self.set_small(destination.into(), true);
        }
    }

    fn found_code_point(&mut self, segment: &Segment, point: Value, done: Block) {
        self.advance(segment);
        let shifted = self.b.ins().ishl_imm(point, SMALL_SHIFT);
        let term = self.b.ins().bor_imm(shifted, SMALL_TAG);
        self.b.ins().jump(done, &[term.into()]);
    }

    /// Whether a byte is one of these.
    fn between(&mut self, byte: Value, low: i64, high: i64) -> Value {
        let above = self.b.ins().iadd_imm(byte, -low);
        self.b.ins().icmp_imm(IntCC::UnsignedLessThanOrEqual, above, high - low)
    }

    /// A code point so far, with the six bits of the byte so far behind the first, and the position behind that byte.
    /// What is no such byte goes elsewhere.
    fn continued(
        &mut self,
        segment: &Segment,
        (first, distance): (Value, i32),
        so_far: Value,
        otherwise: Block,
    ) -> (Value, Value) {
        let next = self.b.ins().iadd_imm(segment.position, i64::from(distance + 1) << (SMALL_SHIFT + 3));
        let inside = self.b.ins().icmp(IntCC::UnsignedLessThanOrEqual, next, segment.end);
        self.unless(inside, otherwise);
        let byte = self.b.ins().uload8(I64, unaligned(), first, distance);
        let mark = self.b.ins().band_imm(byte, 0xc0);
        let marked = self.equals(mark, 0x80);
        self.unless(marked, otherwise);
        let low = self.b.ins().band_imm(byte, 0x3f);
        let high = self.b.ins().ishl_imm(so_far, 6);
        (self.b.ins().bor(high, low), next)
    }
}

/// Bytes are loaded from anywhere.
fn unaligned() -> MemFlags {
    MemFlags::new().with_notrap()
}
