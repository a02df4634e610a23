//! Copies of few bytes.

/// Copies bytes that are few as a rule: a call would take longer than the copy.
///
/// # Panics
/// If there are more or fewer places.
#[inline]
pub fn copy_short(from: &[u8], to: &mut [u8]) {
    match from.len() {
        1 if to.len() == 1 => to[0] = from[0],
        2..=3 => overlapping::<2>(from, to),
        4..=7 => overlapping::<4>(from, to),
        8..=16 => overlapping::<8>(from, to),
        17..=32 => overlapping::<16>(from, to),
        _ => to.copy_from_slice(from),
    }
}

/// Copies the first and the last so many bytes, which may overlap: all if they are at most twice as many.
#[inline(always)]
fn overlapping<const BYTES: usize>(from: &[u8], to: &mut [u8]) {
    assert_eq!(from.len(), to.len());
    if let (Some(first), Some(last)) = (from.first_chunk::<BYTES>(), from.last_chunk::<BYTES>()) {
        if let Some(place) = to.first_chunk_mut::<BYTES>() {
            *place = *first;
        }
        if let Some(place) = to.last_chunk_mut::<BYTES>() {
            *place = *last;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::copy_short;

    #[test]
    fn bytes_of_each_length_are_copied() {
        let from: Vec<u8> = (1..=40).collect();
        for length in 0..=from.len() {
            let mut to = vec![0; length];
            copy_short(&from[..length], &mut to);
            assert_eq!(to, from[..length]);
        }
    }
}
