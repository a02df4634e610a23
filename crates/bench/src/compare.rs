//! Runs every contender in turn, round after round, so that a machine that grows slower or faster does so for all of
//! them.

use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::available_parallelism;
use std::time::Duration;

use atoll_statistics::RunStatistics;
use tempfile::TempDir;

use crate::child::{self, End, Limits, Measured};
use crate::comparison::{Comparison, ContenderResult, Failure, Machine, Run, Summary};
use crate::contender::{Contender, ContenderKind, ERL};
use crate::error::CompareError;
use crate::options::CompareOptions;
use crate::output::first_difference;
use crate::program::{self, Program, Toolchain};
use crate::progress::Progress;
use crate::spread::Spread;

/// What one run may print.
const OUTPUT_LIMIT: u64 = 256_000_000;
/// What is kept of standard error.
const STDERR_EXCERPT: u64 = 4_000;
/// A spread of real times wider than this share of the median is worth a note.
const NOISY: f64 = 0.25;

/// Runs the program on every contender in turn and measures each run. A contender that fails is part of the result;
/// an error is returned only when nothing can be compared.
pub fn compare(options: &CompareOptions, progress: &mut dyn Progress) -> Result<Comparison, CompareError> {
    if options.runs == 0 {
        return Err(CompareError::Options("the number of runs is 0: give 1 or more"));
    }
    let named_before = |(index, name)| options.architectures[..index].contains(name);
    if options.architectures.iter().enumerate().any(named_before) {
        return Err(CompareError::Options("a heap architecture is named twice: name each once"));
    }
    if !options.architectures.is_empty() && !options.atoll.is_file() {
        return Err(CompareError::NoAtoll(options.atoll.clone()));
    }
    let tools = Toolchain::find(options.otp.as_deref());
    let folder = tempfile::Builder::new()
        .prefix("atoll-compare-")
        .tempdir()
        .map_err(CompareError::io("make a folder in", std::env::temp_dir()))?;
    let program = program::prepare(options, &tools, folder.path())?;
    let empty = program::empty_program(&tools, folder.path())?;

    let mut notes = Vec::new();
    let contenders = contenders(options, &tools, &mut notes);
    if contenders.is_empty() {
        return Err(CompareError::Options("nobody takes part: name a heap architecture or install stock erl"));
    }
    let mut session = Session { options, folder, notes, statistics_files: 0 };

    let startups = if empty.is_some() { options.startup_runs } else { 0 };
    progress.begin((contenders.len() * (startups + options.runs)) as u64);
    let startup_ns = match &empty {
        Some(empty) => session.startups(&contenders, empty, progress)?,
        None => vec![None; contenders.len()],
    };
    let mut entries: Vec<Entry> = contenders.iter().map(Entry::new).collect();
    for round in 1..=options.runs {
        for entry in &mut entries {
            if entry.failure.is_some() {
                progress.skip();
                continue;
            }
            progress.run(&format!("{} (round {round} of {})", entry.contender.name, options.runs));
            session.round(entry, &program, round)?;
        }
    }
    progress.end();
    compare_outputs(&mut entries, &mut session.notes)?;

    let erl = contenders.iter().find(|one| one.kind == ContenderKind::Erl);
    let baseline = contenders.iter().find(|one| one.name == options.baseline).unwrap_or(&contenders[0]);
    let mut comparison = Comparison {
        program: options.program.to_string_lossy().into_owned(),
        arguments: lossy(&options.arguments),
        runtime_options: lossy(&options.runtime_options),
        runs: options.runs,
        baseline: baseline.name.clone(),
        machine: Machine {
            processors: available_parallelism().map_or(1, usize::from),
            system: std::env::consts::OS,
            architecture: std::env::consts::ARCH,
            erl: erl.and_then(|erl| session.release_of(&erl.executable)),
        },
        contenders: entries.into_iter().zip(startup_ns).map(|(entry, startup)| entry.finish(startup)).collect(),
        notes: session.notes,
    };
    comparison.relate();
    note_noise(&mut comparison);
    Ok(comparison)
}

fn lossy(words: &[OsString]) -> Vec<String> {
    words.iter().map(|word| word.to_string_lossy().into_owned()).collect()
}

