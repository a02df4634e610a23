//! Bitstrings of whole bytes, built where native code has made room for them: what is asked of the heap otherwise takes
//! longer than the bytes do.

use std::mem::MaybeUninit;

use atoll_term::{HEAP_BINARY_LIMIT, Header, Kind, Term, Word};

use crate::bit_fill::{Simple, fill_bytes};
use crate::raw_bits::{Room, set_small};

/// A bitstring that was built without asking the heap.
#[derive(Clone, Copy, Debug)]
pub enum Quick {
    /// An object of so many words at the beginning of the room.
    Object(usize),
    /// The bitstring that was extended in place.
    Extended(Term),
}

/// Builds a bitstring of these segments at the beginning of `room`, free words of the process's heap, as
/// [`crate::bit_simple::create`] would. `None`: that has to do it, and nothing has changed.
#[inline]
pub fn create(room: &mut [MaybeUninit<Word>], segments: &[Simple], values: &[Term]) -> Option<Quick> {
    match (segments, values) {
        ([Simple::Append { unit, private }, segments @ ..], [view, values @ ..]) => {
            let bytes = whole_bytes(segments, values)?;
            append(room, *view, (*unit, *private), bytes, |to| fill_bytes(to, segments, values))
        }
        _ => {
            let bytes = whole_bytes(segments, values)?;
            let words = bytes.div_ceil(8) + 2;
            if bytes > HEAP_BINARY_LIMIT || bytes == 0 || words > room.len() {
                return None;
            }
            room[0].write(Header::new(Kind::HeapBits, words - 1).word());
            room[1].write(bytes as Word * 8);
            fill_bytes(Room::of_free_words(&mut room[2..words]).range(0, bytes), segments, values)?;
            Some(Quick::Object(words))
        }
    }
}

/// Extends a view of a binary that has room and ends where the view does.
#[inline(always)]
fn append(
    room: &mut [MaybeUninit<Word>],
    view: Term,
    (unit, private): (u16, bool),
    bytes: usize,
    fill: impl FnOnce(&mut [u8]) -> Option<()>,
) -> Option<Quick> {
    if view.boxed_kind() != Some(Kind::SubBits) || !matches!(unit, 1 | 8) {
        return None;
    }
    let [first, end, underlying] = view.boxed_terms() else { return None };
    let binary = underlying.off_heap_binary()?;
    let (start, from) = (first.as_small()? as usize, end.as_small()? as usize);
    if !(start | from).is_multiple_of(8) || room.len() < 4 || !binary.claim(from / 8, from / 8 + bytes) {
        return None;
    }
    let to = from + bytes * 8;
    fill(Room::of_claimed(binary, to / 8).range(from / 8, to / 8))?;
    if private {
        set_small(view, 1, to);
        return Some(Quick::Extended(view));
    }
    let header = Header::new(Kind::SubBits, 3).word();
    let words = [header, first.word(), Term::small(to as i64).word(), underlying.word()];
    for (place, word) in room.iter_mut().zip(words) {
        place.write(word);
    }
    Some(Quick::Object(words.len()))
}

