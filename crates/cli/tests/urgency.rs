//! `--scheduler` chooses which process runs first.

use std::path::Path;
use std::process::Command;

/// The order in which the processes of `urgency.erl` ran, by their numbers.
fn order(heap: &str, scheduler: &str) -> String {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/urgency.erl");
    let mut command = Command::new("timeout");
    command.args(["60", env!("CARGO_BIN_EXE_atoll"), "run", "--heap", heap, "--scheduler", scheduler, "+S", "1"]);
    let output = command.arg(program).output().expect("it runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let (order, wrong) = text.split_once('\n').unwrap_or_else(|| panic!("{output:?}"));
    assert_eq!(wrong.matches("{error,badarg}").count(), 8, "{output:?}");
    order.to_owned()
}

#[test]
fn the_most_urgent_runs_first() {
    for heap in ["private", "shared", "unified", "hybrid"] {
        assert_eq!(order(heap, "deadline"), "[2,5,3,1,6,4]", "{heap}");
    }
}

#[test]
fn by_levels_numbers_count_as_the_levels_that_they_reach() {
    // The second is above `max`, the fourth is below `low`.
    assert_eq!(order("private", "levels"), "[2,1,3,5,6,4]");
}

#[test]
fn what_is_no_order_is_refused() {
    let refused = |command: &str| {
        let words = [command, "--scheduler", "fair", "x"];
        let output = Command::new(env!("CARGO_BIN_EXE_atoll")).args(words).output().expect("it runs");
        assert!(!output.status.success());
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    assert!(refused("run").contains("levels, deadline"));
    assert!(refused("erl").contains("choose levels or deadline"));
    let words = ["simulate", "--scheduler", "deadline", "x"];
    let output = Command::new(env!("CARGO_BIN_EXE_atoll")).args(words).output().expect("it runs");
    assert!(String::from_utf8_lossy(&output.stderr).contains("--policy"), "{output:?}");
}
