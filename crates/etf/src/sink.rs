//! Where encoded bytes go: into a vector, or nowhere when only their number is asked for.

use atoll_term::Bits;

/// A receiver of bytes.
pub trait Sink {
    fn put(&mut self, bytes: &[u8]);
    /// The bits as whole bytes, unused bits of the last one zero.
    fn put_bits(&mut self, bits: &Bits<'_>);
    /// How many bytes came so far.
    fn position(&self) -> usize;
    /// Overwrites four bytes that came before.
    fn patch(&mut self, at: usize, value: u32);

    fn put_u8(&mut self, value: u8) {
        self.put(&[value]);
    }

    fn put_u16(&mut self, value: u16) {
        self.put(&value.to_be_bytes());
    }

    fn put_u32(&mut self, value: u32) {
        self.put(&value.to_be_bytes());
    }
}

impl Sink for Vec<u8> {
    fn put(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }

    fn put_bits(&mut self, bits: &Bits<'_>) {
        self.extend_from_slice(&bits.to_bytes());
    }

    fn position(&self) -> usize {
        self.len()
    }

    fn patch(&mut self, at: usize, value: u32) {
        if let Some(place) = self.get_mut(at..at + 4) {
            place.copy_from_slice(&value.to_be_bytes());
        }
    }
}

/// A sink that only counts.
#[derive(Default)]
pub struct Counter(usize);

impl Sink for Counter {
    fn put(&mut self, bytes: &[u8]) {
        self.0 += bytes.len();
    }

    fn put_bits(&mut self, bits: &Bits<'_>) {
        self.0 += bits.byte_length();
    }

    fn position(&self) -> usize {
        self.0
    }

    fn patch(&mut self, _at: usize, _value: u32) {}
}