fn contenders(options: &CompareOptions, tools: &Toolchain, notes: &mut Vec<String>) -> Vec<Contender> {
    let mut contenders: Vec<Contender> = options
        .architectures
        .iter()
        .map(|name| Contender { name: name.clone(), kind: ContenderKind::Atoll, executable: options.atoll.clone() })
        .collect();
    match &tools.erl {
        Some(erl) if options.with_erl => {
            contenders.push(Contender { name: ERL.to_owned(), kind: ContenderKind::Erl, executable: erl.clone() });
        }
        None if options.with_erl => notes.push(
            "Stock erl was not found and takes no part; install it (on Debian: apt-get install erlang-base) to compare with it."
                .to_owned(),
        ),
        _ => {}
    }
    contenders
}

/// What a contender has done so far.
struct Entry<'a> {
    contender: &'a Contender,
    runs: Vec<Run>,
    failure: Option<Failure>,
    output: Option<File>,
    output_varies: Option<String>,
    output_difference: Option<String>,
}

impl<'a> Entry<'a> {
    fn new(contender: &'a Contender) -> Self {
        Entry { contender, runs: Vec::new(), failure: None, output: None, output_varies: None, output_difference: None }
    }

    fn finish(self, startup_ns: Option<Spread>) -> ContenderResult {
        let summary = if self.failure.is_some() { None } else { Summary::of(&self.runs) };
        ContenderResult {
            name: self.contender.name.clone(),
            kind: self.contender.kind,
            failure: self.failure,
            output_difference: self.output_difference,
            startup_ns,
            runs: self.runs,
            summary,
        }
    }
}

/// What the runs share.
struct Session<'a> {
    options: &'a CompareOptions,
    folder: TempDir,
    notes: Vec<String>,
    statistics_files: usize,
}

impl Session<'_> {
    fn measure(&self, command: &mut Command) -> Result<Measured, String> {
        let limits = Limits { timeout: self.options.timeout, output_bytes: OUTPUT_LIMIT };
        let executable = command.get_program().to_string_lossy().into_owned();
        child::run(command, self.folder.path(), limits).map_err(|error| format!("cannot run {executable}: {error}"))
    }

    fn next_statistics_file(&mut self) -> PathBuf {
        self.statistics_files += 1;
        self.folder.path().join(format!("statistics-{}.json", self.statistics_files))
    }

    /// Real times of the empty program. A contender that cannot run it reports why when it runs the real one.
    fn startups(
        &mut self,
        contenders: &[Contender],
        empty: &Program,
        progress: &mut dyn Progress,
    ) -> Result<Vec<Option<Spread>>, CompareError> {
        let mut times = vec![Vec::new(); contenders.len()];
        for _ in 0..self.options.startup_runs {
            for (contender, times) in contenders.iter().zip(&mut times) {
                progress.run(&format!("{} (starting an empty program)", contender.name));
                let statistics = self.next_statistics_file();
                let mut command = contender.command(self.options, empty, &[], &statistics);
                if let Ok(measured) = self.measure(&mut command)
                    && measured.end == End::Exited(0)
                {
                    times.push(nanoseconds(measured.wall));
                }
                take_file(&statistics)?;
            }
        }
        Ok(times.into_iter().map(Spread::of).collect())
    }

    fn round(&mut self, entry: &mut Entry, program: &Program, round: usize) -> Result<(), CompareError> {
        let statistics = self.next_statistics_file();
        let mut command = entry.contender.command(self.options, program, &self.options.arguments, &statistics);
        let measured = self.measure(&mut command);
        let written = take_file(&statistics)?;
        let mut measured = match measured {
            Ok(measured) => measured,
            Err(reason) => {
                entry.failure = Some(Failure { round, reason, stderr: String::new() });
                return Ok(());
            }
        };
        if measured.end != End::Exited(0) {
            let stderr = measured.stderr_excerpt(STDERR_EXCERPT);
            let first_line = stderr.lines().map(str::trim).find(|line| !line.is_empty());
            let reason = match first_line {
                Some(line) => format!("{}: {}", measured.end, shortened(line, 160)),
                None => measured.end.to_string(),
            };
            entry.failure = Some(Failure { round, reason, stderr });
            return Ok(());
        }
        let violation =
            measured.violation().map_err(CompareError::io("read what was printed in", self.folder.path()))?;
        if let Some(reason) = violation {
            entry.failure = Some(Failure { round, reason, stderr: measured.stderr_excerpt(STDERR_EXCERPT) });
            return Ok(());
        }
        let statistics = match entry.contender.kind {
            ContenderKind::Atoll => self.statistics_of(entry.contender, written),
            ContenderKind::Erl => None,
        };
        // A figure that may be our own peak says nothing; then the machine's own reading is taken.
        let own_reading = statistics.as_ref().and_then(|statistics| statistics.peak_rss_bytes);
        let peak_rss_bytes = match own_reading {
            Some(bytes) if !measured.peak_is_its_own => bytes.min(measured.peak_rss_bytes),
            _ => measured.peak_rss_bytes,
        };
        let output_bytes =
            measured.stdout.metadata().map_err(CompareError::io("measure the output in", self.folder.path()))?.len();
        entry.runs.push(Run {
            round,
            wall_ns: nanoseconds(measured.wall),
            user_ns: nanoseconds(measured.user),
            system_ns: nanoseconds(measured.system),
            peak_rss_bytes,
            output_bytes,
            statistics,
        });
        match &entry.output {
            None => entry.output = Some(measured.stdout),
            Some(first) if entry.output_varies.is_none() => {
                let difference = first_difference(first, &measured.stdout).map_err(output_error)?;
                entry.output_varies = difference.map(|difference| difference.to_string());
            }
            Some(_) => {}
        }
        Ok(())
    }

    fn statistics_of(&mut self, contender: &Contender, written: Option<Vec<u8>>) -> Option<RunStatistics> {
        let problem = match written {
            None => "wrote no statistics".to_owned(),
            Some(text) => match serde_json::from_slice(&text) {
                Ok(statistics) => return Some(statistics),
                Err(error) => format!("wrote statistics that cannot be read ({error})"),
            },
        };
        let note = format!("{} {problem}: only its times and its memory from outside are known.", contender.name);
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
        None
    }

    /// Release and flavour of stock `erl`; not knowing them is no failure.
    fn release_of(&self, erl: &Path) -> Option<String> {
        let mut command = Command::new(erl);
        command
            .args(["-noshell", "-eval"])
            .arg("io:format(\"~s (~s)\", [erlang:system_info(otp_release), erlang:system_info(emu_flavor)]), halt().");
        let limits = Limits { timeout: Some(Duration::from_secs(20)), output_bytes: 1_000 };
        let mut measured = child::run(&mut command, self.folder.path(), limits).ok()?;
        if measured.end != End::Exited(0) {
            return None;
        }
        Some(measured.stdout_excerpt(100))
    }
}

