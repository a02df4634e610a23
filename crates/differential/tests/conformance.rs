//! The program `conformance` fails when it has to: a suite of the test's own, with stock `erl` in Atoll's place.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const SUITE: &str = "lib/stdlib/test/tiny_SUITE";

const SOURCE: &str = "-module(tiny_SUITE).\n-export([all/0, good/1, bad/1]).\n\
    all() -> [good, bad].\ngood(_) -> ok.\nbad(_) -> error(always).\n";

/// Stands for `atoll erl --heap NAME ...`; the name says how it behaves.
const FAKE_ATOLL: &str = "#!/bin/sh\nheap=$3\nshift 3\n\
    case $1$2 in --nativeeager) heap=broken; shift 2;; esac\n\
    case $heap in\n\
    dead) exit 3;;\n\
    broken) echo 'atoll: heap invariant P1 (why) is broken' >&2;;\n\
    esac\nexec erl \"$@\"\n";

/// A folder with the suite, in which these cases have passed before.
fn folder(name: &str, passing: &[&str]) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    let write = |path: &str, text: &str| {
        let file = folder.join(path);
        fs::create_dir_all(file.parent().expect("it lies in a folder")).expect("a folder");
        fs::write(file, text).expect("a file");
    };
    write("tests/conformance/suites.txt", &format!("{SUITE}\n"));
    let rows: String = passing.iter().map(|case| format!("{SUITE}\t{case}\n")).collect();
    write("tests/conformance/passing.txt", &rows);
    write(&format!("out/otp/tests/{SUITE}.erl"), SOURCE);
    write("atoll", FAKE_ATOLL);
    fs::set_permissions(folder.join("atoll"), fs::Permissions::from_mode(0o755)).expect("it may be run");
    folder
}

fn run(folder: &Path, heaps: &str) -> (Output, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_conformance"));
    command.args(["--atoll", "./atoll", "--seconds", "60", "--heaps", heaps]).current_dir(folder);
    let output = command.output().expect("it runs");
    let shown = String::from_utf8_lossy(&[&*output.stdout, &*output.stderr].concat()).into_owned();
    (output, shown)
}

#[test]
fn what_has_passed_before_must_pass() {
    let sound = folder("conformance-sound", &["good"]);
    let (output, shown) = run(&sound, "private,shared");
    assert!(output.status.success() && shown.contains("private          1 of    2"), "{shown}");
    let worse = folder("conformance-worse", &["good", "bad"]);
    let (output, shown) = run(&worse, "private,shared");
    assert_eq!(output.status.code(), Some(1), "{shown}");
    for heap in ["private", "shared"] {
        assert!(shown.contains(&format!("passed before: {heap} {SUITE} bad: fail")), "{shown}");
    }
    assert!(!shown.contains("good:"), "{shown}");
}

#[test]
fn a_machine_that_ends_before_the_first_case_has_passed_none() {
    let (output, shown) = run(&folder("conformance-dead", &["good"]), "dead");
    assert_eq!(output.status.code(), Some(1), "{shown}");
    assert!(shown.contains(&format!("passed before: dead {SUITE} good: not run")), "{shown}");
}

#[test]
fn no_case_passes_on_a_heap_that_is_broken() {
    let (output, shown) = run(&folder("conformance-broken", &["good"]), "broken");
    assert_eq!(output.status.code(), Some(1), "{shown}");
    assert!(shown.contains(&format!("passed before: broken {SUITE} good: fail atoll: heap invariant P1")), "{shown}");
}

#[test]
fn a_heap_may_be_run_with_another_choice_of_native_code() {
    let (output, shown) = run(&folder("conformance-eager", &["good"]), "private,private+eager");
    assert_eq!(output.status.code(), Some(1), "{shown}");
    assert!(shown.contains("private+eager    0 of    2"), "{shown}");
    assert!(shown.contains(&format!("passed before: private+eager {SUITE} good: fail")), "{shown}");
    assert!(!shown.contains(&format!("passed before: private {SUITE}")), "{shown}");
}
