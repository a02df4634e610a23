//! `atoll bench`

use treadmill::evaluation::{Options, run};

use crate::arguments::Evaluation;

/// Reproduces an evaluation: prints its tables and writes them, with plots, into a folder.
pub fn bench(evaluation: &Evaluation) -> Result<i32, String> {
    let Evaluation::Treadmill { quick, out } = evaluation;
    let report = run(&if *quick { Options::quick() } else { Options::default() });
    print!("{}", report.text());
    std::fs::create_dir_all(out)
        .and_then(|()| report.write(out))
        .map_err(|error| format!("{}: {error}", out.display()))?;
    println!("tables and plots: {}", out.display());
    Ok(0)
}
