//! Random programs on every heap, held against stock `erl`. The seed is printed; `ATOLL_SEED=N` repeats it, and
//! `ATOLL_PROGRAMS=N` makes more or fewer programs of each kind. `make generated` makes a million small ones.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use atoll_differential::generate::{self, Generator};
use atoll_differential::{Atoll, Configuration, EXITS, End, Finished, Stock, compile};
use libtest_mimic::{Arguments, Failed, Trial};

/// What one run may take, beside a second for each program.
const TIMEOUT: Duration = Duration::from_secs(60);
const PROGRAMS: u64 = 30;
/// A module of small functions has more to compile than others.
const FOR_ONE_SMALL: u64 = 5;
/// Collecting everywhere would take long for what it finds; over many seeds, every place has its turn.
const STRESS: u32 = 13;

/// A number from the environment.
fn number(name: &str) -> Result<Option<u64>, String> {
    match std::env::var(name) {
        Err(_) => Ok(None),
        Ok(text) => text.parse().map(Some).map_err(|_| format!("{name}={text}: give a number")),
    }
}

fn configurations(heap: &str) -> Vec<Configuration> {
    let make = |(schedulers, stress, verify, compiled)| Configuration {
        heap: heap.to_owned(),
        schedulers,
        stress,
        verify,
        mark_sweep: false,
        compiled,
        exits: if compiled && stress > 0 { EXITS } else { 0 },
    };
    let plain = [(1, 0, false, false), (2, 0, false, false), (1, STRESS, true, false), (2, STRESS, true, false)];
    let compiled = [(2, 0, false, true), (1, STRESS, true, true)];
    plain.into_iter().chain(compiled).map(make).collect()
}

struct Batch {
    name: &'static str,
    seed: u64,
    limit: Duration,
    folder: std::path::PathBuf,
    expected: Finished,
    atoll: Atoll,
}

impl Batch {
    /// Writes, compiles and runs on stock `erl`.
    fn make(name: &'static str, module: Generator, seed: u64, programs: u64, target: &Path) -> Result<Batch, String> {
        let limit = TIMEOUT + Duration::from_secs(programs);
        let folder = target.join(name);
        std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let sources =
            generate::write_batch(&folder, name, module, seed, programs).map_err(|error| error.to_string())?;
        compile(&sources, &folder).map_err(|error| error.to_string())?;
        let stock = Stock::find(&folder.join("stock")).map_err(|error| format!("cannot run erl: {error}"))?;
        let expected = stock.run(&folder, name, limit).map_err(|error| format!("cannot run erl: {error}"))?;
        if expected.end != End::Exited(0) {
            return Err(format!("stock erl, seed {seed}: {}", expected.end));
        }
        Ok(Batch {
            name,
            seed,
            limit,
            folder,
            expected,
            atoll: Atoll { executable: env!("CARGO_BIN_EXE_atoll").into() },
        })
    }

    fn check(&self, heap: &str) -> Result<(), Failed> {
        for configuration in configurations(heap) {
            self.atoll
                .check(&configuration, &self.folder, self.name, self.limit, &self.expected)
                .map_err(|report| format!("repeat with ATOLL_SEED={}\n{report}", self.seed))?;
        }
        Ok(())
    }
}

fn trials(seed: u64, programs: u64) -> Result<Vec<Trial>, String> {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("generated");
    let mut trials = Vec::new();
    let kinds: [(&'static str, Generator, u64); 3] = [
        ("sequential", generate::sequential, programs),
        ("small", generate::small, programs.div_ceil(FOR_ONE_SMALL)),
        ("concurrent", generate::concurrent, programs),
    ];
    for (name, module, programs) in kinds {
        let batch = Arc::new(Batch::make(name, module, seed, programs, &target)?);
        for heap in atoll_vm::architectures() {
            let batch = Arc::clone(&batch);
            trials.push(Trial::test(format!("{name}/{heap}"), move || batch.check(heap)));
        }
    }
    Ok(trials)
}

/// The same programs each time: `make fuzz` chooses others.
fn seed() -> Result<u64, String> {
    Ok(number("ATOLL_SEED")?.unwrap_or(1))
}

fn run(arguments: &Arguments) -> Result<ExitCode, String> {
    let seed = seed()?;
    let programs = number("ATOLL_PROGRAMS")?.unwrap_or(PROGRAMS);
    println!("generated programs: ATOLL_SEED={seed} ATOLL_PROGRAMS={programs}");
    Ok(libtest_mimic::run(arguments, trials(seed, programs)?).exit_code())
}

fn main() -> ExitCode {
    run(&Arguments::from_args()).unwrap_or_else(|error| {
        eprintln!("generated: {error}");
        ExitCode::FAILURE
    })
}
