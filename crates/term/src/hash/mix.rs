//! Bob Jenkins' mixing of 1996 ("Hash functions", Dr. Dobb's Journal, September 1997), on which the hashes are built.

use crate::view::Bits;

/// The golden ratio as a fraction of 2^32.
const GOLDEN: u32 = 0x9e37_79b9;

/// Multiple number `n` of the golden ratio: each type of term adds its own, so that types hash apart.
pub(super) const fn salt(n: u32) -> u32 {
    GOLDEN.wrapping_mul(n)
}

const SALT_BYTES: u32 = salt(13);
const SALT_LAST_BITS: u32 = salt(15);

/// A hash in the making.
#[derive(Clone, Copy)]
pub(super) struct Mixer {
    pub hash: u32,
    /// Steps done, of which one mixes in eight bytes at most.
    pub steps: usize,
}

impl Mixer {
    pub fn new(hash: u32) -> Mixer {
        Mixer { hash, steps: 0 }
    }

    /// Mixes in two words.
    #[inline]
    pub fn pair(&mut self, x: u32, y: u32, salt: u32) {
        self.steps += 1;
        self.hash = mix([salt.wrapping_add(x), salt.wrapping_add(y), self.hash])[2];
    }

    /// Mixes in one word.
    #[inline]
    pub fn one(&mut self, x: u32, salt: u32) {
        self.pair(x, 0, salt);
    }

    /// Mixes in the limbs of a large integer.
    pub fn limbs(&mut self, negative: bool, limbs: &[u64]) {
        let salt = if negative { salt(10) } else { salt(11) };
        for limb in limbs {
            self.pair(*limb as u32, (limb >> 32) as u32, salt);
        }
    }

    /// As [`Mixer::bits`], of so many whole bytes that begin at the first word; behind the last byte stands anything.
    #[inline]
    pub fn heap_bytes(&mut self, length: usize, words: &[u64]) {
        let start = self.hash.wrapping_add(SALT_BYTES);
        self.steps += length / 8;
        self.hash = if length == 0 { start } else { block_of_words(length, words, start) };
    }

    /// Mixes in a bitstring. Of the number of its whole bytes, 32 bits count, as on OTP: of a bitstring of 4 GB and 3
    /// bits, this takes the first 3 bits.
    pub fn bits(&mut self, bits: Bits) {
        let counted = bits.length() / 8 % (1 << 32) * 8 + bits.length() % 8;
        let bits = bits.slice(0, counted);
        let start = self.hash.wrapping_add(SALT_BYTES);
        if bits.length() == 0 {
            self.hash = start;
            return;
        }
        let whole = bits.length() / 8;
        self.steps += whole / 8;
        self.hash = match bits.aligned_bytes() {
            Some(bytes) => block(&bytes[..whole], start),
            None => block(&bits.slice(0, whole * 8).to_bytes(), start),
        };
        let rest = bits.length() % 8;
        if rest > 0 {
            self.pair(rest as u32, u32::from(bits.byte(whole) >> (8 - rest)), SALT_LAST_BITS);
        }
    }
}

/// By how many bits each round shifts the third word right, the first left and the second right.
pub const ROUNDS: [(u32, u32, u32); 3] = [(13, 8, 13), (12, 16, 5), (3, 10, 15)];

#[inline]
fn mix([mut a, mut b, mut c]: [u32; 3]) -> [u32; 3] {
    for (first, second, third) in ROUNDS {
        a = a.wrapping_sub(b).wrapping_sub(c) ^ (c >> first);
        b = b.wrapping_sub(c).wrapping_sub(a) ^ (a << second);
        c = c.wrapping_sub(a).wrapping_sub(b) ^ (b >> third);
    }
    [a, b, c]
}

/// As [`block`], of so many bytes that begin at the first word.
#[inline]
fn block_of_words(length: usize, words: &[u64], start: u32) -> u32 {
    let half = |index: usize| words.get(index / 2).map_or(0, |word| (word.to_le() >> (index % 2 * 32)) as u32);
    // Half a word, of which only so many bytes count.
    let part = |index: usize, bytes: usize| match bytes {
        0 => 0,
        1..4 => half(index) & (u32::MAX >> (32 - 8 * bytes)),
        _ => half(index),
    };
    let mut state = [GOLDEN, GOLDEN, start];
    let mut at = 0;
    let mut rest = length;
    while rest >= 12 {
        state = mix([0, 1, 2].map(|place| state[place].wrapping_add(half(at + place))));
        (at, rest) = (at + 3, rest - 12);
    }
    // The lowest byte of the third word is taken by the length.
    let last = (part(at + 2, rest.saturating_sub(8)) << 8).wrapping_add(length as u32);
    let [a, b, c] = state;
    mix([a.wrapping_add(part(at, rest)), b.wrapping_add(part(at + 1, rest.saturating_sub(4))), c.wrapping_add(last)])[2]
}

/// The hash of bytes: twelve at a time, then the rest with the length.
fn block(bytes: &[u8], start: u32) -> u32 {
    let mut state = [GOLDEN, GOLDEN, start];
    let (chunks, rest) = bytes.as_chunks::<12>();
    for chunk in chunks {
        for (word, bytes) in state.iter_mut().zip(chunk.as_chunks::<4>().0) {
            *word = word.wrapping_add(u32::from_le_bytes(*bytes));
        }
        state = mix(state);
    }
    state[2] = state[2].wrapping_add(bytes.len() as u32);
    for (index, byte) in rest.iter().enumerate() {
        // The lowest byte of the third word is taken by the length.
        let place = if index < 8 { index } else { index + 1 };
        state[place / 4] = state[place / 4].wrapping_add(u32::from(*byte) << (place % 4 * 8));
    }
    mix(state)[2]
}
