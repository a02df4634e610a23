//! Bytes for a connection to another node, of which large binaries are held where they are and not copied.

use atoll_term::{Bits, HeldBytes, Term};

use crate::sink::Sink;

/// Bytes from which on a binary is held instead of copied.
const LEAST_HELD: usize = 16 * 1024;

/// Bytes in the order in which they are to leave.
#[derive(Debug, Default)]
pub struct Pieces {
    written: Vec<u8>,
    /// Binaries, each with the number of written bytes in front of it.
    held: Vec<(usize, HeldBytes)>,
    held_length: usize,
}

impl Pieces {
    /// How many bytes there are.
    pub fn len(&self) -> usize {
        self.written.len() + self.held_length
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Copies the bytes in `from..to` behind those in `into`.
    pub fn copy(&self, from: usize, to: usize, into: &mut Vec<u8>) {
        into.reserve(to.saturating_sub(from));
        let (mut position, mut done) = (0, 0);
        let mut part = |bytes: &[u8]| {
            let (start, end) = (from.max(position), to.min(position + bytes.len()));
            if start < end {
                into.extend_from_slice(&bytes[start - position..end - position]);
            }
            position += bytes.len();
        };
        for (written, held) in &self.held {
            part(&self.written[done..*written]);
            part(held.bytes());
            done = *written;
        }
        part(&self.written[done..]);
    }

    /// All bytes in one piece.
    pub fn into_bytes(self) -> Vec<u8> {
        if self.held.is_empty() {
            return self.written;
        }
        let mut bytes = Vec::new();
        self.copy(0, self.len(), &mut bytes);
        bytes
    }
}

impl From<Vec<u8>> for Pieces {
    fn from(written: Vec<u8>) -> Pieces {
        Pieces { written, ..Pieces::default() }
    }
}

impl Sink for Pieces {
    fn put(&mut self, bytes: &[u8]) {
        self.written.extend_from_slice(bytes);
    }

    fn put_bits(&mut self, bits: &Bits<'_>) {
        self.written.put_bits(bits);
    }

    fn put_bits_of(&mut self, term: &Term, bits: &Bits<'_>) {
        let held = (bits.byte_length() >= LEAST_HELD).then(|| HeldBytes::of(term)).flatten();
        match held {
            Some(held) => {
                self.held_length += bits.byte_length();
                self.held.push((self.written.len(), held));
            }
            None => self.put_bits(bits),
        }
    }

    fn position(&self) -> usize {
        self.len()
    }

    fn patch(&mut self, at: usize, value: u32) {
        let mut in_front = 0;
        for (written, held) in &self.held {
            if written + in_front > at {
                break;
            }
            in_front += held.bytes().len();
        }
        self.written.patch(at - in_front, value);
    }
}

#[cfg(test)]
mod tests {
    use atoll_term::{Build, ScratchHeap};

    use super::*;

    #[test]
    fn held_binaries_stand_where_they_were_put() {
        let mut heap = ScratchHeap::new();
        let large: Vec<u8> = (0..=255).cycle().take(LEAST_HELD).collect();
        let binary = heap.binary(&large);
        let mut pieces = Pieces::default();
        let mut expected = Vec::new();
        for round in 0..3_u8 {
            pieces.put(&[round, 0, 0, 0, 0]);
            expected.extend([round, 0, 0, 0, 0]);
            if let Some(bits) = binary.bits() {
                pieces.put_bits_of(&binary, &bits);
            }
            expected.extend_from_slice(&large);
        }
        pieces.put(b"end");
        expected.extend(b"end");
        // Four bytes in front of each binary.
        for round in 0..3 {
            let at = round * (5 + LEAST_HELD) + 1;
            pieces.patch(at, 0x0102_0304);
            expected[at..at + 4].copy_from_slice(&[1, 2, 3, 4]);
        }
        assert_eq!((pieces.len(), pieces.held.len()), (expected.len(), 3));
        for (from, to) in [(0, 4), (3, 9), (4, 5 + LEAST_HELD), (LEAST_HELD, 3 * LEAST_HELD), (7, expected.len())] {
            let mut some = b"before".to_vec();
            pieces.copy(from, to, &mut some);
            assert!(some[6..] == expected[from..to], "{from} to {to}");
        }
        drop(heap);
        assert!(pieces.into_bytes() == expected);
    }
}
