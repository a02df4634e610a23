//! Compiling programs, running them, and reading their figures.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use atoll_bench::{End, Limits, Measured, measure};

use crate::catalogue::{Entry, Metric};

/// The name of stock `erl` among the contenders.
pub const ERL: &str = "erl";
/// Process limit for the programs with a million processes.
const PROCESSES: &str = "2000000";
/// Bytes that a program may print.
const OUTPUT_BYTES: u64 = 64 << 20;
/// Bytes that are looked through for a figure.
const EXCERPT_BYTES: u64 = 1 << 20;
/// What is run where an entry has no program.
const EMPTY: &str = "-module(atoll_empty).\n-export([main/1]).\nmain(_) -> ok.\n";

/// One figure with its unit.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// The figure.
    pub value: f64,
    /// Its unit.
    pub unit: String,
}

/// Runs programs.
#[derive(Debug)]
pub struct Runner {
    atoll: PathBuf,
    root: PathBuf,
    folder: PathBuf,
    timeout: Duration,
    compiled: HashMap<PathBuf, String>,
}

impl Runner {
    /// A runner that keeps compiled programs in `folder`, which it makes; programs lie below `root`.
    pub fn new(atoll: PathBuf, root: PathBuf, folder: PathBuf, timeout: Duration) -> Result<Runner, String> {
        fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        Ok(Runner { atoll, root, folder, timeout, compiled: HashMap::new() })
    }

    /// Compiles an entry's program, once; returns the module's name.
    fn compile(&mut self, entry: &Entry) -> Result<String, String> {
        let source = match entry.program {
            Some(file) => self.root.join(file),
            None => {
                let file = self.folder.join("atoll_empty.erl");
                fs::write(&file, EMPTY).map_err(|error| format!("{}: {error}", file.display()))?;
                file
            }
        };
        if let Some(module) = self.compiled.get(&source) {
            return Ok(module.clone());
        }
        let output = Command::new("erlc")
            .arg("-o")
            .arg(&self.folder)
            .arg(&source)
            .output()
            .map_err(|error| format!("erlc: {error} (Debian: apt-get install erlang-base)"))?;
        if !output.status.success() {
            return Err(format!("{}: {}", source.display(), String::from_utf8_lossy(&output.stdout)));
        }
        let module = source.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        self.compiled.insert(source, module.clone());
        Ok(module)
    }

    /// The figure of one run of an entry on a contender: a heap, or [`ERL`].
    pub fn figure(&mut self, entry: &Entry, contender: &str) -> Result<Figure, String> {
        let module = self.compile(entry)?;
        let arguments: Vec<String> = entry.arguments.iter().map(|argument| (*argument).to_owned()).collect();
        match entry.metric {
            Metric::BytesPerProcess { many, few } => {
                let most = self.run(entry, contender, &module, &[many.to_string()])?.peak_rss_bytes;
                let least = self.run(entry, contender, &module, &[few.to_string()])?.peak_rss_bytes;
                let value = most.saturating_sub(least) as f64 / (many - few) as f64;
                Ok(Figure { value, unit: "bytes/process".to_owned() })
            }
            Metric::Wall => {
                let run = self.run(entry, contender, &module, &arguments)?;
                Ok(Figure { value: run.wall.as_secs_f64() * 1e3, unit: "ms".to_owned() })
            }
            Metric::Result | Metric::Memory => {
                let mut run = self.run(entry, contender, &module, &arguments)?;
                let head = if entry.metric == Metric::Result { "result:" } else { "memory:" };
                let text = run.stderr_excerpt(EXCERPT_BYTES);
                find(&text, head).ok_or_else(|| format!("no line `{head} NAME FIGURE UNIT` on standard error"))
            }
        }
    }

