//! Where encoded bytes go: into a vector, into room of the right size, or nowhere when only their number is asked for.

use atoll_term::{Bits, Term, copy_short};

/// What [`encode_up_to`](crate::encode_up_to) gives.
pub enum Encoded {
    /// The bytes.
    Bytes(Vec<u8>),
    /// There are so many.
    Longer(usize),
}

/// A receiver of bytes.
pub trait Sink {
    fn put(&mut self, bytes: &[u8]);
    /// The bits as whole bytes, unused bits of the last one zero.
    fn put_bits(&mut self, bits: &Bits<'_>);
    /// As [`Sink::put_bits`]: the bits of this term.
    fn put_bits_of(&mut self, _term: &Term, bits: &Bits<'_>) {
        self.put_bits(bits);
    }
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

/// A sink that keeps up to so many bytes, and only counts when there are more.
pub struct UpTo {
    /// Room, of which the first `count` bytes are in use; none if there are too many.
    room: Vec<u8>,
    count: usize,
    limit: usize,
}

impl UpTo {
    /// An empty one.
    pub fn new(limit: usize) -> UpTo {
        UpTo { room: Vec::new(), count: 0, limit }
    }

    /// What came.
    pub fn into_encoded(mut self) -> Encoded {
        if self.count > self.limit {
            return Encoded::Longer(self.count);
        }
        self.room.truncate(self.count);
        Encoded::Bytes(self.room)
    }

    /// Counts bytes for which there is no room, and makes room for them and for more if they are to be kept.
    #[cold]
    fn grow(&mut self, more: usize) {
        let end = self.count + more;
        if end > self.limit {
            self.room = Vec::new();
            return;
        }
        self.room.resize((2 * end).max(FIRST_ROOM).min(self.limit), 0);
    }
}

/// Bytes for which a sink has room at first.
const FIRST_ROOM: usize = 64;

impl Sink for UpTo {
    #[inline]
    fn put(&mut self, bytes: &[u8]) {
        let end = self.count + bytes.len();
        if end > self.room.len() {
            self.grow(bytes.len());
        }
        if let Some(place) = self.room.get_mut(self.count..end) {
            copy_short(bytes, place);
        }
        self.count = end;
    }

    fn put_bits(&mut self, bits: &Bits<'_>) {
        self.put(&bits.to_bytes());
    }

    fn position(&self) -> usize {
        self.count
    }

    fn patch(&mut self, at: usize, value: u32) {
        if let Some(place) = self.room.get_mut(at..at + 4) {
            place.copy_from_slice(&value.to_be_bytes());
        }
    }
}

/// Room that the bytes just fill.
pub struct Room<'r> {
    bytes: &'r mut [u8],
    position: usize,
}

impl<'r> Room<'r> {
    /// The room.
    pub fn new(bytes: &'r mut [u8]) -> Room<'r> {
        Room { bytes, position: 0 }
    }
}

impl Sink for Room<'_> {
    #[inline]
    fn put(&mut self, bytes: &[u8]) {
        let end = self.position + bytes.len();
        if let Some(place) = self.bytes.get_mut(self.position..end) {
            copy_short(bytes, place);
        }
        self.position = end;
    }

    fn put_bits(&mut self, bits: &Bits<'_>) {
        self.put(&bits.to_bytes());
    }

    fn position(&self) -> usize {
        self.position
    }

    fn patch(&mut self, at: usize, value: u32) {
        if let Some(place) = self.bytes.get_mut(at..at + 4) {
            place.copy_from_slice(&value.to_be_bytes());
        }
    }
}
