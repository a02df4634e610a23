//! Instructions of the bit syntax: matching, and construction old and new.

use crate::error::Result;
use crate::instruction::{
    BitFlags, Instruction, Label, LiteralIndex, MatchCommand, Segment, SegmentSize, SegmentType, SegmentValue, Source,
};
use crate::opcodes as op;

use super::operands::{Operand, Operands};

const FLAG_LITTLE: u64 = 2;
const FLAG_SIGNED: u64 = 4;
const FLAG_NATIVE: u64 = 16;

/// Decodes an instruction of the bit syntax; none if the opcode is another.
pub(super) fn decode(number: u8, operands: &mut Operands<'_>) -> Result<Option<Instruction>> {
    Ok(Some(match number {
        op::BS_START_MATCH3 => Instruction::BsStartMatch {
            fail: operands.label()?,
            value: operands.source()?,
            live: operands.live()?,
            destination: operands.register()?,
        },
        op::BS_START_MATCH4 => Instruction::BsStartMatch {
            // `no_fail`: a good value; `resume`: a match context. Neither has a label.
            fail: match operands.operand()? {
                Operand::Label(label) if label != Label::NONE => label,
                Operand::Source(Source::Atom(_)) => Label::NONE,
                _ => return Err(operands.error("a label is wanted")),
            },
            live: operands.live()?,
            value: operands.source()?,
            destination: operands.register()?,
        },
        op::BS_GET_INTEGER2 => Instruction::BsGetInteger {
            fail: operands.label()?,
            context: operands.register()?,
            live: operands.live()?,
            size: operands.size()?,
            unit: operands.unit()?,
            flags: flags(operands)?,
            destination: operands.register()?,
        },
        op::BS_GET_FLOAT2 => Instruction::BsGetFloat {
            fail: operands.label()?,
            context: operands.register()?,
            live: operands.live()?,
            size: operands.size()?,
            unit: operands.unit()?,
            flags: flags(operands)?,
            destination: operands.register()?,
        },
        op::BS_GET_BINARY2 => {
            let fail = operands.label()?;
            let context = operands.register()?;
            let live = operands.live()?;
            let size = size_or_all(operands)?;
            let unit = operands.unit()?;
            flags(operands)?;
            let destination = operands.register()?;
            Instruction::BsGetBinary { fail, context, live, size, unit, destination }
        }
        op::BS_SKIP_BITS2 => {
            let fail = operands.label()?;
            let context = operands.register()?;
            let size = size_or_all(operands)?;
            let unit = operands.unit()?;
            flags(operands)?;
            Instruction::BsSkipBits { fail, context, size, unit }
        }
        op::BS_TEST_TAIL2 => {
            let (fail, context) = (operands.label()?, operands.register()?);
            // No bit string is as long as a number that does not fit.
            let bits = operands.unsigned_saturating()?;
            Instruction::BsTestTail { fail, context, bits }
        }
        op::BS_TEST_UNIT => {
            Instruction::BsTestUnit { fail: operands.label()?, context: operands.register()?, unit: operands.unit()? }
        }
        op::BS_MATCH_STRING => {
            let fail = operands.label()?;
            let context = operands.register()?;
            let bits = bits(operands)?;
            let offset = string(operands, bits.div_ceil(8))?;
            Instruction::BsMatchString { fail, context, bits, offset }
        }
        op::BS_GET_TAIL => Instruction::BsGetTail {
            context: operands.register()?,
            destination: operands.register()?,
            live: operands.live()?,
        },
        op::BS_GET_POSITION => Instruction::BsGetPosition {
            context: operands.register()?,
            destination: operands.register()?,
            live: operands.live()?,
        },
        op::BS_SET_POSITION => {
            Instruction::BsSetPosition { context: operands.register()?, position: operands.source()? }
        }
        op::BS_GET_UTF8 | op::BS_GET_UTF16 | op::BS_GET_UTF32 => Instruction::BsGetUtf {
            fail: operands.label()?,
            encoding: encoding(number),
            context: operands.register()?,
            live: operands.live()?,
            flags: flags(operands)?,
            destination: Some(operands.register()?),
        },
        op::BS_SKIP_UTF8 | op::BS_SKIP_UTF16 | op::BS_SKIP_UTF32 => Instruction::BsGetUtf {
            fail: operands.label()?,
            encoding: encoding(number),
            context: operands.register()?,
            live: operands.live()?,
            flags: flags(operands)?,
            destination: None,
        },
        op::BS_MATCH => Instruction::BsMatch {
            fail: operands.label()?,
            context: operands.register()?,
            commands: match_commands(operands)?,
        },

        op::BS_CREATE_BIN => Instruction::BsCreateBin {
            fail: operands.fail()?,
            extra: operands.extra_words()?,
            live: Some(operands.live()?),
            unit: operands.unsigned(256)? as u16,
            destination: operands.register()?,
            segments: segments(operands)?,
        },
        op::BS_INIT_WRITABLE => Instruction::BsInitWritable,
        op::BS_INIT2 | op::BS_INIT_BITS => {
            let fail = operands.fail()?;
            let size = operands.size()?;
            let extra = operands.extra_words()?;
            let live = operands.live()?;
            flags(operands)?;
            let destination = operands.register()?;
            let bits = number == op::BS_INIT_BITS;
            Instruction::BsInit { fail, size, bits, extra, live, destination }
        }
        op::BS_APPEND => {
            let fail = operands.fail()?;
            let size = operands.size()?;
            let extra = operands.extra_words()?;
            let live = operands.live()?;
            let unit = operands.unit()?;
            let binary = operands.source()?;
            flags(operands)?;
            let destination = operands.register()?;
            let private = false;
            Instruction::BsAppend { fail, size, extra, live, unit, binary, private, destination }
        }
        op::BS_PRIVATE_APPEND => {
            let fail = operands.fail()?;
            let size = operands.size()?;
            let unit = operands.unit()?;
            let binary = operands.source()?;
            flags(operands)?;
            let destination = operands.register()?;
            let (extra, live, private) = (0, 0, true);
            Instruction::BsAppend { fail, size, extra, live, unit, binary, private, destination }
        }
        op::BS_PUT_INTEGER | op::BS_PUT_FLOAT | op::BS_PUT_BINARY => {
            let fail = operands.fail()?;
            let (kind, size) = match number {
                op::BS_PUT_BINARY => {
                    (SegmentType::Binary, size_or_all(operands)?.map_or(SegmentSize::All, SegmentSize::Units))
                }
                op::BS_PUT_FLOAT => (SegmentType::Float, SegmentSize::Units(operands.size()?)),
                _ => (SegmentType::Integer, SegmentSize::Units(operands.size()?)),
            };
            let unit = operands.unit()?;
            let flags = flags(operands)?;
            let value = SegmentValue::Term(operands.source()?);
            Instruction::BsPut { fail, segment: Segment { kind, unit, flags, value, size, number: 0 } }
        }
        op::BS_PUT_STRING => {
            let length = operands.u32()?;
            let offset = string(operands, u64::from(length))?;
            Instruction::BsPut { fail: Label::NONE, segment: string_segment(offset, length, 0) }
        }
        op::BS_PUT_UTF8 | op::BS_PUT_UTF16 | op::BS_PUT_UTF32 => {
            let fail = operands.fail()?;
            let flags = flags(operands)?;
            let value = SegmentValue::Term(operands.source()?);
            let (kind, size) = (encoding(number), SegmentSize::Undefined);
            Instruction::BsPut { fail, segment: Segment { kind, unit: 0, flags, value, size, number: 0 } }
        }
        op::BS_ADD => {
            let fail = operands.fail()?;
            let first = operands.size()?;
            let second = operands.size()?;
            let unit = operands.unit()?;
            Instruction::BsAdd { fail, first, second, unit, destination: operands.register()? }
        }
        op::BS_UTF8_SIZE | op::BS_UTF16_SIZE => Instruction::BsUtfSize {
            fail: operands.fail()?,
            encoding: encoding(number),
            value: operands.source()?,
            destination: operands.register()?,
        },
        _ => return Ok(None),
    }))
}

