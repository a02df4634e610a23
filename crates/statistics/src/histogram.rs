//! A histogram of unsigned integers with buckets whose width grows with the value.
//!
//! Every power of two is cut into eight equal buckets, so a value is known to within an eighth of itself and values
//! below sixteen exactly; recording is a shift, an index and four additions. The scheme is that of HDR histograms.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Bits of a value, below its highest set bit, that choose the bucket within a power of two.
const SUB_BUCKET_BITS: u32 = 3;
const SUB_BUCKETS: usize = 1 << SUB_BUCKET_BITS;
const BUCKETS: usize = (u64::BITS - SUB_BUCKET_BITS + 1) as usize * SUB_BUCKETS;

/// Counts values (nanoseconds of a pause, words of a message) in buckets that are an eighth of a power of two wide.
///
/// About 4 kB, allocated once by [`Histogram::new`]; [`Histogram::record`] takes constant time and allocates nothing,
/// so a scheduler can own one and call it at each collection. Histograms of several schedulers are joined by
/// [`Histogram::merge`].
///
/// As JSON: `{"count", "sum", "minimum", "maximum", "buckets": [{"upper", "count"}]}`, empty buckets left out.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "HistogramRecord", try_from = "HistogramRecord")]
pub struct Histogram {
    counts: Box<[u64]>,
    count: u64,
    sum: u64,
    minimum: u64,
    maximum: u64,
}

/// One bucket that is not empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bucket {
    /// The largest value that falls in this bucket, in the histogram's unit.
    pub upper: u64,
    /// How many values fell in it.
    pub count: u64,
}

/// Why a record of a histogram was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistogramError {
    stated: u64,
    found: u64,
}

impl fmt::Display for HistogramError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "the histogram states {} values, but its buckets hold {}", self.stated, self.found)
    }
}

impl std::error::Error for HistogramError {}

#[derive(Serialize, Deserialize)]
struct HistogramRecord {
    count: u64,
    sum: u64,
    minimum: Option<u64>,
    maximum: Option<u64>,
    buckets: Vec<Bucket>,
}

impl Histogram {
    /// An empty histogram.
    pub fn new() -> Self {
        Histogram { counts: vec![0; BUCKETS].into_boxed_slice(), count: 0, sum: 0, minimum: u64::MAX, maximum: 0 }
    }

    /// Counts one value.
    #[inline]
    pub fn record(&mut self, value: u64) {
        self.counts[bucket_of(value)] += 1;
        self.count += 1;
        self.sum = self.sum.saturating_add(value);
        self.minimum = self.minimum.min(value);
        self.maximum = self.maximum.max(value);
    }

    /// Counts one value so many times.
    pub fn record_times(&mut self, value: u64, times: u64) {
        if times == 0 {
            return;
        }
        self.counts[bucket_of(value)] += times;
        self.count += times;
        self.sum = self.sum.saturating_add(value.saturating_mul(times));
        self.minimum = self.minimum.min(value);
        self.maximum = self.maximum.max(value);
    }

    /// Adds every value that `other` counted.
    pub fn merge(&mut self, other: &Histogram) {
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            *mine = mine.saturating_add(*theirs);
        }
        self.count = self.count.saturating_add(other.count);
        self.sum = self.sum.saturating_add(other.sum);
        self.minimum = self.minimum.min(other.minimum);
        self.maximum = self.maximum.max(other.maximum);
    }

    /// Forgets every value and keeps the storage.
    pub fn clear(&mut self) {
        self.counts.fill(0);
        self.count = 0;
        self.sum = 0;
        self.minimum = u64::MAX;
        self.maximum = 0;
    }

    /// How many values were recorded.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Their exact sum, held at `u64::MAX` should it overflow.
    pub fn sum(&self) -> u64 {
        self.sum
    }

    /// The smallest value, exact.
    pub fn minimum(&self) -> Option<u64> {
        (self.count > 0).then_some(self.minimum)
    }

    /// The largest value, exact.
    pub fn maximum(&self) -> Option<u64> {
        (self.count > 0).then_some(self.maximum)
    }

    /// The arithmetic mean.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    /// A value that at least `percent` per cent of the recorded ones do not exceed: the upper end of the bucket
    /// that holds it, and never more than the largest value recorded.
    pub fn percentile(&self, percent: f64) -> Option<u64> {
        if self.count == 0 {
            return None;
        }
        let rank = (percent.clamp(0.0, 100.0) / 100.0 * self.count as f64).ceil() as u64;
        let rank = rank.max(1);
        let mut seen = 0;
        for bucket in self.buckets() {
            seen += bucket.count;
            if seen >= rank {
                return Some(bucket.upper.min(self.maximum));
            }
        }
        Some(self.maximum)
    }

    /// The buckets that are not empty, in increasing order.
    pub fn buckets(&self) -> impl Iterator<Item = Bucket> + '_ {
        self.counts
            .iter()
            .enumerate()
            .filter(|(_, count)| **count > 0)
            .map(|(index, count)| Bucket { upper: upper_of(index), count: *count })
    }
}

impl Default for Histogram {
    fn default() -> Self {
        Histogram::new()
    }
}

