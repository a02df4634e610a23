//! `atoll analyse` shows where messages are born.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use atoll_differential::compile;
use serde_json::Value;

/// The compiled program, in a folder for the test.
fn program(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("analyse").join(test);
    std::fs::create_dir_all(&folder).expect("a folder");
    compile(&[Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/analyse.erl")], &folder).expect("it compiles");
    folder.join("analyse.beam")
}

fn analyse(arguments: &[&str]) -> Output {
    let mut command = Command::new("timeout");
    command.args(["60", env!("CARGO_BIN_EXE_atoll"), "analyse"]).args(arguments);
    command.output().expect("it runs")
}

fn shown(arguments: &[&str]) -> String {
    let output = analyse(arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

/// What is shown of the place that sends at a line.
fn of_line(text: &str, line: u32) -> Vec<&str> {
    let begins = format!("  analyse:{line} ");
    let lines = text.lines().skip_while(|shown| !shown.starts_with(&begins));
    let mut lines = lines.take_while(|shown| shown.starts_with(&begins) || shown.starts_with("    "));
    lines.by_ref().map(str::trim).collect()
}

#[test]
fn births_are_shown_with_their_lines() {
    let text = shown(&[program("text").to_str().expect("a path")]);
    assert_eq!(
        of_line(&text, 6),
        [
            "analyse:6 main/1  !  copies nothing",
            "born at analyse:6 main/1: tuple, always",
            "born at analyse:12 build/2: tuple, always",
            "born at analyse:12 build/2: list cell, always",
        ]
    );
    assert_eq!(of_line(&text, 7), ["analyse:7 main/1  !  copies nothing"]);
    assert_eq!(
        of_line(&text, 15),
        [
            "analyse:15 ask/2  !  copies",
            "born at analyse:15 ask/2: tuple, always",
            "given at analyse:14 ask/2: argument 2 from callers elsewhere",
        ]
    );
    assert_eq!(of_line(&text, 16), ["analyse:16 ask/2  !  copies", "given at analyse:16 ask/2: received message"]);
    assert_eq!(of_line(&text, 20), ["analyse:20 give/3  !  copies", "given at analyse:20 give/3: result of a fun"]);
    let stored = of_line(&text, 21);
    assert_eq!(stored[0], "analyse:21 give/3  ets:insert/2  copies");
    assert_eq!(stored[1], "born at analyse:21 give/3: tuple, perhaps (stored)");
    assert!(!text.contains("all sites"));
}

#[test]
fn all_sites_and_json_say_the_same() {
    let file = program("json");
    let json = file.with_extension("json");
    let text = shown(&["--sites", "--json", json.to_str().expect("a path"), file.to_str().expect("a path")]);
    assert!(text.contains("    analyse:23 local/2: tuple, never (stays)"), "{text}");
    let reports: Value = serde_json::from_slice(&std::fs::read(json).expect("a file")).expect("JSON");
    let report = &reports[0];
    assert_eq!(report["module"], "analyse");
    let sites = report["sites"].as_array().expect("sites");
    let counts = &report["counts"];
    let count = |verdict: &str| sites.iter().filter(|site| site["verdict"] == verdict).count() as u64;
    for verdict in ["always", "perhaps", "never"] {
        assert_eq!(counts[verdict], count(verdict), "{verdict}");
        assert!(count(verdict) > 0, "{verdict}");
    }
    let exit = report["exits"].as_array().expect("exits").iter().find(|exit| exit["line"] == 6).expect("line 6");
    assert_eq!((&exit["by"], &exit["copies"]), (&Value::from("!"), &Value::from(false)));
    assert_eq!(exit["born"].as_array().map(Vec::len), Some(3));
}

#[test]
fn applications_are_found_and_their_modules_know_of_each_other() {
    let text = shown(&["stdlib"]);
    for module in ["gen", "gen_server", "lists", "timer"] {
        assert!(text.lines().any(|line| line.starts_with(&format!("{module}: "))), "{module}");
    }
    // The request of a call of gen_server is born in gen.
    let call = text.lines().find(|line| line.contains("gen:") && line.contains("do_call/4  !")).expect("gen sends");
    assert!(call.ends_with("copies"), "{call}");
}

#[test]
fn what_does_not_exist_is_an_error() {
    for subject in ["no_such_application", "Cargo.toml"] {
        let output = analyse(&[subject]);
        assert_eq!(output.status.code(), Some(1), "{subject}");
        assert!(String::from_utf8_lossy(&output.stderr).contains(subject));
    }
}
