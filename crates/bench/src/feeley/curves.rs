//! Curves over the number of 4-tuples.

use crate::feeley::{Curve, Figure, Quantity, shown};
use crate::svg::{Anchor, Style, Svg};

/// The picture, and the place of the axes in it.
const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 420.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 640.0;
const TOP: f64 = 50.0;
const BOTTOM: f64 = 370.0;
/// Lines across.
const STEPS: usize = 5;

const DARK: Style = Style { size: 12.0, colour: "#333333", bold: false };
const TITLE: Style = Style { size: 14.0, colour: "#111111", bold: true };

fn colour(contender: &str) -> &'static str {
    match contender {
        "private" => "#0072b2",
        "shared" => "#e69f00",
        "hybrid" => "#009e73",
        "unified" => "#d55e00",
        _ => "#555555",
    }
}

/// A figure's curves for one program; stock's is dashed.
pub(super) fn draw(figure: &Figure, program: &str, curves: &[&Curve]) -> String {
    let mut svg = Svg::new(WIDTH, HEIGHT, &format!("{}: {program}", figure.name));
    svg.text((LEFT, 24.0), &format!("{program}, {}", figure.title), TITLE, Anchor::Start);
    let points = || curves.iter().flat_map(|curve| &curve.points);
    let most = points().map(|(_, spread)| shown(figure.quantity, spread.median)).fold(0.0, f64::max);
    let top = round_up(most);
    let x = |tuples: usize| LEFT + (RIGHT - LEFT) * tuples as f64 / figure.tuples as f64;
    let y = |value: f64| BOTTOM - (BOTTOM - TOP) * value / top;
    for step in 0..=STEPS {
        let (value, tuples) = (top * step as f64 / STEPS as f64, figure.tuples * step / STEPS);
        svg.line((LEFT, y(value)), (RIGHT, y(value)), ("#dddddd", 1.0), "");
        svg.text((LEFT - 8.0, y(value) + 4.0), &crate::format::number(value), DARK, Anchor::End);
        svg.text((x(tuples), BOTTOM + 18.0), &tuples.to_string(), DARK, Anchor::Middle);
    }
    let unit = match figure.quantity {
        Quantity::Time => "us for a process",
        Quantity::Memory => "MB",
    };
    svg.text((LEFT, TOP - 8.0), unit, DARK, Anchor::Start);
    svg.text((RIGHT, BOTTOM + 36.0), "N, 4-tuples", DARK, Anchor::End);
    let mut labels = Vec::new();
    for curve in curves {
        let place =
            |(tuples, spread): &(usize, crate::spread::Spread)| (x(*tuples), y(shown(figure.quantity, spread.median)));
        let dashes = if curve.contender == crate::contender::ERL { "6 4" } else { "" };
        for pair in curve.points.windows(2) {
            svg.line(place(&pair[0]), place(&pair[1]), (colour(&curve.contender), 2.0), dashes);
        }
        labels.extend(curve.points.last().map(|point| (place(point).1, curve.contender.as_str())));
    }
    // Names stand at the ends of their curves, one below the other where these are close.
    labels.sort_by(|one, other| one.0.total_cmp(&other.0));
    let mut lowest = TOP - 20.0;
    for (height, name) in labels {
        lowest = height.max(lowest + 15.0);
        let style = Style { size: 12.0, colour: colour(name), bold: true };
        svg.text((RIGHT + 8.0, lowest + 4.0), name, style, Anchor::Start);
    }
    svg.finish()
}

/// The next of 1, 2, 2.5, 5 and 10 times a power of ten.
fn round_up(value: f64) -> f64 {
    if value <= 0.0 {
        return 1.0;
    }
    let power = 10f64.powf(value.log10().floor());
    let factor = [1.0, 2.0, 2.5, 5.0].into_iter().find(|factor| factor * power >= value).unwrap_or(10.0);
    factor * power
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_end_at_round_numbers() {
        for (value, rounded) in [(0.0, 1.0), (1.0, 1.0), (1.1, 2.0), (23.0, 25.0), (70.0, 100.0), (0.3, 0.5)] {
            assert!((round_up(value) - rounded).abs() < 1e-9, "{value}: {}", round_up(value));
        }
    }
}
