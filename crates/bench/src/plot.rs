//! One picture of a comparison: where the time goes (after Johansson's Figures 7 to 12), wall-clock time, memory, and
//! longest pauses, each contender in the same place of each panel.

use crate::comparison::{Comparison, ContenderResult, Summary};
use crate::format;
use crate::spread::Spread;
use crate::svg::{Anchor, Style, Svg};
use crate::table::{command_line, count};

const WIDTH: f64 = 1200.0;
const MARGIN: f64 = 40.0;
const HEADER: f64 = 92.0;
const PANEL_GAP: f64 = 56.0;
const PANEL_HEIGHT: f64 = 372.0;
const ROW_GAP: f64 = 26.0;
const NOTE_LINE: f64 = 18.0;
const BAR_GAP: f64 = 3.0;

// Okabe and Ito's palette, which people with any kind of colour vision can tell apart.
const SKY: &str = "#56b4e9";
const ORANGE: &str = "#e69f00";
const VERMILION: &str = "#d55e00";
const GREEN: &str = "#009e73";
const PURPLE: &str = "#cc79a7";
const BLUE: &str = "#0072b2";
const GREY: &str = "#b3b3b3";
const INK: &str = "#222222";
const FAINT: &str = "#6b6b6b";
const RULE: &str = "#e2e2e2";

const TITLE: Style = Style { size: 22.0, colour: INK, bold: true };
const SUBTITLE: Style = Style { size: 13.0, colour: FAINT, bold: false };
const PANEL_TITLE: Style = Style { size: 15.0, colour: INK, bold: true };
const LABEL: Style = Style { size: 12.0, colour: INK, bold: false };
const NAME: Style = Style { size: 13.0, colour: INK, bold: true };
const SMALL: Style = Style { size: 11.0, colour: FAINT, bold: false };

/// What fills one bar, from the bottom up.
struct Part {
    value: f64,
    colour: &'static str,
    hint: String,
}

/// A bar with what stands above it and how far it may move.
struct Bar {
    parts: Vec<Part>,
    /// The figure above the bar.
    label: String,
    /// A second, fainter one above that.
    remark: Option<String>,
    /// Lowest and highest measurement, in the unit of the axis.
    range: Option<(f64, f64)>,
}

impl Bar {
    /// One of several bars of a contender, its figure without the unit that the axis has.
    fn narrow(spread: Spread, unit: f64, colour: &'static str, hint: String) -> Bar {
        let value = spread.median as f64 / unit;
        Bar {
            parts: vec![Part { value, colour, hint }],
            label: format::number(value),
            remark: None,
            range: Some((spread.minimum as f64 / unit, spread.maximum as f64 / unit)),
        }
    }

    fn height(&self) -> f64 {
        self.parts.iter().map(|part| part.value).sum()
    }

    fn top(&self) -> f64 {
        self.range.map_or(self.height(), |(_, highest)| highest.max(self.height()))
    }
}

