//! `--verify-heap` ends a run in which an invariant is broken: builds for tests break one when they are asked to
//! (`ATOLL_BREAK_HEAP`, `architectures/src/common/faults.rs`).

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

const ATOLL: &str = env!("CARGO_BIN_EXE_atoll");

/// Runs a program that allocates, sends and ends, with an invariant broken; the dump goes to a file of its own.
fn run(heap: &str, invariant: &str, options: &[&str]) -> (Output, String) {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/verifier.erl");
    let test = std::thread::current().name().unwrap_or_default().to_owned();
    let dump = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{test}.dump"));
    let _ = std::fs::remove_file(&dump);
    let mut command = Command::new("timeout");
    command.args(["120", ATOLL, "run", "--heap", heap, "+S", "1"]).args(options).arg(program);
    command.env("ATOLL_BREAK_HEAP", invariant).env("ERL_CRASH_DUMP", &dump).stdin(Stdio::null());
    let output = command.output().expect("it runs");
    (output, std::fs::read_to_string(&dump).unwrap_or_default())
}

/// Sees the whole run fail for this reason, and in no other way.
fn fails(heap: &str, invariant: &str, whose: &str) {
    fails_with(heap, invariant, whose, &["--verify-heap", "--gc-stress", "50"]);
}

fn fails_with(heap: &str, invariant: &str, whose: &str, options: &[&str]) {
    let (output, dump) = run(heap, invariant, options);
    let shown = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.signal().or(output.status.code().map(|code| code - 128)), Some(6), "{shown}");
    let report = shown.lines().find(|line| line.starts_with(&format!("atoll: heap invariant {invariant} (")));
    let report = report.unwrap_or_else(|| panic!("no word of {invariant}: {shown}"));
    assert!(report.contains(" is broken: ") && report.contains(whose), "{report}");
    assert!(dump.starts_with("=erl_crash_dump:0.5\n") && dump.contains(&format!("Slogan: {report}\n")), "{dump}");
    assert!(dump.contains("=proc:<"), "processes are in the dump");
    assert!(dump.contains("=end\n"), "the dump is whole: {dump}");
}

#[test]
fn a_broken_private_heap_ends_the_run() {
    fails("private", "P1", "on the stack; process <0.");
}

#[test]
fn a_broken_shared_heap_ends_the_run() {
    fails("shared", "S1", "on the stack; process <0.");
}

#[test]
fn a_broken_unified_heap_ends_the_run() {
    fails("unified", "U1", "on the stack; process <0.");
}

#[test]
fn a_pointer_to_no_object_of_the_message_area_ends_the_run() {
    fails("hybrid", "A1", "; process <0.");
}

#[test]
fn a_message_with_what_is_said_never_to_leave_ends_the_run() {
    // By use, sites tell of what they build only once messages of a kind are shared.
    let options = ["--verify-heap", "--gc-stress", "50", "--area", "feedback"];
    fails_with("hybrid", "A4", "in a message; process <0.", &options);
}

#[test]
fn broken_books_of_the_message_area_end_the_run() {
    fails("hybrid", "PG2", "; the message area");
}

#[test]
fn nobody_looks_without_the_verifier() {
    let (output, dump) = run("private", "P1", &["--gc-stress", "50"]);
    assert!(output.status.success() && dump.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
}