fn encoding(number: u8) -> SegmentType {
    match number {
        op::BS_GET_UTF8 | op::BS_SKIP_UTF8 | op::BS_PUT_UTF8 | op::BS_UTF8_SIZE => SegmentType::Utf8,
        op::BS_GET_UTF16 | op::BS_SKIP_UTF16 | op::BS_PUT_UTF16 | op::BS_UTF16_SIZE => SegmentType::Utf16,
        _ => SegmentType::Utf32,
    }
}

fn bit_flags(little: bool, signed: bool, native: bool) -> BitFlags {
    BitFlags { little: little || (native && cfg!(target_endian = "little")), signed }
}

/// Flags as a number of bits.
fn flags(operands: &mut Operands<'_>) -> Result<BitFlags> {
    let bits = operands.unsigned(0xff)?;
    Ok(bit_flags(bits & FLAG_LITTLE != 0, bits & FLAG_SIGNED != 0, bits & FLAG_NATIVE != 0))
}

/// Flags as a list of atoms: nil or a literal.
fn flag_list(operands: &mut Operands<'_>) -> Result<BitFlags> {
    match operands.source()? {
        Source::Nil => Ok(BitFlags::default()),
        Source::Literal(LiteralIndex(index)) => external_flags(&operands.literals[index as usize])
            .ok_or_else(|| operands.error(format!("literal {index} is no list of flags"))),
        _ => Err(operands.error("a list of flags is wanted")),
    }
}

