//! Plots as SVG text: stacked bars, and stacked areas over the allocation clock.

use crate::statistics::Usage;
use std::fmt::Write as _;

const COLOURS: [&str; 6] = ["#355070", "#6d9dc5", "#e0a458", "#c0504d", "#8fa876", "#b8b8b8"];
const PLOT_HEIGHT: f64 = 180.0;

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

fn begin(width: f64, height: f64, title: &str) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" \
         font-size=\"11\">\n<rect width=\"{width}\" height=\"{height}\" fill=\"white\"/>\n\
         <text x=\"10\" y=\"18\" font-size=\"13\">{}</text>\n",
        escape(title)
    )
}

fn text(svg: &mut String, x: f64, y: f64, anchor: &str, content: &str) {
    let content = escape(content);
    let _ = writeln!(svg, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{content}</text>");
}

fn rectangle(svg: &mut String, x: f64, y: f64, width: f64, height: f64, colour: &str) {
    let _ = writeln!(
        svg,
        "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.2}\" fill=\"{colour}\"/>"
    );
}

fn legend(svg: &mut String, y: f64, parts: &[&str]) {
    for (index, part) in parts.iter().enumerate() {
        let x = 10.0 + 125.0 * index as f64;
        rectangle(svg, x, y - 9.0, 10.0, 10.0, COLOURS[index % COLOURS.len()]);
        text(svg, x + 14.0, y, "start", part);
    }
}

/// A group of bars of one label.
pub(super) struct Bars {
    pub(super) label: String,
    /// For each bar its parts from the bottom, or `None` for a run that did not survive.
    pub(super) bars: Vec<Option<Vec<f64>>>,
}

/// Stacked bars in groups; a run that did not survive is a black stump.
pub(super) fn bars(title: &str, unit: &str, parts: &[&str], groups: &[Bars]) -> String {
    let most = groups.iter().flat_map(|group| group.bars.iter().flatten()).map(|bar| bar.iter().sum::<f64>());
    let most = most.fold(0.0, f64::max).max(1e-12);
    let per_group = groups.iter().map(|group| group.bars.len()).max().unwrap_or(1) as f64;
    let group_width = (per_group * 16.0 + 24.0).max(64.0);
    let width = 70.0 + group_width * groups.len() as f64;
    let width = width.max(30.0 + 125.0 * parts.len() as f64);
    let height = PLOT_HEIGHT + 90.0;
    let mut svg = begin(width, height, title);
    let (left, bottom) = (55.0, 35.0 + PLOT_HEIGHT);
    for step in 0..=4 {
        let y = bottom - PLOT_HEIGHT * step as f64 / 4.0;
        let _ = writeln!(svg, "<line x1=\"{left}\" x2=\"{width}\" y1=\"{y:.1}\" y2=\"{y:.1}\" stroke=\"#ddd\"/>");
        text(&mut svg, left - 4.0, y + 4.0, "end", &format!("{:.3}", most * step as f64 / 4.0));
    }
    for (index, group) in groups.iter().enumerate() {
        let x0 = left + 10.0 + group_width * index as f64;
        for (place, bar) in group.bars.iter().enumerate() {
            let x = x0 + 16.0 * place as f64;
            let mut y = bottom;
            match bar {
                None => rectangle(&mut svg, x, bottom - 20.0, 13.0, 20.0, "black"),
                Some(bar) => {
                    for (part, value) in bar.iter().enumerate() {
                        let height = PLOT_HEIGHT * value / most;
                        y -= height;
                        rectangle(&mut svg, x, y, 13.0, height, COLOURS[part % COLOURS.len()]);
                    }
                }
            }
        }
        text(&mut svg, x0 + per_group * 8.0, bottom + 15.0, "middle", &group.label);
    }
    text(&mut svg, 10.0, 31.0, "start", unit);
    legend(&mut svg, height - 12.0, parts);
    svg.push_str("</svg>\n");
    svg
}

/// The use of the heap over the allocation clock, as the paper draws it: useful, headers, padding, and what is left, in
/// percent.
pub(super) fn usage(title: &str, samples: &[Usage]) -> String {
    let (width, height) = (560.0, PLOT_HEIGHT + 90.0);
    let mut svg = begin(width, height, title);
    let (left, right, bottom) = (45.0, width - 15.0, 35.0 + PLOT_HEIGHT);
    let end = samples.last().map_or(1, |last| last.clock.max(1)) as f64;
    let point =
        |clock: u64, share: f64| (left + (right - left) * clock as f64 / end, bottom - PLOT_HEIGHT * share.min(1.0));
    rectangle(&mut svg, left, bottom - PLOT_HEIGHT, right - left, PLOT_HEIGHT, COLOURS[3]);
    let levels = |usage: &Usage| {
        let limit = usage.limit.max(1) as f64;
        let useful = usage.useful as f64 / limit;
        let header = useful + usage.header as f64 / limit;
        [useful, header, header + usage.padding as f64 / limit]
    };
    for level in [2, 1, 0] {
        let mut path = format!("M{left:.1} {bottom:.1}");
        for sample in samples {
            let (x, y) = point(sample.clock, levels(sample)[level]);
            let _ = write!(path, " L{x:.1} {y:.1}");
        }
        let _ = writeln!(svg, "<path d=\"{path} L{right:.1} {bottom:.1} Z\" fill=\"{}\"/>", COLOURS[level]);
    }
    for step in 0..=4 {
        let y = bottom - PLOT_HEIGHT * step as f64 / 4.0;
        text(&mut svg, left - 4.0, y + 4.0, "end", &format!("{}%", 25 * step));
    }
    text(&mut svg, right, bottom + 15.0, "end", &format!("{:.1} MB allocated", end / 1e6));
    legend(&mut svg, height - 12.0, &["useful", "headers", "padding", "external and free"]);
    svg.push_str("</svg>\n");
    svg
}
