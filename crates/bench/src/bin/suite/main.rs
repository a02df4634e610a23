//! Measures the benchmark programs on stock `erl` and on heap architectures, in turn, and says what was wanted of each.
#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;

mod catalogue;
mod report;
mod runner;

use catalogue::{CATALOGUE, Entry, is_wanted};
use report::{Outcome, Report};
use runner::{ERL, Runner};

/// Measures the benchmark programs on stock erl and on heap architectures, in turn; writes a Markdown table and JSON.
#[derive(Debug, Parser)]
#[command(name = "atoll-suite", version)]
struct Options {
    /// The atoll executable
    #[arg(long, default_value = "target/release/atoll", value_name = "FILE")]
    atoll: PathBuf,
    /// Rows to measure: names as in the table, or their first words, with commas between them [default: all]
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    only: Vec<String>,
    /// Runs of each
    #[arg(long, default_value_t = 5, value_name = "N")]
    runs: usize,
    /// Heap architectures, with commas between them
    #[arg(long, value_delimiter = ',', default_value = "private,shared,unified,hybrid", value_name = "NAMES")]
    heaps: Vec<String>,
    /// Leave stock erl out
    #[arg(long)]
    no_erl: bool,
    /// Longest time for one run, in seconds
    #[arg(long, default_value_t = 120, value_name = "SECONDS")]
    timeout: u64,
    /// Folder for bench.md and bench.json
    #[arg(long, default_value = "out", value_name = "DIR")]
    out: PathBuf,
}

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("atoll-suite: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<(), String> {
    let entries: Vec<&Entry> = CATALOGUE.iter().filter(|entry| is_wanted(entry, &options.only)).collect();
    if entries.is_empty() {
        let names: Vec<&str> = CATALOGUE.iter().map(|entry| entry.name).collect();
        return Err(format!("--only {}: choose from {}", options.only.join(","), names.join(", ")));
    }
    let here = std::env::current_dir().map_err(|error| format!("the present folder: {error}"))?;
    let root = runner::find_root(&here).ok_or("start this in the repository, where bench/ lies")?;
    let atoll = std::fs::canonicalize(&options.atoll)
        .map_err(|error| format!("--atoll {}: {error}", options.atoll.display()))?;
    let folder = std::path::absolute(options.out.join("bench")).map_err(|error| error.to_string())?;
    let mut runner = Runner::new(atoll, root, folder, Duration::from_secs(options.timeout.max(1)))?;
    let erl = if options.no_erl { None } else { runner::stock() };
    let mut contenders = options.heaps.clone();
    if erl.is_some() {
        contenders.insert(0, ERL.to_owned());
    }
    let runs = options.runs.max(1);
    let rows: Vec<_> = entries
        .iter()
        .map(|entry| {
            let row = report::row(entry, measure(&mut runner, entry, &contenders, runs));
            eprintln!("{}: {:.2?}", row.name, row.ratios);
            row
        })
        .collect();
    let summary = report::summary(&rows, &entries, &contenders);
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let report = Report { runs, processors, erl, heaps: options.heaps.clone(), rows, summary };
    let text = report::markdown(&report);
    print!("{text}");
    let json = serde_json::to_string_pretty(&report).map_err(|error| error.to_string())?;
    for (name, contents) in [("bench.md", text), ("bench.json", json)] {
        write(&options.out.join(name), &contents)?;
    }
    Ok(())
}

fn write(file: &Path, contents: &str) -> Result<(), String> {
    std::fs::write(file, contents).map_err(|error| format!("{}: {error}", file.display()))?;
    println!("written: {}", file.display());
    Ok(())
}

/// Runs one program on all contenders, in turn. Who fails once runs no more.
fn measure(runner: &mut Runner, entry: &Entry, contenders: &[String], runs: usize) -> BTreeMap<String, Outcome> {
    let none = || Outcome { figures: Vec::new(), unit: String::new(), failure: None };
    let mut outcomes: BTreeMap<String, Outcome> = contenders.iter().map(|name| (name.clone(), none())).collect();
    for _ in 0..runs {
        for name in contenders {
            let Some(outcome) = outcomes.get_mut(name).filter(|outcome| outcome.failure.is_none()) else { continue };
            match runner.figure(entry, name) {
                Ok(figure) => {
                    outcome.figures.push(figure.value);
                    outcome.unit = figure.unit;
                }
                Err(failure) => outcome.failure = Some(failure),
            }
        }
    }
    outcomes
}
