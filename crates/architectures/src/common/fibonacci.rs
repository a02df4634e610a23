//! Heap sizes: the Fibonacci series, and steps of 20% above a million words (Wilhelmsson §3; OTP).

const SERIES: [usize; 27] = [
    13, 21, 34, 55, 89, 144, 233, 377, 610, 987, 1_597, 2_584, 4_181, 6_765, 10_946, 17_711, 28_657, 46_368, 75_025,
    121_393, 196_418, 317_811, 514_229, 832_040, 1_346_269, 1_615_522, 1_938_626,
];

/// The smallest size of the series that is at least `words`.
pub(crate) fn at_least(words: usize) -> usize {
    let position = SERIES.partition_point(|size| *size < words);
    if let Some(size) = SERIES.get(position) {
        return *size;
    }
    let mut size = SERIES[SERIES.len() - 1];
    while size < words {
        size = size.saturating_add(size / 5);
    }
    size
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_grow_by_the_series_and_then_by_a_fifth() {
        assert_eq!(at_least(0), 13);
        assert_eq!(at_least(233), 233);
        assert_eq!(at_least(234), 377);
        assert!(SERIES[..25].windows(3).all(|three| three[2] == three[0] + three[1]));
        let large = at_least(50_000_000);
        assert!((50_000_000..60_000_001).contains(&large));
        assert_eq!(at_least(large), large);
        assert!(at_least(usize::MAX / 16) >= usize::MAX / 16);
    }
}
