//! The table in the terminal, and the notes below it.

use std::fmt::Write;

use comfy_table::presets::UTF8_HORIZONTAL_ONLY;
use comfy_table::{Cell, CellAlignment, Table};

use crate::comparison::{Comparison, ContenderResult, Summary};
use crate::format;
use crate::spread::Spread;

/// Stands for what was not measured.
const NOTHING: &str = "–";
/// Where starting takes more than this share of the real time, the report also has the ratios without it.
const START_MATTERS: f64 = 0.1;

struct Column {
    title: String,
    cell: fn(&ContenderResult, &Summary) -> Option<String>,
}

fn column(title: &str, cell: fn(&ContenderResult, &Summary) -> Option<String>) -> Column {
    Column { title: title.to_owned(), cell }
}

fn outside() -> Vec<Column> {
    vec![
        column("wall", |_, summary| Some(time_with_range(&summary.wall_ns))),
        column("CPU", |_, summary| Some(time_with_range(&summary.cpu_ns))),
        column("start", |one, _| median_time(one.startup_ns)),
    ]
}

fn inside() -> Vec<Column> {
    vec![
        column("send", |_, summary| median_time(summary.send_ns)),
        column("copy", |_, summary| median_time(summary.copy_ns)),
        column("minor", |_, summary| median_time(summary.minor_ns)),
        column("major", |_, summary| median_time(summary.major_ns)),
        column("longest\npause", |_, summary| median_time(summary.longest_pause_ns)),
        column("highest\nheap", |_, summary| {
            summary.heap_words_used_highest.map(|words| format::bytes(words.times(8).median))
        }),
    ]
}

fn totals(comparison: &Comparison) -> Vec<Column> {
    let mut columns = vec![
        column("peak\nmemory", |_, summary| Some(format::bytes(summary.peak_rss_bytes.median))),
        column(&format!("ratio to\n{}", comparison.baseline), |_, summary| summary.wall_to_baseline.map(format::ratio)),
    ];
    if comparison.erl().is_some() {
        columns.push(column("ratio\nto erl", |_, summary| summary.wall_to_erl.map(format::ratio)));
    }
    columns
}

/// The table and its notes; two tables where one does not fit.
pub fn render(comparison: &Comparison, columns: usize) -> String {
    let all = outside().into_iter().chain(inside()).chain(totals(comparison)).collect();
    let mut text = table(comparison, all);
    if text.lines().any(|line| line.chars().count() > columns) {
        let seen_from_outside = outside().into_iter().chain(totals(comparison)).collect();
        text = format!("{}\n{}", table(comparison, seen_from_outside), table(comparison, inside()));
    }
    let mut text = format!("{}\n{text}", heading(comparison));
    for note in notes(comparison) {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{note}");
    }
    text
}

fn heading(comparison: &Comparison) -> String {
    let mut heading = format!("{}: median of {}", command_line(comparison), count(comparison.runs, "run"));
    if comparison.runs > 1 {
        heading.push_str(", fastest–slowest below");
    }
    heading
}

/// The program and its arguments.
pub fn command_line(comparison: &Comparison) -> String {
    let mut words = vec![comparison.program.as_str()];
    words.extend(comparison.arguments.iter().map(String::as_str));
    words.join(" ")
}

/// A number and what is counted, in the singular or the plural.
pub fn count(number: usize, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}

fn table(comparison: &Comparison, columns: Vec<Column>) -> String {
    let mut table = Table::new();
    table.load_style(UTF8_HORIZONTAL_ONLY);
    let right = |text: String| Cell::new(text).set_alignment(CellAlignment::Right);
    let titles = columns.iter().map(|column| right(column.title.clone()));
    table.set_header([Cell::new("")].into_iter().chain(titles).collect::<Vec<_>>());
    for one in &comparison.contenders {
        let mark = if one.output_difference.is_some() { " ≠" } else { "" };
        let mut row = vec![Cell::new(format!("{}{mark}", one.name))];
        match &one.summary {
            Some(summary) => row.extend(
                columns.iter().map(|column| right((column.cell)(one, summary).unwrap_or_else(|| NOTHING.to_owned()))),
            ),
            None => {
                row.push(right("failed".to_owned()));
                row.extend(columns.iter().skip(1).map(|_| right(NOTHING.to_owned())));
            }
        }
        table.add_row(row);
    }
    table.trim_fmt() + "\n"
}

fn median_time(spread: Option<Spread>) -> Option<String> {
    spread.map(|spread| format::time(spread.median))
}

fn time_with_range(spread: &Spread) -> String {
    let median = format::time(spread.median);
    if spread.minimum == spread.maximum {
        return median;
    }
    format!("{median}\n{}", format::time_range(spread.minimum, spread.maximum, spread.median))
}

fn notes(comparison: &Comparison) -> Vec<String> {
    let mut notes = Vec::new();
    for one in &comparison.contenders {
        if let Some(failure) = &one.failure {
            notes.push(format!("FAILED: {} in round {}: {}", one.name, failure.round, failure.reason));
        }
    }
    notes.extend(comparison.notes.iter().cloned());
    notes.extend(note_on_starting(comparison));
    if let Some(erl) = &comparison.machine.erl {
        notes.push(format!("erl is OTP {erl}; it reports no times of its parts."));
    }
    notes
}

/// The ratios of the work alone, where starting is a visible part of some machine's time.
fn note_on_starting(comparison: &Comparison) -> Option<String> {
    let shares = comparison
        .contenders
        .iter()
        .filter_map(|one| Some(one.startup_ns?.median as f64 / one.summary.as_ref()?.wall_ns.median.max(1) as f64));
    let largest = shares.fold(0.0, f64::max);
    if largest <= START_MATTERS {
        return None;
    }
    let ratios: Vec<String> = comparison
        .contenders
        .iter()
        .filter_map(|one| {
            let summary = one.summary.as_ref()?;
            let mut text = format!("{} {}", one.name, format::ratio(summary.work_to_baseline?));
            if let Some(to_erl) = summary.work_to_erl {
                let _ = write!(text, " ({})", format::ratio(to_erl));
            }
            Some(text)
        })
        .collect();
    if ratios.is_empty() {
        return Some("Starting takes most of the time: give the program more to do.".to_owned());
    }
    let to_erl = if comparison.erl().is_some_and(|erl| erl.summary.is_some()) { " (to erl)" } else { "" };
    Some(format!(
        "Starting is up to {:.0}% of the wall time; without it the ratios to {}{to_erl} are: {}.",
        largest.min(1.0) * 100.0,
        comparison.baseline,
        ratios.join(", ")
    ))
}
