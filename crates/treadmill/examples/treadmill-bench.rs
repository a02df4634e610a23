//! The paper's evaluation in one command: `treadmill-bench [--quick] [--no-...] [FOLDER]` prints the tables and writes them, with plots, into the folder.

use std::path::PathBuf;
use std::process::ExitCode;
use treadmill::evaluation::{Options, run};

fn main() -> ExitCode {
    let mut options = Options::default();
    let mut folder = PathBuf::from("treadmill-report");
    for argument in std::env::args().skip(1) {
        match argument.as_str() {
            "--quick" => options = Options::quick(),
            "--no-smallest" => options.smallest_heaps = false,
            "--no-figures" => options.figures = false,
            "--no-malloc" => options.malloc.clear(),
            "--no-live" => options.live = 0,
            "--help" => {
                println!("treadmill-bench [--quick] [--no-smallest] [--no-figures] [--no-malloc] [--no-live] [FOLDER]");
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
