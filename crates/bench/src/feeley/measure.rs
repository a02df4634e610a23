//! Runs the programs.

use std::ffi::OsString;
use std::process::Command;
use std::time::Duration;

use crate::child::{self, End, Limits, Measured};
use crate::contender::{Contender, ContenderKind, ERL};
use crate::error::CompareError;
use crate::feeley::{Curve, FIGURES, FeeleyOptions, Figure, Quantity, axis};
use crate::options::CompareOptions;
use crate::program::{self, Toolchain};
use crate::progress::Progress;
use crate::spread::Spread;

/// The architectures that take part.
const HEAPS: [&str; 4] = ["private", "shared", "hybrid", "unified"];
/// What a run may use.
const LIMITS: Limits = Limits { timeout: Some(Duration::from_secs(300)), output_bytes: 1_000_000 };

/// All curves, and what went wrong.
pub(super) fn curves(
    options: &FeeleyOptions,
    progress: &mut dyn Progress,
) -> Result<(Vec<Curve>, Vec<String>), CompareError> {
    let tools = Toolchain::find(None);
    let folder = tempfile::Builder::new()
        .prefix("atoll-feeley-")
        .tempdir()
        .map_err(CompareError::io("make a folder in", std::env::temp_dir()))?;
    let mut notes = Vec::new();
    let contender = |name: &str, kind, executable| Contender { name: name.to_owned(), kind, executable };
    let mut contenders: Vec<Contender> =
        HEAPS.iter().map(|heap| contender(heap, ContenderKind::Atoll, options.atoll.clone())).collect();
    match &tools.erl {
        Some(erl) => contenders.push(contender(ERL, ContenderKind::Erl, erl.clone())),
        None => notes.push("stock erl was not found and takes no part".to_owned()),
    }
    let programs = FIGURES.iter().map(|figure| figure.programs.len()).sum::<usize>();
    progress.begin((programs * options.points * options.runs * contenders.len()) as u64);
    let mut curves = Vec::new();
    for figure in &FIGURES {
        for name in figure.programs {
            let source = options.programs.join(name).with_extension("erl");
            let machine = CompareOptions::new(options.atoll.clone(), source, HEAPS);
            let program = program::prepare(&machine, &tools, folder.path())?;
            let empty = |contender: &Contender| Curve {
                figure: figure.name,
                program: name,
                contender: contender.name.clone(),
                points: Vec::new(),
            };
            let mut of_program: Vec<Curve> = contenders.iter().map(empty).collect();
            for tuples in axis(figure, options.points) {
                let mut values = vec![Vec::new(); contenders.len()];
                for _ in 0..options.runs {
                    for (contender, values) in contenders.iter().zip(&mut values) {
                        progress.run(&format!("{name}, N = {tuples}, {}", contender.name));
                        let processes = figure.processes.unwrap_or(options.processes);
                        let arguments = arguments(figure, tuples, processes);
                        let mut command =
                            contender.command(&machine, &program, &arguments, &folder.path().join("statistics"));
                        match value(&mut command, folder.path(), figure.quantity, processes)? {
                            Ok(value) => values.push(value),
                            Err(what) => notes.push(format!("{name}, N = {tuples}, {}: {what}", contender.name)),
                        }
                    }
                }
                for (curve, values) in of_program.iter_mut().zip(values) {
                    curve.points.extend(Spread::of(values).map(|spread| (tuples, spread)));
                }
            }
            curves.append(&mut of_program);
        }
    }
    progress.end();
    Ok((curves, notes))
}

/// `frag` takes its processes first.
fn arguments(figure: &Figure, tuples: usize, processes: usize) -> Vec<OsString> {
    let words = match figure.quantity {
        Quantity::Time => [tuples, processes],
        Quantity::Memory => [processes, tuples],
    };
    words.map(|number| number.to_string().into()).to_vec()
}

/// What a run measured, or how it failed.
fn value(
    command: &mut Command,
    folder: &std::path::Path,
    quantity: Quantity,
    processes: usize,
) -> Result<Result<u64, String>, CompareError> {
    let mut measured = child::run(command, folder, LIMITS).map_err(CompareError::io("run", command.get_program()))?;
    if measured.end != End::Exited(0) {
        let errors = measured.stderr_excerpt(500);
        return Ok(Err(format!("{}: {}", measured.end, errors.trim())));
    }
    Ok(match quantity {
        Quantity::Time => time(&mut measured, processes).ok_or_else(|| "it printed no result".to_owned()),
        Quantity::Memory => Ok(measured.peak_rss_bytes),
    })
}

/// Nanoseconds for a process, of the line `result: NAME FIGURE UNIT`.
fn time(measured: &mut Measured, processes: usize) -> Option<u64> {
    let printed = measured.stderr_excerpt(100_000);
    let line = printed.lines().rev().find_map(|line| line.strip_prefix("result: "))?;
    let mut words = line.split(' ').skip(1);
    let (figure, unit) = (words.next()?.parse::<f64>().ok()?, words.next()?);
    let micros = if unit == "us" { figure / processes as f64 } else { figure };
    Some((micros * 1e3) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time_of(line: &str) -> Option<u64> {
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new("/bin/sh");
        command.args(["-c", &format!("echo '{line}' >&2")]);
        time(&mut child::run(&mut command, folder.path(), LIMITS).unwrap(), 1000)
    }

    #[test]
    fn times_are_those_of_one_process() {
        assert_eq!(time_of("result: garb0 7600 us"), Some(7_600));
        assert_eq!(time_of("result: comm 1.500 us/process"), Some(1_500));
        assert_eq!(time_of("nothing"), None);
    }

    #[test]
    fn a_run_that_fails_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "echo no memory >&2; exit 3"]);
        let told = value(&mut command, folder.path(), Quantity::Time, 1).unwrap();
        assert_eq!(told, Err("exit status 3: no memory".to_owned()));
    }
}
