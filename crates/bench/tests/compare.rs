//! Whole comparisons, with a shell script in atoll's place and the installed `erl`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use atoll_bench::{CompareError, CompareOptions, Comparison, Progress, Silent, compare};
use serde_json::Value;
use tempfile::TempDir;

/// Stands for `atoll run --heap A --stats FILE ... PROGRAM ARG...`: prints its last argument and behaves as the name of
/// the architecture says.
const FAKE_ATOLL: &str = r#"#!/bin/sh
heap=$3
stats=$5
for last; do :; done
case "$last" in *atoll_compare_empty.beam) exit 0;; esac
case $heap in
  failing) echo "error: no such heap" >&2; exit 2;;
  sleeping) exec sleep 60;;
  different) echo "something else";;
  varying) echo "$$";;
  *) echo "$last";;
esac
case $heap in
  broken) echo "atoll: heap invariant P1 (why) is broken" >&2;;
  silent) exit 0;;
  garbled) echo "{" > "$stats"; exit 0;;
  slow) sleep 0.2;;
esac
cat > "$stats" <<END
{"heap":"$heap","schedulers":1,"total_ns":9000000,"mutator_ns":5000000,"send_ns":1000000,"size_ns":500000,
 "copy_ns":1500000,"minor_gc_ns":800000,"major_gc_ns":200000,"minor_collections":12,"major_collections":2,
 "longest_minor_pause_ns":90000,"longest_major_pause_ns":150000,"heap_words_used_highest":233000,
 "heap_words_allocated_highest":377000,"peak_rss_bytes":3000000}
END
"#;

const PROGRAM: &str = "-module(echo).\n-export([main/1]).\n\
    main([]) -> error(nothing_to_say);\n\
    main(Args) -> io:put_chars([lists:last(Args), $\\n]).\n";

fn setup() -> (TempDir, CompareOptions) {
    let folder = tempfile::tempdir().unwrap();
    let atoll = folder.path().join("atoll");
    fs::write(&atoll, FAKE_ATOLL).unwrap();
    fs::set_permissions(&atoll, fs::Permissions::from_mode(0o755)).unwrap();
    let program = folder.path().join("echo.erl");
    fs::write(&program, PROGRAM).unwrap();
    let mut options = CompareOptions::new(atoll, program, ["private", "slow"]);
    options.arguments = vec!["-x".into(), "hello".into()];
    options.runs = 2;
    options.startup_runs = 1;
    options.timeout = Some(Duration::from_secs(30));
    (folder, options)
}

fn run(options: &CompareOptions) -> Comparison {
    compare(options, &mut Silent).unwrap()
}

/// A program that the fake does not read and that needs no compiler.
fn without_erl(architectures: &[&str]) -> (TempDir, CompareOptions) {
    let (folder, mut options) = setup();
    options.architectures = architectures.iter().map(|name| (*name).to_owned()).collect();
    options.with_erl = false;
    options.program = "some_module".into();
    options.startup_runs = 0;
    (folder, options)
}

#[test]
fn every_contender_is_measured_beside_erl() {
    let (_folder, options) = setup();
    let comparison = run(&options);
    let names: Vec<&str> = comparison.contenders.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["private", "slow", "erl"]);
    assert!(!comparison.has_failures(), "{}", comparison.table_within(200));
    assert!(comparison.contenders.iter().all(|one| one.output_difference.is_none()), "{:?}", comparison.notes);

    let [private, slow, erl] = &comparison.contenders[..] else { panic!("three contenders") };
    assert_eq!(private.runs.len(), 2);
    let summary = private.summary.as_ref().unwrap();
    assert_eq!(summary.wall_to_baseline, Some(1.0));
    assert_eq!(summary.send_ns.unwrap().median, 1_500_000);
    assert_eq!(summary.longest_pause_ns.unwrap().median, 150_000);
    let slow = slow.summary.as_ref().unwrap();
    assert!(slow.wall_ns.minimum >= 200_000_000);
    assert!(slow.wall_to_baseline.unwrap() > 1.0);
    assert_eq!(erl.summary.as_ref().unwrap().wall_to_erl, Some(1.0));
    assert!(erl.runs.iter().all(|run| run.statistics.is_none() && run.peak_rss_bytes > 10_000_000));
    assert!(erl.startup_ns.is_some());
    assert!(comparison.machine.erl.as_ref().is_some_and(|release| release.contains('(')));
}

#[test]
fn the_table_fits_wide_and_narrow_terminals() {
    let (_folder, options) = without_erl(&["private", "slow"]);
    let comparison = run(&options);
    let wide = comparison.table_within(200);
    for word in ["wall", "copy", "longest", "highest", "1.50 ms", "150 µs", "1.86 MB", "ratio to", "1.00"] {
        assert!(wide.contains(word), "{word} is missing in\n{wide}");
    }
    let narrow = comparison.table_within(80);
    let rows: Vec<&str> = narrow.lines().filter(|line| line.starts_with([' ', '─', '═'])).collect();
    assert!(rows.iter().all(|line| line.chars().count() <= 80), "{narrow}");
    assert_eq!(rows.iter().filter(|line| line.starts_with(" slow ")).count(), 2, "{narrow}");
}

