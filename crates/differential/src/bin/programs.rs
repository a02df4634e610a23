//! Writes and compiles random programs, for runs that `crates/cli/tests/generated.rs` does not make.
#![forbid(unsafe_code)]

use std::error::Error;
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use atoll_differential::compile;
use atoll_differential::generate::{self, Generator};
use clap::{Parser, ValueEnum};

/// Write and compile random programs, and one with the name of their kind that runs all of them
#[derive(Parser)]
struct Options {
    /// What the programs do
    kind: Kind,
    /// Where they go
    folder: PathBuf,
    /// The first one's seed; each of the others has the next
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many
    #[arg(long, default_value_t = 30)]
    programs: u64,
}

#[derive(Clone, Copy, ValueEnum)]
enum Kind {
    /// One process
    Sequential,
    /// One process; each module has a hundred small functions
    Small,
    /// A tree of processes
    Concurrent,
}

fn write(options: &Options) -> Result<(), Box<dyn Error>> {
    let (name, module): (&str, Generator) = match options.kind {
        Kind::Sequential => ("sequential", generate::sequential),
        Kind::Small => ("small", generate::small),
        Kind::Concurrent => ("concurrent", generate::concurrent),
    };
    fs::create_dir_all(&options.folder).map_err(|error| format!("{}: {error}", options.folder.display()))?;
    let sources = generate::write_batch(&options.folder, name, module, options.seed, options.programs)?;
    compile(&sources, &options.folder)?;
    Ok(())
}

fn main() -> ExitCode {
    match write(&Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("programs: {error}");
            ExitCode::FAILURE
        }
    }
}