/// Reads a list of flags in the external term format.
fn external_flags(term: &[u8]) -> Option<BitFlags> {
    let (mut little, mut signed, mut native) = (false, false, false);
    if term != [131, 106] {
        let [131, 108, a, b, c, d, rest @ ..] = term else {
            return None;
        };
        let mut rest = rest;
        for _ in 0..u32::from_be_bytes([*a, *b, *c, *d]) {
            let (length, name) = match rest {
                [115 | 119, length, name @ ..] => (usize::from(*length), name),
                [100 | 118, high, low, name @ ..] => (usize::from(u16::from_be_bytes([*high, *low])), name),
                _ => return None,
            };
            match name.get(..length)? {
                b"little" => little = true,
                b"signed" => signed = true,
                b"native" => native = true,
                b"big" | b"unsigned" | b"aligned" => {}
                _ => return None,
            }
            rest = &name[length..];
        }
        if rest != [106] {
            return None;
        }
    }
    Some(bit_flags(little, signed, native))
}

/// A number of bits; no bitstring is longer than what 64 bits count.
fn bits(operands: &mut Operands<'_>) -> Result<u64> {
    operands.unsigned(u64::MAX >> 1)
}

/// A size, or `all`.
fn size_or_all(operands: &mut Operands<'_>) -> Result<Option<Source>> {
    match operands.size()? {
        Source::Atom(atom) if &*operands.tables.atoms[atom.0 as usize] == "all" => Ok(None),
        size => Ok(Some(size)),
    }
}

/// An offset into the string table with `length` bytes behind it.
fn string(operands: &mut Operands<'_>, length: u64) -> Result<u32> {
    let offset = operands.u32()?;
    let strings = operands.tables.strings as u64;
    if length > strings || u64::from(offset) > strings - length {
        return Err(operands.error(format!(
            "bytes {offset} to {} of {strings} in the string table do not exist",
            u64::from(offset).saturating_add(length)
        )));
    }
    Ok(offset)
}

fn string_segment(offset: u32, length: u32, number: u16) -> Segment {
    Segment {
        kind: SegmentType::String,
        unit: 8,
        flags: BitFlags::default(),
        value: SegmentValue::String { offset, length },
        size: SegmentSize::Units(Source::Small(i64::from(length))),
        number,
    }
}

/// The segments of `bs_create_bin`: type, number, unit, flags, value and size of each.
fn segments(operands: &mut Operands<'_>) -> Result<Box<[Segment]>> {
    let count = operands.list(6)?;
    let mut segments = Vec::with_capacity(count);
    for index in 0..count {
        let kind = match operands.keyword()? {
            "integer" => SegmentType::Integer,
            "float" => SegmentType::Float,
            "binary" => SegmentType::Binary,
            "append" => SegmentType::Append,
            "private_append" => SegmentType::PrivateAppend,
            "string" => SegmentType::String,
            "utf8" => SegmentType::Utf8,
            "utf16" => SegmentType::Utf16,
            "utf32" => SegmentType::Utf32,
            other => {
                let problem = format!("the segment type {other} is not known");
                return Err(operands.error(problem));
            }
        };
        let appends = matches!(kind, SegmentType::Append | SegmentType::PrivateAppend);
        if appends && index != 0 {
            return Err(operands.error("only the first segment can be appended to"));
        }
        let number = u16::try_from(operands.u32()?).unwrap_or(0);
        let unit = operands.unsigned(256)? as u16;
        let flags = flag_list(operands)?;
        segments.push(match kind {
            SegmentType::String => {
                let offset = operands.u32()?;
                let length = match operands.size()? {
                    Source::Small(length) => u32::try_from(length).ok(),
                    _ => None,
                };
                let length = length.ok_or_else(|| operands.error("no length of a string"))?;
                if u64::from(offset) + u64::from(length) > operands.tables.strings as u64 {
                    return Err(operands.error("a string is not in the string table"));
                }
                string_segment(offset, length, number)
            }
            SegmentType::Utf8 | SegmentType::Utf16 | SegmentType::Utf32 => {
                let value = SegmentValue::Term(operands.source()?);
                operands.source()?;
                Segment { kind, unit: 0, flags, value, size: SegmentSize::Undefined, number }
            }
            _ => {
                if unit == 0 {
                    return Err(operands.error("a unit of 0 bits"));
                }
                let value = SegmentValue::Term(operands.source()?);
                let size = size_or_all(operands)?.map_or(SegmentSize::All, SegmentSize::Units);
                let whole = appends || kind == SegmentType::Binary;
                if size == SegmentSize::All && !whole {
                    return Err(operands.error("a number has no size of `all`"));
                }
                Segment { kind, unit, flags, value, size, number }
            }
        });
    }
    Ok(segments.into())
}

