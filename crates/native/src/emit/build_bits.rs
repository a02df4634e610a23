//! Building bitstrings: the first engine's operation is called with the segments' values.

use atoll_loader::instruction::{Instruction, Label, Segment, SegmentValue};
use atoll_operations::bit_simple::{self, AddedWord};
use atoll_term::{Header, Kind, OffHeapBinary, Word};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{Block, InstBuilder, MemFlags, Value};

use super::test::KIND;
use super::{Emitter, x_offset};
use crate::help;

/// Of bytes inside of a binary.
const UNALIGNED: MemFlags = MemFlags::new().with_notrap();

impl Emitter<'_, '_> {
    /// `bs_create_bin`. What is not as it ought to be leaves to the first engine, which finds out why.
    pub(super) fn create_bits(&mut self, index: usize) {
        let Instruction::BsCreateBin { extra, destination, segments, .. } = self.flow.instruction(index) else {
            unreachable!("no bitstring is built")
        };
        let exit = self.exit(index);
        let plan = bit_simple::plan(segments, &self.flow.linked.module.strings).unwrap_or_default();
        // Room for the bitstring and for what the instructions behind it build.
        let words = bit_simple::most_words(&plan);
        self.room((words as i64 + i64::from(*extra)) * 8, exit);
        if let Some(integers) = bit_simple::one_word(&plan) {
            let (bytes, bits) = self.word(&integers, segments, exit);
            let header = self.constant(Header::new(Kind::HeapBits, 2).word());
            let length = self.constant(bits as Word);
            return self.build(&[header, length, bytes], super::data::BOXED, *destination);
        }
        let (done, result) = self.joined(I64);
        if let Some(added) = bit_simple::one_word_added(&plan).filter(|added| matches!(added.unit, 1 | 8)) {
            let slow = self.b.create_block();
            let made = self.added(&added, segments, slow);
            self.b.ins().jump(done, &[made.into()]);
            self.b.switch_to_block(slow);
            self.b.set_cold_block(slow);
        }
        for (place, segment) in segments.iter().enumerate() {
            if let SegmentValue::Term(source) = segment.value {
                let (core, value) = (self.core(), self.read(source));
                self.store(value, core, x_offset((help::ARGUMENTS + place) as u16));
            }
        }
        let (first, count) = (self.varying(plan.as_ptr() as Word), self.constant(plan.len() as Word));
        self.plans.push(plan);
        let carried = self.carried();
        let words = self.constant(words as Word);
        let made = self.help(help::create, &[carried[0], carried[1], carried[2], first, count, words]);
        let made = self.helped(index, Label::NONE, made);
        self.b.ins().jump(done, &[made.into()]);
        self.b.switch_to_block(done);
        self.write(*destination, result);
    }

    /// A bitstring with integers added behind it, if that is possible where it lies, as in
    /// `bit_construct::append`: it is a view of a binary with room, and nothing was added behind the view yet.
    fn added(&mut self, added: &AddedWord, segments: &[Segment], otherwise: Block) -> Value {
        let SegmentValue::Term(source) = segments[0].value else { unreachable!("what is added to has a value") };
        let view = self.read(source);
        let (word, bits) = self.word(&added.integers, &segments[1..], otherwise);
        self.boxed(view, otherwise);
        let header = self.load_boxed(view, 0);
        let is_view = self.has_tag(header, KIND, Header::new(Kind::SubBits, 0).word());
        self.unless(is_view, otherwise);
        // Both are small integers, of bits.
        let (first, end) = (self.load_boxed(view, 1), self.load_boxed(view, 2));
        let ends = if added.unit == 8 { self.b.ins().bor(first, end) } else { end };
        let whole = self.has_tag(ends, 0x70, 0);
        self.unless(whole, otherwise);
        let under = self.load_boxed(view, 3);
        let header = self.load_boxed(under, 0);
        let is_outside = self.has_tag(header, KIND, Header::new(Kind::BinaryHandle, 0).word());
        self.unless(is_outside, otherwise);
        let binary = self.load_boxed(under, 1);
        let from = self.b.ins().ushr_imm(end, 7);
        let to = self.b.ins().iadd_imm(from, bits as i64 / 8);
        let room = self.load(binary, OffHeapBinary::ROOM);
        let fits = self.b.ins().icmp(IntCC::SignedLessThanOrEqual, to, room);
        self.unless(fits, otherwise);
        // Older views may be anywhere: the bytes are this process's when it has said so first.
        let used = self.b.ins().iadd_imm(binary, OffHeapBinary::USED as i64);
        let before = self.b.ins().atomic_cas(MemFlags::trusted(), used, from, to);
        let claimed = self.b.ins().icmp(IntCC::Equal, before, from);
        self.unless(claimed, otherwise);
        let data = self.load(binary, OffHeapBinary::DATA);
        let place = self.b.ins().iadd(data, from);
        match bits {
            8 => self.b.ins().istore8(MemFlags::trusted(), word, place, 0),
            16 => self.b.ins().istore16(UNALIGNED, word, place, 0),
            32 => self.b.ins().istore32(UNALIGNED, word, place, 0),
            _ => self.b.ins().store(UNALIGNED, word, place, 0),
        };
        let end = self.b.ins().iadd_imm(end, (bits as i64) << 4);
        if added.private {
            let last = self.b.ins().iadd_imm(view, 16 - super::data::BOXED);
            self.store(end, last, 0);
            return view;
        }
        let header = self.constant(Header::new(Kind::SubBits, 3).word());
        self.object(&[header, first, end, under], super::data::BOXED)
    }

    /// Integers that fit into a word together: `bits` of each, and whether its bytes are the other way round. Gives the
    /// word whose first bytes in memory they are, and how many bits there are.
    fn word(&mut self, integers: &[(usize, bool)], segments: &[Segment], otherwise: Block) -> (Value, usize) {
        let mut word = self.constant(0);
        let mut sum = 0;
        for ((bits, swapped), segment) in integers.iter().zip(segments) {
            let SegmentValue::Term(source) = segment.value else { unreachable!("an integer has a value") };
            let value = self.read(source);
            if !self.is_small(source) {
                let small = self.has_tag(value, 0xf, 0xf);
                self.unless(small, otherwise);
            }
            // A small integer has 60 bits; its sign fills what is above.
            let value = self.b.ins().sshr_imm(value, 4);
            let above = 64 - *bits as i64;
            // The highest bits of a word, then the low ones of it.
            let high = if *swapped { self.b.ins().bswap(value) } else { self.b.ins().ishl_imm(value, above) };
            let low = self.b.ins().ushr_imm(high, above);
            let before = if *bits == 64 { low } else { self.b.ins().ishl_imm(word, *bits as i64) };
            word = if *bits == 64 { low } else { self.b.ins().bor(before, low) };
            sum += bits;
        }
        let first = self.b.ins().ishl_imm(word, 64 - sum as i64);
        (self.b.ins().bswap(first), sum)
    }
}
