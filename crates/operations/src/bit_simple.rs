//! Bitstrings from segments whose sizes are known, or are those of their values: nearly all that programs build.

use atoll_loader::BitFlags;
use atoll_term::{Allocate, Kind, Term};

use crate::bit_construct::{MAX_BITS, append, begin};

/// A segment whose size does not depend on a term.
#[derive(Clone, Debug)]
pub enum Simple {
    /// An integer of at most 64 bits.
    Integer {
        /// Bits of the segment.
        bits: usize,
        /// Endianness and sign.
        flags: BitFlags,
    },
    /// The whole of a bitstring.
    Whole {
        /// Its length is a multiple of so many bits.
        unit: usize,
    },
    /// Bytes of the string table.
    Bytes(Box<[u8]>),
    /// The bitstring that is extended; only as the first segment.
    Append {
        /// Its length is a multiple of so many bits.
        unit: u16,
        /// Nobody else holds it.
        private: bool,
    },
}

/// The bitstring made of the segments, whose values (of any kind for [`Simple::Bytes`]) are in `values`; `None` if a
/// value is not as it ought to be, or is large: [`crate::bit_construct::create`] finds out.
pub fn create<H: Allocate + ?Sized>(heap: &mut H, segments: &[Simple], values: &[Term]) -> Option<Term> {
    let mut bits = 0;
    for (segment, value) in segments.iter().zip(values) {
        bits += match segment {
            Simple::Integer { bits, .. } if value.is_small() => *bits,
            Simple::Integer { .. } => return None,
            Simple::Whole { unit } => whole_bits(*value).filter(|length| is_multiple(*length, *unit))?,
            Simple::Bytes(bytes) => bytes.len() * 8,
            Simple::Append { .. } => 0,
        };
    }
    if bits > MAX_BITS {
        return None;
    }
    let (mut building, done) = match (segments.first(), values.first()) {
        (Some(Simple::Append { unit, private }), Some(value)) => (append(heap, *value, bits, *unit, *private).ok()?, 1),
        _ => (begin(heap, bits), 0),
    };
    let writer = &mut building.writer;
    for (segment, value) in segments.iter().zip(values).skip(done) {
        match segment {
            Simple::Integer { bits, flags } => writer.integer(*value, *bits, *flags).ok()?,
            Simple::Whole { .. } => writer.put_run(value.bits()?)?,
            Simple::Bytes(bytes) => writer.string(bytes).ok()?,
            Simple::Append { .. } => return None,
        }
    }
    Some(building.finish())
}

#[inline(always)]
fn is_multiple(length: usize, unit: usize) -> bool {
    // A division takes long.
    if unit == 8 { length.is_multiple_of(8) } else { length.is_multiple_of(unit.max(1)) }
}

/// Length of a bitstring.
#[inline(always)]
fn whole_bits(value: Term) -> Option<usize> {
    match value.boxed_kind()? {
        Kind::HeapBits | Kind::BinaryHandle | Kind::SubBits => Some(value.bits()?.length()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use atoll_term::{Build, ScratchHeap};

    use super::*;

    #[test]
    fn as_the_general_way() {
        let mut heap = ScratchHeap::new();
        let tail = heap.bitstring(&[0xab, 0xcd], 16);
        let segments = [
            Simple::Integer { bits: 3, flags: BitFlags::default() },
            Simple::Integer { bits: 16, flags: BitFlags { little: true, signed: false } },
            Simple::Bytes([1, 2].into()),
            Simple::Whole { unit: 8 },
        ];
        let values = [Term::small(5), Term::small(0x1234), Term::NIL, tail];
        let made = create(&mut heap, &segments, &values).expect("all values are as they ought to be");
        let bits = made.bits().expect("a bitstring");
        assert_eq!(bits.length(), 51);
        // 101 00110100 00010010 00000001 00000010 10101011 11001101
        assert_eq!(
            bits.to_bytes()[..],
            [0b1010_0110, 0b1000_0010, 0b0100_0000, 0b0010_0000, 0b0101_0101, 0b0111_1001, 0b1010_0000]
        );
        assert!(create(&mut heap, &segments, &[Term::NIL; 4]).is_none());
    }
}
