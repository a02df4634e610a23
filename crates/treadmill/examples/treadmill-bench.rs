//! The paper's evaluation in one command: `treadmill-bench [--quick] [--no-...] [FOLDER]` prints the tables and writes
//! them, with plots, into the folder.

use std::path::PathBuf;
use std::process::ExitCode;
use treadmill::Preset;
use treadmill::evaluation::{Options, Source, Workload, compare, repeat, run, smallest_heap};

const USAGE: &str = "treadmill-bench [--quick] [--no-smallest] [--no-figures] [--no-malloc] [--no-live] [FOLDER]
treadmill-bench --only PROGRAM (COLLECTOR|mimalloc) RUNS KILOBYTES
treadmill-bench --smallest PROGRAM COLLECTOR PARTS
treadmill-bench --compare PROGRAM PAIRS";

/// One program on one source of memory, for a profiler: `--only PROGRAM (COLLECTOR|mimalloc) RUNS KILOBYTES`.
fn only(arguments: &[String]) -> Option<ExitCode> {
    let [program, source, runs, kilobytes] = arguments else { return None };
    let workload = Workload::ALL.into_iter().find(|workload| workload.name() == program)?;
    let limit = kilobytes.parse::<usize>().ok()? * 1000;
    let source = match source.as_str() {
        "mimalloc" => Source::Mimalloc,
        name => Source::Heap(Preset::ALL.into_iter().find(|preset| preset.name() == name)?, limit),
    };
    match repeat(workload, source, runs.parse().ok()?) {
        Some(statistics) => println!("{statistics:#?}"),
        None => println!("out of memory"),
    }
    Some(ExitCode::SUCCESS)
}

/// The smallest heap of one program on one collector: `--smallest PROGRAM COLLECTOR PARTS`.
fn smallest(arguments: &[String]) -> Option<ExitCode> {
    let [program, collector, parts] = arguments else { return None };
    let workload = Workload::ALL.into_iter().find(|workload| workload.name() == program)?;
    let preset = Preset::ALL.into_iter().find(|preset| preset.name() == collector)?;
    println!("{:?} bytes", smallest_heap(workload, preset, parts.parse().ok()?));
    Some(ExitCode::SUCCESS)
}

/// One program of the comparison with malloc: `--compare PROGRAM PAIRS`.
fn compared(arguments: &[String]) -> Option<ExitCode> {
    let [program, pairs] = arguments else { return None };
    let workload = Workload::ALL.into_iter().find(|workload| workload.name() == program)?;
    match compare(workload, pairs.parse().ok()?) {
        Some([best, plain, backed]) => {
            println!("{program}: {best:.3} times mimalloc, {plain:.3} without temporaries, {backed:.3} backed at once");
        }
        None => println!("out of memory"),
    }
    Some(ExitCode::SUCCESS)
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let special = match arguments.split_first() {
        Some((first, rest)) if first == "--only" => Some(only(rest)),
        Some((first, rest)) if first == "--smallest" => Some(smallest(rest)),
        Some((first, rest)) if first == "--compare" => Some(compared(rest)),
        _ => None,
    };
    if let Some(done) = special {
        return done.unwrap_or_else(|| {
            eprintln!("{USAGE}");
            ExitCode::FAILURE
        });
    }
    let mut options = Options::default();
    let mut folder = PathBuf::from("treadmill-report");
    for argument in arguments {
        match argument.as_str() {
            "--quick" => options = Options::quick(),
            "--no-smallest" => options.smallest_heaps = false,
            "--no-figures" => options.figures = false,
            "--no-malloc" => options.malloc.clear(),
            "--no-live" => options.live = 0,
            "--help" => {
                println!("{USAGE}");
                return ExitCode::SUCCESS;
            }
            _ => folder = PathBuf::from(argument),
        }
    }
    let report = run(&options);
    print!("{}", report.text());
    match report.write(&folder) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{}: {error}", folder.display());
            ExitCode::FAILURE
        }
    }
}