/// How many bytes the segments take, if [`fill_bytes`] can write them.
#[inline(always)]
fn whole_bytes(segments: &[Simple], values: &[Term]) -> Option<usize> {
    let (mut bytes, mut run) = (0, 0);
    for (segment, value) in segments.iter().zip(values) {
        let length = match segment {
            Simple::Integer { bits, .. } if value.is_small() => {
                run += bits;
                if run > 64 {
                    return None;
                }
                if run.is_multiple_of(8) {
                    bytes += run / 8;
                    run = 0;
                }
                continue;
            }
            Simple::Whole { unit: 1 | 8 } => value.aligned_binary()?.len(),
            Simple::Bytes(copied) => copied.len(),
            _ => return None,
        };
        if run > 0 {
            return None;
        }
        bytes += length;
    }
    (run == 0).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use atoll_loader::BitFlags;
    use atoll_term::{Build, OffHeapBinary, ScratchHeap, exactly_equal};

    use crate::bit_simple;
    use crate::oracle::Random;
    use crate::raw_bits::built_at;

    use super::*;

    /// Room in which every word has been something else before.
    fn room() -> [MaybeUninit<Word>; bit_simple::MOST_WORDS] {
        [MaybeUninit::new(Word::MAX); bit_simple::MOST_WORDS]
    }

    fn integer(bits: usize, little: bool) -> Simple {
        Simple::Integer { bits, flags: BitFlags { little, signed: false } }
    }

    /// Random segments: what is built here is what is built for them otherwise, and whole bytes are built here.
    #[test]
    fn as_the_general_way() {
        let mut random = Random(7);
        let (mut quick, mut rounds) = (0, 0);
        for _ in 0..20_000 {
            let mut heap = ScratchHeap::new();
            let (mut segments, mut values) = (Vec::new(), Vec::new());
            for _ in 0..=random.below(4) {
                let length = random.below(20) as usize;
                let (segment, value) = match random.below(4) {
                    0 => {
                        let bits = if random.below(2) == 0 { random.below(9) * 8 } else { random.below(65) } as usize;
                        (integer(bits, random.below(2) == 0), Term::small(random.below(1 << 40) as i64 - (1 << 39)))
                    }
                    1 => (Simple::Whole { unit: 1 }, heap.bitstring(&[0x5a; 12], random.below(96) as usize)),
                    2 => (Simple::Whole { unit: 8 }, heap.binary(&random.bytes(length))),
                    _ => (Simple::Bytes(random.bytes(length).into()), Term::NIL),
                };
                segments.push(segment);
                values.push(value);
            }
            let mut room = room();
            let expected = bit_simple::create(&mut heap, &segments, &values).expect("values are as they ought to be");
            let made = create(&mut room, &segments, &values);
            rounds += 1;
            let Some(Quick::Object(words)) = made else { continue };
            quick += 1;
            assert!(words <= room.len());
            let made = built_at(&mut room);
            assert!(exactly_equal(made, expected), "{segments:?}");
        }
        assert!(quick * 5 > rounds, "{quick} of {rounds} are whole bytes");
    }

    #[test]
    fn a_view_is_extended_once_and_only_at_its_end() {
        let mut heap = ScratchHeap::new();
        let handle = heap.binary_handle(OffHeapBinary::new(16, 2));
        let view = heap.sub_bits(handle, 8, 16);
        let tail = heap.binary(&[7, 8, 9]);
        let segments = [Simple::Append { unit: 8, private: false }, Simple::Whole { unit: 8 }, integer(16, true)];
        let values = [view, tail, Term::small(0x0102)];
        let mut room = room();
        assert!(matches!(create(&mut room, &segments, &values), Some(Quick::Object(4))));
        let made = built_at(&mut room);
        assert_eq!(made.aligned_binary().map(|bytes| bytes[1..].to_vec()), Some(vec![7, 8, 9, 2, 1]));
        assert!(create(&mut room, &segments, &values).is_none(), "the bytes behind the view are taken");
        let wide = [view, heap.binary(&[0; 15]), Term::small(1)];
        assert!(create(&mut room, &segments, &wide).is_none(), "there is no room for so many");
    }

    #[test]
    fn a_view_of_one_owner_is_extended_in_place() {
        let mut heap = ScratchHeap::new();
        let handle = heap.binary_handle(OffHeapBinary::new(8, 0));
        let view = heap.sub_bits(handle, 0, 0);
        let segments = [Simple::Append { unit: 8, private: true }, integer(3, false), integer(5, false)];
        let values = [view, Term::small(5), Term::small(1)];
        assert!(matches!(create(&mut room(), &segments, &values), Some(Quick::Extended(same)) if same == view));
        assert_eq!(view.aligned_binary(), Some(&[0b1010_0001][..]));
        assert!(create(&mut room(), &segments[..2], &values[..2]).is_none(), "three bits are no bytes");
    }
}
