//! A fixed part of OTP's own test suites, on every heap: each case that is in the list of those that pass must pass.
//! Each suite runs once more with every function compiled at its first call, on one heap after the other.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use atoll_differential::conformance::{Machine, Passing, Suite, Workplace, suites};
use libtest_mimic::{Arguments, Failed, Trial};

/// How long one suite may take; those of the fixed part need a few seconds.
const LIMIT: Duration = Duration::from_secs(120);
const HEAPS: [&str; 4] = ["private", "shared", "unified", "hybrid"];

fn check(workplace: &Workplace, suite: &Suite, heap: &str, passing: &Passing) -> Result<(), Failed> {
    let machine = Machine::Atoll { executable: env!("CARGO_BIN_EXE_atoll").into(), heap: heap.to_owned() };
    let results = machine.run(&workplace.prepare(suite)?, workplace, LIMIT)?;
    let missing = passing.missing(suite, &results);
    if missing.is_empty() {
        return Ok(());
    }
    Err(format!("{} cases that passed before:\n{}", missing.len(), missing.join("\n")).into())
}

/// Checks a suite by a list with a case that it does not have.
fn sees(workplace: &Workplace, suite: &Suite, list: &Path) -> Result<(), Failed> {
    std::fs::write(list, format!("{suite}\tno_such_case\n"))?;
    match check(workplace, suite, "nogc", &Passing::read(list)?) {
        Err(failed) if failed.message().is_some_and(|text| text.ends_with("\nno_such_case: not run")) => Ok(()),
        Err(failed) => Err(failed),
        Ok(()) => Err("a case that was never run counts as passed".into()),
    }
}

fn trials() -> std::io::Result<Vec<Trial>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let lists = root.join("tests/conformance");
    let passing = Arc::new(Passing::read(&lists.join("passing.txt"))?);
    let fixed = suites(&lists.join("fixed_part.txt"))?;
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("conformance");
    let workplace = Arc::new(Workplace::open(&root.join("out/otp/tests"), &out)?);
    let mut trials = Vec::new();
    if let Some(suite) = fixed.first().cloned() {
        let (workplace, list) = (Arc::clone(&workplace), out.join("passing.txt"));
        trials.push(Trial::test("a case of the list that does not pass is seen", move || {
            sees(&workplace, &suite, &list)
        }));
    }
    for (number, suite) in fixed.iter().enumerate() {
        if passing.of(suite).next().is_none() {
            return Err(std::io::Error::other(format!("no case of {suite} is in the list of those that pass")));
        }
        let compiled = format!("{}+eager", HEAPS[number % HEAPS.len()]);
        for heap in HEAPS.map(str::to_owned).into_iter().chain([compiled]) {
            let (workplace, suite, passing) = (Arc::clone(&workplace), suite.clone(), Arc::clone(&passing));
            trials.push(Trial::test(format!("{suite}/{heap}"), move || check(&workplace, &suite, &heap, &passing)));
        }
    }
    Ok(trials)
}

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    match trials() {
        Ok(trials) => libtest_mimic::run(&arguments, trials).exit_code(),
        Err(error) => {
            eprintln!("conformance: {error}");
            ExitCode::FAILURE
        }
    }
}
