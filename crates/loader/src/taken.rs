//! Where the message is when it is taken.
//!
//! A message that is one object, a cons or a tuple, need not be copied to the heap of its receiver: code looks at its
//! elements where it lies, and it is freed when it is taken, if no register has it any more, or will be read before it
//! has something else. This finds the instructions that look at such messages (`loop_rec`): on each way from there, as
//! far as the message is taken or left, one X register alone has it, if any. What else a register may have are its
//! elements, and these lie elsewhere.
//!
//! Nothing on these ways raises, calls or waits, so where the machine takes a message that was looked at in place, the
//! message is where this says.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use crate::check::{implied_reads, keeps_as_read};
use crate::decode::Decoded;
use crate::instruction::{Holder, Instruction, Label, Register, Source};
use crate::layout::Layout;

/// Instructions on the ways from one look at a message; code with more is left alone.
const MOST_LOOKED_AT: usize = 512;
/// Instructions in a row that are looked at behind the place where a message is taken.
const MOST_BEHIND: usize = 32;

/// Notes in the instructions of all functions what is found.
pub(crate) fn note(decoded: &mut Decoded, layout: &Layout) {
    // In front of the first function there is an extent, too.
    let receives = decoded.extents.iter().skip(1).map(|extent| extent.receives);
    let functions: Vec<_> = layout.functions.iter().zip(receives).filter(|(_, receives)| *receives).collect();
    let (mut looks, mut takes) = (Vec::new(), HashMap::new());
    for (function, _) in functions {
        for index in function.start as usize..function.end as usize {
            let Instruction::LoopRec { destination: Register::X(register), .. } = decoded.code[index] else { continue };
            let Some(taken) = follow(decoded, index, register) else { continue };
            looks.push(index);
            for (place, holder) in taken {
                // Another look leads there, too.
                let known = takes.entry(place).or_insert(holder);
                if *known != holder {
                    *known = Holder::Unknown;
                }
            }
        }
    }
    for index in looks {
        if let Instruction::LoopRec { in_place, .. } = &mut decoded.code[index] {
            *in_place = true;
        }
    }
    for (index, holder) in takes {
        decoded.code[index] = Instruction::RemoveMessage(holder);
    }
}

/// A place on a way from a look at a message.
#[derive(Clone, Copy)]
struct Way {
    index: usize,
    /// The register that has the message.
    holder: Option<u16>,
    /// Heap room that was asked for is there: the message must not take it.
    has_room: bool,
}

/// Where the message may be taken that is looked at here, and where it is then. `None`: it is not known on all ways.
fn follow(decoded: &Decoded, look: usize, register: u16) -> Option<Vec<(usize, Holder)>> {
    let mut pending = vec![Way { index: look + 1, holder: Some(register), has_room: false }];
    let mut at_labels: HashMap<Label, (Option<u16>, bool)> = HashMap::new();
    let mut taken = HashMap::new();
    let mut left = MOST_LOOKED_AT;
    while let Some(mut way) = pending.pop() {
        loop {
            left = left.checked_sub(1)?;
            let instruction = decoded.code.get(way.index)?;
            match instruction {
                Instruction::Label(label) => match at_labels.entry(*label) {
                    Entry::Vacant(entry) => _ = entry.insert((way.holder, way.has_room)),
                    Entry::Occupied(entry) if *entry.get() == (way.holder, way.has_room) => break,
                    Entry::Occupied(_) => return None,
                },
                Instruction::RemoveMessage(_) => {
                    let holder = holder_behind(decoded, way)?;
                    if *taken.entry(way.index).or_insert(holder) != holder {
                        return None;
                    }
                    break;
                }
                Instruction::LoopRecEnd(_) | Instruction::KeepMessage | Instruction::LoopRec { .. } => break,
                _ => {
                    let before = way;
                    way.holder = step(instruction, way.holder)?;
                    way.has_room |= matches!(instruction, Instruction::TestHeap { .. });
                    // Where an instruction jumps, it has written nothing.
                    instruction.for_each_target(|label| {
                        pending.push(Way { index: decoded.labels[label.0 as usize] as usize, ..before });
                    });
                    if instruction.ends_block() {
                        break;
                    }
                }
            }
            way.index += 1;
        }
    }
    Some(taken.into_iter().collect())
}

/// Which register has the message behind an instruction; `None` if another one may, or if the instruction does more
/// than to look at it.
fn step(instruction: &Instruction, holder: Option<u16>) -> Option<Option<u16>> {
    use Instruction as I;
    let is_read = || {
        let mut reads = false;
        instruction.for_each_source(|source| reads |= holder.is_some_and(|holder| source == Source::X(holder)));
        reads
    };
    match instruction {
        I::Line(_)
        | I::Jump(_)
        | I::InitYregs(_)
        | I::Test { .. }
        | I::TestArity { .. }
        | I::TestTaggedTuple { .. }
        | I::TestFunctionArity { .. }
        | I::Compare { .. }
        | I::SelectValue { .. }
        | I::SelectTupleArity { .. }
        | I::GetTupleElement { .. }
        | I::GetList { .. }
        | I::GetHead { .. }
        | I::GetTail { .. } => {}
        I::Move { .. } | I::Swap { .. } if !is_read() => {}
        I::Bif { fail, .. } | I::GcBif { fail, .. } if *fail != Label::NONE && !is_read() => {}
        I::TestHeap { .. } => {}
        _ => return None,
    }
    let mut holder = holder.filter(|holder| keeps_as_read(instruction).is_none_or(|live| *holder < live));
    instruction.for_each_destination(|destination| holder = holder.filter(|at| destination != Register::X(*at)));
    Some(holder)
}

/// What becomes of the message behind the place where it is taken; `None` if it should be on the heap.
fn holder_behind(decoded: &Decoded, way: Way) -> Option<Holder> {
    let Some(holder) = way.holder else { return Some(Holder::Nothing) };
    let code = &decoded.code[way.index + 1..];
    if is_unread(code, holder) {
        return Some(Holder::Unread(holder));
    }
    (!way.has_room).then_some(Holder::Read(holder))
}

/// Whether the code writes a register before it reads it.
fn is_unread(code: &[Instruction], register: u16) -> bool {
    for instruction in code.iter().take(MOST_BEHIND) {
        let mut is_read = false;
        instruction.for_each_source(|source| is_read |= source == Source::X(register));
        // Another way may begin here.
        instruction.for_each_target(|_| is_read = true);
        if is_read {
            return false;
        }
        match keeps_as_read(instruction) {
            // A collection looks at it, and that is all.
            Some(live) if register < live => {}
            Some(_) => return true,
            None if register < implied_reads(instruction) => return false,
            None => {}
        }
        let mut is_written = instruction.ends_block();
        instruction.for_each_destination(|destination| is_written |= destination == Register::X(register));
        if is_written {
            return true;
        }
    }
    false
}
