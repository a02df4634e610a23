//! Building bitstrings: the first engine's operation is called with the segments' values.

use atoll_loader::instruction::{Instruction, Label, Register, Segment, SegmentValue};
use atoll_operations::bit_simple;
use atoll_term::{Header, Kind, Word};
use cranelift_codegen::ir::{Block, InstBuilder};

use super::{Emitter, x_offset};
use crate::help;

impl Emitter<'_, '_> {
    /// `bs_create_bin`. What is not as it ought to be leaves to the first engine, which finds out why.
    pub(super) fn create_bits(&mut self, index: usize) {
        let Instruction::BsCreateBin { extra, destination, segments, .. } = self.flow.instruction(index) else {
            unreachable!("no bitstring is built")
        };
        let exit = self.exit(index);
        let plan = bit_simple::plan(segments, &self.flow.linked.module.strings).unwrap_or_default();
        // Room for the bitstring and for what the instructions behind it build.
        self.room((bit_simple::most_words(&plan) as i64 + i64::from(*extra)) * 8, exit);
        if let Some(integers) = bit_simple::one_word(&plan) {
            return self.create_word(&integers, segments, exit, *destination);
        }
        for (place, segment) in segments.iter().enumerate() {
            if let SegmentValue::Term(source) = segment.value {
                let (core, value) = (self.core(), self.read(source));
                self.store(value, core, x_offset((help::ARGUMENTS + place) as u16));
            }
        }
        let (first, count) = (self.constant(plan.as_ptr() as Word), self.constant(plan.len() as Word));
        self.plans.push(plan);
        let carried = self.carried();
        let made = self.help(help::create, &[carried[0], carried[1], carried[2], first, count]);
        let made = self.helped(index, Label::NONE, made);
        self.write(*destination, made);
    }

    /// A bitstring of integers that fit into a word: `bits` of each, and whether its bytes are the other way round.
    fn create_word(&mut self, integers: &[(usize, bool)], segments: &[Segment], exit: Block, destination: Register) {
        let mut word = self.constant(0);
        let mut sum = 0;
        for ((bits, swapped), segment) in integers.iter().zip(segments) {
            let SegmentValue::Term(source) = segment.value else { unreachable!("an integer has a value") };
            let value = self.read(source);
            if !self.is_small(source) {
                let small = self.has_tag(value, 0xf, 0xf);
                self.unless(small, exit);
                self.set_small(source, true);
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
        let bytes = self.b.ins().bswap(first);
        let header = self.constant(Header::new(Kind::HeapBits, 2).word());
        let length = self.constant(sum as Word);
        self.build(&[header, length, bytes], super::data::BOXED, destination);
    }
}
