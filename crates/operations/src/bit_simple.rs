//! Bitstrings from segments whose sizes are known, or are those of their values: nearly all that programs build.

use atoll_loader::SegmentType;
use atoll_loader::instruction::{Segment, SegmentSize, SegmentValue, Source};
use atoll_term::{Allocate, HEAP_BINARY_LIMIT, Kind, Term};

use crate::bit_construct::{MAX_BITS, append, begin};
pub use crate::bit_fill::Simple;
use crate::bit_fill::{Run, fill_bytes};
use crate::bit_writer::{BitWriter, arranged};
use crate::raw_bits::Room;

/// Most segments of a bitstring that is made here.
pub const MOST_SEGMENTS: usize = 16;

/// Most words of heap that a bitstring takes: a handle and a view of it, or a binary on the heap.
pub const MOST_WORDS: usize = HEAP_BINARY_LIMIT / 8 + 2;

/// The segments of `bs_create_bin` if none of their sizes depends on a term, and they are few. `strings` is the
/// module's table.
pub fn plan(segments: &[Segment], strings: &[u8]) -> Option<Box<[Simple]>> {
    if segments.len() > MOST_SEGMENTS {
        return None;
    }
    let simple = |(index, segment): (usize, &Segment)| match (segment.kind, segment.value, segment.size) {
        (_, SegmentValue::String { offset, length }, _) => {
            let bytes = strings.get(offset as usize..)?.get(..length as usize)?;
            Some(Simple::Bytes(bytes.into()))
        }
        (SegmentType::Integer, SegmentValue::Term(_), SegmentSize::Units(Source::Small(units @ 0..=64))) => {
            let bits = units as usize * usize::from(segment.unit);
            (bits <= 64).then_some(Simple::Integer { bits, flags: segment.flags })
        }
        (SegmentType::Binary, SegmentValue::Term(_), SegmentSize::All) => {
            Some(Simple::Whole { unit: segment.unit.into() })
        }
        (SegmentType::Append | SegmentType::PrivateAppend, SegmentValue::Term(_), _) if index == 0 => {
            let private = segment.kind == SegmentType::PrivateAppend;
            Some(Simple::Append { unit: segment.unit, private })
        }
        _ => None,
    };
    segments.iter().enumerate().map(simple).collect()
}

/// The words of heap that a bitstring of these segments takes at most.
pub fn most_words(segments: &[Simple]) -> usize {
    /// A handle, and a view of it.
    const OUTSIDE: usize = 7;
    let constant: Option<usize> = segments
        .iter()
        .map(|segment| match segment {
            Simple::Integer { bits, .. } => Some(*bits),
            Simple::Bytes(bytes) => Some(bytes.len() * 8),
            Simple::Whole { .. } | Simple::Append { .. } => None,
        })
        .sum();
    match constant {
        Some(bits) if bits <= HEAP_BINARY_LIMIT * 8 => 2 + bits.div_ceil(64),
        Some(_) => OUTSIDE,
        None if matches!(segments.first(), Some(Simple::Append { .. })) => OUTSIDE,
        None => MOST_WORDS,
    }
}

/// The one word of a bitstring of integers of at most 64 bits together, for code that writes it: the bits of each and
/// whether its bytes are the other way round. `None` for other segments.
pub fn one_word(segments: &[Simple]) -> Option<Vec<(usize, bool)>> {
    let integer = |segment: &Simple| match segment {
        Simple::Integer { bits, flags } if *bits > 0 && (!flags.little || *bits <= 8 || bits.is_multiple_of(8)) => {
            Some((*bits, flags.little && *bits > 8))
        }
        _ => None,
    };
    let integers: Vec<(usize, bool)> = segments.iter().map(integer).collect::<Option<_>>()?;
    let sum: usize = integers.iter().map(|(bits, _)| bits).sum();
    (1..=64).contains(&sum).then_some(integers)
}

/// Integers that are added to a bitstring.
#[derive(Clone, Debug)]
pub struct AddedWord {
    /// The length of the bitstring is a multiple of so many bits.
    pub unit: u16,
    /// Nobody else holds it.
    pub private: bool,
    /// The integers, 8, 16, 32 or 64 bits together, as [`one_word`] gives them.
    pub integers: Vec<(usize, bool)>,
}