/// The commands of `bs_match`: each a keyword and its own operands, in one flat list.
fn match_commands(operands: &mut Operands<'_>) -> Result<Box<[MatchCommand]>> {
    let mut left = operands.list(1)?;
    let mut commands = Vec::new();
    while left > 0 {
        let (count, command) = match_command(operands, left)?;
        left -= count;
        commands.push(command);
    }
    Ok(commands.into())
}

/// One command, and how many of the list's `left` operands it took.
fn match_command(operands: &mut Operands<'_>, left: usize) -> Result<(usize, MatchCommand)> {
    let keyword = operands.keyword()?.to_owned();
    let count = match &*keyword {
        "ensure_exactly" | "skip" => 2,
        "ensure_at_least" => 3,
        "get_tail" | "=:=" => 4,
        "integer" | "binary" => 6,
        other => return Err(operands.error(format!("the command {other} is not known"))),
    };
    if count > left {
        return Err(operands.error(format!("the command {keyword} is cut short")));
    }
    let command = match &*keyword {
        "ensure_exactly" => MatchCommand::EnsureExactly { stride: bits(operands)? },
        "skip" => MatchCommand::Skip { stride: bits(operands)? },
        "ensure_at_least" => MatchCommand::EnsureAtLeast { stride: bits(operands)?, unit: operands.unit()? },
        "get_tail" => {
            MatchCommand::GetTail { live: operands.live()?, unit: operands.unit()?, destination: operands.register()? }
        }
        "=:=" => {
            let live = match operands.operand()? {
                Operand::Source(Source::Nil) => 0,
                Operand::Unsigned(live) if live < u64::from(super::REGISTERS) => live as u16,
                _ => return Err(operands.error("a number of live registers is wanted")),
            };
            let bits = operands.unsigned(64)?;
            let value = operands.unsigned(u64::MAX)?;
            if bits < 64 && value >> bits != 0 {
                return Err(operands.error(format!("{value} does not fit {bits} bits")));
            }
            MatchCommand::ExactlyEqual { live, bits, value }
        }
        _ => {
            let live = operands.live()?;
            let flags = flag_list(operands)?;
            let size = bits(operands)?;
            let unit = operands.unit()?;
            let bits = size.checked_mul(u64::from(unit)).ok_or_else(|| operands.error("too many bits"))?;
            let destination = operands.register()?;
            if keyword == "integer" {
                MatchCommand::Integer { live, flags, bits, destination }
            } else {
                MatchCommand::Binary { live, bits, destination }
            }
        }
    };
    Ok((count, command))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_in_external_format() {
        let little_signed = b"\x83l\0\0\0\x02w\x06littled\0\x06signedj";
        assert_eq!(external_flags(little_signed), Some(BitFlags { little: true, signed: true }));
        assert_eq!(external_flags(&[131, 106]), Some(BitFlags::default()));
        assert_eq!(external_flags(b"\x83l\0\0\0\x01w\x05wrongj"), None);
        assert_eq!(external_flags(b"\x83l\xff\xff\xff\xffw\x03bigj"), None);
        assert_eq!(external_flags(b"\x83l\0\0\0\x01w\xffbigj"), None);
    }
}
