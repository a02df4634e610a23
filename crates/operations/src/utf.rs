//! UTF-8, UTF-16 and UTF-32 segments.

use atoll_loader::{BitFlags, SegmentType};

use crate::bits::read;

/// Whether a number is a code point that may be encoded: surrogates may not.
#[inline]
pub fn is_code_point(value: u64) -> bool {
    char::from_u32(u32::try_from(value).unwrap_or(u32::MAX)).is_some()
}

/// The encoded form of a code point: a number of that many bits, most significant first. `None` if it is no code
/// point or `encoding` is no UTF.
pub(crate) fn encode(value: u64, encoding: SegmentType, flags: BitFlags) -> Option<(u64, usize)> {
    let character = char::from_u32(u32::try_from(value).ok()?)?;
    let unit16 = |unit: u16| u64::from(if flags.little { unit.swap_bytes() } else { unit });
    match encoding {
        SegmentType::Utf8 => {
            let mut room = [0; 4];
            let text = character.encode_utf8(&mut room).as_bytes();
            Some((text.iter().fold(0, |value, byte| value << 8 | u64::from(*byte)), text.len() * 8))
        }
        SegmentType::Utf16 => {
            let mut room = [0; 2];
            let units = character.encode_utf16(&mut room);
            Some((units.iter().fold(0, |value, unit| value << 16 | unit16(*unit)), units.len() * 16))
        }
        SegmentType::Utf32 => {
            let word = u32::from(character);
            Some((u64::from(if flags.little { word.swap_bytes() } else { word }), 32))
        }
        _ => None,
    }
}

/// The code point at `position` and how many bits it takes; `None` if there is no well-formed one before `end`.
pub(crate) fn decode(
    bytes: &[u8],
    position: usize,
    end: usize,
    encoding: SegmentType,
    flags: BitFlags,
) -> Option<(u32, usize)> {
    let rest = end.checked_sub(position)?;
    let byte = |index: usize| (rest >= index * 8 + 8).then(|| read(bytes, position + index * 8, 8) as u32);
    let unit = |index: usize| {
        let unit = (rest >= index * 16 + 16).then(|| read(bytes, position + index * 16, 16) as u16)?;
        Some(u32::from(if flags.little { unit.swap_bytes() } else { unit }))
    };
    let (value, length) = match encoding {
        SegmentType::Utf8 => {
            let first = byte(0)?;
            // Bytes of the sequence, the value bits of its first byte, and the least value that needs so many bytes.
            let (length, start, least) = match first {
                0x00..=0x7f => return Some((first, 8)),
                0xc2..=0xdf => (2, first & 0x1f, 0x80),
                0xe0..=0xef => (3, first & 0x0f, 0x800),
                0xf0..=0xf4 => (4, first & 0x07, 0x1_0000),
                _ => return None,
            };
            let mut value = start;
            for index in 1..length {
                let next = byte(index)?;
                if next & 0xc0 != 0x80 {
                    return None;
                }
                value = value << 6 | next & 0x3f;
            }
            (Some(value).filter(|value| *value >= least)?, length * 8)
        }
        SegmentType::Utf16 => match unit(0)? {
            high @ 0xd800..=0xdbff => {
                let low = unit(1).filter(|low| (0xdc00..=0xdfff).contains(low))?;
                (0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00), 32)
            }
            value => (value, 16),
        },
        SegmentType::Utf32 => {
            let word = (rest >= 32).then(|| read(bytes, position, 32) as u32)?;
            (if flags.little { word.swap_bytes() } else { word }, 32)
        }
        _ => return None,
    };
    is_code_point(value.into()).then_some((value, length))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BIG: BitFlags = BitFlags { little: false, signed: false };
    const LITTLE: BitFlags = BitFlags { little: true, signed: false };

    #[test]
    fn every_code_point_comes_back() {
        for encoding in [SegmentType::Utf8, SegmentType::Utf16, SegmentType::Utf32] {
            for flags in [BIG, LITTLE] {
                for value in (0..0x11_0010u64).chain([u64::from(u32::MAX), u64::MAX]) {
                    let Some((bits, length)) = encode(value, encoding, flags) else {
                        assert!((0xd800..0xe000).contains(&value) || value > 0x10_ffff);
                        continue;
                    };
                    let bytes = (bits << (64 - length)).to_be_bytes();
                    assert_eq!(decode(&bytes, 0, length, encoding, flags), Some((value as u32, length)));
                    assert_eq!(decode(&bytes, 0, length - 1, encoding, flags), None);
                }
            }
        }
    }

    #[test]
    fn utf8_is_accepted_where_the_standard_library_accepts_it() {
        for bytes in (0..=0xff_ffffu32).step_by(7).map(|number| (number << 8 | 0x85).to_be_bytes()) {
            let expected = (1..=4).find_map(|length| {
                let character = std::str::from_utf8(&bytes[..length]).ok()?.chars().next()?;
                Some((u32::from(character), length * 8))
            });
            assert_eq!(decode(&bytes, 0, 32, SegmentType::Utf8, BIG), expected, "{bytes:?}");
        }
    }
}
