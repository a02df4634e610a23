//! Writing segments, one after the other, at any bit offset.

use atoll_loader::{BitFlags, SegmentType};
use atoll_term::{Bits, Term, View};

use crate::bits;
use crate::half;
use crate::number::to_float;
use crate::raw_bits::Room;
use crate::utf;

/// A bitstring under construction. It holds an address inside of the new object, so nothing may be collected
/// between its start and the last segment.
#[derive(Debug)]
pub struct BitWriter {
    room: Room,
    position: usize,
    end: usize,
}

/// What is wrong with a segment, as stock's error information names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The value has the wrong type or lies outside of the segment's domain.
    Type,
    /// The size is no integer, below zero, or too large.
    Size,
    /// The value's size is no multiple of the unit.
    Unit,
    /// The value is shorter than the segment.
    Short,
    /// A float segment has a size that floats cannot have.
    Invalid,
    /// No finite float is near the value.
    NoFloat,
}

impl Default for BitWriter {
    fn default() -> BitWriter {
        BitWriter::EMPTY
    }
}

impl BitWriter {
    /// A writer that is full from the start.
    pub const EMPTY: BitWriter = BitWriter { room: Room::EMPTY, position: 0, end: 0 };

    /// Writes from bit `position` to bit `end` of the room.
    pub(crate) fn new(room: Room, position: usize, end: usize) -> BitWriter {
        BitWriter { room, position, end }
    }

    /// What [`BitWriter::new`] was given, but for what has been written since.
    #[inline(always)]
    pub(crate) fn place(&self) -> (Room, usize, usize) {
        (self.room, self.position, self.end)
    }

    /// Bits that are still to be written.
    pub fn remaining(&self) -> usize {
        self.end - self.position
    }

    /// Writes up to 64 bits, most significant first, if there is room; higher bits of `value` are ignored.
    #[inline(always)]
    pub(crate) fn put(&mut self, value: u64, bits: usize) -> Option<()> {
        if bits > self.remaining() {
            return None;
        }
        if bits == 0 {
            return Some(());
        }
        let (index, offset) = (self.position / 8, self.position % 8);
        if offset == 0 && bits.is_multiple_of(8) {
            // Stores of constant sizes: a copy of any size is a call.
            let room = self.room.range(index, index + bits / 8);
            match room {
                [byte] => *byte = value as u8,
                [_, _] => room.copy_from_slice(&(value as u16).to_be_bytes()),
                [_, _, _, _] => room.copy_from_slice(&(value as u32).to_be_bytes()),
                [_, _, _, _, _, _, _, _] => room.copy_from_slice(&value.to_be_bytes()),
                _ => {
                    let mut rest = value;
                    for byte in room.iter_mut().rev() {
                        *byte = rest as u8;
                        rest >>= 8;
                    }
                }
            }
        } else {
            let count = (offset + bits).div_ceil(8);
            let bytes = self.room.range(index, index + count);
            let kept = if offset == 0 { 0 } else { bytes[0] & (0xff << (8 - offset)) as u8 };
            let value = u128::from(value & (u64::MAX >> (64 - bits))) << (128 - offset - bits);
            bytes.copy_from_slice(&(value | u128::from(kept) << 120).to_be_bytes()[..count]);
        }
        self.position += bits;
        Some(())
    }

    /// Writes one byte.
    #[inline]
    pub(crate) fn byte(&mut self, byte: u8) -> Option<()> {
        self.put(byte.into(), 8)
    }

    /// Writes a run of bits.
    pub(crate) fn put_run(&mut self, run: Bits<'_>) -> Option<()> {
        if run.length() > self.remaining() {
            return None;
        }
        let (bytes, start) = run.touched();
        let mut done = 0;
        if start == 0 && self.position.is_multiple_of(8) {
            let (index, count) = (self.position / 8, run.length() / 8);
            self.room.range(index, index + count).copy_from_slice(&bytes[..count]);
            done = count * 8;
            self.position += done;
        }
        while done < run.length() {
            // After an odd start this brings the target to a byte boundary, so that the rest is stored by words.
            let odd = self.position % 8;
            let length = (run.length() - done).min(if odd == 0 { 64 } else { 8 - odd });
            self.put(bits::read(bytes, start + done, length), length)?;
            done += length;
        }
        Some(())
    }

