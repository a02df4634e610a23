//! Starts where the system limits addresses (`ulimit -v`).

use std::process::{Command, Stdio};

const ATOLL: &str = env!("CARGO_BIN_EXE_atoll");

/// What a start of OTP with so many kilobytes of addresses prints.
fn start(heap: &str, kilobytes: u32) -> String {
    let mut command = Command::new("bash");
    command.args(["-c", &format!("ulimit -v {kilobytes}; exec timeout 60 \"$@\""), "bash", ATOLL, "erl"]);
    command
        .args(["--heap", heap, "-noshell", "-eval", "io:put_chars(\"up\"), halt()."])
        .env("ERL_CRASH_DUMP", "/dev/null");
    let output = command.stdin(Stdio::null()).output().expect("it runs");
    String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
}

/// Between these are powers of two of which half a limit has just room for one, and just not.
#[test]
fn each_heap_starts_with_few_addresses() {
    for heap in ["private", "shared", "unified", "hybrid"] {
        for kilobytes in [1_000_000, 1_500_000, 2_200_000, 3_500_000, 4_500_000, 7_000_000] {
            assert_eq!(start(heap, kilobytes), "up", "{heap}, {kilobytes} KB");
        }
    }
}

#[test]
fn too_few_addresses_are_said_to_be_too_few() {
    let said = start("unified", 250_000);
    assert!(said.starts_with("cannot reserve ") && said.lines().count() == 1, "{said}");
}
