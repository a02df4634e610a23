//! The order of bitstrings, which tells those that are equal as well.

use std::cmp::Ordering;

use crate::view::Bits;

/// Order of two bitstrings: by bits, then the shorter first.
pub(crate) fn compare_bits(a: Bits, b: Bits) -> Ordering {
    let common = a.length().min(b.length());
    let (short_a, short_b) = (a.slice(0, common), b.slice(0, common));
    let whole = common / 8;
    let order = match (short_a.aligned_bytes(), short_b.aligned_bytes()) {
        (Some(bytes_a), Some(bytes_b)) => bytes_a[..whole].cmp(&bytes_b[..whole]).then_with(|| {
            if common.is_multiple_of(8) { Ordering::Equal } else { short_a.byte(whole).cmp(&short_b.byte(whole)) }
        }),
        _ => (0..common.div_ceil(8))
            .map(|index| short_a.byte(index).cmp(&short_b.byte(index)))
            .find(|order| order.is_ne())
            .unwrap_or(Ordering::Equal),
    };
    order.then(a.length().cmp(&b.length()))
}
