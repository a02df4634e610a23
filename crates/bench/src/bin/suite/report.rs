//! Medians, ratios and the Markdown table.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::Serialize;

use crate::catalogue::{Entry, FLAT, Goal, SEQUENTIAL, SEQUENTIAL_GOAL, is_of};
use crate::runner::ERL;

/// What one contender's runs of one program gave.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// The figures, in the order of the runs.
    pub figures: Vec<f64>,
    /// Their unit.
    pub unit: String,
    /// Why it was given up, if it was.
    pub failure: Option<String>,
}

impl Outcome {
    /// The median of its figures, if all runs succeeded.
    pub fn median(&self) -> Option<f64> {
        if self.failure.is_some() {
            return None;
        }
        let mut sorted = self.figures.clone();
        sorted.sort_by(f64::total_cmp);
        let middle = sorted.len() / 2;
        match sorted.len() {
            0 => None,
            length if length % 2 == 1 => Some(sorted[middle]),
            _ => Some(sorted[middle - 1].midpoint(sorted[middle])),
        }
    }

    fn shown(&self) -> String {
        let Some(median) = self.median() else { return "failed".to_owned() };
        let least = self.figures.iter().copied().fold(f64::INFINITY, f64::min);
        let most = self.figures.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        format!("{} ({}–{})", number(median), number(least), number(most))
    }
}

/// Three digits that mean something.
fn number(value: f64) -> String {
    let digits = match value.abs() {
        size if size >= 100.0 => 0,
        size if size >= 10.0 => 1,
        size if size >= 1.0 => 2,
        _ => 3,
    };
    format!("{value:.digits$}")
}

/// One row.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// Name of the entry.
    pub name: String,
    /// By contender.
    pub outcomes: BTreeMap<String, Outcome>,
    /// Medians of the heaps as multiples of stock `erl`'s.
    pub ratios: BTreeMap<String, f64>,
    /// What is wanted, in words.
    pub goal: Option<String>,
    /// Whether it was reached; `None` where nothing is wanted, or nothing was measured.
    pub reached: Option<bool>,
}

/// The whole report.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Runs of each.
    pub runs: usize,
    /// Processors of the machine.
    pub processors: usize,
    /// Release and flavour of stock `erl`.
    pub erl: Option<String>,
    /// The heaps, in order.
    pub heaps: Vec<String>,
    /// Rows.
    pub rows: Vec<Row>,
    /// Figures that follow from several rows, in words.
    pub summary: Vec<String>,
}

/// One row from what its runs gave.
pub fn row(entry: &Entry, outcomes: BTreeMap<String, Outcome>) -> Row {
    let median = |name: &str| outcomes.get(name).and_then(Outcome::median);
    let stock = median(ERL).filter(|figure| *figure > 0.0);
    let ratio_of = |name: &str| Some(median(name)? / stock?);
    let ratios: BTreeMap<String, f64> =
        outcomes.keys().filter(|name| *name != ERL).filter_map(|name| Some((name.clone(), ratio_of(name)?))).collect();
    let (goal, reached) = match entry.goal {
        Goal::None => (None, None),
        Goal::Ratio(heap, most) => {
            (Some(format!("{heap} ≤ {} × erl", number(most))), ratio_of(heap).map(|ratio| ratio <= most))
        }
        Goal::Figure(heap, most) => {
            (Some(format!("{heap} ≤ {}", number(most))), median(heap).map(|figure| figure <= most))
        }
    };
    Row { name: entry.name.to_owned(), outcomes, ratios, goal, reached }
}

/// Figures that follow from several rows: the geometric means over sequential code, and how flat messages are.
pub fn summary(rows: &[Row], entries: &[&Entry], contenders: &[String]) -> Vec<String> {
    let mut lines = Vec::new();
    let heaps = || contenders.iter().filter(|name| *name != ERL);
    for (folder, heap) in SEQUENTIAL.iter().flat_map(|folder| heaps().map(move |heap| (folder, heap))) {
        let sequential = entries.iter().filter(|entry| is_of(entry, folder));
        let ratios: Option<Vec<f64>> =
            sequential.map(|entry| rows.iter().find(|row| row.name == entry.name)?.ratios.get(heap).copied()).collect();
        if let Some(ratios) = ratios.filter(|ratios| !ratios.is_empty()) {
            let mean = (ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len() as f64).exp();
            lines.push(format!(
                "Sequential code of `{folder}` under {heap}: {} × erl in the geometric mean of {} programs (goal: at most {}).",
                number(mean),
                ratios.len(),
                number(SEQUENTIAL_GOAL)
            ));
        }
    }
    for contender in contenders {
        let median = |name: &str| rows.iter().find(|row| row.name == name)?.outcomes.get(contender)?.median();
        if let (Some(short), Some(long)) = (median(FLAT.0), median(FLAT.1)) {
            lines.push(format!("{contender}: {} takes {} times as long as {}.", FLAT.1, number(long / short), FLAT.0));
        }
    }
    lines
}

