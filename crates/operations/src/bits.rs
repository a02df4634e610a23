//! Reading runs of bits at any offset. Positions are counted from the most significant bit of the first byte.

/// Up to 64 bits as a number, most significant first; the run must lie inside `bytes`.
#[inline]
pub(crate) fn read(bytes: &[u8], position: usize, bits: usize) -> u64 {
    debug_assert!(bits <= 64 && position + bits <= bytes.len() * 8);
    if bits == 0 {
        return 0;
    }
    let (index, offset) = (position / 8, position % 8);
    if offset + bits <= 64
        && let Some(word) = bytes.get(index..).and_then(|rest| rest.first_chunk::<8>())
    {
        return (u64::from_be_bytes(*word) << offset) >> (64 - bits);
    }
    let touched = (offset + bits).div_ceil(8);
    let wide = bytes[index..index + touched].iter().fold(0u128, |wide, byte| wide << 8 | u128::from(*byte));
    let mask = u64::MAX >> (64 - bits);
    (wide >> (touched * 8 - offset - bits)) as u64 & mask
}

/// Copies a run into whole bytes; the bits behind its end in the last byte are zero.
pub(crate) fn copy_out(bytes: &[u8], position: usize, bits: usize, to: &mut [u8]) {
    let whole = bits / 8;
    if position.is_multiple_of(8) {
        to[..whole].copy_from_slice(&bytes[position / 8..position / 8 + whole]);
    } else {
        let (from, shift) = (&bytes[position / 8..], position % 8);
        for (index, byte) in to[..whole].iter_mut().enumerate() {
            *byte = from[index] << shift | from[index + 1] >> (8 - shift);
        }
    }
    let rest = bits % 8;
    if rest != 0 {
        to[whole] = (read(bytes, position + whole * 8, rest) << (8 - rest)) as u8;
    }
}

/// Whether two runs of `bits` bits are the same.
pub(crate) fn same(left: &[u8], left_position: usize, right: &[u8], right_position: usize, bits: usize) -> bool {
    if left_position.is_multiple_of(8) && right_position.is_multiple_of(8) && bits.is_multiple_of(8) {
        return left[left_position / 8..(left_position + bits) / 8]
            == right[right_position / 8..(right_position + bits) / 8];
    }
    (0..bits).step_by(64).all(|from| {
        let length = (bits - from).min(64);
        read(left, left_position + from, length) == read(right, right_position + from, length)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::Random;

    fn bit(bytes: &[u8], position: usize) -> u64 {
        u64::from(bytes[position / 8] >> (7 - position % 8) & 1)
    }

    #[test]
    fn runs_at_every_offset() {
        let bytes = Random(3).bytes(12);
        for position in 0..=96 {
            for bits in 0..=(96 - position).min(64) {
                let expected = (position..position + bits).fold(0, |value, place| value << 1 | bit(&bytes, place));
                assert_eq!(read(&bytes, position, bits), expected, "{bits} bits at {position}");
                let mut copy = [0xff; 8];
                copy_out(&bytes, position, bits, &mut copy);
                assert!((0..bits).all(|place| bit(&copy, place) == bit(&bytes, position + place)));
                assert!((bits..bits.next_multiple_of(8)).all(|place| bit(&copy, place) == 0));
                assert!(same(&bytes, position, &copy, 0, bits));
                if bits > 0 {
                    copy[(bits - 1) / 8] ^= 0x80 >> ((bits - 1) % 8);
                    assert!(!same(&bytes, position, &copy, 0, bits));
                }
            }
        }
    }
}
