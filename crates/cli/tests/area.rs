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

/// The record of a run of a part of `uses.erl`.
fn uses(area: &str, options: &[&str], part: &str) -> Value {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/uses.erl");
    let stats = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("uses-{area}-{part}-{}.json", options.len()));
    let mut command = Command::new("timeout");
    command.args(["100", env!("CARGO_BIN_EXE_atoll"), "run", "--heap", "hybrid", "--area", area, "--stats"]);
    let output = command.arg(&stats).args(options).arg(program).arg(part).output().expect("it runs");
    let done = if part == "again" { "done\ndone\n" } else { "done\n" };
    assert_eq!(String::from_utf8_lossy(&output.stdout), done, "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&std::fs::read(stats).expect("a record")).expect("JSON")
}

/// Words copied into the area, and words copied for receivers, by a part of `uses.erl`.
fn copied(area: &str, options: &[&str], part: &str) -> (u64, u64) {
    words_copied(&uses(area, options, part))
}

fn words_copied(record: &Value) -> (u64, u64) {
    let field = |name: &str| record[name].as_u64().expect("a number");
    let (into, all) = (field("area_words_copied"), field("words_copied_messages"));
    (into, all - into)
}

/// Words of a message of `uses.erl`.
const MESSAGE: u64 = 604;
/// Words of those that are used once.
const ONCE: u64 = 20_000 * MESSAGE;

#[test]
fn what_is_used_once_is_copied_for_its_receiver() {
    let record = uses("use", &[], "once");
    let (into, private) = words_copied(&record);
    assert!(into < ONCE / 8 && private > ONCE * 3 / 4, "{into} words into the area, {private} for receivers");
    // Samples lie in the area; the sites that built them go on elsewhere.
    assert!(into > 0);
    assert_eq!([&record["area_sites_switched"], &record["area_words_built"]], [0, 0]);
    let (into, private) = copied("never", &[], "once");
    assert!(into >= ONCE && private < ONCE / 8, "{into} words into the area, {private} for receivers");
}

#[test]
fn what_is_sent_on_is_copied_a_few_times() {
    for options in [&[][..], &["--verify-heap", "--gc-stress", "7"]] {
        let (into, private) = copied("use", options, "on");
        assert!(
            into >= MESSAGE - 4 && into + private < 40 * MESSAGE,
            "{into} words into the area, {private} for receivers"
        );
    }
}

#[test]
fn what_makes_a_heap_large_is_shared() {
    let (into, private) = copied("use", &[], "kept");
    // Of 4,800,000 words in all; most of the others are built in the area.
    assert!(into > 1 << 15, "{into} words into the area");
    assert!(private > 1 << 16 && private < 1_200_000, "{private} words for receivers");
}

#[test]
fn what_is_sent_again_is_copied_twice() {
    let (into, private) = copied("use", &[], "again");
    assert!(into + private < ONCE + 1000 * MESSAGE, "{into} words into the area, {private} for receivers");
}

#[test]
fn native_code_is_made_anew_where_a_site_changes() {
    for options in [&[][..], &["--native", "off"], &["--native", "eager", "--schedulers", "1"]] {
        let record = uses("feedback", options, "later");
        let built = record["area_words_built"].as_u64().expect("a number");
        let (copied, _) = words_copied(&record);
        assert!(built > ONCE * 3 / 4 && copied < ONCE / 4, "{built} built, {copied} copied with {options:?}");
    }
}

#[test]
fn always_builds_everything_there() {
    let (built, _) = run("always", &[]);
    assert!(built > LIST, "{built} words built there");
}
