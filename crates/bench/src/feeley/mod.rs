//! The evaluation of Feeley 2001, "A case for the unified heap approach to Erlang memory management", section 4, today:
//! his programs with his axes on every architecture and on stock `erl`, as tables, curves, and what became of his
//! claims.
//!
//! His figures give times for 1,000,000 processes on another machine. Here they are microseconds for a process, so that
//! fewer processes do, and what is held against his claims are ratios.

mod claims;
mod curves;
mod measure;

use std::fmt::Write;
use std::io;
use std::path::{Path, PathBuf};

use crate::error::CompareError;
use crate::progress::Progress;
use crate::spread::Spread;

pub use claims::Claim;

/// How thoroughly to measure, and with what.
#[derive(Clone, Debug)]
pub struct FeeleyOptions {
    /// The `atoll` executable.
    pub atoll: PathBuf,
    /// The folder of the programs.
    pub programs: PathBuf,
    /// Runs of each point, of which the median counts.
    pub runs: usize,
    /// Points of each curve, the first and the last included: at least 2.
    pub points: usize,
    /// Processes of a run with small amounts of allocation. The paper has 1,000,000.
    pub processes: usize,
}

/// What is measured at a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quantity {
    /// Nanoseconds for a process.
    Time,
    /// The largest resident set, in bytes.
    Memory,
}

/// A figure of the paper: programs, over numbers of 4-tuples.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Figure {
    pub name: &'static str,
    pub title: &'static str,
    pub programs: &'static [&'static str],
    /// The largest number of 4-tuples.
    pub tuples: usize,
    /// `None`: as many as the options say.
    pub processes: Option<usize>,
    pub quantity: Quantity,
}

/// The four programs of Figures 4 and 5.
const ALLOCATION: &[&str] = &["garb0", "garb75", "garb0_gen", "garb75_gen"];

/// The figures, and the size of section 4.4 as a curve.
pub(crate) const FIGURES: [Figure; 4] = [
    Figure {
        name: "figure-4",
        title: "allocation, small amounts: microseconds for a process of N 4-tuples",
        programs: ALLOCATION,
        tuples: 200,
        processes: None,
        quantity: Quantity::Time,
    },
    Figure {
        name: "figure-5",
        title: "allocation, large amounts: microseconds for a process of N 4-tuples",
        programs: ALLOCATION,
        tuples: 50_000,
        processes: Some(1_000),
        quantity: Quantity::Time,
    },
    Figure {
        name: "figure-7",
        title: "communication: microseconds for a process that gets N 4-tuples and sends them back",
        programs: &["comm"],
        tuples: 200,
        processes: None,
        quantity: Quantity::Time,
    },
    Figure {
        name: "section-4.4",
        title: "fragmentation: megabytes resident with 10,000 waiting processes that have made N 4-tuples each",
        programs: &["frag"],
        tuples: 500,
        processes: Some(10_000),
        quantity: Quantity::Memory,
    },
];

/// What one contender did on one program, over numbers of 4-tuples.
#[derive(Clone, Debug)]
pub(crate) struct Curve {
    pub figure: &'static str,
    pub program: &'static str,
    pub contender: String,
    /// 4-tuples, and nanoseconds for a process or bytes. A point whose runs failed is missing.
    pub points: Vec<(usize, Spread)>,
}

/// What was measured.
#[derive(Clone, Debug)]
pub struct FeeleyReport {
    pub(crate) curves: Vec<Curve>,
    /// What became of the paper's claims.
    pub claims: Vec<Claim>,
    /// What went wrong, for people.
    pub notes: Vec<String>,
}

/// Measures all figures; contenders take turns at each point.
///
/// # Errors
/// The programs cannot be compiled, or no run can be started. Runs that fail are notes of the report.
pub fn feeley(options: &FeeleyOptions, progress: &mut dyn Progress) -> Result<FeeleyReport, CompareError> {
    if options.runs == 0 || options.points < 2 || options.processes == 0 {
        return Err(CompareError::Options("at least 1 run, 2 points and 1 process are needed"));
    }
    let (curves, notes) = measure::curves(options, progress)?;
    let claims = claims::judge(&curves);
    Ok(FeeleyReport { curves, claims, notes })
}

/// The numbers of 4-tuples of a curve: from 0 on at equal distances.
pub(crate) fn axis(figure: &Figure, points: usize) -> Vec<usize> {
    (0..points).map(|point| figure.tuples * point / (points - 1)).collect()
}

