//! `--area` chooses what `hybrid` builds in its message area.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// Runs the program; words built in the area, and words copied for messages.
fn run(area: &str, options: &[&str]) -> (u64, u64) {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/area.erl");
    let stats = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("area-{area}-{}.json", options.len()));
    let mut command = Command::new("timeout");
    command.args(["60", env!("CARGO_BIN_EXE_atoll"), "run", "--heap", "hybrid", "--area", area, "--stats"]);
    let output = command.arg(&stats).args(options).arg(program).output().expect("it runs");
    assert_eq!(output.stdout, b"1500\n", "{}", String::from_utf8_lossy(&output.stderr));
    let record: Value = serde_json::from_slice(&std::fs::read(stats).expect("a record")).expect("JSON");
    let field = |name: &str| record[name].as_u64().expect("a number");
    (field("area_words_built"), field("words_copied_messages"))
}

/// The list's words.
const LIST: u64 = 2 * 1500;

#[test]
fn the_analysis_has_a_list_built_where_it_is_sent_from() {
    let (built, copied) = run("analysis", &[]);
    assert!(built >= LIST && copied < LIST, "{built} words built there, {copied} copied");
    // So does native code.
    let (built, copied) = run("analysis", &["--native", "eager"]);
    assert!(built >= LIST && copied < LIST, "{built} words built there, {copied} copied");
}

#[test]
fn feedback_has_to_see_it_copied_first() {
    for area in ["feedback", "never"] {
        let (built, copied) = run(area, &[]);
        assert!(built == 0 && copied >= LIST, "{area}: {built} words built there, {copied} copied");
    }
}

#[test]
fn always_builds_everything_there() {
    let (built, _) = run("always", &[]);
    assert!(built > LIST, "{built} words built there");
}
