//! A term's bytes in parts: what is written, and in between the larger binaries of the term as they are.

use atoll_term::{Bits, Term};

use crate::encode::{EncodeError, EncodeOptions, write_term};
use crate::sink::Sink;

/// Bytes up to which a binary is written with what stands around it, as in OTP.
const MOST_WRITTEN: usize = 64;

/// A part of a term's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part<'p> {
    /// Bytes that were written.
    Written(&'p [u8]),
    /// A binary that is in the term.
    Binary(Term),
}

/// The bytes of a term.
#[derive(Debug, Default)]
pub struct Parts {
    written: Vec<u8>,
    /// Binaries, each with the number of written bytes in front of it, and with that of all bytes up to its end.
    binaries: Vec<(usize, usize, Term)>,
    /// Written bytes that are kept at most.
    limit: usize,
    /// Whether there were more.
    is_over: bool,
    position: usize,
}

/// The bytes of a term without compression, version byte included, if no more than `limit` of them have to be written.
///
/// # Errors
/// As [`encode`](crate::encode).
pub fn encode_in_parts(
    term: Term,
    options: EncodeOptions,
    node: (Term, u32),
    limit: usize,
) -> Result<Option<Parts>, EncodeError> {
    let parts = write_term(term, options, node, Parts { limit, ..Parts::default() })?;
    Ok((!parts.is_over).then_some(parts))
}

impl Parts {
    /// The parts, in their order.
    pub fn iter(&self) -> impl Iterator<Item = Part<'_>> {
        let starts = std::iter::once(0).chain(self.binaries.iter().map(|(written, ..)| *written));
        let ends = self.binaries.iter().map(|(written, ..)| *written).chain([self.written.len()]);
        let written = starts.zip(ends).map(|(start, end)| Part::Written(&self.written[start..end]));
        let binaries = self.binaries.iter().map(|(.., binary)| Some(Part::Binary(*binary))).chain([None]);
        let all = written.zip(binaries).flat_map(|(written, binary)| [Some(written), binary]);
        all.flatten().filter(|part| *part != Part::Written(&[]))
    }

    /// How many bytes were written.
    pub fn written(&self) -> usize {
        self.written.len()
    }

    /// Whether so many more bytes are kept.
    fn keeps(&mut self, more: usize) -> bool {
        self.position += more;
        if !self.is_over && self.written.len() + more > self.limit {
            self.is_over = true;
            (self.written, self.binaries) = (Vec::new(), Vec::new());
        }
        !self.is_over
    }
}

impl Sink for Parts {
    fn put(&mut self, bytes: &[u8]) {
        if self.keeps(bytes.len()) {
            self.written.extend_from_slice(bytes);
        }
    }

    fn put_bits(&mut self, bits: &Bits<'_>) {
        if self.keeps(bits.byte_length()) {
            self.written.put_bits(bits);
        }
    }

    fn put_bits_of(&mut self, term: &Term, bits: &Bits<'_>) {
        let is_whole = bits.is_binary() && bits.aligned_bytes().is_some();
        if !is_whole || bits.byte_length() <= MOST_WRITTEN {
            return self.put_bits(bits);
        }
        self.position += bits.byte_length();
        if !self.is_over {
            self.binaries.push((self.written.len(), self.position, *term));
        }
    }

    fn position(&self) -> usize {
        self.position
    }

    fn patch(&mut self, at: usize, value: u32) {
        if self.is_over {
            return;
        }
        // Only binaries that end before it count.
        let in_front = self.binaries.partition_point(|(_, end, _)| *end <= at);
        let skipped = in_front.checked_sub(1).map_or(0, |last| {
            let (written, end, _) = self.binaries[last];
            end - written
        });
        self.written.patch(at - skipped, value);
    }
}

#[cfg(test)]
mod tests {
    use atoll_term::{Build, ScratchHeap};

    use super::*;

    fn parts(limit: usize) -> Parts {
        Parts { limit, ..Parts::default() }
    }

    #[test]
    fn binaries_stand_between_what_is_written() {
        let mut heap = ScratchHeap::new();
        let (large, small) = (heap.binary(&[7; MOST_WRITTEN + 1]), heap.binary(&[8; MOST_WRITTEN]));
        let mut parts = parts(100);
        for term in [&large, &small, &large] {
            parts.put(&[1, 0, 0, 0, 0]);
            if let Some(bits) = term.bits() {
                parts.put_bits_of(term, &bits);
            }
        }
        // Four bytes in front of each.
        for (at, value) in [(1, 0x0203_0405), (5 + 65 + 1, 0x0607_0809), (10 + 65 + 64 + 1, 0x0a0b_0c0d)] {
            parts.patch(at, value);
        }
        let middle = [&[1, 6, 7, 8, 9][..], &[8; MOST_WRITTEN], &[1, 10, 11, 12, 13]].concat();
        let expected =
            [Part::Written(&[1, 2, 3, 4, 5]), Part::Binary(large), Part::Written(&middle), Part::Binary(large)];
        assert_eq!(parts.iter().collect::<Vec<_>>(), expected);
        assert_eq!((parts.position(), parts.written()), (3 * 5 + 2 * 65 + 64, 3 * 5 + 64));
    }

    #[test]
    fn what_is_too_long_is_counted() {
        let mut parts = parts(4);
        parts.put(&[1; 4]);
        assert!(!parts.is_over);
        parts.put(&[1]);
        parts.patch(0, 5);
        assert!(parts.is_over && parts.position() == 5 && parts.iter().next().is_none());
    }
}