/// A value as it is shown: microseconds, or megabytes.
pub(crate) fn shown(quantity: Quantity, value: u64) -> f64 {
    match quantity {
        Quantity::Time => value as f64 / 1e3,
        Quantity::Memory => value as f64 / 1e6,
    }
}

impl FeeleyReport {
    /// Tables and claims as text.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for figure in &FIGURES {
            for program in figure.programs {
                let curves = self.of(figure, program);
                let _ = writeln!(text, "{}, {program}: {}", figure.name, figure.title);
                let names: String = curves.iter().map(|curve| format!("{:>10}", curve.contender)).collect();
                let _ = writeln!(text, "{:>8}{names}", "N");
                let tuples = curves.iter().flat_map(|curve| &curve.points).map(|(tuples, _)| *tuples);
                let tuples: std::collections::BTreeSet<usize> = tuples.collect();
                for tuples in tuples {
                    let cells: String = curves.iter().map(|curve| cell(figure.quantity, curve, tuples)).collect();
                    let _ = writeln!(text, "{tuples:>8}{cells}");
                }
                text.push('\n');
            }
        }
        for claim in &self.claims {
            let _ = writeln!(text, "{}\n    here: {}", claim.statement, claim.measured);
        }
        for note in &self.notes {
            let _ = writeln!(text, "note: {note}");
        }
        text
    }

    /// One line for each point, with the ends of what its runs measured.
    pub fn csv(&self) -> String {
        let mut text = "figure,program,contender,tuples,median,minimum,maximum\n".to_owned();
        for curve in &self.curves {
            for (tuples, spread) in &curve.points {
                let Curve { figure, program, contender, .. } = curve;
                let Spread { median, minimum, maximum } = spread;
                let _ = writeln!(text, "{figure},{program},{contender},{tuples},{median},{minimum},{maximum}");
            }
        }
        text
    }

    /// Writes the table and the curves into a folder.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn write(&self, folder: &Path) -> io::Result<()> {
        std::fs::write(folder.join("points.csv"), self.csv())?;
        std::fs::write(folder.join("report.txt"), self.text())?;
        for figure in &FIGURES {
            for program in figure.programs {
                let file = folder.join(format!("{}-{program}.svg", figure.name));
                std::fs::write(file, curves::draw(figure, program, &self.of(figure, program)))?;
            }
        }
        Ok(())
    }

    fn of(&self, figure: &Figure, program: &str) -> Vec<&Curve> {
        self.curves.iter().filter(|curve| curve.figure == figure.name && curve.program == program).collect()
    }
}

fn cell(quantity: Quantity, curve: &Curve, tuples: usize) -> String {
    match curve.points.iter().find(|(at, _)| *at == tuples) {
        Some((_, spread)) => format!("{:>10.2}", shown(quantity, spread.median)),
        None => format!("{:>10}", "-"),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A curve with these medians at 0, 100 and 200 4-tuples.
    pub(crate) fn curve(figure: &'static str, program: &'static str, contender: &str, medians: [u64; 3]) -> Curve {
        let spread = |median| Spread { median, minimum: median, maximum: median };
        let points = [0, 100, 200].into_iter().zip(medians.map(spread)).collect();
        Curve { figure, program, contender: contender.to_owned(), points }
    }

    #[test]
    fn an_axis_has_both_ends() {
        assert_eq!(axis(&FIGURES[0], 5), [0, 50, 100, 150, 200]);
        assert_eq!(axis(&FIGURES[1], 2), [0, 50_000]);
    }

    #[test]
    fn a_report_has_all_points() {
        let curves = vec![
            curve("figure-7", "comm", "unified", [1_000, 1_100, 1_200]),
            curve("figure-7", "comm", "erl", [1_500, 6_000, 11_700]),
        ];
        let report = FeeleyReport { claims: claims::judge(&curves), curves, notes: vec!["a note".into()] };
        let text = report.text();
        assert!(text.contains("     200      1.20     11.70\n"), "{text}");
        assert!(text.contains("note: a note"), "{text}");
        assert_eq!(report.csv().lines().count(), 7);
        let folder = tempfile::tempdir().unwrap();
        report.write(folder.path()).unwrap();
        let drawn = std::fs::read_to_string(folder.path().join("figure-7-comm.svg")).unwrap();
        let document = roxmltree::Document::parse(&drawn).unwrap();
        let lines = document.descendants().filter(|node| node.has_tag_name("line")).count();
        assert!(lines >= 4, "two curves of two pieces: {lines}");
    }
}
