//! What runs programs to find faults finds them: each runner is given one, and has to say so.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use atoll_differential::{Atoll, Configuration, Stock, compile};

const ATOLL: &str = env!("CARGO_BIN_EXE_atoll");
/// What makes Atoll break one of its heaps.
const BREAK: &str = "export ATOLL_BREAK_HEAP=P1";
const REPORT: &str = "echo 'atoll: heap invariant P1 (why) is broken' >&2";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("it is there")
}

/// An empty folder.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("runners").join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder");
    folder
}

/// A shell script in Atoll's place.
fn script(folder: &Path, lines: &[&str]) -> PathBuf {
    let file = folder.join("atoll");
    fs::write(&file, format!("#!/bin/bash\n{}\n", lines.join("\n"))).expect("a file");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).expect("it may be run");
    file
}

/// Runs a script of the repository with this program as Atoll; all that it prints.
fn run(name: &str, arguments: &[&str], atoll: &Path, out: &Path) -> (Output, String) {
    let mut command = Command::new("timeout");
    command.arg("300").arg(root().join("scripts").join(name)).args(arguments).stdin(Stdio::null());
    command.env("ATOLL", atoll).env("OUT", out).env("PATIENCE", "20").env("ERL_CRASH_DUMP", out.join("dump"));
    let output = command.env("PROGRAMS", out.join("programs")).output().expect("it runs");
    let shown = String::from_utf8_lossy(&[&*output.stdout, &*output.stderr].concat()).into_owned();
    (output, shown)
}

/// What the differential runner says of a program that keeps and sends terms.
fn compared(name: &str, lines: &[&str]) -> Result<(), String> {
    let folder = folder(name);
    compile(&[Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/verifier.erl")], &folder).expect("it compiles");
    let stock = Stock::find(&folder.join("stock")).expect("stock erl is installed");
    let limit = Duration::from_secs(120);
    let expected = stock.run(&folder, "verifier", limit).expect("stock erl runs");
    let configuration = Configuration {
        heap: "private".to_owned(),
        schedulers: 1,
        stress: 50,
        verify: true,
        mark_sweep: false,
        compiled: false,
        exits: 0,
    };
    let atoll = Atoll { executable: script(&folder, lines) };
    atoll.check(&configuration, &folder, "verifier", limit, &expected)
}

#[test]
fn the_differential_runner_sees_a_broken_heap() {
    let go_on = format!("exec {ATOLL} \"$@\"");
    compared("differential-sound", &[&go_on]).expect("nothing is wrong");
    let report = compared("differential-broken", &[BREAK, &go_on]).expect_err("it is broken");
    assert!(report.contains("heap invariant P1") && report.contains("signal 6"), "{report}");
    let report = compared("differential-word", &[REPORT, &go_on]).expect_err("a word is enough");
    assert!(report.contains("heap invariant P1") && !report.contains("differs"), "{report}");
}

#[test]
fn soak_fails_when_the_load_does() {
    let go_on = format!("exec {ATOLL} \"$@\"");
    let goes_wrong = format!("exec {ATOLL} \"$@\" wrong");
    let right = "echo 'soak: all sums are right'";
    let cases: [(&str, &[&str], &str); 6] = [
        ("soak-broken", &[BREAK, &go_on], "soak: the verifier has found something"),
        ("soak-word", &[right, REPORT], "soak: the verifier has found something"),
        ("soak-wrong", &[&goes_wrong], "soak: the load ended with status 1"),
        ("soak-status", &[right, "exit 3"], "soak: the load ended with status 3"),
        ("soak-silent", &["true"], "soak: the load has not said that all sums are right"),
        ("soak-endless", &["exec sleep 100"], "soak: the load has not ended after"),
    ];
    for (name, lines, reason) in cases {
        let out = folder(name);
        let (output, shown) = run("soak", &["private", "1", "2"], &script(&out, lines), &out);
        assert!(output.status.code() == Some(1) && shown.contains(reason), "{name}: {:?}: {shown}", output.status);
    }
    let out = folder("soak-sound");
    let (output, shown) = run("soak", &["private", "1", "2"], &script(&out, &[&go_on]), &out);
    assert!(output.status.success() && shown.contains("all sums are right"), "{shown}");
}

#[test]
fn newer_otp_fails_when_the_verifier_finds_something() {
    let found = Command::new("erl").args(["-noshell", "-eval", "io:put_chars(code:root_dir()), halt()."]).output();
    let otp = String::from_utf8(found.expect("stock erl is installed").stdout).expect("a path");
    let go_on = format!("exec {ATOLL} \"$@\"");
    let sound: (&str, &[&str]) = ("newer-otp-sound", &[&go_on]);
    for (name, lines) in [sound, ("newer-otp-broken", &[BREAK, &go_on])] {
        let out = folder(name);
        let suite = out.join("newer-otp/installed");
        fs::create_dir_all(suite.join("usr/lib")).expect("a folder");
        fs::create_dir_all(suite.join("tmp")).expect("a folder");
        std::os::unix::fs::symlink(otp.trim(), suite.join("usr/lib/erlang")).expect("a link");
        fs::create_dir_all(out.join("programs")).expect("a folder");
        fs::copy(root().join("crates/cli/tests/verifier.erl"), out.join("programs/verifier.erl")).expect("a copy");
        let (output, shown) = run("newer-otp", &["installed"], &script(&out, lines), &out);
        if name == sound.0 {
            assert!(output.status.success() && shown.contains("private: 1 as expected"), "{shown}");
        } else {
            let reason = "newer-otp: the verifier has found something: installed/verifier/private";
            assert!(output.status.code() == Some(1) && shown.contains(reason), "{shown}");
        }
    }
}
