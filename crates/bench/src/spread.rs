//! Medians, spreads and ratios of a handful of runs.

use serde::Serialize;

/// The middle and the ends of what several runs measured, in the unit of what was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Spread {
    /// The middle value, or the mean of the two in the middle.
    pub median: u64,
    /// The smallest value.
    pub minimum: u64,
    /// The largest value.
    pub maximum: u64,
}

impl Spread {
    /// The spread of `values`, or `None` if there are none.
    pub fn of(values: impl IntoIterator<Item = u64>) -> Option<Spread> {
        let mut values: Vec<u64> = values.into_iter().collect();
        values.sort_unstable();
        let (minimum, maximum) = (*values.first()?, *values.last()?);
        let middle = values.len() / 2;
        let median = if values.len() % 2 == 1 { values[middle] } else { values[middle - 1].midpoint(values[middle]) };
        Some(Spread { median, minimum, maximum })
    }

    /// The spread of values of which some were not measured; `None` if none was.
    pub fn of_measured(values: impl IntoIterator<Item = Option<u64>>) -> Option<Spread> {
        Spread::of(values.into_iter().flatten())
    }

    /// The same in a unit that is `factor` times smaller.
    pub fn times(&self, factor: u64) -> Spread {
        let scaled = |value: u64| value.saturating_mul(factor);
        Spread { median: scaled(self.median), minimum: scaled(self.minimum), maximum: scaled(self.maximum) }
    }

    /// How far the ends are apart, as a share of the median; 0 when the median is 0.
    pub fn relative_width(&self) -> f64 {
        if self.median == 0 { 0.0 } else { (self.maximum - self.minimum) as f64 / self.median as f64 }
    }
}

/// `value` as a multiple of `base`; `None` if `base` is 0.
pub fn ratio(value: u64, base: u64) -> Option<f64> {
    (base > 0).then(|| value as f64 / base as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_of_odd_and_even_numbers_of_runs() {
        assert_eq!(Spread::of([5, 1, 9]), Some(Spread { median: 5, minimum: 1, maximum: 9 }));
        assert_eq!(Spread::of([4, 1, 8, 2]), Some(Spread { median: 3, minimum: 1, maximum: 8 }));
        assert_eq!(Spread::of([7]), Some(Spread { median: 7, minimum: 7, maximum: 7 }));
        assert_eq!(Spread::of([]), None);
        assert_eq!(Spread::of([u64::MAX, u64::MAX]).unwrap().median, u64::MAX);
    }

    #[test]
    fn what_was_not_measured_does_not_count() {
        assert_eq!(Spread::of_measured([None, Some(3), None, Some(5)]).unwrap().median, 4);
        assert_eq!(Spread::of_measured([None, None]), None);
    }

    #[test]
    fn ratios_and_widths() {
        assert_eq!(ratio(3, 2), Some(1.5));
        assert_eq!(ratio(3, 0), None);
        assert_eq!(Spread { median: 10, minimum: 8, maximum: 13 }.relative_width(), 0.5);
        let words = Spread { median: 10, minimum: 8, maximum: u64::MAX };
        assert_eq!(words.times(8), Spread { median: 80, minimum: 64, maximum: u64::MAX });
        assert_eq!(Spread { median: 0, minimum: 0, maximum: 0 }.relative_width(), 0.0);
    }
}