#[test]
fn failures_and_other_outputs_are_shown() {
    let (_folder, mut options) = without_erl(&["private", "failing", "sleeping", "different", "varying"]);
    options.timeout = Some(Duration::from_millis(400));
    let comparison = run(&options);
    let table = comparison.table_within(200);
    assert!(comparison.has_failures());
    assert!(table.contains("FAILED: failing in round 1: exit status 2: error: no such heap"), "{table}");
    assert!(table.contains("FAILED: sleeping in round 1: ended after the time limit of 0.4 s"), "{table}");
    assert!(table.contains("different ≠"), "{table}");
    let difference = r#"different does not print what private prints, at line 1: "something else" instead of "hello"."#;
    assert!(table.contains(difference), "{table}");
    assert!(table.contains("The output of varying varies from run to run"), "{table}");
    roxmltree::Document::parse(&comparison.to_svg()).unwrap();
}

#[test]
fn a_program_that_fails_on_erl_shows_class_and_reason() {
    let (_folder, mut options) = setup();
    options.architectures.clear();
    options.arguments.clear();
    let comparison = run(&options);
    let failure = comparison.contenders[0].failure.as_ref().unwrap();
    assert_eq!(failure.reason, "exit status 1: error: nothing_to_say");
    assert!(failure.stderr.contains("echo,main,1"), "{}", failure.stderr);
}

#[test]
fn statistics_that_are_missing_or_unreadable_are_noted_once() {
    let (_folder, options) = without_erl(&["private", "silent", "garbled"]);
    let comparison = run(&options);
    assert!(!comparison.has_failures());
    let notes = comparison.notes.join("\n");
    assert_eq!(notes.matches("silent wrote no statistics").count(), 1, "{notes}");
    assert_eq!(notes.matches("garbled wrote statistics that cannot be read").count(), 1, "{notes}");
}

#[test]
fn json_holds_runs_and_summary() {
    let (folder, options) = without_erl(&["private", "failing"]);
    let path = folder.path().join("result.json");
    run(&options).write_json(&path).unwrap();
    let json: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    let private = &json["contenders"][0];
    assert_eq!(private["runs"][1]["statistics"]["minor_collections"], 12);
    assert_eq!(private["summary"]["copy_ns"]["median"], 1_500_000);
    assert_eq!(json["contenders"][1]["failure"]["round"], 1);
    assert_eq!(json["contenders"][1]["summary"], Value::Null);
    assert_eq!(json["arguments"][1], "hello");
}

#[test]
fn the_plot_is_well_formed_and_names_everybody() {
    let (folder, options) = setup();
    let path = folder.path().join("result.svg");
    run(&options).write_plot(&path).unwrap();
    let text = fs::read_to_string(&path).unwrap();
    let document = roxmltree::Document::parse(&text).unwrap();
    let texts: Vec<&str> =
        document.descendants().filter(|node| node.has_tag_name("text")).filter_map(|node| node.text()).collect();
    for word in ["private", "slow", "erl", "mutator", "major collections", "not reported", "Memory at its highest (MB)"]
    {
        assert!(texts.contains(&word), "{word} is missing in {texts:?}");
    }
    assert_eq!(texts.iter().filter(|text| **text == "erl").count(), 4);
}

#[test]
fn what_cannot_be_compared_is_an_error() {
    let (folder, mut options) = setup();
    options.runs = 0;
    assert!(matches!(compare(&options, &mut Silent), Err(CompareError::Options(_))));
    options.runs = 1;
    options.architectures.push("slow".into());
    assert!(compare(&options, &mut Silent).unwrap_err().to_string().contains("named twice"));
    options.architectures.pop();
    fs::write(folder.path().join("echo.erl"), "-module(echo).\nmain(").unwrap();
    let error = compare(&options, &mut Silent).unwrap_err().to_string();
    assert!(error.contains("`erlc` refused it") && error.contains("echo.erl:2"), "{error}");
    options.atoll = folder.path().join("no-atoll");
    assert!(compare(&options, &mut Silent).unwrap_err().to_string().contains("cargo build --release"));
}

#[test]
fn without_erl_its_row_is_left_out_with_a_note() {
    let (folder, mut options) = without_erl(&["private"]);
    options.with_erl = true;
    options.otp = Some(folder.path().to_owned());
    let comparison = run(&options);
    assert_eq!(comparison.contenders.len(), 1);
    assert!(comparison.table_within(200).contains("Stock erl was not found"), "{:?}", comparison.notes);
}

#[test]
fn progress_counts_every_run() {
    #[derive(Default)]
    struct Counter {
        announced: u64,
        seen: u64,
    }
    impl Progress for Counter {
        fn begin(&mut self, runs: u64) {
            self.announced = runs;
        }
        fn run(&mut self, _what: &str) {
            self.seen += 1;
        }
        fn skip(&mut self) {
            self.seen += 1;
        }
        fn end(&mut self) {}
    }
    let (_folder, mut options) = without_erl(&["private", "failing"]);
    options.runs = 3;
    let mut counter = Counter::default();
    compare(&options, &mut counter).unwrap();
    assert_eq!((counter.announced, counter.seen), (6, 6));
}

#[test]
fn nothing_is_left_behind() {
    let (folder, options) = without_erl(&["private"]);
    let before = entries(folder.path());
    run(&options);
    assert_eq!(entries(folder.path()), before);
}

fn entries(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_word_of_the_verifier_is_a_failure_whatever_the_status() {
    let (_folder, mut options) = setup();
    options.architectures = vec!["private".into(), "broken".into()];
    let comparison = run(&options);
    let failure = comparison.contenders.iter().find(|one| one.name == "broken").and_then(|one| one.failure.as_ref());
    assert_eq!(failure.map(|failure| &*failure.reason), Some("atoll: heap invariant P1 (why) is broken"));
    let sound = comparison.contenders.iter().find(|one| one.name == "private").expect("it takes part");
    assert!(sound.failure.is_none());
}
