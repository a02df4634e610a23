//! Segments whose sizes are known, and the bytes that they take where they begin and end at byte boundaries.

use atoll_loader::BitFlags;
use atoll_term::Term;

use crate::bit_writer::arranged;

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

/// Bits that are still to be written: the low ones of a word.
#[derive(Default)]
pub(crate) struct Run {
    pub(crate) word: u64,
    pub(crate) bits: usize,
}

/// Writes segments that all begin and end at byte boundaries, or integers that together do. `None`: they do not, and
/// any of the bytes may have been written.
#[inline(always)]
pub(crate) fn fill_bytes(mut rest: &mut [u8], segments: &[Simple], values: &[Term]) -> Option<()> {
    let mut run = Run::default();
    for (segment, value) in segments.iter().zip(values) {
        let copied = match segment {
            Simple::Integer { bits, flags } => {
                if run.bits + bits > 64 || *bits == 64 && run.bits > 0 {
                    return None;
                }
                let word = arranged(value.as_small()? as u64, *bits, *flags);
                let before = if *bits == 64 { 0 } else { run.word << bits };
                let mask = if *bits == 0 { 0 } else { u64::MAX >> (64 - bits) };
                run = Run { word: before | word & mask, bits: run.bits + bits };
                if run.bits.is_multiple_of(8) {
                    let (here, behind) = rest.split_at_mut_checked(run.bits / 8)?;
                    store(here, run.word);
                    (rest, run) = (behind, Run::default());
                }
                continue;
            }
            Simple::Whole { .. } => value.aligned_binary()?,
            Simple::Bytes(bytes) => &bytes[..],
            Simple::Append { .. } => return None,
        };
        if run.bits > 0 {
            return None;
        }
        let (here, behind) = rest.split_at_mut_checked(copied.len())?;
        copy(here, copied);
        rest = behind;
    }
    (run.bits == 0).then_some(())
}

/// Writes the low bytes of a word, the most significant one first.
#[inline(always)]
fn store(bytes: &mut [u8], word: u64) {
    // Stores of constant sizes: a copy of any size is a call.
    match bytes {
        [byte] => *byte = word as u8,
        [_, _] => bytes.copy_from_slice(&(word as u16).to_be_bytes()),
        [_, _, _, _] => bytes.copy_from_slice(&(word as u32).to_be_bytes()),
        [_, _, _, _, _, _, _, _] => bytes.copy_from_slice(&word.to_be_bytes()),
        _ => {
            let mut left = word;
            for byte in bytes.iter_mut().rev() {
                *byte = left as u8;
                left >>= 8;
            }
        }
    }
}

/// Copies bytes to others of the same number. Few are copied by loads and stores of constant sizes: a copy of any size
/// is a call.
#[inline(always)]
fn copy(to: &mut [u8], from: &[u8]) {
    match from.len() {
        8..=16 => ends::<8>(to, from),
        4..=7 => ends::<4>(to, from),
        2..=3 => ends::<2>(to, from),
        1 => to[0] = from[0],
        _ => to.copy_from_slice(from),
    }
}

/// Copies the first and the last `N` bytes.
#[inline(always)]
fn ends<const N: usize>(to: &mut [u8], from: &[u8]) {
    let (Some(first), Some(last)) = (from.first_chunk::<N>(), from.last_chunk::<N>()) else { return };
    let (first, last) = (*first, *last);
    if let Some(place) = to.first_chunk_mut::<N>() {
        *place = first;
    }
    if let Some(place) = to.last_chunk_mut::<N>() {
        *place = last;
    }
}
