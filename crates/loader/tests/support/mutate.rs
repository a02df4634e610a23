//! Damaging a file.

/// Changes a few places: mostly single bytes, sometimes a stretch that is copied elsewhere. `below` gives a random
/// number below its argument.
pub fn mutate(file: &[u8], mut below: impl FnMut(usize) -> usize) -> Vec<u8> {
    let mut bytes = file.to_vec();
    for _ in 0..=below(4) {
        let place = below(bytes.len());
        match below(8) {
            0 => bytes[place] = below(256) as u8,
            1 => bytes[place] = [0, 1, 0x7f, 0x80, 0xff][below(5)],
            2 | 3 => bytes[place] ^= 1 << below(8),
            // Another small number of the same kind: another register, label or atom.
            4 | 5 => bytes[place] = bytes[place] & 0x0f | (below(8) as u8) << 4,
            6 => bytes[place] = bytes[place].wrapping_add(1),
            _ => {
                let from = below(bytes.len());
                let length = below(24).min(bytes.len() - place.max(from));
                bytes.copy_within(from..from + length, place);
            }
        }
    }
    bytes
}
