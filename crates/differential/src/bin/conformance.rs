//! Runs OTP's test suites on stock `erl` and on Atoll's heaps, and compares them case by case.
#![forbid(unsafe_code)]

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use atoll_differential::conformance::{Comparison, Machine, Passing, Results, Suite, Workplace, suites};
use clap::Parser;

/// Runs OTP's own test suites with OTP's Common Test on Atoll, and compares with stock erl
#[derive(Parser)]
struct Options {
    /// The atoll program
    #[arg(long, default_value = "target/release/atoll")]
    atoll: PathBuf,
    /// Heap architectures, with commas in between; private+eager is private with --native eager
    #[arg(long, value_delimiter = ',', default_value = "private,shared,hybrid")]
    heaps: Vec<String>,
    /// Only suites with this text in their path; may be given more than once
    #[arg(long)]
    only: Vec<String>,
    /// Run stock again, even for suites that it has run before
    #[arg(long)]
    stock: bool,
    /// Time limit for one suite, in seconds
    #[arg(long, default_value_t = 300)]
    seconds: u64,
    /// Run nothing, only report what was found before
    #[arg(long)]
    report: bool,
    /// Add the cases that pass everywhere to the checked-in list
    #[arg(long)]
    record: bool,
}

const SUITES: &str = "tests/conformance/suites.txt";
const PASSING: &str = "tests/conformance/passing.txt";

/// Runs one suite on one machine and says what came of it.
fn run(machine: &Machine, suite: &Suite, workplace: &Workplace, limit: Duration) -> Result<(), Box<dyn Error>> {
    let start = Instant::now();
    let results = machine.run(&workplace.prepare(suite)?, workplace, suite.limit(limit))?;
    let (passed, all, seconds) = (results.passed(), results.cases.len(), start.elapsed().as_secs());
    println!("{:<40} {:<13} {passed:>4} of {all:>4}  {seconds:>4} s", suite.label(), machine.name());
    Ok(())
}

fn main() -> ExitCode {
    match conformance(&Options::parse()) {
        Ok(regressed) => ExitCode::from(u8::from(regressed)),
        Err(error) => {
            eprintln!("conformance: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Whether a case of the checked-in list has failed.
fn conformance(options: &Options) -> Result<bool, Box<dyn Error>> {
    let all = suites(Path::new(SUITES))?;
    let wanted = |suite: &&Suite| {
        options.only.is_empty() || options.only.iter().any(|text| suite.to_string().contains(text.as_str()))
    };
    let chosen: Vec<Suite> = all.iter().filter(wanted).cloned().collect();
    let workplace = Workplace::open(Path::new("out/otp/tests"), Path::new("out/conformance"))?;
    let limit = Duration::from_secs(options.seconds);
    let executable = options.atoll.canonicalize()?;
    if !options.report {
        for suite in &chosen {
            if options.stock || !workplace.results("stock", suite).exists() {
                run(&Machine::Stock, suite, &workplace, limit)?;
            }
            for heap in &options.heaps {
                let machine = Machine::Atoll { executable: executable.clone(), heap: heap.clone() };
                run(&machine, suite, &workplace, limit)?;
            }
        }
    }
    let comparison = Comparison::read(&workplace, &chosen, &options.heaps)?;
    fs::write("out/conformance/cases.tsv", comparison.table())?;
    println!("\n{}\nCase by case: out/conformance/cases.tsv", comparison.summary());
    let mut list = Passing::read(Path::new(PASSING))?;
    let (mut regressed, nothing) = (false, Results::default());
    for suite in &chosen {
        for heap in &options.heaps {
            // A heap that ends before the first case has passed none; one that was never run is not judged by old
            // results.
            let results = comparison.of(suite, heap).or((!options.report).then_some(&nothing));
            for line in results.map(|results| list.missing(suite, results)).unwrap_or_default() {
                println!("passed before: {heap} {suite} {line}");
                regressed = true;
            }
        }
    }
    if options.record {
        list.add(comparison.passing());
        list.write(Path::new(PASSING))?;
        println!("{} cases in {PASSING}", list.len());
    }
    Ok(regressed)
}
