//! Putting tests in front of instructions of which it is not proven that they find what they look into.

use super::effects::demand;
use super::values::Value;
use crate::decode::Decoded;
use crate::instruction::{Instruction, Label, Shape, Source, TypeTest};
use crate::layout::Layout;
use crate::module::Module;

/// An instruction that looks into a value of which nothing proves that it can, or that may raise where the frame is
/// not whole, or before which a message that was looked at must be kept.
pub(crate) struct Unproven {
    /// Its index in the code.
    pub(super) index: u32,
    /// The slots of the frame that hold no term there, which the search for a handler would look at.
    pub(super) unset: Vec<u16>,
    /// What is known of the value.
    pub(super) value: Value,
}

/// Puts a test in front of each of these instructions, and has slots initialised. Gives where that stands then.
pub(crate) fn insert(decoded: &mut Decoded, layout: &mut Layout, mut unproven: Vec<Unproven>) -> Box<[u32]> {
    if unproven.is_empty() {
        return Box::default();
    }
    unproven.sort_by_key(|found| found.index);
    // Of a slot that any way to the instruction leaves without a term, nothing that follows reads what another way
    // left.
    unproven.dedup_by(|again, first| {
        let same = again.index == first.index;
        if same {
            first
                .unset
                .extend(again.unset.iter().filter(|slot| !first.unset.contains(slot)).copied().collect::<Vec<_>>());
        }
        same
    });
    // The code is cut in front of each of the instructions, from the last on.
    let cut = |found: &Unproven| decoded.code.split_off(found.index as usize);
    let pieces: Vec<Vec<Instruction>> = unproven.iter().rev().map(cut).collect();
    decoded.code.reserve(pieces.iter().map(Vec::len).sum::<usize>() + 2 * unproven.len());
    let mut places = Vec::with_capacity(unproven.len());
    // For each of the instructions, how many have been put in front of it and of those before it.
    let mut added = Vec::with_capacity(unproven.len());
    for (found, mut piece) in unproven.iter().zip(pieces.into_iter().rev()) {
        let instruction = &piece[0];
        let guard = match instruction {
            Instruction::LoopRecEnd(_) => Some(Instruction::KeepMessage),
            _ => demand(instruction).map(|(value, shape)| guard(instruction, value, shape)),
        };
        if !found.unset.is_empty() && !matches!(guard, Some(Instruction::Test { .. })) {
            places.push(decoded.code.len() as u32);
            decoded.code.push(Instruction::InitYregs(found.unset.as_slice().into()));
        }
        if let Some(guard) = guard {
            places.push(decoded.code.len() as u32);
            decoded.code.push(guard);
        }
        added.push(decoded.code.len() as u32 - found.index);
        decoded.code.append(&mut piece);
    }
    let moved = |place: &mut u32| {
        let before = unproven.partition_point(|found| found.index < *place);
        *place += before.checked_sub(1).map_or(0, |last| added[last]);
    };
    decoded.labels.iter_mut().filter(|place| **place != Module::NO_PLACE).for_each(moved);
    for function in &mut layout.functions {
        moved(&mut function.start);
        moved(&mut function.end);
    }
    places.into()
}

/// A test that jumps where the instruction would, or raises.
fn guard(instruction: &Instruction, value: Source, shape: Shape) -> Instruction {
    let test = |fail: Label, test| Instruction::Test { fail, test, value };
    match *instruction {
        Instruction::TestArity { fail, .. } => test(fail, TypeTest::Tuple),
        Instruction::HasMapFields { fail, .. } | Instruction::GetMapElements { fail, .. } => test(fail, TypeTest::Map),
        _ => Instruction::Expect { shape, value },
    }
}
