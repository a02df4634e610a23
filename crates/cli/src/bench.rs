//! `atoll bench`

use std::io;
use std::path::Path;

use atoll_bench::{FeeleyOptions, TerminalBar};
use treadmill::evaluation;

use crate::arguments::Evaluation;

/// Reproduces an evaluation: prints its tables and writes them, with plots, into a folder.
pub fn bench(evaluation: &Evaluation) -> Result<i32, String> {
    match evaluation {
        Evaluation::Treadmill { quick, out } => {
            let options = if *quick { evaluation::Options::quick() } else { evaluation::Options::default() };
            let report = evaluation::run(&options);
            publish(&report.text(), out, |out| report.write(out))
        }
        Evaluation::Feeley { quick, programs, out } => {
            let atoll = std::env::current_exe().map_err(|error| error.to_string())?;
            let (runs, points, processes) = if *quick { (1, 3, 20_000) } else { (3, 11, 100_000) };
            let options = FeeleyOptions { atoll, programs: programs.clone(), runs, points, processes };
            let report = atoll_bench::feeley(&options, &mut TerminalBar::new()).map_err(|error| error.to_string())?;
            publish(&report.text(), out, |out| report.write(out))
        }
    }
}

fn publish(text: &str, out: &Path, write: impl FnOnce(&Path) -> io::Result<()>) -> Result<i32, String> {
    print!("{text}");
    std::fs::create_dir_all(out).and_then(|()| write(out)).map_err(|error| format!("{}: {error}", out.display()))?;
    println!("tables and plots: {}", out.display());
    Ok(0)
}
