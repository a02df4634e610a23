//! Times, sizes and ratios as people read them: three significant digits and a unit.

const TIME_UNITS: [&str; 4] = ["ns", "µs", "ms", "s"];

/// A time in nanoseconds, as `1.23 s`, `45.6 ms`, `789 µs` or `12 ns`.
pub fn time(ns: u64) -> String {
    scaled(ns, &TIME_UNITS)
}

/// A size in bytes, as `1.23 GB`, `45.6 MB`, `789 kB` or `12 B` (powers of 1,000).
pub fn bytes(bytes: u64) -> String {
    scaled(bytes, &["B", "kB", "MB", "GB", "TB"])
}

/// A ratio, as `0.123`, `1.23`, `12.3` or `123`.
pub fn ratio(ratio: f64) -> String {
    if ratio < 0.9995 { format!("{ratio:.3}") } else { three_digits(ratio) }
}

/// A number of some unit to three significant digits, at most three of them behind the point.
pub fn number(value: f64) -> String {
    if value == 0.0 { "0".to_owned() } else { ratio(value) }
}

/// The unit in which a time has one to three digits before its point: how many nanoseconds it has, and its name.
pub fn time_unit(ns: u64) -> (f64, &'static str) {
    let power = power_of(ns, TIME_UNITS.len() - 1);
    (1000f64.powi(power as i32), TIME_UNITS[power])
}

/// The least and the most of something in one unit, as `1.20–1.31`, without the unit: that of `unit_of`.
pub fn time_range(minimum: u64, maximum: u64, unit_of: u64) -> String {
    let (unit, _) = time_unit(unit_of);
    let show = |ns: u64| three_digits(ns as f64 / unit);
    format!("{}–{}", show(minimum), show(maximum))
}

fn scaled(value: u64, units: &[&str]) -> String {
    if value == 0 {
        return "0".to_owned();
    }
    let power = power_of(value, units.len() - 1);
    let number = if power == 0 { value.to_string() } else { three_digits(value as f64 / 1000f64.powi(power as i32)) };
    format!("{number} {}", units[power])
}

/// The power of 1,000 in which `value` has one to three digits before its point once rounded.
fn power_of(value: u64, highest: usize) -> usize {
    let mut scaled = value as f64;
    let mut power = 0;
    while scaled >= 999.5 && power < highest {
        scaled /= 1000.0;
        power += 1;
    }
    power
}

fn three_digits(value: f64) -> String {
    if value < 9.995 {
        format!("{value:.2}")
    } else if value < 99.95 {
        format!("{value:.1}")
    } else {
        format!("{value:.0}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_significant_digits() {
        assert_eq!(time(0), "0");
        assert_eq!(time_unit(45_678_000), (1e6, "ms"));
        assert_eq!(time(999), "999 ns");
        assert_eq!(time(1_234), "1.23 µs");
        assert_eq!(time(999_600), "1.00 ms");
        assert_eq!(time(45_678_000), "45.7 ms");
        assert_eq!(time(7_200_000_000_000), "7200 s");
        assert_eq!(bytes(300_000_000), "300 MB");
        assert_eq!(bytes(12), "12 B");
        assert_eq!(ratio(0.0333), "0.033");
        assert_eq!(ratio(1.0), "1.00");
        assert_eq!(ratio(12.34), "12.3");
        assert_eq!(time_range(980_000, 1_210_000, 1_100_000), "0.98–1.21");
    }
}
