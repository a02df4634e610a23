//! Compilers before OTP 25 begin a bitstring with one instruction, and write each segment with another. Where nothing
//! stands between them they are one instruction here, `bs_create_bin`, which all engines know how to do fast.

use crate::instruction::{
    BitFlags, Instruction, Label, Register, Segment, SegmentSize, SegmentType, SegmentValue, Source,
};
use crate::opcodes as op;

/// Whether an instruction of this number writes a segment.
pub(super) fn is_segment(number: u8) -> bool {
    matches!(
        number,
        op::BS_PUT_INTEGER
            | op::BS_PUT_FLOAT
            | op::BS_PUT_BINARY
            | op::BS_PUT_STRING
            | op::BS_PUT_UTF8
            | op::BS_PUT_UTF16
            | op::BS_PUT_UTF32
    )
}

/// What does the same as these: an instruction that begins a bitstring, and those behind it that write its segments.
/// Nothing if they do not fail in the same place, or if a segment is a term that the beginning has overwritten.
pub(super) fn whole(code: &[Instruction]) -> Option<Instruction> {
    let (begin, puts) = code.split_first()?;
    let (fail, extra, live, unit, destination, appended) = match *begin {
        Instruction::BsInit { fail, extra, live, destination, .. } => (fail, extra, Some(live), 1, destination, None),
        Instruction::BsAppend { fail, extra, live, unit, binary, private, destination, .. } => {
            let kind = if private { SegmentType::PrivateAppend } else { SegmentType::Append };
            let appended = Segment {
                kind,
                unit,
                flags: BitFlags::default(),
                value: SegmentValue::Term(binary),
                size: SegmentSize::All,
                number: 0,
            };
            (fail, extra, (!private).then_some(live), unit, destination, Some(appended))
        }
        _ => return None,
    };
    let written = puts.iter().map(|put| segment(put, fail, destination)).collect::<Option<Vec<Segment>>>()?;
    if written.is_empty() {
        return None;
    }
    let segments = appended.into_iter().chain(written).collect();
    Some(Instruction::BsCreateBin { fail, extra, live, unit, destination, segments })
}

fn segment(put: &Instruction, fail: Label, destination: Register) -> Option<Segment> {
    let Instruction::BsPut { fail: own, segment } = put else { return None };
    let is_string = matches!(segment.value, SegmentValue::String { .. });
    let overwritten = |source: Source| source == Source::from(destination);
    let value = matches!(segment.value, SegmentValue::Term(source) if overwritten(source));
    let size = matches!(segment.size, SegmentSize::Units(source) if overwritten(source));
    ((*own == fail || is_string) && !value && !size).then_some(*segment)
}