/// As [`one_word`], of what is added to a bitstring.
pub fn one_word_added(segments: &[Simple]) -> Option<AddedWord> {
    let [Simple::Append { unit, private }, integers @ ..] = segments else { return None };
    let integers = one_word(integers)?;
    let sum: usize = integers.iter().map(|(bits, _)| bits).sum();
    matches!(sum, 8 | 16 | 32 | 64).then_some(AddedWord { unit: *unit, private: *private, integers })
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
    let (building, done) = match (segments.first(), values.first()) {
        (Some(Simple::Append { unit, private }), Some(value)) => (append(heap, *value, bits, *unit, *private).ok()?, 1),
        _ => (begin(heap, bits), 0),
    };
    let (mut room, from, to) = building.place();
    let (segments, values) = (&segments[done..], &values[done..]);
    let is_whole = (from | to).is_multiple_of(8);
    if !is_whole || fill_bytes(room.range(from / 8, to / 8), segments, values).is_none() {
        fill(room, from, to, segments, values)?;
    }
    Some(building.finish())
}

/// Writes the segments to the bits `from` to `to` of a room. What says where they go is passed in machine registers: a
/// writer that is moved is stored in halves and read as a whole, for which processors wait.
#[inline(never)]
fn fill(room: Room, from: usize, to: usize, segments: &[Simple], values: &[Term]) -> Option<()> {
    let mut writer = BitWriter::new(room, from, to);
    // Integers that follow each other are written as one.
    let mut run = Run::default();
    for (segment, value) in segments.iter().zip(values) {
        match segment {
            Simple::Integer { bits, flags } => {
                run.add(&mut writer, arranged(value.as_small()? as u64, *bits, *flags), *bits)?;
            }
            Simple::Whole { .. } => {
                run.write(&mut writer)?;
                writer.put_run(value.bits()?)?;
            }
            Simple::Bytes(bytes) => {
                run.write(&mut writer)?;
                writer.string(bytes).ok()?;
            }
            Simple::Append { .. } => return None,
        }
    }
    run.write(&mut writer)
}

impl Run {
    /// Adds the low `bits` (at most 64) of a word.
    #[inline(always)]
    fn add(&mut self, writer: &mut BitWriter, word: u64, bits: usize) -> Option<()> {
        if self.bits + bits > 64 {
            self.write(writer)?;
        }
        if bits == 64 {
            return writer.put(word, 64);
        }
        self.word = self.word << bits | word & !(u64::MAX << bits);
        self.bits += bits;
        Some(())
    }

    #[inline(always)]
    fn write(&mut self, writer: &mut BitWriter) -> Option<()> {
        let Run { word, bits } = std::mem::take(self);
        if bits == 0 { Some(()) } else { writer.put(word, bits) }
    }
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
    use atoll_loader::BitFlags;
    use atoll_term::{Build, ScratchHeap};

    use crate::oracle::Random;

    use super::*;

    /// Random segments and values: the quick way and the general one write the same bits.
    #[test]
    fn bytes_are_filled_as_bits_are() {
        let mut random = Random(1);
        for _ in 0..20_000 {
            let mut heap = ScratchHeap::new();
            let (mut segments, mut values) = (Vec::new(), Vec::new());
            for _ in 0..random.below(6) {
                let length = random.below(12) as usize;
                let (segment, value) = match random.below(4) {
                    0 => {
                        let bits = if random.below(2) == 0 { random.below(9) * 8 } else { random.below(65) } as usize;
                        let flags = BitFlags { little: random.below(2) == 0, signed: false };
                        (Simple::Integer { bits, flags }, Term::small(random.below(1 << 40) as i64 - (1 << 39)))
                    }
                    1 => (Simple::Whole { unit: 1 }, heap.bitstring(&[0xa5; 12], random.below(96) as usize)),
                    2 => (Simple::Whole { unit: 8 }, heap.binary(&random.bytes(length))),
                    _ => (Simple::Bytes(random.bytes(length).into()), Term::NIL),
                };
                segments.push(segment);
                values.push(value);
            }
            let made = create(&mut heap, &segments, &values).expect("values are as they ought to be");
            let length = made.bits().map_or(0, |bits| bits.length());
            let building = begin(&mut heap, length);
            let (room, from, to) = building.place();
            fill(room, from, to, &segments, &values).expect("there is room");
            let general = building.finish();
            assert!(atoll_term::exactly_equal(made, general), "{segments:?}");
        }
    }

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