    fn run(&self, entry: &Entry, contender: &str, module: &str, arguments: &[String]) -> Result<Measured, String> {
        let mut command = self.command(entry, contender, module, arguments);
        let limits = Limits { timeout: Some(self.timeout), output_bytes: OUTPUT_BYTES };
        let mut run = measure(&mut command, &self.folder, limits).map_err(|error| format!("{contender}: {error}"))?;
        match run.end {
            End::Exited(0) => Ok(run),
            end => {
                let text = run.stderr_excerpt(EXCERPT_BYTES);
                let last = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
                Err(format!("{end}: {last}"))
            }
        }
    }

    fn command(&self, entry: &Entry, contender: &str, module: &str, arguments: &[String]) -> Command {
        let limit: &[&str] = if entry.many_processes { &["+P", PROCESSES] } else { &[] };
        if contender == ERL {
            let call = format!("'{module}':main(init:get_plain_arguments()), erlang:halt(0).");
            let mut command = Command::new(ERL);
            command.args(limit).args(["-noshell", "-pa"]).arg(&self.folder).args(["-eval", &call, "-extra"]);
            command.args(arguments).env("ERL_CRASH_DUMP_SECONDS", "0");
            return command;
        }
        let mut command = Command::new(&self.atoll);
        command.args(["run", "--heap", contender]).args(limit);
        command.arg(self.folder.join(format!("{module}.beam"))).args(arguments);
        command
    }
}

/// The figure in the last line `HEAD NAME FIGURE UNIT`.
fn find(text: &str, head: &str) -> Option<Figure> {
    let words: Vec<&str> = text.lines().rev().find_map(|line| line.strip_prefix(head))?.split_whitespace().collect();
    let [_, value, unit] = words[..] else { return None };
    Some(Figure { value: value.parse().ok()?, unit: unit.to_owned() })
}

/// Release and flavour of stock `erl`, as `25 (jit)`, if it is installed.
pub fn stock() -> Option<String> {
    let call = "io:format(\"~s (~p)\", [erlang:system_info(otp_release), erlang:system_info(emu_flavor)]), halt().";
    let output = Command::new(ERL).args(["-noshell", "-eval", call]).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// The repository's root: where `bench` and the manifest lie, from the present folder upwards.
pub fn find_root(from: &Path) -> Option<PathBuf> {
    from.ancestors().find(|folder| folder.join("bench/README.md").is_file()).map(Path::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_read_from_the_last_line_of_their_kind() {
        let text = "memory: frag 12.5 MB\nresult: x 1 us\nresult: ring 0.3100 us/hop\n";
        assert_eq!(find(text, "result:"), Some(Figure { value: 0.31, unit: "us/hop".to_owned() }));
        assert_eq!(find(text, "memory:"), Some(Figure { value: 12.5, unit: "MB".to_owned() }));
        assert_eq!(find("result: ring\n", "result:"), None);
        assert_eq!(find("", "result:"), None);
    }

    #[test]
    fn programs_run_on_stock_erl() {
        if stock().is_none() {
            println!("skipped: no erl is installed");
            return;
        }
        let root = find_root(Path::new(env!("CARGO_MANIFEST_DIR"))).expect("this crate lies below the root");
        let folder = tempfile::tempdir().expect("a folder");
        let mut runner =
            Runner::new("nowhere".into(), root, folder.path().to_owned(), Duration::from_secs(60)).expect("a folder");
        let ring = Entry {
            name: "ring",
            program: Some("bench/message/ring.erl"),
            arguments: &["10", "1000"],
            many_processes: false,
            metric: Metric::Result,
            goal: crate::catalogue::Goal::None,
        };
        let figure = runner.figure(&ring, ERL).expect("stock erl runs it");
        assert!(figure.value > 0.0 && figure.unit == "us/hop", "{figure:?}");
        let idle = Entry {
            program: Some("bench/million/idle.erl"),
            metric: Metric::BytesPerProcess { many: 20_000, few: 10 },
            ..ring
        };
        let bytes = runner.figure(&idle, ERL).expect("stock erl runs it").value;
        assert!((1000.0..10_000.0).contains(&bytes), "{bytes}");
        assert!(runner.figure(&ring, "private").expect_err("there is no atoll").contains("private"));
    }
}