impl fmt::Debug for Histogram {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Histogram")
            .field("count", &self.count)
            .field("minimum", &self.minimum())
            .field("maximum", &self.maximum())
            .field("buckets", &self.buckets().collect::<Vec<_>>())
            .finish()
    }
}

impl From<Histogram> for HistogramRecord {
    fn from(histogram: Histogram) -> Self {
        HistogramRecord {
            count: histogram.count,
            sum: histogram.sum,
            minimum: histogram.minimum(),
            maximum: histogram.maximum(),
            buckets: histogram.buckets().collect(),
        }
    }
}

impl TryFrom<HistogramRecord> for Histogram {
    type Error = HistogramError;

    fn try_from(record: HistogramRecord) -> Result<Self, HistogramError> {
        let mut histogram = Histogram::new();
        let mut found = 0u64;
        for bucket in &record.buckets {
            let count = &mut histogram.counts[bucket_of(bucket.upper)];
            *count = count.saturating_add(bucket.count);
            found = found.saturating_add(bucket.count);
        }
        if found != record.count {
            return Err(HistogramError { stated: record.count, found });
        }
        histogram.count = record.count;
        histogram.sum = record.sum;
        histogram.minimum = record.minimum.unwrap_or(u64::MAX);
        histogram.maximum = record.maximum.unwrap_or(0);
        Ok(histogram)
    }
}

fn bucket_of(value: u64) -> usize {
    if value < SUB_BUCKETS as u64 {
        return value as usize;
    }
    let exponent = value.ilog2();
    let sub = (value >> (exponent - SUB_BUCKET_BITS)) as usize & (SUB_BUCKETS - 1);
    (exponent - SUB_BUCKET_BITS + 1) as usize * SUB_BUCKETS + sub
}

fn upper_of(bucket: usize) -> u64 {
    if bucket < SUB_BUCKETS {
        return bucket as u64;
    }
    let shift = (bucket / SUB_BUCKETS - 1) as u32;
    let lower = ((SUB_BUCKETS + bucket % SUB_BUCKETS) as u64) << shift;
    lower + ((1u64 << shift) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_tile_the_whole_range() {
        for bucket in 0..BUCKETS {
            assert_eq!(bucket_of(upper_of(bucket)), bucket);
            if bucket + 1 < BUCKETS {
                assert_eq!(bucket_of(upper_of(bucket) + 1), bucket + 1);
            }
        }
        assert_eq!(upper_of(BUCKETS - 1), u64::MAX);
    }

    #[test]
    fn a_bucket_is_at_most_an_eighth_of_its_value_wide() {
        let mut value = 1u64;
        while value < u64::MAX / 7 {
            let upper = upper_of(bucket_of(value));
            assert!(upper >= value && (upper - value) as f64 <= value as f64 / 8.0);
            value = value * 7 / 5 + 1;
        }
    }

    #[test]
    fn percentiles_follow_the_recorded_values() {
        let mut histogram = Histogram::new();
        for value in 1..=1000u64 {
            histogram.record(value * 1000);
        }
        let median = histogram.percentile(50.0).unwrap();
        assert!((500_000..=562_500).contains(&median), "{median}");
        assert_eq!(histogram.percentile(100.0), Some(1_000_000));
        assert_eq!(histogram.minimum(), Some(1000));
        assert_eq!(histogram.maximum(), Some(1_000_000));
        assert_eq!(histogram.mean(), Some(500_500.0));
    }

    #[test]
    fn an_empty_histogram_has_no_percentile() {
        let histogram = Histogram::new();
        assert_eq!(histogram.percentile(50.0), None);
        assert_eq!(histogram.maximum(), None);
        assert_eq!(histogram.mean(), None);
    }

    #[test]
    fn merging_equals_recording_everything_in_one() {
        let (mut left, mut right, mut both) = (Histogram::new(), Histogram::new(), Histogram::new());
        for value in [0, 3, 17, 90_000, u64::MAX] {
            left.record(value);
            both.record(value);
        }
        for value in [2, 17, 1 << 40] {
            right.record(value);
            both.record(value);
        }
        left.merge(&right);
        assert_eq!(left, both);
        left.clear();
        assert_eq!(left, Histogram::new());
    }

    #[test]
    fn json_keeps_everything() {
        let mut histogram = Histogram::new();
        for value in [0, 5, 1234, 987_654_321] {
            histogram.record(value);
        }
        let text = serde_json::to_string(&histogram).unwrap();
        assert!(text.contains(r#"{"upper":1279,"count":1}"#), "{text}");
        assert_eq!(serde_json::from_str::<Histogram>(&text).unwrap(), histogram);
        let empty = serde_json::to_string(&Histogram::new()).unwrap();
        assert_eq!(serde_json::from_str::<Histogram>(&empty).unwrap(), Histogram::new());
    }

    #[test]
    fn a_record_whose_counts_disagree_is_refused() {
        let text = r#"{"count":2,"sum":1,"minimum":1,"maximum":1,"buckets":[{"upper":1,"count":1}]}"#;
        let error = serde_json::from_str::<Histogram>(text).unwrap_err();
        assert!(error.to_string().contains("states 2 values"), "{error}");
    }
}