/// The report as Markdown.
pub fn markdown(report: &Report) -> String {
    let stock = report.erl.as_deref().unwrap_or("none");
    let mut text = format!(
        "Medians of {} runs (smallest–largest) on {} processors; stock erl: {stock}.\n\n| program | unit | erl |",
        report.runs, report.processors
    );
    let heads = report.heaps.iter().map(|heap| format!(" {heap} | × erl |")).collect::<String>();
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{heads} goal | reached |");
    let _ = writeln!(text, "|---|---|---|{}---|---|", "---|---|".repeat(report.heaps.len()));
    for row in &report.rows {
        let unit = row.outcomes.values().map(|one| one.unit.as_str()).find(|unit| !unit.is_empty()).unwrap_or("");
        let shown = |name: &str| row.outcomes.get(name).map_or_else(|| "–".to_owned(), Outcome::shown);
        let _ = write!(text, "| {} | {unit} | {} |", row.name, shown(ERL));
        for heap in &report.heaps {
            let ratio = row.ratios.get(heap).map_or_else(|| "–".to_owned(), |ratio| number(*ratio));
            let _ = write!(text, " {} | {ratio} |", shown(heap));
        }
        let reached = row.reached.map_or("", |reached| if reached { "yes" } else { "no" });
        let _ = writeln!(text, " {} | {reached} |", row.goal.as_deref().unwrap_or(""));
    }
    text.push('\n');
    for line in &report.summary {
        let _ = writeln!(text, "- {line}");
    }
    for row in &report.rows {
        for (name, outcome) in &row.outcomes {
            if let Some(failure) = &outcome.failure {
                let _ = writeln!(text, "- {} on {name} failed: {failure}", row.name);
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::CATALOGUE;

    fn outcome(figures: &[f64]) -> Outcome {
        Outcome { figures: figures.to_vec(), unit: "us".to_owned(), failure: None }
    }

    fn entry(name: &str) -> &'static Entry {
        CATALOGUE.iter().find(|entry| entry.name == name).expect("in the catalogue")
    }

    fn outcomes(all: &[(&str, Outcome)]) -> BTreeMap<String, Outcome> {
        all.iter().map(|(name, one)| ((*name).to_owned(), one.clone())).collect()
    }

    #[test]
    fn ratios_are_of_medians_and_goals_are_judged_by_them() {
        let slow = row(entry("ring"), outcomes(&[(ERL, outcome(&[3.0, 2.0, 1.0])), ("private", outcome(&[9.0, 3.0]))]));
        assert_eq!(slow.ratios["private"], 3.0);
        assert_eq!(slow.reached, Some(false));
        let absent = row(entry("ring"), outcomes(&[("private", outcome(&[1.0]))]));
        assert_eq!(absent.reached, None);
        let start = row(entry("start"), outcomes(&[("private", outcome(&[20.0]))]));
        assert_eq!(start.reached, Some(true));
    }

    #[test]
    fn failures_are_shown_and_spoil_their_row_only() {
        let failed = Outcome { failure: Some("exit status 1".to_owned()), ..outcome(&[]) };
        let one = row(entry("ring"), outcomes(&[(ERL, outcome(&[2.0])), ("private", failed)]));
        assert_eq!((one.reached, one.ratios.len()), (None, 0));
        let report = Report {
            runs: 1,
            processors: 2,
            erl: None,
            heaps: vec!["private".to_owned()],
            rows: vec![one],
            summary: Vec::new(),
        };
        let text = markdown(&report);
        assert!(text.contains("| ring | us | 2.00 (2.00–2.00) | failed | – |"), "{text}");
        assert!(text.contains("- ring on private failed: exit status 1"), "{text}");
    }

    #[test]
    fn the_geometric_mean_and_the_growth_of_messages_are_told() {
        let rows: Vec<Row> = [("cpu/fib", 2.0), ("cpu/tak", 8.0), (FLAT.0, 1.0), (FLAT.1, 5.0)]
            .into_iter()
            .map(|(name, figure)| {
                row(entry(name), outcomes(&[(ERL, outcome(&[1.0])), ("private", outcome(&[figure]))]))
            })
            .collect();
        let entries: Vec<&Entry> = rows.iter().map(|row| entry(&row.name)).collect();
        let lines = summary(&rows, &entries, &[ERL.to_owned(), "private".to_owned()]);
        assert!(lines[0].contains("private: 4.00 × erl in the geometric mean of 2 programs"), "{lines:?}");
        assert!(lines[2].contains("private: comm N=200 takes 5.00 times as long"), "{lines:?}");
    }
}