/// Reads a file and removes it; `None` if nobody wrote it.
fn take_file(path: &Path) -> Result<Option<Vec<u8>>, CompareError> {
    if !path.exists() {
        return Ok(None);
    }
    let text = fs::read(path).map_err(CompareError::io("read", path))?;
    fs::remove_file(path).map_err(CompareError::io("remove", path))?;
    Ok(Some(text))
}

/// Holds each contender's output against that of the first that has one.
fn compare_outputs(entries: &mut [Entry], notes: &mut Vec<String>) -> Result<(), CompareError> {
    let mut outputs = entries.iter_mut().filter(|entry| entry.failure.is_none() && entry.output.is_some());
    let Some(first) = outputs.next() else { return Ok(()) };
    let Some(expected) = &first.output else { return Ok(()) };
    let note_varying = |entry: &Entry, notes: &mut Vec<String>| {
        if let Some(difference) = &entry.output_varies {
            notes.push(format!("The output of {} varies from run to run, first {difference}.", entry.contender.name));
        }
    };
    note_varying(first, notes);
    for entry in outputs {
        note_varying(entry, notes);
        let Some(found) = &entry.output else { continue };
        if let Some(difference) = first_difference(expected, found).map_err(output_error)? {
            let (name, first) = (&entry.contender.name, &first.contender.name);
            notes.push(format!("OUTPUT DIFFERS: {name} does not print what {first} prints, {difference}."));
            entry.output_difference = Some(difference.to_string());
        }
    }
    Ok(())
}

fn output_error(source: std::io::Error) -> CompareError {
    CompareError::Io { action: "compare the outputs in", path: std::env::temp_dir(), source }
}

fn note_noise(comparison: &mut Comparison) {
    let noisy: Vec<&str> = comparison
        .contenders
        .iter()
        .filter(|one| one.summary.as_ref().is_some_and(|summary| summary.wall_ns.relative_width() > NOISY))
        .map(|one| one.name.as_str())
        .collect();
    if !noisy.is_empty() {
        comparison.notes.push(format!(
            "Slowest and fastest run are more than {:.0}% of the median apart ({}): the machine was busy, or the runs are short.",
            NOISY * 100.0,
            noisy.join(", ")
        ));
    }
}

fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

fn shortened(line: &str, limit: usize) -> String {
    if line.chars().count() <= limit {
        return line.to_owned();
    }
    let mut short: String = line.chars().take(limit).collect();
    short.push('…');
    short
}