    /// Integer segment: the low `bits` bits of the value.
    ///
    /// # Errors
    /// No integer.
    #[inline]
    pub fn integer(&mut self, value: Term, bits: usize, flags: BitFlags) -> Result<(), Fault> {
        match value.as_small() {
            Some(small) if bits <= 64 => self.put(arranged(small as u64, bits, flags), bits).ok_or(Fault::Size),
            _ => self.large_integer(value, bits, flags),
        }
    }

    #[cold]
    fn large_integer(&mut self, value: Term, bits: usize, flags: BitFlags) -> Result<(), Fault> {
        let small;
        let (negative, limbs) = match value.view() {
            View::Small(value) => {
                small = [value.unsigned_abs()];
                (value < 0, &small[..])
            }
            View::Big(big) => (big.negative, big.limbs),
            _ => return Err(Fault::Type),
        };
        let lowest = limbs.iter().position(|limb| *limb != 0).unwrap_or(limbs.len());
        // Limbs in two's complement, of which there is no last one.
        let limb = |index: usize| {
            let magnitude = limbs.get(index).copied().unwrap_or(0);
            match negative {
                true if index > lowest => !magnitude,
                true => magnitude.wrapping_neg(),
                false => magnitude,
            }
        };
        let (whole, rest) = (bits / 64, bits % 64);
        let written = if flags.little {
            (0..whole)
                .try_for_each(|index| self.put(limb(index).swap_bytes(), 64))
                .and_then(|()| self.put(arranged(limb(whole), rest, flags), rest))
        } else {
            self.put(limb(whole), rest).and_then(|()| (0..whole).rev().try_for_each(|index| self.put(limb(index), 64)))
        };
        written.ok_or(Fault::Size)
    }

    /// Float segment of 16, 32 or 64 bits.
    ///
    /// # Errors
    /// No number, no such size, no such float.
    pub fn float(&mut self, value: Term, bits: usize, flags: BitFlags) -> Result<(), Fault> {
        if !matches!(bits, 16 | 32 | 64) {
            return Err(Fault::Invalid);
        }
        let Some(float) = to_float(value) else {
            return Err(if value.is_integer() { Fault::NoFloat } else { Fault::Type });
        };
        let word = match bits {
            64 => float.to_bits(),
            32 => (float as f32).to_bits().into(),
            _ => half::from_f64(float).into(),
        };
        self.put(arranged(word, bits, flags), bits).ok_or(Fault::Size)
    }

    /// Binary segment: the first `bits` bits of the value, or all of them, whose number must then be a multiple of
    /// `unit`.
    ///
    /// # Errors
    /// No bitstring, too short, not a multiple.
    pub fn binary(&mut self, value: Term, bits: Option<usize>, unit: u16) -> Result<(), Fault> {
        let run = value.bits().ok_or(Fault::Type)?;
        let length = match bits {
            Some(bits) if bits > run.length() => return Err(Fault::Short),
            Some(bits) => bits,
            None if !run.length().is_multiple_of(unit.max(1).into()) => return Err(Fault::Unit),
            None => run.length(),
        };
        self.put_run(run.slice(0, length)).ok_or(Fault::Size)
    }

    /// UTF segment.
    ///
    /// # Errors
    /// No code point.
    pub fn utf(&mut self, value: Term, encoding: SegmentType, flags: BitFlags) -> Result<(), Fault> {
        let code_point = value.as_small().and_then(|value| u64::try_from(value).ok()).ok_or(Fault::Type)?;
        let (encoded, bits) = utf::encode(code_point, encoding, flags).ok_or(Fault::Type)?;
        self.put(encoded, bits).ok_or(Fault::Size)
    }

    /// Bytes of the string table.
    ///
    /// # Errors
    /// No room.
    pub fn string(&mut self, bytes: &[u8]) -> Result<(), Fault> {
        self.put_run(Bits::of_slice(bytes, 0, bytes.len() * 8)).ok_or(Fault::Size)
    }
}

/// The low `bits` (at most 64) of a value in the order in which they are written.
#[inline]
pub(crate) fn arranged(value: u64, bits: usize, flags: BitFlags) -> u64 {
    if !flags.little || bits <= 8 {
        return value;
    }
    // The bits that fill no byte are the most significant ones, and come last.
    let rest = bits % 8;
    let whole = bits - rest;
    let bytes = value.swap_bytes() >> (64 - whole);
    if rest == 0 { bytes } else { bytes << rest | (value >> whole & ((1 << rest) - 1)) }
}
