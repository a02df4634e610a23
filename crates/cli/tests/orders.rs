//! What the programs of `tests/programs` print does not depend on an order of events: a program for which it does would
//! differ from stock by chance. Simulated schedules show it.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use atoll_differential::{compile, is_newer, programs};

/// What these programs print depends on what no schedule controls: the machine's clock, and sockets.
const OUTSIDE: [&str; 2] = ["late_wake", "sockets_lost"];

/// How many outcomes a program has under these seeds, and what `atoll simulate` says of them.
fn outcomes(beam: &Path, seeds: &str) -> (usize, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_atoll"));
    command
        .args(["simulate", "--policy", "random:prompt", "--seeds", seeds, "--may-crash", "--timeout", "100"])
        .arg(beam);
    let folder = beam.parent().expect("a folder");
    let output = command.current_dir(folder).stdin(Stdio::null()).output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    (said.lines().filter(|line| line.contains(", the first with seed ")).count(), said)
}

#[test]
fn programs_print_the_same_under_any_schedule() {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/programs");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("differential/programs");
    let all = programs(&sources).expect("the programs");
    let beam = |module: &str| folder.join(module).with_extension("beam");
    let changed = all.iter().filter(|program| is_newer(&program.source, &beam(&program.module)));
    let changed: Vec<PathBuf> = changed.map(|program| program.source.clone()).collect();
    compile(&changed, &folder).expect("they compile");
    let mut several = Vec::new();
    for program in all.iter().filter(|program| !OUTSIDE.contains(&program.module.as_str())) {
        let (count, said) = outcomes(&beam(&program.module), "1..6");
        if count != 1 {
            several.push(format!("{}: {said}", program.module));
        }
    }
    assert!(several.is_empty(), "{}", several.join("\n"));
}

/// The check can fail.
#[test]
fn a_program_that_races_is_seen() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("orders");
    compile(&[Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/races.erl")], &folder).expect("it compiles");
    let (count, said) = outcomes(&folder.join("races.beam"), "1..20");
    assert!(count > 1, "{said}");
}