/// What one contender has in one panel: bars side by side, or a word on why there are none.
enum Slot {
    Bars(Vec<Bar>),
    Empty(&'static str),
}

struct Panel {
    title: String,
    legend: Vec<(&'static str, &'static str)>,
    slots: Vec<Slot>,
    /// A dashed line at 1, for ratios.
    reference: bool,
}

/// The picture, as SVG.
pub fn render(comparison: &Comparison) -> String {
    let notes = notes(comparison);
    let height = HEADER + 2.0 * PANEL_HEIGHT + ROW_GAP + 34.0 + notes.len() as f64 * NOTE_LINE;
    let program = command_line(comparison);
    let mut svg = Svg::new(WIDTH, height, &format!("What {program} costs on each heap architecture"));
    svg.text((MARGIN, 42.0), &shortened(&program, 80), TITLE, Anchor::Start);
    svg.text((MARGIN, 66.0), &subtitle(comparison), SUBTITLE, Anchor::Start);

    let width = (WIDTH - 2.0 * MARGIN - PANEL_GAP) / 2.0;
    let names: Vec<&str> = comparison.contenders.iter().map(|one| one.name.as_str()).collect();
    let panels = [parts_panel(comparison), wall_panel(comparison), memory_panel(comparison), pause_panel(comparison)];
    for (index, panel) in panels.iter().enumerate() {
        let x = MARGIN + (index % 2) as f64 * (width + PANEL_GAP);
        let y = HEADER + (index / 2) as f64 * (PANEL_HEIGHT + ROW_GAP);
        draw(&mut svg, panel, &names, (x, y), width);
    }
    for (index, note) in notes.iter().enumerate() {
        let y = height - 14.0 - (notes.len() - 1 - index) as f64 * NOTE_LINE;
        svg.text((MARGIN, y), &shortened(note, 175), SMALL, Anchor::Start);
    }
    svg.finish()
}

fn subtitle(comparison: &Comparison) -> String {
    let mut text = format!(
        "Medians of {}, whiskers from the fastest to the slowest. {} {}, {}",
        count(comparison.runs, "run"),
        comparison.machine.system,
        comparison.machine.architecture,
        count(comparison.machine.processors, "processor"),
    );
    if !comparison.runtime_options.is_empty() {
        text.push_str(&format!(", options {}", comparison.runtime_options.join(" ")));
    }
    if let Some(erl) = &comparison.machine.erl {
        text.push_str(&format!("; erl is OTP {erl}"));
    }
    text
}

fn notes(comparison: &Comparison) -> Vec<String> {
    let failures = comparison.contenders.iter().filter_map(|one| {
        let failure = one.failure.as_ref()?;
        Some(format!("{} failed in round {}: {}", one.name, failure.round, failure.reason))
    });
    failures.chain(comparison.notes.iter().cloned()).collect()
}

/// A slot for each contender; `bars` gives `None` where nothing was measured.
fn slots(comparison: &Comparison, bars: impl Fn(&ContenderResult, &Summary) -> Option<Vec<Bar>>) -> Vec<Slot> {
    let slot = |one: &ContenderResult| match &one.summary {
        None => Slot::Empty("failed"),
        Some(summary) => bars(one, summary).map_or(Slot::Empty("not reported"), Slot::Bars),
    };
    comparison.contenders.iter().map(slot).collect()
}

/// Median times of the parts, from the bottom of the stack up; `None` if the timers were off.
fn parts_of(summary: &Summary) -> Option<[(u64, &'static str, &'static str); 5]> {
    let median = |spread: Option<Spread>| spread.map_or(0, |spread| spread.median);
    Some([
        (summary.mutator_ns?.median, SKY, "mutator"),
        (median(summary.send_ns), ORANGE, "send"),
        (median(summary.copy_ns), VERMILION, "copy"),
        (median(summary.minor_ns), GREEN, "minor"),
        (median(summary.major_ns), PURPLE, "major"),
    ])
}

fn sum_of(parts: &[(u64, &'static str, &'static str)]) -> u64 {
    parts.iter().map(|part| part.0).fold(0, u64::saturating_add)
}

fn parts_panel(comparison: &Comparison) -> Panel {
    let base = comparison.baseline().and_then(|one| parts_of(one.summary.as_ref()?));
    let base = base.map(|parts| sum_of(&parts)).filter(|sum| *sum > 0);
    // Without the baseline's parts the bars are in milliseconds.
    let divisor = base.map_or(1e6, |base| base as f64);
    let slots = slots(comparison, |_, summary| {
        let parts = parts_of(summary)?;
        let sum = sum_of(&parts);
        let label = if base.is_some() { format::ratio(sum as f64 / divisor) } else { format::time(sum) };
        let parts = parts
            .into_iter()
            .map(|(ns, colour, name)| Part {
                value: ns as f64 / divisor,
                colour,
                hint: format!("{name}: {}", format::time(ns)),
            })
            .collect();
        Some(vec![Bar { parts, label, remark: None, range: None }])
    });
    let title = match base {
        Some(_) => format!("Where schedulers spend their time ({} = 1)", comparison.baseline),
        None => "Where schedulers spend their time (ms)".to_owned(),
    };
    Panel {
        title,
        legend: vec![
            ("mutator", SKY),
            ("send + size", ORANGE),
            ("copy", VERMILION),
            ("minor collections", GREEN),
            ("major collections", PURPLE),
        ],
        slots,
        reference: base.is_some(),
    }
}

fn wall_panel(comparison: &Comparison) -> Panel {
    let base = comparison.baseline().and_then(|one| Some(one.summary.as_ref()?.wall_ns.median));
    let base = base.filter(|base| *base > 0);
    let divisor = base.map_or(1e6, |base| base as f64);
    let slots = slots(comparison, |one, summary| {
        let wall = summary.wall_ns;
        let starting = one.startup_ns.map_or(0, |start| start.median.min(wall.median));
        let time = format::time(wall.median);
        let (label, remark) = match summary.wall_to_baseline {
            Some(ratio) => (format::ratio(ratio), Some(time)),
            None => (time, None),
        };
        let work = wall.median - starting;
        let parts = vec![
            Part { value: starting as f64 / divisor, colour: GREY, hint: format!("start: {}", format::time(starting)) },
            Part { value: work as f64 / divisor, colour: BLUE, hint: format!("run: {}", format::time(work)) },
        ];
        let range = (wall.minimum as f64 / divisor, wall.maximum as f64 / divisor);
        Some(vec![Bar { parts, label, remark, range: Some(range) }])
    });
    let title = match base {
        Some(_) => format!("Wall-clock time ({} = 1)", comparison.baseline),
        None => "Wall-clock time (ms)".to_owned(),
    };
    Panel {
        title,
        legend: vec![("start of an empty program", GREY), ("the program itself", BLUE)],
        slots,
        reference: base.is_some(),
    }
}

fn memory_panel(comparison: &Comparison) -> Panel {
    let slots = slots(comparison, |_, summary| {
        let bar = |bytes: Spread, colour| Bar::narrow(bytes, 1e6, colour, format::bytes(bytes.median));
        let heaps = [(summary.heap_words_allocated_highest, SKY), (summary.heap_words_used_highest, GREEN)];
        let heaps = heaps.into_iter().filter_map(|(words, colour)| Some(bar(words?.times(8), colour)));
        Some(std::iter::once(bar(summary.peak_rss_bytes, BLUE)).chain(heaps).collect())
    });
    Panel {
        title: "Memory at its highest (MB)".to_owned(),
        legend: vec![("whole process, resident", BLUE), ("heaps, allocated", SKY), ("heaps, used", GREEN)],
        slots,
        reference: false,
    }
}

fn pause_panel(comparison: &Comparison) -> Panel {
    let summaries = comparison.contenders.iter().filter_map(|one| one.summary.as_ref());
    let longest = summaries.filter_map(|summary| Some(summary.longest_pause_ns?.median)).max().unwrap_or(0);
    let (unit, unit_name) = format::time_unit(longest);
    let slots = slots(comparison, |_, summary| {
        let pauses = [(summary.longest_minor_pause_ns, GREEN), (summary.longest_major_pause_ns, PURPLE)];
        let bars: Vec<Bar> = pauses
            .into_iter()
            .filter_map(|(spread, colour)| {
                let spread = spread?;
                Some(Bar::narrow(spread, unit, colour, format::time(spread.median)))
            })
            .collect();
        (!bars.is_empty()).then_some(bars)
    });
    Panel {
        title: format!("Longest pause for a collection ({unit_name})"),
        legend: vec![("minor", GREEN), ("major", PURPLE)],
        slots,
        reference: false,
    }
}

fn draw(svg: &mut Svg, panel: &Panel, names: &[&str], (x, y): (f64, f64), width: f64) {
    svg.text((x, y + 16.0), &panel.title, PANEL_TITLE, Anchor::Start);
    draw_legend(svg, &panel.legend, (x, y + 40.0));

    let axis = 48.0;
    let (left, right) = (x + axis, x + width);
    let (top, bottom) = (y + 78.0, y + PANEL_HEIGHT - 30.0);
    let highest = panel.slots.iter().flat_map(bars_of).map(Bar::top).fold(0.0, f64::max);
    let highest = if panel.reference { highest.max(1.0) } else { highest };
    let (step, ticks) = axis_of(highest);
    let scale = (bottom - top) / (step * ticks as f64);
    for tick in 0..=ticks {
        let value = step * tick as f64;
        let at = bottom - value * scale;
        svg.line((left, at), (right, at), (if tick == 0 { FAINT } else { RULE }, 1.0), "");
        svg.text((left - 8.0, at + 4.0), &plain_number(value), SMALL, Anchor::End);
    }

    if panel.reference {
        let at = bottom - scale;
        svg.line((left, at), (right, at), (INK, 1.0), "5 4");
    }
    let slot_width = (right - left) / names.len().max(1) as f64;
    let abreast = panel.slots.iter().map(|slot| bars_of(slot).len()).max().unwrap_or(1).max(1) as f64;
    let bar_width = ((slot_width * 0.84 - BAR_GAP * (abreast - 1.0)) / abreast).clamp(4.0, 64.0);
    for (index, (slot, name)) in panel.slots.iter().zip(names).enumerate() {
        let middle = left + (index as f64 + 0.5) * slot_width;
        svg.text((middle, bottom + 20.0), &shortened(name, (slot_width / 8.0) as usize), NAME, Anchor::Middle);
        match slot {
            Slot::Empty(reason) => svg.text((middle, bottom - 8.0), reason, SMALL, Anchor::Middle),
            Slot::Bars(bars) => draw_bars(svg, bars, middle, bar_width, (bottom, scale)),
        }
    }
}

fn bars_of(slot: &Slot) -> &[Bar] {
    match slot {
        Slot::Bars(bars) => bars,
        Slot::Empty(_) => &[],
    }
}

fn draw_legend(svg: &mut Svg, entries: &[(&str, &str)], (mut x, y): (f64, f64)) {
    for (name, colour) in entries {
        svg.rectangle((x, y - 10.0), (12.0, 12.0), colour, "");
        svg.text((x + 17.0, y), name, LABEL, Anchor::Start);
        x += 17.0 + name.chars().count() as f64 * 6.6 + 18.0;
    }
}

/// Bars side by side around `middle`; `bottom` is where the axis has 0, `scale` how high 1 is.
fn draw_bars(svg: &mut Svg, bars: &[Bar], middle: f64, bar_width: f64, (bottom, scale): (f64, f64)) {
    let pitch = bar_width + BAR_GAP;
    let first = middle - pitch * (bars.len() as f64 - 1.0) / 2.0;
    let centres = |index: usize| first + index as f64 * pitch;
    for (index, bar) in bars.iter().enumerate() {
        let centre = centres(index);
        let mut y = bottom;
        for part in &bar.parts {
            let height = part.value * scale;
            y -= height;
            svg.rectangle((centre - bar_width / 2.0, y), (bar_width, height), part.colour, &part.hint);
        }
        let visible = bar.range.filter(|(lowest, highest)| (highest - lowest) * scale > 2.0);
        if let Some((lowest, highest)) = visible {
            let (low, high) = (bottom - lowest * scale, bottom - highest * scale);
            let stroke = (INK, 1.2);
            svg.line((centre, low), (centre, high), stroke, "");
            svg.line((centre - 4.0, low), (centre + 4.0, low), stroke, "");
            svg.line((centre - 4.0, high), (centre + 4.0, high), stroke, "");
        }
    }
    // Figures come last, so that no neighbour's bar hides them.
    let style = if bar_width < 40.0 { Style { size: 11.0, ..LABEL } } else { LABEL };
    for (index, bar) in bars.iter().enumerate() {
        let y = bottom - bar.top() * scale - 6.0;
        svg.text((centres(index), y), &bar.label, style, Anchor::Middle);
        if let Some(remark) = &bar.remark {
            svg.text((centres(index), y - 14.0), remark, SMALL, Anchor::Middle);
        }
    }
}

/// A round step and the number of steps that reach `highest` with room for the labels above it.
fn axis_of(highest: f64) -> (f64, usize) {
    if highest <= 0.0 || !highest.is_finite() {
        return (1.0, 1);
    }
    let rough = highest / 5.0;
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 2.5, 5.0, 10.0].into_iter().map(|round| round * power).find(|step| *step >= rough);
    let step = step.unwrap_or(rough);
    (step, (highest / step * 1.02).ceil().max(1.0) as usize)
}

fn plain_number(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let digits = (2.0 - value.abs().log10().floor()).clamp(0.0, 6.0) as usize;
    let text = format!("{value:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

fn shortened(text: &str, limit: usize) -> String {
    if text.chars().count() <= limit {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(limit.saturating_sub(1)).collect();
    short.push('…');
    short
}
