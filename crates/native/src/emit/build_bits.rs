//! Building bitstrings: the first engine's operation is called with the segments' values.

use atoll_loader::instruction::{Instruction, Label, SegmentValue};
use atoll_operations::bit_simple::{self, MOST_WORDS};
use atoll_term::Word;

use super::{Emitter, x_offset};
use crate::help;

impl Emitter<'_, '_> {
    /// `bs_create_bin`. What is not as it ought to be leaves to the first engine, which finds out why.
    pub(super) fn create_bits(&mut self, index: usize) {
        let Instruction::BsCreateBin { extra, destination, segments, .. } = self.flow.instruction(index) else {
            unreachable!("no bitstring is built")
        };
        let exit = self.exit(index);
        // Room for the bitstring and for what the instructions behind it build.
        self.room((MOST_WORDS as i64 + i64::from(*extra)) * 8, exit);
        for (place, segment) in segments.iter().enumerate() {
            if let SegmentValue::Term(source) = segment.value {
                let (core, value) = (self.core(), self.read(source));
                self.store(value, core, x_offset((help::ARGUMENTS + place) as u16));
            }
        }
        let plan = bit_simple::plan(segments, &self.flow.linked.module.strings).unwrap_or_default();
        let (first, count) = (self.constant(plan.as_ptr() as Word), self.constant(plan.len() as Word));
        self.plans.push(plan);
        let carried = self.carried();
        let made = self.help(help::create, &[carried[0], carried[1], carried[2], first, count]);
        let made = self.helped(index, Label::NONE, made);
        self.write(*destination, made);
    }
}
